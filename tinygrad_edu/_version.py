"""The version of this distribution: its own. `tinygrad_edu.__version__` is that of the PyTorch that is followed."""

VERSION = "0.11.0"
