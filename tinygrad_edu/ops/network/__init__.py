"""Activations, softmax, normalizations, losses, and the products and look-ups of layers."""
