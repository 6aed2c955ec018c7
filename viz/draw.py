"""`draw`: the picture of a model that is run once, or of the graph behind existing tensors, which runs nothing."""

from __future__ import annotations

import base64
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from viz import engines
from viz.engines import Engine
from viz.frames import network, scene
from viz.frames.director import VIEWS
from viz.frames.scene import MODULES
from viz.picture import dot, shapes, svg
from viz.picture import grid as grids
from viz.picture.fit import Fitter, Room
from viz.picture.fold import Folding, fold, places_of
from viz.picture.layout import Layout
from viz.picture.nested import Network
from viz.picture.network import CELL, svg_of
from viz.picture.shapes import FULL, Detail, Drawing
from viz.picture.svg import State, States
from viz.recording import calls as running
from viz.recording import notation, own
from viz.recording.calls import Call, Run
from viz.recording.collection import no_collection
from viz.recording.graph import Graph
from viz.recording.mathematics import readable
from viz.recording.reader import Reader, about_module, tensors_in

NOTHING = object()  # no input was given
HEIGHT = 600.0  # pixels of a picture in a notebook on a laptop, with its caption
SHORTEST = 60  # characters of a line of the caption, at least
PARAMETERS_ALONE = (
    "These are the model's parameters: what it computes is known when it runs. viz.draw(model, x) runs it once and "
    "draws it; loss=… adds gradients."
)
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
    state: States = field(default_factory=dict)
    longest: dict[str, dict[str, str]] = field(default_factory=dict)
    layers: dict[str, list[grids.Grid]] = field(default_factory=dict)
    caption: str = ""
    identity: str = field(default_factory=scene.new_identity)
    folding: Folding | None = None
    heading: str = ""  # the title, if one was asked for: it is drawn above the picture
    width: float = CELL[0]  # pixels of the place that shows it

    save: ClassVar[Callable[..., Path]]  # bound by `viz/show.py`

    def _drawn(self, folding: Folding | None, detail: Detail = FULL) -> Drawing:
        return shapes.drawing(self.graph, self.view, self.longest, self.layers, folding, detail=detail)

    @cached_property
    def _drawing(self) -> Drawing:
        return self._drawn(self.folding)

    @cached_property
    def layout(self) -> Layout:
        """The positions of all parts of the picture for a file: it has every detail, and the paper that it needs."""
        return scene.arrange(self._drawing)

    @cached_property
    def svg(self) -> str:
        """The picture for a notebook as one `<svg>` element: as much of it as is whole in sight there and readable."""
        height = HEIGHT - (svg.NOTE + 4) * (len(self.caption) // SHORTEST + 1)
        placed = Fitter(self.graph, self._drawn, self.folding).fit(Room(self.width, height))
        return self._written(placed.drawing, placed.layout, self.theme)

    def drawn(self, theme: str, plain: bool = False) -> str:
        """The picture for a file, as SVG in a theme: `"auto"`, `"light"` or `"dark"`; `plain` as in `theme.css`."""
        return self._written(self._drawing, self.layout, theme, plain)

    def _written(self, drawing: Drawing, layout: Layout, theme: str, plain: bool = False) -> str:
        said = " ".join(filter(None, (self.caption, self.graph.note, _folded(drawing, self.graph), layout.note)))
        notes = textwrap.wrap(said, max(SHORTEST, int(layout.width / 6.6))) if said else []
        about = self.title, self.description, theme, notes, plain
        return svg.write(drawing, layout, self.identity, self.state, *about, heading=self.heading)

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

    def _line(self, key: str) -> str:
        op = self.graph.ops[key]
        inputs = " and ".join(self.graph.values[source].title for source in op.inputs if source is not None)
        outputs = " and ".join(self.graph.values[output].title for output in op.outputs)
        return f"{op.name}: {inputs or 'no known input'} to {outputs or 'nothing'}."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": as_html(self.svg, self.description), "text/plain": f"{self.title}: {self.description}"}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}, {self._counted}>"

    @property
    def _counted(self) -> str:
        return f"{len(self.graph.values):,} values, {len(self.graph.ops):,} ops"


@dataclass(repr=False)
class NetworkPicture(Picture):
    """A network drawn by its modules, as nested boxes; in a notebook a click opens a box in place.

    `calls` lists the calls of modules of `viz.draw(model, x)`, in the order in which forward hooks see them.
    """

    calls: list[Call] = field(default_factory=list)
    run: Run | None = None
    depth: int | None = None
    direction: str | None = None

    svg = cached_property(lambda self: self.drawn(self.theme))

    @property
    def _counted(self) -> str:
        ops = f"{len(self.graph.ops):,} ops"
        return f"{len(self.calls):,} calls of modules, {ops}" if self.calls else ops

    @cached_property
    def _network(self) -> tuple[dict[str, Any], dict[str, tuple[str, str]], list[list[str]] | None, Network]:
        return network.live(self.graph, self.run, self.depth, self.direction)

    def drawn(self, theme: str, plain: bool = False) -> str:
        """The picture as SVG, with boxes open as far as they fit on a screen, or as `depth` says."""
        _, marks, ends, whole = self._network
        about = self.title, self.description, theme, plain
        return svg_of(
            whole, whole.first, self.identity, marks, *about, legend=ends, heading=self.heading, caption=self.caption
        )

    @property
    def data(self) -> dict[str, Any]:
        """The data that a stage needs to open and close the boxes."""
        about = {"heading": self.heading, "caption": self.caption}
        return {"svg": self.drawn(self.theme), "id": self.identity, "network": self._network[0], **about}

    @property
    def description(self) -> str:
        """The picture in a few sentences, for readers who cannot see it."""
        return f"{len(self.graph.ops)} ops. {network.described(self._network[3])}"


def _know_modules(graph: Graph, modules: dict[str, Any]) -> bool:
    """Assign each op to its module, by the names of parameters; return whether there is more than one module."""
    for name, module in modules.items():
        engine = engines.of(module)
        assert engine is not None
        paths = {f"{name}.{path}".strip("."): part for path, part in engine.modules(module)}
        graph.modules |= {path: about_module(engine, part) for path, part in paths.items() if path}
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

    GitHub, and untrusted notebooks, strip `<svg>` but leave the words in it; an `<img>` is shown everywhere. On a
    trusted page a script replaces the image by the SVG itself, so that it follows the page's theme.
    """
    data = base64.b64encode(picture.encode()).decode()
    return (
        f'<div class="tgv-picture"><img alt="{svg.escape(description)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}">'
        "<script>(()=>{const i=document.currentScript.previousElementSibling;"
        "const b=Uint8Array.from(atob(i.src.split(',')[1]),c=>c.charCodeAt(0));"
        "i.outerHTML=new TextDecoder().decode(b)})()</script></div>"
    )


def draw(
    thing: Any,
    x: Any = NOTHING,
    *more: Any,
    kwargs: dict[str, Any] | None = None,
    loss: Callable[[Any], Any] | None = None,
    depth: int | None = None,
    title: str = "",
    caption: str | None = None,
    direction: str | None = None,
    names: dict[str, Any] | None = None,
    module: Any = None,
    view: str | None = None,
    theme: str = "auto",
) -> Picture:
    """Draw a model that is run once on `x`, or the graph behind a tensor; of PyTorch or `tinygrad_edu`.

    `draw(model, x)` calls the model once under forward hooks and draws its modules in the order of their calls, once a
    call. Buffers, `.grad` and random numbers stay as they are. `draw(loss)` runs nothing.

    Args:
        thing: a module; or a tensor, a list, tuple or dict of tensors.
        x: what the model is called with: a tensor; a tuple or list of arguments; or a dict of keyword arguments.
        more: further arguments of the model, as in `draw(model, x, y)`.
        kwargs: further keyword arguments for the model.
        loss: a function that turns the model's output into a scalar; then each box shows the size of its gradient.
        depth: how many levels of modules are open; by default as many as a screen can show.
        title: a line above the picture. caption: text below it, by default totals; `""` for none.
        direction: `"LR"` (left to right) or `"TB"` (top to bottom); by default what fits best.
        names: name -> tensor, for tensors without a variable in the caller. In names, title and caption `$\\theta_1$`
        is mathematics. module: for `draw(loss)`, the module whose parameters are behind it; by default the caller's.
        view: `"modules"` for nested boxes that a click opens (the default if there are any), `"values"` for variables
        and ops, `"grad_fn"` for PyTorch's own nodes. theme: `"auto"` follows the page, `"light"` and `"dark"` do not.

    Raises:
        TypeError: `thing` holds no tensor; `x` for something that is no module; `loss` returns no scalar.
        ValueError: no such view, theme, depth or direction.

    >>> import torch, viz
    >>> picture = viz.draw(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()), torch.randn(2, 4))
    >>> [(call.path, call.kind, call.outputs) for call in picture.calls]
    [('0', 'Linear', [(2, 8)]), ('1', 'ReLU', [(2, 8)]), ('', 'Sequential', [(2, 8)])]
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> viz.draw(w * 3).graph.roots
    ['v1']
    """
    known = {"view": (MODULES, *VIEWS), "theme": ("auto", "light", "dark"), "direction": ("LR", "TB")}
    for option, value in (("view", view), ("theme", theme), ("direction", direction)):
        if value is not None and value not in known[option]:
            raise ValueError(f"{option} must be one of {', '.join(map(repr, known[option]))}, not {value!r}")
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise ValueError(f"depth is how many levels of modules are open, 0 or more, not {depth!r}")
    if loss is not None and not callable(loss):
        raise TypeError(f"loss= is a function that turns the model's output into a scalar, not {loss!r}")
    frame = sys._getframe(1)
    x = (x, *more) if more else x
    if x is not NOTHING or kwargs is not None:
        drawing = _of_model(thing, () if x is NOTHING else x, kwargs or {}, loss, view, frame)
    else:
        if loss is not None:
            raise TypeError(
                "viz.draw(tensor) runs nothing, so it has no use for loss=; viz.draw(model, x, loss=…) runs the model"
            )
        drawing = _of_tensors(thing, names or {}, module, view, frame)
    if isinstance(drawing, NetworkPicture):
        drawing.depth, drawing.direction = depth, direction
    drawing.theme = theme
    if title:
        drawing.title = drawing.heading = readable(title)
    if caption is not None:
        drawing.caption = readable(caption)
    return drawing


def _of_model(
    model: Any, x: Any, kwargs: dict[str, Any], loss: Callable[[Any], Any] | None, view: str | None, frame: FrameType
) -> Picture:
    engine = engines.of(model)
    if engine is None or not engine.is_module(model):
        advice = ""
        if (other := engines.of(x)) is not None and other.is_module(x):
            advice = (
                ". The module comes first: viz.draw(model, x); for an existing loss it is viz.draw(loss, module=model)"
            )
        raise TypeError(f"viz.draw(model, x) calls an nn.Module with x; got a {type(model).__name__}{advice}")
    args, kwargs = _arguments(model, x, kwargs)
    for item in items_of([args, kwargs]):
        other = engines.of(item)
        if type(item).__module__ == "numpy" or (other is not None and other is not engine):
            raise TypeError(
                f"the model is of {engine.name}, and a part of its input "
                f"a {type(item).__module__}.{type(item).__name__}: turn it into a tensor of {engine.name}"
            )
    name = own.name_of(model, frame.f_locals, frame.f_globals) or engine.kind(model)
    run = running.run(engine, model, args, kwargs, loss, name)
    title = f"{engine.kind(model)}, as it was called"
    if view in VIEWS:
        state, longest, layers = _final_state(run.graph, folding := fold(run.graph))
        return Picture(run.graph, view, "auto", title, state, longest, layers, folding=folding)
    caption = f"{_totals(run)} {run.graph.note}".strip()
    return NetworkPicture(run.graph, MODULES, title=title, caption=caption, calls=run.calls, run=run)


def _arguments(model: Any, x: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tuple or list as arguments and a dict as keyword arguments, unless `forward` takes it as a whole."""
    try:
        signature = inspect.signature(model.forward)
    except (TypeError, ValueError):
        signature = None

    def fits(*args: Any, **named: Any) -> bool:
        try:
            return signature is None or signature.bind(*args, **named) is not None
        except TypeError:
            return False

    if isinstance(x, (tuple, list)) and (fits(*x, **kwargs) or not fits(x, **kwargs)):
        return tuple(x), kwargs
    if isinstance(x, Mapping) and all(isinstance(key, str) for key in x) and fits(**{**x, **kwargs}):
        return (), {**x, **kwargs}
    return (x,), kwargs


