"""Where a way in the graph of a run goes wrong: the first step of it that fits a predicate."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise

from viz.diagnosis import families as ops
from viz.diagnosis.observation import Exit, Observation, Ran, Seen, Through
from viz.diagnosis.places import once

MOST_EXITS = 64  # numbers that left before a value was made, of which one may be in it
TRIVIAL = {0.0, 1.0, -1.0, 2.0, 0.5}  # common numbers: only their use in the same line counts


@dataclass(frozen=True)
class Step:
    """One step of a way: what an op was given, and what it made of that; no op where numbers went by way of Python."""

    op: Ran | None
    given: Seen
    made: Seen
    way: list[int]  # all values, from the leaf to the root


def first_on_path(
    seen: Observation, values: Collection[int], root: int, fits: Callable[[Step], object],
    *, by_python: bool = False, recorded: bool = False,
) -> Step | None:  # fmt: skip
    """The first step that fits, on the shortest way from some values to a root.

    `by_python`: also from a value to what its numbers came from by way of Python. A `recorded` way leads only through
    what requires grad; any other goes on past leaves that were made out of other tensors.
    """
    if _behind(seen, root, by_python).isdisjoint(values):
        return None
    links = python_links(seen) if by_python else None
    way = seen.route(root, lambda value: value.nr in values, links, past_leaves=not recorded, recorded=recorded)[::-1]
    for given, made in pairwise(seen.values[nr] for nr in way):
        op = seen.maker(made)
        step = Step(op if op is not None and given.nr in op.inputs else None, given, made, way)
        if fits(step):
            return step
    return None


@once
def _behind(seen: Observation, root: int, by_python: bool) -> set[int]:
    """All values that a way from a root can come to: most leaves are behind no more than one of the roots."""
    return seen.above([root], past_leaves=True, extra=python_links(seen) if by_python else None)


@once
def exits(seen: Observation) -> dict[int, Exit]:
    """The first time that each value left the engine."""
    return {exit_.value: exit_ for exit_ in reversed(seen.exits)}


@once
def python_links(seen: Observation) -> dict[int, list[int]]:
    """Maps a value to the values whose numbers reached it through Python, `item()` and back."""
    links: dict[int, list[int]] = {}
    left = [exit_ for exit_ in seen.exits if seen.values[exit_.value].floating and exit_.name != "__bool__"]
    for exit_ in (exit_ for exit_ in left if exit_.number is not None):
        for op in seen.ops[exit_.op : exit_.op + 200]:
            if exit_.number in op.options.values() and (exit_.number not in TRIVIAL or op.line == exit_.line):
                for nr in op.outputs:
                    links.setdefault(nr, []).append(exit_.value)
    for value in seen.values if left else ():
        maker = seen.maker(value)
        born = maker or next(iter(seen.users(value.nr)), None)
        old = maker is None and (value.leaf is not None or value.of_grad is not None)
        copies = maker is None or (maker.name in ops.COPIES | {"from_numpy"} and not maker.inputs)
        if born is not None and not old and copies:
            before = bisect.bisect_right(left, born.nr, key=lambda exit_: exit_.op)
            links.setdefault(value.nr, []).extend(exit_.value for exit_ in left[max(0, before - MOST_EXITS) : before])
    return links


def without_graph(seen: Observation, roots: list[int], later: Through) -> Through | None:
    """The pass without create_graph whose gradients became a part of some values, before a later pass.

    A gradient fed to a layer with the data, as in an attack, is no part of a loss; nor is one left for an update.
    """
    learning = {leaf.nr for leaf in seen.trained()}

    def near(value: Seen) -> bool:
        op = seen.maker(value)
        if value.nr in roots or op is None:
            return True
        meant = op.name == "detach" or not op.grad_on  # to be a constant
        taken = (seen.values[nr].leaf for nr in op.inputs)
        return not meant and (not value.requires_grad or learning.isdisjoint(taken))

    handed = {seen.values[nr].of_grad for nr in seen.above(roots, near, past_leaves=True)} - {None}
    before = (each for each in reversed(seen.passes) if each.order < later.order)
    asked = (each for each in before if handed & (set(each.got) - (learning if each.kind == "backward" else set())))
    earlier = next(asked, None)
    return None if earlier is None or earlier.create else earlier
