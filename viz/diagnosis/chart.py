"""The sizes of activations and gradients as a chart: layers from input to loss, sizes on a logarithmic scale."""

from __future__ import annotations

import math

from viz.diagnosis.finding import number
from viz.diagnosis.layers import Layer, Layers
from viz.picture.svg import escape

ROW, HEAD, FOOT, GAP = 24, 44, 30, 26  # pixels
PANEL = 320  # width of each of the two
NAME = 6.3  # pixels of a letter of a layer's name
LONGEST_NAME = 30  # letters
EDGE = 40  # pixels at a panel's left for zeros, and at its right for nan and infinity
MOST_TICKS = 7
BAR = 24  # letters of a bar in a terminal, if there is room
SHADES = (0.28, 0.5, 0.72, 1.0)  # of the passes; the first is the palest
DASHES = ("2 3", "6 3", "10 3", "")

STYLE = """
.tgv-sizes { display: block; max-width: 100%; height: auto; font: 11px 'DejaVu Sans', Arial, sans-serif }
.tgv-sizes text { fill: var(--ink) } .tgv-sizes .faint { fill: var(--soft) } .tgv-sizes .head { font-weight: bold }
.tgv-sizes .grid { stroke: var(--line); stroke-width: 1 } .tgv-sizes .edge { fill: var(--code) }
.tgv-sizes .activations { stroke: var(--forward); fill: none } .tgv-sizes .gradients { stroke: var(--back); fill: none }
.tgv-sizes circle.activations { fill: var(--forward) } .tgv-sizes circle.gradients { fill: var(--back) }
.tgv-sizes circle.bad { stroke: var(--bad); fill: var(--bad) }
"""


def drawn(told: Layers) -> str:
    """The chart as `<svg>`; empty if there is nothing to show."""
    if not told.rows:
        return ""
    names = [_named(row) for row in told.rows]
    left = round(max(len(name) for name in names) * NAME) + 14
    width = left + 2 * PANEL + GAP + 10
    height = HEAD + ROW * len(told.rows) + FOOT
    parts = [
        f'<svg class="tgv-sizes" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(described(told))}">'
    ]
    for place, name in enumerate(names):
        y = HEAD + ROW * (place + 0.5)
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(f'<text class="faint" x="{left - 8}" y="{HEAD - 8}" text-anchor="end">input</text>')
    parts.append(f'<text class="faint" x="{left - 8}" y="{height - FOOT + 14}" text-anchor="end">loss</text>')
    for number_, kind in enumerate(("activations", "gradients")):
        parts += _panel(told, kind, left + number_ * (PANEL + GAP))
    parts += _legend(told, left, height)
    return "".join(parts) + "</svg>"


def _named(row: Layer) -> str:
    name = f"{row.name} ({row.count})" if row.count > 1 else row.name
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"


def _panel(told: Layers, kind: str, left: float) -> list[str]:
    series = [getattr(row, kind) for row in told.rows]
    low, high = _decades([size for sizes in series for size in sizes])
    inner = PANEL - 2 * EDGE

    def across(size: float) -> float:
        if not math.isfinite(size):
            return left + PANEL - EDGE / 2
        if size <= 0:
            return left + EDGE / 2
        return left + EDGE + inner * (math.log10(size) - low) / (high - low)

    bottom = HEAD + ROW * len(told.rows)
    parts = [
        f'<text class="head" x="{left}" y="14">largest {"activation" if kind == "activations" else "gradient"}</text>'
    ]
    step = max(1, math.ceil((high - low) / (MOST_TICKS - 1)))
    for exponent in range(low, high + 1, step):
        x = left + EDGE + inner * (exponent - low) / (high - low)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 4}" y2="{bottom}"/>')
        parts.append(f'<text class="faint" x="{x:.1f}" y="{HEAD - 10}" text-anchor="middle">{_power(exponent)}</text>')
    sizes = [size for one in series for size in one if size is not None]
    if any(size == 0 for size in sizes):
        parts.append(f'<text class="faint" x="{left + EDGE / 2}" y="{HEAD - 10}" text-anchor="middle">0</text>')
    if any(not math.isfinite(size) for size in sizes):
        parts.append(
            f'<text class="faint" x="{left + PANEL - EDGE / 2}" y="{HEAD - 10}" text-anchor="middle">nan</text>'
        )
    for place, pass_nr in enumerate(told.passes):
        look = len(SHADES) - len(told.passes) + place
        points = [
            (across(size), HEAD + ROW * (row + 0.5), size, told.rows[row].name)
            for row, sizes in enumerate(series)
            if (size := sizes[place]) is not None
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
        dash = f' stroke-dasharray="{DASHES[look]}"' if DASHES[look] else ""
        parts.append(f'<polyline class="{kind}" points="{line}" stroke-width="1.6" opacity="{SHADES[look]}"{dash}/>')
        for x, y, size, name in points:
            bad = " bad" if size == 0 or not math.isfinite(size) else ""
            told_size = f"{name}, pass {pass_nr}: {number(size)}"
            parts.append(
                f'<circle class="{kind}{bad}" cx="{x:.1f}" cy="{y:.1f}" r="{4 if bad else 3}" opacity="{SHADES[look]}">'
                f"<title>{escape(told_size)}</title></circle>"
            )
    return parts


def _decades(sizes: list[float | None]) -> tuple[int, int]:
    """The powers of ten that the scale spans: at least two decades, so that noise does not look like a cliff."""
    known = [size for size in sizes if size is not None and 0 < size < math.inf]
    low, high = (math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))) if known else (-1, 1)
    while high - low < 2:
        low, high = (low - 1, high) if (high - low) % 2 else (low, high + 1)
    return low, high


