"""Forward mode: dual tensors, the tangents of every op, views and in-place writes, and both orders of nesting.

Each program takes the engine as `T` and runs on tinygrad_edu and on PyTorch; what it returns must be equal, or both must
raise the same type of error with the same opening words.
"""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.both import attempt, leaf, same_on_both, values_of

import tinygrad_edu as T


def plain(value):
    """Nested results as plain data: tensors as lists of rounded numbers, None where there is no tangent."""
    if isinstance(value, T.Tensor | torch.Tensor):
        return (np.round((value.detach() + 0).double().numpy(), 4) + 0).tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def run(program, T):
    try:
        return plain(program(T))
    except Exception as error:
        return type(error).__name__, " ".join(str(error).split()[:5])


def agree(program) -> None:
    ours, theirs = run(program, T), run(program, torch)
    assert ours == theirs


def tangent(T, t):
    return T.autograd.forward_ad.unpack_dual(t).tangent


def dual(T, primal, direction, dtype="float64"):
    kind = getattr(T, dtype)
    return T.autograd.forward_ad.make_dual(T.tensor(primal, dtype=kind), T.tensor(direction, dtype=kind))


# --- the ops ---------------------------------------------------------------------------------------------------------

X = [[0.5, 1.5, 2.0], [1.25, 0.75, 3.0]]
DX = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
Y = [[1.5, -0.5, 0.25], [2.0, 1.0, -1.5]]
DY = [[-1.0, 0.5, 2.0], [1.0, -0.25, 0.75]]


def by_name(name):
    return lambda T, x, y: getattr(T, name)(x)


UNARY = {
    name: by_name(name)
    for name in [
        "neg",
        "abs",
        "sign",
        "reciprocal",
        "sqrt",
        "square",
        "exp",
        "log",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "relu",
        "clone",
        "sum",
        "mean",
        "max",
        "min",
        "t",
        "flatten",
        "squeeze",
    ]
} | {
    "x + 1": lambda T, x, y: x + 1,
    "1 - x": lambda T, x, y: 1 - x,
    "2 / x": lambda T, x, y: 2 / x,
    "x ** 3": lambda T, x, y: x**3,
    "x ** 0": lambda T, x, y: x**0,
    "2 ** x": lambda T, x, y: 2**x,
    "clamp": lambda T, x, y: x.clamp(0.6, 1.6),
    "sum of rows": lambda T, x, y: x.sum(1),
    "sum keepdim": lambda T, x, y: x.sum((0, 1), keepdim=True),
    "mean of columns": lambda T, x, y: x.mean(0),
    "view": lambda T, x, y: x.view(3, 2),
    "reshape of a transpose": lambda T, x, y: x.t().reshape(2, 3),
    "permute": lambda T, x, y: x.permute(1, 0),
    "unsqueeze": lambda T, x, y: x.unsqueeze(1),
    "expand": lambda T, x, y: x.unsqueeze(0).expand(2, 2, 3),
    "select": lambda T, x, y: x[1],
    "slice": lambda T, x, y: x[:, 1:],
    "strided slice": lambda T, x, y: x[:, ::2],
    "index": lambda T, x, y: x[T.tensor([1, 0, 1])],
    "mask": lambda T, x, y: x[x > 1],
    "None": lambda T, x, y: x[None, 0],
    "to float32": lambda T, x, y: x.float(),
    "compare": lambda T, x, y: x > 1,
    "argmax": lambda T, x, y: x.argmax(),
    "to integers": lambda T, x, y: x.long(),
    "detach": lambda T, x, y: x.detach(),
    "data": lambda T, x, y: x.data,
    "a constant": lambda T, x, y: T.ones(2) * 3,
}
BINARY = {
    "x + y": lambda T, x, y: x + y,
    "add alpha": lambda T, x, y: T.add(x, y, alpha=3),
    "x - y": lambda T, x, y: x - y,
    "sub alpha": lambda T, x, y: T.sub(x, y, alpha=3),
    "x * y": lambda T, x, y: x * y,
    "x / y": lambda T, x, y: x / y,
    "x ** y": lambda T, x, y: x**y,
    "maximum": lambda T, x, y: T.maximum(x, y),
    "minimum": lambda T, x, y: T.minimum(x, y),
    "where": lambda T, x, y: T.where(x > 1, x, y),
    "mm": lambda T, x, y: x @ y.t(),
    "mv": lambda T, x, y: x @ y[0],
    "dot": lambda T, x, y: x[0].dot(y[1]),
    "bmm": lambda T, x, y: x.unsqueeze(0) @ y.t().unsqueeze(0),
    "addmm": lambda T, x, y: T.addmm(x[:, :2], x, y.t(), beta=0.5, alpha=2),
    "broadcast": lambda T, x, y: x * y[0] + y[:, :1],
    "x * x": lambda T, x, y: x * x,
}
OPS = UNARY | BINARY


