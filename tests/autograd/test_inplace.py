"""In-place ops: versions, histories that are rewritten, leaves that are protected, and never a silent wrong gradient."""

import pytest
from support.both import attempt, leaf, names, noting, same_on_both

IN_PLACE = {
    "add_": lambda T, a, w: a.add_(w),
    "add_ alpha": lambda T, a, w: a.add_(w, alpha=3),
    "sub_": lambda T, a, w: a.sub_(w),
    "mul_": lambda T, a, w: a.mul_(w),
    "div_": lambda T, a, w: a.div_(w),
    "pow_": lambda T, a, w: a.pow_(2),
    "neg_": lambda T, a, w: a.neg_(),
    "abs_": lambda T, a, w: a.abs_(),
    "exp_": lambda T, a, w: a.exp_(),
    "log_": lambda T, a, w: a.abs_().log_(),
    "sqrt_": lambda T, a, w: a.abs_().sqrt_(),
    "sin_": lambda T, a, w: a.sin_(),
    "cos_": lambda T, a, w: a.cos_(),
    "tanh_": lambda T, a, w: a.tanh_(),
    "sigmoid_": lambda T, a, w: a.sigmoid_(),
    "relu_": lambda T, a, w: a.relu_(),
    "reciprocal_": lambda T, a, w: a.reciprocal_(),
    "square_": lambda T, a, w: a.square_(),
    "clamp_": lambda T, a, w: a.clamp_(0, 1),
    "zero_": lambda T, a, w: a.zero_(),
    "fill_": lambda T, a, w: a.fill_(3),
    "copy_": lambda T, a, w: a.copy_(w),
    "copy_ broadcast": lambda T, a, w: a.copy_(w[0]),
    "masked_fill_": lambda T, a, w: a.masked_fill_(a > 0, 5.0),
    "+=": lambda T, a, w: a.__iadd__(w),
    "*= itself": lambda T, a, w: a.__imul__(a),
    "+= itself": lambda T, a, w: a.__iadd__(a),
    "a[0] = number": lambda T, a, w: a.__setitem__(0, 7.0),
    "a[0] = tensor": lambda T, a, w: a.__setitem__(0, w[1]),
    "a[1:] = tensor": lambda T, a, w: a.__setitem__(slice(1, None), w[:2]),
    "a[[0, 2]] = tensor": lambda T, a, w: a.__setitem__(T.tensor([0, 2]), w[1:]),
    "a[mask] = number": lambda T, a, w: a.__setitem__(a > 0, 1.0),
    "a[...] = tensor": lambda T, a, w: a.__setitem__(..., w),
}


@pytest.mark.parametrize("op", IN_PLACE)
def test_each_in_place_op_has_pytorchs_value_version_history_and_gradient(op) -> None:
    @same_on_both
    def program(T):
        x, w = leaf(T), leaf(T, 2.0, 3.0, 4.0)
        a = x * 2
        result = attempt(lambda: IN_PLACE[op](T, a, w))
        history = names(a), a._version, result is None or result is a
        return history, a, attempt(lambda: (a * a).sum().backward()), x.grad, w.grad

    program()


@same_on_both
def test_a_leaf_that_requires_grad_is_protected_whatever_the_op(T):
    x = leaf(T)
    c = T.ones(3, dtype=T.float64)
    results = [
        attempt(lambda: x.add_(1)),
        attempt(lambda: x.zero_()),
        attempt(lambda: x.__iadd__(c)),
        attempt(lambda: x.__setitem__(0, 1.0)),
        attempt(lambda: x.view(-1).add_(1)),
        attempt(lambda: x[0].zero_()),
        attempt(lambda: x.copy_(c)),
    ]
    return results, x, x._version


@same_on_both
def test_a_leaf_may_be_changed_under_no_grad_through_detach_and_through_data(T):
    x = leaf(T)
    with T.no_grad():
        x.add_(1)
        x[0] = 5.0
        x.view(-1).mul_(2)
    x.detach().add_(1)
    versions = x._version
    x.data.add_(1)
    return x, versions, x._version


