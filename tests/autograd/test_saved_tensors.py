"""What nodes keep: hooks that pack and unpack it, checked versions, and changes that are allowed on request."""

import weakref
from operator import methodcaller

from support.both import attempt, failing, leaf, noting, same_on_both, values_of

import tinygrad_edu


def hooks(T, pack, unpack):
    return T.autograd.graph.saved_tensors_hooks(pack, unpack)


@same_on_both
def test_every_saved_tensor_goes_through_the_hooks_in_force(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    with hooks(T, noting(log, "pack", lambda t: t), noting(log, "unpack", lambda t: t)):
        y = (x * w).exp()
    z = y.sin()
    log.append("backward")
    z.sum().backward()
    return log, x.grad, w.grad


@same_on_both
def test_what_is_packed_may_be_anything_also_rounded_and_second_gradients_flow_through_it(T):
    x = leaf(T, 0.1, 0.2, 0.3)
    with hooks(T, lambda t: ("list", t.tolist()), lambda p: T.tensor(p[1], dtype=T.float64)):
        y = (x * x).exp() + x**3
        (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    with hooks(T, lambda t: t.half(), lambda p: p.double()):
        z = x * x
    z.sum().backward()
    return T.autograd.grad(g.sum(), x), values_of(x.grad).round(6)


@same_on_both
def test_the_innermost_hooks_are_used_and_nothing_is_packed_where_nothing_is_recorded_or_saved(T):
    log, x = [], leaf(T)
    with hooks(T, noting(log, "outer", lambda t: t), lambda p: p):
        with hooks(T, noting(log, "inner", lambda t: t), lambda p: p):
            a = x.exp()
        b = a.sin()
        log.append("nothing")
        with T.no_grad():
            x.exp()
        _ = x + 1, T.ones(2).exp(), x.sum(), x.view(-1)
    b.sum().backward()
    return log, x.grad


@same_on_both
def test_pack_and_unpack_run_without_recording(T):
    seen, x = [], leaf(T)

    def noted(t):
        seen.append((T.is_grad_enabled(), (t * 2).requires_grad))
        return t

    with hooks(T, noted, noted):
        y = (x * x).sum()
    T.autograd.grad(y, x, create_graph=True)
    return seen


@same_on_both
def test_pack_may_not_change_its_argument_unpack_gives_a_tensor_and_their_errors_arrive(T):
    x = leaf(T)

    def packed_by(pack):
        with hooks(T, pack, lambda p: p):
            return (x * 1).exp()

    with hooks(T, lambda t: t, failing("unpack")):
        y = x.exp()
    z = packed_by(lambda t: 3.0)
    packing = [attempt(lambda: packed_by(lambda t: t.add_(1))), attempt(lambda: packed_by(failing("pack")))]
    unpacking = [attempt(lambda t=t: t.sum().backward()) for t in (y, z)]
    return packing, unpacking, T.is_grad_enabled(), T.autograd.grad(x.exp().sum(), x)


@same_on_both
def test_a_function_saves_through_the_hooks_too(T):
    log = []

    def backward(ctx, grad):
        x, nothing = ctx.saved_tensors
        log.append((nothing, x.requires_grad, x.is_leaf))
        return 2 * x * grad

    forward = staticmethod(lambda ctx, x: (ctx.save_for_backward(x, None), x * x)[1])
    square = type("Square", (T.autograd.Function,), {"forward": forward, "backward": staticmethod(backward)})
    x = leaf(T)
    with hooks(T, noting(log, "pack", lambda t: t.clone()), noting(log, "unpack", lambda t: t)):
        y = square.apply(x)
    y.sum().backward()
    return log, x.grad


@same_on_both
def test_a_packed_tensor_escapes_the_version_check(T):
    """The hook keeps what was packed: autograd cannot know whether it has changed."""
    x = leaf(T)
    a = x * 1
    with hooks(T, lambda t: t.clone(), lambda p: p):
        y = a * a
    a.add_(1)
    y.sum().backward()
    return x.grad


def test_a_packed_output_keeps_no_graph_alive() -> None:
    with hooks(tinygrad_edu, lambda t: t, lambda p: p):
        y = leaf(tinygrad_edu).exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


@same_on_both
def test_a_file_named_by_what_was_packed_lives_as_long_as_the_graph(T):
    """The tutorial on hooks for saved tensors keeps tensors on disk in this way."""
    watched, x = [], leaf(T)

    def pack(t):
        kept = type("Kept", (), {"values": t.tolist()})()
        watched.append(weakref.ref(kept))
        return kept

    with hooks(T, pack, lambda kept: T.tensor(kept.values, dtype=T.float64)):
        y = (x * x).sum()
    alive = [w() is not None for w in watched]
    y.backward()
    return alive, [w() is not None for w in watched], x.grad


METHODS = "exp relu tanh sigmoid reciprocal sin sum mean clone abs prod norm max"
CHANGED = {
    **{name: methodcaller(name) for name in METHODS.split()},
    "sqrt": lambda x: x.abs().sqrt(),
    "log": lambda x: x.abs().log(),
    "softmax": lambda x: x.softmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "clamp": lambda x: x.clamp(0, 1),
    "x * 2": lambda x: x * 2,
    "x ** 2": lambda x: x**2,
    "x + 1": lambda x: x + 1,
}


@same_on_both
def test_changing_a_result_or_an_input_in_place_is_an_error_where_the_rule_saved_it(T):
    results = {}
    for name, f in CHANGED.items():
        for which in ("input", "result"):
            x = leaf(T)
            a = x * 1
            y = f(a)
            (a if which == "input" else y).add_(1)
            results[name + " " + which] = attempt(lambda y=y: y.sum().backward()), x.grad
    return results


@same_on_both
def test_a_change_is_checked_when_the_value_is_used_and_only_the_factor_that_is_needed_is_kept(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    a = x.exp()
    b = a.sin()
    a.add_(1)
    y = x * c
    with T.no_grad():
        x.add_(1)
    y.sum().backward()
    z = x * c
    c.add_(1)
    used = values_of(T.autograd.grad(b.sum(), b)[0]), attempt(lambda: b.sum().backward())
    return used, x.grad, attempt(lambda: z.sum().backward())


def test_the_message_names_the_op_and_both_versions() -> None:
    y = leaf(tinygrad_edu, [[1.0, 2.0]]).exp()
    y.add_(1).mul_(2)
    message = attempt(lambda: y.sum().backward())[1]
    for part in ("DoubleTensor [1, 2]", "is at version 2; expected version 0", "output 0 of ExpBackward0"):
        assert part in message, message


@same_on_both
def test_a_change_through_a_view_or_by_assignment_is_noticed(T):
    changes = "a[0].zero_(); a.view(-1).add_(1); a.__setitem__(0, 3.0); a.detach().add_(1)"
    changes += "; a.copy_(T.ones(3)); a.data.add_(1)"
    results = []
    for change in changes.split("; "):
        a = leaf(T).exp()
        y = a.sum()
        eval(change, {"a": a, "T": T})
        results.append((attempt(lambda y=y: y.backward()), a._version))
    return results


@same_on_both
def test_what_was_not_saved_can_have_no_hooks_and_what_was_is_listed_once(T):
    x = leaf(T)
    node = (2 / x).grad_fn
    nodes = [T.where(x > 0, x, x).grad_fn, (x * x).grad_fn, (x / x).grad_fn]
    refused = attempt(lambda: node._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
    return node._saved_self, refused, [[name for name in dir(n) if name.startswith("_saved_")] for n in nodes]


@same_on_both
def test_saved_tensors_are_packed_in_the_order_of_pytorch(T):
    x, y, packed = leaf(T, [[1.0, 2.0, 3.0]]), T.full((2, 1), 1.5, dtype=T.float64), []
    z = T.full((1, 3), 0.5, dtype=T.float64)
    with T.autograd.graph.saved_tensors_hooks(lambda t: packed.append(values_of(t)) or t, lambda t: t):
        results = y / x, x / y, x * y, y**x, T.atan2(y, x), T.where(x > 1, x, y), T.addcmul(y, x, z), T.addcdiv(z, x, y)
    return packed, [r.detach() for r in results]


@same_on_both
def test_a_pack_hook_sees_an_input_itself_and_later_hooks_see_it_detached(T):
    x, seen = leaf(T), []
    y = x * 2

    def pack(t):
        seen.append((t is x, t is y, t.requires_grad, T.is_grad_enabled()))
        return t

    with hooks(T, pack, lambda t: t):
        z = x * y
    node = (y * y).grad_fn  # which must live: PyTorch's `_raw_saved_self` does not keep it
    node._raw_saved_self.register_hooks(pack, lambda t: t)
    return seen, z.detach()


@same_on_both
def test_what_needs_no_gradient_comes_back_as_the_very_tensor_that_unpack_gave(T):
    came, x, y = [], leaf(T), T.ones(3, dtype=T.float64)

    def backward(ctx, grad):
        came.append([saved is given for saved, given in zip(ctx.saved_tensors, (x, y), strict=True)])
        return grad, None

    forward = staticmethod(lambda ctx, x, y: (ctx.save_for_backward(x, y), x * y)[1])
    kept = type("Kept", (T.autograd.Function,), {"forward": forward, "backward": staticmethod(backward)}).apply
    with hooks(T, lambda t: t, lambda t: t):
        packed = kept(x, y)
    for out in (kept(x, y), packed, T.utils.checkpoint.checkpoint(kept, x, y, use_reentrant=False)):
        out.sum().backward()
    return came
