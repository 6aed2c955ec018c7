"""Modules of modules or parameters: `Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from ..array.tensor import Tensor
from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Row(Module):
    """Modules accessed by position."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _key(self, index: int) -> str:
        try:
            return list(self._modules)[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            row = type(self)()
            row._modules.update(list(self._modules.items())[index])
            return row if isinstance(self, Sequential) else row._numbered(row)
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        kept = list(self)
        del kept[index]
        self._numbered(kept)

    def _numbered(self, modules: Iterable[Any]) -> Any:
        """Hold these modules, under the names "0", "1", …."""
        modules = list(modules)
        self._modules.clear()
        return self.extend(modules)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)().extend([*self, *other])

    def pop(self, index: int = -1) -> Module:
        """Remove the module at `index` and return it."""
        module = self[index]
        del self[index]
        return module

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        return self._numbered(modules)


class Sequential(_Row):
    """A chain of modules: the output of each is the input of the next.

    >>> model = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.ReLU(), T.nn.Linear(4, 1))
    >>> model(T.zeros(5, 3)).shape
    tinygrad_edu.Size([5, 1])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], Mapping) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input


class ModuleList(_Row):
    """A list of modules. `parameters()` finds theirs, unlike those in a plain list.

    >>> layers = T.nn.ModuleList([T.nn.Linear(4, 4) for _ in range(3)])
    >>> len(list(layers.parameters()))  # a plain list would hide them from the optimizer
    6
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def __repr__(self) -> str:
        # Print equal neighbours only once.
        lines = []
        for shown, run in itertools.groupby(enumerate(self), key=lambda item: repr(item[1])):
            first, *_, last = [*[i for i, _ in run]] * 2
            which = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(which + shown.replace("\n", "\n  "))
        return f"{self._get_name()}(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")


class ModuleDict(Module, MutableMapping):
    """A dictionary of modules. `parameters()` finds theirs, unlike those in a plain dictionary.

    >>> heads = T.nn.ModuleDict({"mean": T.nn.Linear(4, 1), "scale": T.nn.Linear(4, 1)})
    >>> heads["mean"](T.ones(2, 4)).shape, len(list(heads.parameters()))
    (tinygrad_edu.Size([2, 1]), 4)
    """

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def _held(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Any:
        return self._held()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.add_module(key, value)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

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


class ParameterDict(ModuleDict):
    """A dictionary of parameters, which `parameters()` finds. Tensors become parameters; other values stay.

    >>> weights = T.nn.ParameterDict({"left": T.zeros(2), "right": T.zeros(3)})
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        Module.__init__(self)
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def _held(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self._keys}

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def extra_repr(self) -> str:
        return _list_of(self.items(), lambda p: p.type())


class ParameterList(Module):
    """A list of parameters, which `parameters()` finds. Tensors become parameters; other values stay what they are.

    >>> scales = T.nn.ParameterList([T.ones(2), T.ones(3)])
    >>> [tuple(p.shape) for p in scales]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

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
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, self._key(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._key(index), _parameter(value))

    def extra_repr(self) -> str:
        return _list_of(enumerate(self), lambda p: p.dtype)


def _parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _list_of(held: Iterable[tuple[Any, Any]], dtype: Any) -> str:
    lines = []
    for name, p in held:
        kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
        what = (
            f"{kind} containing: [{dtype(p)} of size {'x'.join(map(str, p.shape))}]" if isinstance(p, Tensor) else None
        )
        lines.append(f"  ({name}): {what or f'Object of type: {type(p).__name__}'}")
    return "\n".join(lines)
