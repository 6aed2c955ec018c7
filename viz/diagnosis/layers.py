"""The size of activations and gradients, layer by layer, over the steps."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass

from viz.diagnosis.observation import Leaf, Observation, Through

MOST_ROWS = 20  # of a chart; more layers are folded by module, or by runs of neighbours
MOST_PASSES = 4  # the first, the last, and what lies between them


@dataclass
class Layer:
    """One layer, or several folded into one.

    Attributes:
        name: its path, or the name of a parameter where the program has no modules.
        activations: the largest magnitude of its results, for each pass shown; None if it was not used.
        gradients: the largest magnitude of a gradient of its parameters; None if none came.
        count: how many layers it stands for.
    """

    name: str
    activations: list[float | None]
    gradients: list[float | None]
    count: int = 1


@dataclass
class Layers:
    """All layers, from the input to the loss, and the numbers of the backward passes that are shown."""

    passes: list[int]
    rows: list[Layer]


def layers(seen: Observation) -> Layers:
    """The layers of a run in the order in which they ran; no rows if there was no backward pass."""
    passes = _shown([each for each in seen.passes if each.done and each.kind == "backward"])
    rows = _of_modules(seen, passes)
    if not rows:
        rows = _of_leaves(seen, passes)
    return Layers([each.nr for each in passes], _folded(rows) if passes else [])


def _shown(passes: list[Through]) -> list[Through]:
    """A few of the passes of the line that ran most, evenly spread."""
    if not passes:
        return []
    lines = [each.line for each in passes]
    main = max(dict.fromkeys(lines), key=lines.count)
    own = [each for each in passes if each.line == main]
    last = len(own) - 1
    count = min(MOST_PASSES, len(own))
    places = [round(place * last / max(1, count - 1)) for place in range(count)]
    return [own[place] for place in dict.fromkeys(places)]


def _of_modules(seen: Observation, passes: list[Through]) -> list[Layer]:
    """A row for each module that has parameters of its own and ran."""
    starts = _starts(seen)
    by_part: dict[int, list[int]] = {}
    paths = {part.path: part.nr for part in seen.parts if part.path}
    for op in seen.ops:
        owner = op.owner if op.owner is not None else paths.get(op.module)
        if owner is not None and seen.parts[owner].parameters:
            by_part.setdefault(owner, []).append(op.nr)
    rows = []
    for nr, ops in by_part.items():  # in the order of their first op
        part = seen.parts[nr]
        activations = [_activation(seen, [op for op in ops if starts[each.nr] <= op < each.ops]) for each in passes]
        gradients = [_gradient([seen.leaves[leaf] for leaf in part.parameters], each) for each in passes]
        rows.append(Layer(part.path or part.kind, activations, gradients))
    return rows


def _starts(seen: Observation) -> dict[int, int]:
    """For each pass the first op of its own turn: behind the last pass that ended before it."""
    ends = sorted(each.ops for each in seen.passes if each.done)
    return {each.nr: ends[place - 1] if (place := bisect.bisect_left(ends, each.ops)) else 0 for each in seen.passes}


def _of_leaves(seen: Observation, passes: list[Through]) -> list[Layer]:
    """A row for each tensor that learns, if a program writes its layers by hand."""
    starts = _starts(seen)
    rows = []
    for leaf in sorted(seen.trained(), key=lambda leaf: leaf.used_by[0] if leaf.used_by else len(seen.ops)):
        used = [[op for op in leaf.used_by if starts[each.nr] <= op < each.ops] for each in passes]
        activations = [_activation(seen, ops[:1]) for ops in used]
        rows.append(
            Layer(leaf.name or seen.places.named(leaf.line), activations, [_gradient([leaf], each) for each in passes])
        )
    return rows


def _activation(seen: Observation, ops: list[int]) -> float | None:
    peaks = [seen.values[nr].peak for op in ops for nr in seen.ops[op].outputs if seen.values[nr].floating]
    return _largest(peaks)


def _gradient(leaves: Iterable[Leaf], each: Through) -> float | None:
    return _largest(each.got.get(leaf.nr) for leaf in leaves)


def _largest(sizes: Iterable[float | None]) -> float | None:
    """The largest of them; nan where one is nan, None where there is none."""
    known = [size for size in sizes if size is not None]
    if any(math.isnan(size) for size in known):
        return math.nan
    return max(known, default=None)


def _folded(rows: list[Layer]) -> list[Layer]:
    """At most `MOST_ROWS` rows: by module if that gives a readable number, otherwise by runs of neighbours."""
    if len(rows) <= MOST_ROWS:
        return rows
    deepest = max(row.name.count(".") for row in rows)
    for depth in range(deepest, 0, -1):
        groups: dict[str, list[Layer]] = {}
        for row in rows:
            groups.setdefault(".".join(row.name.split(".")[:depth]), []).append(row)
        if MOST_ROWS // 4 <= len(groups) <= MOST_ROWS:
            return [_joined(name if len(group) > 1 else group[0].name, group) for name, group in groups.items()]
    size = math.ceil(len(rows) / MOST_ROWS)
    runs = [rows[place : place + size] for place in range(0, len(rows), size)]
    return [_joined(_from_to(run), run) for run in runs]


def _joined(name: str, group: list[Layer]) -> Layer:
    passes = range(len(group[0].activations))
    return Layer(
        name,
        [_largest(one.activations[place] for one in group) for place in passes],
        [_largest(one.gradients[place] for one in group) for place in passes],
        sum(one.count for one in group),
    )


def _from_to(run: list[Layer]) -> str:
    """`model.0 … 5` for neighbours."""
    first, last = run[0].name, run[-1].name
    module, _, rest = last.rpartition(".")
    return first if len(run) == 1 else f"{first} … {rest if first.rpartition('.')[0] == module else last}"
