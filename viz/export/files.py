"""Write pictures and recordings as svg, png, pdf, gif, html, dot or json."""

from __future__ import annotations

import base64
import importlib
import json
import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from viz.draw import NetworkPicture, Picture
from viz.export import bundle, film
from viz.export.animation import animated
from viz.export.letters import drawable
from viz.frames import scene
from viz.frames.director import VIEWS, Director
from viz.frames.levels import packed
from viz.frames.network import Stills
from viz.frames.stage import translated
from viz.picture import dot, shapes, svg
from viz.picture.boxes import has_modules
from viz.picture.layout import Layout
from viz.picture.svg import State, States
from viz.recording.recording import Recording
from viz.telling.numbers import all_sheets

NEEDS = {"resvg_py": "resvg-py", "fpdf": "fpdf2", "PIL": "pillow"}
PICTURE_FORMATS = ("svg", "png", "pdf", "html", "dot")
RECORDING_FORMATS = ("json", "html", "svg", "png", "pdf", "gif", "dot")
SCALE = 2.0  # pixels of a PNG or GIF for each pixel of the picture
LONGEST_SIDE = 4000  # pixels of a PNG, unless a scale is given


def save_picture(picture: Picture, path: str | os.PathLike[str], scale: float | None = None) -> Path:
    """Write the picture in the format given by the suffix of `path`: svg, dot, png, pdf, html.

    Raises:
        ValueError: pictures have no format with this suffix.
        ModuleNotFoundError: the format needs a package that is missing; the message names it.
    """
    target = Path(path)
    form = _form(target, PICTURE_FORMATS)
    theme = "light" if picture.theme == "auto" else picture.theme
    makers: dict[str, Callable[[], str | bytes]] = {
        "svg": lambda: _standalone(picture.drawn(picture.theme)),
        "dot": lambda: picture.source,
        "html": lambda: page(picture.title, figure(picture)),
        "png": lambda: png(picture.drawn(theme, plain=True), scale),
        "pdf": lambda: pdf(picture.drawn(theme, plain=True)),
    }
    return write(target, makers[form]())


def save_recording(
    recording: Recording,
    path: str | os.PathLike[str],
    step: int | None = None,
    view: str | None = None,
    theme: str = "auto",
    scale: float | None = None,
    seconds: float = 1.2,
    animate: bool = False,
) -> Path:
    """Write the recording: all of it as json, html (plays without a kernel), gif or moving svg, one step as a picture.

    Args:
        recording: what to write.
        path: its suffix gives the format.
        step: the step that a picture shows; by default the last one.
        view: `"modules"` (the default of a still or a GIF of a program with modules), `"values"` or `"grad_fn"`.
        theme: `"auto"`, `"light"` or `"dark"`. Formats that cannot follow a page default to light.
        scale: pixels of a PNG or GIF per pixel of the picture; by default 2, and 1 or less for a large GIF.
        seconds: how long a GIF or an animated SVG shows each step.
        animate: write an SVG that moves without a script; it stands still for users who prefer reduced motion.

    Raises:
        ValueError: no such format or view, or a format that cannot move.
        IndexError: no such step.
        ModuleNotFoundError: the format needs a package that is missing; the message names it.
    """
    target = Path(path)
    form = _form(target, RECORDING_FORMATS)
    if view not in (None, scene.MODULES, *VIEWS):
        known = ", ".join(map(repr, (scene.MODULES, *VIEWS)))
        raise ValueError(f"view must be one of {known}, not {view!r}")
    if view == scene.MODULES and not has_modules(recording.graph):
        raise ValueError("view='modules' is for a program that runs modules; this one runs none")
    if animate and form != "svg":
        raise ValueError(f"animate=True is for .svg, not .{form}; a .gif and the player in .html move by themselves")
    if form == "json":
        return write(target, recording.to_json())
    if form == "html":
        page = {**scene.scene(recording, theme=theme), "sheets": packed(all_sheets(recording))}
        return write(target, player_page(page))
    still = form in ("svg", "png", "pdf", "gif") and not animate
    if view == scene.MODULES or (view is None and still and has_modules(recording.graph)):
        if not still:
            raise ValueError("view='modules' is for .svg, .png, .pdf and .gif, and for .html, where it opens by clicks")
        frames: Any = Stills(Director(recording))
    else:
        frames = Frames(recording, view or VIEWS[0])
    fixed = "light" if theme == "auto" else theme
    which = frames.count - 1 if step is None else step
    makers: dict[str, Callable[[], str | bytes]] = {
        "svg": lambda: _standalone(frames.animated(theme, seconds) if animate else frames.svg(which, theme)),
        "dot": lambda: frames.dot(which, theme),
        "png": lambda: png(frames.svg(which, fixed, plain=True), scale),
        "pdf": lambda: pdf(frames.svg(which, fixed, plain=True)),
        "gif": lambda: _film(frames, fixed, scale, seconds),
    }
    return write(target, makers[form]())


