"""Utilities around training."""

from __future__ import annotations

from . import checkpoint

__all__ = ["checkpoint"]