@pytest.mark.outer
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("moving", ["x", "y", "both"])
def test_an_op_pushes_the_tangents_of_its_inputs_on(name: str, moving: str) -> None:
    def program(T):
        with T.autograd.forward_ad.dual_level():
            x = dual(T, X, DX) if moving != "y" else T.tensor(X, dtype=T.float64)
            y = dual(T, Y, DY) if moving != "x" else T.tensor(Y, dtype=T.float64)
            out = OPS[name](T, x, y)
            t = tangent(T, out)
            return out, t, t is not None and t.dtype == out.dtype

    agree(program)


@pytest.mark.parametrize("name", [name for name in OPS if name not in ("compare", "argmax", "to integers", "sign")])
def test_reverse_mode_runs_over_forward_mode_and_forward_over_reverse(name: str) -> None:
    """Both give the derivative of a directional derivative, and PyTorch's numbers."""

    def reverse_over_forward(T):
        x = T.tensor(X, dtype=T.float64, requires_grad=True)
        dx = T.tensor(DX, dtype=T.float64, requires_grad=True)
        y = T.tensor(Y, dtype=T.float64)
        with T.autograd.forward_ad.dual_level():
            t = tangent(T, OPS[name](T, T.autograd.forward_ad.make_dual(x, dx), y))
            return T.autograd.grad((t * t).sum(), [x, dx], allow_unused=True, materialize_grads=True)

    def forward_over_reverse(T):
        y = T.tensor(Y, dtype=T.float64)
        with T.autograd.forward_ad.dual_level():
            x = dual(T, X, DX).requires_grad_()
            (g,) = T.autograd.grad((OPS[name](T, x, y) ** 2).sum(), x)
            return T.autograd.forward_ad.unpack_dual(g)

    agree(reverse_over_forward)
    agree(forward_over_reverse)


# --- dual tensors ----------------------------------------------------------------------------------------------------


def errors(T):
    fw = T.autograd.forward_ad
    one, two, three, whole = T.ones(2), T.ones(2, dtype=T.float64), T.ones(3), T.ones(2, dtype=T.int64)
    return {
        "no level": lambda: fw.make_dual(one, one),
        "unpack without a level": lambda: fw.unpack_dual(one).tangent,
        "exit without a level": lambda: fw.exit_dual_level(),
        "nested": lambda: inside(T, lambda: fw.enter_dual_level()),
        "exit of another level": lambda: inside(T, lambda: fw.exit_dual_level(level=3)),
        "another level": lambda: inside(T, lambda: fw.make_dual(one, one, level=5)),
        "level 0 by its number": lambda: inside(T, lambda: fw.unpack_dual(fw.make_dual(one, one, level=0), level=0)),
        "an integer primal": lambda: inside(T, lambda: fw.make_dual(whole, one)),
        "an integer tangent": lambda: inside(T, lambda: fw.make_dual(one, whole)),
        "another shape": lambda: inside(T, lambda: fw.make_dual(one, three)),
        "another dtype": lambda: inside(T, lambda: str(tangent(T, fw.make_dual(two, one)).dtype).split(".")[1]),
        "dual twice": lambda: inside(T, lambda: fw.make_dual(fw.make_dual(one, one), one)),
    }


