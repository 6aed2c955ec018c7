"""Random programs that use autograd in every way a user can mix, as source text that either engine runs.

`programs()` draws a list of statements. toolbox.py runs them, and holds what they name: `T` is the engine, `log` a list
that hooks write to, `log_hook`, `scaling_hook` and `node_hook` make hooks, `F` holds custom Functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["programs"]

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
    # The variable whose memory it may show; its own name if it shows no other's.
    memory: str
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
        self.forward_mode = False
        # The memory of the tensors that have a hook in common.
        self.together: set[str] = set()
        self.variables: list[Variable] = []

    def pick(self, options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def variable(self) -> Variable:
        # The newest first: programs shrink towards chains, and long programs are not a heap of unrelated ops.
        n = len(self.variables)
        return self.variables[n - 1 - self.draw(st.integers(0, min(n - 1, 5)))]

    def add(self, shape: tuple[int, ...], used: list[Variable], view: bool = False, **flags: bool) -> str:
        """A new variable, computed from others."""
        name = f"v{len(self.variables)}"
        inference = flags.get("inference", False) or any(v.inference for v in used)
        strided = flags.get("strided", False) or any(v.strided for v in used)
        self.variables.append(Variable(name, shape, used[0].memory if view else name, inference, view, strided))
        return name

    def define(self, expression: str, shape: tuple[int, ...], view: bool = False) -> None:
        used = [v for v in self.variables if v.name in re.split(r"\W", expression)]
        scope = self.scope()
        if "saved_tensors" in scope and any(v.view for v in used):
            # A view made under no_grad of what requires grad has no node; what is saved beside it is each rule's business.
            scope = ""
        strided = bool(re.search(r"\.(t|transpose|permute|expand)\(|\.T\b", expression))
        name = self.add(shape, used, view, inference="inference_mode" in scope, strided=strided)
        self.write(f"{name} = {expression}", scope)

    def write(self, line: str, scope: str = "") -> None:
        self.lines.append(f"with {scope}:\n    {line}" if scope else line)

    def scope(self) -> str:
        """Mostly none; else a grad mode, or hooks on what is saved.

        In forward mode no hooks: what is computed for tangents may save as well. And no inference mode: through which
        base a view made there finds its tangent is PyTorch's secret.
        """
        choice = self.draw(st.integers(0, 32))
        if self.forward_mode and choice in (23, 26):
            return ""
        return {
            23: "T.inference_mode()",
            24: "T.no_grad()",
            25: "T.no_grad(), T.enable_grad()",
            26: f"T.autograd.graph.saved_tensors_hooks(*packing('p{len(self.lines)}'))",
            27: "T.autograd.set_detect_anomaly(True)",
            28: "T.set_grad_enabled(False)",
            29: "T.enable_grad()",
            30: "T.inference_mode(False)",
            31: "T.autograd.graph.disable_saved_tensors_hooks('no hooks')",
            32: "T.no_grad(), T.set_grad_enabled(True)",
        }.get(choice, "")

    def label(self) -> str:
        return f"h{len(self.lines)}"

    # --- statements --------------------------------------------------------------------------------------------------

    def leaf(self) -> None:
        shape = self.pick(SHAPES)
        start = self.draw(st.integers(1, 9))
        count = int(np.prod(shape))
        values = np.array([((start + 3 * i) % 11 - 4.3) / 3 for i in range(count)]).reshape(shape).round(3).tolist()
        grad = self.pick(["True", "True", "True", "False"])
        name = f"v{len(self.variables)}"
        self.lines.append(f"{name} = T.tensor({values}, dtype=T.float64, requires_grad={grad})")
        self.variables.append(Variable(name, shape, name))

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
            (f"{n}.unsqueeze(0)", (1, *shape)),
            (f"{n}.expand({', '.join(map(str, (2, *shape)))})", (2, *shape)),
            (f"{n}.detach()", shape),
        ]
        if v.view or not v.strided:
            # How PyTorch lays out what it computes from strided tensors is a matter of its kernels.
            forms += [(f"{n}.view(-1)", (count,)), (f"{n}.reshape({count})", (count,))]
        if shape:
            forms += [
                (f"{n}[0]", shape[1:]),
                (f"{n}[-1]", shape[1:]),
                (f"{n}[1:]", (max(shape[0] - 1, 0), *shape[1:])),
                (f"{n}[::2]", ((shape[0] + 1) // 2, *shape[1:])),
                (f"{n}[..., 0]", shape[:-1]),
                (f"{n}[None]", (1, *shape)),
            ]
        if len(shape) == 2:
            forms += [
                (f"{n}.t()", shape[::-1]),
                (f"{n}.transpose(0, 1)", shape[::-1]),
                (f"{n}.permute(1, 0)", shape[::-1]),
                (f"{n}.T", shape[::-1]),
                (f"{n}[:, 1:]", (shape[0], max(shape[1] - 1, 0))),
                (f"{n}[0, 1:]", (max(shape[1] - 1, 0),)),
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

    def several_views(self) -> None:
        v = self.variable()
        if not v.shape or not 2 <= v.shape[0] <= 3:
            return
        n = v.shape[0]
        expression, shape = self.pick(
            [
                (f"{v.name}.unbind(0)", v.shape[1:]),
                (f"{v.name}.split(1)", (1, *v.shape[1:])),
                (f"{v.name}.chunk({n}, 0)", (1, *v.shape[1:])),
            ]
        )
        scope = self.scope()
        targets = [self.add(shape, [v], True, inference="inference_mode" in scope) for _ in range(n)]
        self.write(f"{', '.join(targets)} = {expression}", scope)

    def in_place(self) -> None:
        v = self.variable()
        if v.inference:
            return
        other = self.variable()
        if other.inference and other.shape != v.shape:
            # Whether that it cannot be saved or that it does not fit is told first is a matter of each kernel.
            return
        if (other is not v and other.memory == v.memory) or (other is v and self.forward_mode):
            # What PyTorch gives where a write changes what it reads depends on the kernel; in forward mode the tangent of
            # `x.mul_(x)` is wrong.
            return
        form = self.draw(st.integers(0, 7))
        if form <= 1:
            line = f"{v.name}.{self.pick(INPLACE_UNARY)}()"
        elif form == 2:
            line = f"{v.name}.{self.pick(['add_', 'sub_', 'mul_', 'fill_', 'pow_'])}(2)"
        elif form == 3:
            target, shape = self.window(v)
            if self.draw(st.booleans()):
                target, _ = self.window(Variable(target, shape, v.memory, view=True, strided=v.strided))
            # Whether reshape copies depends on the strides that a kernel of PyTorch gives its result. A fill through an
            # expanded view is one that PyTorch cannot differentiate twice.
            target = v.name if ".expand" in target or ".reshape" in target else target
            line = f"{target}.{self.pick(['add_', 'mul_', 'sub_', 'fill_'])}(2)"
        elif form == 4 and v.shape:
            # By indices, and by a mask below, an expanded tensor is written to in PyTorch with a warning; we refuse it.
            # And where there is nothing to index PyTorch asks first whether the write is allowed, we whether it fits.
            at = "..." if v.strided or not v.shape[0] else "T.tensor([0])"
            target = self.pick([f"{v.name}[0]", f"{v.name}[1:]", f"{v.name}[...]", f"{v.name}[{at}]"])
            line = f"{target} = {self.pick([other.name if other is not v else '3.0', '2.0'])}"
        elif form == 5 and not v.strided:
            line = self.pick(["{v}.masked_fill_({v} > 0, 2.0)", "{v}[{v} > 0] = 3.0", "{v}.clamp_(min=0.5)"]).format(
                v=v.name
            )
        else:
            line = f"{v.name}.{self.pick(INPLACE_BINARY[: 3 if other is v else 4])}({other.name})"
        self.write(line, self.pick([*[""] * 7, "T.no_grad()"]))

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
                ("Once", f"{v.name}", [v.shape]),
                ("Inner", f"{v.name}", [v.shape]),
                ("Failing", f"{v.name}", [v.shape]),
                ("Both", f"{v.name}", [v.shape, v.shape]),
                ("Drops", f"{v.name}, {other.name}", [v.shape]),
                ("Mixed", f"{v.name}", [v.shape]),
                ("Outer", f"{v.name}", [v.shape]),
                ("Same", f"{v.name}", [v.shape]),
            ]
        )
        targets = [self.add(shape, [v, other], view=True) for shape in shapes]
        self.lines.append(f"{', '.join(targets)} = F.{name}.apply({arguments})")

    def checkpoint(self) -> None:
        v = self.variable()
        if not v.inference:
            self.define(f"checkpoint(F.body, {v.name}, use_reentrant={self.draw(st.booleans())})", v.shape)

    def hook(self) -> None:
        v, other = self.variable(), self.variable()
        form = self.pick(
            [
                "{v}.register_hook(log_hook('{h}'))",
                "{v}.register_hook(scaling_hook('{h}'))",
                "{v}.register_hook(failing_hook('{h}'))",
                "{v}.retain_grad()",
                "{v}.retain_grad()",
                "{v}.grad_fn.register_hook(node_hook('{h}'))",
                "{v}.grad_fn.register_prehook(log_hook('{h}'))",
                "{v}.grad_fn.register_prehook(scaling_prehook('{h}'))",
                "{v}.register_post_accumulate_grad_hook(log_hook('{h}'))",
                "{v}.register_post_accumulate_grad_hook(zeroing_hook('{h}'))",
                "{h} = {v}.register_hook(log_hook('{h}')); {h}.remove()",
                "{v}.grad_fn.register_hook(scaling_node_hook('{h}'))",
                "T.autograd.graph.register_multi_grad_hook([{v}, {w}], log_hook('{h}'))",
                "T.autograd.graph.register_multi_grad_hook([{v}, {w}], log_hook('{h}'), mode='any')",
                "{v}.grad_fn._raw_saved_self.register_hooks(*packing('{h}'))",
                "{v}.grad_fn._raw_saved_result.register_hooks(*packing('{h}'))",
                "T.autograd.graph.increment_version({v})",
                "{v}.register_post_accumulate_grad_hook(stepping_hook('{h}'))",
                "{v}.register_hook(reshaping_hook('{h}'))",
                "{v}.grad_fn.register_hook(failing_node_hook('{h}'))",
                "{v}.grad_fn.register_prehook(failing_hook('{h}'))",
            ]
        )
        if "_raw_saved" in form and any(re.search(r"_\(|version|\] = ", line) for line in self.lines):
            # PyTorch packs what is saved also where it was changed, and then no longer knows: a wrong gradient.
            return
        if "stepping" in form and self.forward_mode:
            # The tangent of a gradient is kept where a formula of PyTorch's happens to keep it.
            return
        if "multi_grad" in form:
            self.together |= {v.memory, other.memory}
        # PyTorch 2.13 itself crashes when a hook is set on a view whose history is out of date: asking for it brings it up.
        self.lines.append(f"{v.name}.grad_fn, {other.name}.grad_fn")
        self.lines.append(form.format(v=v.name, w=other.name, h=self.label()))

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
                    f"{v.name}.data = {v.name}.data * 2",
                    f"{v.name}.grad = {v.name}.detach() * 3",
                    f"{v.name}.data.mul_(2)",
                    f"{v.name} = {v.name} if {v.name}.grad is None else {v.name}.grad.clone()",
                ]
            )
        )

    def backward(self) -> None:
        v = self.variable()
        options = self.pick(
            ["", "", "retain_graph=True", "create_graph=True", f"inputs=[{v.name}]", f"inputs=[{self.variable().name}]"]
        )
        kind = self.draw(st.integers(0, 6))
        if self.draw(st.booleans()) and not second_order(self.lines):
            self.lines.append(f"watch({v.name}, log=log)")
        comma = ", " if options else ""
        if kind in (1, 3) and v.memory in self.together:
            # PyTorch does not count the tensor at which the pass starts among those a hook on several waits for.
            kind = 0
        if kind == 0:
            around = self.draw(st.integers(0, 5))
            line = f"{v.name}.sum().backward({options})"
            self.write(f"in_thread(lambda: {line})" if around == 5 else line, "T.no_grad()" if around == 4 else "")
        elif kind == 1:
            self.lines.append(f"{v.name}.backward(T.ones({list(v.shape)}, dtype=T.float64){comma}{options})")
        elif kind == 2:
            other = self.variable()
            self.lines.append(f"T.autograd.backward([{v.name}.sum(), {other.name}.sum()]{comma}{options})")
        elif kind == 3:
            with_edge = f"T.autograd.graph.get_gradient_edge({v.name})"
            self.lines.append(
                f"T.autograd.backward({with_edge}, T.ones({list(v.shape)}, dtype=T.float64){comma}{options})"
            )
        elif kind == 4:
            self.gradient_of_gradient(v)
        else:
            self.grad(v)

    def grad(self, v: Variable) -> None:
        targets = [self.variable() for _ in range(self.draw(st.integers(1, 3)))]
        form = self.pick(["{}", "{}", "{}", "T.autograd.graph.get_gradient_edge({})"])
        options = self.pick(
            ["", "create_graph=True", "retain_graph=True", "allow_unused=True", "materialize_grads=True"]
        )
        inputs = ", ".join(form.format(t.name) for t in targets)
        call = f"T.autograd.grad({v.name}.sum(), [{inputs}]{', ' if options else ''}{options})"
        names = [self.add(t.shape, []) for t in targets]
        self.lines.append(f"{', '.join(names)}, = [taken(g) for g in {call}]")

    def gradient_of_gradient(self, v: Variable) -> None:
        target = self.variable()
        # What comes out may be expanded.
        name = self.add(target.shape, [], strided=True)
        self.lines.append(f"{name}, = T.autograd.grad({v.name}.sum(), [{target.name}], create_graph=True)")
        self.lines.append(f"({name} * {name}).sum().backward({self.pick(['', 'create_graph=True'])})")

    def tangent(self) -> None:
        v = self.variable()
        if self.forward_mode and not v.inference:
            self.define(f"fw.make_dual({v.name}, tangent({v.name}))", v.shape, view=True)

    def program(self) -> list[str]:
        self.forward_mode = self.draw(st.integers(0, 9)) == 9
        if self.forward_mode:
            self.lines.append("fw.enter_dual_level()")
        for _ in range(self.draw(st.integers(1, 2))):
            self.leaf()
        common = [self.unary, self.binary, self.with_number, self.view]
        rare = [self.reduction, self.where, self.gather, self.function, self.flag, self.leaf, self.several_views]
        rare += [self.checkpoint, *[self.tangent] * 3 * self.forward_mode]
        steps = [*common, *common, *common, *rare, *[self.in_place] * 5, *[self.hook] * 4, *[self.backward] * 2]
        if self.draw(st.integers(0, 2)) == 2:
            # Few kinds of statement, so that they meet: what goes wrong between two of them is rare among thirty.
            steps = [self.pick(steps) for _ in range(self.draw(st.integers(2, 5)))]
        for _ in range(self.draw(st.integers(1, 12))):
            self.pick(steps)()
        self.backward()
        return self.lines


def second_order(lines: list[str]) -> bool:
    """True if the program records a backward pass. The ops in that graph are a rule's own business, not PyTorch's: then
    values are compared, and what is computed from them, but not graphs."""
    return any("create_graph=True" in line for line in lines)


@st.composite
def programs(draw: Any) -> list[str]:
    """A program as a list of statements."""
    return Writer(draw).program()
