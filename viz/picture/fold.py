"""Makes large graphs readable: repeated blocks and long stretches become one box each, with their counts.

Only runs of neighbours in the order of recording are folded. It is topological, so a folded graph has no cycles.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from viz.picture.scopes import shared
from viz.picture.serving import ARRANGING, PRODUCTS
from viz.recording import notation
from viz.recording.graph import Graph, Op, Value

VISIBLE = 150  # the most boxes and pills that a picture shows
INSIDE = VISIBLE // 2  # the most that an open fold shows before it is folded again
LONGEST_BLOCK = 400  # the most ops in a repeated block that is searched for
FEWEST = 4  # the fewest ops in a fold
ROUNDS = 40  # the most different repetitions that are searched for
PIECE = 12  # ops in the smallest part into which a fold opens
PIECES = 40  # the most parts into which a fold opens
Place = tuple[tuple[str, ...], int]  # the path of a module, and which of its calls


@dataclass
class Fold:
    """Several ops drawn as one box."""

    key: str
    ops: list[str]
    times: int = 1  # how often its block is repeated
    module: str = ""  # the module that it shows
    place: str = ""  # its position in a larger fold
    leaves: list[str] = field(default_factory=list)

    def title(self, graph: Graph) -> str:
        """The contents: `50 × (addmm, relu)`, or the most frequent ops."""
        if self.module:
            return self.module
        if self.times > 1:
            block = [notation.symbol(graph.ops[key]) for key in self.ops[: len(self.ops) // self.times]]
            inside = ", ".join(block) if len(block) <= 4 else f"{', '.join(block[:3])}, … {len(block)} ops"
            return f"{self.times} × ({inside})" if len(block) > 1 else f"{self.times} × {inside}"
        names = [notation.symbol(graph.ops[key]) for key in self.ops]
        common = [name for name, _ in Counter(names).most_common(3)]
        return f"{len(names)} ops: {', '.join(common)}{', …' if len(set(names)) > 3 else ''}"

    def scope(self, graph: Graph) -> str:
        """The paths of its parameters: `layers.0 … layers.49`."""
        if self.module or self.place:
            return self.place
        scopes = [name.rpartition(".")[0] for key in self.leaves if "." in (name := graph.values[key].name)]
        if not scopes:
            return ""
        return scopes[0] if scopes[0] == scopes[-1] else f"{scopes[0]} … {scopes[-1]}"


@dataclass
class Folding:
    """Which ops and values are in which fold."""

    folds: dict[str, Fold] = field(default_factory=dict)
    unit: dict[str, str] = field(default_factory=dict)  # op -> fold
    hidden: dict[str, str] = field(default_factory=dict)  # value or AccumulateGrad -> fold

    def add(self, ops: list[Op], times: int = 1, module: str = "") -> None:
        """Draw these ops as one box."""
        key = f"f{ops[0].key}n{len(ops)}"
        self.folds[key] = Fold(key, [op.key for op in ops], times, module)
        self.unit.update((op.key, key) for op in ops)

    def hide(self, value: Value, key: str) -> None:
        """Draw a value, and what accumulates into it, inside the fold of this key."""
        self.hidden[value.key] = key
        if value.op is None:
            self.folds[key].leaves.append(value.key)
        if value.accumulate:
            self.hidden[value.accumulate] = key

    def users(self, graph: Graph) -> dict[str, set[str]]:
        """The folds, and the ops outside them, that use each value of a graph."""
        return {key: {self.unit.get(op, op) for op in using} for key, using in graph.users().items()}


def fold(graph: Graph, limit: int = VISIBLE) -> Folding:
    """Fold `graph` so that about `limit` boxes remain. A small enough graph is not folded."""
    if len(graph.ops) + len(graph.values) <= limit:
        return Folding()
    ops = list(graph.ops.values())
    by_module = _modules(graph, ops, limit // 4 if limit == VISIBLE else limit)
    if by_module is not None:
        return by_module
    runs = repetitions(_codes(ops))
    folding = _folding(graph, ops, runs)
    share = 4
    while _visible(graph, folding) > limit and share <= 1 << 20:
        folding = _folding(graph, ops, _chopped(runs, len(ops), share))
        share *= 2
    return folding


def inside(graph: Graph, whole: Fold) -> tuple[Graph, Folding]:
    """The contents of a fold as a separate graph, and its own folding if it is too large to read."""
    ops = [graph.ops[key] for key in whole.ops]
    near = dict.fromkeys(key for op in ops for key in (*op.inputs, *op.outputs) if key is not None)
    part = Graph({key: graph.values[key] for key in near}, {op.key: op for op in ops})
    if len(part.ops) + len(part.values) <= INSIDE:
        return part, Folding()
    by_module = _modules(part, ops, INSIDE, one_level=True)
    if by_module is not None and len(by_module.folds) > 1:
        return part, by_module
    runs = [(0, len(ops), len(ops) // whole.times)] if whole.times > 1 else repetitions(_codes(ops))
    size = max(PIECE, -(-len(ops) // PIECES))
    while True:
        if not runs or runs[0][1] - runs[0][0] < len(ops):
            folding = _folding(part, ops, _chopped(runs, len(ops), size))
        else:  # there is only one repetition: its parts hold whole blocks
            block = runs[0][2] if runs[0][2] < size else 1
            step = -(-size // block) * block
            folding = _folding(part, ops, [(at, min(at + step, len(ops)), block) for at in range(0, len(ops), step)])
            if block > 1 or whole.times == len(ops):
                _number(part, folding, block, len(ops))
        if _visible(part, folding) <= 2 * INSIDE or size >= len(ops):
            return part, folding
        size *= 2


def _number(part: Graph, folding: Folding, block: int, count: int) -> None:
    """Describe the blocks in each fold; what one block passes to the next is not mentioned."""
    first = 1
    folding.hidden.update(
        {key: folding.unit[value.op] for key, value in part.values.items() if value.op in folding.unit}
    )
    for fold in folding.folds.values():
        last = first + len(fold.ops) // block - 1
        fold.place = f"{first:,} to {last:,} of {count // block:,}"
        first = last + 1


def _modules(graph: Graph, ops: list[Op], limit: int, one_level: bool = False) -> Folding | None:
    """A fold for each module, as deep as fits, or until there are two (`one_level`); None if no paths or too many."""
    places = places_of(graph, ops)
    if places is None:
        return None
    position_of = {op.key: position for position, op in enumerate(ops)}
    best = None
    for depth in range(1, 1 + max(map(len, places))):
        folding = _folding(graph, ops, _stretches([place[:depth] for place in places]))
        for fold in folding.folds.values():
            fold.module = ".".join(places[position_of[fold.ops[0]]][:depth])
        if _visible(graph, folding) > limit:
            break
        best = folding
        if one_level and len(folding.folds) > 1:
            break
    return best


def places_of(graph: Graph, ops: list[Op]) -> list[tuple[str, ...]] | None:
    """The path of each op's module, as recorded or from names of parameters and modules; None if few have one."""
    if any(op.module for op in ops):
        return [tuple(filter(None, op.module.split("."))) for op in ops]
    uses: Counter[str] = Counter()
    known = [_module_of(graph, op, uses) for op in ops]
    _add_products(graph, ops, known)
    if not graph.modules and sum(call is not None for call in known) < len(ops) // 8:
        return None
    following: list[Place] = []
    later: Place = (), 0
    for path in reversed(known):
        later = path or later
        following.append(later)
    # an op without parameters belongs to the block before it; outside blocks, to the common path of modules around it
    places: list[tuple[str, ...]] = []
    before: tuple[str, ...] = ()
    call = 0
    for place, (after, next_call) in zip(known, reversed(following), strict=True):
        if place is not None:
            before, call = place
            places.append(before)
        elif len(before) > 1 and after and not graph.modules:
            places.append(before)
        else:
            common = shared([before, after])
            # Between two of its calls.
            ends = next_call > call and not graph.modules.get(".".join(common), {}).get("loops")
            places.append(common[:-1] if ends and len(common) > 1 else common)
    return places