def _power(exponent: int) -> str:
    return {0: "1", 1: "10", -1: "0.1"}.get(exponent, f"1e{exponent}")


def _legend(told: Layers, left: float, height: float) -> list[str]:
    parts, x = [], left
    for place, pass_nr in enumerate(told.passes):
        look = len(SHADES) - len(told.passes) + place
        dash = f' stroke-dasharray="{DASHES[look]}"' if DASHES[look] else ""
        y = height - 8
        for shift, kind in ((0, "activations"), (26, "gradients")):
            parts.append(
                f'<line class="{kind}" x1="{x + shift}" x2="{x + shift + 22}" y1="{y - 4}" y2="{y - 4}" stroke-width="1.6" '
                f'opacity="{SHADES[look]}"{dash}/>'
            )
        parts.append(f'<text x="{x + 54}" y="{y}">pass {pass_nr}</text>')
        x += 54 + 60
    return parts


def described(told: Layers) -> str:
    """The chart in words, for readers who cannot see it."""
    last = [f"{_named(row)}: activation {_said(row.activations)}, gradient {_said(row.gradients)}" for row in told.rows]
    return f"Sizes layer by layer in pass {told.passes[-1]}. " + "; ".join(last)


def _said(sizes: list[float | None]) -> str:
    return "none" if sizes[-1] is None else number(sizes[-1])


def text(told: Layers, width: int = 100) -> str:
    """The chart for a terminal of `width` characters: numbers of the first and the last pass, and a bar for the last, on a log scale."""
    if not told.rows:
        return ""
    ends = [0, -1] if len(told.passes) > 1 else [-1]
    wide = max(len("layer"), *(len(_named(row)) for row in told.rows))
    low, high = _decades([size for row in told.rows for size in row.gradients])
    titles = [f"pass {told.passes[end]}" for end in ends]
    span = 10 * len(ends)
    room = max(4, min(BAR, width - (wide + max(span, 18) + max(span, 16) + 7)))
    lines = [
        f"{'':<{wide}}  {'largest activation':>{max(span, 18)}}  {'largest gradient':>{max(span, 16)}}",
        f"{'layer':<{wide}}  {''.join(f'{title:>10}' for title in titles):>{max(span, 18)}}  "
        f"{''.join(f'{title:>10}' for title in titles):>{max(span, 16)}}   {_power(low)} … {_power(high)}",
    ]
    for row in told.rows:
        both = [
            "".join(f"{_cell(sizes[end]):>10}" for end in ends).rjust(max(span, least))
            for sizes, least in ((row.activations, 18), (row.gradients, 16))
        ]
        lines.append(
            f"{_named(row):<{wide}}  {both[0]}  {both[1]}   {_bar(row.gradients[-1], low, high, room)}".rstrip()
        )
    return "\n".join(lines)


def _cell(size: float | None) -> str:
    return "-" if size is None else number(size)


def _bar(size: float | None, low: int, high: int, room: int) -> str:
    if size is None or size == 0:
        return ""
    if not math.isfinite(size):
        return "!" * room
    return "█" * max(1, round(room * (math.log10(size) - low) / (high - low)))
