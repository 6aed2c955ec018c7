"""What a view draws: boxes with their texts, links with room for their labels. No positions yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from viz.picture import grid as grids
from viz.picture.fold import Fold, Folding, fold
from viz.picture.grid import Grid, grid
from viz.picture.scopes import Scope, scopes, whole
from viz.picture.theme import SIZE, shorten, text_width
from viz.recording import notation
from viz.recording.graph import Graph, Op, Value

PADDING = 10.0
LINES = {"name": 18.0, "value": 16.0, "small": 14.0, "tiny": 12.0, "grad": 14.0, "symbol": 23.0, "word": 20.0}
SNUG_EDGE = 3.0  # pixels above and below the text there
BOLD = ("name", "title")
PILLS = ("op", "unrecorded", "accumulate", "fold", "beyond")
LINES |= {"title": 14.0, "sign": 15.0}  # a name and an op where it is tight
SNUG = {"name": "title", "symbol": "sign", "word": "sign", "value": "small", "tiny": "small"}  # the style of each there
WIDEST = 190.0  # pixels for one line of text


@dataclass(frozen=True)
class Detail:
    """How much detail a picture shows; the rest is shown when the reader points at something."""

    name: str
    least: float  # the font size of its smallest letters
    docked: bool = True  # the result of an op stands below it, without an arrow between them
    arrays: bool = False  # arrays as tables and heat-maps, else in words
    about: bool = False  # dtypes, the names of nodes, what is saved, factors along the arrows
    widest: float = WIDEST  # pixels for one line of text
    padding: float = PADDING
    snug: bool = False  # one size of letters, little space; a result without a name is its op alone


FULL = Detail("full", SIZE["tiny"], docked=False, arrays=True, about=True)
DETAILS = (
    FULL,
    Detail("docked", SIZE["small"], arrays=True, about=True, widest=150.0),
    Detail("compact", SIZE["small"], widest=110.0, padding=7.0),
    Detail("named", SIZE["small"], widest=240.0, padding=4.0, snug=True),
    Detail("snug", SIZE["small"], widest=84.0, padding=4.0, snug=True),
)


@dataclass
class Row:
    """One line of text in a box; `slot` names it for patches, `longest` is the widest text it will ever hold.

    Its sizes, and those of a box, are asked for once it is finished.
    """

    slot: str
    style: str  # name | value | small | tiny | grad | symbol | word
    text: str = ""
    longest: str = ""
    layers: list[Grid] = field(default_factory=list)  # pictures of an array in place of text, one shown at a time
    beside: list[Grid] = field(default_factory=list)  # pictures of its gradient, to the right of it
    widest: float = WIDEST

    GAP = 8.0

    @cached_property
    def pictures(self) -> list[Grid]:
        """All layers of both sides."""
        return self.layers + self.beside

    @cached_property
    def height(self) -> float:
        """The line's height in pixels."""
        return max((layer.height for layer in self.pictures), default=0.0) or LINES[self.style]

    @cached_property
    def width(self) -> float:
        """The width that the line needs at most."""
        if self.pictures:
            gap = self.GAP if self.layers and self.beside else 0.0
            return _widest(self.layers) + gap + _widest(self.beside)
        size = SIZE.get("small" if self.style == "grad" else self.style, 13.0)
        bold = self.style in BOLD
        return min(self.widest, max(text_width(self.text, size, bold), text_width(self.longest, size, bold)))

    def cut(self, text: str) -> str:
        """`text`, shortened where it would not fit a line."""
        size = SIZE.get("small" if self.style == "grad" else self.style, 13.0)
        return shorten(text, size, self.widest, self.style in BOLD)


def _widest(layers: list[Grid]) -> float:
    return max((layer.width for layer in layers), default=0.0)


