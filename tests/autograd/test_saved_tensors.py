"""What nodes keep: hooks that pack and unpack it, versions that are checked, and changes that are allowed on request."""

import weakref

import pytest
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
def test_what_is_packed_may_be_anything(T):
    x = leaf(T)
    with hooks(T, lambda t: ("list", t.tolist()), lambda p: T.tensor(p[1], dtype=T.float64)):
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@same_on_both
def test_hooks_that_round_change_the_gradient(T):
    x = leaf(T, 0.1, 0.2, 0.3)
    with hooks(T, lambda t: t.half(), lambda p: p.double()):
        y = x * x
    y.sum().backward()
    return values_of(x.grad).round(6)


@same_on_both
def test_the_innermost_hooks_are_used(T):
    log = []
    x = leaf(T)
    with hooks(T, noting(log, "outer", lambda t: t), lambda p: p):
        with hooks(T, noting(log, "inner", lambda t: t), lambda p: p):
            a = x.exp()
        b = a.sin()
    b.sum().backward()
    return log, x.grad


@same_on_both
def test_nothing_is_packed_where_nothing_is_recorded_or_saved(T):
    log = []
    x = leaf(T)
    with hooks(T, noting(log, "pack", lambda t: t), lambda p: p):
        with T.no_grad():
            x.exp()
        x + 1
        T.ones(2).exp()
        x.sum()
        x.view(-1)
    return log


@same_on_both
def test_pack_and_unpack_run_without_recording(T):
    seen = []
    x = leaf(T)

    def pack(t):
        seen.append(("pack", T.is_grad_enabled(), (t * 2).requires_grad))
        return t

    def unpack(t):
        seen.append(("unpack", T.is_grad_enabled()))
        return t

    with hooks(T, pack, unpack):
        y = (x * x).sum()
    T.autograd.grad(y, x, create_graph=True)
    return seen


@same_on_both
def test_second_gradients_flow_through_packed_tensors(T):
    x = leaf(T)
    with hooks(T, lambda t: t.tolist(), lambda p: T.tensor(p, dtype=T.float64)):
        y = (x**3 + x.exp()).sum()
        (g,) = T.autograd.grad(y, x, create_graph=True)
    return T.autograd.grad(g.sum(), x)


@same_on_both
def test_pack_may_not_change_its_argument_and_unpack_gives_a_tensor(T):
    x = leaf(T)

    def changing():
        with hooks(T, lambda t: t.add_(1), lambda p: p):
            (x * 1).exp()

    with hooks(T, lambda t: 3.0, lambda p: p):
        y = x.exp()
    return attempt(changing), attempt(lambda: y.sum().backward()), T.is_grad_enabled()


@same_on_both
def test_errors_in_the_hooks_arrive_and_leave_the_state_sound(T):
    x = leaf(T)

    def packing():
        with hooks(T, failing("pack"), lambda p: p):
            x.exp()

    with hooks(T, lambda t: t, failing("unpack")):
        y = x.exp()
    return attempt(packing), attempt(lambda: y.sum().backward()), T.autograd.grad(x.exp().sum(), x)


@same_on_both
def test_a_function_saves_through_the_hooks_too(T):
    log = []

    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            x, nothing = ctx.saved_tensors
            log.append((nothing, x.requires_grad, x.is_leaf))
            return 2 * x * grad

    x = leaf(T)
    with hooks(T, noting(log, "pack", lambda t: t.clone()), noting(log, "unpack", lambda t: t)):
        y = Square.apply(x)
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


@same_on_both
def test_hooks_can_be_forbidden(T):
    forbid = T.autograd.graph.disable_saved_tensors_hooks

    def enter():
        with hooks(T, lambda t: t, lambda p: p):
            return "entered"

    def forbid_inside():
        with hooks(T, lambda t: t, lambda p: p), forbid("no hooks, please"):
            return "entered"

    with forbid("not in here"):
        first = attempt(enter)
        with forbid("nor in here"):
            second = attempt(enter)
        third = attempt(enter)

    @forbid("as a decorator")
    def decorated():
        return attempt(enter)

    return first, second, third, attempt(forbid_inside), decorated(), attempt(enter)


