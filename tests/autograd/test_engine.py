"""The engine: in which order nodes run, what accumulates where, what is freed when, where a pass starts and ends."""

import numpy as np
import pytest
from support.both import attempt, leaf, noting, same_on_both, values_of, watch

import tinygrad_edu
from tinygrad_edu import modes


@same_on_both
def test_the_ready_node_that_was_made_last_runs_first(T):
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = (w.sin() * (a * 2)).sum()
    log = watch(y)
    y.backward()
    return log, x.grad, w.grad


@same_on_both
def test_a_node_waits_for_all_its_gradients_where_paths_have_different_lengths(T):
    x = leaf(T)
    a = x.exp()
    y = (a * a.sin().cos().tanh() + a).sum()
    log = watch(y)
    y.backward()
    return log, x.grad


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
def test_several_roots_are_one_pass_and_one_may_lie_behind_another_or_be_given_twice(T):
    x = leaf(T)
    a = x.exp()
    b, c = a * 2, a * 3
    log = watch(b, c)
    T.autograd.backward([b.sum(), c], [None, T.ones(3, dtype=T.float64)])
    log.append("behind another")
    a = (x * x).sum()
    b = a * 3
    watch(b, log=log)
    T.autograd.backward([b, a, a])
    return log, x.grad


@same_on_both
def test_passes_add_up_in_grad_in_place_until_it_is_set_to_none(T):
    x = leaf(T)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    held = first is x.grad, first.clone()
    x.grad.zero_()
    (x * x).sum().backward()
    zeroed = first is x.grad, first.clone()
    x.grad = None
    (x * 5).sum().backward()
    return held, zeroed, first is x.grad, x.grad


@same_on_both
def test_two_leaves_that_got_the_same_gradient_do_not_share_it_nor_with_what_was_given(T):
    a, b, x = leaf(T), leaf(T), leaf(T)
    (a + b).sum().backward()
    a.grad.mul_(5)
    if T is tinygrad_edu:  # PyTorch keeps what it was sent; here the leaf gets a copy
        g = T.ones(3, dtype=T.float64)
        x.view(3).backward(g)
        g.mul_(10)
        assert x.grad.tolist() == [1.0, 1.0, 1.0]
    return a.grad, b.grad


@same_on_both
def test_gradients_flow_in_the_dtype_of_each_tensor(T):
    x, y = T.ones(2, requires_grad=True), leaf(T, 1.0, 2.0)
    (x * y).sum().backward()
    h = T.ones(2, dtype=T.float16, requires_grad=True)
    (h * x.detach()).sum().backward()
    return x.grad, y.grad, h.grad


@same_on_both
def test_a_gradient_on_the_root_itself_accumulates_and_a_leaf_that_no_longer_requires_grad_gets_none(T):
    x, w = leaf(T, 2.0), leaf(T, 3.0)
    x.backward()
    x.backward(T.tensor(5.0, dtype=T.float64))
    y = x * w
    w.requires_grad_(False)
    y.backward()
    return x.grad, w.grad


@same_on_both
def test_only_a_scalar_starts_with_a_gradient_of_one_and_a_given_one_has_the_shape_of_the_tensor(T):
    x, one = leaf(T), leaf(T, [[4.0]])
    y = x * 2
    (one * 2).backward()
    given = [T.ones(shape, dtype=T.float64) for shape in ((2,), (), (1, 3))]
    found = [attempt(lambda: y.backward()), attempt(lambda: T.autograd.grad(y, x)), one.grad]
    found += [attempt(lambda g=g: y.backward(g)) for g in (*given, 3.0)]
    found += [
        attempt(lambda: T.autograd.grad(y, x, given[0])),
        attempt(lambda: T.autograd.backward([y, y], [T.ones(3, dtype=T.float64)])),
    ]
    return *found, x.grad


@same_on_both
def test_a_tensor_without_a_graph_and_what_is_no_tensor_cannot_start_a_pass(T):
    a, x = T.ones(1), leaf(T)
    roots = (a, x.sum().detach(), x.sum() > 0)
    found = [attempt(root.backward) for root in roots]
    found += [attempt(lambda r=r: T.autograd.backward(r)) for r in ([x.sum(), a], [])]
    found += [attempt(lambda r=r: T.autograd.grad(r, x)) for r in (a, [])]
    found += [attempt(lambda: T.autograd.grad(x.sum(), [3.0]))[0], attempt(lambda: T.autograd.grad(3.0, x))[0]]
    return *found, attempt(lambda: T.autograd.backward(3.0))[0], x.grad