class Frames:
    """Draws any step of a recording as a picture, with a single layout."""

    def __init__(self, recording: Recording, view: str) -> None:
        if view not in VIEWS:
            known = " or ".join(map(repr, VIEWS))
            raise ValueError(f"view must be {known} here, not {view!r}; recording.save(path) draws modules")
        director = Director(recording)
        stage = director.stages[view]
        self.count = len(director.steps)
        self._director = director
        self._first = stage.first
        self._drawing = shapes.drawing(recording.graph, view, stage.longest, director.layers)
        self._all = stage.patches
        self._patches = [translated(patch, self._drawing) for patch in stage.patches]
        self._layout: Layout = scene.arrange(self._drawing)
        self._view = view
        self._longest = stage.longest
        self._identity = scene.new_identity()

    def state(self, step: int, patches: list[dict[str, dict[str, Any]]] | None = None) -> States:
        """The look of every element at a step: with `patches`, also of those that this picture does not draw."""
        if not -self.count <= step < self.count:
            raise IndexError(f"step must be from 0 to {self.count - 1}, not {step}")
        state = {key: State(drawn.classes, dict(drawn.text)) for key, drawn in self._first.items()}
        for patch in (patches or self._patches)[1 : step % self.count + 1]:
            for key, change in patch.items():
                element = state.setdefault(key, State())
                element.classes = change.get("class", element.classes)
                element.text.update(change.get("text", {}))
        return state

    def picture(self, step: int | None, theme: str) -> Picture:
        """A step as a picture."""
        which = self.count - 1 if step is None else step
        state = self.state(which) | self.state(which, self._all)
        about = self._director.steps[which]
        layers = self._director.layers
        made = Picture(self._director.graph, self._view, theme, about.title, state, self._longest, layers)
        made.caption = f"{about.title}. {about.sentence}"
        return made

    def svg(self, step: int, theme: str = "auto", plain: bool = False) -> str:
        """A step as SVG, with its title and sentence below."""
        state = self.state(step)
        about = self._director.steps[step]
        notes = _wrapped(f"{about.title}. {about.sentence}", self._layout.width)
        head = about.title, about.sentence
        return svg.write(self._drawing, self._layout, self._identity, state, *head, theme, notes, plain)

    def changes(self, theme: str, step: int) -> list[list[film.Piece]]:
        """What each step changes in the picture, in areas whose edges are multiples of `step` pixels."""
        states = [self.state(number) for number in range(self.count)]
        notes = [_wrapped(f"{step.title}. {step.sentence}", self._layout.width) for step in self._director.steps]
        return film.changes(self._drawing, self._layout, states, notes, theme, step)

    def animated(self, theme: str = "auto", seconds: float = 1.2) -> str:
        """All steps as one animated SVG."""
        about = [
            f"{number} of {self.count}. {step.title}. {step.sentence}"
            for number, step in enumerate(self._director.steps, 1)
        ]
        notes = [_wrapped(text, self._layout.width) for text in about]
        states = [self.state(step) for step in range(self.count)]
        title = f"{self.count} steps on {self._director.recording.engine}"
        return animated(self._drawing, self._layout, self._identity, states, notes, title, theme, seconds)

    def dot(self, step: int, theme: str = "auto") -> str:
        """A step as DOT."""
        return dot.source(self._drawing, self.state(step), self._layout.direction, theme)


def _film(frames: Frames | Stills, theme: str, scale: float | None, seconds: float) -> bytes:
    _package("PIL", "gif")
    _package("resvg_py", "gif")
    size = _size(frames.svg(frames.count - 1, theme, plain=True))
    scale = scale or film.sharpest(size, SCALE)
    if isinstance(frames, Frames):
        changed = frames.changes(theme, film.grain(scale))
    else:  # of equal pictures one after the other the first is drawn
        pictures = [frames.svg(step, theme, plain=True) for step in range(frames.count)]
        drawn = [picture.partition("</desc>")[2] for picture in pictures]
        changed = [
            (
                []
                if drawn[number] == drawn[number - 1]
                else film.parts(picture, frames.areas(number), size, film.grain(scale))
            )
            if number
            else [((0.0, 0.0, *size), picture)]
            for number, picture in enumerate(pictures)
        ]
    return film.gif(changed, lambda piece: png(piece, scale), scale, seconds)


def _size(picture: str) -> tuple[float, float]:
    width, height = (float(side) for side in re.findall(r'(?:width|height)="(\d+)"', picture)[:2])
    return width, height


def _wrapped(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, max(40, int(width / 6.6)))[:4]


