"""The data that a picture is drawn from: values and ops as plain data, without any tensor of an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SUMMARY_PAST = 64  # elements; larger arrays are stored as shape, norm, extremes and a small heat-map
MAP_SIDE = 12  # cells along each side of that heat-map


@dataclass
class Array:
    """A copied value: all numbers up to 64 elements, a summary above that."""

    shape: list[int]
    dtype: str
    data: Any = None  # number (a complex one as text, such as `1+2j`) or nested lists; None above 64 elements
    norm: float | None = None
    low: float | None = None
    high: float | None = None
    heat: list[list[float]] | None = None  # means over at most 12 x 12 blocks, rows first

    @property
    def size(self) -> int:
        """The number of elements of the array."""
        count = 1
        for length in self.shape:
            count *= length
        return count


def array_of(data: dict[str, Any] | None) -> Array | None:
    """The array that a recording's `tensors` store as a dict."""
    return None if data is None else Array(**data)


@dataclass
class Value:
    """A tensor as a student thinks of it: something with a name, a value and perhaps a gradient."""

    key: str
    kind: str  # leaf (requires grad) | input (a leaf that does not) | value (of a recorded op) | result (not recorded)
    name: str = ""
    names: list[str] = field(default_factory=list)
    expression: str = ""
    shape: list[int] | None = None
    dtype: str = ""
    device: str = "cpu"
    requires_grad: bool = False
    op: str | None = None  # key of the op that made it
    output_nr: int = 0
    version: int = 0
    shares: str | None = None  # key of the value whose memory this one uses
    how_shared: str = ""  # view | detach | in-place
    accumulate: str | None = None  # key of its AccumulateGrad node
    retains_grad: bool = False
    array: Array | None = None
    grad: Array | None = None  # only when drawn from a live tensor: `.grad` as it is now
    line: int | None = None
    scope: str = ""
    home: str | None = None  # of a leaf: the module that it comes from, not one that it was given to; "" is the program

    @property
    def title(self) -> str:
        """The name to show: that of the variable, else the expression, else the key."""
        return self.name or self.expression or self.key


@dataclass
class Saved:
    """A tensor that an op saves for its backward."""

    name: str  # self, other, result, or 0, 1, … for a custom Function
    value: str | None = None  # key of its value, if known
    shape: list[int] | None = None
    version: int | None = None
    text: str = ""  # its description, if it is not a value of the program: a number that PyTorch wraps
    state: str = "alive"  # alive | freed | packed (a saved_tensors_hook holds it)


@dataclass
class Argument:
    """One argument of a call: a value of the graph, or a number or similar as text."""

    value: str | None = None
    text: str = ""
    keyword: str = ""


@dataclass
class Op:
    """One op: a backward node if the engine recorded it, else only the call that ran."""

    key: str
    name: str  # MulBackward0, or the function's name when not recorded
    function: str = ""  # mul
    recorded: bool = True
    # One per slot of next_functions (None: no known tensor), then inputs that cannot have a gradient: masks, targets.
    inputs: list[str | None] = field(default_factory=list)
    next: list[tuple[str | None, int]] = field(default_factory=list)  # (node key, output_nr) as next_functions has it
    outputs: list[str] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)  # of the call, in order, if the call made only this op
    constants: list[str] = field(default_factory=list)  # the numbers among them
    sequence_nr: int | None = None
    custom: bool = False
    line: int | None = None
    scope: str = ""
    during: str = "forward"  # forward | backward (ops that a backward pass itself recorded)
    module: str = ""  # path of the nn.Module whose forward ran it, such as `model.layers.0`
    turns: dict[str, int] = field(default_factory=dict)  # which call it is of each module that is running, by path
    # Around it, outermost first: number of the loop's run, step from 1.
    loops: list[list[int]] = field(default_factory=list)
    call: int = 0  # number of the call that made it: a call can make several ops
    # Inside a custom Function: the names that the function itself uses for its operands, by the keys of their values.
    called: dict[str, str] = field(default_factory=dict)
    whole: str = ""  # a library function of many ops, shown as one: `SGD.step`, `clip_grad_norm_`
    idle: bool = False  # of a library function: it changed nothing
    # The module calls that it ran in, outermost first, if they are known.
    calls: list[int] = field(default_factory=list)


@dataclass
class Graph:
    """Values and ops in the order in which they were made."""

    values: dict[str, Value] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    note: str = ""  # why the graph shows no more, if it is cut
    modules: dict[str, dict[str, Any]] = field(default_factory=dict)  # by path: what `about_module` says
    # Of modules, in order: `path`, shapes of `inputs`, `outputs`.
    calls: list[dict[str, Any]] = field(default_factory=list)

    def users(self) -> dict[str, list[str]]:
        """The ops that use each value, in order; one that uses it twice stands there twice."""
        users: dict[str, list[str]] = {}
        for op in self.ops.values():
            for key in op.inputs:
                if key is not None:
                    users.setdefault(key, []).append(op.key)
        return users

    def drop_unused(self, kept: set[str | None]) -> None:
        """Leave out the values that no op has and that are not `kept`, such as the tensor a parameter was made from."""
        used = {key for op in self.ops.values() for key in (*op.inputs, *op.outputs)} | kept
        self.values = {key: value for key, value in self.values.items() if key in used}
        for value in self.values.values():
            if value.shares not in self.values:
                value.shares, value.how_shared = None, ""

    def accumulators(self) -> dict[str, Value]:
        """AccumulateGrad node key -> the leaf that it accumulates into."""
        return {value.accumulate: value for value in self.values.values() if value.accumulate}
