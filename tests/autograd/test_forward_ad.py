"""Forward mode: dual tensors, the tangents of every op, views and in-place writes, and both orders of nesting."""

import threading

import pytest
import torch
from support.both import attempt, leaf, same_on_both, values_of

import tinygrad_edu as T


def plain(value):
    """Numbers alone, of tensors in lists and tuples: what carries a tangent has other views on each engine."""
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return values_of(value) if hasattr(value, "detach") else value


def tangent(T, t):
    return T.autograd.forward_ad.unpack_dual(t).tangent


def dual(T, primal, direction, dtype="float64"):
    kind = getattr(T, dtype)
    return T.autograd.forward_ad.make_dual(T.tensor(primal, dtype=kind), T.tensor(direction, dtype=kind))


X = [[0.5, 1.5, 2.0], [1.25, 0.75, 3.0]]
DX = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
Y = [[1.5, -0.5, 0.25], [2.0, 1.0, -1.5]]
DY = [[-1.0, 0.5, 2.0], [1.0, -0.25, 0.75]]
UNARY = "neg abs sign reciprocal sqrt square exp log sin cos tanh sigmoid relu clone sum mean max min t flatten squeeze"
OPS = """x + 1; 1 - x; 2 / x; x**3; x**0; 2**x; x.clamp(0.6, 1.6); x.sum(1); x.sum((0, 1), keepdim=True); x.mean(0);
x.view(3, 2); x.t().reshape(2, 3); x.unsqueeze(0).expand(2, 2, 3); x[1:, ::2]; x[T.tensor([1, 0, 1])]; x[x > 1];
x[None, 0]; x.float(); x > 1; x.argmax(); x.long(); x.detach(); x.data; T.ones(2) * 3; x + y; T.add(x, y, alpha=3);
x - y; T.sub(x, y, alpha=3); x * y; x / y; x**y; T.maximum(x, y); T.minimum(x, y); T.where(x > 1, x, y); x @ y.t();
x @ y[0]; x[0].dot(y[1]); x.unsqueeze(0) @ y.t().unsqueeze(0); T.addmm(x[:, :2], x, y.t(), beta=0.5, alpha=2);
x * y[0] + y[:, :1]; x * x"""
OPS = [*OPS.replace("\n", " ").split("; "), *(f"T.{name}(x)" for name in UNARY.split())]
CONSTANT = ("x > 1", "x.argmax()", "x.long()", "T.sign(x)")


def computed(op, T, x, y):
    return eval(op, {"T": T, "x": x, "y": y})


@pytest.mark.parametrize("op", OPS)
@same_on_both
def test_an_op_pushes_the_tangents_of_its_inputs_on(T, op):
    seen = []
    with T.autograd.forward_ad.dual_level():
        for moving in ("x", "y", "both"):
            x = dual(T, X, DX) if moving != "y" else T.tensor(X, dtype=T.float64)
            y = dual(T, Y, DY) if moving != "x" else T.tensor(Y, dtype=T.float64)
            out = computed(op, T, x, y)
            t = tangent(T, out)
            seen.append((plain(out), plain(t), t is not None and t.dtype == out.dtype))
    return seen


@pytest.mark.parametrize("op", [op for op in OPS if op not in CONSTANT])
def test_reverse_mode_runs_over_forward_mode_and_forward_over_reverse(op: str) -> None:
    """Both give the derivative of a directional derivative, and PyTorch's numbers."""

    def reverse_over_forward(T):
        x, dx, y = (T.tensor(values, dtype=T.float64).requires_grad_() for values in (X, DX, Y))
        t = tangent(T, computed(op, T, T.autograd.forward_ad.make_dual(x, dx), y.detach()))
        return T.autograd.grad((t * t).sum(), [x, dx], allow_unused=True, materialize_grads=True)

    def forward_over_reverse(T):
        x = dual(T, X, DX).requires_grad_()
        (g,) = T.autograd.grad((computed(op, T, x, T.tensor(Y, dtype=T.float64)) ** 2).sum(), x)
        return T.autograd.forward_ad.unpack_dual(g)

    for order in (reverse_over_forward, forward_over_reverse):
        same_on_both(lambda T, order=order: attempt(lambda: plain(inside(T, lambda: order(T)))))()


