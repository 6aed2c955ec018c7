"""`draw`: the picture of the graph behind existing tensors. It runs nothing and changes nothing."""

from __future__ import annotations

import base64
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from viz import engines
from viz.engines import Engine
from viz.frames import network, scene
from viz.frames.director import VIEWS
from viz.frames.scene import MODULES
from viz.picture import dot, shapes, svg
from viz.picture import grid as grids
from viz.picture.fold import Folding, fold, places_of
from viz.picture.layout import Layout
from viz.picture.network import Network, svg_of
from viz.picture.shapes import Drawing
from viz.picture.svg import State
from viz.recording import notation
from viz.recording.collection import no_collection
from viz.recording.graph import Graph
from viz.recording.reader import Reader, about_module, tensors_in

ACCEPTED = (
    "viz.draw takes a tensor of PyTorch or tinygrad_edu, a list, tuple or dict of tensors, or an nn.Module; got {}. A "
    "graph belongs to a tensor: pass the result of your computation, such as the loss"
)


@dataclass
class Picture:
    """One drawn graph. It shows itself in Jupyter, IPython and VS Code, and can be saved in many formats.

    >>> import torch, viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> viz.draw(w * 3).source.startswith("digraph")
    True
    """

    graph: Graph
    view: str = "values"
    theme: str = "auto"
    title: str = "Graph"
    state: dict[str, State] = field(default_factory=dict)
    rooms: dict[str, dict[str, str]] = field(default_factory=dict)
    layers: dict[str, list[grids.Grid]] = field(default_factory=dict)
    caption: str = ""
    identity: str = field(default_factory=scene.new_identity)
    folding: Folding | None = None

    save: ClassVar[Callable[..., Path]]  # bound by `viz/show.py`

    @cached_property
    def _drawing(self) -> Drawing:
        return shapes.drawing(self.graph, self.view, self.rooms, self.layers, self.folding)

    @cached_property
    def layout(self) -> Layout:
        """The positions of all parts of the picture."""
        return scene.arrange(self._drawing)

    @cached_property
    def svg(self) -> str:
        """The picture as one `<svg>` element."""
        return self.drawn(self.theme)

    def drawn(self, theme: str, plain: bool = False) -> str:
        """The picture as SVG in another theme: `"auto"`, `"light"` or `"dark"`; `plain` as in `theme.css`."""
        about = self.title, self.description, theme, self.notes, plain
        return svg.write(self._drawing, self.layout, self.identity, self.state, *about)

    @property
    def source(self) -> str:
        """The picture as DOT, which any Graphviz draws."""
        direction = "LR" if scene.fits_across(self._drawing) else "TB"
        return dot.source(self._drawing, self.state, direction, self.theme)

    @property
    def description(self) -> str:
        """The picture in a few sentences, for readers who cannot see it."""
        recorded = sum(op.recorded for op in self.graph.ops.values())
        counts = f"{len(self.graph.values)} values and {recorded} recorded ops."
        steps = [self._line(key) for key in list(self.graph.ops)[:40]]
        return " ".join([self.caption, counts, *steps, self.graph.note]).strip()

    @property
    def notes(self) -> list[str]:
        """The notes below the picture: why it shows no more, or how it was laid out."""
        said = " ".join(filter(None, (self.graph.note, _folded(self._drawing, self.graph), self.layout.note)))
        said = " ".join(filter(None, (self.caption, said)))
        return textwrap.wrap(said, max(60, int(self.layout.width / 6.6))) if said else []

    def _line(self, key: str) -> str:
        op = self.graph.ops[key]
        inputs = " and ".join(self.graph.values[one].title for one in op.inputs if one is not None)
        outputs = " and ".join(self.graph.values[one].title for one in op.outputs)
        return f"{op.name}: {inputs or 'no known input'} to {outputs or 'nothing'}."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": as_html(self.svg, self.description), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.title}: {self.description}"