def inside(T, body):
    with T.autograd.forward_ad.dual_level():
        return body()


@pytest.mark.parametrize("name", errors(T))
def test_levels_and_duals_are_made_and_refused_as_in_pytorch(name: str) -> None:
    agree(lambda T: errors(T)[name]())
    # Whatever was raised, the level is closed.
    agree(lambda T: T.autograd.forward_ad.unpack_dual(T.ones(1)))
    with T.autograd.forward_ad.dual_level():
        pass


def test_a_dual_is_a_view_of_its_primal_and_carries_the_tangent_itself() -> None:
    def program(T):
        x, t = T.ones(2), T.tensor([3.0, 4.0])
        with T.autograd.forward_ad.dual_level() as level:
            d = T.autograd.forward_ad.make_dual(x, t)
            primal, carried = T.autograd.forward_ad.unpack_dual(d)
            facts = [level, d._is_view(), d._base is x, d.data_ptr() == x.data_ptr(), d.requires_grad, d.is_leaf]
            facts += [carried is t, tangent(T, primal) is None, primal.data_ptr() == x.data_ptr()]
            t.fill_(7.0)
            return [*facts, tangent(T, d)]

    agree(program)


def test_tangents_are_gone_when_their_level_is_closed_and_stay_gone_in_the_next() -> None:
    def program(T):
        with T.autograd.forward_ad.dual_level():
            d = dual(T, [1.0], [2.0])
        after = tangent(T, d)
        with T.autograd.forward_ad.dual_level():
            return after, tangent(T, d), tangent(T, d * 2)

    agree(program)


def test_the_level_is_a_decorator_too() -> None:
    def program(T):
        @T.autograd.forward_ad.dual_level()
        def derivative(x):
            d = T.autograd.forward_ad.make_dual(x, T.ones_like(x))
            return tangent(T, d * d)

        return derivative(T.tensor([3.0])), derivative(T.tensor([5.0]))

    agree(program)


def test_the_level_is_open_for_every_thread() -> None:
    def program(T):
        seen = []
        with T.autograd.forward_ad.dual_level():
            d = dual(T, [1.0], [2.0])
            thread = threading.Thread(target=lambda: seen.append(tangent(T, d * 3)))
            thread.start()
            thread.join()
        return seen

    agree(program)


def test_no_grad_does_not_stop_tangents_and_inference_mode_does() -> None:
    def program(T):
        with T.autograd.forward_ad.dual_level():
            d = dual(T, [1.0], [2.0])
            with T.no_grad():
                first = tangent(T, d * 3)
            with T.inference_mode():
                second = tangent(T, d * 3)
            with T.autograd.forward_ad._set_fwd_grad_enabled(False):
                third = tangent(T, d * 3)
            return first, second, third, tangent(T, d * 3)

    agree(program)


# --- in place and views ----------------------------------------------------------------------------------------------


def write_through_a_view(T):
    p = dual(T, [1.0, 2.0], [1.0, 2.0]).clone()
    v = p[0]
    v.mul_(3)
    return p, tangent(T, p), tangent(T, v)


def write_to_the_base(T):
    p = dual(T, [1.0, 2.0], [1.0, 2.0]).clone()
    v = p[0]
    p.mul_(3)
    return p, tangent(T, p), tangent(T, v)


def a_dual_written_into_a_plain_tensor(T):
    p = T.zeros(3, dtype=T.float64)
    v, other = p[0], p[1:]
    v.copy_(dual(T, 5.0, 2.0))
    return p, tangent(T, p), tangent(T, v), tangent(T, other)


