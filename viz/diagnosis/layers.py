"""The size of activations and gradients, layer by layer, over the steps."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from viz.diagnosis.finding import by_module
from viz.diagnosis.observation import Observation, Through
from viz.diagnosis.places import indexed

MOST_ROWS = 20  # of a chart; more layers are folded by module, or by runs of neighbours
MOST_PASSES = 4  # the first, the last, and what lies between them


@dataclass
class Layer:
    """One layer, or several folded into one."""

    name: str  # its path, or the name of a parameter where the program has no modules
    # for each pass shown: the largest magnitude of its results; None if it was not used
    activations: list[float | None]
    gradients: list[float | None]  # likewise, of the gradients of its parameters; None if none came
    count: int = 1  # layers that it stands for


@dataclass
class Layers:
    """All layers, from the input to the loss, and the numbers of the backward passes that are shown."""

    passes: list[int]
    rows: list[Layer]


def layers(seen: Observation) -> Layers:
    """The layers of a run in the order in which they ran; no rows if there was no backward pass."""
    passes = _shown([each for each in seen.passes if each.done and each.kind == "backward"])
    ends = sorted(each.ops for each in seen.passes if each.done)

    def activation(ops: list[int], most: int | None, each: Through) -> float | None:
        before = bisect.bisect_left(ends, each.ops)  # its turn begins behind the last pass that ended before it
        own = [op for op in ops if (ends[before - 1] if before else 0) <= op < each.ops][:most]
        outputs = (seen.values[nr] for op in own for nr in seen.ops[op].outputs)
        return _largest(value.peak for value in outputs if value.floating)

    rows = []
    for name, ops, most, leaves in list(_modules(seen)) or list(_tensors(seen)):
        gradients = [_largest(each.got.get(nr) for nr in leaves) for each in passes]
        rows.append(Layer(name, [activation(ops, most, each) for each in passes], gradients))
    return Layers([each.nr for each in passes], _folded(rows) if passes else [])


def _shown(passes: list[Through]) -> list[Through]:
    """A few of the passes of the line that ran most, evenly spread."""
    lines = Counter(each.line for each in passes)
    own = [each for each in passes if each.line == lines.most_common(1)[0][0]]
    count = min(MOST_PASSES, len(own))
    return [own[round(place * (len(own) - 1) / max(1, count - 1))] for place in range(count)]


# a layer's name, its ops, how many of each turn count, its leaves
_Found = tuple[str, list[int], int | None, list[int]]


def _modules(seen: Observation) -> Iterator[_Found]:
    """Each module that has parameters of its own and ran, in the order of their first ops."""
    owned = indexed((op.owner, op.nr) for op in seen.ops if op.owner is not None)
    for part, ops in ((seen.parts[nr], ops) for nr, ops in owned.items()):
        if part.parameters:
            yield part.path or part.kind, ops, None, part.parameters


def _tensors(seen: Observation) -> Iterator[_Found]:
    """Each tensor that learns, if a program writes its layers by hand."""
    for leaf in sorted(seen.trained(), key=lambda leaf: leaf.used_by[0] if leaf.used_by else len(seen.ops)):
        yield leaf.name or seen.places.named(leaf.line), leaf.used_by, 1, [leaf.nr]


def _largest(sizes: Iterable[float | None]) -> float | None:
    """The largest of them; nan where one is nan, None where there is none."""
    known = [size for size in sizes if size is not None]
    return max(known, key=lambda size: (math.isnan(size), size), default=None)


def _folded(rows: list[Layer]) -> list[Layer]:
    """At most `MOST_ROWS` rows: by module if that gives a readable number, otherwise by runs of neighbours."""
    if len(rows) <= MOST_ROWS:
        return rows
    groups = by_module(rows, lambda row: row.name, MOST_ROWS, least=MOST_ROWS // 4)
    if groups is None:
        size = math.ceil(len(rows) / MOST_ROWS)
        runs = [rows[place : place + size] for place in range(0, len(rows), size)]
        groups = {_from_to(run): run for run in runs}
    return [_joined(name, group) if len(group) > 1 else group[0] for name, group in groups.items()]


def _joined(name: str, group: list[Layer]) -> Layer:
    activations = [_largest(sizes) for sizes in zip(*(one.activations for one in group), strict=True)]
    gradients = [_largest(sizes) for sizes in zip(*(one.gradients for one in group), strict=True)]
    return Layer(name, activations, gradients, len(group))


def _from_to(run: list[Layer]) -> str:
    """`model.0 … 5` for neighbours."""
    first, last = run[0].name, run[-1].name
    module, _, rest = last.rpartition(".")
    return f"{first} … {rest if first.rpartition('.')[0] == module else last}"