def items_of(thing: Any) -> Iterator[Any]:
    """Everything in nested lists, tuples and dicts, in order."""
    if isinstance(thing, (list, tuple, dict)):
        for item in thing.values() if isinstance(thing, dict) else thing:
            yield from items_of(item)
    else:
        yield thing


def _totals(run: Run) -> str:
    """The caption of a model: what it costs."""
    parts = [f"{run.parameters:,} parameter{'' if run.parameters == 1 else 's'}"]
    if run.flops:
        parts.append(f"{notation.large(run.flops)}FLOPs forward")
    if run.kept:
        parts.append(f"{notation.large(run.kept)}B kept for backward")
    text = ", ".join(parts)
    if run.loss is not None:
        return f"{text}. Loss {notation.brief(run.loss)}."
    if run.kept:
        return f"{text}. loss=… adds the sizes of the gradients."
    return f"{text}."


def _of_tensors(thing: Any, names: dict[str, Any], module: Any, view: str | None, frame: FrameType) -> Picture:
    engine, roots = _roots(thing, own.name_of(thing, frame.f_locals, frame.f_globals))
    reader = Reader(engine, keep=True, lazy=True)
    with engine.quietly(), no_collection():
        for name, tensor in roots.items():
            key = reader.value(tensor)
            reader.graph.roots.append(key)
            if name:
                reader.bind(name, tensor)
        _name(reader, names, module, frame)
        modules = _modules(reader, module, frame) if view in (None, MODULES) else {}
        by_module = bool(modules or view == MODULES) and _know_modules(reader.graph, modules)
        folding = Folding() if by_module else fold(reader.graph)
        roots_alone = set(reader.graph.roots)
        reader.copy_those(lambda key: key in roots_alone if by_module else key not in folding.hidden)
        _read_gradients(reader, folding.hidden, by_module)
    graph = reader.graph
    graph.note = _note(graph)
    if engine.is_module(thing):
        graph.note = PARAMETERS_ALONE
    notation.name_values(graph)
    if by_module:
        return NetworkPicture(graph, MODULES, title=_title(graph), caption=_guessed(reader, modules))
    state, longest, layers = _final_state(graph, folding)
    return Picture(
        graph, view if view in VIEWS else VIEWS[0], "auto", _title(graph), state, longest, layers, folding=folding
    )


