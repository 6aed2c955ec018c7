"""A recording shown by its modules: nested boxes, what runs in them step by step, and the size of their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from viz.frames.director import Director
from viz.frames.stage import loudness
from viz.picture import network as networks
from viz.picture.arrange import Arranged
from viz.picture.boxes import LINE, PADDING, ROOT, TITLE
from viz.picture.fit import Room
from viz.picture.nested import Network, compose, title_width
from viz.picture.network import CELL, ROOMS, SHADES, rms
from viz.picture.svg import EDGE, MARGIN, Area
from viz.picture.theme import SIZE
from viz.recording.calls import Run
from viz.recording.graph import Graph
from viz.recording.notation import number

MANY = 750  # parts of a graph; in a larger one nobody looks for what is lit
LEAST_DECADES = 3  # the least that the colours span, so that similar sizes look similar
MOST_DECADES = 8  # the most; smaller gradients are rounding noise
EDGES, LEGEND = 2 * MARGIN, 26.0  # pixels around a network on a stage, and the height of its legend
SIZES = {"line": LINE, "title": TITLE, "padding": PADDING, "margin": MARGIN, "legend": LEGEND}  # for a stage
# By a part to the boxes around it.
_PASSED_ON = ("running", "now", "error", "ready")


class Scale:
    """The colours for the sizes of gradients: powers of ten from the smallest size to the largest."""

    def __init__(self, sizes: Iterable[float | None]) -> None:
        logs = [math.log10(size) for size in sizes if size and math.isfinite(size)]
        self.empty = not logs
        self.low, self.high = math.floor(min(logs, default=-1.0)), math.ceil(max(logs, default=0.0))
        self.low = max(self.low, self.high - MOST_DECADES)
        missing = LEAST_DECADES - (self.high - self.low)
        if missing > 0:
            self.high += missing // 2
            self.low -= missing - missing // 2

    def shade(self, size: float | None, noise: bool = False) -> str:
        """The class of a size: `lv0` for the smallest to `lv6`; `lvzero`; `lvodd` for nan and infinity; empty for none.

        With `noise`, a size below the scale has no colour: it is what rounding leaves of a zero.
        """
        if size is None:
            return ""
        if not math.isfinite(size):
            return "lvodd"
        if size == 0:
            return "lvzero"
        share = (math.log10(size) - self.low) / (self.high - self.low)
        if noise and share < 0:
            return ""
        return f"lv{min(SHADES - 1, max(0, int(share * SHADES)))}"

    @property
    def ends(self) -> list[str]:
        """The labels at the ends of the legend."""
        return [f"1e{self.low}".replace("-", "−"), f"1e{self.high}".replace("-", "−")]


class Scales:
    """Two scales for the boxes of a network: gradients of parameters, and gradients of results.

    A bias before a normalisation has a true gradient of 0, and shows the rounding: no bias stretches a scale.
    """

    def __init__(
        self, graph: Graph, whole: Network, totals: dict[str, list[float | None]], runs: dict[str, list[float | None]]
    ) -> None:
        self.weighted = {unit for key in totals for chain in whole.chains(key) for unit in chain[1:]}
        self.biases = {
            unit.key for unit in whole.units.values() if unit.value in totals and _is_bias(graph, unit.value)
        }
        # A frozen layer has parameters that get no gradient, and so it shows none.
        self.frozen = {
            key
            for key, unit in whole.units.items()
            if unit.kind == "module" and graph.modules.get(unit.title, {}).get("parameters")
        } - self.weighted
        counted = [key for key in totals if not _is_bias(graph, key)] or list(totals)
        self.parameters = Scale(size for key in counted for size in totals[key])
        self.results = Scale(size for sizes in runs.values() for size in sizes)

    def shade(self, unit: str, size: float | None) -> str:
        """The class of a box whose gradient has this size."""
        return (self.parameters if unit in self.weighted else self.results).shade(size, unit in self.biases)

    @property
    def legend(self) -> list[list[str]] | None:
        """For each scale in use: what it is about, and the labels of its ends."""
        used = [scale for scale in (self.parameters, self.results) if not scale.empty]
        words = "size of gradient (rms)"
        said = [words] if len(used) < 2 else [f"{words}: parameters", "results"]
        return [[text, *scale.ends] for text, scale in zip(said, used, strict=False)] or None


def _is_bias(graph: Graph, key: str) -> bool:
    return graph.values[key].name.rpartition(".")[2].startswith("bias")


def told(size: float | None) -> str:
    """The text in a box about its gradient."""
    return "" if size is None else f"grad {number(size, 2)}"


def network_view(
    director: Director, identity: str, theme: str, room: Room | None, known: dict[Any, Arranged]
) -> dict[str, Any]:
    """The network of a recording as plain data: `network` for a stage, and `svg` after the last step.

    `room` is the space for it, if there is only one. `known` remembers how networks were laid out.
    """
    graph = director.graph
    runs, totals = _gradients(director)
    legend = LEGEND if runs or totals else 0
    rooms = ROOMS if room is None else ((room.width - EDGES, room.height - EDGES - legend),)
    whole = networks.network(graph, [*runs, *totals], rooms, known=known)
    scales = _scales(graph, whole, runs, totals)
    patches, last = _patches(director, whole, runs, totals, scales)
    title = "Graph of the program by its modules"
    picture = networks.svg_of(whole, whole.first, identity, last, title, described(whole), theme, legend=scales.legend)
    shown = compose(whole, whole.first)
    return {
        "svg": picture,
        "patches": [{} for _ in patches],
        "id": identity,
        "direction": "TB",
        "least": SIZE["tiny"],
        "width": round(shown.width + EDGES),
        "height": round(shown.height + EDGES + (LEGEND if scales.legend else 0)),
        "network": {**data(whole), "patches": patches, "scale": scales.legend, "of": _homes(graph, whole)},
    }


def _homes(graph: Graph, whole: Network) -> dict[str, str]:
    """The innermost box of each op, value and leaf of a graph in which a change can be lit."""
    if len(graph.values) > MANY:
        return {}
    homes = {key: chain[-1] for key in (*graph.ops, *graph.values) for chain in whole.chains(key)[:1] if chain}
    home = {value.key: homes[value.op] for value in graph.values.values() if value.op in homes}
    return {**home, **homes}


class Stills:
    """Draws any step of a recording by its modules."""

    def __init__(self, director: Director) -> None:
        runs, totals = _gradients(director)
        self._whole = networks.network(director.graph, [*runs, *totals], (CELL,))
        scales = _scales(director.graph, self._whole, runs, totals)
        self._patches, _ = _patches(director, self._whole, runs, totals, scales)
        self._steps = director.steps
        self._legend = scales.legend
        self.count = len(self._steps)

    def svg(self, step: int, theme: str = "auto", plain: bool = False) -> str:
        """A step as SVG.

        Raises:
            IndexError: there is no such step.
        """
        if not -self.count <= step < self.count:
            raise IndexError(f"step must be from 0 to {self.count - 1}, not {step}")
        marks: dict[str, tuple[str, str]] = {}
        for patch in self._patches[: step % self.count + 1]:
            marks.update({key: (classes, text) for key, (classes, text) in patch.items()})
        about = self._steps[step]
        head = about.title, about.sentence, theme, plain
        return networks.svg_of(self._whole, self._whole.first, "network", marks, *head, legend=self._legend)

    def areas(self, step: int) -> list[Area]:
        """Where a step may change the picture, in its pixels."""
        shown = compose(self._whole, self._whole.first)
        beyond = EDGE - MARGIN, EDGE + MARGIN
        return [
            (x - wide / 2 - beyond[0], y - high / 2 - beyond[0], x + wide / 2 + beyond[1], y + high / 2 + beyond[1])
            for unit, x, y, wide, high, _ in shown.boxes
            if unit.key in self._patches[step]
        ]


def _scales(graph: Graph, whole: Network, runs: Sizes, totals: Sizes) -> Scales:
    of_totals, of_runs = ({key: [size for size, _ in sizes] for key, sizes in some.items()} for some in (totals, runs))
    return Scales(graph, whole, of_totals, of_runs)


def live(
    graph: Graph, run: Run | None = None, depth: int | None = None, direction: str | None = None
) -> tuple[dict[str, Any], dict[str, tuple[str, str]], list[list[str]] | None, Network]:
    """The network of an existing graph: its data, its marks, the ends of its legend."""
    if run is None:
        sizes = {value.key: rms(value.grad) for value in graph.values.values() if value.grad is not None}
    else:
        sizes = _of_parameters(graph, run)
    whole = networks.network(graph, sizes, (CELL,), depth, direction)
    of_units = _by_unit(graph, whole, sizes) if run is None else _by_call(whole, run, sizes)
    scales = Scales(graph, whole, {key: [size] for key, size in sizes.items()}, {})
    scales.weighted |= {*of_units}
    marks = {key: (scales.shade(key, size), told(size)) for key, size in of_units.items()}
    patch = {key: [classes, text] for key, (classes, text) in marks.items()}
    about = {"patches": [patch], "scale": scales.legend, "exact": depth is not None}
    return {**data(whole), **about}, marks, scales.legend, whole


def _of_parameters(graph: Graph, run: Run) -> dict[str, float | None]:
    """The size of each parameter's gradient, by the key of its value."""
    keys = {name: value.key for value in graph.values.values() for name in value.names}
    top = graph.calls[0]["path"] if graph.calls else ""
    sizes = {keys.get(f"{top}.{path}"): rms(array) for path, array in run.gradients.items()}
    return {key: size for key, size in sizes.items() if key is not None}


