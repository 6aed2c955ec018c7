"""What was seen while a program ran, as light data: ops, values, leaves, passes and steps. It keeps no tensor alive."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from viz.diagnosis.places import Places, indexed, once

FEW = 2  # passes at each end of a loop that are walked


@dataclass(slots=True)
class Seen:
    """One value: a tensor as one op left it."""

    nr: int
    op: int | None  # the op that made it; None if it existed before, or came from outside
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    peak: float | None  # the largest magnitude; nan if it holds a nan, None if not examined
    low: float | None  # the smallest number
    line: int | None = None  # where it was made, or first seen
    base: int | None = None  # the value whose memory it uses
    leaf: int | None = None  # the leaf whose value it is
    name: str = ""
    grad: float | None = None  # the largest magnitude of the last gradient that arrived at it
    of_grad: int | None = None  # the leaf whose `.grad` it is

    @property
    def finite(self) -> bool:
        """True if all of its numbers are finite, as far as they were examined."""
        return self.peak is None or math.isfinite(self.peak)

    @property
    def floating(self) -> bool:
        """True if it holds floating-point numbers: no other tensor can have a gradient."""
        return "float" in self.dtype


class Standing:
    """What ran in lines of the program: `stack`, the innermost first."""

    __slots__ = ()
    stack: tuple[int, ...]

    @property
    def line(self) -> int | None:
        """The innermost line; None where none of the program's ran."""
        return self.stack[0] if self.stack else None


@dataclass(slots=True)
class Ran(Standing):
    """One op that ran, recorded by autograd or not."""

    nr: int
    name: str  # however the program spelled it: see `families.canonical`
    stack: tuple[int, ...]
    where: tuple[str, int] | None  # file and line, where the code that ran is the user's but not the program's text
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    recorded: bool
    grad_on: bool
    inference: bool = False
    owner: int | None = None  # the module whose forward ran it
    library: bool = False  # whether that is a module of the engine itself
    in_place: bool = False
    options: dict[str, Any] = field(default_factory=dict)  # numbers, words and flags that the call was given
    step: int = 0  # how many optimizer steps there had been
    node: str = ""  # the name of the node that was recorded
    called: str = ""  # its name as the program spelled it
    read: tuple[int, ...] = ()  # of its inputs, those that the forward of a Function read without being given them


@dataclass(slots=True)
class Exit:
    """A value that left the engine: `item()`, `numpy()`, a Python condition."""

    name: str
    value: int
    line: int | None
    op: int  # the number of ops before it
    number: float | None = None


@dataclass
class Leaf:
    """A tensor that collects gradients, or that an optimizer holds, and what happened to it."""

    nr: int
    name: str
    shape: tuple[int, ...]
    requires_grad: bool
    line: int | None
    parameter: bool = False
    by_hand: bool = False  # made by a Parameter(…) in the program's own text
    holder: int | None = None  # the module that it is a parameter of
    held: list[int] = field(default_factory=list)  # optimizers that hold it
    values: list[int] = field(default_factory=list)
    used_by: list[int] = field(default_factory=list)  # the first ops that took it
    gradients: list[tuple[int, float]] = field(default_factory=list)  # pass, largest magnitude
    reached_unwatched: bool = False  # whether a gradient came in a pass that was not watched, or by hand
    asked: bool = False  # whether the program read its `.grad`
    frozen_at: int | None = None  # line that switched its requires_grad off
    writes: list[Write] = field(default_factory=list)

    @property
    def known(self) -> bool:
        """Whether it was trained before, or loaded."""
        return bool(self.gradients) or any(write.name == "load_state_dict" for write in self.writes)


@dataclass(slots=True)
class Write:
    """A write into a leaf: by an optimizer, an initialiser, or a line of the program."""

    kind: str  # step | init | update | write
    name: str
    line: int | None
    after: int  # passes there had been
    order: int
    ascent: bool = False


