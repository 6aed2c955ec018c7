"""Hooks: on tensors, on nodes, after accumulation, on several tensors; their order, and what they may change."""

from support.both import attempt, leaf, names, noting, same_on_both, values_of, warned


@same_on_both
def test_a_tensor_hook_sees_the_complete_gradient_once(T):
    log, x = [], leaf(T)
    a = x * 2
    a.register_hook(noting(log, "a"))
    x.register_hook(noting(log, "x"))
    (a * a + a).sum().backward()
    return log, x.grad


@same_on_both
def test_hooks_run_in_the_order_of_registration_and_each_sees_what_the_last_returned(T):
    log, x = [], leaf(T)
    for i in range(3):
        x.register_hook(noting(log, f"{i}", lambda g, i=i: g * 10 if i != 1 else None))
    (x * 2).sum().backward()
    return log, x.grad


@same_on_both
def test_a_removed_hook_is_not_called_and_a_hook_may_remove_itself_and_add_another(T):
    log, x = [], leaf(T)
    handle = x.register_hook(noting(log, "removed"))
    handle.remove()
    handle.remove()
    with x.register_hook(noting(log, "in a block")):
        x.sum().backward()

    def once(grad):
        log.append("once")
        itself.remove()
        x.register_hook(noting(log, "added"))

    itself = x.register_hook(once)
    for _ in range(2):
        log.append("a pass")
        x.sum().backward()
    return log, x.grad


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
def test_a_hook_that_changes_the_gradient_in_place_changes_it_and_none_is_called_without_a_gradient(T):
    log, x = [], leaf(T)
    a, b = x * 1, x * 3
    a.register_hook(lambda grad: noting(log, "a")(grad.mul_(3)))
    b.register_hook(noting(log, "b"))
    (a * 2).sum().backward()
    return log, x.grad


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
def test_a_hook_stays_where_the_tensor_was_when_it_was_set_and_retain_grad_moves_along(T):
    """A hook set before an in-place op gets the gradient of the old value."""
    log, x = [], leaf(T)
    a = x * 1
    a.register_hook(noting(log, "before"))
    a.retain_grad()
    a.mul_(5)
    a.register_hook(noting(log, "after"))
    a.sum().backward()
    return log, a, x.grad


@same_on_both
def test_a_hook_on_a_view_is_on_the_views_own_node_and_one_on_an_output_of_several_sees_that_one(T):
    log, x = [], leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a = x * 1
    v = a[1:]
    v.register_hook(noting(log, "view"))
    a.register_hook(noting(log, "base"))
    first, second = x.unbind()
    second.register_hook(noting(log, "second", lambda g: g * 10))
    ((v * 2).sum() + a.sum() + (first * 2 + second * 3).sum()).backward()
    return log, x.grad


@same_on_both
def test_under_create_graph_what_a_hook_does_is_differentiated_and_a_gradient_takes_hooks(T):
    log, x = [], leaf(T)
    a = x * x
    a.register_hook(lambda g: g * x)
    (g,) = T.autograd.grad(a.sum(), x, create_graph=True)
    g.register_hook(noting(log, "gradient", lambda g: g * 2))
    g.sum().backward()
    return g.requires_grad, log, x.grad


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
def test_asking_an_intermediate_result_for_its_grad_warns_unless_it_retains_it(T):
    x, a, b = leaf(T), leaf(T) * 2, leaf(T) * 2
    x.retain_grad()
    b.retain_grad()
    (x + a + b).sum().backward()
    return [(t.retains_grad, warned(lambda t=t: t.grad)) for t in (x, a, b)]


@same_on_both
def test_post_accumulate_hooks_run_after_the_grad_was_added_and_may_step_and_clear_it(T):
    log, x, w = [], leaf(T), leaf(T)
    x.grad = T.ones(3, dtype=T.float64)
    handle = x.register_post_accumulate_grad_hook(lambda t: log.append((t is x, t.grad.tolist(), T.is_grad_enabled())))

    def step(t):
        with T.no_grad():
            t -= 0.1 * t.grad
        t.grad = None

    w.register_post_accumulate_grad_hook(step)
    (x * 2 + w * w).sum().backward()
    T.autograd.grad((x * 2).sum(), x)
    handle.remove()
    (x * 2 + w * w).sum().backward()
    return log, x.grad, w


@same_on_both
def test_a_post_accumulate_hook_returns_nothing_or_the_leaf(T):
    results = []
    for value in (lambda t: t, lambda t: t * 100, lambda t: 3):
        x = leaf(T)
        x.register_post_accumulate_grad_hook(value)
        results.append((attempt(lambda x=x: x.sum().backward()), x.grad))
    return results


