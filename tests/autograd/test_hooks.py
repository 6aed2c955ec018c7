"""Hooks: on tensors, on nodes, after accumulation, on several tensors at once; their order, and what they may change."""

from support.both import attempt, failing, leaf, names, noting, same_on_both, values_of, warned

# --- on tensors ------------------------------------------------------------------------------------------------------


@same_on_both
def test_a_tensor_hook_sees_the_complete_gradient_once(T):
    log = []
    x = leaf(T)
    a = x * 2
    a.register_hook(noting(log, "a"))
    x.register_hook(noting(log, "x"))
    (a * a + a).sum().backward()
    return log, x.grad


@same_on_both
def test_hooks_run_in_the_order_of_registration_and_each_sees_what_the_last_returned(T):
    log = []
    x = leaf(T)
    for i in range(3):
        x.register_hook(noting(log, f"{i}", lambda g, i=i: g * 10 if i != 1 else None))
    (x * 2).sum().backward()
    return log, x.grad


@same_on_both
def test_a_removed_hook_is_not_called_and_removing_twice_is_harmless(T):
    log = []
    x = leaf(T)
    handle = x.register_hook(noting(log, "removed"))
    handle.remove()
    handle.remove()
    with x.register_hook(noting(log, "in a block")):
        x.sum().backward()
    x.sum().backward()
    return log, x.grad


@same_on_both
def test_a_hook_may_remove_itself_and_add_another(T):
    log = []
    x = leaf(T)

    def once(grad):
        log.append("once")
        handle.remove()
        x.register_hook(noting(log, "added"))

    handle = x.register_hook(once)
    x.sum().backward()
    log.append("second pass")
    x.sum().backward()
    return log


@same_on_both
def test_a_hook_replaces_the_gradient_with_a_tensor_of_the_same_kind_alone(T):
    results = []
    for value in (3.0, "text", T.ones(2, dtype=T.float64), T.ones(3), T.ones((), dtype=T.float64)):
        x = leaf(T)
        (x * 1).register_hook(lambda g: None)
        x.register_hook(lambda g, value=value: value)
        results.append((attempt(lambda x=x: (x * 2).sum().backward()), x.grad))
    return results


@same_on_both
def test_a_hook_that_changes_the_gradient_in_place_changes_it(T):
    x = leaf(T)
    a = x * 1

    def triple(grad):
        grad.mul_(3)

    a.register_hook(triple)
    (a * 2).sum().backward()
    return x.grad


@same_on_both
def test_only_what_requires_grad_takes_hooks(T):
    c, x = T.ones(2), leaf(T)
    y = x * 2
    return [
        attempt(lambda: c.register_hook(lambda g: g)),
        attempt(lambda: c.retain_grad()),
        attempt(lambda: c.register_post_accumulate_grad_hook(lambda t: None)),
        attempt(lambda: y.register_post_accumulate_grad_hook(lambda t: None)),
    ]


@same_on_both
def test_a_hook_on_a_tensor_that_gets_no_gradient_is_not_called(T):
    log = []
    x = leaf(T)
    a, b = x * 2, x * 3
    b.register_hook(noting(log, "b"))
    a.sum().backward()
    return log


@same_on_both
def test_a_hook_stays_where_the_tensor_was_when_it_was_set(T):
    """A hook set before an in-place op gets the gradient of the old value."""
    log = []
    x = leaf(T)
    a = x * 1
    a.register_hook(noting(log, "before"))
    a.mul_(5)
    a.register_hook(noting(log, "after"))
    a.sum().backward()
    return log, x.grad


@same_on_both
def test_a_hook_on_a_view_is_on_the_views_own_node(T):
    log = []
    x = leaf(T)
    a = x * 1
    v = a[1:]
    v.register_hook(noting(log, "view"))
    a.register_hook(noting(log, "base"))
    ((v * 2).sum() + a.sum()).backward()
    return log, x.grad


@same_on_both
def test_a_hook_on_one_output_of_several_sees_that_one(T):
    log = []
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind()
    b.register_hook(noting(log, "b", lambda g: g * 10))
    (a * 2 + b * 3).sum().backward()
    return log, x.grad