def _form(path: Path, known: tuple[str, ...]) -> str:
    form = path.suffix.lower().lstrip(".")
    if form not in known:
        raise ValueError(f"{path.name!r}: the suffix must be one of {', '.join('.' + suffix for suffix in known)}")
    return form


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, text as UTF-8; returns its path."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_bytes(content)
    return path


def _standalone(text: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _package(name: str, form: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ModuleNotFoundError(
            f"No module named {name!r}. Saving as .{form} needs it: pip install {NEEDS[name]}", name=name
        ) from None


def png(picture: str, scale: float | None = None) -> bytes:
    """A plain SVG as PNG, drawn with our own fonts, so that it looks the same everywhere.

    Without a `scale` it is twice as large as the picture, but no side is longer than `LONGEST_SIDE`.
    """
    resvg = _package("resvg_py", "png")
    if scale is None:
        sides = [float(side) for side in re.findall(r'(?:width|height)="([\d.]+)"', picture)[:2]]
        scale = min(SCALE, LONGEST_SIDE / max(*sides, 1.0))
    picture, fonts = drawable(with_used_styles(picture))
    return bytes(resvg.svg_to_bytes(svg_string=picture, zoom=scale, skip_system_fonts=True, font_files=fonts))


def with_used_styles(picture: str) -> str:
    """The picture without those rules of its style sheets that need a class which none of its elements has."""
    there = {name for names in re.findall(r'class="([^"]*)"', picture) for name in names.split()}

    def kept(rule: re.Match[str]) -> str:
        selectors = re.sub(r":not\([^)]*\)", "", rule[1]).split(",")
        return (
            rule[0] if any(there.issuperset(re.findall(r"\.([a-z][\w-]*)", selector)) for selector in selectors) else ""
        )

    return re.sub(
        r"<style>.*?</style>", lambda sheet: re.sub(r"([^{}]+)\{[^{}]*\}", kept, sheet[0]), picture, flags=re.DOTALL
    )


def pdf(picture: str) -> bytes:
    """A plain SVG as PDF: lines and text, not pixels."""
    _package("fpdf", "pdf")
    from viz.export.pdf import draw

    return draw(*drawable(picture))


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """One self-contained HTML page: no network, no kernel."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{svg.escape(title)}</title>\n<style>{_PAGE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{script}</body>\n</html>\n"
    )


_PAGE = (
    ":root{color-scheme:light dark}body{margin:0 auto;max-width:1180px;padding:16px;font-family:system-ui,sans-serif}"
    "figure{margin:0}"
)


def figure(picture: Picture) -> str:
    """HTML that shows a picture inline. One of modules opens and closes by clicks, and is an image without scripts."""
    if not isinstance(picture, NetworkPicture):
        return f"<figure>{picture.svg}</figure>"
    data = picture.data
    still = base64.b64encode(data["svg"].encode()).decode()
    return (
        f"<style>{bundle.style('network.js')}</style>"
        f'<div class="tgv tgv-network"><img alt="{svg.escape(picture.description)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{still}"><script type="application/json">{embedded(data)}</script></div>'
        f"<script>(()=>{{const host=document.currentScript.previousElementSibling;\n"
        f"if(!globalThis.vizNetwork){{{inlined(bundle.script('network.js'))}}}\n"
        "globalThis.vizNetwork(host,JSON.parse(host.lastElementChild.textContent))})()</script>"
    )


def player_page(made: dict[str, Any]) -> str:
    """A scene as a page that plays it, with the notebook's player inlined."""
    last = len(made["steps"]) - 1
    still = scene.frame(made, next(iter(made["views"])), last)
    body = (
        f'<main id="player"><noscript><p>{svg.escape(made["steps"][last]["sentence"])}</p></noscript></main>\n'
        f"<noscript><figure>{still}</figure></noscript>"
    )
    mount = (
        'const scene = JSON.parse(document.getElementById("scene").textContent);\n'
        'mountPlayer(document.getElementById("player"), scene, { keys: document });\n'
    )
    return page(made["title"], body, bundle.style("player.js"), script("scene", made, "player.js", mount))


def script(identity: str, data: Any, module: str, mount: str) -> str:
    """Data in an element of this id, one of our modules, and the lines that let it show the data."""
    return (
        f'<script type="application/json" id="{identity}">{embedded(data)}</script>\n'
        f'<script type="module">\n{inlined(bundle.script(module))}\n{mount}</script>\n'
    )


def embedded(data: Any) -> str:
    """JSON that cannot leave its `<script>` element, whatever texts it contains."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def inlined(module: str) -> str:
    """JavaScript that cannot leave its `<script>` element."""
    return re.sub(r"</(?=script)", r"<\\/", module, flags=re.IGNORECASE)
