"""The networks of a program: which modules and parameters can be frozen, and where the line that does it belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from viz.experiments.program import Program
from viz.recording import own
from viz.recording.notation import shape
from viz.recording.recording import Recording

OUTSIDE = 0  # the line of what a program does not make itself
NAMED = 6  # things from outside that are named


@dataclass(frozen=True)
class Part:
    """A module or a parameter of a network, such as `model.features.0` or `model.features.0.weight`."""

    path: str
    line: int  # of the statement that makes its network
    title: str  # its class, or the shape of a parameter
    frozen: bool  # whether the program itself freezes it
    first: bool  # whether it is offered beside the line

    @property
    def root(self) -> str:
        """The variable that holds the network."""
        return self.path.partition(".")[0]


def parts_of(program: Program, recording: Recording, switched: Mapping[str, bool]) -> list[Part]:
    """Every module and parameter of the networks that a run used, each network's in the order in which it holds them.

    A network counts if a variable of the program holds it: a line can only freeze what has a name. `switched` are the
    switches that the run had, by path: they say the opposite of what the program does by itself.
    """
    modules = recording.graph.modules
    lines = {name: line.first for line in program.lines for name in line.names}
    held = {root: lines.get(root, OUTSIDE) for root in modules if root in lines or root in program.namespace}
    leaves = {
        path: tensor
        for path, tensor in recording.tensors.items()
        if tensor["is_leaf"] and path.partition(".")[0] in held and "." in path
    }
    paths = dict.fromkeys(owner for path in leaves for owner in (*owners(path), path))
    learn: set[str] = set()
    for path, tensor in leaves.items():
        own = [*owners(path), path]
        if next((switched[owner] for owner in own if owner in switched), tensor["requires_grad"]):
            learn.update(own)
    alone = {line for line in held.values() if list(held.values()).count(line) == 1}
    parts = []
    for path in sorted(paths, key=lambda path: list(held).index(path.partition(".")[0])):
        line = held[path.partition(".")[0]]
        title = shape(leaves[path]["shape"]) if path in leaves else modules.get(path, {}).get("class", "")
        parts.append(Part(path, line, title, path not in learn, path.count(".") == (line in alone)))
    return parts


def owners(path: str) -> list[str]:
    """The modules that hold a parameter, outermost first.

    >>> owners("model.features.0.weight")
    ['model', 'model.features', 'model.features.0']
    """
    names = path.split(".")
    return [".".join(names[:count]) for count in range(1, len(names))]


def given(namespace: dict[str, Any]) -> str:
    """What a program takes from outside, as a comment; empty if it takes no tensor and no network."""
    things = [
        name for name, thing in namespace.items() if own.engines_behind(thing) and not isinstance(thing, ModuleType)
    ]
    more = [f"{len(things) - NAMED} more"] if len(things) > NAMED else []
    return f"# given: {', '.join(things[:NAMED] + more)}" if things else ""
