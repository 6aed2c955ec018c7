"""Ops that layers and losses of neural networks are made of."""