ERRORS = """inside(T, lambda: fw.enter_dual_level()); fw.make_dual(one, one); fw.unpack_dual(one).tangent;
inside(T, lambda: fw.exit_dual_level(level=3));
inside(T, lambda: fw.unpack_dual(fw.make_dual(one, one, level=0), level=0));
inside(T, lambda: fw.make_dual(whole, one)); inside(T, lambda: fw.make_dual(one, whole));
inside(T, lambda: fw.make_dual(one, T.ones(3)));
inside(T, lambda: str(tangent(T, fw.make_dual(one.double(), one)).dtype).split(".")[1]);
inside(T, lambda: fw.make_dual(fw.make_dual(one, one), one))"""


def inside(T, body):
    with T.autograd.forward_ad.dual_level():
        return body()


@pytest.mark.parametrize("code", ERRORS.replace("\n", " ").split("; "))
@same_on_both
def test_levels_and_duals_are_made_and_refused_as_in_pytorch(T, code):
    fw, one, whole = T.autograd.forward_ad, T.ones(2), T.ones(2, dtype=T.int64)
    scope = {"T": T, "fw": fw, "one": one, "whole": whole, "inside": inside, "tangent": tangent}
    # Whatever was raised, the level is closed.
    return attempt(lambda: plain(eval(code, scope))), plain(fw.unpack_dual(one))


@same_on_both
def test_a_dual_is_a_view_of_its_primal_and_carries_the_tangent_itself(T):
    x, t = T.ones(2), T.tensor([3.0, 4.0])
    with T.autograd.forward_ad.dual_level() as level:
        d = T.autograd.forward_ad.make_dual(x, t)
        primal, carried = T.autograd.forward_ad.unpack_dual(d)
        facts = [level, d._is_view(), d._base is x, d.data_ptr() == x.data_ptr(), d.requires_grad, d.is_leaf]
        facts += [carried is t, tangent(T, primal) is None, primal.data_ptr() == x.data_ptr()]
        t.fill_(7.0)
        return [*facts, plain(tangent(T, d)), attempt(lambda: T.autograd.forward_ad.make_dual(x * 2, d))]


@same_on_both
def test_tangents_are_there_in_every_thread_and_gone_when_their_level_is_closed(T):
    seen = []
    with T.autograd.forward_ad.dual_level():
        d = dual(T, [1.0], [2.0])
        thread = threading.Thread(target=lambda: seen.append(plain(tangent(T, d * 3))))
        thread.start()
        thread.join()
    seen.append(tangent(T, d))

    @T.autograd.forward_ad.dual_level()
    def as_a_decorator():
        square = dual(T, [3.0], [1.0])
        return plain(tangent(T, square * square)), tangent(T, d), tangent(T, d * 2)

    return seen, as_a_decorator(), as_a_decorator()


@same_on_both
def test_no_grad_does_not_stop_tangents_and_inference_mode_does(T):
    fw, x = T.autograd.forward_ad, leaf(T)
    with fw.dual_level():
        d, seen = dual(T, [1.0], [2.0]), []
        for mode in (T.no_grad, T.inference_mode, lambda: fw._set_fwd_grad_enabled(False)):
            with mode():
                seen.append(plain(tangent(T, d * 3)))
        with T.inference_mode():
            made_inside = fw.make_dual(x, T.ones(3, dtype=T.float64))
        return seen, plain(tangent(T, d * 3)), tangent(T, made_inside), tangent(T, x)


