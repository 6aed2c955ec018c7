"""Runs a random program, and defines the names in such programs: hooks, packers of saved tensors, custom Functions."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np

from .parity import attempt, error_of, observe, values_of, watch
from .programs import second_order

__all__ = ["execute", "has_huge_numbers"]


def execute(lines: list[str], T: Any) -> Any:
    """Run the statements on engine `T`, one by one: one that raises is noted, and the program goes on.

    Returns what hooks logged, which statements raised, all variables, and in forward mode their tangents.
    """
    log: list[Any] = []
    fw = T.autograd.forward_ad
    names: dict[str, Any] = {
        "T": T, "log": log, "F": functions(T), "watch": watch, "fw": fw, "tangent": lambda t: _tangent(T, t),
        "taken": lambda g: _taken(T, log, g),
        "checkpoint": T.utils.checkpoint.checkpoint, "in_thread": _in_thread, **_hooks(T, log),
    }  # fmt: skip
    errors: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for line in lines:
                try:
                    exec(line, names)
                except Exception as error:
                    errors[line] = error_of(error)
                    for target in line.replace("(", " ").partition("=")[0].replace(",", " ").split():
                        if target.startswith("v") and target[1:].isdigit() and target not in names:
                            names[target] = T.ones(1, dtype=T.float64)
            variables = {k: v for k, v in names.items() if k[0] == "v" and k[1:].isdigit()}
            tangents = {}
            if "fw.enter_dual_level()" in lines:
                tangents = {k: attempt(lambda v=v: _plain_tangent(fw, v)) for k, v in variables.items()}
        finally:
            if "fw.enter_dual_level()" in lines:
                fw.exit_dual_level()
        state = values_and_gradients(variables) if second_order(lines) else observe(variables)
        if any("inference_mode" in line for line in lines):
            # The version that the result of an op on inference tensors starts with depends on PyTorch's kernel.
            for variable in state.get("result", {}).values():
                if isinstance(variable, dict):
                    variable.pop("version", None), variable.pop("base", None)
    return {"errors": errors, "log": log, "tangents": tangents, **state}


def has_huge_numbers(value: Any) -> bool:
    """True if what was observed holds finite numbers so large that the sine of one is all rounding."""
    if isinstance(value, dict):
        return any(has_huge_numbers(v) for v in value.values())
    if isinstance(value, list | tuple):
        return any(has_huge_numbers(v) for v in value)
    return isinstance(value, np.ndarray) and bool((np.isfinite(value) & (np.abs(value) > 1e6)).any())


def _in_thread(action: Any) -> None:
    """Run `action` in a separate thread, and raise here what it raises there."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(action).result()


def _taken(T: Any, log: list[Any], gradient: Any) -> Any:
    """A copy of a gradient. A missing one is noted, and a number takes its place."""
    if gradient is None:
        log.append("no gradient")
        return T.ones(1, dtype=T.float64)
    return gradient.clone()


def _tangent(T: Any, t: Any) -> Any:
    """A tangent in the shape of `t`, of numbers that no rule maps to themselves."""
    values = [((5 * i) % 7 - 2.6) / 4 for i in range(t.numel())]
    return T.tensor(values, dtype=T.float64).reshape(tuple(t.shape))


def _plain_tangent(fw: Any, t: Any) -> Any:
    tangent = None if t is None else fw.unpack_dual(t).tangent
    return None if tangent is None else values_of(fw.unpack_dual(tangent).primal)


def values_and_gradients(variables: dict[str, Any]) -> dict[str, Any]:
    return {
        k: [None if t is None else values_of(t) for t in (v, getattr(v, "grad", None))] for k, v in variables.items()
    }


def _hooks(T: Any, log: list[Any]) -> dict[str, Any]:
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

    def scaling_prehook(label: str) -> Any:
        def hook(grad_outputs: Any) -> Any:
            log.append([label, told(grad_outputs)])
            return tuple(None if g is None else g * 5 for g in grad_outputs)

        return hook

    def failing_hook(label: str) -> Any:
        def hook(grad: Any) -> Any:
            log.append([label, told(grad)])
            raise ValueError("a hook that fails")

        return hook

    def zeroing_hook(label: str) -> Any:
        def hook(leaf: Any) -> None:
            log.append([label, told(leaf.grad)])
            leaf.grad = None

        return hook

    def stepping_hook(label: str) -> Any:
        def hook(leaf: Any) -> None:
            log.append([label, told(leaf.grad)])
            with T.no_grad():
                leaf.sub_(0 if leaf.grad is None else leaf.grad)

        return hook

    def reshaping_hook(label: str) -> Any:
        return lambda grad: grad.unsqueeze(0)

    def failing_node_hook(label: str) -> Any:
        def hook(grad_inputs: Any, grad_outputs: Any) -> Any:
            log.append([label, told(grad_inputs), told(grad_outputs)])
            raise ValueError("a hook that fails")

        return hook

    def packing(label: str) -> Any:
        def pack(t: Any) -> Any:
            log.append([label, "pack", told(t)])
            return [t]

        def unpack(packed: Any) -> Any:
            log.append([label, "unpack"])
            return packed[0]

        return pack, unpack

    return {
        "packing": packing,
        "scaling_prehook": scaling_prehook,
        "failing_hook": failing_hook,
        "failing_node_hook": failing_node_hook,
        "reshaping_hook": reshaping_hook,
        "stepping_hook": stepping_hook,
        "zeroing_hook": zeroing_hook,
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
        """The split form, with an argument that is not a tensor and one without a gradient."""

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

    class Once(Function):
        """Its backward cannot be differentiated again."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        @T.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos()

    class Inner(Function):
        """Runs a pass inside the pass."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            with T.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                return T.autograd.grad(x**3, x, grad)[0]

    class Failing(Function):
        """Its backward raises."""

        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("a rule that fails")

    class Both(Function):
        """A view of its input and something new; and the rule of forward mode."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x.view_as(x), x * x

        @staticmethod
        def backward(ctx, grad_same, grad_square):
            (x,) = ctx.saved_tensors
            return grad_same + 2 * x * grad_square

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent.view_as(tangent), 2 * x * tangent

    class Drops(Function):
        """Has a gradient for only one of its inputs."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b.sum()

        @staticmethod
        def backward(ctx, grad):
            return (grad * ctx.saved_tensors[1].sum() if ctx.needs_input_grad[0] else None), None

    class Mixed(Function):
        """Outputs that are not tensors, or have no gradient, beside one that has."""

        @staticmethod
        def forward(x):
            return "text", x.sin(), None, x > 0

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, text, grad, nothing, mask):
            assert text is None and nothing is None and not mask.any()
            return grad * ctx.saved_tensors[0].cos()

        @classmethod
        def apply(cls, *args):
            return super().apply(*args)[1]

    class Outer(Function):
        """Uses another Function inside, which is not recorded."""

        @staticmethod
        def forward(ctx, x):
            return Square.apply(x) + x

        @staticmethod
        def backward(ctx, grad):
            return Square.apply(grad) * 2

    def body(x):
        return (x * 2).sin().exp()

    kinds = (Square, Exp, Scaled, Two, Same, Double_, Split, Window, Once, Inner, Failing, Both, Drops, Mixed, Outer)
    _FUNCTIONS[T] = SimpleNamespace(body=body, **{kind.__name__: kind for kind in kinds})
    return _FUNCTIONS[T]
