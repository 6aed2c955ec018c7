"""A network as people think of it: modules as boxes in boxes, down to single ops, each box laid out by itself."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from viz.picture import svg
from viz.picture import theme as themes
from viz.picture.arrange import Arranged, Arranger, Room
from viz.picture.boxes import LINE, PORT, ROOT, RUNNING, WHOLE, Boxes, Drawn, Unit
from viz.picture.nested import Network, compose
from viz.picture.theme import SIZE, text_width
from viz.recording.graph import Array, Graph

ROOMS = (900.0, 290.0), (540.0, 430.0)  # pixels of a stage below its program, and beside it, in a notebook
CELL = (908.0, 540.0)  # pixels of a notebook's cell on a laptop, for a picture alone with its legend and caption
NARROWEST = 420.0  # pixels that a caption may widen a picture to
SHADES = 7  # shades for a gradient's size


def rms(array: Array | None) -> float | None:
    """The root mean square of an array's entries; None if there are none."""
    if array is None or array.norm is None or not array.size:
        return None
    return array.norm / math.sqrt(array.size)


def network(
    graph: Graph,
    graded: Iterable[str] = (),
    rooms: Sequence[Room] = ROOMS,
    depth: int | None = None,
    direction: str | None = None,
    known: dict[Any, Arranged] | None = None,
) -> Network:
    """The boxes of a graph whose ops know their modules, laid out for the best of `rooms`.

    The ops and leaves in `graded` will show a gradient. `depth` says how many levels are open at first, and `direction`
    (`"LR"`, `"TB"`) how each level is laid out. `known` remembers how such boxes were laid out before.
    """
    known = {} if known is None else known
    graded = set(graded)
    drawn = Drawn(graph)
    boxes = functools.cache(lambda folding: Boxes(drawn, graded, folding))
    form = boxes(WHOLE).form, tuple(rooms), depth, direction
    # What is folded depends on more than sizes and links, such as on cuts: boxes of another form are arranged anew.
    if form not in known or boxes(known[form].folding).form != known[form].form:
        alike = (layout for key, layout in reversed(known.items()) if key[1:] == form[1:])
        known[form] = Arranger(boxes, rooms, depth, direction, next(alike, None)).arranged()
    folding, _, snug, _, layouts, of_units, first = known[form]
    made = boxes(folding)
    for unit, layout in zip(made.units.values(), of_units, strict=True):
        unit.layout = layout
        if snug and unit.kind != "port" and unit.key != ROOT:
            unit.make_snug(snug)
    return Network(made.units, layouts, first, made.chain, made.copies)


def svg_of(
    whole: Network,
    opened: Iterable[str],
    identity: str,
    marks: dict[str, tuple[str, str]],
    title: str,
    description: str = "",
    theme: str = "auto",
    plain: bool = False,
    legend: list[list[str]] | None = None,
    heading: str = "",
    caption: str = "",
) -> str:
    """The network as an SVG below `heading`, above `caption`; `marks`: classes of each box, text about its gradient."""
    shown = compose(whole, opened)
    top = svg.MARGIN + (svg.HEADING if heading else 0.0)
    parts = [svg.above(heading)] if heading else []
    parts.append(f'<g class="network" transform="translate({svg.MARGIN:.0f} {top:.0f})">')
    frames = [box for box in shown.boxes if box[5]]
    parts += [_box(box, marks.get(box[0].key, ("", ""))) for box in frames]
    parts += [
        f'<g class="forward"><path d={svg.path(svg.shorten(curve))}/>{svg.head(curve)}</g>' for curve in shown.curves
    ]
    parts += [_box(box, marks.get(box[0].key, ("", ""))) for box in shown.boxes if not box[5]]
    height = shown.height + top + svg.MARGIN
    width = max(shown.width + 2 * svg.MARGIN, text_width(heading, SIZE["name"], True) + 2 * svg.MARGIN)
    if legend:
        for number, scale in enumerate(legend):
            parts.append(_legend(scale, shown.height + 12 + 20 * number))
        widest = max(_edge(words) for words, *_ in legend)
        height, width = height + 14 + 20 * len(legend), max(width, widest + 26 * SHADES + 60)
    parts.append("</g>")
    if caption:
        width = max(width, min(NARROWEST, text_width(caption, SIZE["small"]) + 2 * svg.MARGIN))
        for line in textwrap.wrap(caption, int((width - 2 * svg.MARGIN) / 6.6)):
            height += 15
            parts.append(
                f'<text class="small" x="{svg.MARGIN:.0f}" y="{height - svg.MARGIN:.0f}">{svg.escape(line)}</text>'
            )
    return svg.sheet(identity, (width, height), "".join(parts), title, description, themes.css(identity, theme, plain))


def _edge(words: str) -> float:
    """Where the colours of a legend begin, in pixels."""
    return text_width(words, SIZE["small"]) + 44


def _legend(scale: list[str], top: float) -> str:
    words, low, high = scale
    edge = _edge(words)
    bars = "".join(
        f'<g class="node module lv{place}">'
        f'<rect class="frame" x="{edge + 26 * place:.0f}" y="{top}" width="26" height="12"/></g>'
        for place in range(SHADES)
    )
    right = edge + 6 + 26 * SHADES
    return (
        f'<text class="small" x="0" y="{top + 10}">{svg.escape(words)}</text>{bars}'
        f'<text class="small" x="{edge - 4:.0f}" y="{top + 10}" text-anchor="end">{svg.escape(low)}</text>'
        f'<text class="small" x="{right:.0f}" y="{top + 10}">{svg.escape(high)}</text>'
    )


def _box(box: tuple[Unit, float, float, float, float, bool], mark: tuple[str, str]) -> str:
    unit, x, y, width, height, is_open = box
    left, top = x - width / 2, y - height / 2
    classes, told = mark
    name = "opened" if is_open else unit.kind
    if is_open:
        classes = classes.replace("lv", "around-lv")
    if unit.frozen:
        classes += " frozen"
    head = f'<g class="node {name} {classes}"><title>{svg.escape(unit.title)}</title>'
    if unit.kind == "port":
        return f'{head}<circle class="pill" cx="{x:.1f}" cy="{y:.1f}" r="{PORT / 2 - 1}"/></g>'
    pill = unit.kind in RUNNING
    style, radius = ("pill", min(height / 2, 15)) if pill else ("frame", 7)
    parts = [
        head,
        f'<rect class="{style}" x="{left:.1f}" y="{top:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="{radius:.0f}"/>',
    ]
    if is_open:
        words = " ".join(text for slot, _, text in unit.rows if slot in ("name", "class"))
        parts.append(f'<text class="opened-title" x="{left + 10:.1f}" y="{top + 15:.1f}">{svg.escape(words)}</text>')
        return "".join([*parts, "</g>"])
    line = top + unit.pad
    for _, look, text in [*unit.rows, *([("grad", "tiny grad", told)] if told else [])]:
        step = LINE[look.split()[0]]
        parts.append(f'<text class="mid {look}" x="{x:.1f}" y="{line + step * 0.76:.1f}">{svg.escape(text)}</text>')
        line += step
    return "".join([*parts, "</g>"])