def _by_call(whole: Network, run: Run, sizes: dict[str, float | None]) -> dict[str, float | None]:
    """For every box, the size of the gradient of all parameters of its module together, however often it is called."""
    top = run.graph.calls[0]["path"] if run.graph.calls else ""
    sums: dict[str, tuple[float, int]] = {}  # of each module: the squares and the number of the entries
    for path, array in run.gradients.items():
        parts = [top, *path.split(".")]
        for module in (".".join(parts[:length]) for length in range(1, len(parts))):
            total, count = sums.get(module, (0.0, 0))
            sums[module] = total + (array.norm or 0.0) ** 2, count + array.size
    norms: dict[str, float | None] = {}
    for key, unit in whole.units.items():
        if unit.kind == "leaf":
            norms[key] = sizes.get(unit.value)
        elif unit.kind == "module" and key != ROOT:
            inside = [sums[path] for path in whole.paths(unit) if path in sums]
            if count := sum(count for _, count in inside):
                norms[key] = math.sqrt(sum(total for total, _ in inside) / count)
    return {key: size for key, size in norms.items() if size is not None}


def _by_unit(graph: Graph, whole: Network, sizes: dict[str, float | None]) -> dict[str, float | None]:
    """For every box, the size of all its parameters' gradients together."""
    squares: dict[str, tuple[float, int]] = {}
    for key, size in sizes.items():
        count = math.prod(graph.values[key].shape or ())
        for unit in dict.fromkeys(unit for chain in whole.chains(key) for unit in chain[1:]):
            if size is not None:
                total, number_of = squares.get(unit, (0.0, 0))
                squares[unit] = total + size * size * count, number_of + count
    return {key: math.sqrt(total / count) if count else 0.0 for key, (total, count) in squares.items()}


