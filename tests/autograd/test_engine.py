"""The engine: the order in which nodes run, what accumulates where, what is freed when, where a pass may start and end."""

import re
import sys
import threading

import numpy as np
import pytest
from support.both import attempt, failing, leaf, names, noting, same_on_both, values_of, watch

import tinygrad_edu

# --- order -----------------------------------------------------------------------------------------------------------


@same_on_both
def test_the_ready_node_that_was_made_last_runs_first(T):
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    b = w.sin()
    c = a * 2
    y = (b * c).sum()
    log = watch(y)
    y.backward()
    return log, x.grad, w.grad


@same_on_both
def test_a_leaf_is_served_as_soon_as_its_gradient_is_complete(T):
    x, w = leaf(T, 1.0), leaf(T, 2.0)
    y = (x * 2) * w
    log = watch(y)
    y.backward()
    return log


@same_on_both
def test_a_node_waits_for_all_its_gradients_where_paths_have_different_lengths(T):
    x = leaf(T)
    a = x.exp()
    y = (a * a.sin().cos().tanh() + a).sum()
    log = watch(y)
    y.backward()
    return log, x.grad


@same_on_both
def test_a_diamond_of_diamonds_visits_every_node_once(T):
    x = leaf(T, 1.0)
    y = x
    for _ in range(12):
        y = y + y
    log = watch(y)
    y.backward()
    return len(log), x.grad


@same_on_both
def test_an_op_of_several_outputs_takes_gradients_without_a_dimension_and_none_at_all(T):
    x = leaf(T)
    a, _, c = (x * x).unbind(0)
    (a.exp() + c * 3.0).backward()
    first = x.grad.clone()
    for element in x * 2:
        element.sin().backward(retain_graph=True)
    return first, x.grad


@same_on_both
def test_several_roots_are_one_pass(T):
    x = leaf(T)
    a = x.exp()
    b, c = a * 2, a * 3
    log = watch(b, c)
    T.autograd.backward([b.sum(), c], [None, T.ones(3, dtype=T.float64)])
    return log, x.grad


@same_on_both
def test_one_root_may_lie_behind_another_or_be_given_twice(T):
    x = leaf(T)
    a = (x * x).sum()
    b = a * 3
    log = watch(b)
    T.autograd.backward([b, a, a])
    return log, x.grad


# --- accumulation ----------------------------------------------------------------------------------------------------


@same_on_both
def test_the_gradient_of_a_tensor_used_twice_is_the_sum(T):
    x = leaf(T)
    (x * x + x * 3 + x).sum().backward()
    return x.grad


@same_on_both
def test_passes_add_up_in_grad_in_place_until_it_is_set_to_none(T):
    x = leaf(T)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    held = first is x.grad, first.clone()
    x.grad = None
    (x * 5).sum().backward()
    return held, first is x.grad, x.grad


@same_on_both
def test_zeroing_in_place_keeps_the_tensor_that_grad_is(T):
    x = leaf(T)
    (x * 2).sum().backward()
    g = x.grad
    x.grad.zero_()
    (x * x).sum().backward()
    return g is x.grad, x.grad


@same_on_both
def test_the_gradient_of_a_broadcast_operand_is_summed_to_its_shape(T):
    b, c = leaf(T, [[1.0], [2.0]]), leaf(T, 3.0)
    x = leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (x * b + c).sum().backward()
    return x.grad, b.grad, c.grad


def test_a_gradient_does_not_share_memory_with_the_one_that_was_given() -> None:
    """PyTorch keeps what it was sent; here the leaf gets a copy."""
    x, g = leaf(tinygrad_edu), tinygrad_edu.ones(3, dtype=tinygrad_edu.float64)
    x.view(3).backward(g)
    g.mul_(10)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@same_on_both
def test_two_leaves_that_got_the_same_gradient_do_not_share_it(T):
    a, b = leaf(T), leaf(T)
    (a + b).sum().backward()
    a.grad.mul_(5)
    return a.grad, b.grad


@same_on_both
def test_gradients_flow_in_the_dtype_of_each_tensor(T):
    x, y = T.ones(2, requires_grad=True), leaf(T, 1.0, 2.0)
    (x * y).sum().backward()
    h = T.ones(2, dtype=T.float16, requires_grad=True)
    (h * x.detach()).sum().backward()
    return x.grad, y.grad, h.grad