@dataclass
class Box:
    """A thing with a place of its own: a value, an op, or a backward node."""

    key: str
    kind: str
    rows: list[Row]
    tabs: list[tuple[str, str]] = field(default_factory=list)  # (key, label) of saved tensors docked below
    title: str = ""
    padding: float = PADDING
    told: bool = True  # its tabs say what they hold
    snug: bool = False
    least: float = 0.0  # width that it has at least, in pixels

    PLUS = 12.0  # room for the mark of a fold that opens

    @cached_property
    def is_pill(self) -> bool:
        """Ops and nodes are pills, values are boxes."""
        return self.kind in PILLS

    @cached_property
    def edge(self) -> float:
        """The space above and below its text, in pixels."""
        return SNUG_EDGE if self.snug else 5.0 if self.is_pill else 7.0

    @cached_property
    def tab(self) -> float:
        """The height of a docked tab, in pixels."""
        return 15.0 if self.told else 6.0

    @property
    def width(self) -> float:
        """In pixels."""
        return max(self.least, self._text_width)

    @cached_property
    def _text_width(self) -> float:
        labels = [label for _, label in self.tabs] if self.told else []
        widest = max([row.width for row in self.rows] + [text_width(label, SIZE["small"]) for label in labels])
        beside = self.PLUS if self.kind == "fold" else 0.0
        return max(4.4 * self.padding, round(widest + 2 * (beside + self.padding - self.is_pill)))

    @cached_property
    def body(self) -> float:
        """The height without docked tabs, in pixels."""
        return round(sum([row.height for row in self.rows]) + 2 * self.edge)

    @cached_property
    def height(self) -> float:
        """In pixels, tabs included."""
        return self.body + self.tab * len(self.tabs)


@dataclass
class Link:
    """A line between two boxes; `label` is the widest text it will carry, on up to two lines."""

    key: str
    kind: str  # forward | back (arrow at the tail) | share (dotted, no arrow)
    tail: str
    head: str
    label: str = ""
    back: str | None = None  # key of the gradient's dashed line beside it

    @property
    def label_size(self) -> tuple[float, float]:
        """Width and height to keep free for the label."""
        if not self.label:
            return 0.0, 0.0
        lines = self.label.split("\n")
        return max(text_width(line, SIZE["small"]) for line in lines) + 14, 14.0 * len(lines) + 8


@dataclass
class Drawing:
    """What one view draws; `alias` says which folded element stands for one that is not drawn."""

    boxes: list[Box]
    links: list[Link]
    alias: dict[str, str] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)  # frames around the ops of a module
    docks: dict[str, str] = field(default_factory=dict)  # op -> its result, which stands below it
    detail: Detail = FULL

    @cached_property
    def rows(self) -> dict[tuple[str, str], Row]:
        """Each line of text by its box's key and its slot."""
        return {(box.key, row.slot): row for box in self.boxes for row in box.rows}

    @cached_property
    def labelled(self) -> set[str]:
        """The keys of the gradients' lines that have room for words."""
        return {link.back or link.key for link in self.links if link.label}

    @cached_property
    def keys(self) -> set[str]:
        """The keys of everything drawn."""
        keys = {box.key for box in self.boxes} | {key for box in self.boxes for key, _ in box.tabs}
        keys |= {layer.key for box in self.boxes for row in box.rows for layer in row.pictures}
        return keys | {link.key for link in self.links} | {link.back for link in self.links if link.back}


def drawing(
    graph: Graph,
    view: str,
    longest: dict[str, dict[str, str]],
    layers: dict[str, list[Grid]] | None = None,
    folding: Folding | None = None,
    border: list[Op] | None = None,
    detail: Detail = FULL,
) -> Drawing:
    """The boxes and links of one view, folded if there are too many to read.

    Args:
        graph: what to draw.
        view: `"values"` or `"grad_fn"`.
        longest: for each key and slot, the widest text that it will ever hold.
        layers: for each value, the pictures of its gradients.
        folding: the folds; computed if not given.
        border: if `graph` is a part of another graph, the outer recorded ops that its ops are linked to.
        detail: how much detail is shown.
    """
    folding = fold(graph) if folding is None else folding
    if view == "values":
        drawn = _values_view(graph, folding, longest, layers or {}, detail)
    else:
        drawn = _node_view(graph, folding, longest, border or [], detail)
    drawn.detail = detail
    if not detail.about:
        for link in drawn.links:
            link.label = ""
    if detail is not FULL:
        for box in drawn.boxes:
            box.padding, box.told = detail.padding, detail.about
            if detail.snug:
                box.snug, box.tabs = True, []
            for row in box.rows:
                row.widest = detail.widest if detail.snug or view == "values" else WIDEST  # nodes go by their names
                row.style = SNUG.get(row.style, row.style) if detail.snug else row.style.replace("tiny", "small")
                row.text = row.cut(row.text)
    if detail.docked:
        _dock(drawn)
    if not folding.folds and border is None:
        ends = [(link.tail, link.head) for link in drawn.links if link.kind != "share"]
        drawn.scopes = whole(scopes(graph, [box.key for box in drawn.boxes]), ends)
    return drawn


