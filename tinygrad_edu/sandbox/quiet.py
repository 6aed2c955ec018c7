"""Stands in for a module that only shows something, such as a progress bar or a plot: its calls do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any


class Quiet(ModuleType):
    """The module, and whatever is read from it or returned by it. A progress bar goes through what it is given."""

    def __init__(self, name: str, goes_over: Iterable[Any] = ()) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._goes_over = goes_over

    def __getattr__(self, name: str) -> Quiet:
        if name.startswith("__"):
            raise AttributeError(name)
        return Quiet(f"{self.__name__}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Quiet:
        top, _, name = self.__name__.partition(".")
        if name.endswith("subplots"):
            return Quiet(self.__name__, (Quiet("figure"), Quiet("axes")))
        if top != "tqdm":
            return self
        given = named.get("iterable", arguments[0] if arguments else ())
        return Quiet(self.__name__, range(*arguments) if name.endswith("trange") else given)

    def __getitem__(self, key: object) -> Quiet:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(self._goes_over)

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *error: object) -> None:
        pass
