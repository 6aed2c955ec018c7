"""PyTorch's settings of cuDNN, with their initial values. They have no effect here."""

from __future__ import annotations

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True


def is_available() -> bool:
    """False."""
    return False
