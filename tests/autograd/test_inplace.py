"""In-place ops: versions, rewritten histories, protected leaves, and never a silent wrong gradient."""

import pytest
from support.both import attempt, leaf, names, noting, same_on_both

IN_PLACE = """a.add_(w); a.add_(w, alpha=3); a.sub_(w); a.mul_(w); a.div_(w); a.pow_(2); a.neg_(); a.abs_(); a.exp_();
a.abs_().log_(); a.abs_().sqrt_(); a.sin_(); a.cos_(); a.tanh_(); a.sigmoid_(); a.relu_(); a.reciprocal_(); a.square_();
a.clamp_(0, 1); a.zero_(); a.fill_(3); a.copy_(w); a.copy_(w[0]); a.masked_fill_(a > 0, 5.0); a += w; a *= a; a += a;
a[0] = 7.0; a[0] = w[1]; a[1:] = w[:2]; a[[0, 2]] = w[1:]; a[a > 0] = 1.0; a[...] = w""".replace("\n", " ").split("; ")


@pytest.mark.parametrize("op", IN_PLACE)
@same_on_both
def test_each_in_place_op_has_pytorchs_value_version_history_and_gradient(T, op):
    x, w = leaf(T), leaf(T, 2.0, 3.0, 4.0)
    a = x * 2
    scope = {"a": a, "w": w}
    exec(op, scope)
    return scope["a"] is a, names(a), a._version, a, attempt(lambda: (a * a).sum().backward()), x.grad, w.grad


@same_on_both
def test_a_leaf_that_requires_grad_is_protected_but_under_no_grad_through_detach_and_through_data(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    writes = "x.add_(1); x.zero_(); x.__iadd__(c); x.__setitem__(0, 1.0); x.view(-1).add_(1); x[0].zero_(); x.copy_(c)"
    results = [attempt(lambda write=write: eval(write, {"x": x, "c": c})) for write in writes.split("; ")], x._version
    with T.no_grad():
        x.add_(1)
        x[0] = 5.0
        x.view(-1).mul_(2)
    x.detach().add_(1)
    versions = x._version
    x.data.add_(1)
    return results, x, versions, x._version


@same_on_both
def test_a_plain_tensor_joins_the_graph_by_an_in_place_op(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    view = c[1:]
    c.mul_(x)
    (c * c).sum().backward()
    return names(c), c.requires_grad, c.is_leaf, names(view), view, x.grad


@same_on_both
def test_an_in_place_op_keeps_shape_and_dtype_and_changes_integers_without_history(T):
    a, i, b = leaf(T) * 1, T.tensor([1, 2, 3]), T.tensor([True, False])
    wrong = [lambda size=size: a.add_(T.ones(*size, dtype=T.float64)) for size in ((2, 3), (2,))]
    wrong += [lambda: i.add_(1.5), lambda: i.mul_(a), lambda: i.div_(2)]
    results = [*(attempt(w) for w in wrong), attempt(lambda: a.__setitem__(0, T.ones(2, dtype=T.float64)))[0]]
    i.add_(1)
    i[0] = 7
    b.fill_(True)
    return results, T.ones(3).add_(a.detach()), a._version, i, b, i._version, b._version


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
def test_the_history_of_each_step_of_a_chain_is_kept_and_differentiated_twice(T):
    x, log = leaf(T), []
    a = (x * x).mul_(x)
    a.add_(1)
    a[0] = x[1] ** 2
    a.sub_(x * x)
    a.register_hook(noting(log, "end"))
    (g,) = T.autograd.grad(a.sum(), x, create_graph=True)
    return names(a), a._version, log, T.autograd.grad(g.sum(), x)


@same_on_both
def test_a_write_to_elements_that_are_one_place_is_refused(T):
    c, x = T.ones(3, dtype=T.float64), leaf(T) * 1
    writes = """c.expand(2, -1).add_(1); x.expand(2, -1).mul_(2); T.ones(2, 1, 3).expand(2, -1, -1).add_(1);
    T.ones(1, 2, 3).expand(2, -1, -1).add_(1); c.expand(2, -1).copy_(T.zeros(2, 3));
    c.expand(2, -1).__setitem__(0, 5.0); c.expand(2, -1)[0].add_(1)"""
    return outcomes(writes, T=T, c=c, x=x), c


@same_on_both
def test_a_write_that_reads_what_it_overwrites_is_refused(T):
    writes = """a[1:].add_(a[:-1]); a[:-1].mul_(a[1:]); a[:2].add_(a[2:]); a.add_(a); a.add_(a[:1]); m.add_(m.t());
    m.mul_(m[0]); a[::2].add_(a[1::2]); a.add_(a.view(4)); a[1:].copy_(a[:-1]); a.__setitem__(slice(1, None), a[:-1]);
    a.__setitem__(slice(0, 2), a[2:]); a.copy_(a); a[1:].add_(a.detach()[:-1]); a[1:].add_(a.data[:-1])"""
    a, m = T.tensor([1.0, 2.0, 3.0, 4.0]), T.tensor([[1.0, 2.0], [3.0, 4.0]])
    return outcomes(writes, a=a, m=m), a, m


def outcomes(writes, **scope):
    """What each of these gives, or its error."""
    results = [attempt(lambda write=write: eval(write.strip(), scope)) for write in writes.split(";")]
    return [r.tolist() if hasattr(r, "tolist") else r for r in results]


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