@same_on_both
def test_an_error_in_a_hook_is_the_error_of_the_pass_and_the_next_pass_is_sound(T):
    x = leaf(T)
    a = x.exp()
    handle = a.register_hook(failing("in the hook"))
    y = a.sum()
    first = attempt(lambda: y.backward()), x.grad, T.is_grad_enabled()
    handle.remove()
    y.backward()
    return first, x.grad


@same_on_both
def test_under_create_graph_what_a_hook_does_is_differentiated(T):
    x = leaf(T)
    a = x * x
    a.register_hook(lambda g: g * x)
    (g,) = T.autograd.grad(a.sum(), x, create_graph=True)
    return g.requires_grad, T.autograd.grad(g.sum(), x)


@same_on_both
def test_a_hook_on_a_gradient_is_called_in_the_second_pass(T):
    log = []
    x = leaf(T)
    (g,) = T.autograd.grad((x**3).sum(), x, create_graph=True)
    g.register_hook(noting(log, "gradient", lambda g: g * 2))
    g.sum().backward()
    return log, x.grad


# --- retain_grad -----------------------------------------------------------------------------------------------------


@same_on_both
def test_retain_grad_keeps_what_the_hooks_left_whenever_it_was_called(T):
    results = []
    for first in (True, False):
        x = leaf(T)
        a = x * 2
        if first:
            a.retain_grad()
        a.register_hook(lambda g: g * 10)
        if not first:
            a.retain_grad()
        a.sum().backward(retain_graph=True)
        a.sum().backward()
        results.append((a, x.grad))
    return results


@same_on_both
def test_retain_grad_on_a_leaf_does_nothing(T):
    x = leaf(T)
    x.retain_grad()
    x.sum().backward()
    return x.retains_grad, x.grad


@same_on_both
def test_a_retained_gradient_follows_the_tensor_through_in_place_ops(T):
    x = leaf(T)
    a = x * 1
    a.retain_grad()
    a.mul_(5)
    (a * 2).sum().backward()
    return a, x.grad


@same_on_both
def test_asking_an_intermediate_result_for_its_grad_warns(T):
    a = leaf(T) * 2
    a.sum().backward()
    b = leaf(T) * 2
    b.retain_grad()
    return warned(lambda: a.grad), warned(lambda: b.grad), warned(lambda: leaf(T).grad)


# --- after accumulation ----------------------------------------------------------------------------------------------


@same_on_both
def test_post_accumulate_hooks_run_after_the_grad_was_added_and_get_the_leaf(T):
    log = []
    x = leaf(T)
    x.grad = T.ones(3, dtype=T.float64)

    def hook(t):
        log.append((t is x, t.grad.tolist(), T.is_grad_enabled()))

    handle = x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()
    T.autograd.grad((x * 2).sum(), x)
    handle.remove()
    (x * 2).sum().backward()
    return log, x.grad


@same_on_both
def test_an_optimizer_step_inside_the_backward_pass(T):
    x = leaf(T)

    def step(t):
        with T.no_grad():
            t -= 0.1 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        (x * x).sum().backward()
    return x


@same_on_both
def test_a_post_accumulate_hook_returns_nothing_or_the_leaf(T):
    results = []
    for value in (lambda t: t, lambda t: t * 100, lambda t: 3):
        x = leaf(T)
        x.register_post_accumulate_grad_hook(value)
        results.append((attempt(lambda x=x: x.sum().backward()), x.grad))
    return results


# --- on nodes --------------------------------------------------------------------------------------------------------


@same_on_both
def test_the_order_of_all_hooks_around_one_node_and_one_leaf(T):
    log = []
    x = leaf(T)
    a = x.exp()
    a.grad_fn.register_hook(noting(log, "node after"))
    a.grad_fn.register_prehook(noting(log, "node before"))
    a.retain_grad()
    a.register_hook(noting(log, "tensor"))
    accumulator = a.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda t: log.append(["leaf after", t.grad.tolist()]))
    accumulator.register_hook(noting(log, "accumulator after"))
    accumulator.register_prehook(noting(log, "accumulator before"))
    x.register_hook(noting(log, "leaf"))
    a.sum().backward()
    return log, a.grad, x.grad


