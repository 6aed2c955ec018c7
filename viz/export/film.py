"""A recording as a GIF. Drawing takes long: the first frame is drawn whole, each later one only where it changes."""

from __future__ import annotations

import importlib
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from viz.picture import svg
from viz.picture import theme as themes
from viz.picture.layout import Layout
from viz.picture.shapes import Drawing
from viz.picture.svg import Area, States
from viz.progress import Bar

COLOURS = 64
PIECE = 60.0  # pixels of a curve that are drawn anew together
ENOUGH, MOST = 1_200_000, 3_000_000  # pixels of a GIF that is scaled up, and of any
SMALLER = 1.5, 1.0, 0.75, 0.5, 0.25
FINEST = 100  # the least common step of a scale
Piece = tuple[Area, str]  # where it belongs, in pixels of the picture, and what is drawn there


def sharpest(size: tuple[float, float], scale: float) -> float:
    """The scale of a GIF unless one is given."""
    area = size[0] * size[1]
    fits = (factor for factor in (scale, *SMALLER) if area * factor * factor <= (ENOUGH if factor > 1 else MOST))
    return next(fits, SMALLER[-1])


def grain(scale: float) -> int:
    """The pixels of a picture after which a pixel of the scaled one begins at its edge."""
    return Fraction(scale).limit_denominator(FINEST).denominator


