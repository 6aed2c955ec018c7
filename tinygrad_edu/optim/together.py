"""The small parameters of a group as one long array, so that a step calls NumPy once for all of them."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap

__all__ = ["Together"]

# Of fewer parameters nothing is gained, and of more elements the copies cost more than the calls.
_FEWEST, _MOST = 4, 2**18


class Together:
    """Parameters, one after the other in `flat`, and what the optimiser keeps of them, the same way in `state`.

    A step of AdamW makes 14 calls of NumPy for each, of 27 small parameters 310 us; as one, with the copies into the long array
    and out of it, it takes 145. (SGD would gain nothing.) The Tensors of the optimiser's state stay: they become views of the long arrays.
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
        """True if the parameters can be changed as one: of one type, no two in one place, with like states, not too large."""
        arrays = [p._data for p in params]
        first, names = arrays[0], states[0].keys()
        if len(arrays) < _FEWEST or sum(a.size for a in arrays) > _MOST or any(a.dtype != first.dtype for a in arrays):
            return False
        if len({id(_owner(a)) for a in arrays}) < len(arrays) or any(state.keys() != names for state in states):
            return False
        if "step" in names and len({float(state["step"]._data) for state in states}) > 1:
            return False
        return all(
            isinstance(t, Tensor) and (name == "step" or (t._data.shape == a.shape and t._data.dtype == a.dtype))
            for a, state in zip(arrays, states, strict=True)
            for name, t in state.items()
        )

    def holds(self, params: list[Tensor], states: list[dict[str, Any]]) -> bool:
        """True if these are the parameters, and nobody gave them or their states other arrays since."""
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
        """Bring the parameters into `flat`; returns their gradients, in a row too."""
        np.concatenate([a.reshape(-1) for a in self.arrays], out=self.flat)
        return np.concatenate([p._grad._data.reshape(-1) for p in self.params])  # type: ignore[union-attr]

    def scatter(self) -> None:
        """Bring what became of `flat` back to the parameters."""
        for array, piece in zip(self.arrays, self.pieces, strict=True):
            np.copyto(array, piece)
        if "step" in self.state:
            self.steps[1:] = self.steps[0]


def _owner(array: Any) -> Any:
    """The array whose memory `array` shows."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
