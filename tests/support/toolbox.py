"""Runs the statements of a random program, and holds the names in those of graphs: hooks, packers, custom Functions."""

import functools
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import CodeType, SimpleNamespace
from typing import Any

from .both import told
from .parity import attempt, error_of, observe, values_of, watch

__all__ = ["execute", "is_tensor", "run", "second_order"]


@functools.lru_cache(1000)
def code_of(line: str) -> CodeType:
    """A statement, compiled once for all that run it."""
    return compile(line, "<statement>", "exec")


def run(line: str, scope: dict[str, Any]) -> Any:
    """The error of a statement, or None. What gives several tensors names each of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code_of(line), scope)
        except Exception as error:
            return error_of(error)
    name = line.partition(" = ")[0].rpartition(" ")[2]
    value = scope.get(name)
    if isinstance(value, tuple | list) and any(is_tensor(v) for v in value):
        scope.update({f"{name}{'xyz'[i]}": v for i, v in enumerate(value[:3]) if is_tensor(v)})
        scope[name] = None
    return None


def is_tensor(value: Any) -> bool:
    return hasattr(type(value), "requires_grad_")


def second_order(lines: list[str]) -> bool:
    """True if the program records a backward pass. The ops in that graph are a rule's own business, not PyTorch's: then
    values are compared, and what is computed from them, but not graphs."""
    return any("create_graph=True" in line for line in lines)


def execute(lines: list[str], T: Any) -> Any:
    """What hooks logged, which statements raised, all variables with their graph, and tangents in forward mode."""
    log: list[Any] = []
    fw, dual = T.autograd.forward_ad, "fw.enter_dual_level()" in lines

    def taken(gradient: Any) -> Any:
        """A copy of a gradient. A missing one is noted, and a number takes its place."""
        if gradient is None:
            log.append("no gradient")
        return T.ones(1, dtype=T.float64) if gradient is None else gradient.clone()

    def tangent(t: Any) -> Any:
        """Numbers that no rule maps to themselves, in the shape of `t`."""
        return T.tensor([((5 * i) % 7 - 2.6) / 4 for i in range(t.numel())], dtype=T.float64).reshape(tuple(t.shape))

    def in_thread(action: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(action).result()

    def tangent_of(t: Any) -> Any:
        found = None if t is None else fw.unpack_dual(t).tangent
        return None if found is None else values_of(fw.unpack_dual(found).primal)

    names = {"T": T, "log": log, "own": functions(T), "watch": watch, "fw": fw, "taken": taken, "tangent": tangent}
    names |= {"checkpoint": T.utils.checkpoint.checkpoint, "in_thread": in_thread, **hooks(T, log)}
    errors: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for line in lines:
                if error := run(line, names):
                    errors[line] = error
                    for target in line.replace("(", " ").partition("=")[0].replace(",", " ").split():
                        if re.fullmatch(r"v\d+", target) and target not in names:
                            names[target] = T.ones(1, dtype=T.float64)
            variables = {k: v for k, v in names.items() if re.fullmatch(r"v\d+", k)}
            tangents = {k: attempt(lambda v=v: tangent_of(v)) for k, v in variables.items()} if dual else {}
        finally:
            if dual:
                fw.exit_dual_level()
        if second_order(lines):
            pairs = {k: (v, getattr(v, "grad", None)) for k, v in variables.items()}
            state = {k: [None if t is None else values_of(t) for t in pair] for k, pair in pairs.items()}
        else:
            state = observe(variables)
        if any("inference_mode" in line for line in lines):
            # The version that the result of an op on inference tensors starts with depends on PyTorch's kernel.
            for variable in state.get("result", {}).values():
                if isinstance(variable, dict):
                    variable.pop("version", None), variable.pop("base", None)
    return {"errors": errors, "log": log, "tangents": tangents, **state}


def hooks(T: Any, log: list[Any]) -> dict[str, Any]:
    """What makes hooks: each notes its label and what it was given, and some change it."""

    def maker(result: Callable[..., Any] = lambda *given: None, of: Callable[..., Any] = lambda *given: given) -> Any:
        def make(label: str) -> Any:
            def hook(*given: Any) -> Any:
                log.append([label, *(told(each) for each in of(*given))])
                return result(*given)

            return hook

        return make

    def scaled(factor: int) -> Any:
        return lambda gradients, *rest: tuple(None if g is None else g * factor for g in gradients)

    def fail(*given: Any) -> None:
        raise ValueError("a hook that fails")

    def step(leaf: Any) -> None:
        with T.no_grad():
            leaf.sub_(0 if leaf.grad is None else leaf.grad)

    def packing(label: str) -> Any:
        pack = lambda t: (log.append([label, "pack", told(t)]), [t])[1]  # noqa: E731
        return pack, lambda packed: (log.append([label, "unpack"]), packed[0])[1]

    def grad_of(leaf: Any) -> Any:
        return (leaf.grad,)

    made = {"packing": packing, "log_hook": maker(), "leaf_hook": maker(of=grad_of)}
    made |= {"stepping_hook": maker(step, grad_of)}
    made |= {"scaling_hook": maker(lambda g: g * 2), "scaling_prehook": maker(scaled(5)), "failing_hook": maker(fail)}
    made["scaling_node_hook"] = maker(scaled(3))
    made["reshaping_hook"] = maker(lambda g: g.unsqueeze(0), of=lambda g: ())
    made["zeroing_hook"] = maker(lambda leaf: setattr(leaf, "grad", None), grad_of)
    return made


@functools.cache
def functions(T: Any) -> SimpleNamespace:
    """Custom Functions of every kind, for engine `T`."""
    own: dict[str, Any] = {"body": lambda x: (x * 2).sin().exp()}

    def function(name: str, forward: Any, backward: Any, **others: Any) -> None:
        methods = {"forward": forward, "backward": backward, **others}
        own[name] = type(name, (T.autograd.Function,), {key: staticmethod(method) for key, method in methods.items()})

    def saving(ctx: Any, result: Any, *tensors: Any) -> Any:
        ctx.save_for_backward(*tensors)
        return result

    def two(ctx: Any, a: Any, b: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 2, b.sin()

    def double_(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    def split(ctx: Any, x: Any) -> Any:
        sign = x > 0
        ctx.mark_non_differentiable(sign)
        return saving(ctx, x.clone(), x, sign, None)

    def split_backward(ctx: Any, grad: Any) -> Any:
        x, sign, nothing = ctx.saved_tensors
        assert nothing is None
        return T.where(sign, grad * x, grad)

    def inner_backward(ctx: Any, grad: Any) -> Any:
        with T.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return T.autograd.grad(x**3, x, grad)[0]

    def failing_backward(ctx: Any, grad: Any) -> Any:
        raise ValueError("a rule that fails")

    def both(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        return saving(ctx, (x.view_as(x), x * x), x)

    def drops_backward(ctx: Any, grad: Any) -> Any:
        return (grad * ctx.saved_tensors[1].sum() if ctx.needs_input_grad[0] else None), None

    def mixed_backward(ctx: Any, text: Any, grad: Any, nothing: Any, mask: Any) -> Any:
        assert text is None and nothing is None and not mask.any()
        return grad * ctx.saved_tensors[0].cos()

    def scaled_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]

    def mixed_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def both_jvp(ctx: Any, tangent: Any) -> Any:
        return tangent.view_as(tangent), 2 * ctx.saved_tensors[0] * tangent

    once = T.autograd.function.once_differentiable
    function("Square", lambda ctx, x: saving(ctx, x * x, x), lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    function("Exp", lambda ctx, x: saving(ctx, y := x.exp(), y), lambda ctx, g: g * ctx.saved_tensors[0])
    function("Scaled", lambda x, k, _: x * k, lambda ctx, g: (g * ctx.k, None, None), setup_context=scaled_context)
    function("Two", two, lambda ctx, a, b: (None if a is None else a * 2, None if b is None else b * 5))
    function("Same", lambda ctx, x: x, lambda ctx, g: g * 7)
    function("Double_", double_, lambda ctx, g: g * 2)
    function("Split", split, split_backward)
    function("Window", lambda ctx, x: x.view_as(x), lambda ctx, g: g.clone())
    function("Once", lambda ctx, x: saving(ctx, x.sin(), x), once(lambda ctx, g: g * ctx.saved_tensors[0].cos()))
    function("Inner", lambda ctx, x: saving(ctx, x * x * x, x), inner_backward)
    function("Failing", lambda ctx, x: x + 1, failing_backward)
    function("Both", both, lambda ctx, same, square: same + 2 * ctx.saved_tensors[0] * square, jvp=both_jvp)
    function("Drops", lambda ctx, a, b: saving(ctx, a * b.sum(), a, b), drops_backward)
    function("Outer", lambda ctx, x: own["Square"].apply(x) + x, lambda ctx, g: own["Square"].apply(g) * 2)
    function("Mixed", lambda x: ("text", x.sin(), None, x > 0), mixed_backward, setup_context=mixed_context)
    mixed = own["Mixed"]
    own["Mixed"] = SimpleNamespace(apply=lambda x: mixed.apply(x)[1])
    return SimpleNamespace(**own)
