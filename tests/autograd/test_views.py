"""Views: one storage, one version; a write through a view rewrites the history of its base and of all other views."""

import pytest
from support.both import attempt, leaf, names, noting, same_on_both, values_of

VIEWS = """a.view(6); a.reshape(3, 2); a.t(); a.T; a.transpose(0, 1); a.permute(1, 0); a[0]; a[0, 1]; a[:, 1:];
a[:, ::2]; a[None]; a[...]; a.unsqueeze(1); a.unsqueeze(0).squeeze(0); a.select(0, 1); a.narrow(1, 0, 2); a.diagonal();
a.flatten(); a.expand(2, 2, 3); a.view_as(a); a.detach(); a.t()[1:]; a.split(1)[1]; a.chunk(2)[0]; a.unbind()[1];
a.movedim(0, 1); a.unflatten(0, (1, 2)); a.swapaxes(0, 1); a.t().reshape(6); a.clone(); a.contiguous(); a.double();
a[[0, 1]]; a[a > 0]"""
VIEWS = VIEWS.replace("\n", " ").split("; ")


def matrix(T):
    return leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("op", VIEWS)
@same_on_both
def test_what_shares_memory_is_a_view_with_a_base_and_one_version(T, op):
    a = matrix(T) * 1
    v = eval(op, {"a": a})
    is_same = v is a
    with T.no_grad():
        a.add_(1)
    return is_same, v.data_ptr() == a.data_ptr(), v._is_view(), v._base is a, v._version, v.tolist(), v.stride()


@pytest.mark.parametrize("op", VIEWS)
@same_on_both
def test_a_write_through_a_view_or_to_its_base_gives_pytorchs_history_and_gradient_or_its_error(T, op):
    weights, seen = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], []
    for through in (True, False):
        x = matrix(T)
        a = x * 2
        v, before = eval(op, {"a": a}), a[1]
        written = attempt(lambda v=v, a=a, x=x, through=through: v.mul_(3) if through else a.mul_(x))
        history = written if isinstance(written, tuple) else [attempt(lambda t=t: names(t)) for t in (a, v, before)]
        terms = (a * T.tensor(weights, dtype=T.float64)).sum() + before.sum()
        seen += [history, attempt(lambda v=v, terms=terms: (terms + (v * v).sum()).backward()), a, v, before, x.grad]
    return seen


@same_on_both
def test_the_base_of_a_view_of_a_view_is_the_first_tensor_and_shows_that_it_requires_grad(T):
    a, c, x = matrix(T) * 1, T.ones(3), matrix(T)
    v, w, row = a.t()[1:][:, :1], c[1:], x[0]
    c.requires_grad_()
    with T.no_grad():
        row.add_(1)
    written = [attempt(lambda t=t: t.add_(1)) for t in (w, row)], attempt(lambda: names(row)), x, x._version
    flags = w.requires_grad, w.is_leaf, c[1:].requires_grad
    return v._base is a, names(v), v.is_leaf, a._is_view(), a._base is None, flags, written


@same_on_both
def test_a_view_of_a_plain_tensor_learns_to_require_grad(T):
    c = T.zeros(2, 3, dtype=T.float64)
    row, column = c[0], c[:, 1]
    x = leaf(T)
    row.copy_(x)
    unasked = attempt(lambda: column.mul_(2))
    asked = names(column), names(column.mul_(2))
    (c * c).sum().backward()
    return unasked, asked, names(c), names(row), row.requires_grad, x.grad, c._version


@same_on_both
def test_writes_through_different_views_compose(T):
    x, w = matrix(T), leaf(T, 10.0, 20.0)
    a = x * 1
    a[:, 0].mul_(w)
    a.t()[1].add_(w)
    a[1, 1:].copy_(w)
    a.view(-1)[::2].mul_(a.detach().clone().view(-1)[::2])
    a[:1, 1].zero_()
    (a * x).sum().backward(retain_graph=True)
    return names(a), a, x.grad, w.grad, [values_of(g) for g in T.autograd.grad((a + 1).sum(), [a, x])]


@same_on_both
def test_a_write_on_a_permuted_base_lands_where_it_should_and_differentiates_twice(T):
    x = matrix(T)
    base = x.t() * x.t()
    base[1].mul_(x[:, 1])
    base.t()[0].add_(1)
    base.permute(1, 0)[1:, 2].mul_(7)
    weights = T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=T.float64)
    (g,) = T.autograd.grad((base * base * weights).sum(), x, create_graph=True)
    return values_of(base), base.stride(), values_of(g), T.autograd.grad(g.sum(), x)


@same_on_both
def test_outputs_of_a_multi_view_op_cannot_be_written_to(T):
    results = []
    ways = (
        lambda a: a.unbind(),
        lambda a: iter(a),
        lambda a: a.split(1),
        lambda a: a.chunk(2),
        lambda a: a.split([1, 1]),
    )
    for split in ways:
        a = matrix(T) * 1
        first, _ = split(a)
        results += [attempt(lambda first=first: first.add_(1)), attempt(lambda first=first: first[0].add_(1))]
        b = matrix(T) * 1
        parts = [*split(b)]
        b.add_(1)
        results.append(attempt(lambda parts=parts: parts[0].grad_fn))
    with T.no_grad():
        results.append(attempt(lambda: (matrix(T) * 1).unbind()[0].add_(1)).tolist())
    results.append(attempt(lambda: T.ones(2, 2).unbind()[0].add_(1)).tolist())
    return results