def _module_of(graph: Graph, op: Op, uses: Counter[str]) -> Place | None:
    """The module whose parameter an op uses, and which of its calls; a tied parameter has its next name at each use.

    What is computed of a layer's parameter alone, such as a penalty on its size, is no call of the layer.
    """
    # The indices of an embedding have no part in the graph.
    alone = len(op.inputs) == 1 and notation.base_name(op) not in {*ARRANGING, "embedding"}
    for key in op.inputs:
        if key is not None and (value := graph.values[key]).op is None and value.requires_grad and "." in value.name:
            paths = [name.rpartition(".")[0] for name in value.names]
            known = [path for path in paths if path in graph.modules] or paths[:1]
            if alone and graph.modules.get(known[0], {}).get("library"):
                return None
            uses[key] += 1
            return tuple(known[min(uses[key], len(known)) - 1].split(".")), uses[key]
    return None


def _add_products(graph: Graph, ops: list[Op], known: list[Place | None]) -> None:
    """Put the `view`, `mm` and `view` of a Linear into its box: only its `t` uses the parameter."""
    at = {op.key: position for position, op in enumerate(ops)}
    turned: dict[str, Place] = {}  # what a parameter is arranged to
    for position, op in enumerate(ops):
        known[position] = place = known[position] or next((turned[key] for key in op.inputs if key in turned), None)
        if place is not None and notation.base_name(op) in ARRANGING:
            turned |= dict.fromkeys(op.outputs, place)
    users = graph.users()
    for position, op in enumerate(ops):
        if known[position] is not None or notation.base_name(op) not in ("view", "unsafe_view") or op.inputs[0] is None:
            continue
        source, made = graph.values[op.inputs[0]], graph.values[op.outputs[0]]
        using = users.get(made.key, [])
        for beside in (source.op, *(using if len(using) == 1 else ())):
            product = beside in at and notation.base_name(graph.ops[beside]) in PRODUCTS
            if product and source.shape and made.shape and source.shape[-1] == made.shape[-1]:
                known[position] = known[position] or known[at[beside]]


