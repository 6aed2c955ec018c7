"""The graph as users see it: nodes, their names and edges, metadata, gradient edges, and how long all of these live."""

import gc
import weakref

import pytest
from support.both import attempt, leaf, names, noting, same_on_both, values_of

NAMED = {
    "d * d": lambda T, d: d * d,
    "10 - d": lambda T, d: 10 - d,
    "d - 10": lambda T, d: d - 10,
    "d + 1": lambda T, d: d + 1,
    "1 / d": lambda T, d: 1 / d,
    "d / 2": lambda T, d: d / 2,
    "d ** 2": lambda T, d: d**2,
    "d ** d": lambda T, d: d**d,
    "2 ** d": lambda T, d: 2**d,
    "-d": lambda T, d: -d,
    "d @ d": lambda T, d: d @ d,
    "d @ v": lambda T, d: d @ d[0],
    "v @ v": lambda T, d: d[0] @ d[0],
    "d.t()": lambda T, d: d.t(),
    "d.T": lambda T, d: d.T,
    "d.sum(0)": lambda T, d: d.sum(0),
    "d.sum()": lambda T, d: d.sum(),
    "d.mean()": lambda T, d: d.mean(),
    "d.mean(1)": lambda T, d: d.mean(1),
    "d.max()": lambda T, d: d.max(),
    "d.max(0)": lambda T, d: d.max(0)[0],
    "d.view": lambda T, d: d.view(-1),
    "d.reshape": lambda T, d: d.reshape(4),
    "d.t().reshape": lambda T, d: d.t().reshape(4),
    "d.expand": lambda T, d: d.expand(3, 2, 2),
    "d[0]": lambda T, d: d[0],
    "d[0, 1]": lambda T, d: d[0, 1],
    "d[:, 1:]": lambda T, d: d[:, 1:],
    "d[None]": lambda T, d: d[None],
    "d[[0, 0]]": lambda T, d: d[[0, 0]],
    "d[d > 0]": lambda T, d: d[d > 0],
    "stack": lambda T, d: T.stack([d, d]),
    "cat": lambda T, d: T.cat([d, d]),
    "split": lambda T, d: d.split(1)[1],
    "unbind": lambda T, d: d.unbind()[1],
    "where": lambda T, d: T.where(d > 0, d, 0.0),
    "clamp": lambda T, d: d.clamp(0, 1),
    "clone": lambda T, d: d.clone(),
    "float": lambda T, d: d.float(),
    "exp.log": lambda T, d: d.exp().log(),
    "relu": lambda T, d: d.relu(),
    "softmax": lambda T, d: d.softmax(0),
    "add with alpha": lambda T, d: d.add(d, alpha=2),
    "addcmul": lambda T, d: d.sqrt() + d.abs().rsqrt(),
    "norm": lambda T, d: d.norm(),
    "in place": lambda T, d: d.clone().add_(1).mul_(d),
    "square": lambda T, d: d.square(),
    "prod": lambda T, d: d.prod(),
    "linear": lambda T, d: T.nn.functional.linear(d, d, d[0]),
    "mse": lambda T, d: T.nn.functional.mse_loss(d, d.detach()),
    "cross entropy": lambda T, d: T.nn.functional.cross_entropy(d, T.tensor([0, 1])),
}


@pytest.mark.parametrize("op", NAMED)
def test_each_op_makes_nodes_with_pytorchs_names_edges_and_saved_names(op) -> None:
    @same_on_both
    def graphs(T):
        y = NAMED[op](T, leaf(T, [[1.0, 2.0], [3.0, 4.0]]))
        return names(y), y

    graphs()


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
def test_grad_fn_is_the_same_object_each_time_and_takes_metadata(T):
    x = leaf(T)
    y = x * 2
    y.grad_fn.metadata["note"] = [1]
    y.grad_fn.next_functions[0][0].metadata["leaf"] = True
    again = (y + 1).grad_fn.next_functions[0][0]
    return y.grad_fn is y.grad_fn, again is y.grad_fn, again.metadata, again.next_functions[0][0].metadata


