"""Random programs that use autograd in every way a user can mix, as source text that either engine runs.

`programs()` draws a list of statements; `execute` runs them one by one on an engine. A statement that raises is noted and
the program goes on, so that the state after an error is compared as well. Names in a program: `T` is the engine, `log`
a list that hooks write to, `log_hook`, `scaling_hook` and `node_hook` make hooks, `F` holds custom Functions.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from parity import Raised, error_of, observe, values_of, watch

SHAPES = [(), (1,), (3,), (2, 1), (2, 3), (3, 2), (2, 2), (1, 3)]
UNARY = ["exp", "sin", "cos", "tanh", "sigmoid", "relu", "neg", "abs", "clone", "reciprocal", "square"]
INPLACE_UNARY = ["sin_", "cos_", "tanh_", "sigmoid_", "relu_", "neg_", "abs_", "zero_", "exp_"]
BINARY = ["+", "-", "*", "/"]
INPLACE_BINARY = ["add_", "sub_", "mul_", "copy_"]


@dataclass
class Variable:
    """What the strategy knows of a name in the program it writes."""

    name: str
    shape: tuple[int, ...]
    # Computed from a tensor of inference mode. Whether PyTorch lets such a tensor be written to depends on the kernel.
    inference: bool = False
    # A view; and a tensor whose strides come from a permutation or an expansion, or may do so.
    view: bool = False
    strided: bool = False


class Writer:
    """Writes one program. Every choice is a draw, so that hypothesis can shrink it."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.variables: list[Variable] = []

    def pick(self, options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def variable(self) -> Variable:
        # The newest first: programs shrink towards chains, and long programs are not a heap of unrelated ops.
        n = len(self.variables)
        return self.variables[n - 1 - self.draw(st.integers(0, min(n - 1, 5)))]

    def define(self, expression: str, shape: tuple[int, ...], view: bool = False) -> None:
        name = f"v{len(self.variables)}"
        mode = self.draw(st.integers(0, 24))
        line = f"{name} = {expression}"
        if mode == 24:
            line = f"with T.no_grad():\n    {line}"
        elif mode == 23:
            line = f"with T.inference_mode():\n    {line}"
        used = [v for v in self.variables if v.name in re.split(r"\W", expression)]
        inference = mode == 23 or any(v.inference for v in used)
        strided = any(v.strided for v in used) or bool(re.search(r"\.(t|transpose|permute|expand)\(", expression))
        self.lines.append(line)
        self.variables.append(Variable(name, shape, inference, view, strided))

    # --- statements --------------------------------------------------------------------------------------------------

    def leaf(self) -> None:
        shape = self.pick(SHAPES)
        start = self.draw(st.integers(1, 9))
        count = int(np.prod(shape))
        values = np.array([((start + 3 * i) % 11 - 4.3) / 3 for i in range(count)]).reshape(shape).round(3).tolist()
        grad = self.pick(["True", "True", "True", "False"])
        name = f"v{len(self.variables)}"
        self.lines.append(f"{name} = T.tensor({values}, dtype=T.float64, requires_grad={grad})")
        self.variables.append(Variable(name, shape))

    def unary(self) -> None:
        v = self.variable()
        self.define(f"{v.name}.{self.pick(UNARY)}()", v.shape)

    def binary(self) -> None:
        a, b = self.variable(), self.variable()
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            if len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0]:
                self.define(f"{a.name} @ {b.name}", (a.shape[0], b.shape[1]))
            else:
                self.define(f"{a.name} * 2", a.shape)
            return
        self.define(f"{a.name} {self.pick(BINARY)} {b.name}", shape)

    def with_number(self) -> None:
        v = self.variable()
        form = self.pick(["{} + 2", "{} * 3.0", "1 - {}", "{} ** 2", "{} / 2", "2 / {}", "{} ** 3"])
        self.define(form.format(v.name), v.shape)

    def reduction(self) -> None:
        v = self.variable()
        if v.inference:
            return
        form = self.draw(st.integers(0, 3))
        method = self.pick(["sum", "mean"])
        if form == 0 or not v.shape:
            self.define(f"{v.name}.{method}()", ())
        elif form == 1:
            self.define(f"{v.name}.{method}(0)", v.shape[1:])
        elif form == 2:
            self.define(f"{v.name}.{method}(-1, keepdim=True)", (*v.shape[:-1], 1))
        else:
            self.define(f"{v.name}.{'max' if 0 not in v.shape else 'sum'}()", ())

    def where(self) -> None:
        a, b = self.variable(), self.variable()
        if a.strided or b.strided:
            # In which order PyTorch lays out the result depends on the kernel.
            return
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            a, shape = b, b.shape
        self.define(f"T.where({a.name} > 0, {a.name}, {b.name})", shape)

    def view(self) -> None:
        v = self.variable()
        self.define(*self.window(v), view=True)

    def window(self, v: Variable) -> tuple[str, tuple[int, ...]]:
        """A view of `v`, as an expression and a shape."""
        n, shape = v.name, v.shape
        count = int(np.prod(shape))
        forms: list[tuple[str, tuple[int, ...]]] = [
            (f"{n}.view(-1)", (count,)),
            (f"{n}.unsqueeze(0)", (1, *shape)),
            (f"{n}.reshape({count})", (count,)),
            (f"{n}.expand(2, {', '.join(['-1'] * len(shape))})", (2, *shape)),
            (f"{n}.detach()", shape),
        ]
        if shape:
            forms += [
                (f"{n}[0]", shape[1:]),
                (f"{n}[-1]", shape[1:]),
                (f"{n}[1:]", (shape[0] - 1, *shape[1:])),
                (f"{n}[::2]", ((shape[0] + 1) // 2, *shape[1:])),
                (f"{n}[..., 0]", shape[:-1]),
                (f"{n}[None]", (1, *shape)),
            ]
        if len(shape) == 2:
            forms += [
                (f"{n}.t()", shape[::-1]),
                (f"{n}.transpose(0, 1)", shape[::-1]),
                (f"{n}.permute(1, 0)", shape[::-1]),
                (f"{n}[:, 1:]", (shape[0], shape[1] - 1)),
                (f"{n}[0, 1:]", (shape[1] - 1,)),
            ]
        if 1 in shape:
            forms.append((f"{n}.squeeze()", tuple(s for s in shape if s != 1)))
        return self.pick(forms)

    def gather(self) -> None:
        v = self.variable()
        if not v.shape:
            return self.view()
        first = v.shape[0]
        indices = [self.draw(st.integers(0, max(first - 1, 0))) for _ in range(3)]
        self.define(f"{v.name}[T.tensor({indices})]", (3, *v.shape[1:]))
        return None

    def in_place(self) -> None:
        v = self.variable()
        if v.inference or v.strided:
            return
        form = self.draw(st.integers(0, 5))
        if form <= 1:
            line = f"{v.name}.{self.pick(INPLACE_UNARY)}()"
        elif form == 2:
            line = f"{v.name}.{self.pick(['add_', 'sub_', 'mul_', 'fill_', 'pow_'])}(2)"
        elif form == 3:
            target, _ = self.window(v)
            # Whether reshape copies depends on the strides that a kernel of PyTorch gives its result.
            target = v.name if ".expand" in target or ".reshape" in target else target
            line = f"{target}.{self.pick(['add_', 'mul_', 'sub_', 'fill_'])}(2)"
        elif form == 4 and v.shape:
            other = self.variable()
            target = self.pick([f"{v.name}[0]", f"{v.name}[1:]", f"{v.name}[...]"])
            line = f"{target} = {self.pick([other.name if other is not v else '3.0', '2.0'])}"
        else:
            other = self.variable()
            line = f"{v.name}.{self.pick(INPLACE_BINARY[: 3 if other is v else 4])}({other.name})"
        if self.draw(st.integers(0, 7)) == 7:
            line = f"with T.no_grad():\n    {line}"
        self.lines.append(line)

    def function(self) -> None:
        v, other = self.variable(), self.variable()
        if v.inference:
            return
        name, arguments, shapes = self.pick(
            [
                ("Square", f"{v.name}", [v.shape]),
                ("Exp", f"{v.name}", [v.shape]),
                ("Scaled", f"{v.name}, 3.0, {other.name}", [v.shape]),
                ("Two", f"{v.name}, {other.name}", [v.shape, other.shape]),
                ("Same", f"{v.name}", [v.shape]),
                ("Double_", f"{v.name}", [v.shape]),
                ("Split", f"{v.name}", [v.shape]),
                ("Window", f"{v.name}", [v.shape]),
            ]
        )
        targets = []
        for shape in shapes:
            targets.append(f"v{len(self.variables)}")
            flags = v.inference or other.inference, True, v.strided or other.strided
            self.variables.append(Variable(targets[-1], shape, *flags))
        self.lines.append(f"{', '.join(targets)} = F.{name}.apply({arguments})")

    def hook(self) -> None:
        v = self.variable()
        if v.view:
            return
        label = f"h{len(self.lines)}"
        form = self.pick(
            [
                "{v}.register_hook(log_hook('{h}'))",
                "{v}.register_hook(scaling_hook('{h}'))",
                "{v}.retain_grad()",
                "{v}.grad_fn.register_hook(node_hook('{h}'))",
                "{v}.grad_fn.register_prehook(log_hook('{h}'))",
                "{v}.register_post_accumulate_grad_hook(log_hook('{h}'))",
                "{h} = {v}.register_hook(log_hook('{h}')); {h}.remove()",
                "{v}.grad_fn.register_hook(scaling_node_hook('{h}'))",
            ]
        )
        # PyTorch 2.13 itself crashes when a hook is set on a view whose history is out of date: asking for it brings it up.
        self.lines.append(f"{v.name}.grad_fn")
        self.lines.append(form.format(v=v.name, h=label))

    def flag(self) -> None:
        v = self.variable()
        if v.inference:
            return
        self.lines.append(
            self.pick(
                [
                    f"{v.name}.requires_grad_()",
                    f"{v.name}.requires_grad_(False)",
                    f"{v.name}.grad = None",
                    f"{v.name}.grad.zero_()",
                    f"{v.name} = {v.name}.detach()",
                    f"{v.name} = {v.name}.detach().requires_grad_()",
                    f"{v.name}.detach_()",
                    f"{v.name} = {v.name} if {v.name}.grad is None else {v.name}.grad.clone()",
                ]
            )
        )

    def inputs(self) -> str:
        """Of tensors that are no views: which write to its base a retained view survives is PyTorch's secret."""
        v = self.variable()
        return "" if v.view else f"inputs=[{v.name}]"

    def backward(self) -> None:
        v = self.variable()
        options = self.pick(["", "", "retain_graph=True", "create_graph=True", self.inputs()])
        kind = self.draw(st.integers(0, 3))
        if self.draw(st.booleans()) and not second_order(self.lines):
            self.lines.append(f"watch({v.name}, log=log)")
        if kind == 0:
            self.lines.append(f"{v.name}.sum().backward({options})")
        elif kind == 1:
            comma = ", " if options else ""
            self.lines.append(f"{v.name}.backward(T.ones({list(v.shape)}, dtype=T.float64){comma}{options})")
        elif kind == 2:
            other = self.variable()
            self.lines.append(
                f"T.autograd.backward([{v.name}.sum(), {other.name}.sum()]{', ' if options else ''}{options})"
            )
        else:
            target = self.variable()
            name = f"v{len(self.variables)}"
            options = self.pick(["", "create_graph=True", "retain_graph=True", "allow_unused=True"])
            comma = ", " if options else ""
            self.lines.append(f"{name} = T.autograd.grad({v.name}.sum(), [{target.name}]{comma}{options})[0].clone()")
            self.variables.append(Variable(name, target.shape))

    def program(self) -> list[str]:
        for _ in range(self.draw(st.integers(1, 2))):
            self.leaf()
        common = [self.unary, self.binary, self.with_number, self.view]
        rare = [self.reduction, self.where, self.gather, self.function, self.flag, self.leaf]
        steps = [*common, *common, *common, *rare, *[self.in_place] * 5, *[self.hook] * 3, *[self.backward] * 2]
        for _ in range(self.draw(st.integers(1, 12))):
            self.pick(steps)()
        self.backward()
        return self.lines


@st.composite
def programs(draw: Any) -> list[str]:
    """A program as a list of statements."""
    return Writer(draw).program()


# --- running one -----------------------------------------------------------------------------------------------------


def execute(lines: list[str], T: Any) -> Any:
    """Run the statements on engine `T`; returns what hooks logged, which statements raised, and all variables."""
    log: list[Any] = []
    names: dict[str, Any] = {"T": T, "log": log, "F": functions(T), "watch": watch, **_hooks(log)}
    errors: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            try:
                exec(line, names)
            except Exception as error:
                errors[line] = error_of(error)
                for target in line.replace("(", " ").partition("=")[0].replace(",", " ").split():
                    if target.startswith("v") and target[1:].isdigit() and target not in names:
                        names[target] = T.ones(1, dtype=T.float64)
        variables = {k: v for k, v in names.items() if k[0] == "v" and k[1:].isdigit()}
        state = {"values": values_and_gradients(variables)} if second_order(lines) else observe(variables)
        if any("inference_mode" in line for line in lines):
            # The version that the result of an op on inference tensors starts with depends on PyTorch's kernel.
            for variable in state.get("result", {}).values():
                variable.pop("version", None), variable.pop("base", None)
    return {"errors": errors, "log": log, **state}


def second_order(lines: list[str]) -> bool:
    """True if the program records a backward pass. The ops in that graph are a rule's own business, not PyTorch's: then
    values are compared, and what is computed from them, but not graphs."""
    return any("create_graph=True" in line for line in lines)


def values_and_gradients(variables: dict[str, Any]) -> dict[str, Any]:
    return {
        k: [None if t is None else values_of(t) for t in (v, getattr(v, "grad", None))] for k, v in variables.items()
    }


def _hooks(log: list[Any]) -> dict[str, Any]:
    def told(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return [told(v) for v in value]
        return None if value is None else values_of(value)

    def log_hook(label: str) -> Any:
        return lambda grad: log.append([label, told(grad)])

    def scaling_hook(label: str) -> Any:
        def hook(grad: Any) -> Any:
            log.append([label, told(grad)])
            return grad * 2

        return hook

    def node_hook(label: str) -> Any:
        return lambda grad_inputs, grad_outputs: log.append([label, told(grad_inputs), told(grad_outputs)])

    def scaling_node_hook(label: str) -> Any:
        def hook(grad_inputs: Any, grad_outputs: Any) -> Any:
            log.append([label, told(grad_inputs), told(grad_outputs)])
            return tuple(None if g is None else g * 3 for g in grad_inputs)

        return hook

    return {
        "log_hook": log_hook,
        "scaling_hook": scaling_hook,
        "node_hook": node_hook,
        "scaling_node_hook": scaling_node_hook,
    }


_FUNCTIONS: dict[Any, SimpleNamespace] = {}


def functions(T: Any) -> SimpleNamespace:
    """Custom Functions of every kind, for engine `T`."""
    if T in _FUNCTIONS:
        return _FUNCTIONS[T]
    Function = T.autograd.Function

    class Square(Function):
        """Saves its input."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    class Exp(Function):
        """Saves its output."""

        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    class Scaled(Function):
        """The split form, an argument that is no tensor, and one without a gradient."""

        @staticmethod
        def forward(x, k, unused):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.k, None, None

    class Two(Function):
        """Two outputs, gradients not materialised."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.set_materialize_grads(False)
            return a * 2, b.sin()

        @staticmethod
        def backward(ctx, grad_a, grad_b):
            return (None if grad_a is None else grad_a * 2), (None if grad_b is None else grad_b * 5)

    class Same(Function):
        """Returns its input as it is."""

        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    class Double_(Function):
        """Changes its input in place."""

        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Split(Function):
        """Another output has no gradient."""

        @staticmethod
        def forward(ctx, x):
            sign = x > 0
            ctx.mark_non_differentiable(sign)
            ctx.save_for_backward(x, sign, None)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            x, sign, nothing = ctx.saved_tensors
            assert nothing is None
            return T.where(sign, grad * x, grad)

    class Window(Function):
        """Returns a view of its input."""

        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad.clone()

    kinds = (Square, Exp, Scaled, Two, Same, Double_, Split, Window)
    _FUNCTIONS[T] = SimpleNamespace(**{kind.__name__: kind for kind in kinds})
    return _FUNCTIONS[T]


__all__ = ["Raised", "execute", "programs"]