@same_on_both
def test_a_gradient_on_the_root_itself_accumulates(T):
    x = leaf(T, 2.0)
    x.backward()
    x.backward(T.tensor(5.0, dtype=T.float64))
    return x.grad


@same_on_both
def test_a_leaf_that_no_longer_requires_grad_when_the_pass_comes_gets_none(T):
    x, w = leaf(T, 2.0), leaf(T, 3.0)
    y = x * w
    x.requires_grad_(False)
    y.backward()
    return x.grad, w.grad


# --- where a pass starts ---------------------------------------------------------------------------------------------


@same_on_both
def test_only_a_scalar_starts_with_a_gradient_of_one(T):
    x = leaf(T)
    y = x * 2
    one = leaf(T, [[4.0]])
    (one * 2).backward()
    return attempt(lambda: y.backward()), attempt(lambda: T.autograd.grad(y, x)), one.grad, x.grad


@same_on_both
def test_a_given_gradient_must_have_the_shape_of_the_tensor(T):
    x = leaf(T)
    y = x * 2
    return [
        attempt(lambda: y.backward(T.ones(2, dtype=T.float64))),
        attempt(lambda: y.backward(T.ones((), dtype=T.float64))),
        attempt(lambda: y.backward(T.ones((1, 3), dtype=T.float64))),
        attempt(lambda: y.backward(3.0)),
        attempt(lambda: T.autograd.backward([y, y], [T.ones(3, dtype=T.float64)])),
        x.grad,
    ]


@same_on_both
def test_a_tensor_without_a_graph_cannot_start_a_pass(T):
    a = T.ones(1)
    x = leaf(T)
    return [
        attempt(lambda: a.backward()),
        attempt(lambda: T.autograd.grad(a, a)),
        attempt(lambda: T.autograd.backward([x.sum(), a])),
        attempt(lambda: x.sum().detach().backward()),
        attempt(lambda: (x.sum() > 0).backward()),
        attempt(lambda: T.autograd.backward([])),
        attempt(lambda: T.autograd.grad([], x)),
        x.grad,
    ]


@same_on_both
def test_the_gradient_given_may_be_of_a_part_of_the_roots(T):
    x = leaf(T)
    T.autograd.backward((x.sum(), x * 2), (T.tensor(2.0, dtype=T.float64), T.ones(3, dtype=T.float64)))
    return x.grad


@same_on_both
def test_grad_variables_is_the_old_name_of_grad_tensors(T):
    x = leaf(T)
    g = T.ones(3, dtype=T.float64)
    T.autograd.backward(x * 2, grad_variables=g)
    return x.grad, attempt(lambda: T.autograd.backward(x * 2, g, grad_variables=g))


# --- grad ------------------------------------------------------------------------------------------------------------


