"""`save` and `load` in PyTorch's own file format: each engine reads what the other writes.

A file is a zip archive. `data.pkl` holds the pickled object. In it, each tensor is replaced by the number of its storage and
the offset, sizes and strides to read it with. `data/<number>` holds the bytes of a storage. The pickle names PyTorch's
functions as text, so neither writing nor reading needs PyTorch.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array import absent, dtypes
from ..array.tensor import Size, Tensor, device, wrap
from ..nn.parameter import Parameter
from ..ops.creation.factories import check_device

if TYPE_CHECKING:
    import zipfile  # imported on demand, because few programs save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_STORAGES = {
    f"{d.legacy_name}Storage": d
    for d in vars(dtypes).values()
    if isinstance(d, dtypes.dtype)
}  # fmt: skip


class _Name:
    """A global name that is written to the file as text; neither side imports it."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"{module}\n{name}\n".encode()

    def __call__(self) -> None:
        """pickle requires that whatever rebuilds an object is callable."""


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_SIZE, _DEVICE = _Name("torch", "Size"), _Name("torch", "device")
_NAMES = {key: _Name("torch", key) for key in _STORAGES} | {d: _Name("torch", d.name) for d in _STORAGES.values()}


class _Storage:
    """Memory that one or several tensors share."""

    def __init__(self, array: np.ndarray, number: int) -> None:
        # Keep the array alive, so that no other array gets its id.
        self.flat, self.number, self.array = array.ravel(order="K"), number, array

    def key(self) -> tuple[Any, ...]:
        kind = dtypes.from_numpy_dtype(self.flat.dtype)
        return "storage", _NAMES[f"{kind.legacy_name}Storage"], str(self.number), "cpu", self.flat.size


class _Writer(pickle._Pickler):  # the C version would import the names
    """A pickler that writes tensors in PyTorch's format."""

    write: Any
    memoize: Any

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=2)
        self.storages: dict[int, _Storage] = {}

    def persistent_id(self, obj: Any) -> Any:
        return obj.key() if isinstance(obj, _Storage) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            if isinstance(obj, Parameter):
                return _REBUILD_PARAMETER, (obj.detach(), obj.requires_grad, OrderedDict())
            return _REBUILD_TENSOR, self._piece(obj)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, device):
            return _DEVICE, (str(obj),)
        return "" if isinstance(obj, _Name | dtypes.dtype) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if isinstance(obj, _Name | dtypes.dtype):
            self.write(pickle.GLOBAL + (obj if isinstance(obj, _Name) else _NAMES[obj]).text)
            self.memoize(obj)
        else:
            super().save_global(obj, name)  # type: ignore[misc]

    def _piece(self, t: Tensor) -> tuple[Any, ...]:
        array = owner = t._data
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.dtype != array.dtype or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
            array = owner = array.copy()
        storage = self.storages.setdefault(id(owner), _Storage(owner, len(self.storages)))
        offset = (array.ctypes.data - owner.ctypes.data) // array.itemsize if array.size else 0
        strides = tuple(step // array.itemsize for step in array.strides)
        return storage, offset, tuple(array.shape), strides, t.requires_grad, OrderedDict()


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object and its tensors to a path or an open file: a `state_dict`, a list, or a whole module.

    PyTorch's `torch.load` can read the tensors, numbers, strings and containers in it.

    Example:
        >>> import io, tinygrad_edu as T
        >>> file = io.BytesIO()
        >>> T.save({"w": T.tensor([1.0, 2.0])}, file)
        >>> T.load(file)
        {'w': tensor([1., 2.])}
    """
    import zipfile

    text = io.BytesIO()
    writer = _Writer(text)
    writer.dump(obj)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("archive/data.pkl", text.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for storage in writer.storages.values():
            archive.writestr(f"archive/data/{storage.number}", storage.flat.tobytes())
        archive.writestr("archive/version", "3\n")


class _Reader(pickle.Unpickler):
    """An unpickler that knows PyTorch's names, and with `weights_only` no others."""

    def __init__(self, archive: zipfile.ZipFile, weights_only: bool) -> None:
        self.archive, self.weights_only = archive, weights_only
        self.root = next(name for name in archive.namelist() if name.endswith("data.pkl")).removesuffix("data.pkl")
        order = f"{self.root}byteorder"
        self.order = archive.read(order).decode() if order in archive.namelist() else "little"
        self.arrays: dict[str, np.ndarray] = {}
        super().__init__(io.BytesIO(archive.read(f"{self.root}data.pkl")))

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get((module, name)) or _trusted.get(f"{module}.{name}")
        if known is not None:
            return known
        if module == "torch" and absent.sentence(name.removesuffix("Storage").lower()):
            raise NotImplementedError(absent.sentence(name.removesuffix("Storage").lower()))
        if self.weights_only:
            raise pickle.UnpicklingError(
                f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. "
                "Loading a file can run any code in it; if you trust this one, pass weights_only=False."
            )
        return super().find_class(module, name)

    def persistent_load(self, key: Any) -> np.ndarray:
        _, kind, number, _, _ = key
        if number not in self.arrays:
            raw = np.frombuffer(self.archive.read(f"{self.root}data/{number}"), kind.numpy.newbyteorder(self.order))
            self.arrays[number] = raw.astype(kind.numpy)
        return self.arrays[number]


def _tensor(storage: np.ndarray, offset: int, size: Any, stride: Any, requires_grad: bool, *rest: Any) -> Tensor:
    steps = [step * storage.itemsize for step in stride]
    out = wrap(np.lib.stride_tricks.as_strided(storage[offset:], size, steps))
    return out.requires_grad_() if requires_grad else out


def _parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


_KNOWN: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch", "Size"): Size,
    ("torch", "device"): device,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("_codecs", "encode"): codecs.encode,
    **{(home, kind.__name__): kind for home in ("__builtin__", "builtins") for kind in (set, bytearray, complex)},
    **{("torch", name): d for name, d in _STORAGES.items()},
    **{("torch", d.name): d for d in _STORAGES.values()},
}