def _dock(drawing: Drawing) -> None:
    """Put the only result of each op below it, as wide as the op: the arrow between them goes without saying."""
    boxes = {box.key: box for box in drawing.boxes}
    results: dict[str, list[Link]] = {}
    for link in drawing.links:
        if link.kind == "forward" and link.tail in boxes and boxes[link.tail].kind in ("op", "unrecorded"):
            results.setdefault(link.tail, []).append(link)
    docked = set()
    for op, links in results.items():
        if len(links) != 1 or links[0].head not in boxes or boxes[links[0].head].is_pill:
            continue
        value = links[0].head
        drawing.docks[op] = value
        docked.add(links[0].key)
        boxes[op].least = boxes[value].least = max(boxes[op].width, boxes[value].width)
    drawing.links = [link for link in drawing.links if link.key not in docked]


class _Joined:
    """Collects links; those that end in a fold are drawn once, however many there are."""

    def __init__(self, folding: Folding) -> None:
        self.links: list[Link] = []
        self.alias: dict[str, str] = {**folding.unit, **folding.hidden}
        self._seen: dict[tuple[str, str], Link] = {}

    def inside(self, one: str, other: str) -> bool:
        """Whether both ends are in the same fold, so that no link between them is drawn."""
        return one in self.alias and self.alias[one] == self.alias.get(other)

    def add(self, link: Link) -> None:
        """Draw a link between the elements that represent its ends."""
        tail, head = self.alias.get(link.tail, link.tail), self.alias.get(link.head, link.head)
        if tail == link.tail and head == link.head:
            self.links.append(link)
            return
        if tail == head:
            return
        link.key, old = f"e{tail}_{head}", link.key
        link.back, old_back = (f"b{tail}_{head}" if link.back else None), link.back
        link.tail, link.head, link.label = tail, head, ""
        self.alias[old] = link.key
        if old_back and link.back:
            self.alias[old_back] = link.back
        first = self._seen.setdefault((tail, head), link)
        if first is link:
            self.links.append(link)
        elif link.back and not first.back:
            first.back = link.back


def _fold_box(fold: Fold, graph: Graph) -> Box:
    rows = [Row("symbol", "word", "")]
    rows[0].text = rows[0].cut(fold.title(graph))
    count = f"{len(fold.ops):,} op{'' if len(fold.ops) == 1 else 's'}"
    leaves = f"{len(fold.leaves):,} {'leaf' if len(fold.leaves) == 1 else 'leaves'}"
    rows.append(Row("count", "tiny", f"{count}, {leaves}" if fold.leaves else count))
    if scope := fold.scope(graph):
        rows.append(Row("scope", "tiny", ""))
        rows[-1].text = rows[-1].cut(scope)
    return Box(fold.key, "fold", rows, title=f"Folded: {fold.title(graph)}")