@same_on_both
def test_a_plain_tensor_joins_the_graph_by_an_in_place_op(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    view = c[1:]
    c.mul_(x)
    (c * c).sum().backward()
    return names(c), c.requires_grad, c.is_leaf, names(view), view, x.grad


@same_on_both
def test_an_in_place_op_keeps_shape_and_dtype(T):
    a = leaf(T) * 1
    i = T.tensor([1, 2, 3])
    return [
        attempt(lambda: a.add_(T.ones(2, 3, dtype=T.float64))),
        attempt(lambda: a.add_(T.ones(2, dtype=T.float64))),
        attempt(lambda: i.add_(1.5)),
        attempt(lambda: i.mul_(a)),
        attempt(lambda: i.div_(2)),
        attempt(lambda: T.ones(3).add_(a.detach())).tolist(),
        attempt(lambda: a.__setitem__(0, T.ones(2, dtype=T.float64)))[0],
        a._version,
    ]


@same_on_both
def test_integers_and_booleans_are_changed_without_history(T):
    i, b = T.tensor([1, 2, 3]), T.tensor([True, False])
    i.add_(1)
    i[0] = 7
    b.fill_(True)
    return i, b, i._version, b._version


@same_on_both
def test_an_op_that_saves_its_own_result_may_be_changed_no_more(T):
    results = {}
    for first in ("exp_", "tanh_", "sin_", "relu_", "mul_"):
        x = leaf(T)
        a = x * 1
        a = getattr(a, first)(*([a.detach().clone()] if first == "mul_" else []))
        a.add_(1)
        results[first] = attempt(lambda a=a: a.sum().backward()), x.grad
    return results


@same_on_both
def test_a_value_saved_before_the_change_is_missed(T):
    x = leaf(T)
    a = x * 1
    b = a * a
    a.add_(1)
    c = a * 3
    c.sum().backward()
    return attempt(lambda: b.sum().backward()), x.grad


@same_on_both
def test_the_history_of_each_step_of_a_chain_is_kept(T):
    x = leaf(T)
    a = x * 2
    a.add_(1)
    a.mul_(x)
    a.sub_(x * x)
    log = []
    a.register_hook(noting(log, "end"))
    a.sum().backward()
    return names(a), a._version, x.grad, log


@same_on_both
def test_in_place_results_differentiate_twice(T):
    x = leaf(T)
    a = (x * x).mul_(x)
    a[0] = x[1] ** 2
    (g,) = T.autograd.grad(a.sum(), x, create_graph=True)
    return T.autograd.grad(g.sum(), x)


@same_on_both
def test_accumulating_under_create_graph_adds_and_does_not_overwrite(T):
    x = leaf(T)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    (x**3).sum().backward(create_graph=True)
    (g,) = T.autograd.grad(x.grad.sum(), x)
    return first is x.grad, g


# --- elements that share a place in memory ---------------------------------------------------------------------------


@same_on_both
def test_a_write_to_elements_that_are_one_place_is_refused(T):
    c = T.ones(3, dtype=T.float64)
    x = leaf(T) * 1
    return [
        attempt(lambda: c.expand(2, -1).add_(1)),
        attempt(lambda: x.expand(2, -1).mul_(2)),
        attempt(lambda: T.ones(2, 1, 3).expand(2, -1, -1).add_(1)).tolist(),
        attempt(lambda: T.ones(1, 2, 3).expand(2, -1, -1).add_(1)),
        attempt(lambda: c.expand(2, -1).copy_(T.zeros(2, 3))),
        attempt(lambda: c.expand(2, -1).__setitem__(0, 5.0)),
        attempt(lambda: c.expand(2, -1)[0].add_(1)).tolist(),
        c,
    ]


@same_on_both
def test_a_write_that_reads_what_it_overwrites_is_refused(T):
    def row():
        return T.tensor([1.0, 2.0, 3.0, 4.0])

    a, b, c, d, e, f, g = (row() for _ in range(7))
    square = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    other = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    return [
        attempt(lambda: a[1:].add_(a[:-1])),
        attempt(lambda: b[:-1].mul_(b[1:])),
        attempt(lambda: c[:2].add_(c[2:])).tolist(),
        attempt(lambda: d.add_(d)).tolist(),
        attempt(lambda: e.add_(e[:1])),
        attempt(lambda: square.add_(square.t())),
        attempt(lambda: other.mul_(other[0])),
        attempt(lambda: f[::2].add_(f[1::2])).tolist(),
        attempt(lambda: g.add_(g.view(4))).tolist(),
    ]


@same_on_both
def test_a_copy_of_overlapping_memory_is_refused_alike(T):
    def row():
        return T.tensor([1.0, 2.0, 3.0, 4.0])

    a, b, c = row(), row(), row()

    def assign(t, key, value):
        t[key] = value
        return t.tolist()

    return [
        attempt(lambda: a[1:].copy_(a[:-1])),
        attempt(lambda: assign(b, slice(1, None), b[:-1])),
        attempt(lambda: assign(c, slice(0, 2), c[2:])),
        attempt(lambda: c.copy_(c)).tolist(),
    ]


@same_on_both
def test_memory_shared_through_detach_or_data_overlaps_too(T):
    a = T.tensor([1.0, 2.0, 3.0, 4.0])
    b = T.tensor([1.0, 2.0, 3.0, 4.0])
    return attempt(lambda: a[1:].add_(a.detach()[:-1])), attempt(lambda: b[1:].add_(b.data[:-1]))


@same_on_both
def test_whether_a_write_is_allowed_is_asked_before_whether_it_fits(T):
    x, y = leaf(T, [[1.0, 2.0], [3.0, 4.0]]), T.ones(2, 3, dtype=T.float64)
    return [attempt(lambda target=target: target.__setitem__(T.tensor([0]), y)) for target in (x, x * 1)]


@same_on_both
def test_a_number_is_written_by_a_mask_of_one_boolean_as_through_a_view(T):
    xs = [leaf(T, 2.0), leaf(T, 2.0) * 3, leaf(T, -2.0) * 3]
    written = [attempt(lambda x=x: x.__setitem__(x > 0, 3.0)) for x in xs]
    y = leaf(T, 2.0) * 3
    return written, xs, y[y > 0], y[T.tensor(True)], y[T.tensor(False)]


@same_on_both
def test_an_operand_with_an_unknown_history_is_refused_before_anything_is_computed(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
    row, _ = x.unbind(0)
    x.fill_(2)
    y = leaf(T, 2.0) * 1
    return attempt(lambda: y.sub_(row)), y
