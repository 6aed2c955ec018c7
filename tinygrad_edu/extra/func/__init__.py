"""Function transforms that few programs use."""
