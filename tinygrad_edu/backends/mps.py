"""PyTorch's question for a GPU of Apple. There is none here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


is_built = is_available
