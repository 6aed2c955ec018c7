"""The ops behind the layers and losses of neural networks."""
