"""Modules that hold modules or parameters: `Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`, `ParameterDict`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .module import Module

__all__ = ["ModuleList", "Sequential"]


class _Row(Module):
    """Modules accessed by position."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _key(self, index: int) -> str:
        keys = list(self._modules)
        try:
            return keys[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)._of(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    @classmethod
    def _of(cls, items: list[tuple[Any, Any]]) -> Any:
        row = cls()
        for name, module in items:
            row.add_module(str(name), module)
        return row

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        if isinstance(index, slice):
            for key in list(self._modules)[index]:
                del self._modules[key]
        else:
            del self._modules[self._key(index)]
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(kept))

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
        return type(self)._of(list(enumerate([*self, *other])))

    def pop(self, index: int = -1) -> Module:
        """Remove the module at `index` and return it."""
        module = self[index]
        del self[index]
        return module

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at `index`."""
        kept = list(self._modules.values())
        if isinstance(self, Sequential) and not -len(kept) <= index <= len(kept):
            raise IndexError(f"Index out of range: {index}")
        if not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        kept.insert(index, module)
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(kept))
        return self


class Sequential(_Row):
    """A chain of modules: the output of each is the input of the next.

    >>> import tinygrad_edu as T
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

    def __mul__(self, other: int) -> Sequential:
        # The same modules again: they share their parameters.
        return type(self)._of(list(enumerate([*self] * _positive(self, other))))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        return self.extend([*self] * (_positive(self, other) - 1))


def _positive(row: Sequential, factor: Any) -> int:
    if not isinstance(factor, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(row)} and {type(factor)}")
    if factor <= 0:
        raise ValueError(f"Non-positive multiplication factor {factor} for {type(row)}")
    return factor


class ModuleList(_Row):
    """A list of modules. `parameters()` finds theirs, unlike those in a plain list.

    >>> import tinygrad_edu as T
    >>> layers = T.nn.ModuleList([T.nn.Linear(4, 4) for _ in range(3)])
    >>> len(list(layers.parameters()))  # a plain list would hide them from the optimizer
    6
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    @classmethod
    def _of(cls, items: list[tuple[Any, Any]]) -> Any:
        return cls(module for _, module in items)

    def __repr__(self) -> str:
        # Print equal neighbours only once.
        lines = []
        for shown, run in itertools.groupby(enumerate(self), key=lambda item: repr(item[1])):
            first, *_, last = [*[i for i, _ in run]] * 2
            which = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(which + shown.replace("\n", "\n  "))
        return f"{self._get_name()}(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")
