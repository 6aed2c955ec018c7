"""The core's error sentences, apart from its code: PyTorch's phrase first, then what happened and what to try."""

from __future__ import annotations

from typing import Any

from .array import dtypes

__all__ = ["REFUSED_UPDATE", "modified", "refuse_misfit"]

REFUSED_UPDATE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. The .grad of this leaf was made "
    "in inference mode, and a gradient is to be added to it: assign a clone() of it, or None."
)


def modified(t: Any, node: Any, expected: int) -> str:
    """The error text for a saved tensor that was changed in place; `node` made it, if any did."""
    now = 0 if t._counter is None else t._counter[0]
    from_what = f", which is output {t.output_nr} of {node.name()}," if node is not None else ""
    kind = dtypes.from_numpy_dtype(t.value.dtype).legacy_name
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind}Tensor {list(t.value.shape)}]{from_what} is at version {now}; expected version {expected} "
        "instead. The backward rule needs the value as it was in the forward pass. Hint: replace the in-place "
        "operation (a name that ends in _, +=, or an assignment to a slice) by one that makes a new tensor, or "
        "change a clone(); detect_anomaly() shows the forward line whose gradient failed."
    )


def refuse_misfit(node: Any, found: tuple[int, ...], shape: tuple[int, ...], position: int = 0) -> None:
    """Raise if a tensor of `shape` does not broadcast to the shape `found`."""
    stretched = zip(reversed(shape), reversed(found), strict=False)
    if len(shape) > len(found) or any(size not in (1, large) for size, large in stretched):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {position} - got {list(found)} but expected "
            f"shape compatible with {list(shape)}"
        )
