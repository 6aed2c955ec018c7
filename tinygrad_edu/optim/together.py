"""The small parameters of a group as one long array, so that a step calls NumPy once for all of them."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from ..array.memory import owner
from ..array.tensor import Tensor, wrap

__all__ = ["Together"]

# With fewer parameters nothing is gained; with more elements the copies cost more than the calls.
_FEWEST, _MOST = 4, 2**18


class Together:
    """Parameters joined in one array, `flat`, and their optimizer state joined in the same way in `state`.

    An AdamW step makes 14 NumPy calls per parameter: 310 us for 27 small parameters. As one array it takes 145,
    including the copies in and out. (SGD would gain nothing.) The state's Tensors stay the same objects: they become
    views of the long arrays.
    """

    def __init__(self, params: list[Tensor], states: list[dict[str, Any]]) -> None:
        self.params = params
        self.arrays = [p._data for p in params]
        self.flat = np.empty(sum(a.size for a in self.arrays), self.arrays[0].dtype)
        self.pieces = self._cut(self.flat)
        self.state: dict[str, Any] = {}
        for name in states[0]:
            tensors = [state[name] for state in states]
            if name == "step":
                self.steps = np.array([t._data for t in tensors])
                views = [self.steps[i : i + 1].reshape(()) for i in range(len(tensors))]
                self.state[name] = wrap(views[0])
            else:
                flat = np.concatenate([t._data.reshape(-1) for t in tensors])
                views = self._cut(flat)
                self.state[name] = wrap(flat)
            for tensor, view in zip(tensors, views, strict=True):
                tensor._data = view
        self.kept = [t for state in states for t in state.values()]
        self.views = [t._data for t in self.kept]

    def _cut(self, flat: np.ndarray) -> list[np.ndarray]:
        pieces, start = [], 0
        for a in self.arrays:
            pieces.append(flat[start : start + a.size].reshape(a.shape))
            start += a.size
        return pieces

    @staticmethod
    def fits(params: list[Tensor], states: list[dict[str, Any]]) -> bool:
        """True if the parameters can be updated as one: one dtype, no shared memory, similar states, not too large."""
        arrays = [p._data for p in params]
        first, names = arrays[0], states[0].keys()
        if len(arrays) < _FEWEST or sum(a.size for a in arrays) > _MOST or any(a.dtype != first.dtype for a in arrays):
            return False
        if len({id(owner(a)) for a in arrays}) < len(arrays) or any(state.keys() != names for state in states):
            return False
        if "step" in names and len({float(state["step"]._data) for state in states}) > 1:
            return False
        return all(
            isinstance(t, Tensor) and (name == "step" or (t.value.shape == a.shape and t.value.dtype == a.dtype))
            for a, state in zip(arrays, states, strict=True)
            for name, t in state.items()
        )

    def holds(self, params: list[Tensor], states: list[dict[str, Any]]) -> bool:
        """True if these are still the parameters, and they and their states still have the same arrays."""
        kept = [t for state in states for t in state.values()]
        return (
            len(params) == len(self.params)
            and len(kept) == len(self.kept)
            and all(map(is_, params, self.params))
            and all(map(is_, [p._data for p in params], self.arrays))
            and all(map(is_, kept, self.kept))
            and all(map(is_, [t._data for t in kept], self.views))
        )

    def gather(self) -> np.ndarray:
        """Copy the parameters into `flat`. Returns their gradients, joined in the same way."""
        np.concatenate([a.reshape(-1) for a in self.arrays], out=self.flat)
        return np.concatenate([p._grad._data.reshape(-1) for p in self.params if p._grad is not None])

    def scatter(self) -> None:
        """Copy `flat` back to the parameters."""
        for array, piece in zip(self.arrays, self.pieces, strict=True):
            np.copyto(array, piece)
        if "step" in self.state:
            self.steps[1:] = self.steps[0]