def data(whole: Network) -> dict[str, Any]:
    """The boxes for the browser; boxes of equal structure share a layout."""
    units = {}
    for key, unit in whole.units.items():
        width, height = unit.size
        box: dict[str, Any] = {"k": unit.kind, "t": unit.title, "r": unit.rows, "w": round(width), "h": height}
        if unit.pad < 6:
            box["p"] = unit.pad
        if unit.frozen:
            box["f"] = True
        if unit.shared:
            box["same"] = unit.shared
        if unit.kind == "module":
            box |= {"c": unit.children, "l": unit.layout, "e": unit.links, "n": round(title_width(unit))}
        units[key] = box
    placed = [
        {
            "w": round(layout.width, 1),
            "h": round(layout.height, 1),
            "s": [[round(x, 1), round(y, 1)] for x, y in layout.spots],
            "z": [[round(x, 1), round(y, 1)] for x, y in layout.sizes],
            "e": [[[round(x, 1), round(y, 1)] for x, y in curve] for curve in layout.curves],
        }
        for layout in whole.layouts
    ]
    return {"units": units, "layouts": placed, "open": whole.first, "sizes": SIZES}


# Of a node: the size of each gradient that it ran with, and in which pass.
Sizes = dict[str, list[tuple[float | None, int]]]


def _gradients(director: Director) -> tuple[Sizes, Sizes]:
    """For each op the gradients of its result, and for each leaf the values of `.grad`, in order."""
    leaves = director.graph.accumulators()
    runs: Sizes = {}
    totals: Sizes = {}
    for event in director.recording.events:
        if event.kind == "run" and event.node in director.graph.ops:
            array = next((gradient.array for gradient in event.gradients if gradient.array is not None), None)
            runs.setdefault(event.node, []).append((rms(array), event.pass_nr))
        elif event.kind == "accumulate" and event.node in leaves:
            totals.setdefault(leaves[event.node].key, []).append((rms(event.total), event.pass_nr))
    return runs, totals