@dataclass
class NetworkPicture(Picture):
    """A network drawn by its modules, as nested boxes; in a notebook a click opens a box in place."""

    @cached_property
    def _network(self) -> tuple[dict[str, Any], dict[str, tuple[str, str]], list[str] | None, Network]:
        return network.live(self.graph)

    def drawn(self, theme: str, plain: bool = False) -> str:
        """The picture as SVG, with boxes open as far as they fit on a screen."""
        _, marks, ends, whole = self._network
        about = self.title, self.description, theme, plain
        return svg_of(whole, whole.first, self.identity, marks, *about, legend=ends)

    @property
    def data(self) -> dict[str, Any]:
        """The data that a stage needs to open and close the boxes."""
        return {"svg": self.drawn(self.theme), "id": self.identity, "network": self._network[0]}

    @property
    def description(self) -> str:
        """The picture in a few sentences, for readers who cannot see it."""
        return f"{len(self.graph.ops)} ops. {network.described(self._network[3])}"


def _know_modules(graph: Graph, module: Any) -> bool:
    """Assign each op to its module, by the names of parameters; return whether there is more than one module."""
    if module is not None:
        graph.modules = {path: about_module(one) for path, one in module.named_modules() if path}
    ops = list(graph.ops.values())
    places = places_of(graph, ops) if ops else None
    if places is None or not any(places):
        return False
    for op, place in zip(ops, places, strict=True):
        op.module = ".".join(place)
    return True


def _folded(drawing: Drawing, graph: Graph) -> str:
    count = sum(box.kind == "fold" for box in drawing.boxes)
    return f"{len(graph.ops):,} ops, folded into {len(drawing.boxes)} boxes so that you can read them." if count else ""


def as_html(picture: str, description: str) -> str:
    """HTML that shows an SVG inline where scripts run, and as an image where they are removed.

    GitHub, and untrusted notebooks, strip `<svg>` but leave the words in it; an `<img>` is shown everywhere. On a trusted
    page a script replaces the image by the SVG itself, so that it follows the page's theme.
    """
    data = base64.b64encode(picture.encode()).decode()
    return (
        f'<div><img alt="{svg.escape(description)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
        "<script>(()=>{const i=document.currentScript.previousElementSibling;"
        "const b=Uint8Array.from(atob(i.src.split(',')[1]),c=>c.charCodeAt(0));"
        "i.outerHTML=new TextDecoder().decode(b)})()</script></div>"
    )


def draw(
    thing: Any,
    *,
    names: dict[str, Any] | None = None,
    module: Any = None,
    view: str | None = None,
    theme: str = "auto",
) -> Picture:
    """Draw the graph behind a tensor of PyTorch or `tinygrad_edu`, as it is now, without running anything.

    Args:
        thing: a tensor, a list, tuple or dict of tensors, or a module (its parameters).
        names: name -> tensor, for tensors that have no variable in the caller. module: a module whose parameters give
        the names. view: `"modules"` for nested boxes that a click opens (the default with `module`), `"values"` for
        variables and ops, `"grad_fn"` for PyTorch's own nodes. theme: `"auto"` follows the page, `"light"` and `"dark"`
        do not.

    Raises:
        TypeError: `thing` holds no tensor.
        ValueError: no such view or theme.

    >>> import torch, viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> viz.draw(w * 3).graph.roots
    ['v1']
    """
    if view not in (None, MODULES, *VIEWS):
        raise ValueError(f"view must be one of {', '.join(map(repr, (MODULES, *VIEWS)))}, not {view!r}")
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f"theme must be 'auto', 'light' or 'dark', not {theme!r}")
    engine, roots = _roots(thing)
    reader = Reader(engine, keep=True, lazy=True)
    with engine.quietly(), no_collection():
        for name, tensor in roots.items():
            key = reader.value(tensor)
            reader.graph.roots.append(key)
            if name:
                reader.bind(name, tensor)
        _name(reader, names or {}, module, sys._getframe(1))
        by_module = (view == MODULES or (view is None and module is not None)) and _know_modules(reader.graph, module)
        folding = Folding() if by_module else fold(reader.graph)
        roots_alone = set(reader.graph.roots)
        reader.copy_those(lambda key: key in roots_alone if by_module else key not in folding.hidden)
        _read_gradients(reader, folding.hidden)
    graph = reader.graph
    graph.note = _note(graph)
    notation.name_values(graph)
    if by_module:
        return NetworkPicture(graph, MODULES, theme, _title(graph))
    state, rooms, layers = _final_state(graph, folding)
    return Picture(
        graph, view if view in VIEWS else VIEWS[0], theme, _title(graph), state, rooms, layers, folding=folding
    )


