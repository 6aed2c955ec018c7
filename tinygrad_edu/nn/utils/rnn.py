"""Sequences of different lengths as one tensor (PyTorch: `torch.nn.utils.rnn`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops import functions, nn_functions
from ...tensor import Tensor

__all__ = ["pad_sequence", "unpad_sequence"]


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L, …) in one tensor (longest L, N, …), or (N, longest L, …): the shorter ones are filled up.

    Raises:
        ValueError: `padding_side` is neither "left" nor "right".
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        rows.append(nn_functions["pad"](s, (*(0, 0) * (s.ndim - 1), *ends), "constant", padding_value))
    return functions["stack"](rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences again, each of its length."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"tinygrad_edu.nn.utils.rnn has no {name!r}: packed sequences are not built. Pad them, and leave what was filled up out "
        "of the loss by a mask or by ignore_index."
    )