def _modules(reader: Reader, module: Any, frame: FrameType) -> dict[str, Any]:
    """The outermost modules behind a graph by the names of their variables: `module` alone, or the caller's."""
    if module is not None:
        return {"": module}
    modules: dict[str, Any] = {}
    for name, thing in {**frame.f_globals, **frame.f_locals}.items():
        new = not name.startswith("_") and all(thing is not known for known in modules.values())
        if new and reader.engine.is_module(thing) and any(map(reader.has, reader.engine.parameters(thing))):
            modules[name] = thing
    inner = [id(part) for module in modules.values() for _, part in reader.engine.modules(module) if part is not module]
    return {name: thing for name, thing in modules.items() if id(thing) not in inner}


def _guessed(reader: Reader, modules: dict[str, Any]) -> str:
    """What a picture must admit whose modules are known only from the names of parameters."""
    if not modules:
        return ""
    owners: dict[int, set[str]] = {}
    for name, module in modules.items():
        for path, parameter in tensors_in(module, reader.engine):
            owners.setdefault(id(parameter), set()).add(f"{name}{path}".lstrip("."))
    graph, values = reader.graph, reader.graph.values
    named = {path for paths in owners.values() for path in paths}
    uses = Counter(
        key for op in graph.ops.values() for key in {*op.inputs} if key in values and values[key].name in named
    )
    often = [values[key].name for key, count in uses.items() if count > 1 and key is not None]
    tied = [" = ".join(sorted(paths)) for paths in owners.values() if len(paths) > 1]
    unowned = sum(not any(key in uses for key in op.inputs) for op in graph.ops.values())
    reasons = [f"{often[0]} is used {max(uses.values())} times"] if often else []
    reasons += [f"{tied[0]} is one parameter"] if tied else []
    if not reasons and unowned:
        reasons = [f"{unowned} of {len(graph.ops)} ops have no parameter that tells whose they are"]
    if not reasons:
        return ""
    told = ", ".join(reasons)
    return f"Modules guessed from the names of parameters: {told}. viz.draw(model, x) shows them as they are called."