@same_on_both
def test_node_hooks_replace_what_comes_in_and_what_goes_out(T):
    log = []
    x = leaf(T)
    a = x.exp()
    a.grad_fn.register_prehook(noting(log, "before", lambda grads: (grads[0] * 10,)))
    a.grad_fn.register_hook(noting(log, "after", lambda grads: (grads[0] * 100,)))
    a.grad_fn.register_hook(noting(log, "after 2"))
    a.sum().backward()
    return log, x.grad


@same_on_both
def test_node_hooks_return_tuples_of_the_right_length_and_kind(T):
    results = []
    for kind in ("register_hook", "register_prehook"):
        for value in (
            lambda g: [g[0]],
            lambda g: (g[0], g[0]),
            lambda g: (),
            lambda g: g[0],
            lambda g: 3,
            lambda g: (g[0][:1],),
            lambda g: ("text",),
        ):
            x = leaf(T)
            a = x.exp()
            getattr(a.grad_fn, kind)(lambda *args, value=value: value(args[0]))
            results.append((kind, attempt(lambda a=a: a.sum().backward()), x.grad))
    return results


@same_on_both
def test_a_node_hook_may_put_none_where_a_gradient_was_and_not_the_reverse(T):
    results = []
    for value in (lambda g: (None, g[1]), lambda g: (g[0], g[0])):
        x, c = leaf(T), T.ones(3, dtype=T.float64)
        y = x * c
        y.grad_fn.register_hook(lambda grads, _, value=value: value(grads))
        results.append((attempt(lambda y=y: y.sum().backward()), x.grad))
    return results


@same_on_both
def test_a_node_hook_sees_none_for_an_input_without_gradient(T):
    log = []
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    y = c * x
    y.grad_fn.register_hook(noting(log, "product"))
    y.sum().backward()
    return log


@same_on_both
def test_hooks_on_an_accumulator_last_as_long_as_somebody_holds_it(T):
    log = []
    x = leaf(T)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(noting(log, "held"))
    y.sum().backward()
    return log, names(y)