# Each line is a program. `d` has tangents, `fw` is the module; what it shows is `seen`.
INPLACE = """p = d.clone(); v = p[0]; v.mul_(3); seen = p, t(p), t(v)
p = d.clone(); v = p[0]; p.mul_(3); seen = p, t(p), t(v)
p = o(3); v = p[0]; other = p[1:]; v.copy_(D(5.0, 2.0)); seen = p, t(p), t(v), t(other)
p = o(2, 2); row = p[1]; p.add_(D([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])); seen = t(row), t(p.t()[1])
p = o(4); p[1:3] = D([5.0, 6.0], [1.0, 2.0]); p[0] = 7; seen = p, t(p)
p = D([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).clone(); p[T.tensor([0, 2])] = D([5.0, 6.0], [3.0, 4.0]); seen = p, t(p)
k = T.tensor([1.0, 2.0]); d = fw.make_dual(T.ones(2), k); d.mul_(3); seen = k, t(d) is k
seen = [(y.mul_(5), t(y), t(d)) for y in (d + 1, d.clone(), d - 0, d.expand(1, *d.shape) + 1)]
y = T.add(d, T.ones(1, 1, 1)); seen = y.mul_(5), t(y), t(d)
m = fw.make_dual(T.arange(6.0).view(2, 3).t(), T.ones(3, 2)); seen = t(m), t(m).stride()
seen = [(t(v), t(v).stride()) for v in (d.t(), d.t().exp(), d.t()[1])]
seen = t(d.clone().add_(1).mul_(2).exp_().sqrt_().sub_(0.5).div_(3))
seen = t(T.ones(2, 3, dtype=T.float64).mul_(d)), t(d.clone().zero_()), t(d.clone().fill_(3))
seen = t(d.clone().fill_(D(1.0, 2.0))), t(d.clone().copy_(d[0])), t(d.clone().copy_(T.ones(3)))
seen = t(D([-1.0, 2.0], [3.0, 4.0]).clone().relu_()), t(d.clone().pow_(3))
seen = fw.make_dual(T.ones(2), T.ones(2, requires_grad=True)).mul_(2)"""


@pytest.mark.parametrize("code", INPLACE.splitlines())
@same_on_both
def test_a_write_in_place_is_seen_by_the_tangents_of_all_views(T, code):
    scope = {"T": T, "fw": T.autograd.forward_ad, "o": lambda *shape: T.zeros(*shape, dtype=T.float64)}
    scope |= {"t": lambda x: tangent(T, x), "D": lambda *values: dual(T, *values)}
    with T.autograd.forward_ad.dual_level():
        scope["d"] = dual(T, X, DX)
        return attempt(lambda: exec(code, scope)), plain(scope.get("seen"))


@same_on_both
def test_reverse_mode_goes_through_tangents_that_were_written_in_place(T):
    a, da = leaf(T, 1.0, 2.0, 3.0), leaf(T, 1.0, 1.0, 2.0)
    with T.autograd.forward_ad.dual_level():
        z = T.zeros(3, dtype=T.float64)
        z[1:] = T.autograd.forward_ad.make_dual(a, da)[:2] * a[0]
        t = tangent(T, z)
        return plain(T.autograd.grad((t * t).sum(), [a, da]))