@same_on_both
def test_a_file_named_by_what_was_packed_lives_as_long_as_the_graph(T):
    """The tutorial on hooks for saved tensors keeps tensors on disk in this way."""

    class Kept:
        def __init__(self, t):
            self.values = t.tolist()

    watched = []

    def pack(t):
        kept = Kept(t)
        watched.append(weakref.ref(kept))
        return kept

    x = leaf(T)
    with hooks(T, pack, lambda kept: T.tensor(kept.values, dtype=T.float64)):
        y = (x * x).sum()
    alive = [w() is not None for w in watched]
    y.backward()
    return alive, [w() is not None for w in watched], x.grad


# --- versions --------------------------------------------------------------------------------------------------------

CHANGED = {
    "exp": lambda x: x.exp(),
    "relu": lambda x: x.relu(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "sqrt": lambda x: x.abs().sqrt(),
    "softmax": lambda x: x.softmax(0),
    "reciprocal": lambda x: x.reciprocal(),
    "x * 2": lambda x: x * 2,
    "x ** 2": lambda x: x**2,
    "x + 1": lambda x: x + 1,
    "sin": lambda x: x.sin(),
    "log": lambda x: x.abs().log(),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "clone": lambda x: x.clone(),
    "abs": lambda x: x.abs(),
    "clamp": lambda x: x.clamp(0, 1),
    "cumsum": lambda x: x.cumsum(0),
    "prod": lambda x: x.prod(),
    "norm": lambda x: x.norm(),
    "max": lambda x: x.max(),
}


@same_on_both
def test_changing_a_result_in_place_is_an_error_where_the_rule_saved_the_result(T):
    results = {}
    for name, f in CHANGED.items():
        x = leaf(T)
        y = f(x)
        y.add_(1)
        results[name] = attempt(lambda y=y: y.sum().backward()), x.grad
    return results


@same_on_both
def test_changing_an_input_in_place_is_an_error_where_the_rule_saved_the_input(T):
    results = {}
    for name, f in CHANGED.items():
        x = leaf(T)
        a = x * 1
        y = f(a)
        a.add_(1)
        results[name] = attempt(lambda y=y: y.sum().backward()), x.grad
    return results


@same_on_both
def test_a_change_is_checked_when_the_value_is_used_not_when_it_is_made(T):
    x = leaf(T)
    a = x.exp()
    b = a.sin()
    a.add_(1)
    return values_of(T.autograd.grad(b.sum(), b)[0]), attempt(lambda: b.sum().backward())


@same_on_both
def test_only_the_factor_that_is_needed_is_kept(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    y = x * c
    with T.no_grad():
        x.add_(1)
    y.sum().backward()
    z = x * c
    c.add_(1)
    return x.grad, attempt(lambda: z.sum().backward())


def test_the_message_names_the_op_and_both_versions() -> None:
    import tinygrad_edu as T

    y = leaf(T, [[1.0, 2.0]]).exp()
    y.add_(1).mul_(2)
    message = attempt(lambda: y.sum().backward())[1]
    for part in ("DoubleTensor [1, 2]", "is at version 2; expected version 0", "output 0 of ExpBackward0"):
        assert part in message, message


@same_on_both
def test_a_change_through_a_view_or_by_assignment_is_noticed(T):
    results = []
    for change in (
        lambda a: a[0].zero_(),
        lambda a: a.view(-1).add_(1),
        lambda a: a.__setitem__(0, 3.0),
        lambda a: a.detach().add_(1),
        lambda a: a.t().mul_(2) if a.dim() == 2 else None,
        lambda a: a.copy_(T.ones(3, dtype=T.float64)),
    ):
        x = leaf(T)
        a = x.exp()
        y = a.sum()
        change(a)
        results.append((attempt(lambda y=y: y.backward()), a._version))
    return results


@same_on_both
def test_increment_version_reports_a_change_that_autograd_did_not_see(T):
    increment = T.autograd.graph.increment_version
    x = leaf(T)
    a = x.exp()
    b = x.sin()
    increment(a)
    increment([a, b])
    with T.inference_mode():
        c = T.ones(1)
    return a._version, b._version, attempt(lambda: a.sum().backward()), attempt(lambda: increment(c))


# --- mutation allowed ------------------------------------------------------------------------------------------------


def allowed(T):
    return T.autograd.graph.allow_mutation_on_saved_tensors()


@same_on_both
def test_inside_the_block_a_saved_tensor_may_be_changed_and_backward_finds_the_old_one(T):
    x = leaf(T)
    with allowed(T):
        a = x * 1
        y = (a * a).sum()
        z = a.exp()
        a.sin_()
        z.add_(1)
        a[0] = 100.0
        (y + z.sum()).backward()
        return values_of(a), values_of(z), x.grad


@same_on_both
def test_outside_the_block_what_was_saved_in_it_is_gone(T):
    x = leaf(T)
    with allowed(T):
        y = (x * 1).exp()
        y.add_(1)
    return attempt(lambda: y.sum().backward())[0], x.grad


@same_on_both
def test_the_block_cannot_be_nested_and_a_graph_from_outside_is_checked(T):
    x = leaf(T)
    y = x.exp()

    def nested():
        with allowed(T), allowed(T):
            pass

    with allowed(T):
        y.add_(1)
        checked = attempt(lambda: y.sum().backward())
    return attempt(nested)[0], checked


@same_on_both
def test_a_leaf_that_is_saved_may_be_changed_under_no_grad(T):
    x = leaf(T)
    with allowed(T):
        y = (x * x).sum()
        with T.no_grad():
            x.add_(10)
        y.backward()
    return x


@same_on_both
def test_second_gradients_inside_the_block(T):
    x = leaf(T)
    with allowed(T):
        a = x * 1
        y = (a**3).sum()
        a.zero_()
        (g,) = T.autograd.grad(y, x, create_graph=True)
        (h,) = T.autograd.grad(g.sum(), x)
    return values_of(g), h


@same_on_both
def test_what_was_not_saved_can_have_no_hooks(T):
    x = leaf(T)
    node = (2 / x).grad_fn
    return node._saved_self, attempt(lambda: node._raw_saved_self.register_hooks(lambda t: t, lambda t: t))


@same_on_both
def test_what_is_saved_is_listed_once(T):
    x = leaf(T)
    nodes = [T.where(x > 0, x, x).grad_fn, (x * x).grad_fn, (x / x).grad_fn]
    return [[name for name in dir(n) if name.startswith("_saved_")] for n in nodes]


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

    with T.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        z = x * y
    node = (y * y).grad_fn
    node._raw_saved_self.register_hooks(pack, lambda t: t)
    return seen, z.detach()


def test_an_output_is_packed_without_its_history_so_that_it_keeps_no_graph_alive() -> None:
    x = leaf(tinygrad_edu)
    with tinygrad_edu.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


OPERANDS = {
    "add": lambda T, x, other: T.add(x, other),
    "pow": lambda T, x, other: T.pow(x, other),
    "maximum": lambda T, x, other: T.maximum(x, other),
    "where": lambda T, x, other: T.where(x > 0, x, other),
    "masked_fill": lambda T, x, other: x.masked_fill(x > 0, other),
    "assignment": lambda T, x, other: (x * 1).__setitem__(0, other),
    "mul_": lambda T, x, other: (x * 1).mul_(other),
}


@pytest.mark.parametrize("other", [None, "text", [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("name", OPERANDS)
def test_an_operand_that_is_not_a_number_is_refused(name, other) -> None:
    @same_on_both
    def program(T):
        error = attempt(lambda: OPERANDS[name](T, leaf(T, 1.0, 2.0), other))
        return error[0]

    program()


@same_on_both
def test_what_needs_no_gradient_comes_back_as_the_very_tensor_that_unpack_gave(T):
    class Kept(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            came.append([saved is given for saved, given in zip(ctx.saved_tensors, (x, y), strict=True)])
            return grad, None

    came = []
    x, y = leaf(T), T.ones(3, dtype=T.float64)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        packed = Kept.apply(x, y)
    for out in (Kept.apply(x, y), packed, T.utils.checkpoint.checkpoint(Kept.apply, x, y, use_reentrant=False)):
        out.sum().backward()
    return came
