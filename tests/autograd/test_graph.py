"""The graph as users see it: nodes, their names and edges, metadata, gradient edges, and how long all of these live."""

import gc
import weakref

from support.both import attempt, leaf, names, noting, same_on_both, values_of


@same_on_both
def test_a_node_names_its_inputs_in_order_with_none_for_what_needs_no_gradient(T):
    x, c = leaf(T, 1.0), T.tensor(2.0, dtype=T.float64)
    y = T.where(T.tensor(True), c * x, x)
    return names(c * x), names(x * c), names(y), [n is None for n, _ in (c * x).grad_fn.next_functions]


@same_on_both
def test_all_uses_of_a_leaf_lead_to_one_accumulator_that_knows_it(T):
    x = leaf(T)
    y = x * x
    (a, _), (b, nr) = y.grad_fn.next_functions
    z = (x + 1).grad_fn.next_functions[0][0]
    return a is b, a is z, nr, a.variable is x, a.next_functions, a.name(), attempt(lambda: y.grad_fn.variable)[0]


@same_on_both
def test_grad_fn_is_the_same_object_each_time_takes_metadata_and_is_a_node(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.metadata["note"] = [1]
    y.grad_fn.next_functions[0][0].metadata["leaf"] = True
    again = (y + 1).grad_fn.next_functions[0][0]
    kinds = [isinstance(n, T.autograd.graph.Node) for n in (again, again.next_functions[0][0], x)]
    return y.grad_fn is y.grad_fn, again is y.grad_fn, again.metadata, again.next_functions[0][0].metadata, kinds


@same_on_both
def test_the_outputs_of_one_node_are_numbered(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind()
    return a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, (b * 2).grad_fn.next_functions[0][1], tuple(x.max(0))


@same_on_both
def test_sequence_numbers_grow_and_a_leaf_has_the_highest(T):
    a = leaf(T) * 2
    b, accumulator = a * 3, a.grad_fn.next_functions[0][0]
    first, second, last = (node._sequence_nr() for node in (a.grad_fn, b.grad_fn, accumulator))
    return second - first, last > second, last == 2**64 - 1


@same_on_both
def test_requires_grad_is_contagious_and_a_leaf_and_what_is_not_recorded_have_no_node(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    with T.no_grad():
        y = x * 2
    results = "x; c; c * 2; c * x; c * x + c; y; x.detach(); x > 0; x.argmax(); x.data; T.tensor(x.tolist())"
    results += "; (x > 0).double(); x.to(T.float32); x.to('cpu'); x.clone(); x.view(-1); T.tensor(x.sum().item())"
    made = [eval(code, {"T": T, "x": x, "c": c, "y": y}) for code in results.split("; ")]
    return [(t.grad_fn is None, t.is_leaf, t.requires_grad) for t in made]


@same_on_both
def test_flags_of_a_result_cannot_be_changed_back_and_those_of_a_leaf_can(T):
    x, i = leaf(T), T.tensor([1, 2])
    y = x * 2
    x.requires_grad = False
    z = x * 2
    x.requires_grad = True
    y.sum().backward()
    found = [attempt(lambda: y.requires_grad_(False)), attempt(lambda: setattr(y, "requires_grad", False))]
    found += [attempt(lambda: y.requires_grad_()) is y, attempt(lambda: i.requires_grad_())]
    found += [attempt(lambda data=data: T.tensor(data, requires_grad=True)) for data in ([True], [1])]
    found += [attempt(lambda name=name: setattr(y, name, None))[0] for name in ("grad_fn", "is_leaf")]
    return x, z, found


@same_on_both
def test_grad_must_look_like_its_tensor(T):
    x = leaf(T)
    x.grad = held = T.ones(3, dtype=T.float64)
    (x * 2).sum().backward()
    others = T.ones(2, dtype=T.float64), T.ones(3), 3.0, x
    return held is x.grad, [attempt(lambda g=g: setattr(x, "grad", g)) for g in others], x.grad


@same_on_both
def test_a_dynamic_graph_is_what_python_ran(T):
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    x = leaf(T, 1.5)
    y = x
    while y < 10:
        y = y * 2 if y < 5 else y.exp()
    return names(power(x, 4)), names(y), y


@same_on_both
def test_a_view_that_no_graph_leads_to_gets_zeros(T):
    x, y = leaf(T), leaf(T)
    with T.no_grad():
        v = x[1:]
    return v.requires_grad, T.autograd.grad((x * 2).sum(), (v, x, y), materialize_grads=True)


@same_on_both
def test_a_graph_lives_as_long_as_its_result_and_backward_frees_what_it_saved(T):
    gc.disable()
    try:
        saved = [(leaf(T) * 3).exp() for _ in range(2)]
        watchers = [weakref.ref(t) for t in saved]
        z, y = saved[0].sin(), saved[1].sin().sum()
        del saved
        seen = [[w() is not None for w in watchers]]
        del z
        seen.append([w() is not None for w in watchers])
        y.backward()
        return seen, [w() is not None for w in watchers], y
    finally:
        gc.enable()


@same_on_both
def test_a_node_shows_what_it_saved_until_it_is_freed(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = x * w
    node = y.grad_fn
    shown = node._saved_self is x, node._saved_other is w
    power, exp = (x**3).grad_fn, x.exp()
    settings = power._saved_exponent, exp.grad_fn._saved_result is exp, exp.grad_fn._saved_result
    y.sum().backward()
    return shown, settings, attempt(lambda: node._saved_self), attempt(lambda: node._saved_nothing)[0]


@same_on_both
def test_a_raw_saved_tensor_unpacks_and_takes_hooks_once(T):
    x, log = leaf(T), []
    y = x.exp() * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(noting(log, "pack", lambda t: t * 2), noting(log, "unpack", lambda t: t / 2))
    again = attempt(lambda: raw.register_hooks(lambda t: t, lambda t: t))
    seen = y.grad_fn._saved_self
    y.sum().backward()
    return log, again, attempt(lambda: raw.register_hooks(lambda t: t, lambda t: t)), x.grad, seen.requires_grad


@same_on_both
def test_a_node_may_be_called_by_hand(T):
    x, w = leaf(T), leaf(T, 3.0)
    g = T.ones(3, dtype=T.float64)
    product = (x * w).grad_fn(g)
    exp, sin, cos = x.exp(), x.sin(), x.cos()
    results, wrong = [product[0], exp.grad_fn(g), sin.grad_fn(g)], [attempt(lambda: exp.grad_fn(g, g))]
    with T.no_grad():
        results.append(cos.grad_fn(g))
    (h,) = T.autograd.grad(results[1].sum(), x)
    return [(values_of(t), t.requires_grad) for t in results], h, wrong, attempt(lambda: sin.grad_fn())