def _values_view(
    graph: Graph, folding: Folding, longest: dict[str, dict[str, str]], layers: dict[str, list[Grid]], detail: Detail
) -> Drawing:
    hidden = inner(graph)
    used = {key for op in graph.ops.values() for key in op.inputs}
    alone = {key: op for key, op in _nameless(graph, folding, used).items() if op not in hidden} if detail.snug else {}
    hidden_here = hidden | folding.hidden.keys() | alone.keys()
    values = [value for key, value in graph.values.items() if key not in hidden_here]
    ops = [op for key, op in graph.ops.items() if key not in hidden]
    boxes = [
        _value_box(
            value,
            longest.get(value.key, {}),
            layers.get(value.key, []),
            _made_at(graph, value),
            detail,
            brief=detail.snug and value.op is not None and value.key in used,
        )
        for value in values
    ]
    boxes += [_op_box(op, graph, detail) for op in ops if op.key not in folding.unit]
    boxes += [_fold_box(fold, graph) for fold in folding.folds.values()]
    joined = _Joined(folding)
    joined.alias |= alone
    for op in ops:
        for slot, key in enumerate(op.inputs):
            if key is None or key in hidden or joined.inside(op.key, key):
                continue
            grad = slot < len(op.next) and op.next[slot][0] is not None
            link = Link(f"e{op.key}i{slot}", "forward", key, op.key, back=f"b{op.key}i{slot}" if grad else None)
            link.label = longest.get(link.back or "", {}).get("label", "")
            joined.add(link)
        for key in op.outputs:
            if key not in hidden and not joined.inside(op.key, key):
                back = f"b{key}" if op.recorded and graph.values[key].kind == "value" else None
                joined.add(Link(f"e{key}", "forward", op.key, key, back=back))
    drawn = {value.key for value in values}
    joined.links += [
        Link(f"s{value.key}", "share", value.shares, value.key)
        for value in values
        if value.shares is not None and value.shares in drawn
    ]
    return Drawing(boxes, joined.links, joined.alias)


def _nameless(graph: Graph, folding: Folding, used: set[str | None]) -> dict[str, str]:
    """Results without a name that are used, each with its op: where it is tight, the op stands for them."""
    return {
        value.key: value.op
        for value in graph.values.values()
        if value.op in graph.ops
        and value.key in used
        and not (value.name or value.retains_grad or value.key in folding.hidden)
        and len(graph.ops[value.op].outputs) == 1
    }


def inner(graph: Graph) -> set[str]:
    """What is not drawn: the inside of a custom Function, unrecorded backward work, unused parameters after a step."""
    ops = {key for key, op in graph.ops.items() if not op.recorded and (op.scope or op.during == "backward")}
    used: set[str | None] = {key for op in graph.ops.values() if op.key not in ops for key in op.inputs}
    moved = {key for op in graph.ops.values() if op.whole for key in op.outputs if key not in used}
    used |= {saved.value for op in graph.ops.values() for saved in op.saved}
    results = {key for op in ops for key in graph.ops[op].outputs}
    met = {value.key for value in graph.values.values() if value.op is None and value.scope == "backward"}
    return ops | moved | {key for key in results | met if key not in used}


def _made_at(graph: Graph, value: Value) -> int:
    """The version of a value's memory when it was new: a fresh parameter was filled in place as well."""
    seen = {value.key}
    while value.shares is not None and value.shares in graph.values and value.shares not in seen:
        value = graph.values[value.shares]
        seen.add(value.key)
    return value.version if value.kind in ("leaf", "input") and not value.how_shared else 0


def _value_box(
    value: Value, longest: dict[str, str], layers: list[Grid], made_at: int, detail: Detail, brief: bool = False
) -> Box:
    rows = [Row("name", "name" if value.name else "value", value.title)]
    if brief:
        pass  # where it is tight, a leaf keeps its value, a result its name
    elif not detail.arrays:
        _in_words(rows, value, longest)
    else:
        if value.shape != [] or (value.kind in ("leaf", "input") and detail is FULL):
            about = value.dtype if value.shape == [] else f"{notation.shape(value.shape)} {value.dtype}"
            rows.append(Row("about", "tiny", about))
        if value.array is not None:
            drawn = grid(f"{value.key}x", value.array)
            words = grids.words(value.array)
            if words and drawn is None:
                rows.insert(1, Row("value", "value", "", longest.get("value", words)))
            elif words:
                rows.append(Row("value", "small", "", longest.get("value", words)))
            if drawn is not None or layers:
                rows.append(Row("", "grid", layers=[] if drawn is None else [drawn], beside=layers))
        elif layers:
            rows.append(Row("", "grid", beside=layers))
        if longest.get("grad"):
            rows.append(Row("grad", "grad", "", longest["grad"]))
    if longest.get("note") and (value.retains_grad or detail is FULL):
        rows.append(Row("note", "grad" if value.retains_grad else "tiny", "", longest["note"]))
    if value.version > made_at:
        rows.append(Row("version", "tiny", f"v{value.version}" if detail.snug else f"version {value.version}"))
    rows[0].text = rows[0].cut(rows[0].text)
    return Box(value.key, value.kind, rows, title=value.title)