def _roots(thing: Any, variable: str) -> tuple[Engine, dict[str, Any]]:
    engine = engines.of(thing)
    if engine is not None:
        before = variable if engine.is_module(thing) else ""  # as viz.draw(model, x) and viz.record name its parameters
        named = {f"{before}{name}".lstrip("."): tensor for name, tensor in tensors_in(thing, engine)}
        if named:
            return engine, named
    items = list(thing.items()) if isinstance(thing, dict) else list(enumerate(thing)) if _is_list(thing) else []
    roots: dict[str, Any] = {}
    for position, (key, item) in enumerate(items):
        other = engines.of(item)
        if other is None or not other.is_tensor(item):
            raise TypeError(ACCEPTED.format(f"a {type(thing).__name__} whose item {key!r} is a {type(item).__name__}"))
        if engine is not None and other is not engine:
            raise TypeError(ACCEPTED.format("tensors of both engines in one call"))
        engine = other
        roots[readable(str(key)) if isinstance(thing, dict) else f"{'':{position}}"] = item
    if engine is None or not roots:
        raise TypeError(ACCEPTED.format(f"a {type(thing).__name__}"))
    return engine, roots


def _is_list(thing: Any) -> bool:
    return isinstance(thing, (list, tuple))


def _name(reader: Reader, names: dict[str, Any], module: Any, frame: Any) -> None:
    named = [(readable(name), tensor) for name, tensor in names.items()]
    if module is not None:
        named += list(reader.engine.held(module, again=True))
    for name, tensor in named:
        if reader.engine.is_tensor(tensor) and reader.has(tensor):
            reader.bind(name, tensor)
    for scope in (frame.f_locals, frame.f_globals):
        for name, thing in list(scope.items()):
            if name.startswith("_"):
                continue
            for path, tensor in tensors_in(thing, reader.engine):
                if reader.has(tensor):
                    reader.bind(name + path, tensor)


def _read_gradients(reader: Reader, hidden: dict[str, str], sizes: bool) -> None:
    """Copy the gradients that are held; of a network only their `sizes`."""
    for tensor, key in reader.seen():
        value = reader.graph.values[key]
        if (
            key not in hidden
            and value.requires_grad
            and (value.kind == "leaf" or value.retains_grad)
            and tensor.grad is not None
        ):
            value.grad = reader.measure(tensor.grad) if sizes else reader.copy(tensor.grad)


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
) -> tuple[States, dict[str, dict[str, str]], dict[str, list[grids.Grid]]]:
    layers: dict[str, list[grids.Grid]] = {}
    state: States = {}
    longest: dict[str, dict[str, str]] = {}
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
            text["grad"], text["short"] = f".grad {notation.brief(value.grad) or None}", notation.held(value.grad)
        elif value.grad is not None:
            text["note"] = notation.held(value.grad)
        state[value.key] = State("", text)
        longest[value.key] = text
    for op in graph.ops.values():
        for position, saved in enumerate(op.saved if op.key not in folding.unit else ()):
            state[f"{op.key}s{position}"] = State("freed" if saved.state == "freed" else "")
    return state, longest, layers
