"""Names that programs for PyTorch use and that change nothing here: what is absent says so, what is a habit is accepted."""