def a_view_made_before_its_base_moves(T):
    p = T.zeros(2, 2, dtype=T.float64)
    row = p[1]
    p.add_(dual(T, [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]))
    return tangent(T, row), tangent(T, p.t()[1])


def assignment_to_a_slice(T):
    p = T.zeros(4, dtype=T.float64)
    p[1:3] = dual(T, [5.0, 6.0], [1.0, 2.0])
    p[0] = 7
    return p, tangent(T, p)


def assignment_to_an_index(T):
    p = dual(T, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).clone()
    p[T.tensor([0, 2])] = dual(T, [5.0, 6.0], [3.0, 4.0])
    return p, tangent(T, p)


def the_tangent_itself_is_written_to(T):
    t = T.tensor([1.0, 2.0])
    d = T.autograd.forward_ad.make_dual(T.ones(2), t)
    d.mul_(3)
    return t, tangent(T, d) is t


def a_result_has_a_tangent_of_its_own(T):
    d = dual(T, [1.0, 2.0], [1.0, 2.0])
    results = []
    for make in (
        lambda: d + 1,
        lambda: d.clone(),
        lambda: d - 0,
        lambda: d.expand(1, 2) + 1,
        lambda: T.add(d, T.ones(1, 1)),
    ):
        y = make()
        y.mul_(5)
        results += [tangent(T, y), tangent(T, d)]
    return results