@same_on_both
def test_the_outputs_of_one_node_are_numbered(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind()
    values, indices = x.max(0)
    return a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, (b * 2).grad_fn.next_functions[0][1], values, indices


@same_on_both
def test_sequence_numbers_grow_and_a_leaf_has_the_highest(T):
    x = leaf(T)
    a = x * 2
    b = a * 3
    accumulator = a.grad_fn.next_functions[0][0]
    return (
        b.grad_fn._sequence_nr() - a.grad_fn._sequence_nr(),
        accumulator._sequence_nr() > b.grad_fn._sequence_nr(),
        accumulator._sequence_nr() == 2**64 - 1,
    )


@same_on_both
def test_node_is_the_class_of_all_nodes(T):
    class Mine(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = leaf(T)
    y = x * 2
    nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], Mine.apply(x).grad_fn]
    return [isinstance(n, T.autograd.graph.Node) for n in [*nodes, x]]


@same_on_both
def test_a_leaf_and_what_is_not_recorded_have_no_node(T):
    x, c = leaf(T), T.ones(2)
    with T.no_grad():
        y = x * 2
    results = x, c, c * 2, y, x.detach(), x > 0, x.argmax(), x.data
    return [(t.grad_fn is None, t.is_leaf, t.requires_grad) for t in results]


