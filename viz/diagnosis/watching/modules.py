"""The modules of a run: their paths, parameters and calls, and modules that were not registered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from viz.diagnosis.observation import Alias, Part
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Call, Noting, Register, Watch
from viz.diagnosis.watching.writes import Writes

WIDEST = 256  # objects in a plain list of a module that are examined


@dataclass
class Modules:
    """Keeps track of the modules, and hears of the methods of `nn.Module` that they use."""

    watch: Watch
    values: Values
    writes: Writes
    _parts: Register[int] = field(default_factory=Register)
    _states: Register[tuple[int | None, int]] = field(default_factory=Register)  # line, steps before it
    _first_states: dict[int | None, int] = field(default_factory=dict)
    _unnamed: set[int] = field(default_factory=set)  # leaves of a module that nobody knew by a name
    _late: set[int] = field(default_factory=set)  # modules that were made while another one ran

    @cached_property
    def _own(self) -> set[str]:
        """The attributes of any module, such as `_modules`, which list what is registered."""
        return {*vars(self.watch.module.nn.Module())}

    def part(self, module: Any, stack: tuple[int, ...] = ()) -> Part:
        """What is known of a module, which was made in the lines of the stack."""
        parts = self.watch.seen.parts
        if (nr := self._parts[module]) is None:
            nr = self._parts[module] = len(parts)
            parts.append(Part(nr, type(module).__name__, stack, self._is_library(module)))
        return parts[nr]

    def _is_library(self, module: Any) -> bool:
        return type(module).__module__.partition(".")[0] == self.watch.engine.name

    def know(self, root: Any, name: str = "") -> None:
        """Learn the paths of a module, of modules inside it, and of its parameters, registered or not."""
        with self.watch.aside:
            for path, module in self.watch.engine.modules(root, name):
                part = self.part(module)
                part.path = part.path or path or type(root).__name__
                for own, parameter in module._parameters.items():
                    if parameter is not None and self.watch.engine.is_ready(parameter):  # a lazy layer has no shape yet
                        self._holds(part, parameter, f"{path}.{own}".lstrip("."), bool(name))
                for child in [part for part in module._modules.values() if part is not None]:
                    inner = self.part(child)
                    names = [own for own, part in module._modules.items() if part is child]
                    inner.names = names if len(names) > len(inner.names) else inner.names
                    if part.nr not in inner.parents:
                        inner.parents.append(part.nr)
                for attribute, kept in list(vars(module).items()):
                    where = f"{path}.{attribute}".lstrip(".")
                    if self.watch.engine.is_tensor(kept) and kept.requires_grad and self.watch.is_leaf(kept):
                        self.values.name(kept, where)  # not a Parameter, so parameters() does not return it
                    elif isinstance(kept, (list, tuple, dict)) and attribute not in self._own:
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
        if self.watch.engine.is_module(thing) and not any(
            thing is part for _, part in self.watch.engine.modules(module)
        ):
            inner = self.part(thing)
            if inner.registered and not inner.path:
                inner.registered, inner.attribute = False, attribute
                inner.parents.append(part.nr)
                self.know(thing, path)
        elif isinstance(thing, self.watch.module.nn.Parameter) and not any(
            thing is p for p in self.watch.engine.parameters(module)
        ):
            self.values.name(thing, path)

    # calls of nn.Module's methods

    def runs(self, call: Call) -> Noting:
        """`module(…)`: which module's forward runs."""
        module, running = call.args[0], self.watch.running
        part = self.part(module)
        if not part.called and (not running or part.nr in self._late):
            self.know(module, part.path if part.path != part.kind else "")
        part.called += 1
        part.training = bool(module.training)
        running.append(part.nr)
        try:
            yield
        finally:
            running.pop()

    def made(self, call: Call) -> Noting:
        """`Module.__init__`: the line that makes one."""
        yield
        module = call.args[0]
        # A class of the program begins with super().__init__() in a line of its own: what makes it is further out.
        inside = not self._is_library(module) and len(call.stack) > 1
        part = self.part(module, call.stack[inside:])
        if self.watch.running:
            self._late.add(part.nr)

    def switched(self, call: Call) -> Noting:
        """`train()` and `eval()`."""
        yield
        kind = "train" if call.given(1, "mode", True) else "eval"
        self.watch.moment(kind, call.stack, who=self.part(call.args[0]).nr)

    def state_taken(self, call: Call) -> Noting:
        """`state_dict()`: which line took it, and after how many steps."""
        yield
        if call.own:
            self._states[call.result] = call.line, self.watch.seen.steps
            self._first_states.setdefault(call.line, self.watch.seen.steps)

    def loaded(self, call: Call) -> Noting:
        """`load_state_dict()`: an uncopied state is the module's own memory, and loading it changes nothing."""
        module, state, seen = call.args[0], call.given(1, "state_dict"), self.watch.seen
        # What it does not know may be another collection of the same tensors.
        line, last = self._states[state] or (next(iter(self._first_states), None), seen.steps)
        first = self._first_states.get(line, 0)
        storage, own = self.watch.engine.storage, dict(self.watch.engine.held(module))
        same = own and all(name in state and storage(state[name]) == storage(tensor) for name, tensor in own.items())
        if seen.steps > first and same:
            part = self.part(module)
            ago, before = (seen.steps - last, "") if last < seen.steps else (seen.steps - first, "as ")
            text = f"of {part.path or part.kind}, {before}{ago} step{'s' if ago > 1 else ''} earlier"
            seen.aliases.append(Alias(line, call.line, text))
        yield
        for parameter in own.values() if call.line is not None else ():  # an engine may not show each copy
            self.writes.note(self.values.leaf(parameter), "write", "load_state_dict", call.line)