def changes(
    drawing: Drawing, layout: Layout, states: Sequence[States], notes: Sequence[list[str]], theme: str, step: int = 1
) -> list[list[Piece]]:
    """For each state what is new in the picture: all of it at first, then the areas that change.

    Args:
        drawing, layout: what is drawn, and where.
        states: the look of every element, frame by frame.
        notes: the lines below the picture, frame by frame.
        theme: `"light"` or `"dark"`.
        step: the edges of each area are multiples of this many pixels.
    """
    identity = "film"
    style = themes.css(identity, theme, plain=True)
    sizes = [svg.canvas(layout, lines) for lines in notes]
    width, height = (-(-round(max(each)) // step) * step for each in zip(*sizes, strict=True))
    paths = [_along(layout.curves[link.key]) if layout.curves.get(link.key) else [] for link in drawing.links]
    first = 1 + sum(scope.key in layout.frames for scope in drawing.scopes)  # the links come after the frames

    def covers(index: int, area: Area) -> list[Area]:
        """Where an element is: of a link its way, in short pieces, if it has no text beside it."""
        path = paths[index - first] if first <= index < first + len(paths) else []
        return path if path and drawing.links[index - first].key not in layout.labels else [area]

    frames = []
    for state, lines in zip(states, notes, strict=True):
        looks = svg.elements(drawing, layout, identity, state)
        areas = [None, *svg.areas(drawing, layout, state), None]
        text = "".join(svg.note(number, line, layout) for number, line in enumerate(lines))
        below = (0.0, layout.height + svg.MARGIN, width, height)
        frames.append(([*looks, text], [*areas, below]))
    drawn: list[list[Piece]] = []
    for number, (looks, areas) in enumerate(frames):
        if number == 0:
            regions: list[Area] = [(0.0, 0.0, width, height)]
        else:
            before = zip(*frames[number - 1], strict=True)
            changed = [
                area
                for index, ((old, was), look, now) in enumerate(zip(before, looks, areas, strict=True))
                if old != look
                for whole in (was, now)
                if whole is not None
                for area in covers(index, whole)
            ]
            regions = _joined([_snapped(area, (width, height), step) for area in changed])
        drawn.append([(region, _drawn(looks, areas, region, (width, height), identity, style)) for region in regions])
    return drawn


def parts(picture: str, areas: Iterable[Area], size: tuple[float, float], step: int) -> list[Piece]:
    """Areas of an SVG of this size, as pieces."""
    pieces = []
    for left, top, right, bottom in _joined(_snapped(area, size, step) for area in areas):
        wide, high = f"{right - left:.0f}", f"{bottom - top:.0f}"
        viewport = f'width="{wide}" height="{high}" viewBox="{left:.0f} {top:.0f} {wide} {high}"'
        pieces.append(
            (
                (left, top, right, bottom),
                re.sub(r'width="\d+" height="\d+" viewBox="[^"]*"', viewport, picture, count=1),
            )
        )
    return pieces


def _along(curve: Sequence[tuple[float, float]]) -> list[Area]:
    """Where a Bezier curve goes, in pieces of the picture."""
    points = [curve[0]]
    for at in range(0, len(curve) - 3, 3):
        corners = curve[at : at + 4]
        parts = max(2, round(sum(math.dist(one, other) for one, other in pairwise(corners)) / PIECE))
        for part in range(1, parts + 1):
            t = part / parts
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x, y = (sum(w * corner[axis] for w, corner in zip(weights, corners, strict=True)) for axis in (0, 1))
            points.append((x, y))
    beyond = svg.EDGE - svg.MARGIN, svg.EDGE + svg.MARGIN
    return [
        (min(a, c) - beyond[0], min(b, d) - beyond[0], max(a, c) + beyond[1], max(b, d) + beyond[1])
        for (a, b), (c, d) in pairwise(points)
    ]


def _drawn(
    looks: list[str], areas: list[Area | None], region: Area, size: tuple[float, float], identity: str, style: str
) -> str:
    """One area of a picture: the elements that reach into it."""
    body = "".join(
        look for look, area in zip(looks, areas, strict=True) if look and (area is None or _meet(area, region))
    )
    return svg.sheet(identity, size, body, "", "", style, region)


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _snapped(area: Area, size: tuple[float, float], step: int) -> Area:
    low = [max(0.0, edge // step * step) for edge in area[:2]]
    high = [min(most, -(-edge // step) * step) for edge, most in zip(area[2:], size, strict=True)]
    return low[0], low[1], high[0], high[1]


def _joined(areas: Iterable[Area]) -> list[Area]:
    """The areas; two as one where that is not more to draw."""
    joined: list[Area] = []
    for given in areas:
        area = given
        while (
            other := next((each for each in joined if _size(_both(each, area)) <= _size(each) + _size(area)), None)
        ) is not None:
            joined.remove(other)
            area = _both(area, other)
        joined.append(area)
    return joined


def _both(one: Area, other: Area) -> Area:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _size(area: Area) -> float:
    return (area[2] - area[0]) * (area[3] - area[1])


def gif(frames: Sequence[list[Piece]], draw: Callable[[str], bytes], scale: float, seconds: float = 1.2) -> bytes:
    """The frames, each what changes since the one before, as one animation; the last stays three times as long.

    `draw` turns a piece into a PNG at the scale.
    """
    image = importlib.import_module("PIL.Image")
    bar = Bar(len(frames), "frames")
    drawn: list[list[tuple[tuple[int, int], Any]]] = []
    for number, pieces in enumerate(frames):
        drawn.append(
            [
                ((round(left * scale), round(top * scale)), image.open(io.BytesIO(draw(piece))).convert("RGB"))
                for (left, top, _, _), piece in pieces
            ]
        )
        bar.show(number + 1)
    bar.close()
    palette = _palette(image, [piece for pieces in drawn for _, piece in pieces])
    shown = drawn[0][0][1].quantize(palette=palette, dither=0)
    whole = [shown]
    for later in drawn[1:]:
        shown = shown.copy()
        for corner, piece in later:
            shown.paste(piece.quantize(palette=palette, dither=0), corner)
        whole.append(shown)
    durations = [int(seconds * 1000)] * (len(whole) - 1) + [int(seconds * 3000)]
    out = io.BytesIO()
    whole[0].save(out, "GIF", save_all=True, append_images=whole[1:], duration=durations, loop=0, optimize=True)
    return out.getvalue()


def _palette(image: Any, drawn: list[Any]) -> Any:
    """The colours that all frames share, from every third pixel of each piece."""
    parts = [
        picture.resize((max(1, picture.width // 3), max(1, picture.height // 3)), image.Resampling.NEAREST)
        for picture in drawn
    ]
    sample = image.new("RGB", (max(part.width for part in parts), sum(part.height for part in parts)))
    top = 0
    for part in parts:
        sample.paste(part, (0, top))
        top += part.height
    paper = sample.getpixel((0, 0))
    reduced = sample.quantize(COLOURS)
    colours = reduced.getpalette()
    for index in range(0, len(colours), 3):  # make almost-white white, or the background would be grey
        if all(abs(one - other) < 8 for one, other in zip(colours[index : index + 3], paper, strict=True)):
            colours[index : index + 3] = paper
    reduced.putpalette(colours)
    return reduced