def _in_words(rows: list[Row], value: Value, longest: dict[str, str]) -> None:
    """The rows of a value without room for tables: its number or its shape, and its gradient in the same form."""
    if value.shape:
        rows.append(Row("about", "small", notation.shape(value.shape)))
    elif longest.get("value"):
        rows.append(Row("value", "value", "", longest["value"]))
    if longest.get("short"):
        rows.append(Row("short", "grad", "", longest["short"]))


def _op_box(op: Op, graph: Graph, detail: Detail) -> Box:
    mathematics = notation.symbol(op)
    rows = [Row("symbol", "symbol" if len(mathematics) <= 5 else "word", mathematics)]
    rows[0].text = rows[0].cut(mathematics)
    small = op.name if op.recorded else "not recorded"
    if detail.about and small != mathematics:
        rows.append(Row("node", "tiny", ""))
        rows[1].text = rows[1].cut(small)
    tabs = _tabs(op, graph)
    return Box(op.key, "op" if op.recorded else "unrecorded", rows, tabs, title=f"{mathematics} {small}")


def _node_view(
    graph: Graph, folding: Folding, longest: dict[str, dict[str, str]], border: list[Op], detail: Detail
) -> Drawing:
    boxes = [_fold_box(fold, graph) for fold in folding.folds.values()]
    joined = _Joined(folding)
    leaves = graph.accumulators()
    used: set[str] = set()
    for op in graph.ops.values():
        if not op.recorded:
            continue
        if op.key not in folding.unit:
            boxes.append(_node_box(op, graph, longest.get(op.key, {}), detail))
        for slot, (key, _) in enumerate(op.next):
            if key is not None:
                used.add(key)
                if not joined.inside(op.key, key):
                    joined.add(_node_link(op, slot, key, longest))
    for op in border:
        boxes.append(_node_box(op, graph, longest.get(op.key, {}), detail, "beyond"))
        for slot, (key, _) in enumerate(op.next):
            if key is not None and key in graph.ops:
                joined.add(_node_link(op, slot, key, longest))
    behind = used - graph.ops.keys() - {op.key for op in border} - folding.hidden.keys()
    for key in [*(key for key in leaves if key in behind), *sorted(behind - leaves.keys())]:
        leaf = leaves.get(key)  # None in a part whose leaf was changed in place later
        rows = [Row("node", "value", "AccumulateGrad"), Row("about", "tiny", "")]
        rows[1].text = rows[1].cut(f"leaf {leaf.title} {notation.shape(leaf.shape)}" if leaf else "of a leaf outside")
        if longest.get(key, {}).get("grad"):
            rows.append(Row("grad", "grad", "", longest[key]["grad"]))
        boxes.append(
            Box(key, "accumulate", rows, title=f"AccumulateGrad of {leaf.title if leaf else 'a leaf outside'}")
        )
    return Drawing(boxes, joined.links, joined.alias)


def _node_box(op: Op, graph: Graph, longest: dict[str, str], detail: Detail, kind: str = "op") -> Box:
    rows = [Row("node", "value", "", widest=WIDEST)]
    rows[0].text = rows[0].cut(op.name)
    if detail.about:
        rows.append(Row("about", "tiny", f"sequence {op.sequence_nr}" if op.sequence_nr is not None else ""))
    if longest.get("grad"):
        rows.append(Row("grad", "grad", "", longest["grad"]))
    tabs = _tabs(op, graph)
    return Box(op.key, kind, rows, tabs, title=op.name)


def _tabs(op: Op, graph: Graph) -> list[tuple[str, str]]:
    """What an op keeps for the backward pass, by the names of the program."""
    tabs = []
    for position, saved in enumerate(op.saved):
        value = graph.values.get(saved.value or "")
        name = value.title if value is not None else saved.text or saved.name
        tabs.append((f"{op.key}s{position}", shorten(f"saved {name}", SIZE["small"], WIDEST, False)))
    return tabs


def _node_link(op: Op, slot: int, key: str, longest: dict[str, dict[str, str]]) -> Link:
    link = Link(f"n{op.key}i{slot}", "back", key, op.key)
    link.label = longest.get(link.key, {}).get("label", "")
    return link