@dataclass(eq=False)
class Through(Standing):
    """One backward pass."""

    nr: int
    kind: str  # backward | grad
    stack: tuple[int, ...]
    retain: bool
    create: bool
    ops: int  # the number of ops before it
    order: int
    step: int
    roots: list[int] = field(default_factory=list)
    loss: float | None = None
    raised: str = ""
    done: bool = False
    got: dict[int, float] = field(default_factory=dict)  # leaf -> largest magnitude
    reached: list[tuple[int, float]] = field(default_factory=list)  # values, in the order that gradients came to them
    stale: set[int] = field(default_factory=set)  # leaves whose .grad a step had used already and that was added to
    used: bool = False  # whether a step has used any gradient that it brought


@dataclass
class Moment(Standing):
    """An event between the ops, in order: zero, clip, step, update, train, eval."""

    kind: str
    stack: tuple[int, ...]
    order: int
    passes: int  # there had been
    ops: int  # likewise
    who: int = -1  # the optimizer or module, or the leaf of an update
    empty: bool = False  # step, clip: no leaf that it holds, or is given, has a gradient other than zero
    stale: tuple[int, ...] = ()  # step, update: leaves whose gradient holds what a step before had used
    left: float | None = None  # clip: the largest number that it left
    uphill: bool | None = None  # step: whether it went along the gradients that the pass brought, and not against them
    thrown: tuple[int, ...] = ()  # zero: passes whose gradients no step had used


@dataclass
class Held(Standing):
    """An optimizer: what it is, where it was made and which leaves it holds."""

    nr: int
    kind: str
    stack: tuple[int, ...]
    maximises: bool = False
    leaves: list[int] = field(default_factory=list)
    known: int = 0  # leaves that were known when it was made


@dataclass
class Part(Standing):
    """A module: its class, where it was made, its path, and what it is doing."""

    nr: int
    kind: str
    stack: tuple[int, ...]
    library: bool
    path: str = ""
    training: bool = True
    called: int = 0
    parents: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    registered: bool = True  # False: found in a plain list or dict of a module
    attribute: str = ""  # the plain attribute it is kept in
    names: list[str] = field(default_factory=list)  # under which one module holds it


@dataclass
class Kept:
    """A variable that keeps values of earlier steps, with their graphs."""

    name: str
    line: int | None  # that adds to it
    counts: list[int]  # how many such values it kept, each time that it was looked at after one more pass
    passes: int  # there had been when it was looked at last
    values: list[int]  # that it kept then


@dataclass
class FunctionCheck:
    """A custom Function's backward compared with numerical derivatives of its forward."""

    name: str
    line: int | None  # of its backward
    call: int | None
    worst: float  # the largest difference, relative to the size of the gradient
    flat: bool  # the forward is flat where it was asked, as round() is
    identity: bool  # the forward gives back its input
    opposite: bool
    missing: bool  # None where the numbers say otherwise
    second: bool  # the gradient is right, and its own derivative is not
    scale: float | None  # what backward multiplies by, where the forward hands its input on
    text: str


@dataclass(slots=True)
class Alias:
    """A module's own state_dict(), not copied, and loaded again after steps."""

    line: int | None  # that took the state
    used: int | None  # that loaded it
    text: str


def by_line(things: Iterable[Any]) -> dict[int | None, list[Any]]:
    """Things by their lines, those of a line in order."""
    return indexed((thing.line, thing) for thing in things)


def first_and_last(passes: Iterable[Through]) -> list[Through]:
    """The first and the last passes of each line: a loop repeats itself."""
    lines = by_line(passes).values()
    return [each for own in lines for each in (own if len(own) <= 2 * FEW else own[:FEW] + own[-FEW:])]


