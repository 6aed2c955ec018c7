"""Layers and helpers of `nn` that few programs use."""
