"""What a watch has seen as SVG: the loss over the steps, and below it a map for each measure, a row for each layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viz.monitor.history import MEASURES, gathered, spans, table
from viz.picture.bitmap import link
from viz.picture.chart import Scale, path, power, short
from viz.picture.svg import escape

if TYPE_CHECKING:
    from viz.monitor.watch import Watch

COLUMNS = 160  # of a map, at most; more steps share a column
WIDTHS = {"wide": 980.0, "narrow": 430.0}
LOSS, HEAD, FOOT, GAP = 74.0, 20.0, 17.0, 8.0  # heights: of the loss, above and below each map, between them
LETTER, LINE = 6.3, 13.0  # pixels of a letter of a name, and from one name to the next
LONGEST = 22  # letters of a name
HIGH = {"wide": 138.0, "narrow": 170.0}  # of a map: all of them, and the loss, are on a laptop's screen at once
MARGIN, SIDE = 14.0, 62.0  # right of everything, and what the numbers beside the loss take
ZERO, ASTRAY = (60, 190, 220), (210, 30, 45)
# Dark blue to yellow, even steps of lightness, distinct to people who see no red or green (cividis, matplotlib, CC0).
_CIVIDIS = "0 34 78  35 62 108  87 93 109  124 123 120  165 156 116  211 193 100  254 232 56"
PALETTE = np.array([int(part) for part in _CIVIDIS.split()]).reshape(-1, 3)
STYLE = """<style>
.tgw text{font:12px system-ui,sans-serif;fill:var(--tgv-muted,#57606a)}
.tgw .head{font-weight:600;fill:var(--tgv-text,#1b1f24)}
.tgw .box{fill:var(--tgv-panel,#f6f7f9);stroke:var(--tgv-line,#d5d9df)}
.tgw .frame{fill:none;stroke:var(--tgv-line,#d5d9df)}
.tgw .loss0{fill:none;stroke:var(--tgv-blue,#0072b2);stroke-width:2}
.tgw .loss1{fill:none;stroke:var(--tgv-flow,#d55e00);stroke-width:2;stroke-dasharray:6 3}
.tgw .loss2{fill:none;stroke:var(--tgv-good,#1a7f4b);stroke-width:2;stroke-dasharray:2 3}
.tgw image{image-rendering:pixelated}
.tgw .cursor{fill:none;stroke:var(--tgv-bad,#b3261e);stroke-width:1.6}
</style>"""
ABSENT = {
    "gradient": "no gradient",
    "update": "no update",
    "activation": "no module was called",
    "dead": "no ReLU, tanh or sigmoid was seen",
}


@dataclass(frozen=True)
class Colours:
    """How the numbers of a measure become colours."""

    low: float
    high: float
    even: bool = False  # a share, from 0 to 1; the others are logarithmic

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """RGBA for each number; NaN stands for one that is not there, infinity for one that is not finite."""
        with np.errstate(all="ignore"):
            share = numbers if self.even else (np.log10(numbers) - self.low) / (self.high - self.low)
        share = np.nan_to_num(np.clip(share, 0, 1)) * (len(PALETTE) - 1)
        lower = np.minimum(share.astype(int), len(PALETTE) - 2)
        part = (share - lower)[..., None]
        pixels = np.empty((*numbers.shape, 4), dtype=np.uint8)
        pixels[..., :3] = np.round(PALETTE[lower] * (1 - part) + PALETTE[lower + 1] * part)
        pixels[..., 3] = 255
        if not self.even:
            pixels[numbers == 0] = (*ZERO, 255)
        pixels[np.isposinf(numbers)] = (*ASTRAY, 255)
        pixels[np.isnan(numbers)] = 0
        return pixels


def colours_of(measure: str, numbers: np.ndarray) -> Colours:
    """From the smallest to the largest power of ten, two at least, so that noise does not look like a cliff."""
    if measure == "dead":
        return Colours(0, 1, even=True)
    known = numbers[np.isfinite(numbers) & (numbers > 0)]
    low, high = (math.floor(math.log10(known.min())), math.ceil(math.log10(known.max()))) if known.size else (-3, 0)
    return Colours(min(low, high - 2), high)


@dataclass(frozen=True)
class Maps:
    """The numbers that are drawn: for each measure a table, and the first and the last step of each column."""

    numbers: dict[str, np.ndarray]
    steps: list[tuple[int, int]]


def maps_of(watch: Watch) -> Maps:
    """The numbers of a watch, at most `COLUMNS` columns of them."""
    rows = len(watch.layers)
    numbers = {measure: gathered(table(watch.columns, measure, rows), COLUMNS) for measure in (*MEASURES, "mean")}
    return Maps(numbers, spans(watch.columns, COLUMNS))


def drawn(watch: Watch, shape: str = "wide", maps: Maps | None = None) -> str:
    """The picture, for a wide place or a narrow one."""
    maps = maps or maps_of(watch)
    width = WIDTHS[shape]
    names = watch.layers
    labels = [name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}" for name in names]
    left = round(max(len(label) for label in labels) * LETTER) + 12.0
    across = 2 if shape == "wide" else 1
    wide = (width - left - MARGIN - (across - 1) * 26) / across
    high = HIGH[shape]
    parts = [_losses(watch, (SIDE, HEAD, width - SIDE - MARGIN, LOSS - HEAD))]
    top = LOSS + FOOT + GAP
    for index, measure in enumerate(MEASURES):
        x = left + (index % across) * (wide + 26)
        y = top + HEAD + (index // across) * (high + HEAD + FOOT + 6)
        box = (x, y, wide, high)
        parts.append(_map(measure, maps, box, labels if index % across == 0 else None))
    rows = -(-len(MEASURES) // across)
    total = top + rows * (high + HEAD + FOOT + 6)
    told = "The loss over the steps, and for each layer and step: " + "; ".join(MEASURES.values())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tgw" viewBox="0 0 {width:g} {total:g}" role="img" '
        f'aria-label="{escape(told)}">{STYLE}{"".join(parts)}</svg>'
    )


def _map(measure: str, maps: Maps, box: tuple[float, float, float, float], labels: list[str] | None) -> str:
    x, y, wide, high = box
    numbers = maps.numbers[measure]
    colours = colours_of(measure, numbers)
    parts = [f'<rect class="box" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"/>']
    if numbers.size:
        parts.append(
            f'<image x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" preserveAspectRatio="none" '
            f'style="image-rendering:pixelated" href="{link(colours.of(numbers))}"/>'
        )
    parts.append(f'<rect class="frame" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"/>')
    parts.append(f'<text class="head" x="{x:g}" y="{y - 7:g}">{escape(MEASURES[measure])}</text>')
    parts += _legend(measure, colours, numbers, x + wide, y - 7)
    if labels is not None:
        each = high / len(labels)
        skip = max(1, math.ceil(LINE / each))
        for row in range(0, len(labels), skip):
            parts.append(
                f'<text x="{x - 6:g}" y="{y + (row + 0.5) * each + 4:.1f}" '
                f'text-anchor="end">{escape(labels[row])}</text>'
            )
    if maps.steps:
        parts += _steps(maps.steps, box)
    if np.isnan(numbers).all():
        why = ABSENT[measure] if maps.steps else "no step yet"
        parts.append(f'<text x="{x + wide / 2:g}" y="{y + high / 2:g}" text-anchor="middle">{why}</text>')
    place = " ".join(f"{side:g}" for side in box)
    return f'<g class="map" data-measure="{measure}" data-box="{place}">{"".join(parts)}</g>'


def _steps(steps: Sequence[tuple[int, int]], box: tuple[float, float, float, float]) -> list[str]:
    """The numbers of the first and the last step below a map, and of the one in the middle."""
    x, y, wide, high = box
    count = len(steps)
    words = {0: "start", count - 1: "end", **({count // 2: "middle"} if count > 4 else {})}
    parts = []
    for position, anchor in words.items():
        across = {"start": x, "end": x + wide}.get(anchor, x + (position + 0.5) / count * wide)
        parts.append(
            f'<text x="{across:.1f}" y="{y + high + 13:g}" text-anchor="{anchor}">'
            f"{'step ' if not position else ''}{steps[position][0]:,}</text>"
        )
    return parts


def _legend(measure: str, colours: Colours, numbers: np.ndarray, right: float, base: float) -> list[str]:
    """The colours and their ends, and those of zero and of what is not finite, where there are any."""
    bar = np.linspace(0, 1, 48)[None]
    pixels = Colours(0, 1, even=True).of(bar)
    ends = ("0 %", "100 %") if colours.even else (power(colours.low), power(colours.high))
    parts = [f'<text x="{right:g}" y="{base:g}" text-anchor="end">{ends[1]}</text>']
    x = right - len(ends[1]) * 6.6 - 6 - 60
    parts.append(
        f'<image x="{x:g}" y="{base - 9:g}" width="60" height="9" preserveAspectRatio="none" href="{link(pixels)}"/>'
    )
    x -= 5
    parts.append(f'<text x="{x:g}" y="{base:g}" text-anchor="end">{ends[0]}</text>')
    x -= len(ends[0]) * 6.6 + 12
    for there, colour, text in (
        (not colours.even and bool((numbers == 0).any()), ZERO, "0"),
        (bool(np.isposinf(numbers).any()), ASTRAY, "nan, inf"),
    ):
        if there:
            parts.append(f'<text x="{x:g}" y="{base:g}" text-anchor="end">{text}</text>')
            x -= len(text) * 6 + 14
            parts.append(f'<rect x="{x:g}" y="{base - 9:g}" width="9" height="9" fill="rgb{colour}"/>')
            x -= 8
    return parts


def _losses(watch: Watch, box: tuple[float, float, float, float]) -> str:
    """The loss of each optimizer's steps over the steps; on a log scale if it spans two powers of ten."""
    x, y, wide, high = box
    names = watch.optimizers
    lines = [
        [
            (column.step, value)
            for column in watch.columns
            if (value := column.losses.get(number)) is not None and math.isfinite(value)
        ]
        for number in range(len(names))
    ]
    known = [value for line in lines for _, value in line]
    last = max((column.step for column in watch.columns), default=1)
    scale = Scale(known or [0.0, 1.0])
    span = (scale.high - scale.low) or 1
    parts = [f'<rect class="box" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"/>']
    parts.append(f'<text class="head" x="{x:g}" y="{y - 7:g}">loss{" (log scale)" if scale.logarithmic else ""}</text>')
    for number, line in enumerate(lines):
        at = [
            (x + wide * (step - 1) / max(last - 1, 1), y + 4 + (high - 8) * (scale.high - scale.up(value)) / span)
            for step, value in _thinned(line)
        ]
        if len(at) == 1:
            at = [(at[0][0] - 3, at[0][1]), (at[0][0] + 3, at[0][1])]
        if at:
            parts.append(f'<path class="loss{number % 3}" d="{path([at])}"/>')
    if known:
        for text, down in ((short(max(known)), y + 10), (short(min(known)), y + high)):
            parts.append(f'<text x="{x - 6:g}" y="{down:g}" text-anchor="end">{text}</text>')
    else:
        why = "no backward() was seen" if watch.columns else "no step yet"
        parts.append(f'<text x="{x + wide / 2:g}" y="{y + high / 2:g}" text-anchor="middle">{why}</text>')
    right = x + wide
    for number, name in reversed(list(enumerate(names if len(names) > 1 else []))):
        parts.append(f'<text x="{right:g}" y="{y - 7:g}" text-anchor="end">{escape(name)}</text>')
        right -= len(name) * 6.6 + 30
        parts.append(f'<path class="loss{number % 3}" d="M{right:g} {y - 11:g}h24"/>')
        right -= 12
    parts.append(
        f'<text x="{x + wide:g}" y="{y + high + 13:g}" text-anchor="end">{last:,}</text>'
        f'<text x="{x:g}" y="{y + high + 13:g}">step 1</text>'
    )
    return "".join(parts)


def _thinned(line: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most 600 points, and the last."""
    stride = max(1, -(-len(line) // 600))
    return [*line[::stride], *(line[-1:] if stride > 1 else [])]


def numbers_of(watch: Watch, maps: Maps) -> dict[str, object]:
    """The numbers of the maps for a page: by measure, step and layer, three digits each."""
    values = {
        measure: [[_rounded(number) for number in column] for column in table.T.tolist()]
        for measure, table in maps.numbers.items()
    }
    return {"steps": [list(span) for span in maps.steps], "layers": watch.layers, "values": values}


def _rounded(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    return float(f"{number:.3g}") if math.isfinite(number) else "not finite"
