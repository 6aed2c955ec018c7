"""Frames around the ops of a module: which boxes belong to which frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from viz.picture.theme import SIZE, text_width
from viz.recording.graph import Graph

Path = tuple[str, ...]
Names = TypeVar("Names", list[str], Path)


@dataclass
class Scope:
    """One module of the program, as a frame around what its `forward` did."""

    key: str
    title: str
    parent: str | None = None
    boxes: list[str] = field(default_factory=list)  # boxes that are in no inner frame

    @property
    def width(self) -> float:
        """The height of its title, in pixels."""
        return text_width(self.title, SIZE["small"]) + 8


def scopes(graph: Graph, boxes: list[str]) -> list[Scope]:
    """The frames of a picture of `boxes`, outermost first; none for modules that run twice, with other ops between."""
    ops = [op for op in graph.ops.values() if op.during == "forward"]
    paths = {op.key: tuple(filter(None, op.module.split("."))) for op in ops}
    if not any(paths.values()):
        return []
    # In the program's order, which a set would not keep: the picture must be the same every time.
    framed = dict.fromkeys(prefix for path in dict.fromkeys(paths.values()) for prefix in _prefixes(path))
    for depth in range(1, 1 + max(map(len, framed), default=0)):
        seen: set[Path] = set()
        for prefix, _ in groupby(path[:depth] for path in paths.values()):
            if prefix in seen:
                framed.pop(prefix, None)
            seen.add(prefix)

    users: dict[str, list[Path]] = {}
    for op in ops:
        for key in op.inputs:
            if key is not None:
                users.setdefault(key, []).append(paths[op.key])
    place: dict[str, Path] = dict(paths)
    for value in graph.values.values():
        near = users.get(value.key) or ([()] if not value.name or value.op is not None else [])
        if value.op is not None:  # a module's result is outside its frame
            near = [*near, paths.get(value.op, ())]
        elif value.name:  # a parameter is inside its module, an input outside
            near = [*near, tuple(value.name.split(".")[:-1])]
        place[value.key] = shared(near)
        if value.accumulate:
            place[value.accumulate] = place[value.key]

    inside: dict[Path, list[str]] = {}
    for key in boxes:
        home = next((prefix for prefix in _prefixes(place.get(key, ())) if prefix in framed), None)
        if home is not None:
            inside.setdefault(home, []).append(key)
    by_path: dict[Path, Scope] = {}
    for path in sorted(framed, key=len):
        held = sum(len(keys) for other, keys in inside.items() if other[: len(path)] == path)
        below = {other[: len(path) + 1] for other in inside if other[: len(path)] == path and other != path}
        if held < 2 or (path not in inside and len(below) == 1):
            continue  # a frame around a single thing has no use
        parent = next((by_path[prefix].key for prefix in _prefixes(path[:-1]) if prefix in by_path), None)
        by_path[path] = Scope(f"m{len(by_path)}", ".".join(path), parent)
    for path, keys in inside.items():
        home = next((prefix for prefix in _prefixes(path) if prefix in by_path), None)
        if home is not None:
            by_path[home].boxes += keys
    return list(by_path.values())


def whole(scopes: list[Scope], links: list[tuple[str, str]]) -> list[Scope]:
    """Move what is in a frame that a path of links (tail, head) reenters, which no picture can show, one frame out."""
    below: dict[str, list[str]] = {}
    for tail, head in links:
        below.setdefault(tail, []).append(head)
    kept: list[Scope] = []
    for scope in reversed(scopes):  # inner ones first
        inside = held(scopes, scope)
        waiting = [head for key in inside for head in below.get(key, ()) if head not in inside]
        reached: set[str] = set()
        while waiting:
            key = waiting.pop()
            if key not in reached:
                reached.add(key)
                waiting += below.get(key, ())
        if not reached & inside:
            kept.append(scope)
            continue
        for other in scopes:
            if other.key == scope.parent:
                other.boxes += scope.boxes
            if other.parent == scope.key:
                other.parent = scope.parent
    return kept[::-1]


def held(scopes: list[Scope], scope: Scope) -> set[str]:
    """All boxes in a frame, including those in inner frames."""
    around = {scope.key: scope.parent for scope in scopes}
    inside: set[str] = set()
    for other in scopes:
        key: str | None = other.key
        while key is not None and key != scope.key:
            key = around[key]
        if key is not None:
            inside |= set(other.boxes)
    return inside


def _prefixes(path: Path) -> list[Path]:
    """`path` and all its prefixes, longest first."""
    return [path[:length] for length in range(len(path), 0, -1)]


def shared(paths: list[Names]) -> Names:
    """What all these paths begin with."""
    common = paths[0]
    for path in paths[1:]:
        while path[: len(common)] != common:
            common = common[:-1]
    return common