@same_on_both
def test_grad_returns_gradients_and_touches_no_grad_field(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = (x * w).sum()
    return T.autograd.grad(y, [w, x, w]), x.grad, w.grad


@same_on_both
def test_grad_goes_to_intermediate_results_and_to_the_root_itself_weighed_by_grad_outputs(T):
    x = leaf(T)
    a = x.exp()
    b = a * 2
    y = (b * a).sum()
    outputs, weights = [x * 2, (x * x).sum()], [T.tensor([1.0, 10.0, 100.0], dtype=T.float64), None]
    return T.autograd.grad(y, [a, b, y, x]), T.autograd.grad(outputs, x, grad_outputs=weights)


@same_on_both
def test_only_the_nodes_on_a_path_to_an_asked_input_run(T):
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = (a * w.sin()).sum()
    log = watch(y)
    grads = [T.autograd.grad(y, w, retain_graph=True)]
    log.append("a node that is asked for itself")
    grads.append(T.autograd.grad(y, a, retain_graph=True))
    log.append("and what is behind it")
    grads.append(T.autograd.grad(y, [a, x]))
    return grads, log


@same_on_both
def test_an_unused_input_is_an_error_or_none_or_zeros_and_one_that_requires_no_grad_an_error(T):
    x, unused, c = leaf(T), leaf(T, [[1.0, 2.0]]), T.ones(3, dtype=T.float64)

    def grad(inputs, **settings):
        return attempt(lambda: T.autograd.grad((x * x * c).sum(), inputs, **settings))

    return [
        *(grad([x, unused]), grad([x, unused], allow_unused=True), grad([x, unused], materialize_grads=True)),
        grad([x, unused], materialize_grads=True, allow_unused=False),
        *(grad([x, unused], allow_unused=False), grad(c), grad(c, allow_unused=True), grad([])),
        attempt(lambda: (x * c).sum().backward(inputs=[])),
        attempt(lambda: (x * c).sum().backward(inputs=[c])),
    ]


@same_on_both
def test_a_path_that_was_cut_does_not_reach_the_input(T):
    x = leaf(T)
    y = (x.detach() * x.data * leaf(T)).sum()
    with T.no_grad():
        z = x * 2
    return [T.autograd.grad(y, x, allow_unused=True), attempt(lambda: T.autograd.grad((z * leaf(T)).sum(), x))]


@same_on_both
def test_a_rule_computes_no_gradient_that_nobody_asked_for(T):
    x, w = leaf(T), leaf(T, 3.0)
    a, b = x * 1, w * 1
    y, log = a * b, []
    y.grad_fn.register_hook(noting(log, "product"))
    y.sum().backward(inputs=[x])
    return x.grad, w.grad


@same_on_both
def test_backward_for_some_inputs_adds_to_their_grad_alone_and_they_may_be_one_tensor(T):
    x, w, unused = leaf(T), leaf(T, 3.0), leaf(T)
    y = (x * w).sum()
    log = watch(y)
    y.backward(inputs=[w, unused], retain_graph=True)
    first = x.grad, w.grad.clone()
    y.backward(inputs=x)
    return log, first, x.grad, w.grad, unused.grad


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
def test_a_second_pass_raises_only_where_a_node_needs_what_was_freed(T):
    ops = "x + 1; x * 2; -x; x.sum(); x.view(-1); x[0]; x.clone(); x * x; x.exp(); x**2; x.relu(); 1 / x; x.max()"
    results = {}
    for op in ops.split("; "):
        x = leaf(T)
        y = eval(op, {"x": x})
        y.backward(T.ones_like(y))
        results[op] = attempt(lambda y=y: y.backward(T.ones_like(y))), x.grad
    return results


@same_on_both
def test_what_ran_before_the_error_has_done_its_work_and_what_two_losses_share_is_freed_by_the_first(T):
    x, w = leaf(T), leaf(T, 3.0)
    trunk = x.exp()
    a, b = (trunk + w).sum(), (trunk * 2).sum()
    a.backward()
    return attempt(lambda: a.backward()), attempt(lambda: b.backward()), x.grad, w.grad


@same_on_both
def test_retain_graph_keeps_what_was_saved_for_one_more_pass_and_create_graph_does_too(T):
    x = leaf(T)
    y, z = (x * x).sum(), (x * x).sum()
    for again in (True, True, False):
        y.backward(retain_graph=again)
    T.autograd.grad(z, x, create_graph=True)
    T.autograd.grad(z, x, create_graph=True, retain_graph=False)
    return x.grad, attempt(lambda: y.backward()), attempt(lambda: z.backward())


@same_on_both
def test_a_part_of_the_graph_that_a_pass_did_not_visit_is_not_freed(T):
    x, w = leaf(T), leaf(T, 3.0)
    a, b = x.exp(), w.exp()
    y, z = (a * b).sum(), b * 2
    T.autograd.grad(y, a)
    z.backward()
    return w.grad, attempt(lambda: y.backward()), x.grad


@same_on_both
def test_gradients_of_gradients_to_the_fourth_order(T):
    x = leaf(T)
    y, orders = (x**5 + x.sin() * x.exp()).sum(), []
    for _ in range(4):
        (g,) = T.autograd.grad(y, x, create_graph=True)
        orders.append(values_of(g))
        y = g.sum()
    return orders


@same_on_both
def test_a_gradient_has_a_history_with_create_graph_alone_whatever_the_mode_of_the_caller(T):
    x, flags = leaf(T), []
    for create in (False, True):
        y, linear = (x**3).sum(), (x * 3).sum()
        with T.set_grad_enabled(not create):
            (g,) = T.autograd.grad(y, x, create_graph=create)
            (constant,) = T.autograd.grad(linear, x, create_graph=create)
            flags.append((g.requires_grad, g.grad_fn is None, constant.requires_grad, T.is_grad_enabled()))
    return flags


@same_on_both
def test_create_graph_in_backward_gives_a_grad_with_a_history_to_which_the_next_pass_adds(T):
    x = leaf(T)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    before = first.requires_grad, first.is_leaf, values_of(first)
    (x**4).sum().backward(create_graph=True)
    (h,) = T.autograd.grad(x.grad.sum(), x)
    same = first is x.grad
    x.grad = None
    return before, same, h


@same_on_both
def test_where_there_is_no_derivative_a_subgradient_or_a_value_nearby_stands_for_it(T):
    x = leaf(T, -1.0, 0.0, 1.0)
    functions = """x.relu(); x.abs(); x.sign(); x.round(); x.sqrt(); x.log(); (x * 0).max(); T.maximum(x, x * 1);
    x.clamp(0.0, 1.0); x.floor(); (x * 0).norm(); T.where(x > 0, x.sqrt(), x * 0)"""
    return [T.autograd.grad(eval(f.strip(), {"T": T, "x": x}).sum(), x)[0] for f in functions.split(";")]


@same_on_both
def test_a_hessian_vector_product_is_a_gradient_of_a_gradient_also_by_the_gradient_at_the_root(T):
    x, w, v = leaf(T), leaf(T, 1.0, 2.0, 3.0), leaf(T, 0.5, 2.0, 1.0)
    grads = T.autograd.grad(((x * w).tanh() * x), [x, w], v, create_graph=True)
    p, target = leaf(T, 0.0, 0.3, 1.0), leaf(T, 1.0, 0.4, 1.0).detach()
    (slope,) = T.autograd.grad(T.nn.functional.binary_cross_entropy(p, target), p, create_graph=True)
    products = T.autograd.grad(grads, [x, w, v], [v.detach(), v.detach() * 2])
    return *products, *T.autograd.grad(slope.sum(), p)


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
def test_re_entrant_passes_nest_a_dozens_deep_and_each_runs_to_its_end_first(T):
    levels, x = [], leaf(T, 1.0)
    nested(T, levels.append).apply(x, 40).backward()
    return levels, x.grad


@same_on_both
def test_the_modes_and_hooks_of_a_pass_hold_at_every_level_inside_it(T):
    seen = []

    def level(n):
        if n % 10:
            return
        mode = T.is_grad_enabled(), T.is_inference_mode_enabled()
        with T.enable_grad():
            leaf(T, 2.0).exp()
        seen.append((n, mode, len(packed)))

    packed, x = [], leaf(T, 1.0)
    y = nested(T, level).apply(x, 40)
    with T.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        y.backward()
    return seen, x.grad


@same_on_both
def test_an_error_forty_levels_deep_reaches_the_outermost_pass_and_leaves_the_state_sound(T):
    def level(n):
        if n == 0:
            raise ValueError("at the bottom")

    x = leaf(T, 1.0)
    failed = attempt(lambda: nested(T, level).apply(x, 40).backward())
    mode = T.is_grad_enabled()
    nested(T, lambda n: None).apply(x, 40).backward()
    return failed, mode, x.grad


def _state():
    """The settings of this thread, by name."""
    return {name: value for name, value in vars(modes.thread.state).items() if name != "running"}


@pytest.mark.parametrize("frames", range(12))
def test_an_endlessly_recursive_rule_is_reported_and_leaves_the_state_sound(frames):
    T = tinygrad_edu
    if frames:  # so that the limit is met at different lines
        return test_an_endlessly_recursive_rule_is_reported_and_leaves_the_state_sound(frames - 1)
    endless, before, x = nested(T, lambda n: None), _state(), leaf(T, 1.0)
    with pytest.raises(RecursionError):
        endless.apply(leaf(T, 1.0), -1).backward()
    assert _state() == before
    endless.apply(x, 40).backward()
    assert x.grad.tolist() == 41.0
    return None


@same_on_both
def test_a_hook_may_run_a_pass_whose_error_is_an_error_of_the_outer_one(T):
    x, w = leaf(T), leaf(T, 2.0)
    y = x * 2

    def inner(root):
        with T.enable_grad():
            root().backward()

    handle = y.register_hook(lambda grad: inner(lambda: T.ones(2, requires_grad=True)))
    failed = attempt(lambda: y.sum().backward(retain_graph=True)), x.grad
    handle.remove()
    y.register_hook(lambda grad: inner(lambda: w * grad.detach().sum()))
    y.sum().backward()
    return failed, x.grad, w.grad


@same_on_both
def test_a_gradient_of_what_a_leaf_was_is_not_given_to_what_it_is_now(T):
    x, w = leaf(T), leaf(T)
    y = x + 1
    (w * 2).sum().backward()
    for t in (x, w):
        t.data = T.ones(2, dtype=T.float64)
    errors = attempt(lambda: y.sum().backward()), attempt(lambda: (w + 1).sum().backward())
    seen = errors, x.grad, w.grad
    w.grad = None
    (w * 2).sum().backward()
    return seen, w.grad


@same_on_both
def test_zeros_for_an_unused_input_go_on_being_differentiated(T):
    x, a = leaf(T, 0.5), leaf(T, 2.0)
    (first,) = T.autograd.grad(x * a, x, create_graph=True)
    (second,) = T.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return second, *T.autograd.grad(second, x, materialize_grads=True)


@same_on_both
def test_hooks_of_a_leaf_run_in_pytorchs_order_on_one_gradient(T):
    seen, x = [], leaf(T)
    end = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    end.register_prehook(lambda gs: (gs[0] * 3,))
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", t.grad.mul_(0.5)))
    end.register_hook(noting(seen, "after"))
    (x * x).sum().backward()
    return seen, x.grad


@same_on_both
def test_what_a_hook_enters_and_does_not_leave_ends_with_the_pass(T):
    hooks, packed = T.autograd.graph.saved_tensors_hooks, []
    with hooks(lambda t: t, lambda t: hooks(lambda t: packed.append(1), lambda t: t).__enter__() or t):
        y = leaf(T).sin()
    y.sum().backward()
    return (leaf(T) ** 2).sum().backward(), packed


@same_on_both
def test_new_data_of_another_dtype_takes_gradients_of_that_dtype(T):
    x, whole = T.tensor([1.0, 2.0], requires_grad=True), T.tensor([1, 2])
    old = x * 2
    x.data = x.data.double()
    (x * 3).sum().backward()
    wide = x.grad.clone()
    whole.data = T.tensor([0.5])
    del x.grad
    refused = attempt(lambda: setattr(x, "data", T.tensor([1, 2])))
    return wide, whole, old.dtype == T.float32, refused


# How else one gets at the storage of a result: whoever writes there writes to the result.
WINDOWS = """y.mul_(10.0); y.detach().mul_(10.0); y.data.mul_(10.0); y.view(1).mul_(10.0);
y.detach().view(1)[0].mul_(10.0); np.multiply(y.detach().numpy(), 10.0, out=y.detach().numpy()); y.detach().fill_(10.0);
y.detach().copy_(T.tensor(10.0)); setattr(y, "data", T.tensor(10.0, dtype=T.float64));
y.detach().__setitem__((), 10.0)"""


@pytest.mark.parametrize("window", WINDOWS.replace("\n", " ").split("; "))
@same_on_both
def test_a_result_without_a_dimension_is_one_storage_for_all_that_show_it(T, window):
    found = []
    for looked in (False, True):
        x, w = leaf(T, 2.0), leaf(T, 3.0)
        y = x * w
        kept = y * w  # keeps y for its own gradient
        before = y.item() if looked else None
        eval(window, {"T": T, "np": np, "y": y})
        after = y * 1.0, y + y, y * w
        found.append((before, y, y._version, after, attempt(kept.backward), x.grad, w.grad))
    return found