@same_on_both
def test_a_view_made_under_no_grad_cannot_be_written_to_outside(T):
    results = []
    for base in (matrix(T) * 1, T.ones(2, 3, dtype=T.float64), matrix(T)):
        with T.no_grad():
            v = base[0]
            results.append(v.requires_grad)
        results += [v.requires_grad, attempt(lambda v=v: names(v.add_(1))), attempt(lambda v=v: names(v.mul_(leaf(T))))]
    return results


@same_on_both
def test_a_view_of_such_a_view_cannot_either_and_a_view_made_outside_can(T):
    base = matrix(T) * 1
    with T.no_grad():
        v = base[0]
    w, outside = v[1:], base[1]
    with T.no_grad():
        outside.add_(1)
        v.add_(1)
    outside.mul_(2)
    return attempt(lambda: w.add_(1)), names(base), attempt(lambda: names(v)), base


@same_on_both
def test_hooks_on_a_base_and_on_a_view_around_a_write(T):
    log, x = [], matrix(T)
    a = x * 1
    v = a[0]
    a.register_hook(noting(log, "base before"))
    v.register_hook(noting(log, "view before"))
    v.mul_(3)
    a.register_hook(noting(log, "base after"))
    v.register_hook(noting(log, "view after"))
    a.grad_fn.register_prehook(noting(log, "copy slices"))
    (a.sum() + v.sum()).backward()
    return log, names(a), x.grad


@same_on_both
def test_numpy_and_from_numpy_share_memory_unseen_by_versions(T):
    c = T.ones(3, dtype=T.float64)
    c.numpy()[0] = 5
    x = leaf(T)
    return c, c._version, attempt(lambda: x.numpy()), x.detach().numpy().tolist(), attempt(lambda: (x * 2).numpy())


@same_on_both
def test_a_view_learns_of_its_new_history_by_whatever_is_asked_first(T):
    def fresh():
        base = T.ones(3, dtype=T.float64)
        v = base[1:]
        base.mul_(leaf(T, 2.0))
        return v

    return [fresh().is_leaf, fresh().requires_grad, names(fresh()), fresh().output_nr, fresh().retain_grad()]


@same_on_both
def test_a_clone_of_an_expanded_tensor_lies_in_memory_as_it_is_read(T):
    x = leaf(T)
    y = x.expand(2, 3).clone()
    y.view(-1).sum().backward()
    return y.stride(), x.grad


@same_on_both
def test_a_view_of_a_view_reports_the_mode_in_which_the_last_was_made(T):
    x = leaf(T, [[1.0, 2.0], [3.0, 4.0]]) * 1
    row, _ = x.unbind(0)
    errors = []
    for mode in (T.no_grad, T.inference_mode):
        with mode():
            v = row.view(-1)
        errors.append(attempt(lambda v=v: v.mul_(2)))
    x.mul_(2)
    return errors, attempt(lambda: v.grad_fn), attempt(lambda: row.grad_fn)


@same_on_both
def test_each_way_to_transpose_has_the_node_of_pytorch(T):
    tensors = [T.ones(*shape, dtype=T.float64, requires_grad=True) for shape in ((2,), (2, 3), (2, 2, 3))]
    return [
        attempt(lambda s={"t": t}, way=way: names(eval(way, s))) for t in tensors for way in ("t.T", "t.mT", "t.t()")
    ]


@same_on_both
def test_a_view_that_retains_its_gradient_keeps_that_of_its_value_after_a_write_to_its_base(T):
    kept = []
    for write in (lambda h, v, w: h.mul_(3), lambda h, v, w: v.mul_(3), lambda h, v, w: w.mul_(3)):
        x = leaf(T)
        h = x * 2
        v, w = h[1:], h[:2]
        early = (v * 7).sum()
        for t in (v, w, h):
            t.retain_grad()
        write(h, v, w)
        (early + (v * 2).sum() + (w * 11).sum() + h.sum()).backward()
        kept.append([t.grad for t in (v, w, h, x)])
    return kept


@same_on_both
def test_a_gradient_through_a_write_to_a_view_is_differentiated_and_its_graph_freed_once(T):
    found = []
    for write in (lambda v: v.exp_(), lambda v: v.tanh_(), lambda v: v.mul_(v.detach() + 1), lambda v: v.relu_()):
        for kept in (True, False):
            x = leaf(T)
            base = x * 1
            view = base[:2]
            write(view)
            out = (view if kept else base).pow(2).sum()
            del view
            (grad,) = T.autograd.grad(out, x, create_graph=True)
            found.append((grad.detach(), *T.autograd.grad(grad.sum(), x), attempt(out.backward)))
    return found
