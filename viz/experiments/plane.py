"""Pictures of networks that learn to classify points in the plane, as SVG: boundaries, losses, gradients per layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from viz.experiments import curves
from viz.experiments.playground import GRID, REACH, Learner
from viz.picture.bitmap import link
from viz.picture.chart import Panel, Scale, contour, path, power, stops
from viz.picture.svg import escape

SIDE = 400.0  # the side of the picture of the plane
WIDE, HIGH = 330.0, 404.0  # the size of each of the two charts
LETTERS = "AB"
FAINT, STRONG = 0.06, 0.62  # opacity of a class's colour where the network is least sure, and where it is surest
CLASSES = ("#0072B2", "#D55E00")
LOOK = """<style>
.tgp .run0{stroke:var(--tgv-text,#1b1f24);stroke-dasharray:none}
.tgp .run1{stroke:var(--tgv-keyword,#6f3fa8);stroke-dasharray:7 4}
.tgp .path{stroke-width:2.2;stroke-linejoin:round}
.tgp .halo{fill:none;stroke:var(--tgv-bg,#fff);stroke-width:5;stroke-opacity:.75}
.tgp .start{fill:none;stroke-width:1.2;stroke-opacity:.45}
.tgp .mark{fill:var(--tgv-bg,#fff);stroke-width:2;stroke-dasharray:none}
.tgp .rung{stroke:var(--tgv-line,#d5d9df);stroke-width:.7}
.tgp .cursor{stroke:var(--tgv-muted,#57606a);stroke-width:1;stroke-dasharray:2 3}
.tgp .point{stroke:var(--tgv-bg,#fff);stroke-width:1.1}
.tgp .tested{stroke-width:1.8;fill-opacity:.1}
.tgp .tested.class0{stroke:var(--tgv-class0,#0072B2)}
.tgp .tested.class1{stroke:var(--tgv-class1,#D55E00)}
.tgp .test{stroke-width:1.4;stroke-opacity:.75;stroke-dasharray:2 2}
.tgp .class0{fill:var(--tgv-class0,#0072B2)}
.tgp .class1{fill:var(--tgv-class1,#D55E00)}
</style>"""


def pictures(maps: np.ndarray) -> np.ndarray:
    """What neurons compute over the plane, from 0 to 255; 0 is in the middle, and each neuron has its own scale."""
    with np.errstate(all="ignore"):
        most = np.abs(maps).max(axis=(1, 2), keepdims=True)
        scaled = np.where(most > 0, maps / most, 0.0)
    return np.round(127.5 + 127.5 * np.nan_to_num(scaled)).astype(np.uint8)


def shades(margins: np.ndarray) -> np.ndarray | None:
    """How sure of class 1 the network is at each position of the plane, from 0 to 255; None if it gives no numbers."""
    if not np.isfinite(margins).all():
        return None
    return np.asarray(np.round(255 / (1 + np.exp(-np.clip(margins, -40, 40)))), np.uint8)


def dots(points: Sequence[tuple[float, float, float]], numbers: bool = False, test: bool = False) -> str:
    """The points: circles for class 0 (or numbers below 0), squares for class 1; those of the test are hollow."""
    parts = []
    for x, y, label in points:
        left, top = _place(x, y)
        high = label > (0 if numbers else 0.5)
        look = f"{'tested' if test else 'point'} class{int(high)}"
        if numbers:  # the farther from 0, the stronger
            look += f'" opacity="{0.25 + 0.75 * min(1.0, abs(label)):.2f}'
        if high:
            parts.append(f'<rect class="{look}" x="{left - 3.6:.1f}" y="{top - 3.6:.1f}" width="7.2" height="7.2"/>')
        else:
            parts.append(f'<circle class="{look}" cx="{left:.1f}" cy="{top:.1f}" r="4.1"/>')
    return "".join(parts)


def boundary(run: int, margins: np.ndarray) -> str:
    """The decision boundary: the line where the network is undecided."""
    step = SIDE / GRID
    text = path([((x + 0.5) * step, (y + 0.5) * step) for x, y in line] for line in contour(margins))
    if not text:
        return ""
    return f'<path class="halo" d="{text}"/><path class="path run{run}" d="{text}"/>'


def charts(learners: Sequence[Learner | None], at: int, wide: float = WIDE) -> str:
    """The loss over the steps and, below it, the size of the gradient per layer, both after `at` steps.

    Without the style: a style that is put into a page at each frame has the page's whole look computed again.
    """
    half = HIGH / 2
    told = "Above: the loss by steps. Below: the size of the gradient by layers."
    boxes = [(44.0, top + 24.0, wide - 62.0, half - 64.0) for top in (0.0, half)]
    return _svg(wide, HIGH, _losses(boxes[0], learners, at) + _sizes(boxes[1], learners, at), told)


def _svg(wide: float, high: float, inside: str, told: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tgc tgp" viewBox="0 0 {wide:g} {high:g}" role="img" '
        f'aria-label="{escape(told)}">{inside}</svg>'
    )


def _losses(box: tuple[float, float, float, float], learners: Sequence[Learner | None], at: int) -> str:
    """The loss over the steps, on a logarithmic scale once it has fallen below a hundredth of its start."""
    runs = [(index, learner) for index, learner in enumerate(learners) if learner is not None]
    longest = max(len(learner.losses) for _, learner in runs)
    finite = [loss for _, learner in runs for loss in learner.losses if math.isfinite(loss)]
    first = max((run.losses[0] for _, run in runs if run.losses and math.isfinite(run.losses[0])), default=1.0)
    scale = Scale([0.0, *([loss for loss in finite if loss <= 100 * max(first, 1.0)] or [1.0])])
    room = 0.07 * (scale.high - scale.low) or 1.0
    bottom = scale.low - room if scale.logarithmic else 0.0
    panel = Panel(box, (0.0, 1.02 * max(20, longest), bottom, scale.high + room))
    head = "loss (dotted: test)" if any(learner.test_losses for _, learner in runs) else "loss"
    panel.axes(head, "step", scale.marks(5))
    drawn = []
    if at < longest:
        x, _ = panel.at(at, 0)
        drawn.append(f'<line class="cursor" x1="{x:.1f}" x2="{x:.1f}" y1="{panel.y:g}" y2="{panel.y + panel.high:g}"/>')
    for index, learner in reversed(runs):
        losses = learner.losses
        for look, numbers in (("path", losses), ("path test", learner.test_losses)):
            drawn.append(panel.line(index, [(step + 1, scale.up(numbers[step])) for step in stops(len(numbers))], look))
        if losses and not math.isfinite(losses[-1]):  # where the run ended
            x, _ = panel.at(len(losses), 0)
            drawn.append(
                f'<line class="path run{index}" x1="{x:.1f}" x2="{x:.1f}" '
                f'y1="{panel.y + 18:g}" y2="{panel.y + panel.high:g}"/>'
                f'<text class="name" x="{x:.1f}" y="{panel.y + 14:g}" text-anchor="middle">{losses[-1]:g}</text>'
            )
        seen = losses[min(at, len(losses)) - 1] if losses else math.nan
        if math.isfinite(seen):
            x, y = panel.at(min(at, len(losses)), scale.up(seen))
            drawn.append(_mark(index, x, y))
    return panel.drawn("".join(drawn))


def _sizes(box: tuple[float, float, float, float], learners: Sequence[Learner | None], at: int) -> str:
    """The size of the gradient of each layer, on a logarithmic scale that shows seven powers of ten or more."""
    runs = [(index, learner.sizes) for index, learner in enumerate(learners) if learner is not None]
    count = max(len(learner.layers) for learner in learners if learner is not None)
    known = [
        size
        for _, sizes in runs
        for row in (sizes[:1] + sizes[at - 1 : at])
        for size in row
        if size and math.isfinite(size)
    ]
    low = min(-6.0, *(math.floor(math.log10(max(size, 1e-30))) for size in known), 0.0)
    high = max(1.0, *(math.ceil(math.log10(size)) for size in known), -30.0)
    panel = Panel(box, (0.5, count + 0.5, low - 0.6, high + 0.4))
    every = math.ceil((high - low) / 5)
    heights = [float(height) for height in range(int(low), int(high) + 1) if height % every == 0]
    panel.axes(
        "gradient size (rms; pale: at step 1)",
        "layer, from the input to the output",
        [(height, power(height)) for height in heights],
        counted=True,
    )
    drawn = []
    for height in heights:
        _, y = panel.at(0, height)
        drawn.append(f'<line class="rung" x1="{panel.x:g}" x2="{panel.x + panel.wide:g}" y1="{y:.1f}" y2="{y:.1f}"/>')

    def places(row: list[float | None]) -> list[tuple[float, float]]:
        found = []
        for layer, size in enumerate(row, start=1):
            if size is None:
                found.append((float(layer), math.nan))
            elif size == 0:
                found.append((float(layer), low - 0.6))
            else:
                found.append((float(layer), math.log10(size) if math.isfinite(size) else high + 0.4))
        return found

    for index, sizes in reversed(runs):
        row = sizes[at - 1] if 0 < at <= len(sizes) else sizes[-1] if sizes and at else None
        if row is None:
            continue
        drawn.append(panel.line(index, places(sizes[0]), "start"))
        drawn.append(panel.line(index, places(row)))
        for column, size in zip(places(row), row, strict=True):
            x, y = panel.at(*column)
            if size == 0 or (size is not None and not math.isfinite(size)):
                drawn.append(
                    f'<text class="name" x="{x:.1f}" y="{y + (-5 if size == 0 else 14):.1f}" '
                    f'text-anchor="middle">{size:g}</text>'
                )
            elif size is not None:
                drawn.append(_mark(index, x, y))
    return panel.drawn("".join(drawn))


def _mark(run: int, x: float, y: float) -> str:
    """A marker on a line: a circle for A, a square for B."""
    if run:
        return f'<rect class="mark run1" x="{x - 3.4:.1f}" y="{y - 3.4:.1f}" width="6.8" height="6.8"/>'
    return f'<circle class="mark run0" cx="{x:.1f}" cy="{y:.1f}" r="3.8"/>'


def _place(x: float, y: float) -> tuple[float, float]:
    return (x + REACH) / (2 * REACH) * SIDE, (REACH - y) / (2 * REACH) * SIDE


# --- where no kernel runs ---


def still(learners: Sequence[Learner | None], looked: int, at: int, points: str) -> str:
    """Everything as one SVG: the plane, the boundaries, the charts."""
    parts: list[str] = []
    for run, learner in enumerate(learners):
        if learner is None:
            continue
        margins = learner.field(learner.nearest(at))
        if run == looked and (shaded := shades(margins)) is not None:
            parts.insert(0, f'<image width="{SIDE:g}" height="{SIDE:g}" href="{_link(shaded)}"/>')
        parts.append(boundary(run, margins))
    plane = f'<svg width="{SIDE:g}" height="{SIDE:g}">{"".join(parts)}{points}</svg>'
    beside = charts(learners, at).replace("<svg ", f'<svg x="{SIDE + 20:g}" width="{WIDE:g}" height="{HIGH:g}" ', 1)
    whole = _svg(
        SIDE + 20 + WIDE,
        SIDE,
        curves.STYLE + LOOK + plane + beside,
        "The plane with its points and the boundary, the loss, the gradients.",
    )
    return whole.replace("<svg ", f'<svg width="{SIDE + 20 + WIDE:g}" height="{SIDE:g}" ', 1)


def _link(shaded: np.ndarray) -> str:
    """The shades as a bitmap: the colour of the likelier class, stronger where the network is surer."""
    sure = np.abs(shaded / 255.0 - 0.5) * 2
    colours = np.array([[int(text[i : i + 2], 16) for i in (1, 3, 5)] for text in CLASSES])
    strength = (FAINT + (STRONG - FAINT) * sure)[..., None]
    pixels = np.round(255 + strength * (colours[(shaded > 127).astype(int)] - 255)).astype(np.uint8)
    return link(pixels)
