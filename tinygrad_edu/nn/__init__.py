"""Networks: functions of them (PyTorch: `torch.nn`)."""

from . import functional

__all__ = ["functional"]