# Further names that the program allows.
_trusted: dict[str, Any] = {}


def _named(safe_globals: list[Any]) -> dict[str, Any]:
    pairs = [x if isinstance(x, tuple) else (x, f"{x.__module__}.{x.__qualname__}") for x in safe_globals]
    return {name: thing for thing, name in pairs}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow these classes and functions in files that `load` reads with `weights_only`; a pair also gives the name.

    >>> import tinygrad_edu as T
    >>> import collections
    >>> T.serialization.add_safe_globals([collections.Counter])
    >>> collections.Counter in T.serialization.get_safe_globals()
    True
    >>> T.serialization.clear_safe_globals()
    """
    _trusted.update(_named(safe_globals))


def get_safe_globals() -> list[Any]:
    """The list of what `add_safe_globals` has allowed."""
    return list(_trusted.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has allowed."""
    _trusted.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow these classes and functions, as `add_safe_globals` does, inside a `with` block.

    >>> import tinygrad_edu as T
    >>> import collections
    >>> with T.serialization.safe_globals([collections.Counter]):
    ...     print(collections.Counter in T.serialization.get_safe_globals())
    True
    """
    before = dict(_trusted)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _trusted.clear()
        _trusted.update(before)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read a file that `save` wrote, here or in PyTorch, from a path or an open file.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: "cpu" or None.
        weights_only: read only tensors, numbers, strings and containers, nothing that could run code. Default True.

    Raises:
        pickle.UnpicklingError: the file contains something else and `weights_only` is True.

    Example:
        >>> import io, tinygrad_edu as T
        >>> file = io.BytesIO()
        >>> layer, other = T.nn.Linear(2, 1), T.nn.Linear(2, 1)
        >>> T.save(layer.state_dict(), file)
        >>> other.load_state_dict(T.load(file))
        <All keys matched successfully>
        >>> T.equal(layer.weight, other.weight)
        True
    """
    import zipfile

    if isinstance(map_location, str | device):
        check_device(map_location)
    if hasattr(f, "seek"):
        f.seek(0)
    if not zipfile.is_zipfile(f):
        raise RuntimeError(
            "Invalid magic number; corrupt file? It is not a zip archive, the format of PyTorch since 1.6. Load it in PyTorch and "
            "save it again."
        )
    with zipfile.ZipFile(f) as archive:
        return _Reader(archive, weights_only is not False).load()
