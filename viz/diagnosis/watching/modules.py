"""The modules of a run: their paths, parameters and calls, and modules that were not registered."""

from __future__ import annotations

import functools
from typing import Any

from viz.diagnosis.observation import Alias, Moment, Part, Write
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Register, Watch, weak

WIDEST = 256  # objects in a plain list of a module that are examined


class Modules:
    """Keeps track of the modules, and hears of the methods of `nn.Module` that they use.

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
        ] = {}  # reference, line, steps before the first of that line
        self._first_states: dict[int | None, int] = {}
        self._unnamed: set[int] = set()  # leaves of a module that nobody knew by a name

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
                for own, parameter in module.named_parameters(recurse=False):
                    if type(parameter).__name__ != "UninitializedParameter":  # a lazy layer has no shape yet
                        self._holds(part, parameter, f"{path}.{own}".lstrip("."), bool(name))
                names = list(module._modules.values())
                for child in module.children():
                    inner = seen.parts[self.part(child)]
                    inner.repeated = max(inner.repeated, sum(child is one for one in names))
                    if inner.repeated > 1 and not inner.names:
                        inner.names = [own for own, one in module._modules.items() if one is child]
                    if part.nr not in inner.parents:
                        inner.parents.append(part.nr)
                for attribute, kept in list(vars(module).items()):
                    where = f"{path}.{attribute}".lstrip(".")
                    if self.watch.engine.is_tensor(kept) and kept.requires_grad and self.watch.is_leaf(kept):
                        leaf = seen.leaves[
                            self.values.leaf(kept)
                        ]  # not a Parameter, so parameters() does not return it
                        leaf.name = leaf.name or where
                    elif isinstance(kept, (list, tuple, dict)) and not attribute.startswith("_"):
                        things = list(kept.values()) if isinstance(kept, dict) else list(kept)
                        for number, thing in enumerate(things[:WIDEST]):
                            self._loose(thing, module, part, f"{where}[{number}]", attribute)

    def _holds(self, part: Part, parameter: Any, full: str, named: bool) -> None:
        """A parameter of a module, under its name."""
        leaf = self.watch.seen.leaves[self.values.leaf(parameter, part.line)]
        if not named:
            self._unnamed.add(leaf.nr)
        elif leaf.nr in self._unnamed and full.endswith(f".{leaf.name}"):
            leaf.name = full  # it was called before anybody knew what the program calls its module
            self._unnamed.discard(leaf.nr)
        leaf.name, leaf.holder, leaf.parameter = leaf.name or full, part.nr, True
        leaf.line = leaf.line if leaf.line is not None else part.line
        if leaf.nr not in part.parameters:
            part.parameters.append(leaf.nr)

    def _loose(self, thing: Any, module: Any, part: Part, path: str, attribute: str) -> None:
        """A module or parameter in a plain list of a module, which parameters() does not return."""
        seen = self.watch.seen
        if self.watch.engine.is_module(thing) and not any(thing is one for one in module.modules()):
            inner = seen.parts[self.part(thing)]
            if inner.registered and not inner.path:
                inner.registered, inner.attribute = False, attribute
                inner.parents.append(part.nr)
                self.know(thing, path)
        elif isinstance(thing, self.watch.module.nn.Parameter) and not any(thing is p for p in module.parameters()):
            leaf = seen.leaves[self.values.leaf(thing)]
            leaf.name = leaf.name or path

    # calls of nn.Module's methods

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

    def made(self, call: Call) -> None:
        """`Module.__init__`: the line that makes one."""
        module, lines = call.args[0], call.lines
        # A class of the program begins with super().__init__() in a line of its own: what makes it is further out.
        inside = 1 if not self._is_library(module) and len(lines) > 1 else 0
        part = self.watch.seen.parts[self.part(module, lines[inside] if lines else None, lines)]
        part.inside = self.watch.running[-1] if self.watch.running else None

    def switched(self, call: Call) -> None:
        """`train()` and `eval()`."""
        mode = (*call.args[1:], call.kwargs.get("mode", True))[0]
        seen, who = self.watch.seen, self.part(call.args[0])
        kind = "train" if mode else "eval"
        seen.moments.append(Moment(kind, call.line, self.watch.following(), who, passes=len(seen.passes)))

    def state_taken(self, call: Call) -> None:
        """`state_dict()`: which line took it, and after how many steps."""
        if call.own:
            first = self._first_states.setdefault(call.line, self.watch.seen.steps)
            self._states[id(call.result)] = weak(call.result), call.line, first

    def loads(self, call: Call) -> None:
        """`load_state_dict()`: a state that was not copied is the module's own memory, and loading it changes nothing."""
        module, state = (*call.args, call.kwargs.get("state_dict"))[:2]
        reference, line, steps = self._states.get(id(state), (lambda: None, None, 0))
        if reference() is not state and self._first_states:  # another collection of the same tensors
            line, steps = min(self._first_states.items(), key=lambda one: one[1])
        if self.watch.seen.steps > steps:
            storage, own = self.watch.engine.storage, dict(module.named_parameters())
            if own and all(name in state and storage(state[name]) == storage(one) for name, one in own.items()):
                path = self.watch.seen.parts[self.part(module)].path or type(module).__name__
                text = f"of {path}, {self.watch.seen.steps - steps} steps earlier"
                self.watch.seen.aliases.append(Alias(line, call.line, text))

    def loaded(self, call: Call) -> None:
        """Loading writes into all parameters: an engine may not show each copy."""
        for parameter in call.args[0].parameters() if call.line is not None else ():
            write = Write("write", "load_state_dict", call.line, len(self.watch.seen.passes), self.watch.following())
            self.watch.seen.leaves[self.values.leaf(parameter)].writes.append(write)