def _stretches(places: list[tuple[str, ...]]) -> list[tuple[int, int, int]]:
    stretches = []
    start = 0
    for position in range(1, len(places) + 1):
        if position == len(places) or places[position] != places[start]:
            if position - start > 1 and places[start]:
                stretches.append((start, position, position - start))
            start = position
    return stretches


def _codes(ops: list[Op]) -> np.ndarray:
    """A number for each op. Two ops have the same if they do the same to the same relative positions behind them."""
    place = {op.key: position for position, op in enumerate(ops)}
    known: dict[tuple[object, ...], int] = {}
    codes = np.empty(len(ops), dtype=np.int64)
    for position, op in enumerate(ops):
        behind = tuple(
            (position - place[node], number) if node in place else ("leaf" if node is not None else "", 0)
            for node, number in op.next
        )
        codes[position] = known.setdefault((op.name, op.recorded, len(op.loops), behind), len(known))
    return codes


def repetitions(codes: np.ndarray, fewest: int = FEWEST) -> list[tuple[int, int, int]]:
    """Stretches (start, end, block length) of at least `fewest`, each a block three times or more; none overlap."""
    runs: list[tuple[int, int, int]] = []
    open_stretches = [(0, len(codes))]
    rounds = 0
    while open_stretches and rounds < ROUNDS:
        rounds += 1
        start, end = open_stretches.pop()
        best = _longest_run(codes[start:end], fewest)
        if best is None:
            continue
        first, last, block = best[0] + start, best[1] + start, best[2]
        runs.append((first, last, block))
        open_stretches += [(start, first), (last, end)]
    return sorted(runs)


def _longest_run(codes: np.ndarray, fewest: int) -> tuple[int, int, int] | None:
    best: tuple[int, int, int] | None = None
    for block in range(1, min(LONGEST_BLOCK, len(codes) // 3) + 1):
        if best is not None and block * 8 > best[1] - best[0] and block > 64:
            break
        same = codes[:-block] == codes[block:]
        edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
        if not len(edges):
            continue
        starts, lengths = edges[::2], edges[1::2] - edges[::2]
        widest = int(np.argmax(lengths))
        length = int(lengths[widest]) // block * block
        if length < 2 * block or length + block < fewest:
            continue
        # Where the stretch has some to spare, the block begins with what came first in all: a step as it is written.
        spare = int(lengths[widest]) - length
        first = int(starts[widest]) + int(np.argmin(codes[starts[widest] :][: spare + 1]))
        if best is None or length + block > 1.2 * (best[1] - best[0]):
            best = first, first + length + block, block
    return best


def _chopped(runs: list[tuple[int, int, int]], count: int, share: int) -> list[tuple[int, int, int]]:
    """The stretches between the repetitions, cut into pieces of `share` ops."""
    pieces: list[tuple[int, int, int]] = []
    at = 0
    for start, end, block in [*runs, (count, count, 1)]:
        for first in range(at, start, share):
            last = min(first + share, start)
            if last - first > 1:
                pieces.append((first, last, last - first))
        if end > start:
            pieces.append((start, end, block))
        at = end
    if share > 256:  # there are so many folds that neighbours must be joined too
        joined = []
        step = max(2, share // 256)
        for position in range(0, len(pieces), step):
            group = pieces[position : position + step]
            joined.append((group[0][0], group[-1][1], group[-1][1] - group[0][0]))
        return joined
    return pieces


def _folding(graph: Graph, ops: list[Op], runs: list[tuple[int, int, int]]) -> Folding:
    folding = Folding()
    for start, end, block in runs:
        folding.add(ops[start:end], (end - start) // block if (end - start) % block == 0 else 1)
    users = folding.users(graph)
    roots = set(graph.roots)
    for value in graph.values.values():
        using = users.get(value.key, set())
        maker = folding.unit.get(value.op) if value.op is not None else None
        if value.op is None:
            if len(using) == 1 and (home := next(iter(using))) in folding.folds:
                folding.hide(value, home)
        elif maker is not None and value.key not in roots and (using <= {maker} or not value.names):
            folding.hide(value, maker)
    return folding


def _visible(graph: Graph, folding: Folding) -> int:
    values = sum(key not in folding.hidden for key in graph.values)
    return values + len(folding.folds) + len(graph.ops) - len(folding.unit)