def _through(director: Director, whole: Network) -> dict[tuple[int, str], list[str]]:
    """For each pass and leaf, by its AccumulateGrad: the boxes of the calls through which its gradient has come."""
    boxes: dict[tuple[int, str], list[str]] = {}
    for event in director.recording.events:
        for gradient in event.gradients if event.kind == "send" else ():
            if gradient.array is None or gradient.value is None or gradient.node in director.graph.ops:
                continue
            around = whole.unit_of.get(event.node or "", [])
            for chain in whole.chains(gradient.value):  # of the version that the call was given
                home = chain[:-1] if whole.units[chain[-1]].kind == "leaf" else chain
                if home == around[: len(home)]:
                    boxes.setdefault((event.pass_nr, gradient.node or ""), []).extend(chain[1:])
    return {key: list(dict.fromkeys(units)) for key, units in boxes.items()}


def _written(graph: Graph, key: str) -> str:
    """The first version of a parameter: those that a step has written are the same parameter."""
    while (value := graph.values[key]).how_shared == "in-place" and value.shares is not None:
        key = value.shares
    return key


def _patches(
    director: Director, whole: Network, runs: Sizes, totals: Sizes, scales: Scales
) -> tuple[list[dict[str, list[str]]], dict[str, tuple[str, str]]]:
    """What each step changes in each box (its state and its gradient), and all states after the last step."""
    leaves = director.graph.accumulators()
    through = _through(director, whole)
    met = dict.fromkeys([*runs, *totals], 0)
    state: dict[str, str] = dict.fromkeys(whole.units, "pending")
    sizes: dict[str, float | None] = {}
    parts: dict[str, dict[str, tuple[float, int]]] = {}  # per module: squares and counts of its parameters' gradients
    passes: dict[str, int] = {}
    patches: list[dict[str, list[str]]] = [{key: ["pending", ""] for key in whole.units}]
    for step in director.stages["values"].patches[1:]:
        changed: dict[str, None] = {}
        loud: dict[str, str] = {}
        for key, change in step.items():
            if "class" not in change:
                continue
            leaf = leaves.get(key)
            own = leaf.key if leaf is not None else key
            chain = list(dict.fromkeys(unit for chain in whole.chains(own) for unit in chain[1:]))
            for unit in chain:
                loud[unit] = min(loud.get(unit, "done"), change["class"] or "done", key=loudness)
                changed[unit] = None
            known = (totals if leaf is not None else runs).get(own)
            if "running" not in change["class"] or known is None:
                continue
            size, number_of = known[min(met[own], len(known) - 1)]
            met[own] += 1
            if leaf is not None:
                chain = through.get((number_of, key), chain)
            for unit in chain:
                if leaf is not None:
                    if size is not None:
                        count = math.prod(leaf.shape or ())
                        parts.setdefault(unit, {})[_written(director.graph, own)] = size * size * count, count
                        squares, counts = zip(*parts[unit].values(), strict=True)
                        sizes[unit] = math.sqrt(sum(squares) / sum(counts)) if sum(counts) else 0.0
                elif unit not in (scales.weighted | scales.frozen) and (unit == own or passes.get(unit) != number_of):
                    sizes[unit] = size  # the gradient of the result of a module without parameters
                passes[unit] = number_of
                changed[unit] = None
        patch = {}
        for unit in changed:
            word = next((word for word in _PASSED_ON if word in loud[unit]), "done")
            state[unit] = word
            patch[unit] = [f"{word} {scales.shade(unit, sizes.get(unit))}".strip(), told(sizes.get(unit))]
        patches.append(patch)
    marks = {key: (f"done {scales.shade(key, sizes.get(key))}".strip(), told(sizes.get(key))) for key in whole.units}
    return patches, marks


def details(whole: dict[str, Any]) -> dict[str, list[list[str]]]:
    """The details of each module's box."""
    about = {}
    for key, unit in whole["units"].items():
        if unit["k"] == "module":
            names = {"class": "class", "settings": "settings", "shape": "shapes", "count": "parameters"}
            rows = [["module", unit["t"]], *([names[slot], text] for slot, _, text in unit["r"] if slot in names)]
            about[key] = [*rows, ["inside", "a click or Enter opens it, Escape closes it"]]
        elif unit["k"] == "port":
            about[key] = [["port", unit["t"]]]
    return about


def described(whole: Network) -> str:
    """The outermost modules, in words."""
    tops = [whole.units[key] for key in whole.units[ROOT].children if whole.units[key].kind == "module"]
    return ". ".join(" ".join(text for _, _, text in unit.rows) for unit in tops)