@dataclass
class Observation:
    """Everything that was seen in one run."""

    engine: str
    places: Places
    ops: list[Ran] = field(default_factory=list)
    values: list[Seen] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    passes: list[Through] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    optimizers: list[Held] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    functions: list[FunctionCheck] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    # value that is no leaf, line that read its `.grad`
    asked_in_vain: list[tuple[int, int]] = field(default_factory=list)
    asked_unrequired: dict[int, int] = field(default_factory=dict)  # likewise, of values without requires_grad
    hooks: list[tuple[int, int | None]] = field(default_factory=list)  # leaf that the program put a hook on, line
    aliases: list[Alias] = field(default_factory=list)
    warned: list[tuple[str, int | None]] = field(default_factory=list)  # what NumPy said of numbers not finite, line
    troubles: list[str] = field(default_factory=list)  # errors of the observer itself
    error: dict[str, Any] | None = None
    left_thread: bool = False  # whether the program has started a thread, in which nothing is seen
    cut: bool = False  # True if a part of the program ran unwatched: see `watching.watch.Watch.weigh`
    unwatched: int = 0  # backward passes in such parts
    steps: int = 0

    @cached_property
    def _users(self) -> dict[int, list[Ran]]:
        return indexed((source, op) for op in self.ops for source in dict.fromkeys(op.inputs))

    @cached_property
    def _at(self) -> dict[int | None, list[Ran]]:
        return by_line(self.ops)

    @cached_property
    def _steps(self) -> list[Moment]:
        return sorted((moment for moment in self.moments if moment.kind == "step"), key=lambda moment: moment.order)

    @cached_property
    def backwards(self) -> list[Through]:
        """The backward passes that came to their end."""
        return [each for each in self.passes if each.kind == "backward" and each.done and each.roots]

    def users(self, nr: int) -> list[Ran]:
        """The ops that took a value, in order. Ask after the run: the index is built once."""
        return self._users.get(nr, [])

    def at(self, line: int | None) -> list[Ran]:
        """The ops of a line, in order; likewise."""
        return self._at.get(line, [])

    @once
    def behind(self, each: Through) -> set[int]:
        """The values that the roots of a pass were computed from."""
        return self.above(each.roots)

    @once
    def recorded(self, each: Through) -> set[int]:
        """The values that a pass goes back through: what was detached on the way is none of them."""
        return self.above(each.roots, lambda value: value.requires_grad)

    def maker(self, value: Seen) -> Ran | None:
        """The op that made a value."""
        return None if value.op is None else self.ops[value.op]

    def inputs(self, value: Seen, past_leaves: bool = True) -> list[Seen]:
        """The values that a value was made from, not by shape alone; none for a leaf, unless `past_leaves`."""
        ends = value.op is None or (value.leaf is not None and value.requires_grad and not past_leaves)
        ends = ends or self.ops[value.op or 0].name.endswith("_like")
        return [] if ends else [self.values[nr] for nr in self.ops[value.op or 0].inputs]

    def above(
        self, start: Iterable[int], follow: Callable[[Seen], bool] | None = None, past_leaves: bool = False,
        extra: dict[int, list[int]] | None = None,
    ) -> set[int]:  # fmt: skip
        """The values `start` and all that they were computed from; it ends at leaves. `extra`: as in `route`."""
        reached: set[int] = set()
        stack = [self.values[nr] for nr in start]
        while stack:
            value = stack.pop()
            if value.nr not in reached and (follow is None or follow(value)):
                reached.add(value.nr)
                stack += self.inputs(value, past_leaves)
                stack += [self.values[nr] for nr in extra.get(value.nr, ())] if extra else []
        return reached

    def below(self, start: Iterable[int], follow: Callable[[Seen], bool] | None = None) -> set[int]:
        """The values that were computed from the values `start`, themselves included."""
        reached = set(start)
        stack = list(reached)
        while stack:
            results = {nr for op in self.users(stack.pop()) for nr in op.outputs} - reached
            fresh = {nr for nr in results if follow is None or follow(self.values[nr])}
            reached |= fresh
            stack.extend(fresh)
        return reached

    def route(
        self, root: int, goal: Callable[[Seen], bool], extra: dict[int, list[int]] | None = None,
        past_leaves: bool = False, recorded: bool = False,
    ) -> list[int]:  # fmt: skip
        """The shortest chain of values from `root` up to one that is a `goal`; empty where there is none.

        `extra` are further links, from a value to what its numbers came from by way of Python; `past_leaves` goes on
        where an op made a leaf out of other tensors; with `recorded` it leads only through what requires grad.
        """
        before: dict[int, int | None] = {root: None}
        queue = [root]
        for nr in queue:
            value = self.values[nr]
            if goal(value):
                chain = [nr]
                while (behind := before[chain[-1]]) is not None:
                    chain.append(behind)
                return chain[::-1]
            for source in [*self.inputs(value, past_leaves), *(self.values[nr] for nr in (extra or {}).get(nr, ()))]:
                if source.nr not in before and (source.requires_grad or not recorded):
                    before[source.nr] = nr
                    queue.append(source.nr)
        return []

    def trained(self) -> Iterator[Leaf]:
        """The leaves that should learn: those that an optimizer holds or, without one, all that require grad."""
        held = [leaf for leaf in self.leaves if leaf.held]
        yield from held or (leaf for leaf in self.leaves if leaf.requires_grad)

    @once
    def trainings(self) -> list[tuple[int | None, list[Through]]]:
        """Passes by line, with the optimizer that steps after them; of several, only those that no other steers."""
        by_hand = all(each.kind == "grad" for each in self.passes)  # updates from what autograd.grad() gives
        done = (each for each in self.passes if each.done and each.loss is not None)
        own = (each for each in done if each.kind == "backward" or (by_hand and not each.create))
        by_line = indexed(((each.line, self.stepped_by(each)), each) for each in own)
        for key in [key for key in by_line if key[1] is None]:
            known = [other for other in by_line if other[0] == key[0] and other[1] is not None]
            if known:  # the last pass, after which no step was taken
                by_line[known[-1]] += by_line.pop(key)
        every = [(who, own) for (_, who), own in by_line.items()]
        return [(who, own) for who, own in every if len(every) == 1 or not self._steered(who, own)]

    def _steered(self, who: int | None, own: list[Through]) -> bool:
        """Whether the loss of passes depends on what another optimizer changes meanwhile, such as an adversary."""
        makers = [maker for nr in self.behind(own[-1]) if (maker := self.maker(self.values[nr])) is not None]
        taken = {self.values[nr].leaf for op in makers for nr in op.inputs} - {None}
        others = {m.who for m in self.moments if m.kind == "step" and own[0].order < m.order < own[-1].order} - {who}
        return who is None or any(taken & set(self.optimizers[nr].leaves) for nr in others if nr >= 0)

    def stepped_by(self, each: Through) -> int | None:
        """The first optimizer to take a step after a pass."""
        index = bisect.bisect(self._steps, each.order, key=lambda moment: moment.order)
        return self._steps[index].who if index < len(self._steps) else None

    def inside(self, nr: int) -> Iterator[int]:
        """The modules in a module, and in these."""
        for part in self.parts:
            if nr in part.parents and part.nr != nr:
                yield part.nr
                yield from self.inside(part.nr)

    def weights(self, part: Part) -> list[int]:
        """The leaves of a module and of all that is in it."""
        return [leaf for nr in (part.nr, *self.inside(part.nr)) for leaf in self.parts[nr].parameters]

    def origin(self, leaf: Leaf) -> int | None:
        """The line that makes a leaf; for a parameter of the program's own module, the line that names it there."""
        if leaf.holder is not None and not self.parts[leaf.holder].library:
            return self.places.where_given(f"self.{leaf.name.rpartition('.')[2]}") or leaf.line
        own = self.maker(self.values[leaf.values[0]]) if leaf.values and leaf.holder is None else None
        if own is None:
            return leaf.line
        alone = (self.values[weight.values[0]] for weight in self.leaves if weight.values and weight.holder is None)
        makers = (maker for value in alone if (maker := self.maker(value)) is not None)
        others = [maker.stack for maker in makers if maker.line == own.line and maker.stack != own.stack]
        return next((line for line in own.stack if all(line not in stack for stack in others)), own.line) or leaf.line

    def called(self, nrs: Iterable[int]) -> list[str]:
        """The names of leaves, each once."""
        names = [self.leaves[nr].name or f"a tensor of shape {self.leaves[nr].shape}" for nr in nrs]
        return list(dict.fromkeys(names))
