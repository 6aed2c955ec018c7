"""`save` and `load`: a state_dict, or whatever holds tensors, numbers and strings, in a file (PyTorch: `torch.save`).

The file is a pickle in which a tensor is a NumPy array. `load` lets it name only what such data need, so that opening a
stranger's file runs none of its code.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

from .array.tensor import check_device

__all__ = ["load", "save"]

# What a file may name, by module. Everything of this package that can be pickled is data.
_SAFE = {
    "builtins": {
        *("bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list", "set", "slice", "str", "tuple")
    },
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "tinygrad_edu": {
        *("Size", "Tensor", "device", "bool", "uint8"),
        *(f"float{n}" for n in (16, 32, 64)),
        *(f"int{n}" for n in (8, 16, 32, 64)),
    },
    "tinygrad_edu.array.tensor": {"_rebuild"},
    "tinygrad_edu.nn.parameter": {"Parameter"},
}


class _Data(pickle.Unpickler):
    """An unpickler that imports nothing but the names above."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in _SAFE.get(module, ()):
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file names {module}.{name}, which is no tensor, number or container. "
                "If you trust its source, load it with weights_only=False."
            )
        return super().find_class(module, name)


@contextlib.contextmanager
def _opened(f: Any, mode: str) -> Iterator[Any]:
    """An open file is used as it is; a path is opened and closed."""
    if hasattr(f, "read" if mode == "rb" else "write"):
        yield f
    else:
        with open(f, mode) as file:
            yield file


def save(obj: Any, f: Any) -> None:
    """Write `obj` with its tensors to the path or file `f`: a `state_dict`, a dict of them, a list, a whole module.

    >>> import io, tinygrad_edu as T
    >>> file = io.BytesIO()
    >>> T.save({"w": T.tensor([1.0, 2.0])}, file)
    >>> _ = file.seek(0)
    >>> T.load(file)
    {'w': tensor([1., 2.])}
    """
    with _opened(f, "wb") as file:
        pickle.dump(obj, file, protocol=5)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True, mmap: bool | None = None) -> Any:
    """Read what `save` wrote.

    Raises:
        pickle.UnpicklingError: the file holds more than data, and `weights_only` is not False.
        RuntimeError: the file was written by PyTorch.
    """
    if not callable(map_location) and not isinstance(map_location, dict):
        check_device(map_location)
    with _opened(f, "rb") as file:
        start = file.read(2)
        file.seek(-len(start), 1)
        if start in (b"PK", b"\x80\x02"):  # its archives, and its pickles until 1.5
            raise RuntimeError(
                "this file is in PyTorch's format, which tinygrad_edu does not read: it is small on purpose. Load it "
                "with torch.load, and take the numbers over with from_numpy(t.numpy())."
            )
        return (_Data(file) if weights_only else pickle.Unpickler(file)).load()