@same_on_both
def test_hooks_are_called_where_only_some_inputs_are_asked_for(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = a * w
    for name, t in {"a": a, "x": x, "w": w, "y": y}.items():
        t.register_hook(noting(log, name))
    a.grad_fn.register_prehook(noting(log, "a before"))
    y.grad_fn.register_hook(noting(log, "y after"))
    first = T.autograd.grad(y.sum(), a, retain_graph=True)
    log.append("leaf")
    second = T.autograd.grad(y.sum(), w)
    return first, second, log


@same_on_both
def test_a_captured_gradient_is_the_one_that_hooks_left(T):
    x = leaf(T)
    a = x * 2
    a.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    found = *T.autograd.grad(a.sum(), [a, x], retain_graph=True), *T.autograd.grad(a.sum(), a)
    return [values_of(g) for g in found]


# --- on several tensors ----------------------------------------------------------------------------------------------


@same_on_both
def test_a_multi_grad_hook_of_all_is_called_once_when_the_last_gradient_came(T):
    log = []
    x, w, unused = leaf(T), leaf(T, 3.0), leaf(T, 1.0)
    a = x * w
    x.register_hook(noting(log, "x"))
    w.register_hook(noting(log, "w"))
    handle = T.autograd.graph.register_multi_grad_hook((x, w, a, unused), noting(log, "all"))
    a.sum().backward()
    log.append("second")
    (x * 2).sum().backward()
    handle.remove()
    (x * w).sum().backward()
    return log, len(handle.handles)


@same_on_both
def test_a_multi_grad_hook_of_any_is_called_with_the_first_gradient_of_each_pass(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    a = x * w
    handle = T.autograd.graph.register_multi_grad_hook((x, w, a), noting(log, "any"), mode="any")
    a.sum().backward(retain_graph=True)
    a.sum().backward()
    w.sum().backward()
    handle.remove()
    w.sum().backward()
    return log


@same_on_both
def test_a_multi_grad_hook_knows_which_tensors_a_pass_for_some_inputs_reaches(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = (a * w).sum()
    b = w.sin()
    z = a * b
    T.autograd.graph.register_multi_grad_hook((a, b, z), noting(log, "all"))
    T.autograd.grad(z.sum(), w, retain_graph=True)
    log.append("x")
    T.autograd.grad(z.sum(), x, retain_graph=True)
    log.append("elsewhere")
    y.backward()
    return log


@same_on_both
def test_a_multi_grad_hook_needs_tensors_that_require_grad_and_a_known_mode(T):
    hook = T.autograd.graph.register_multi_grad_hook
    return [
        attempt(lambda: hook((T.ones(1),), lambda g: None)),
        attempt(lambda: hook((leaf(T),), lambda g: None, mode="some")),
        attempt(lambda: hook((T.ones(1),), lambda g: None, mode="any").handles),
    ]


@same_on_both
def test_an_error_in_a_multi_grad_hook_leaves_it_ready_for_the_next_pass(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)

    def hook(grads):
        log.append(len(grads))
        if len(log) == 1:
            raise ValueError("first")

    T.autograd.graph.register_multi_grad_hook((x, w), hook)
    first = attempt(lambda: (x * w).sum().backward())
    (x * w).sum().backward()
    return first, log


@same_on_both
def test_the_gradient_kept_for_a_tensor_is_dropped_when_a_function_changes_it_in_place(T):
    """It survives an in-place op, and from then on the gradient of the new value is kept."""
    x = leaf(T)

    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    seen = []
    for change in (Double.apply, lambda y: y.mul_(2)):
        y = x.sin()
        y.retain_grad()
        y.sum().backward(retain_graph=True)
        change(y)
        before = None if y.grad is None else values_of(y.grad)
        (y * 3).sum().backward()
        seen.append((before, values_of(y.grad)))
    return seen


@same_on_both
def test_retain_grad_asks_nothing_of_what_is_a_leaf_to_this_moment(T):
    """This includes a view made under no_grad whose base was written to: its history is unknown."""
    base = leaf(T) * 1
    with T.no_grad():
        v = base[1:]
    base.mul_(2)
    return attempt(v.retain_grad), attempt(lambda: v.grad_fn)


@same_on_both
def test_a_second_backward_that_goes_round_a_module_calls_no_hook_of_it(T):
    calls = []
    module = T.nn.MSELoss()
    module.register_full_backward_hook(lambda module, inputs, outputs: calls.append([g is None for g in inputs]))
    x = leaf(T)
    (grad,) = T.autograd.grad(module(x, x.detach() * 2), x, create_graph=True)
    first = list(calls)
    again = T.autograd.grad(grad.sum(), x)
    module(x, x.detach() * 3).backward()
    return first, calls, again, x.grad


@same_on_both
def test_a_module_none_of_whose_inputs_requires_grad_warns_when_its_hook_is_called(T):
    calls = []
    layer = T.nn.Linear(3, 1)
    layer.register_full_backward_hook(lambda module, inputs, outputs: calls.append((len(inputs), len(outputs))))
    return warned(lambda: layer(T.ones(2, 3)).sum().backward()), calls


@same_on_both
def test_backward_hooks_of_a_module_see_one_gradient_for_each_input_and_output(T):
    class Pair(T.nn.Module):
        def forward(self, x, y, k, i):
            return x * y * k, None, y + 1, i

    def told(grads):
        return [None if g is None else values_of(g) for g in grads]

    calls = []
    module = Pair()
    module.register_full_backward_hook(lambda m, inputs, outputs: calls.append((told(inputs), told(outputs))))
    module.register_full_backward_pre_hook(lambda m, outputs: tuple(None if g is None else g * 2 for g in outputs))
    x, y = leaf(T), T.ones(3, dtype=T.float64)
    out, nothing, other, index = module(x, y, 3, T.tensor([1, 2]))
    out.sum().backward()
    return calls, x.grad, nothing, other, index
