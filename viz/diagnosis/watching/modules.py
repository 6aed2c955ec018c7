"""The modules of a run: their paths, parameters and calls, and modules that were not registered."""

from __future__ import annotations

import contextlib
import functools
import sys
from types import FunctionType
from typing import Any

from viz.diagnosis.observation import Alias, Moment, Part, Write
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Register, Watch, weak

WIDEST = 256  # objects in a plain list of a module that are examined


class Modules:
    """Keeps track of the modules, and wraps the methods of `nn.Module` that they use.

    Args:
        watch: the run.
        values: numbers of its values and leaves.
    """

    def __init__(self, watch: Watch, values: Values) -> None:
        self.watch = watch
        self.values = values
        self._parts = Register()
        self._states: dict[
            int, tuple[Any, int | None, int]
        ] = {}  # state_dicts: reference, line, steps before the first of it
        self._first_states: dict[int | None, int] = {}
        self._unnamed: set[int] = set()  # leaves of a module that nobody knew by a name
        self._training = 0  # calls of train() under way: one goes through all modules inside

    def part(self, module: Any, line: int | None = None, stack: tuple[int, ...] = ()) -> int:
        """The number of a module."""
        nr = self._parts[module]
        if nr is None:
            parts = self.watch.seen.parts
            nr = self._parts[module] = len(parts)
            parts.append(Part(nr, type(module).__name__, line, library=self._is_library(module), stack=stack))
        return nr

    def _is_library(self, module: Any) -> bool:
        return type(module).__module__.partition(".")[0] == self.watch.engine.name

    def know(self, root: Any, name: str = "") -> None:
        """Learn the paths of a module, of modules inside it, and of its parameters, registered or not."""
        seen = self.watch.seen
        with self.watch.aside():
            for path, module in root.named_modules(prefix=name):
                part = seen.parts[self.part(module)]
                part.path = part.path or path or type(root).__name__
                part.training = bool(module.training)
                for own, parameter in module.named_parameters(recurse=False):
                    if type(parameter).__name__ == "UninitializedParameter":
                        continue  # a lazy layer before its first call: it has no shape yet
                    leaf = seen.leaves[self.values.leaf(parameter, part.line)]
                    full = f"{path}.{own}" if path else own
                    if not name:
                        self._unnamed.add(leaf.nr)
                    elif leaf.nr in self._unnamed and full.endswith(f".{leaf.name}"):
                        leaf.name = full  # it was called before anybody knew what the program calls its module
                        self._unnamed.discard(leaf.nr)
                    leaf.name, leaf.holder, leaf.parameter = leaf.name or full, part.nr, True
                    leaf.line = leaf.line if leaf.line is not None else part.line
                    if leaf.nr not in part.parameters:
                        part.parameters.append(leaf.nr)
                names = list(module._modules.values())
                for child in module.children():
                    inner = seen.parts[self.part(child)]
                    inner.repeated = max(inner.repeated, sum(child is one for one in names))
                    if inner.repeated > 1 and not inner.names:
                        inner.names = [own for own, one in module._modules.items() if one is child]
                    if part.nr not in inner.parents:
                        inner.parents.append(part.nr)
                for attribute, kept in list(vars(module).items()):
                    if self.watch.engine.is_tensor(kept) and kept.requires_grad and self.watch.is_leaf(kept):
                        leaf = seen.leaves[
                            self.values.leaf(kept)
                        ]  # not a Parameter, so parameters() does not return it
                        leaf.name = leaf.name or f"{path}.{attribute}".lstrip(".")
                        leaf.kept_by = part.nr
                    if attribute.startswith("_"):
                        continue
                    for own, thing in self._enclosed(kept):
                        around = any(thing is one for one in root.modules()) or any(
                            module is one for one in thing.modules()
                        )
                        if not around:  # neither registered elsewhere nor what this one is part of
                            where = f"{path}.{attribute}.{own}".lstrip(".")
                            self._loose(thing, module, part, where, attribute, "a function")
                    if not isinstance(kept, (list, tuple, dict)):
                        continue
                    things = list(kept.values()) if isinstance(kept, dict) else list(kept)
                    for number, thing in enumerate(things[:WIDEST]):
                        self._loose(thing, module, part, f"{path}.{attribute}[{number}]".lstrip("."), attribute)

    def _loose(
        self, thing: Any, module: Any, part: Part, path: str, attribute: str, kept_in: str = "a plain list or dict"
    ) -> None:
        """A module or parameter in a plain list of a module, or inside a function, which parameters() does not return."""
        seen = self.watch.seen
        if self.watch.engine.is_module(thing) and not any(thing is one for one in module.modules()):
            inner = seen.parts[self.part(thing)]
            if inner.registered and not inner.path:
                inner.registered, inner.attribute, inner.kept_in = False, attribute, kept_in
                inner.parents.append(part.nr)
                self.know(thing, path)
        elif isinstance(thing, self.watch.module.nn.Parameter) and not any(thing is p for p in module.parameters()):
            leaf = seen.leaves[self.values.leaf(thing)]
            leaf.name = leaf.name or path

    def _enclosed(self, kept: Any) -> list[tuple[str, Any]]:
        """The modules that a function keeps, by name: the variables around a lambda, the arguments of a partial."""
        if isinstance(kept, functools.partial):
            found = [*((str(place), one) for place, one in enumerate(kept.args)), *kept.keywords.items()]
        elif isinstance(kept, FunctionType):
            found = []
            for name, cell in zip(kept.__code__.co_freevars, kept.__closure__ or (), strict=False):
                with contextlib.suppress(ValueError):  # the variable has no value yet
                    found.append((name, cell.cell_contents))
        else:
            found = []
        return [(name, one) for name, one in found if self.watch.engine.is_module(one)]

    # the replacements of nn.Module's methods

    def around_state(self, state_dict: Any) -> Any:
        """`state_dict()`: which line took it, and after how many steps."""

        @functools.wraps(state_dict)
        def wrapped(module: Any, *args: Any, **kwargs: Any) -> Any:
            found = state_dict(module, *args, **kwargs)
            if self.watch.looking and self.watch.places.source.owns(sys._getframe(1)):
                line = self.watch.line()
                first = self._first_states.setdefault(line, self.watch.seen.steps)
                self._states[id(found)] = weak(found), line, first
            return found

        return wrapped

    def around_load(self, load: Any) -> Any:
        """`load_state_dict()`: a state that was not copied is the module's own memory, and loading it changes nothing."""

        @functools.wraps(load)
        def wrapped(module: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
            reference, line, steps = self._states.get(id(state), (lambda: None, None, 0))
            if reference() is not state and self._first_states:  # another collection of the same tensors
                line, steps = min(self._first_states.items(), key=lambda one: one[1])
            if self.watch.looking and self.watch.seen.steps > steps:
                with self.watch.aside():
                    storage, own = self.watch.engine.storage, dict(module.named_parameters())
                    if own and all(name in state and storage(state[name]) == storage(one) for name, one in own.items()):
                        taken = self.watch.seen.steps - steps
                        path = self.watch.seen.parts[self.part(module)].path or type(module).__name__
                        text = f"of {path}, {taken} steps earlier"
                        self.watch.seen.aliases.append(Alias(line, self.watch.line(), text))
            result = load(module, state, *args, **kwargs)
            if self.watch.looking and (line := self.watch.line()) is not None:
                with self.watch.aside():  # an engine may not show each copy
                    for parameter in module.parameters():
                        writes = self.watch.seen.leaves[self.values.leaf(parameter)].writes
                        writes.append(
                            Write("write", "load_state_dict", line, len(self.watch.seen.passes), self.watch.following())
                        )
            return result

        return wrapped

    def around_call(self, call: Any) -> Any:
        """`module(…)`: which module's forward runs."""

        @functools.wraps(call)
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.watch.looking:
                return call(module, *args, **kwargs)
            nr = self.part(module)
            part = self.watch.seen.parts[nr]
            if not part.called and (not self.watch.running or part.inside is not None):
                self.know(module, part.path if part.path != part.kind else "")
            part.called += 1
            part.training = bool(module.training)
            self.watch.running.append(nr)
            try:
                return call(module, *args, **kwargs)
            finally:
                self.watch.running.pop()

        return __call__

    def around_init(self, init: Any) -> Any:
        """`Module.__init__`: the line that makes one."""

        @functools.wraps(init)
        def __init__(module: Any, *args: Any, **kwargs: Any) -> None:
            init(module, *args, **kwargs)
            if self.watch.looking:
                lines = self.watch.stack()
                # A class of the program begins with super().__init__() in a line of its own: what makes it is further out.
                inside = 1 if not self._is_library(module) and len(lines) > 1 else 0
                part = self.watch.seen.parts[self.part(module, lines[inside] if lines else None, lines)]
                part.inside = self.watch.running[-1] if self.watch.running else None

        return __init__

    def around_train(self, train: Any) -> Any:
        """`train()` and `eval()`."""

        @functools.wraps(train)
        def wrapped(module: Any, mode: bool = True) -> Any:
            self._training += 1
            try:
                result = train(module, mode)
            finally:
                self._training -= 1
            if self.watch.looking and not self._training:
                seen, line = self.watch.seen, self.watch.line()
                kind, order, who = "train" if mode else "eval", self.watch.following(), self.part(module)
                seen.moments.append(Moment(kind, line, order, who, passes=len(seen.passes)))
                for inner in module.modules():
                    seen.parts[self.part(inner)].eval_line = None if mode else line
            return result

        return wrapped
