"""Chooses how a network is drawn in a space: what is folded, how boxes are laid out, and which are open at first.

One rule holds for everything that is shown: a network is whole in its space with letters of ten pixels, or it is folded
until it is. Among the drawings that fit, the first is taken in which no closed box hides most of the parameters.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from viz.picture.boxes import (
    BRIEF,
    CALLS,
    LINES,
    LISTS,
    LOOPS,
    PADDING,
    REPEATS,
    ROOT,
    RUNNING,
    RUNS,
    STEPS,
    TITLE,
    WHOLE,
    Boxes,
    Unit,
)
from viz.picture.layout import Placed
from viz.picture.nested import title_width
from viz.picture.recurrence import LEAST, Part, unrolled
from viz.picture.wrapped import LANE, downward, laid_out, valley

Room = tuple[float, float]  # width and height of a stage, in pixels

ACROSS = 1200.0  # pixels of a row where somebody asks for some levels
SNUG = (240.0, 84.0)  # pixels of a line of text where it is tight, and where it is tighter
SHARES = 1.0, 0.7, 0.5  # of a stage's width, for a row: something may stand beside the module
# Pixels that a box has less room for a row than the one around it, with arrows beside it.
FRAME = 2 * PADDING + 4 * LANE
TIGHT = 2 * PADDING + LANE  # the same without arrows
FAILURES = 4  # kinds of boxes that do not fit any more; then no further one is opened
SLIM = 480.0  # pixels of a stage below which nothing stands side by side that does not fit
RANK = 80.0  # pixels that a box takes in height, with the space above it
HIDDEN = 0.5  # the largest share of the parameters that a closed box may hide
# How much is folded, and how wide a text is in small letters (0: in large ones), in the order in which they are tried.
ATTEMPTS = [
    *((WHOLE, 0), (WHOLE, 1), (REPEATS, 0), (REPEATS, 1), (WHOLE, 2), (REPEATS, 2)),
    *((CALLS, 0), (CALLS, 1), (CALLS, 2), (RUNS, 0), (RUNS, 1), (RUNS, 2)),
]
# Likewise, where nothing fits with a column for each step of a recurrence.
LAST = [*((folding, snug) for folding in (STEPS, LINES, BRIEF) for snug in SNUG), (LOOPS, SNUG[1])]
WRAPPED = [(WHOLE, SNUG[0]), (RUNS, SNUG[0]), (RUNS, SNUG[1]), *LAST]


Manner = tuple[float, float, int, float | None, bool]  # as `_Trial` takes it


class Arranged(NamedTuple):
    """How a network is drawn: its folding, the width of its texts, the layouts, which each box has, the open ones."""

    folding: int
    form: object  # that of the folded boxes
    snug: float
    manner: Manner
    layouts: list[Placed]
    of_units: list[int]
    first: list[str]


class Judged(NamedTuple):
    """How well a network can be seen at first, better ones last: whether it fits, what it hides, how much is open."""

    fits: bool
    tells: bool  # no closed box hides most of the parameters; of what does not fit, whether it is only too high
    shown: float  # the share of the parameters that no closed box hides; of what does not fit, its scale
    opened: int
    scale: float


class Arranger:
    """Finds how a network is drawn in the best of some rooms; `exact` if there is only one, which is then known.

    Args:
        boxes: makes the boxes for a folding.
        rooms: the stages that it may be shown on.
        depth: how many levels are open at first. direction: how each level is laid out: `"LR"` or `"TB"`.
        before: how a network was last drawn there; it is drawn so again if that fits, so that a change turns nothing.
    """

    def __init__(
        self,
        boxes: Callable[[int], Boxes],
        rooms: Sequence[Room],
        depth: int | None,
        direction: str | None,
        before: Arranged | None = None,
    ) -> None:
        self._boxes = boxes
        self.rooms, self.exact = rooms, len(rooms) == 1
        self.depth, self.direction, self.before = depth, direction, before
        self._units: dict[tuple[int, float], dict[str, Unit]] = {}

    def arranged(self) -> Arranged:
        """The first drawing that fits and hides little, else the best. Runs of ops fold to fit, not to open more; the
        lines of a step of a loop may."""
        if self.before is not None:
            again = _Trial(self, self._boxes(self.before.folding), self.before.snug, *self.before.manner)
            if again.judged.fits:
                return again.finished()
        best: tuple[Judged, _Trial] | None = None
        for trial in self._trials():
            judged = trial.judged
            folding = trial.boxes.folding
            if (
                best is not None
                and best[0].fits
                and folding > CALLS
                and (best[1].boxes.folding < STEPS or folding > BRIEF)
            ):
                break
            if best is None or judged[:3] > best[0][:3]:
                best = judged, trial
            if judged.fits and judged.tells:
                break
        assert best is not None
        return best[1].finished()

    def _trials(self) -> Iterator[_Trial]:
        if self.depth is not None or self.direction is not None:
            across = {"LR": math.inf, "TB": 0.0}.get(self.direction or "", ACROSS)
            yield _Trial(self, self._boxes(REPEATS), 0.0, across)
            return
        repeats = False
        for folding, letters in ATTEMPTS:
            boxes = self._boxes(folding)
            if folding and len(boxes.units) == len(self._boxes(folding - 1).units):
                continue  # it folds nothing
            if letters == len(SNUG) and self._sizes(boxes, SNUG[-1]) == self._sizes(boxes, SNUG[0]):
                continue  # it shortens nothing
            hopeless = self._is_hopeless(boxes, bool(letters))
            # What only just fits one of the usual rooms may not fit a stage.
            for snug in [0.0] if not letters else SNUG[letters - 1 : letters] if self.exact else SNUG[1:]:
                manners = itertools.islice(self._manners(), 1 if hopeless else None)
                tried = max((_Trial(self, boxes, snug, *how) for how in manners), key=lambda trial: trial.judged)
                repeats = repeats or tried.repeats
                yield tried
        for folding, widest in WRAPPED if repeats else LAST:
            boxes = self._boxes(folding)
            yield max((_Trial(self, boxes, widest, *how) for how in self._manners(not repeats)), key=lambda t: t.judged)

    def _sizes(self, boxes: Boxes, snug: float) -> list[tuple[float, float]]:
        return [unit.size for unit in self.units(boxes, snug).values()]

    def _is_hopeless(self, boxes: Boxes, snug: bool) -> bool:
        """Whether the boxes that are certainly in sight take more than the largest room, however they are laid out."""
        units = self.units(boxes, SNUG[-1] if snug else 0.0)
        models = [child for child in units[ROOT].children if units[child].kind == "module" and not units[child].fold]
        parents = [ROOT, *models] if len(models) == 1 else [ROOT]
        sizes = [units[child].size for key in parents for child in units[key].children if child not in parents]
        return sum(width * height for width, height in sizes) > max(width * height for width, height in self.rooms)

    def units(self, boxes: Boxes, snug: float) -> dict[str, Unit]:
        """The boxes with their texts in large letters (0), or in small ones of so many pixels a line."""
        key = boxes.folding, snug
        if key not in self._units:
            self._units[key] = {name: replace(unit) for name, unit in boxes.units.items()} if snug else boxes.units
            for unit in self._units[key].values() if snug else ():
                if unit.kind != "port" and unit.key != ROOT:
                    unit.make_snug(snug)
        return self._units[key]

    def _manners(self, unrolled: bool = True) -> Iterator[Manner]:
        """What to try: the width of a row, how much less it is a level below, how many outer levels are columns, the
        width of what is laid out downward, and whether each step of a recurrence is a column."""
        width = max(width for width, _ in self.rooms)
        inner = width - FRAME
        for share in SHARES:
            yield from ((share * inner, FRAME, columns, None, unrolled) for columns in (0, 1))
        yield width, TIGHT, 1, None, unrolled
        yield width - 4 * LANE, TIGHT, 0, None, unrolled
        yield 0.0, FRAME, 0, None, unrolled
        if self.exact and width < SLIM:
            layers = (width, 0.85 * width, 0.7 * width, 0.5 * width, 0.0)
            yield from ((inner, TIGHT, 1, layer, unrolled) for layer in layers)


class _Trial:
    """One drawing: each box is a row if that is at most `across` pixels long, else it is wrapped. A level below, a row
    has `frame` pixels less. The outermost `columns` levels are columns.

    If the program is wider than `layers`, or a module than `across`, it is laid out downward, in no wider rows. What
    runs again on its own result is `unrolled`, a column a step, however wide. Boxes alike are laid out once, when seen.
    """

    def __init__(
        self,
        arranger: Arranger,
        boxes: Boxes,
        snug: float,
        across: float,
        frame: float = FRAME,
        columns: int = 0,
        layers: float | None = None,
        unrolled: bool = True,
    ) -> None:
        self.boxes, self.snug = boxes, snug
        self._rooms, self._exact, self._depth = arranger.rooms, arranger.exact, arranger.depth
        self._direction = arranger.direction
        self._manner = across, frame, columns, layers, unrolled
        self._across, self._frame, self._columns, self._layers, self._unrolled = self._manner
        self.units = arranger.units(boxes, snug)
        self._known: dict[Any, Placed] = {}
        self.repeats = False  # whether something in it stands in a row because it runs again and again
        self._open: set[str] = set()
        self._slim = self._exact and self._rooms[0][0] < SLIM
        self.first = self._first()
        self.judged = self._judge()

    def finished(self) -> Arranged:
        """The same with everything laid out, for what is open at first."""
        self._open = {*self.first}
        inside = [self._inside(key) if unit.kind == "module" else None for key, unit in self.units.items()]
        layouts = list({id(placed): placed for placed in inside if placed is not None}.values())
        number_of = {id(placed): number for number, placed in enumerate(layouts)}
        of_units = [number_of.get(id(placed), -1) for placed in inside]
        return Arranged(self.boxes.folding, self.boxes.form, self.snug, self._manner, layouts, of_units, self.first)

    # What is open

    def _first(self) -> list[str]:
        """The boxes that are open at first: as many as fit, those with the most parameters before others.

        One of each kind of box is opened before a second one. A layer of the library stays closed unless it is alone.
        """
        opened = [ROOT]
        models = self._modules(ROOT)
        if self._depth is not None:
            level = [ROOT]
            for _ in range(self._depth):
                level = [child for key in level for child in self._modules(key) if not self._is_leaf(child)]
                opened += level
            return opened
        while len(models) == 1 and self._must_open(models[0], opened):  # a model alone, and a trunk that is alone in it
            opened += models
            models = self._modules(models[0])
            if len(models) == 1 and (self._is_leaf(models[0]) or not self.fits([*opened, *models])):
                break
        seen: set[object] = set()
        vain: set[object] = set()  # what did not fit
        tried: set[str] = set(opened)
        while len(vain) < FAILURES and (
            candidates := [child for key in opened for child in self._modules(key) if child not in tried]
        ):
            key = min(candidates, key=lambda key: self._rank(key, seen))
            tried.add(key)
            if self._is_leaf(key) or self.boxes.alike(self.units[key]) in vain:
                continue
            if self.fits([*opened, key]):
                opened.append(key)
                seen.add(self.boxes.alike(self.units[key]))
            else:
                vain.add(self.boxes.alike(self.units[key]))
        return opened

    def _must_open(self, key: str, opened: list[str]) -> bool:
        """Whether the only module in a box opens: not where, as the last resort, a step of a loop is whole without."""
        steps = self.boxes.folding >= STEPS and any(self.units[child].rest for child in self.units[ROOT].children)
        return not steps or self.fits([*opened, key]) or not self.fits(opened)

    def _rank(self, key: str, seen: set[object]) -> tuple[object, ...]:
        unit = self.units[key]
        return self.boxes.alike(unit) in seen, not unit.leaves, -self.boxes.weight(unit)

    def _modules(self, key: str) -> list[str]:
        """The modules in a box; a fold is none."""
        inside = self.units[key].children
        return [child for child in inside if self.units[child].kind == "module" and not self.units[child].fold]

    def _is_leaf(self, key: str) -> bool:
        return self.boxes.is_leaf(self.units[key]) or len(self.units[key].ops) < 2

    # How it is seen

    def scale(self, opened: Iterable[str]) -> float:
        """The scale of the picture in the room that suits it best."""
        self._open = {*opened}
        width, height = self._size(ROOT)
        return max(min(wide / width, high / height) for wide, high in self._rooms)

    def _size(self, key: str) -> tuple[float, float]:
        unit = self.units[key]
        if key not in self._open:
            return unit.size
        placed = self._inside(key)
        if key == ROOT:
            return placed.width, placed.height
        return max(placed.width + 2 * PADDING, title_width(unit)), placed.height + 2 * PADDING + TITLE

    def fits(self, opened: Iterable[str]) -> bool:
        """Whether one of the rooms shows all of it, with letters of ten pixels."""
        return self.scale(opened) >= 1.0

    def _judge(self) -> Judged:
        scale = self.scale(self.first)
        hidden = self._hidden()
        if scale < 1.0:  # on a slim stage what is not complete is better if it is only too high
            across = self._slim and self._size(ROOT)[0] <= self._rooms[0][0]
            return Judged(False, bool(across), scale, 0, scale)
        return Judged(True, hidden <= HIDDEN, 1.0 - hidden, len(self.first), scale)

    def _hidden(self) -> float:
        """The largest share of the parameters that closed boxes of one kind hide, if no box of that kind is open."""
        seen = {self.boxes.alike(self.units[key]) for key in self.first}
        total = (
            self.boxes.numbers({leaf for child in self.units[ROOT].children for leaf in self.units[child].leaves}) or 1
        )
        hiding: dict[object, set[str]] = {}
        inside = [child for key in self.first for child in self.units[key].children]
        for unit in (self.units[child] for child in inside if child not in self.first):
            if unit.kind == "module" and not self._is_leaf(unit.key) and self.boxes.alike(unit) not in seen:
                hiding.setdefault(self.boxes.alike(unit), set()).update(unit.leaves)
        return max(map(self.boxes.numbers, hiding.values()), default=0) / total

    # How each box is laid out

    def _inside(self, key: str) -> Placed:
        """The layout inside a box, for what is open in it now."""
        unit = self.units[key]
        units = [self.units[child] for child in unit.children]
        sizes = [self._size(child) for child in unit.children]
        steps = self._unrolled and self._runs_again(units) and self._direction != "TB" and not self._valley(unit)
        self.repeats = self.repeats or steps
        in_a_row = steps or self._in_a_row(unit, sizes)
        if key == ROOT and self._direction is None:  # what goes in and out follows the model
            model = next((unit for unit in units if unit.call == 0), None)
            if model is not None:
                inner = [self._size(child) for child in model.children]
                again = self._unrolled and self._runs_again([self.units[child] for child in model.children])
                in_a_row = again or self._in_a_row(model, inner)
        parts = [self._part(unit, size) for unit, size in zip(units, sizes, strict=True)] if steps else []
        pairs: tuple[tuple[int, int], ...] = ()
        if self._direction is None and (in_a_row or key == ROOT):
            pairs = tuple(_given(units, unit.links, ("module",) if in_a_row else RUNNING))
        form = tuple(parts), tuple(sizes), tuple(unit.links), in_a_row, pairs, self._most(unit)
        if form not in self._known:
            self._known[form] = replace(self._laid_out(unit, sizes, parts, in_a_row, pairs), sizes=sizes)
        return self._known[form]

    def _laid_out(
        self,
        unit: Unit,
        sizes: list[tuple[float, float]],
        steps: Sequence[Part],
        in_a_row: bool,
        given: Sequence[tuple[int, int]],
    ) -> Placed:
        if steps and (columns := unrolled(steps, unit.links)):
            return columns
        snug = bool(self.snug)
        most = self._most(unit)
        wrap = 0.0 if math.isinf(most) else most
        placed = laid_out(sizes, unit.links, in_a_row, snug, wrap)
        if given and in_a_row and placed.width > min(self._rooms)[0]:
            placed = laid_out(sizes, unit.links, True, snug, 0.0, given)
        elif not in_a_row:
            ends = [(tail, head) for tail, head in unit.links if self.units[unit.children[head]].kind == "value"]
            above = _given([self.units[child] for child in unit.children], unit.links, ("module", *RUNNING))
            # An input above its user, in one row or in several; or, downward, a result beside what made it. This saves
            # a rank, and what then only just fits may not fit another stage than the one that is known.
            near = self._exact and self._has_room(placed, RANK)
            more = ((False, wrap, above), (False, 0.0, ends)) if near else ()
            for row, most, level in ((True, 0.0, given), *more):
                if level and not self._has_room(placed):
                    tried = laid_out(sizes, unit.links, row, snug, most, level)
                    placed = tried if self._has_room(tried) else placed
        if self._layers is not None:
            widest = self._layers if unit.key == ROOT else self._across + 2 * LANE
            if placed.width > widest and (order := downward(sizes, unit.links, widest)):
                placed = laid_out(sizes, unit.links, False, snug, 0.0, layers=order)
        return placed

    def _has_room(self, placed: Placed, beyond: float = 0.0) -> bool:
        return any(placed.width <= wide + beyond and placed.height <= high + beyond for wide, high in self._rooms)

    def _most(self, unit: Unit) -> float:
        depth = self.boxes.depth(unit)
        return 0.0 if depth < self._columns else max(0.0, self._across - depth * self._frame)

    def _in_a_row(self, unit: Unit, sizes: Iterable[tuple[float, float]]) -> bool:
        return sum(width + 34 for width, _ in sizes) <= self._most(unit)

    def _valley(self, unit: Unit) -> bool:
        return self._direction is None and bool(valley(len(unit.children), unit.links))

    def _runs_again(self, units: Iterable[Unit]) -> bool:
        called = (unit for unit in units if unit.kind == "module" and not unit.fold)
        again = Counter(unit.title for unit in called if self.boxes.about(unit).get("class") not in LISTS)
        return max(again.values(), default=0) >= LEAST

    def _part(self, unit: Unit, size: tuple[float, float]) -> Part:
        runs = unit.kind in ("module", *RUNNING)
        return Part(size, unit.title if runs else "", runs, unit.kind == "module" and bool(self.boxes.weight(unit)))


def _given(units: list[Unit], links: list[tuple[int, int]], kinds: Sequence[str]) -> list[tuple[int, int]]:
    """The positions (input, box) where a box of these kinds has one input, and the input no other user."""
    uses = Counter(tail for tail, _ in links)
    pairs = [(tail, head) for tail, head in links if units[tail].kind == "input" and units[head].kind in kinds]
    taken = Counter(head for _, head in pairs)
    return [(tail, head) for tail, head in pairs if uses[tail] == taken[head] == 1]
