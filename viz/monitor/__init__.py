"""A training that is already written, watched while it runs: gradients, updates and activations, layer by layer."""
