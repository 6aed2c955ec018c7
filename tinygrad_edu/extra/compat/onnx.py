"""Export to other runtimes, which is not built (PyTorch: `torch.onnx`)."""

from __future__ import annotations

from typing import Any

__all__ = ["export", "is_in_onnx_export"]


def export(*args: Any, **kwargs: Any) -> None:
    """Refused: load the weights into PyTorch, and export there."""
    raise NotImplementedError(
        "onnx.export: exporting is not built here. Load the state_dict into the same module on PyTorch, and export it there."
    )


def is_in_onnx_export() -> bool:
    """False."""
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"onnx.{name}: exporting is not built here. Leave it out, or run the program on PyTorch.")
