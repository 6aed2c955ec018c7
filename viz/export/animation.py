"""A recording as one animated SVG without a script, so it plays wherever an image is shown.

Each link and box occurs once for each of its looks, and CSS shows one of them at a time. Where the user prefers
reduced motion nothing moves, and the last step is shown.
"""

from __future__ import annotations

import re

from viz.picture import svg
from viz.picture import theme as themes
from viz.picture.layout import Layout
from viz.picture.shapes import Drawing
from viz.picture.svg import States

_NEEDED_BY_PATCHES = re.compile(r' (?:id|data-base|data-state)="[^"]*"')


def animated(
    drawing: Drawing,
    layout: Layout,
    identity: str,
    states: list[States],
    notes: list[list[str]],
    title: str,
    theme: str = "auto",
    seconds: float = 1.2,
) -> str:
    """An animated `<svg>`.

    Args:
        drawing: what is drawn.
        layout: the positions.
        identity: a prefix for its ids.
        states: the look of every element, step by step.
        notes: the lines below the picture, step by step.
        title: the title of the whole.
        theme: `"auto"`, `"light"` or `"dark"`.
        seconds: how long a step is shown; the last one is shown three times as long.
    """
    timeline = _Timeline(len(states), seconds)
    looks = [svg.elements(drawing, layout, identity, state) for state in states]
    body = [timeline.show([_NEEDED_BY_PATCHES.sub("", look) for look in frame]) for frame in zip(*looks, strict=True)]
    for position in range(max(map(len, notes))):
        lines = [note[position] if position < len(note) else "" for note in notes]
        body.append(timeline.show([svg.note(position, line, layout) for line in lines]))
    longest = [
        max((text for note in notes for text in note[at : at + 1]), key=len) for at in range(max(map(len, notes)))
    ]
    style = themes.css(identity, theme) + timeline.css(identity)
    return svg.sheet(identity, svg.canvas(layout, longest), "".join(body), title, " ".join(notes[-1]), style)


class _Timeline:
    """Which steps show what. Elements shown in the same steps share one animation."""

    def __init__(self, count: int, seconds: float) -> None:
        self.count = count
        self.length = seconds * (count + 2)
        self._share = 100.0 / (count + 2)  # the percentage of the animation that one step takes
        self._names: dict[tuple[bool, ...], str] = {}

    def show(self, looks: list[str]) -> str:
        """Markup that shows `looks[step]` at each step."""
        if all(look == looks[0] for look in looks):
            return looks[0]
        parts = []
        for look in dict.fromkeys(looks):
            when = tuple(shown == look for shown in looks)
            name = self._names.setdefault(when, f"k{len(self._names)}")
            parts.append(f'<g class="{name}">{look}</g>')
        return "".join(parts)

    def css(self, identity: str) -> str:
        """The animations. What the last step does not show is hidden until they run."""
        here = f"#{identity}"
        rest = [f"{here} .{name}{{visibility:hidden}}" for when, name in self._names.items() if not when[-1]]
        moving = [
            f"{here} .{name}{{animation:{identity}{name} {self.length:g}s step-end infinite}}"
            for name in self._names.values()
        ]
        keyframes = []
        for when, name in self._names.items():
            changes = [step for step in range(self.count) if step == 0 or when[step] != when[step - 1]]
            stops = [
                f"{step * self._share:.3f}%{{visibility:{'visible' if when[step] else 'hidden'}}}" for step in changes
            ]
            keyframes.append(f"@keyframes {identity}{name}{{{''.join(stops)}}}")
        return f"{''.join(rest)}@media(prefers-reduced-motion:no-preference){{{''.join(moving)}}}{''.join(keyframes)}"
