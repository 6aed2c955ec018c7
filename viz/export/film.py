"""A recording as a GIF. The first frame is drawn whole; of every later one only what changes, since drawing takes long."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from viz.picture import svg
from viz.picture import theme as themes
from viz.picture.layout import Layout
from viz.picture.shapes import Drawing
from viz.picture.svg import Area, State
from viz.progress import Bar

COLOURS = 64
LARGE = 600_000  # above this many pixels a picture is not scaled up, which would take a minute
FINEST = 100  # the least common step of a scale
Piece = tuple[Area, str]  # where it belongs, in pixels of the picture, and what is drawn there


def sharpest(size: tuple[float, float], scale: float) -> float:
    """The scale of a GIF unless one is given."""
    return scale if size[0] * size[1] <= LARGE else 1.0


def grain(scale: float) -> int:
    """The pixels of a picture after which a pixel of the scaled one begins at its edge."""
    return Fraction(scale).limit_denominator(FINEST).denominator


def changes(
    drawing: Drawing,
    layout: Layout,
    states: Sequence[dict[str, State]],
    notes: Sequence[list[str]],
    theme: str,
    step: int = 1,
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
    frames = []
    for state, lines in zip(states, notes, strict=True):
        looks = svg.elements(drawing, layout, identity, state)
        areas = [None, *svg.areas(drawing, layout, state), None]
        text = "".join(svg.note(number, line, layout) for number, line in enumerate(lines))
        below = (0.0, layout.height + svg.MARGIN, width, height)
        frames.append(([*looks, text], [*areas, below]))
    made: list[list[Piece]] = []
    for number, (looks, areas) in enumerate(frames):
        if number == 0:
            regions: list[Area] = [(0.0, 0.0, width, height)]
        else:
            before = zip(*frames[number - 1], strict=True)
            changed = [
                area
                for (old, was), look, now in zip(before, looks, areas, strict=True)
                if old != look
                for area in (was, now)
                if area is not None
            ]
            regions = _joined([_snapped(area, (width, height), step) for area in changed])
        made.append([(region, _drawn(looks, areas, region, (width, height), identity, style)) for region in regions])
    return made


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
    """The areas; those that overlap as one."""
    found: list[Area] = []
    for one in areas:
        area = one
        while (other := next((each for each in found if _meet(each, area)), None)) is not None:
            found.remove(other)
            area = (*map(min, area[:2], other[:2]), *map(max, area[2:], other[2:]))  # type: ignore[assignment]
        found.append(area)
    return found


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
    palette = _palette(image, [one for pieces in drawn for _, one in pieces])
    shown = drawn[0][0][1].quantize(palette=palette, dither=0)
    whole = [shown]
    for later in drawn[1:]:
        shown = shown.copy()
        for place, one in later:
            shown.paste(one.quantize(palette=palette, dither=0), place)
        whole.append(shown)
    durations = [int(seconds * 1000)] * (len(whole) - 1) + [int(seconds * 3000)]
    out = io.BytesIO()
    whole[0].save(out, "GIF", save_all=True, append_images=whole[1:], duration=durations, loop=0, optimize=True)
    return out.getvalue()


def _palette(image: Any, drawn: list[Any]) -> Any:
    """The colours that all frames share, from every third pixel of each piece."""
    parts = [one.resize((max(1, one.width // 3), max(1, one.height // 3)), image.Resampling.NEAREST) for one in drawn]
    sample = image.new("RGB", (max(one.width for one in parts), sum(one.height for one in parts)))
    top = 0
    for one in parts:
        sample.paste(one, (0, top))
        top += one.height
    paper = sample.getpixel((0, 0))
    made = sample.quantize(COLOURS)
    colours = made.getpalette()
    for place in range(0, len(colours), 3):  # make almost-white white, or the background would be grey
        if all(abs(one - other) < 8 for one, other in zip(colours[place : place + 3], paper, strict=True)):
            colours[place : place + 3] = paper
    made.putpalette(colours)
    return made
