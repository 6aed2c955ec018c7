"""Types for annotations, as Python's `typing` has them (PyTorch: `torch.jit.annotations`)."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - the names that programs import

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]