def layouts(T):
    d = dual(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    moved = T.autograd.forward_ad.make_dual(T.arange(6.0).view(2, 3).t(), T.ones(3, 2))
    every = [d.t(), d.t().exp(), d.expand(2, 2, 3), d.t()[1], moved]
    return [(tangent(T, t), tangent(T, t).stride()) for t in every]


INPLACE = {
    "through a view": write_through_a_view,
    "to the base": write_to_the_base,
    "a dual into a plain tensor": a_dual_written_into_a_plain_tensor,
    "a view made before": a_view_made_before_its_base_moves,
    "a slice": assignment_to_a_slice,
    "an index": assignment_to_an_index,
    "the tangent itself": the_tangent_itself_is_written_to,
    "results of their own": a_result_has_a_tangent_of_its_own,
    "layouts": layouts,
    "a chain": lambda T: tangent(T, dual(T, X, DX).clone().add_(1).mul_(2).exp_().sqrt_().sub_(0.5).div_(3)),
    "plain times dual": lambda T: tangent(T, T.ones(2, 3, dtype=T.float64).mul_(dual(T, X, DX))),
    "zero_": lambda T: tangent(T, dual(T, X, DX).clone().zero_()),
    "fill_": lambda T: tangent(T, dual(T, X, DX).clone().fill_(3)),
    "fill_ with a dual": lambda T: tangent(T, dual(T, X, DX).clone().fill_(dual(T, 1.0, 2.0))),
    "copy_": lambda T: tangent(T, dual(T, X, DX).clone().copy_(dual(T, Y[0], DY[0]))),
    "copy_ of a plain tensor": lambda T: tangent(T, dual(T, X, DX).clone().copy_(T.ones(3))),
    "relu_": lambda T: tangent(T, dual(T, Y, DY).clone().relu_()),
    "pow_": lambda T: tangent(T, dual(T, X, DX).clone().pow_(3)),
    "a tangent that is a leaf": lambda T: T.autograd.forward_ad.make_dual(
        T.ones(2), T.ones(2, requires_grad=True)
    ).mul_(2),
}


@pytest.mark.parametrize("name", INPLACE)
def test_a_write_in_place_is_seen_by_the_tangents_of_all_views(name: str) -> None:
    agree(lambda T: inside(T, lambda: INPLACE[name](T)))


def test_reverse_mode_goes_through_tangents_that_were_written_in_place() -> None:
    def program(T):
        a = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
        da = T.tensor([1.0, 1.0, 2.0], requires_grad=True)
        with T.autograd.forward_ad.dual_level():
            z = T.zeros(3)
            z[1:] = T.autograd.forward_ad.make_dual(a, da)[:2] * a[0]
            t = tangent(T, z)
            return T.autograd.grad((t * t).sum(), [a, da])

    agree(program)


# --- custom Functions ------------------------------------------------------------------------------------------------


def cube(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad_output

        @staticmethod
        def jvp(ctx, x_tangent):
            (x,) = ctx.saved_tensors
            return 3 * x * x * x_tangent

    return Cube


def function(T, forward, jvp, split=False, materialize=True):
    def whole(ctx, *args):
        ctx.set_materialize_grads(materialize)
        return forward(ctx, *args)

    body = {"jvp": staticmethod(jvp), "backward": staticmethod(lambda ctx, *grads: grads)}
    return type("Made", (T.autograd.Function,), {**body, "forward": staticmethod(whole)})


def seen(T, forward, jvp, *arguments, materialize=True):
    """What a Function's jvp is called with, and the tangents of its outputs."""
    calls = []

    def spy(ctx, *tangents):
        calls.append(list(tangents))
        return jvp(ctx, *tangents)

    outputs = function(T, forward, spy, materialize=materialize).apply(*arguments)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return calls, [tangent(T, o) for o in outputs]


def scale_(ctx, a, b):
    ctx.mark_dirty(a)
    return a.mul_(2), a + b


def with_indices(ctx, a):
    indices = a.long()
    ctx.mark_non_differentiable(indices)
    return a * 2, indices


FUNCTIONS = {
    "a number among the arguments": lambda T, d: seen(T, lambda c, x, k: x * k, lambda c, t, k: t * 3, d, 3),
    "a tensor that does not move": lambda T, d: seen(T, lambda c, x, y: x + y, lambda c, t, u: t + u, d, T.ones(2)),
    "integers": lambda T, d: seen(T, lambda c, x, y: x + y, lambda c, t, u: t + 0, d, T.tensor([1, 2])),
    "grads not materialized": lambda T, d: seen(
        T, lambda c, x, y: x + y, lambda c, t, u: t, d, T.ones(2), materialize=False
    ),
    "wrong shape": lambda T, d: seen(T, lambda c, x: x * 2, lambda c, t: T.ones(3), d),
    "wrong number": lambda T, d: seen(T, lambda c, x: x * 2, lambda c, t: (t, t), d),
    "wrong type": lambda T, d: seen(T, lambda c, x: x * 2, lambda c, t: 3.0, d),
    "in place": lambda T, d: seen(T, scale_, lambda c, t, u: (t.mul_(2), t + u), d.clone(), T.ones(2)),
    "in place, jvp not": lambda T, d: seen(T, scale_, lambda c, t, u: (t * 2, t + u), d.clone(), T.ones(2)),
    "not differentiable": lambda T, d: seen(T, with_indices, lambda c, t: (t * 2, None), d),
    "an input as it is": lambda T, d: seen(T, lambda c, x: x, lambda c, t: t, d),
    "an input as it is, and a view": lambda T, d: seen(T, lambda c, x: x, lambda c, t: t.view_as(t), d),
    "a view": lambda T, d: seen(T, lambda c, x: x.view(2, 1), lambda c, t: t.view(2, 1), d),
    "a view, and a copy": lambda T, d: seen(T, lambda c, x: x.view(2, 1), lambda c, t: t.view(2, 1).clone(), d),
    "the cube": lambda T, d: tangent(T, cube(T).apply(d)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jvp_of_a_function_gets_and_gives_tangents_as_in_pytorch(name: str) -> None:
    agree(lambda T: inside(T, lambda: FUNCTIONS[name](T, dual(T, [1.0, 2.0], [3.0, 4.0], "float32"))))


def test_a_jvp_that_gives_no_tangent_for_an_output_that_has_one_is_an_error() -> None:
    for T_ in (T, torch):
        with T_.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError):
            function(T_, lambda c, x: x * 2, lambda c, t: None).apply(dual(T_, [1.0], [1.0]))


def test_a_function_without_jvp_says_so() -> None:
    def program(T):
        class Double(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        with T.autograd.forward_ad.dual_level():
            return Double.apply(dual(T, [1.0], [1.0]))

    agree(program)


def test_the_split_form_has_its_own_saved_tensors_in_jvp() -> None:
    def program(T):
        class Double(T.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_forward(*inputs, output)
                ctx.factor = 2

            @staticmethod
            def jvp(ctx, t):
                x, y = ctx.saved_tensors
                return [x * t, y * t, t * ctx.factor][ctx.factor]

        with T.autograd.forward_ad.dual_level():
            return tangent(T, Double.apply(dual(T, [1.0], [3.0])))

    agree(program)


def test_both_orders_of_nesting_go_through_a_function() -> None:
    def program(T):
        g = T.tensor([2.0, 3.0], requires_grad=True)
        with T.autograd.forward_ad.dual_level():
            out = cube(T).apply(T.autograd.forward_ad.make_dual(g, T.tensor([1.0, 2.0])))
            (gradient,) = T.autograd.grad(out.sum(), g, create_graph=True)
            (again,) = T.autograd.grad(tangent(T, out).sum(), g)
            return tangent(T, gradient), again

    agree(program)


def test_hooks_see_the_tangent_of_a_gradient_and_grad_keeps_none() -> None:
    def program(T):
        leaf = T.tensor([2.0, 3.0], requires_grad=True)
        heard = []
        with T.autograd.forward_ad.dual_level():
            x = T.autograd.forward_ad.make_dual(leaf, T.ones(2))
            x.register_hook(lambda grad: heard.append(tangent(T, grad)))
            (x * x).sum().backward()
            return heard, leaf.grad, tangent(T, leaf.grad)

    agree(program)


# --- random programs -------------------------------------------------------------------------------------------------

STEPS = [
    lambda T, a, b: a * b,
    lambda T, a, b: a + b.sin(),
    lambda T, a, b: (a - b).tanh(),
    lambda T, a, b: a.t().clone().t() * 0.5,
    lambda T, a, b: a @ b.t() @ b,
    lambda T, a, b: a.sum(0) + b,
    lambda T, a, b: T.where(a > b, a, b * 2),
    lambda T, a, b: a[:, T.tensor([2, 0, 1])],
    lambda T, a, b: a.clone().mul_(b),
    lambda T, a, b: written(a, b),
    lambda T, a, b: T.maximum(a, b.mean(1, keepdim=True)),
    lambda T, a, b: a.reshape(3, 2).reshape(2, 3) + b.view(-1)[0],
]


def written(a, b):
    out = a.clone()
    out[0] = b[1]
    out[:, 1].add_(b[:, 0])
    return out


@pytest.mark.outer
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 5), st.integers(0, 5)), max_size=6))
def test_random_programs_have_pytorchs_tangents(steps: list[tuple[int, int, int]]) -> None:
    def program(T):
        with T.autograd.forward_ad.dual_level():
            values = [dual(T, X, DX), T.tensor(Y, dtype=T.float64), dual(T, Y, DY)]
            for op, i, j in steps:
                values.append(STEPS[op](T, values[i % len(values)], values[j % len(values)]))
            return [tangent(T, v) for v in values]

    agree(program)


@same_on_both
def test_a_dual_tensor_made_in_inference_mode_carries_no_tangent(T):
    fw = T.autograd.forward_ad
    x = leaf(T)
    with fw.dual_level():
        with T.inference_mode():
            dual = fw.make_dual(x, T.ones(3, dtype=T.float64))
        return fw.unpack_dual(dual).tangent, fw.unpack_dual(x).tangent


@same_on_both
def test_an_expanded_tensor_has_no_tangent_of_its_own(T):
    fw = T.autograd.forward_ad
    x = T.ones((), dtype=T.float64)
    with fw.dual_level():
        refused = attempt(lambda: fw.make_dual(x.expand(2), T.ones(2, dtype=T.float64)))
        alike = fw.make_dual(x.expand(2), x.expand(2))
        through = fw.make_dual(x, x).expand(2)
        return refused, [values_of(fw.unpack_dual(fw.unpack_dual(d).tangent).primal) for d in (alike, through)]


def test_the_tangent_of_a_tensor_times_itself_in_place_is_that_of_its_square() -> None:
    """PyTorch 2.13 gives another number here: see docs/differences.md."""
    fw = T.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(T.tensor([3.0]), T.tensor([0.5]))
        assert fw.unpack_dual(x.mul_(x)).tangent.tolist() == [3.0]


@same_on_both
def test_what_is_detached_in_place_carries_no_tangent_and_what_is_detached_does(T):
    fw, found = T.autograd.forward_ad, []
    with fw.dual_level():
        x = fw.make_dual(leaf(T), T.ones(3, dtype=T.float64))
        for name in ("detach", "detach_"):
            y = x * 2
            getattr(y, name)()
            found.append(fw.unpack_dual(y).tangent)
            found.append(fw.unpack_dual((x * 2).detach()).tangent)
            y.add_(x.detach())
            found.append(fw.unpack_dual(y.clone()).tangent)
    return [None if t is None else values_of(t) for t in found]


@same_on_both
def test_a_jvp_answers_for_views_writes_and_outputs_without_a_tangent_as_forward_did(T):
    def refused(forward, jvp, *arguments, of=lambda x: x):
        with T.autograd.forward_ad.dual_level():
            dual = T.autograd.forward_ad.make_dual(leaf(T), T.ones(3, dtype=T.float64))
            return attempt(lambda: seen_tangents(T, function(T, forward, jvp).apply(of(dual), *arguments)))

    def part(ctx, x):
        return x[:2]

    def doubled_(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def with_copy(ctx, x, y):
        ctx.mark_non_differentiable(copy := x.clone())
        return x * 2, copy, y

    return {
        "a view": refused(part, lambda ctx, t: t[:2]),
        "no view": refused(part, lambda ctx, t: t[:2].clone()),
        "a view of another": refused(part, lambda ctx, t: t.clone()[:2]),
        "a view of another, of a view": refused(part, lambda ctx, t: t.clone()[:2], of=lambda x: x.view_as(x)),
        "written": refused(doubled_, lambda ctx, t: t.mul_(2), of=lambda x: x.clone()),
        "not written": refused(doubled_, lambda ctx, t: t, of=lambda x: x.clone()),
        "another": refused(doubled_, lambda ctx, t: t * 2, of=lambda x: x.clone()),
        "none": refused(with_copy, lambda ctx, t, _: (t * 2, None, None), 5),
        "for what has none": refused(with_copy, lambda ctx, t, _: (t * 2, t, None), 5),
        "for what is no tensor": refused(with_copy, lambda ctx, t, _: (t * 2, None, t), 5),
    }


def seen_tangents(T, outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return [T.autograd.forward_ad.unpack_dual(t).tangent for t in outputs if isinstance(t, T.Tensor)]


@same_on_both
def test_a_tangent_carries_no_tangent_of_its_own(T):
    x, t = leaf(T).detach(), T.ones(3, dtype=T.float64)
    with T.autograd.forward_ad.dual_level():
        dual = T.autograd.forward_ad.make_dual(x, t)
        return attempt(lambda: T.autograd.forward_ad.make_dual(x * 2, dual))


def test_a_result_with_a_tangent_is_not_written_into_out() -> None:
    with T.autograd.forward_ad.dual_level():
        dual = T.autograd.forward_ad.make_dual(T.ones(2), T.ones(2))
        for first, out in ((dual, T.ones(2)), (T.ones(2), dual)):
            with pytest.raises(NotImplementedError, match="it is an out= function"):
                T.add(first, T.ones(2), out=out)
