"""`autocast` and `GradScaler` (PyTorch: `torch.amp`)."""
