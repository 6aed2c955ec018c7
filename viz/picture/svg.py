"""Writes a positioned picture as SVG. All users' texts go through `escape`, and no other module writes markup."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from viz.picture import theme as themes
from viz.picture.layout import Layout, Spot
from viz.picture.scopes import Scope
from viz.picture.shapes import Box, Drawing, Link
from viz.picture.theme import SIZE, printable, text_width

MARGIN = 10.0
BESIDE = 3.2  # pixels between the middle of a link and each of its two lines
EDGE = 10.0  # pixels that a box or a line may reach beyond its place
NOTE = 11.0  # font size of the notes below a picture
HEADING = 26.0  # pixels of the line above a picture
HEAD = 7.0  # length of an arrowhead
Area = tuple[float, float, float, float]  # left, top, right, bottom, in pixels


@dataclass
class State:
    """The look of an element at one step."""

    classes: str = ""
    text: dict[str, str] = field(default_factory=dict)


States = dict[str, State]  # of the elements of a picture, by their keys


def escape(text: str) -> str:
    """`text` as XML character data or attribute value, without characters that a parser refuses."""
    text = printable(text)
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(raw, safe)
    return text


def write(
    drawing: Drawing,
    layout: Layout,
    identity: str,
    state: States,
    title: str,
    description: str = "",
    theme: str = "auto",
    notes: list[str] | None = None,
    plain: bool = False,
    styled: bool = True,
    heading: str = "",
) -> str:
    """The picture as one `<svg>` element whose ids all start with `identity`.

    `heading` is drawn above it, and `notes` below it, line by line. Without `styled` it has no style sheet: it replaces
    a picture of the same identity, and uses its styles.
    """
    body = "".join(elements(drawing, layout, identity, state))
    notes = notes or []
    lines = "".join(note(position, line, layout) for position, line in enumerate(notes))
    width, height = canvas(layout, notes)
    if heading:
        lines = f'{above(heading)}<g transform="translate(0 {HEADING:.0f})">{body}{lines}</g>'
        body, height = "", height + HEADING
        width = max(width, text_width(heading, SIZE["name"], True) + 2 * MARGIN)
    size = width, height
    style = themes.css(identity, theme, plain) if styled else ""
    return sheet(identity, size, body + lines, title, description, style)


def above(heading: str) -> str:
    """The line above a picture."""
    return f'<text class="name" x="{MARGIN:.0f}" y="{MARGIN + 14:.0f}">{escape(heading)}</text>'


def canvas(layout: Layout, notes: list[str]) -> tuple[float, float]:
    """The width and height of a picture with these lines below it, in pixels."""
    width = max([layout.width + 2 * MARGIN, *(text_width(line, NOTE) + 2 * MARGIN for line in notes)])
    return width, layout.height + 2 * MARGIN + (NOTE + 4) * len(notes) + (4 if notes else 0)


def sheet(
    identity: str,
    size: tuple[float, float],
    body: str,
    title: str,
    description: str = "",
    style: str = "",
    part: Area | None = None,
) -> str:
    """An `<svg>` element of this size around what is drawn in it, or around a `part` of it."""
    width, height = size
    left, top, right, bottom = part or (0.0, 0.0, width, height)
    wide, high = right - left, bottom - top
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{identity}" role="img" aria-labelledby="{identity}-title '
            f'{identity}-desc" width="{wide:.0f}" height="{high:.0f}" '
            f'viewBox="{left:.0f} {top:.0f} {wide:.0f} {high:.0f}" style="max-width:100%;height:auto">',
            f'<title id="{identity}-title">{escape(title)}</title>',
            f'<desc id="{identity}-desc">{escape(description)}</desc>',
            f"<style>{style}</style>" if style else "",
            f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
            body,
            "</svg>",
        ]
    )


def elements(drawing: Drawing, layout: Layout, identity: str, state: States) -> list[str]:
    """The markup of each link and box, in the order in which they are drawn."""
    drawn = [_scope(scope, layout, identity) for scope in drawing.scopes if scope.key in layout.frames]
    drawn += [_link(link, layout, identity, state) for link in drawing.links]
    drawn += [_box(box, layout.spots[box.key], identity, state) for box in drawing.boxes]
    return [f'<g transform="translate({MARGIN:.0f} {MARGIN:.0f})">', *drawn, "</g>"]


def areas(drawing: Drawing, layout: Layout, state: States) -> list[Area | None]:
    """What each link and box covers, in the order of `elements`, with its margin; None where nothing is drawn."""
    covered: list[Area | None] = [layout.frames[scope.key] for scope in drawing.scopes if scope.key in layout.frames]
    for link in drawing.links:
        curve = layout.curves.get(link.key) or []
        points = [(x, y) for x, y in curve]
        key = link.key if link.kind == "back" else link.back
        if curve and key is not None and (label := layout.labels.get(link.key)) is not None:
            texts = [link.label, *(state[key].text.values() if key in state else ())]
            wide = max(text_width(line, SIZE["small"]) for text in texts for line in text.split("\n"))
            points += [(label.x - wide / 2, label.y - 14.0), (label.x + wide / 2, label.y + 14.0)]
        across, down = [x for x, _ in points], [y for _, y in points]
        covered.append((min(across), min(down), max(across), max(down)) if points else None)
    for box in drawing.boxes:
        spot = layout.spots[box.key]
        half, top = box.width / 2, spot.y - box.height / 2
        covered.append((spot.x - half, top, spot.x + half, top + box.height))
    beyond = -EDGE, -EDGE, EDGE, EDGE
    return [
        area and tuple(at + MARGIN + more for at, more in zip(area, beyond, strict=True))  # type: ignore[misc]
        for area in covered
    ]


def _scope(scope: Scope, layout: Layout, identity: str) -> str:
    left, top, right, bottom = layout.frames[scope.key]
    return (
        f'<g id="{identity}-{scope.key}" class="scope"><rect x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" '
        f'height="{_n(bottom - top)}" rx="9"/>'
        f'<text class="small" x="{_n(left + 9)}" y="{_n(top + 16)}">{escape(scope.title)}</text></g>'
    )


def note(position: int, line: str, layout: Layout) -> str:
    """A line of text below the picture; positions count from 0."""
    y = layout.height + 2 * MARGIN + 4 + (NOTE + 4) * (position + 1) - 8
    return f'<text class="small" x="{_n(MARGIN)}" y="{_n(y)}">{escape(line)}</text>'


def _open(identity: str, key: str, base: str, state: States) -> str:
    classes = state[key].classes if key in state else ""
    joined = f"{base} {classes}".strip()
    stands = f' data-state="{classes}"' if classes else ""
    return f'<g id="{identity}-{key}" class="{joined}" data-base="{base}"{stands}>'


def _text(identity: str, key: str, slot: str, style: str, x: float, y: float, text: str) -> str:
    return f'<text id="{identity}-{key}-{slot}" class="{style}" x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _box(box: Box, spot: Spot, identity: str, state: States) -> str:
    left, top = spot.x - box.width / 2, spot.y - box.height / 2
    parts = [_open(identity, box.key, f"node {box.kind}", state), f"<title>{escape(box.title)}</title>"]
    for position, (key, label) in reversed(list(enumerate(box.tabs))):  # each overlaps the one below it
        y = top + box.body + position * box.tab
        parts.append(
            f"{_open(identity, key, 'tab' if box.told else 'tab slim', state)}"
            f'<rect x="{_n(left + 6)}" y="{_n(y - 4)}" width="{_n(box.width - 12)}" height="{_n(box.tab + 3)}" rx="3"/>'
            f"{_label(identity, key, spot.x, y, label, left, box) if box.told else ''}</g>"
        )
    if box.kind == "fold":
        parts += [
            f'<rect class="pill" x="{_n(left + shift)}" y="{_n(top + shift)}" width="{_n(box.width)}" '
            f'height="{_n(box.body)}" rx="{_n(min(box.body / 2, 15))}"/>'
            for shift in (6, 3)
        ]
    style, radius = ("pill", min(box.body / 2, 15)) if box.is_pill else ("frame", 5)
    parts.append(
        f'<rect class="{style}" x="{_n(left)}" y="{_n(top)}" width="{_n(box.width)}" height="{_n(box.body)}" '
        f'rx="{_n(radius)}"/>'
    )
    if box.kind == "fold":  # shown if a click opens the fold
        x, middle = left + box.width - 11, top + box.body / 2
        parts.append(f'<path class="plus" d="M{_n(x - 4)} {_n(middle)}h8m-4 -4v8"/>')
    y = top + box.edge
    texts = state[box.key].text if box.key in state else {}
    for row in box.rows:
        if row.pictures:
            sides = ((row.layers, spot.x - row.width / 2), (row.beside, spot.x + row.width / 2))
            for layers, edge in sides:
                for layer in layers:
                    corner = edge if layers is row.layers else edge - layer.width
                    parts.append(f"{_open(identity, layer.key, 'grid', state)}{layer.markup(corner, y)}</g>")
            y += row.height
            continue
        baseline = y + row.height * 0.76
        text = row.cut(texts.get(row.slot, row.text))
        parts.append(_text(identity, box.key, row.slot, f"mid {row.style}", spot.x, baseline, text))
        y += row.height
    parts.append("</g>")
    return "".join(parts)


def _label(identity: str, key: str, x: float, y: float, label: str, left: float, box: Box) -> str:
    """The label of a tab, and the line through it that marks it as freed."""
    return (
        f"{_text(identity, key, 'label', 'mid', x, y + 10, label)}"
        f'<path class="strike" d="M{_n(left + 10)} {_n(y + 6.5)}H{_n(left + box.width - 10)}"/>'
    )


def _link(link: Link, layout: Layout, identity: str, state: States) -> str:
    curve = layout.curves.get(link.key)
    if not curve:
        return ""
    if link.kind == "share":
        return f"{_open(identity, link.key, 'share', state)}<path d={path(curve)}/></g>"
    if link.kind == "back":
        return _gradient(link.key, "back graph", curve, layout.labels.get(link.key), link, identity, state)
    parts = []
    lines = _beside(curve, -BESIDE) if link.back else curve
    parts.append(f"{_open(identity, link.key, 'forward', state)}<path d={path(shorten(lines))}/>{head(lines)}</g>")
    if link.back:
        other = _beside(curve, BESIDE)
        parts.append(_gradient(link.back, "back", other, layout.labels.get(link.key), link, identity, state))
    return "".join(parts)


def _gradient(
    key: str, base: str, curve: list[tuple[float, float]], label: Spot | None, link: Link, identity: str, state: States
) -> str:
    backwards = curve[::-1]
    parts = [f"{_open(identity, key, base, state)}<path d={path(shorten(backwards))}/>{head(backwards)}"]
    if label is not None:
        texts = state[key].text if key in state else {}
        count = link.label.count("\n") + 1
        # Graphviz keeps a label clear of the middle of a link, and its two lines lie beside that.
        aside = BESIDE if abs(curve[-1][1] - curve[0][1]) > abs(curve[-1][0] - curve[0][0]) else 0.0
        for position in range(count):
            slot = "label" if position == 0 else f"label{position + 1}"
            y = label.y + 14 * (position - (count - 1) / 2) + 4
            parts.append(_text(identity, key, slot, "mid grad", label.x + aside, y, texts.get(slot, "")))
    parts.append("</g>")
    return "".join(parts)


def path(points: list[tuple[float, float]]) -> str:
    """The `d` of a curve, in quotes."""
    first, *rest = points
    numbers = " ".join(f"{_n(x)} {_n(y)}" for x, y in rest)
    return f'"M{_n(first[0])} {_n(first[1])}C{numbers}"'


def _unit(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    x, y = end[0] - start[0], end[1] - start[1]
    length = math.hypot(x, y) or 1.0
    return x / length, y / length


def _direction_at_end(points: list[tuple[float, float]]) -> tuple[float, float]:
    end = points[-1]
    for point in reversed(points[:-1]):
        if math.hypot(end[0] - point[0], end[1] - point[1]) > 0.5:
            return _unit(point, end)
    return 1.0, 0.0


def shorten(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A curve that ends where its arrowhead starts."""
    x, y = _direction_at_end(points)
    end = points[-1]
    return [*points[:-1], (end[0] - x * HEAD * 0.8, end[1] - y * HEAD * 0.8)]


def head(points: list[tuple[float, float]]) -> str:
    """The arrowhead at the end of a curve."""
    # a separate path: a <marker> needs a url(#…) reference, which breaks when its <defs> scroll out of view
    x, y = _direction_at_end(points)
    end = points[-1]
    back = end[0] - x * HEAD, end[1] - y * HEAD
    side = HEAD * 0.42
    return (
        f'<path class="head" d="M{_n(end[0])} {_n(end[1])}L{_n(back[0] - y * side)} {_n(back[1] + x * side)}'
        f'L{_n(back[0] + y * side)} {_n(back[1] - x * side)}Z"/>'
    )


def _beside(points: list[tuple[float, float]], distance: float) -> list[tuple[float, float]]:
    moved = []
    last = len(points) - 1
    for position, point in enumerate(points):
        x, y = _unit(points[max(0, position - 1)], points[min(last, position + 1)])
        moved.append((point[0] - y * distance, point[1] + x * distance))
    return moved
