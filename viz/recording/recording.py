"""What a program did, as plain data: the recording, its events, and their JSON. It contains no object of an engine."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from viz.recording.graph import Argument, Array, Graph, Op, Saved, Value

SCHEMA = 1


@dataclass
class Gradient:
    """A gradient on its way: into slot `output_nr` of `node`, which is the gradient of `value`."""

    node: str | None
    value: str | None
    output_nr: int = 0
    array: Array | None = None  # None: the engine sent none
    held: Array | None = None  # the value's `.grad` now, if the program called `retain_grad`


@dataclass
class Event:
    """One event. A recording lists events in the order in which they happened.

    Kinds: `create` (a tensor from nothing), `op`, `backward` (a pass starts), `run` (a node starts, with the summed
    gradients of its outputs), `send` (it is done, with the gradient for each input), `hook` (a tensor hook ran),
    `accumulate` (a leaf's `.grad` changed), `freed` (a node's saved tensors are gone), `done` (the pass is over),
    `raised` (the pass ended in an exception that the program caught), `error` (one that it did not catch).
    """

    kind: str
    line: int | None = None
    node: str | None = None  # key of the op or AccumulateGrad node
    values: list[str] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)  # nodes that are ready to run, in the engine's order
    total: Array | None = None  # accumulate: `.grad` afterwards
    text: str = ""
    pass_nr: int = 0


@dataclass
class Recording:
    """What a program did, as data: its source, its graph, every event, and the tensors it ended with.

    >>> import viz
    >>> rec = viz.record("x = T.tensor(3.0, requires_grad=True); y = x * x; y.backward()")
    >>> [event.kind for event in rec.events]
    ['create', 'op', 'backward', 'run', 'send', 'freed', 'run', 'accumulate', 'done']
    """

    engine: str
    device: str
    source: list[str]
    graph: Graph
    events: list[Event]
    tensors: dict[str, dict[str, Any]]
    stdout: str = ""
    error: dict[str, Any] | None = None
    schema: int = SCHEMA
    cut: int | None = None  # the line from which on nothing was recorded, since there were too many steps
    ran: int = 0  # lines of the program that had run by then

    # Bound by `viz/show.py`, because playing, drawing and saving build on this class.
    play: ClassVar[Callable[..., Any]]
    picture: ClassVar[Callable[..., Any]]
    scene: ClassVar[Callable[..., dict[str, Any]]]
    save: ClassVar[Callable[..., Path]]

    def __repr__(self) -> str:
        passes = sum(event.kind == "backward" for event in self.events)
        count = len(self.graph.ops)
        said = f"{count:,} op{'' if count == 1 else 's'}, {passes} backward pass{'' if passes == 1 else 'es'}"
        if self.error is not None:
            line = "" if self.error["line"] is None else f" in line {self.error['line']}"
            return f"<Recording on {self.engine}: {said}; stopped{line}: {_one_line(self.error)}>"
        return f"<Recording on {self.engine}: {said}{self.graph.note and f'. {self.graph.note}'}>"

    def to_json(self) -> str:
        """The recording as JSON text; `viz.load` reads it back."""
        return json.dumps(finite(self), ensure_ascii=False, separators=(",", ":"))


def _one_line(error: dict[str, Any]) -> str:
    text = " ".join(f"{error['type']}: {error['message']}".split())
    return text if len(text) <= 160 else f"{text[:159]}…"


def finite(thing: Any) -> Any:
    """`thing` as JSON can express it: infinities and NaN as strings that `float` reads back, dataclasses as dicts."""
    if isinstance(thing, float) and thing - thing != 0:
        return repr(thing)
    if dataclasses.is_dataclass(thing):
        return {field.name: finite(getattr(thing, field.name)) for field in dataclasses.fields(thing)}
    if isinstance(thing, dict):
        return {key: finite(item) for key, item in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [finite(item) for item in thing]
    return thing


def load(path: str | os.PathLike[str]) -> Recording:
    """Read back a recording saved as JSON; reads data, runs nothing.

    Raises:
        ValueError: the file is not a recording, is damaged, or was written by a newer version.

    >>> import tempfile, pathlib, viz
    >>> path = pathlib.Path(tempfile.mkdtemp(), "flow.json")
    >>> _ = viz.record("x = T.tensor(3.0, requires_grad=True); (x * x).backward()").save(path)
    >>> viz.load(path).tensors["x"]["grad"]["data"]
    6.0
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a recording: it is not JSON ({error})") from None
    return from_data(data, str(path))


def from_data(data: Any, where: str = "data") -> Recording:
    """A recording from the result of `json.loads`.

    Raises:
        ValueError: it is not a valid recording; the message names the first problem.
    """
    if not isinstance(data, dict) or "schema" not in data or "events" not in data:
        raise ValueError(f"{where} is not a recording: it lacks 'schema' and 'events'")
    if data["schema"] != SCHEMA:
        raise ValueError(f"{where} has schema {data['schema']!r}; this version of viz reads schema {SCHEMA}")
    return _build(Recording, data, where)


T = TypeVar("T")
_NESTED: dict[tuple[type, str], tuple[str, type]] = {
    (Recording, "graph"): ("one", Graph),
    (Recording, "events"): ("list", Event),
    (Graph, "values"): ("dict", Value),
    (Graph, "ops"): ("dict", Op),
    (Value, "array"): ("one", Array),
    (Value, "grad"): ("one", Array),
    (Op, "saved"): ("list", Saved),
    (Op, "arguments"): ("list", Argument),
    (Event, "gradients"): ("list", Gradient),
    (Event, "total"): ("one", Array),
    (Gradient, "array"): ("one", Array),
}


def _build(kind: type[T], data: Any, where: str) -> T:
    if not isinstance(data, dict):
        raise ValueError(f"{where} should be an object, not {type(data).__name__}")
    described: Any = kind  # a dataclass
    names = {item.name: item for item in dataclasses.fields(described)}
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise ValueError(f"{where} has an unknown entry {unknown[0]!r}")
    built: dict[str, Any] = {}
    for name, item in data.items():
        how, nested = _NESTED.get((kind, name), ("", object))
        place = f"{where}.{name}"
        if how == "one":
            built[name] = None if item is None else _build(nested, item, place)
        elif how == "list":
            if not isinstance(item, list):
                raise ValueError(f"{place} should be a list, not {type(item).__name__}")
            built[name] = [_build(nested, entry, f"{place}[{position}]") for position, entry in enumerate(item)]
        elif how == "dict":
            if not isinstance(item, dict):
                raise ValueError(f"{place} should be an object, not {type(item).__name__}")
            built[name] = {key: _build(nested, entry, f"{place}[{key!r}]") for key, entry in item.items()}
        else:
            built[name] = item
    try:
        return kind(**built)
    except TypeError as error:
        raise ValueError(f"{where} is damaged: {error}") from None
