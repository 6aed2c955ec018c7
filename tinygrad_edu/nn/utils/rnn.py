"""Sequences of different lengths in one tensor (PyTorch: `torch.nn.utils.rnn`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...array.absent import answer
from ...array.tensor import Tensor, wrap
from ...ops.arrays import as_index
from ...ops.creation.factories import full

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences (L, …) into one tensor (longest L, N, …), or (N, longest L, …) with `batch_first`.

    Raises:
        ValueError: `padding_side` is neither "left" nor "right".

    >>> T.nn.utils.rnn.pad_sequence([T.tensor([1, 2, 3]), T.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise ValueError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences)
    for i, s in enumerate(sequences):
        if not isinstance(s, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(s).__name__}")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest, rest = max(len(s) for s in sequences), sequences[0].shape[1:]
    size = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded: Any = full((*size, *rest), padding_value, dtype=sequences[0].dtype)
    for i, s in enumerate(sequences):
        start = longest - len(s) if padding_side == "left" else 0
        steps = slice(start, start + len(s))
        padded[(i, steps) if batch_first else (steps, i)] = s
    return padded


class PackedSequence(NamedTuple):
    """Sequences without their padding. `data` holds the first steps of all sequences, then the second steps, and so on.

    Attributes:
        data: all steps, (sum of the lengths, …), the longest sequence first.
        batch_sizes: the number of sequences that have a first step, a second step, ….
        sorted_indices: the sequence of the batch at each position; None if they were already sorted by length.
        unsorted_indices: the position of each sequence of the batch.

    >>> packed = T.nn.utils.rnn.pack_sequence([T.tensor([1, 2, 3]), T.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences, with their data in another dtype."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """The same sequences: they are already on the CPU."""
        return self

    @property
    def is_cuda(self) -> bool:
        """False: everything is on the CPU."""
        return False


def _steps(lengths: np.ndarray) -> tuple[Tensor, Tensor]:
    """The step and the sequence of each row of packed data, for lengths in decreasing order."""
    step, sequence = np.nonzero(np.arange(lengths.max(initial=0))[:, None] < lengths)
    return wrap(as_index(step)), wrap(as_index(sequence))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences (L, N, …), with `batch_first` (N, L, …), of given lengths for `RNN`, `LSTM` and `GRU`.

    Raises:
        RuntimeError: a length is not positive, or they are not in decreasing order although `enforce_sorted` is True.

    >>> padded = T.tensor([[1, 2, 3], [4, 0, 0]])
    >>> T.nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True).data
    tensor([1, 4, 2, 3])
    """
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = np.asarray(lengths, np.int64)
    order = back = None
    if not enforce_sorted:
        places = as_index(np.argsort(-sizes, kind="stable"))
        order, back, sizes = wrap(places), wrap(as_index(np.argsort(places))), sizes[places]
        input = input.index_select(0 if batch_first else 1, order)
    sequence: Any = input.transpose(0, 1) if batch_first else input
    if len(sizes) != sequence.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)}")
    if sizes.min(initial=1) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False`."
        )
    if sizes.max(initial=0) > sequence.shape[0]:
        raise RuntimeError(
            f"A length of {sizes.max()} is beyond the padded tensor, which has {sequence.shape[0]} steps."
        )
    batch_sizes = as_index((np.arange(sizes.max(initial=0))[:, None] < sizes).sum(axis=1))
    return PackedSequence(sequence[_steps(sizes)], wrap(batch_sizes), order, back)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences again: the sequences (L, N, …) or (N, L, …), and their lengths (N,).

    Raises:
        ValueError: `total_length` is less than the longest sequence.

    >>> packed = T.nn.utils.rnn.pack_sequence([T.tensor([1, 2]), T.tensor([4])])
    >>> T.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [4, 0]]), tensor([2, 1]))
    """
    sizes = sequence.batch_sizes._data
    longest = len(sizes) if total_length is None else total_length
    if longest < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    lengths = as_index((sizes[:, None] > np.arange(sizes[0])).sum(axis=0))
    data, back = sequence.data, sequence.unsorted_indices
    padded: Any = full((longest, len(lengths), *data.shape[1:]), padding_value, dtype=data.dtype)
    padded[_steps(lengths)] = data
    padded = padded.transpose(0, 1) if batch_first else padded
    if back is not None:
        padded, lengths = padded.index_select(0 if batch_first else 1, back), lengths[back._data]
    return padded, wrap(lengths)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences (L, …).

    >>> T.nn.utils.rnn.pack_sequence([T.tensor([1, 2, 3]), T.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


__getattr__ = answer(__name__)