@same_on_both
def test_requires_grad_is_contagious(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    return (c * c).requires_grad, (c * x).requires_grad, ((c * x) + c).requires_grad, (c * x).is_leaf


@same_on_both
def test_flags_of_a_result_cannot_be_changed_back(T):
    x = leaf(T)
    y = x * 2
    i = T.tensor([1, 2])
    return [
        attempt(lambda: y.requires_grad_(False)),
        attempt(lambda: setattr(y, "requires_grad", False)),
        attempt(lambda: y.requires_grad_()) is y,
        attempt(lambda: i.requires_grad_()),
        attempt(lambda: T.tensor([True], requires_grad=True)),
        attempt(lambda: T.tensor([1], requires_grad=True)),
        attempt(lambda: setattr(y, "grad_fn", None))[0],
        attempt(lambda: setattr(y, "is_leaf", True))[0],
    ]


@same_on_both
def test_a_leaf_whose_flag_is_turned_off_is_a_leaf_still(T):
    x = leaf(T)
    y = x * 2
    x.requires_grad = False
    z = x * 2
    x.requires_grad = True
    y.sum().backward()
    return x, z


@same_on_both
def test_grad_must_look_like_its_tensor(T):
    x = leaf(T)
    x.grad = T.ones(3, dtype=T.float64)
    held = x.grad
    (x * 2).sum().backward()
    return [
        held is x.grad,
        x.grad,
        attempt(lambda: setattr(x, "grad", T.ones(2, dtype=T.float64))),
        attempt(lambda: setattr(x, "grad", T.ones(3))),
        attempt(lambda: setattr(x, "grad", 3.0)),
        attempt(lambda: setattr(x, "grad", x)),
        x.grad,
    ]


@same_on_both
def test_a_dynamic_graph_is_what_python_ran(T):
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    x = leaf(T, 1.5)
    y = x
    while y < 10:
        y = y * 2 if y < 5 else y.exp()
    return names(power(x, 4)), names(y), y


# --- gradient edges --------------------------------------------------------------------------------------------------


@same_on_both
def test_a_gradient_edge_stands_for_a_tensor_as_root_and_as_input(T):
    edge = T.autograd.graph.get_gradient_edge
    x = leaf(T)
    a = x.exp()
    y = (a * 2).sum()
    ex, ea, ey = edge(x), edge(a), edge(y)
    results = [
        T.autograd.grad(y, [ea, ex], retain_graph=True),
        T.autograd.grad(ey, x, retain_graph=True),
        T.autograd.grad([ea], [ex], [T.ones(3, dtype=T.float64)], retain_graph=True),
    ]
    T.autograd.backward(ey, T.tensor(3.0, dtype=T.float64), inputs=[ex])
    return results, x.grad, ea.node is a.grad_fn, ea.output_nr, ex.node.name()


@same_on_both
def test_an_edge_outlives_its_tensor(T):
    x = leaf(T)
    a = x.exp()
    y = a.sin().sum()
    edge = T.autograd.graph.get_gradient_edge(a)
    del a
    return T.autograd.grad(y, edge)


@same_on_both
def test_an_edge_can_be_made_of_a_node_and_a_number(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind()
    y = (a * 2 + b * 3).sum()
    edges = [T.autograd.graph.GradientEdge(b.grad_fn, i) for i in (0, 1)]
    return T.autograd.grad(y, edges)


@same_on_both
def test_what_requires_no_gradient_has_no_edge(T):
    return attempt(lambda: T.autograd.graph.get_gradient_edge(T.ones(1)))


@same_on_both
def test_a_pass_from_an_edge_needs_a_gradient_unless_it_is_a_scalar(T):
    x = leaf(T)
    edge = T.autograd.graph.get_gradient_edge(x * 2)
    return attempt(lambda: T.autograd.grad(edge, x))[0], attempt(lambda: T.autograd.backward(edge))[0]


# --- how long it lives -----------------------------------------------------------------------------------------------


@same_on_both
def test_a_graph_lives_as_long_as_its_result_and_no_longer(T):
    x = leaf(T)
    y = (x.exp() * 2).sum()
    gc.disable()
    try:
        node = weakref.ref(x.exp)
        saved = (x * 3).exp()
        watcher = weakref.ref(saved)
        z = saved.sin()
        del saved
        alive = watcher() is not None
        del z
        return alive, watcher() is None, node() is None, names(y)
    finally:
        gc.enable()


@same_on_both
def test_backward_frees_saved_tensors_while_the_result_lives_on(T):
    class Big(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, inner):
            ctx.save_for_backward(inner)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    inner = T.ones(100)
    watcher = weakref.ref(inner)
    y = Big.apply(leaf(T), inner).sum()
    del inner
    before = watcher() is not None
    y.backward()
    return before, watcher() is None, y


# --- saved values on a node ------------------------------------------------------------------------------------------


@same_on_both
def test_a_node_shows_what_it_saved_until_it_is_freed(T):
    x, w = leaf(T), leaf(T, 3.0)
    y = x * w
    node = y.grad_fn
    shown = node._saved_self is x, node._saved_other is w
    power = (x**3).grad_fn
    exp = x.exp()
    settings = power._saved_exponent, exp.grad_fn._saved_result, (x.sum(0)).grad_fn._saved_dim
    y.sum().backward()
    return shown, settings[:2], attempt(lambda: node._saved_self), attempt(lambda: node._saved_nothing)[0]


@same_on_both
def test_a_raw_saved_tensor_unpacks_and_takes_hooks_once(T):
    x = leaf(T)
    log = []
    y = x.exp() * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(noting(log, "pack", lambda t: t * 2), noting(log, "unpack", lambda t: t / 2))
    again = attempt(lambda: raw.register_hooks(lambda t: t, lambda t: t))
    seen = y.grad_fn._saved_self
    y.sum().backward()
    freed = attempt(lambda: raw.register_hooks(lambda t: t, lambda t: t))
    return log, again, freed, x.grad, seen.requires_grad


@same_on_both
def test_a_node_may_be_called_by_hand(T):
    x, w = leaf(T), leaf(T, 3.0)
    g = T.ones(3, dtype=T.float64)
    y = x * w
    product = y.grad_fn(g)
    exp, sin, cos = x.exp(), x.sin(), x.cos()
    results = [product[0], exp.grad_fn(g), sin.grad_fn(g)]
    with T.no_grad():
        results.append(cos.grad_fn(g))
    (h,) = T.autograd.grad(results[1].sum(), x)
    return [(values_of(t), t.requires_grad) for t in results], h


@same_on_both
def test_no_zeros_are_made_for_an_edge(T):
    x, y = leaf(T), leaf(T)
    edge = T.autograd.graph.get_gradient_edge(y)
    return [
        attempt(lambda inputs=inputs: [values_of(g) for g in T.autograd.grad(x.sum(), inputs, materialize_grads=True)])
        for inputs in ([edge], [y], [T.autograd.graph.get_gradient_edge(x), y])
    ]


@same_on_both
def test_a_view_that_no_graph_leads_to_has_no_edge(T):
    x = leaf(T)
    with T.no_grad():
        v = x[1:]
    return v.requires_grad, attempt(lambda: T.autograd.graph.get_gradient_edge(v))


@same_on_both
def test_zeros_stand_for_the_gradient_of_a_view_that_no_graph_leads_to(T):
    x = leaf(T)
    with T.no_grad():
        v = x[1:]
    y = x * 2
    return [values_of(g) for g in T.autograd.grad(y.sum(), [v, x], materialize_grads=True)]