def _roots(thing: Any) -> tuple[Engine, dict[str, Any]]:
    engine = engines.of(thing)
    if engine is not None:
        named = {name.lstrip("."): tensor for name, tensor in tensors_in(thing, engine)}
        if named:
            return engine, named
    items = list(thing.items()) if isinstance(thing, dict) else list(enumerate(thing)) if _is_list(thing) else []
    found: dict[str, Any] = {}
    for position, (key, item) in enumerate(items):
        other = engines.of(item)
        if other is None or not other.is_tensor(item):
            raise TypeError(ACCEPTED.format(f"a {type(thing).__name__} whose item {key!r} is a {type(item).__name__}"))
        if engine is not None and other is not engine:
            raise TypeError(ACCEPTED.format("tensors of both engines in one call"))
        engine = other
        found[str(key) if isinstance(thing, dict) else f"{'':{position}}"] = item
    if engine is None or not found:
        raise TypeError(ACCEPTED.format(f"a {type(thing).__name__}"))
    return engine, found


def _is_list(thing: Any) -> bool:
    return isinstance(thing, (list, tuple))


def _name(reader: Reader, names: dict[str, Any], module: Any, frame: Any) -> None:
    given = list(names.items())
    if module is not None:
        given += list(module.named_parameters(remove_duplicate=False))
    for name, tensor in given:
        if reader.engine.is_tensor(tensor) and reader.has(tensor):
            reader.bind(name, tensor)
    for scope in (frame.f_locals, frame.f_globals):
        for name, thing in list(scope.items()):
            if name.startswith("_"):
                continue
            for path, tensor in tensors_in(thing, reader.engine):
                if reader.has(tensor):
                    reader.bind(name + path, tensor)


def _read_gradients(reader: Reader, hidden: dict[str, str]) -> None:
    for tensor, key in reader.seen():
        value = reader.graph.values[key]
        if (
            key not in hidden
            and value.requires_grad
            and (value.kind == "leaf" or value.retains_grad)
            and tensor.grad is not None
        ):
            value.grad = reader.copy(tensor.grad)


def _note(graph: Graph) -> str:
    if graph.ops or len(graph.roots) != 1:
        return ""
    root = graph.values[graph.roots[0]]
    if root.requires_grad:
        return "This is a leaf: it was not computed from anything that requires grad, so there is nothing behind it."
    return (
        "There is no more to draw: this tensor requires no grad, so no graph was recorded. Either nothing it was "
        "computed from requires grad, or it was computed under no_grad, or it was detached."
    )


def _title(graph: Graph) -> str:
    names = [graph.values[key].title for key in graph.roots]
    return f"Graph behind {', '.join(names[:4])}{', …' if len(names) > 4 else ''}"


def _final_state(
    graph: Graph, folding: Folding
) -> tuple[dict[str, State], dict[str, dict[str, str]], dict[str, list[grids.Grid]]]:
    layers: dict[str, list[grids.Grid]] = {}
    state: dict[str, State] = {}
    rooms: dict[str, dict[str, str]] = {}
    for value in graph.values.values():
        if value.key in folding.hidden:
            continue
        text = {"value": grids.words(value.array)}
        state[f"{value.key}x"] = State("on")
        drawn = grids.grid(f"{value.key}d0", value.grad)
        if drawn is not None:
            layers[value.key] = [drawn]
            state[drawn.key] = State("on")
        if value.kind == "leaf":
            text["grad"] = "grad: none yet" if value.grad is None else f"grad {notation.brief(value.grad)}"
            text["short"] = "grad: none" if value.grad is None else f"grad {notation.short(value.grad)}"
        elif value.grad is not None:
            text["short"] = f"grad {notation.short(value.grad)}"
            text["grad"], text["note"] = f"grad {notation.brief(value.grad)}", "retained"
        state[value.key] = State("", text)
        rooms[value.key] = text
    for op in graph.ops.values():
        for position, saved in enumerate(op.saved if op.key not in folding.unit else ()):
            state[f"{op.key}s{position}"] = State("freed" if saved.state == "freed" else "")
    return state, rooms, layers