@same_on_both
def test_the_order_of_all_hooks_around_one_node_and_one_leaf(T):
    log, x = [], leaf(T)
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
    log, x = [], leaf(T)
    a = x.exp()
    a.grad_fn.register_prehook(noting(log, "before", lambda grads: (grads[0] * 10,)))
    a.grad_fn.register_hook(noting(log, "after", lambda grads: (grads[0] * 100,)))
    a.grad_fn.register_hook(noting(log, "after 2"))
    a.sum().backward()
    return log, x.grad


@same_on_both
def test_node_hooks_return_tuples_of_the_right_length_and_kind(T):
    values = {"list": lambda g: [g[0]], "two": lambda g: (g[0], g[0]), "none": lambda g: ()}
    values |= {"no tuple": lambda g: g[0], "a number": lambda g: 3, "another shape": lambda g: (g[0][:1],)}
    values |= {"no tensor": lambda g: ("text",)}
    results = {}
    for kind in ("register_hook", "register_prehook"):
        for name, value in values.items():
            x = leaf(T)
            a = x.exp()
            getattr(a.grad_fn, kind)(lambda *args, value=value: value(args[0]))
            results[kind, name] = attempt(lambda a=a: a.sum().backward()), x.grad
    return list(results.values())


@same_on_both
def test_a_node_hook_sees_none_without_a_gradient_and_may_put_none_where_one_was_but_not_the_reverse(T):
    log, results = [], []
    for value in (lambda g: (None, g[1]), lambda g: (g[0], g[0])):
        x, c = leaf(T), T.ones(3, dtype=T.float64)
        y = x * c
        y.grad_fn.register_hook(noting(log, "product", value))
        results.append((attempt(lambda y=y: y.sum().backward()), x.grad))
    return results, log


@same_on_both
def test_hooks_on_an_accumulator_last_as_long_as_somebody_holds_it(T):
    log, y = [], leaf(T) * 2
    y.grad_fn.next_functions[0][0].register_hook(noting(log, "held"))
    y.sum().backward()
    return log, names(y)


@same_on_both
def test_hooks_are_called_where_only_some_inputs_are_asked_for_and_a_captured_gradient_is_what_they_left(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    a = x.exp()
    y = a * w
    for name, t in {"a": a, "x": x, "w": w, "y": y}.items():
        t.register_hook(noting(log, name, lambda g: g * 10))
    a.grad_fn.register_prehook(noting(log, "a before"))
    y.grad_fn.register_hook(noting(log, "y after"))
    grads = []
    for inputs in (a, w, [a, x]):
        log.append("a pass")
        grads.append([values_of(g) for g in T.autograd.grad(y.sum(), inputs, retain_graph=True)])
    y.sum().backward(inputs=[w])
    return grads, log, x.grad, w.grad


@same_on_both
def test_the_gradient_kept_for_a_tensor_is_dropped_when_a_function_changes_it_in_place(T):
    """It survives an in-place op, and from then on the gradient of the new value is kept."""
    rules = {"forward": staticmethod(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1])}
    rules |= {"backward": staticmethod(lambda ctx, grad: grad * 2)}
    seen = []
    for change in (type("Double", (T.autograd.Function,), rules).apply, lambda y: y.mul_(2)):
        y = leaf(T).sin()
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
def test_a_second_backward_that_goes_round_a_module_calls_no_hook_of_it_and_one_without_gradients_warns(T):
    calls, module, layer, x = [], T.nn.MSELoss(), T.nn.Linear(3, 1), leaf(T)
    for each in (module, layer):
        each.register_full_backward_hook(lambda module, inputs, outputs: calls.append([g is None for g in inputs]))
    (grad,) = T.autograd.grad(module(x, x.detach() * 2), x, create_graph=True)
    first, again = list(calls), T.autograd.grad(grad.sum(), x)
    module(x, x.detach() * 3).backward()
    return first, again, x.grad, warned(lambda: layer(T.ones(2, 3)).sum().backward()), calls


@same_on_both
def test_hooks_of_a_module_see_and_replace_what_goes_in_and_out_forward_and_backward(T):
    rule = {"forward": lambda self, x, y, k, i: (x * y * k, None, y + 1, i)}
    calls, module = [], type("Pair", (T.nn.Module,), rule)()
    module.register_forward_pre_hook(lambda m, args: calls.append(("pre", len(args))))
    module.register_forward_hook(lambda m, args, out: (out[0] * 2, *out[1:]))
    handle = module.register_full_backward_hook(told(calls))
    module.register_full_backward_pre_hook(lambda m, outputs: tuple(None if g is None else g * 2 for g in outputs))
    x, y = leaf(T), T.ones(3, dtype=T.float64)
    results = [module(x, y, 3, T.tensor([1, 2])) for _ in range(2)]
    results[0][0].sum().backward()
    handle.remove()
    results[1][0].sum().backward()
    return calls, x.grad, results[0][1:]


def told(log):
    return lambda module, *grads: log.append([[None if g is None else values_of(g) for g in gs] for gs in grads])
