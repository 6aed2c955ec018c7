"""Parameters in lists and dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from ...core.tensor import Tensor
from ...nn.module import Module
from ...nn.parameter import Parameter

__all__ = ["ModuleDict", "ParameterDict", "ParameterList"]


class _ByName(Module, MutableMapping):
    """The base of the dictionaries. Python derives the other methods from these."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, given: Any = None) -> None:
        super().__init__()
        if given is not None:
            self.update(given)

    def _held(self) -> dict[str, Any]:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        return self._held()[key]

    def __delitem__(self, key: str) -> None:
        del self._held()[key]

    def __len__(self) -> int:
        return len(self._held())

    def __iter__(self) -> Iterator[str]:
        return iter(self._held())

    # A dictionary's own views: those of MutableMapping would print the whole network.
    def keys(self) -> Any:
        return self._held().keys()

    def items(self) -> Any:
        return self._held().items()

    def values(self) -> Any:
        return self._held().values()


class ParameterDict(_ByName):
    """A dictionary of parameters, which `parameters()` finds. Tensors become parameters; other values stay what they are.

    >>> import tinygrad_edu as T
    >>> weights = T.nn.ParameterDict({"left": T.zeros(2), "right": T.zeros(3)})
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        Module.__init__(self)
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _held(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self._keys}

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"the key of a parameter is a string, but got {key!r}")
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(self._held())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary with one value for all keys."""
        return ParameterDict(dict.fromkeys(keys, default))

    def __or__(self, other: Mapping[str, Any]) -> ParameterDict:
        return ParameterDict({**self, **other})

    def __ror__(self, other: Mapping[str, Any]) -> ParameterDict:
        return ParameterDict({**other, **self})

    def __ior__(self, other: Mapping[str, Any]) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return _list_of(self._held().items(), lambda p: p.type())


class ParameterList(Module):
    """A list of parameters, which `parameters()` finds. Tensors become parameters; other values stay what they are.

    >>> import tinygrad_edu as T
    >>> scales = T.nn.ParameterList([T.ones(2), T.ones(3)])
    >>> [tuple(p.shape) for p in scales]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def _key(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[one] for one in range(*index.indices(len(self)))])
        return getattr(self, self._key(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._key(index), _parameter(value))

    def extra_repr(self) -> str:
        return _list_of(enumerate(self), lambda p: p.dtype)


def _parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _list_of(held: Iterable[tuple[Any, Any]], kind: Any) -> str:
    lines = []
    for name, p in held:
        if isinstance(p, Tensor):
            what = "Parameter" if isinstance(p, Parameter) else "Tensor"
            lines.append(f"  ({name}): {what} containing: [{kind(p)} of size {'x'.join(map(str, p.shape))}]")
        else:
            lines.append(f"  ({name}): Object of type: {type(p).__name__}")
    return "\n".join(lines)


class ModuleDict(_ByName):
    """A dictionary of modules. `parameters()` finds theirs, unlike those in a plain dictionary.

    >>> import tinygrad_edu as T
    >>> heads = T.nn.ModuleDict({'mean': T.nn.Linear(4, 1), 'scale': T.nn.Linear(4, 1)})
    >>> heads['mean'](T.ones(2, 4)).shape
    tinygrad_edu.Size([2, 1])
    >>> len(list(heads.parameters()))
    4
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__(modules)

    def _held(self) -> dict[str, Any]:
        return self._modules

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)
