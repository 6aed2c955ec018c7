"""PyTorch names that programs use and that have no effect here: harmless ones are accepted, absent ones raise an explanation."""