def cube(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x * x

    rule = staticmethod(lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad)
    return type("Cube", (T.autograd.Function,), {"forward": staticmethod(forward), "backward": rule, "jvp": rule})


def function(T, forward, jvp, materialize=True):
    def whole(ctx, *args):
        ctx.set_materialize_grads(materialize)
        return forward(ctx, *args)

    rules = {"forward": whole, "jvp": jvp, "backward": lambda ctx, *grads: grads}
    return type("Made", (T.autograd.Function,), {name: staticmethod(rule) for name, rule in rules.items()})


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
    "an input as it is": lambda T, d: seen(T, lambda c, x: x, lambda c, t: t, d),
    "an input as it is, and a view": lambda T, d: seen(T, lambda c, x: x, lambda c, t: t.view_as(t), d),
    "the cube": lambda T, d: tangent(T, cube(T).apply(d)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@same_on_both
def test_the_jvp_of_a_function_gets_and_gives_tangents_as_in_pytorch(T, name):
    with T.autograd.forward_ad.dual_level():
        return attempt(lambda: plain(FUNCTIONS[name](T, dual(T, [1.0, 2.0], [3.0, 4.0], "float32"))))


def test_a_jvp_that_gives_no_tangent_for_an_output_that_has_one_is_an_error() -> None:
    for T_ in (T, torch):
        with T_.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError):
            function(T_, lambda c, x: x * 2, lambda c, t: None).apply(dual(T_, [1.0], [1.0]))


@same_on_both
def test_a_function_without_jvp_says_so_and_the_split_form_has_its_own_saved_tensors(T):
    class Split(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs, output)

    class WithRule(Split):
        @staticmethod
        def jvp(ctx, t):
            x, y = ctx.saved_tensors
            return x * t + y * t

    with T.autograd.forward_ad.dual_level():
        d = dual(T, [1.0], [3.0])
        return attempt(lambda: Split.apply(d)), plain(tangent(T, WithRule.apply(d)))


@same_on_both
def test_both_orders_of_nesting_go_through_a_function_and_hooks_see_the_tangent_of_a_gradient(T):
    g, x, heard = leaf(T, 2.0, 3.0), leaf(T, 2.0, 3.0), []
    with T.autograd.forward_ad.dual_level():
        out = cube(T).apply(T.autograd.forward_ad.make_dual(g, T.tensor([1.0, 2.0], dtype=T.float64)))
        (gradient,) = T.autograd.grad(out.sum(), g, create_graph=True)
        (again,) = T.autograd.grad(tangent(T, out).sum(), g)
        d = T.autograd.forward_ad.make_dual(x, T.ones(2, dtype=T.float64))
        d.register_hook(lambda grad: heard.append(plain(tangent(T, grad))))
        (d * d).sum().backward()
        return plain([tangent(T, gradient), again]), heard, plain(x.grad), tangent(T, x.grad)


@same_on_both
def test_an_expanded_tensor_has_no_tangent_of_its_own(T):
    fw, x = T.autograd.forward_ad, T.ones((), dtype=T.float64)
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
    found = []
    with T.autograd.forward_ad.dual_level():
        x = T.autograd.forward_ad.make_dual(leaf(T), T.ones(3, dtype=T.float64))
        for name in ("detach", "detach_"):
            y = x * 2
            getattr(y, name)()
            found += [plain(tangent(T, y)), plain(tangent(T, (x * 2).detach()))]
            y.add_(x.detach())
            found.append(plain(tangent(T, y.clone())))
    return found


@same_on_both
def test_a_jvp_answers_for_views_writes_and_outputs_without_a_tangent_as_forward_did(T):
    def answered(forward, jvp, *arguments, of=lambda x: x):
        with T.autograd.forward_ad.dual_level():
            dual = T.autograd.forward_ad.make_dual(leaf(T), T.ones(3, dtype=T.float64))
            return attempt(lambda: seen_tangents(function(T, forward, jvp).apply(of(dual), *arguments)))

    def seen_tangents(outputs):
        return [tangent(T, t) for t in (outputs if isinstance(outputs, tuple) else [outputs]) if hasattr(t, "grad_fn")]

    def part(ctx, x):
        return x[:2]

    def doubled_(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def with_copy(ctx, x, y):
        ctx.mark_non_differentiable(copy := x.clone())
        return x * 2, copy, y

    return {
        "a view": answered(part, lambda ctx, t: t[:2]),
        "no view": answered(part, lambda ctx, t: t[:2].clone()),
        "a view of another": answered(part, lambda ctx, t: t.clone()[:2]),
        "a view of another, of a view": answered(part, lambda ctx, t: t.clone()[:2], of=lambda x: x.view_as(x)),
        "written": answered(doubled_, lambda ctx, t: t.mul_(2), of=lambda x: x.clone()),
        "not written": answered(doubled_, lambda ctx, t: t, of=lambda x: x.clone()),
        "another": answered(doubled_, lambda ctx, t: t * 2, of=lambda x: x.clone()),
        "none": answered(with_copy, lambda ctx, t, _: (t * 2, None, None), 5),
        "for what has none": answered(with_copy, lambda ctx, t, _: (t * 2, t, None), 5),
        "for what is no tensor": answered(with_copy, lambda ctx, t, _: (t * 2, None, t), 5),
    }
