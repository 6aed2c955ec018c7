"""What the program's variables stand for, and which of them keep the graphs of earlier steps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, is_dataclass
from types import FrameType, FunctionType, SimpleNamespace
from typing import Any

from viz.diagnosis.observation import Kept
from viz.diagnosis.watching.modules import Modules
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Watch
from viz.recording.reader import tensors_in
from viz.recording.source import variables_of

MOST_DEEP = 3  # levels of objects in objects that are searched
NAMING_PASSES = 5  # backward passes at which the program's variables are searched
MOST_SEARCHES = 20  # with those at later passes, where there are new leaves


@dataclass
class Names:
    """Learns names from the variables of running frames."""

    watch: Watch
    values: Values
    modules: Modules
    _searches: int = 0
    _leaves: int = 0  # that there were at the last search

    def harvest(self, frame: FrameType | None) -> None:
        """Learn the current names of the program's variables, in all of its running frames."""
        seen = self.watch.seen
        if len(seen.passes) > NAMING_PASSES and (self._searches > MOST_SEARCHES or len(seen.leaves) == self._leaves):
            return
        self._searches, self._leaves = self._searches + 1, len(seen.leaves)
        while frame is not None:
            if self.watch.places.source.owns(frame):
                self.learn(variables_of(frame))
            frame = frame.f_back

    def learn(self, variables: dict[str, Any]) -> None:
        """Learn the values behind the names of a frame or a namespace, and what they keep alive."""
        with self.watch.aside:
            self._name(variables)
            self._kept(variables)
            met: set[int] = set()
            for name, thing in list(variables.items()):
                self._look_into(name, thing, met)

    def _look_into(self, name: str, thing: Any, met: set[int], deep: int = 0) -> None:
        """What an object of the program keeps in attributes, of its own and of its class."""
        if id(thing) in met or deep > MOST_DEEP or name.startswith("__") or not hasattr(thing, "__dict__"):
            return
        met.add(id(thing))
        if not isinstance(thing, type) and self._is_own(type(thing)):
            own = dict(vars(thing))
            self._kept({f"self.{key}": value for key, value in (dict(vars(type(thing))) | own).items()})
            if not self.watch.engine.is_module(thing):
                self._name(own)
            for key, value in own.items():
                self._look_into(key, value, met, deep + 1)

    def _is_own(self, kind: type) -> bool:
        """True for a class that the program's own text defines."""
        if kind is SimpleNamespace or (is_dataclass(kind) and self.watch.places.defines(kind.__name__)):
            return True  # nobody wrote a method of it
        methods = (method for method in vars(kind).values() if isinstance(method, FunctionType))
        return any(self.watch.places.source.holds(method.__code__) for method in methods)

    def _name(self, variables: dict[str, Any]) -> None:
        engine, seen = self.watch.engine, self.watch.seen
        for name, thing in list(variables.items()):
            if name.startswith("__") or name in ("T", "torch", "self", "ctx"):
                continue
            if engine.is_module(thing):
                self.modules.know(thing, name)
                continue
            for path, tensor in tensors_in(thing, engine):
                if self.values.known_leaf(tensor) is not None:
                    self.values.name(tensor, name + path)
                if (nr := self.values.known(tensor)) is not None:
                    value = seen.values[nr]
                    value.name = value.name or name + path

    def _kept(self, variables: dict[str, Any]) -> None:
        """Note which variables keep values of earlier steps, with their graphs."""
        seen = self.watch.seen
        for name, thing in list(variables.items()):
            if name.startswith("__") or not isinstance(thing, (list, tuple, dict, set, deque)):
                continue
            if isinstance(thing, dict) and any(isinstance(inner, (list, dict, set, deque)) for inner in thing.values()):
                self._kept({f"{name}[{key!r}]": inner for key, inner in thing.items()})
                continue
            tensors = self.watch.tensors([list(thing) if isinstance(thing, (set, deque)) else thing])
            kept = [self.values.known(tensor) for tensor in tensors if self.watch.recorded(tensor)]
            nrs = [nr for nr in kept if nr is not None]
            known = next((kept for kept in seen.kept if kept.name == name), None)
            if known is None and len({self._pass_of(nr) for nr in nrs}) > 1:
                maker = seen.maker(seen.values[nrs[0]])
                line = maker.line if maker is not None else None
                adds = self.watch.places.where_grown(name, line) or line
                seen.kept.append(Kept(name, adds, [len(nrs)], len(seen.passes), nrs))
            elif known is not None:
                if known.passes == len(seen.passes):
                    known.counts.pop()  # it has grown since, in the same step
                known.counts.append(len(nrs))
                known.passes, known.values = len(seen.passes), nrs

    def _pass_of(self, nr: int) -> int:
        maker = self.watch.seen.values[nr].op or 0
        return sum(each.done and each.ops <= maker for each in self.watch.seen.passes)