@same_on_both
def test_grad_returns_gradients_and_touches_no_grad_field(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = (x * w).sum()
    return T.autograd.grad(y, [w, x, w]), x.grad, w.grad


@same_on_both
def test_grad_goes_to_intermediate_results_and_to_the_root_itself(T):
    x = leaf(T)
    a = x.exp()
    b = a * 2
    y = (b * a).sum()
    return T.autograd.grad(y, [a, b, y, x])


@same_on_both
def test_only_the_nodes_on_a_path_to_an_asked_input_run(T):
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = (a * w.sin()).sum()
    log = watch(y)
    return T.autograd.grad(y, w), log


@same_on_both
def test_an_asked_node_does_not_run_unless_something_behind_it_is_asked_too(T):
    x = leaf(T)
    a = x.exp()
    y = a.sin().sum()
    log = watch(y)
    T.autograd.grad(y, a, retain_graph=True)
    log.append("both")
    T.autograd.grad(y, [a, x])
    return log


@same_on_both
def test_an_unused_input_is_an_error_or_none_or_zeros(T):
    x, unused = leaf(T), leaf(T, [[1.0, 2.0]])

    def y():
        return (x * x).sum()

    return [
        attempt(lambda: T.autograd.grad(y(), [x, unused])),
        T.autograd.grad(y(), [x, unused], allow_unused=True),
        T.autograd.grad(y(), [x, unused], materialize_grads=True),
        attempt(lambda: T.autograd.grad(y(), [x, unused], materialize_grads=True, allow_unused=False)),
        attempt(lambda: T.autograd.grad(y(), [x, unused], allow_unused=False)),
    ]


@same_on_both
def test_an_input_that_requires_no_grad_is_an_error(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    y = (x * c).sum()
    return [
        attempt(lambda: T.autograd.grad(y, c)),
        attempt(lambda: T.autograd.grad(y, c, allow_unused=True)),
        attempt(lambda: T.autograd.grad(y, [])),
        attempt(lambda: y.backward(inputs=[])),
        attempt(lambda: y.backward(inputs=[c])),
    ]


@same_on_both
def test_a_path_that_was_cut_does_not_reach_the_input(T):
    x = leaf(T)
    y = (x.detach() * x.data * leaf(T)).sum()
    with T.no_grad():
        z = x * 2
    return [
        T.autograd.grad(y, x, allow_unused=True),
        attempt(lambda: T.autograd.grad((z * leaf(T)).sum(), x)),
    ]


@same_on_both
def test_grad_weighs_each_output_with_its_grad_output(T):
    x = leaf(T)
    outputs = [x * 2, (x * x).sum()]
    return T.autograd.grad(outputs, x, grad_outputs=[T.tensor([1.0, 10.0, 100.0], dtype=T.float64), None])


@same_on_both
def test_a_rule_computes_no_gradient_that_nobody_asked_for(T):
    x, w = leaf(T), leaf(T, 3.0)
    a, b = x * 1, w * 1
    y = a * b
    log = []
    y.grad_fn.register_hook(noting(log, "product"))
    y.sum().backward(inputs=[x])
    return x.grad, w.grad


# --- inputs= ---------------------------------------------------------------------------------------------------------


@same_on_both
def test_backward_for_some_inputs_adds_to_their_grad_alone(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = (x * w).sum()
    log = watch(y)
    y.backward(inputs=[w])
    return log, x.grad, w.grad


@same_on_both
def test_an_intermediate_result_among_the_inputs_keeps_its_gradient(T):
    x = leaf(T)
    a = x.exp()
    y = a.sin().sum()
    y.backward(inputs=[a], retain_graph=True)
    first = a.grad.clone(), a.retains_grad, x.grad
    y.backward(inputs=(a, x))
    return first, a.grad, x.grad


@same_on_both
def test_inputs_may_be_one_tensor(T):
    x, w = leaf(T), leaf(T, 3.0)
    (x * w).sum().backward(inputs=x)
    return x.grad, w.grad


@same_on_both
def test_an_input_that_is_not_reached_keeps_no_gradient(T):
    x, w = leaf(T), leaf(T, 3.0)
    x.sum().backward(inputs=[w])
    return x.grad, w.grad


# --- freeing ---------------------------------------------------------------------------------------------------------


@same_on_both
def test_a_second_pass_raises_only_where_a_node_needs_what_was_freed(T):
    results = {}
    for name, f in {
        "x + 1": lambda x: x + 1,
        "x * 2": lambda x: x * 2,
        "-x": lambda x: -x,
        "sum": lambda x: x.sum(),
        "view": lambda x: x.view(-1),
        "x[0]": lambda x: x[0],
        "clone": lambda x: x.clone(),
        "x * x": lambda x: x * x,
        "exp": lambda x: x.exp(),
        "x ** 2": lambda x: x**2,
        "relu": lambda x: x.relu(),
        "1 / x": lambda x: 1 / x,
        "max": lambda x: x.max(),
    }.items():
        x = leaf(T)
        y = f(x)
        g = T.ones_like(y)
        y.backward(g)
        results[name] = attempt(lambda y=y, g=g: y.backward(g)), x.grad
    return results


@same_on_both
def test_nodes_that_ran_before_the_error_have_done_their_work(T):
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = (a + w).sum()
    y.backward()
    return attempt(lambda: y.backward()), x.grad, w.grad


@same_on_both
def test_retain_graph_keeps_what_was_saved_for_one_more_pass(T):
    x = leaf(T)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, attempt(lambda: y.backward())


@same_on_both
def test_a_part_of_the_graph_that_a_pass_did_not_visit_is_not_freed(T):
    x, w = leaf(T), leaf(T, 3.0)
    a, b = x.exp(), w.exp()
    y = (a * b).sum()
    z = b * 2
    T.autograd.grad(y, a)
    z.backward()
    return w.grad, attempt(lambda: y.backward()), x.grad


@same_on_both
def test_two_losses_that_share_a_trunk_cannot_be_run_apart_without_retaining_it(T):
    x = leaf(T)
    trunk = x.exp()
    a, b = trunk.sum(), (trunk * 2).sum()
    a.backward()
    return attempt(lambda: b.backward()), x.grad


@same_on_both
def test_create_graph_retains_unless_it_is_told_not_to(T):
    x = leaf(T)
    y = (x * x).sum()
    T.autograd.grad(y, x, create_graph=True)
    T.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return attempt(lambda: y.backward()), x.grad


# --- higher order ----------------------------------------------------------------------------------------------------


@same_on_both
def test_gradients_of_gradients_to_the_fourth_order(T):
    x = leaf(T)
    y = (x**5 + x.sin() * x.exp()).sum()
    orders = []
    for _ in range(4):
        (g,) = T.autograd.grad(y, x, create_graph=True)
        orders.append(values_of(g))
        y = g.sum()
    return orders


@same_on_both
def test_without_create_graph_a_gradient_has_no_history_and_with_it_it_has(T):
    x = leaf(T)
    flags = []
    for create in (False, True):
        (g,) = T.autograd.grad((x * x).sum(), x, create_graph=create)
        (constant,) = T.autograd.grad((x * 3).sum(), x, create_graph=create)
        flags.append((g.requires_grad, g.grad_fn is None, constant.requires_grad))
    return flags


@same_on_both
def test_create_graph_in_backward_gives_a_grad_with_a_history(T):
    x = leaf(T)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    before = g.requires_grad, g.is_leaf, values_of(g)
    (h,) = T.autograd.grad(g.sum(), x)
    x.grad = None
    return before, h


@same_on_both
def test_a_hessian_vector_product_is_a_gradient_of_a_gradient(T):
    x, w = leaf(T), leaf(T, 1.0, 2.0, 3.0)
    y = ((x * w).tanh() * x).sum()
    grads = T.autograd.grad(y, [x, w], create_graph=True)
    v = [T.tensor([1.0, 0.0, -1.0], dtype=T.float64), T.tensor([0.5, 2.0, 1.0], dtype=T.float64)]
    return T.autograd.grad(grads, [x, w], v)


@same_on_both
def test_a_gradient_penalty_trains_through_the_gradient(T):
    w, x = leaf(T, [[0.3, -0.2], [0.7, 0.1]]), leaf(T, [[1.0, 2.0]])
    out = (x @ w).tanh().sum()
    (g,) = T.autograd.grad(out, x, create_graph=True)
    (out + (g * g).sum()).backward()
    return w.grad, x.grad


@same_on_both
def test_the_gradient_given_at_the_root_is_part_of_the_second_graph(T):
    x = leaf(T)
    v = leaf(T, 1.0, 2.0, 3.0)
    (g,) = T.autograd.grad(x.exp(), x, v, create_graph=True)
    return T.autograd.grad((g * g).sum(), [x, v])


@same_on_both
def test_the_mode_of_the_caller_does_not_decide_what_create_graph_records(T):
    x = leaf(T)
    y = (x**3).sum()
    with T.no_grad():
        (g,) = T.autograd.grad(y, x, create_graph=True)
        (h,) = T.autograd.grad(y, x)
        inside = T.is_grad_enabled()
    return g.requires_grad, h.requires_grad, inside, T.is_grad_enabled()


@same_on_both
def test_the_gradient_of_relu_is_part_of_the_second_graph(T):
    """It is zero almost everywhere, and yet connected: asking for it is no error."""
    x = leaf(T)
    second = {}
    for name in ("relu", "abs", "sigmoid"):
        (g,) = T.autograd.grad(getattr(x, name)().sum(), x, create_graph=True)
        (h,) = T.autograd.grad(g.sum(), x, materialize_grads=True)
        second[name] = g.requires_grad, h + 0
    return second


# --- re-entrant passes -----------------------------------------------------------------------------------------------


@same_on_both
def test_a_backward_inside_a_backward_runs_to_its_end_first(T):
    order = []
    inner = leaf(T, 2.0)

    class Inner(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            order.append("enter")
            with T.enable_grad():
                z = inner * inner
                z.register_hook(noting(order, "inner"))
                z.backward()
            order.append("leave")
            return grad * inner.grad

    x = leaf(T, 1.0)
    a = Inner.apply(x)
    b = Inner.apply(a * 2)
    b.register_hook(noting(order, "outer"))
    b.backward()
    return order, x.grad, inner.grad


@same_on_both
def test_a_hook_may_run_its_own_backward(T):
    x, w = leaf(T), leaf(T, 2.0)

    def hook(grad):
        with T.enable_grad():
            (w * grad.detach().sum()).backward()

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, w.grad


def nested(T, at_each_level):
    """A Function whose backward runs `at_each_level(n)`, then a pass through itself, `n` levels deep."""

    class Nested(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            at_each_level(ctx.n)
            if ctx.n:
                with T.enable_grad():
                    x = leaf(T, 1.0)
                    Nested.apply(x, ctx.n - 1).backward()
                return grad + x.grad, None
            return grad, None

    return Nested


@same_on_both
def test_re_entrant_passes_nest_a_thousand_deep(T):
    levels = []
    x = leaf(T, 1.0)
    nested(T, levels.append).apply(x, 1000).backward()
    return levels, x.grad


@same_on_both
def test_the_modes_and_hooks_of_a_pass_hold_at_every_level_inside_it(T):
    seen = []

    def level(n):
        if n % 25:
            return
        mode = T.is_grad_enabled(), T.is_inference_mode_enabled()
        with T.enable_grad():
            leaf(T, 2.0).exp()
        seen.append((n, mode, len(packed)))

    packed = []
    x = leaf(T, 1.0)
    y = nested(T, level).apply(x, 100)
    with T.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        y.backward()
    return seen, x.grad


@same_on_both
def test_an_error_a_hundred_levels_deep_reaches_the_outermost_pass_and_leaves_the_state_sound(T):
    def level(n):
        if n == 0:
            raise ValueError("at the bottom")

    x = leaf(T, 1.0)
    failed = attempt(lambda: nested(T, level).apply(x, 100).backward())
    mode = T.is_grad_enabled()
    nested(T, lambda n: None).apply(x, 100).backward()
    return failed, mode, x.grad


@pytest.mark.outer
def test_an_endlessly_recursive_rule_is_reported():
    def backward(ctx, grad):
        with tinygrad_edu.enable_grad():
            Endless.apply(leaf(tinygrad_edu, 1.0)).backward()
        return grad

    rules = {"forward": staticmethod(lambda ctx, x: x.clone()), "backward": staticmethod(backward)}
    Endless = type("Endless", (tinygrad_edu.autograd.Function,), rules)
    threads = threading.active_count()
    with pytest.raises(RecursionError, match="backward passes inside one another"):
        Endless.apply(leaf(tinygrad_edu, 1.0)).backward()
    x = leaf(tinygrad_edu, 1.0)
    nested(tinygrad_edu, lambda n: None).apply(x, 100).backward()
    assert x.grad.tolist() == 101.0
    assert threading.active_count() == threads


@same_on_both
def test_an_error_in_an_inner_pass_is_an_error_of_the_outer_one(T):
    x = leaf(T)
    y = x * 2

    def hook(grad):
        with T.enable_grad():
            T.ones(2, requires_grad=True).backward()

    handle = y.register_hook(hook)
    first = attempt(lambda: y.sum().backward(retain_graph=True)), x.grad
    handle.remove()
    y.sum().backward()
    return first, x.grad


# --- data that was replaced ---------------------------------------------------------------------------------------------


@same_on_both
def test_a_gradient_of_what_a_leaf_was_is_not_given_to_what_it_is_now(T):
    def other(size):
        return T.ones(size, dtype=T.float64)

    x = leaf(T)
    y = x + 1
    x.data = other(2)
    late = attempt(lambda: y.sum().backward()), x.grad
    x = leaf(T)
    (x * 2).sum().backward()
    x.data = other(2)
    again = attempt(lambda: (x + 1).sum().backward()), x.grad
    x.grad = None
    (x * 2).sum().backward()
    return late, again, x.grad


# --- the state after an error ----------------------------------------------------------------------------------------


@same_on_both
def test_an_error_leaves_the_mode_and_later_passes_sound(T):
    class Bad(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("boom")

    x, w = leaf(T), leaf(T, 3.0)
    y = (Bad.apply(x) * w).sum()
    error = attempt(lambda: y.backward())
    state = T.is_grad_enabled(), T.is_inference_mode_enabled()
    (x * w).sum().backward()
    return error, state, x.grad, w.grad


# --- what is refused -------------------------------------------------------------------------------------------------


@same_on_both
def test_a_batch_of_gradients_is_a_pass_for_each_row(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = T.stack([x * x, x * w])
    vectors = T.ones(3, *y.shape, dtype=y.dtype) * T.tensor([1.0, 2.0, -1.0], dtype=y.dtype).reshape(3, *[1] * y.ndim)
    rows = T.autograd.grad(y, (x, w), vectors, is_grads_batched=True, create_graph=True)
    again = T.autograd.grad(rows[0].sum(), x, retain_graph=True)
    unused = T.autograd.grad(x * 2, (x, w), vectors[:, 0], is_grads_batched=True, allow_unused=True)
    misfit = attempt(lambda: T.autograd.grad(x * 2, x, T.ones(7), is_grads_batched=True))
    return [r.detach() for r in rows], [g.detach() for g in again], unused[1] is None, unused[0], misfit


@same_on_both
def test_a_non_tensor_is_refused(T):
    x = leaf(T)
    return [
        attempt(lambda: T.autograd.grad(x.sum(), [3.0]))[0],
        attempt(lambda: T.autograd.grad(3.0, x))[0],
        attempt(lambda: T.autograd.backward(3.0))[0],
    ]


# --- NaN and infinity ------------------------------------------------------------------------------------------------

SINGULAR = {
    "the root at 0": lambda T, x: x.sqrt(),
    "the logarithm at 0": lambda T, x: x.log(),
    "1 / 0": lambda T, x: 1 / x,
    "0 / 0": lambda T, x: x / x,
    "x ** 0.5": lambda T, x: x**0.5,
    "x ** 0": lambda T, x: x**0,
    "exp": lambda T, x: (x * 1000).exp(),
    "0 * inf": lambda T, x: x.exp() * float("inf") * 0,
    "inf - inf": lambda T, x: x.reciprocal() - x.reciprocal(),
    "the branch not taken": lambda T, x: T.where(x > 0, x.sqrt(), x * 0),
    "the root of a square": lambda T, x: (x * x).sqrt(),
    "the norm at 0": lambda T, x: (x * x).sum().sqrt(),
    "relu of NaN": lambda T, x: (x / x).relu(),
    "the largest of NaN": lambda T, x: (x / x).max(),
    "log of sigmoid": lambda T, x: (x * 1e5).sigmoid().log(),
    "softmax of infinities": lambda T, x: (x / 0).softmax(0),
    "tanh far out": lambda T, x: (x * 1e4).tanh(),
    "clamp of NaN": lambda T, x: (x / x).clamp(0, 1),
    "the root, seeded with 0": lambda T, x: x.sqrt() * 0,
}


@pytest.mark.parametrize("name", SINGULAR)
def test_nan_and_infinities_flow_as_in_pytorch(name) -> None:
    @same_on_both
    def program(T):
        x = leaf(T, 0.0, 1.0, -1.0, 4.0)
        y = SINGULAR[name](T, x)
        y.sum().backward(retain_graph=True)
        (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = T.autograd.grad(g.sum(), x, materialize_grads=True) if g.requires_grad else (x,)
        return values_of(y), values_of(x.grad), values_of(h + 0)

    program()


@same_on_both
def test_the_second_gradient_of_x_to_the_x_is_nan_at_0(T):
    x = leaf(T, 0.0, 1.0)
    (g,) = T.autograd.grad((x**x).sum(), x, create_graph=True)
    return T.autograd.grad(g.sum(), x)


@same_on_both
def test_a_nan_gradient_stays_where_it_arises(T):
    x, w = leaf(T, -1.0, 4.0), leaf(T, 1.0, 2.0)
    (x.sqrt() * w).sum().backward()
    return x.grad, w.grad, names(x.sqrt())


def test_the_engine_leaves_numpys_error_state_as_it_was() -> None:
    before = np.geterr()
    x = leaf(tinygrad_edu, 0.0)
    x.sqrt().backward()
    attempt(lambda: x.sqrt().register_hook(lambda g: 1 / 0))
    assert np.geterr() == before


@same_on_both
def test_zeros_for_an_unused_input_go_on_being_differentiated(T):
    x, a = leaf(T, 0.5), leaf(T, 2.0)
    (first,) = T.autograd.grad(x * a, x, create_graph=True)
    (second,) = T.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return (
        second,
        T.autograd.grad(second, x, materialize_grads=True),
        T.autograd.grad(x * a, (x, leaf(T)), materialize_grads=True),
    )


@same_on_both
def test_a_node_that_is_called_takes_one_gradient_for_each_output(T):
    y = leaf(T) ** 2
    g = T.ones(3, dtype=T.float64)
    with T.no_grad():
        one = y.grad_fn(g)
    return one, attempt(lambda: y.grad_fn(g, g)), attempt(lambda: y.grad_fn())


def test_the_shapes_of_a_gradient_and_an_output_that_do_not_fit_are_told_as_pytorch_tells_them() -> None:
    x = tinygrad_edu.ones(2, 2, requires_grad=True)
    wrong = tinygrad_edu.ones(2)
    told = f"Mismatch in shape: grad_output[0] has a shape of {wrong.shape} and output[0] has a shape of {x.shape}."
    with pytest.raises(RuntimeError, match=re.escape(told)):
        tinygrad_edu.autograd.grad(x * 2, x, wrong)


@same_on_both
def test_callbacks_run_when_their_own_pass_is_done(T):
    queue = T.autograd.Variable._execution_engine.queue_callback
    log = []

    def told(label):
        return lambda: log.append((label, T.is_grad_enabled(), x.grad is not None))

    def again():
        queue(told("queued by a callback"))

    class Inside(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            queue(told("outer"))
            y = leaf(T)
            y.register_hook(lambda g: queue(told("inner")))
            with T.enable_grad():
                (y * 2).sum().backward()
            log.append("the inner pass is done")
            queue(again)
            return grad

    x = leaf(T)
    Inside.apply(x).sum().backward()
    y = x * 2
    y.register_hook(lambda g: queue(failing("in a callback")))
    return log, attempt(lambda: y.sum().backward()), attempt(lambda: queue(again))


@same_on_both
def test_hooks_of_a_leaf_run_in_pytorchs_order_on_one_gradient(T):
    def halved(t):
        t.grad.mul_(0.5)

    def told(inputs, outputs):
        seen.append((len(inputs), values_of(outputs[0])))

    seen = []
    x = leaf(T)
    end = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    end.register_prehook(lambda gs: (gs[0] * 3,))
    x.register_post_accumulate_grad_hook(halved)
    end.register_hook(told)
    (x * x).sum().backward()
    return seen, x.grad


@same_on_both
def test_what_a_hook_enters_and_does_not_leave_ends_with_the_pass(T):
    def unpack(t):
        T.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1), lambda t: t).__enter__()
        return t

    packed = []
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = leaf(T).sin()
    y.sum().backward()
    return (leaf(T) ** 2).sum().backward(), packed


@same_on_both
def test_grad_dtype_says_in_which_dtype_gradients_accumulate(T):
    class Wide(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.to(T.float64)

    def gradient(dtype, early=False, **more):
        x = T.tensor([1.0, 2.0], requires_grad=True)
        kept = x.clone() if early else None
        if dtype != "unset":
            x.grad_dtype = dtype
        out = Wide.apply(x) if kept is None else Wide.apply(kept) + Wide.apply(x)
        out.sum().backward(retain_graph=True)
        first = x.grad.clone()
        (x * 3).sum().backward()
        return x.grad_dtype == x.dtype, first, x.grad, T.autograd.grad(Wide.apply(x).sum(), x)

    def put(t, **attributes):
        for name, value in attributes.items():
            setattr(t, name, value)

    x = T.tensor([1.0, 2.0], requires_grad=True)
    x.grad_dtype = T.float64
    refused = [
        attempt(lambda: put(x, grad=T.ones(2))),
        attempt(lambda: put(x, grad=T.ones(2, dtype=T.float64), grad_dtype=T.float32)),
        attempt(lambda: put(x, grad_dtype="float64")),
        attempt(lambda: put(x * 2, grad_dtype=T.float32)),
        attempt(lambda: (x * 2).grad_dtype),
    ]
    dtypes = ("unset", None, T.float16, T.float64)
    return [gradient(d, early) for d in dtypes for early in (False, True)], refused


@same_on_both
def test_new_data_of_another_dtype_takes_gradients_of_that_dtype(T):
    def put(t, value):
        t.data = value

    x = T.tensor([1.0, 2.0], requires_grad=True)
    old = x * 2
    x.data = x.data.double()
    (x * 3).sum().backward()
    wide = x.grad.clone()
    whole = T.tensor([1, 2])
    put(whole, T.tensor([0.5]))
    del x.grad
    return (
        wide,
        whole,
        old.dtype == T.float32,
        attempt(lambda: put(x, T.tensor([1, 2]))),
        attempt(lambda: delattr(x, "data")),
    )


@same_on_both
def test_a_derivative_that_does_not_exist_is_an_error_when_it_is_asked_for(T):
    x = T.tensor([[3.0, 1.0], [3.0, 1.0], [2.0, 1.0]], dtype=T.float64, requires_grad=True)
    found = []
    for settings in ({}, {"dim": 0}, {"return_inverse": True, "return_counts": True}):
        different = T.unique(x, **settings)
        different = different if isinstance(different, tuple) else (different,)
        found.append([different, attempt(different[0].sum().backward), T.unique(x.detach(), **settings)])
    return found, T.unique(T.tensor([3, 1, 3]))


# --- results without a dimension -------------------------------------------------------------------------------------

# How else one gets at the storage of a result: whoever writes there writes to the result.
WINDOWS = {
    "itself": lambda T, y: y.mul_(10.0),
    "detach": lambda T, y: y.detach().mul_(10.0),
    "data": lambda T, y: y.data.mul_(10.0),
    "a view": lambda T, y: y.view(1).mul_(10.0),
    "a view of its detach": lambda T, y: y.detach().view(1)[0].mul_(10.0),
    "the array": lambda T, y: np.multiply(y.detach().numpy(), 10.0, out=y.detach().numpy()),
    "fill_": lambda T, y: y.detach().fill_(10.0),
    "copy_": lambda T, y: y.detach().copy_(T.tensor(10.0)),
    "new data": lambda T, y: setattr(y, "data", T.tensor(10.0, dtype=T.float64)),
    "an index": lambda T, y: y.detach().__setitem__((), 10.0),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seen", [False, True], ids=["nobody looked", "somebody looked"])
def test_a_result_without_a_dimension_is_one_storage_for_all_that_show_it(window, seen) -> None:
    @same_on_both
    def program(T):
        x, w = leaf(T, 2.0), leaf(T, 3.0)
        y = x * w
        kept = y * w  # keeps y for its own gradient
        before = y.item() if seen else None
        WINDOWS[window](T, y)
        after = y * 1.0, y + y, y * w
        attempted = attempt(kept.backward)
        return before, y, y._version, after, attempted, x.grad, w.grad

    program()


def test_threads_that_look_at_a_result_at_once_get_one_array() -> None:
    w = leaf(tinygrad_edu, 2.0)
    results = [w * w for _ in range(300)]
    barrier = threading.Barrier(4)
    arrays: list[list[np.ndarray]] = []

    def look() -> None:
        barrier.wait()
        arrays.append([y.detach().numpy() for y in results])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert all(np.shares_memory(a, b) for others in arrays[1:] for a, b in zip(arrays[0], others, strict=True))
