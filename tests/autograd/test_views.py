"""Views: one storage, one version; a write through a view rewrites the history of its base and of all other views."""

import pytest
from support.both import attempt, leaf, names, noting, same_on_both

VIEWS = {
    "view": lambda T, a: a.view(6),
    "reshape": lambda T, a: a.reshape(3, 2),
    "t": lambda T, a: a.t(),
    "T": lambda T, a: a.T,
    "transpose": lambda T, a: a.transpose(0, 1),
    "permute": lambda T, a: a.permute(1, 0),
    "a[0]": lambda T, a: a[0],
    "a[0, 1]": lambda T, a: a[0, 1],
    "a[:, 1:]": lambda T, a: a[:, 1:],
    "a[::2]": lambda T, a: a[:, ::2],
    "a[None]": lambda T, a: a[None],
    "a[...]": lambda T, a: a[...],
    "unsqueeze": lambda T, a: a.unsqueeze(1),
    "squeeze": lambda T, a: a.unsqueeze(0).squeeze(0),
    "select": lambda T, a: a.select(0, 1),
    "narrow": lambda T, a: a.narrow(1, 0, 2),
    "diagonal": lambda T, a: a.diagonal(),
    "flatten": lambda T, a: a.flatten(),
    "expand": lambda T, a: a.expand(2, 2, 3),
    "view_as": lambda T, a: a.view_as(a),
    "detach": lambda T, a: a.detach(),
    "chain": lambda T, a: a.t()[1:],
    "split": lambda T, a: a.split(1)[1],
    "chunk": lambda T, a: a.chunk(2)[0],
    "unbind": lambda T, a: a.unbind()[1],
    "movedim": lambda T, a: a.movedim(0, 1),
    "unflatten": lambda T, a: a.unflatten(0, (1, 2)),
    "swapaxes": lambda T, a: a.swapaxes(0, 1),
    "real copy": lambda T, a: a.t().reshape(6),
    "clone": lambda T, a: a.clone(),
    "contiguous": lambda T, a: a.contiguous(),
    "float": lambda T, a: a.double(),
    "index": lambda T, a: a[[0, 1]],
    "mask": lambda T, a: a[a > 0],
}


def matrix(T):
    return leaf(T, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("op", VIEWS)
def test_what_shares_memory_is_a_view_with_a_base_and_one_version(op) -> None:
    @same_on_both
    def program(T):
        a = matrix(T) * 1
        v = VIEWS[op](T, a)
        is_same = v is a
        with T.no_grad():
            a.add_(1)
        return is_same, v.data_ptr() == a.data_ptr(), v._is_view(), v._base is a, v._version, v.tolist(), v.stride()

    program()


@pytest.mark.parametrize("op", VIEWS)
def test_a_write_through_a_view_gives_pytorchs_history_and_gradient_or_its_error(op) -> None:
    @same_on_both
    def program(T):
        x = matrix(T)
        a = x * 2
        v = VIEWS[op](T, a)
        before = a[1]
        written = attempt(lambda: v.mul_(3))
        outcome = written if isinstance(written, tuple) else (names(a), names(v), names(before))
        weights = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=T.float64)
        result = attempt(lambda: ((a * weights).sum() + (v * v).sum() + before.sum()).backward())
        return outcome, result, a, v, before, x.grad

    program()


@pytest.mark.parametrize("op", VIEWS)
def test_a_write_to_the_base_shows_in_the_history_of_a_view(op) -> None:
    @same_on_both
    def program(T):
        x = matrix(T)
        a = x * 2
        v = VIEWS[op](T, a)
        a.mul_(x)
        outcome = attempt(lambda: names(v))
        result = attempt(lambda: (v * v).sum().backward())
        return outcome, result, names(a), x.grad

    program()


@same_on_both
def test_the_base_of_a_view_of_a_view_is_the_first_tensor(T):
    a = matrix(T) * 1
    v = a.t()[1:][:, :1]
    return v._base is a, names(v), v.is_leaf, a._is_view(), a._base is None


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
def test_a_view_of_a_leaf_shows_that_its_base_requires_grad(T):
    c = T.ones(3)
    v = c[1:]
    c.requires_grad_()
    return v.requires_grad, v.is_leaf, c[1:].requires_grad, attempt(lambda: v.add_(1))


@same_on_both
def test_writes_through_different_views_compose(T):
    x, w = matrix(T), leaf(T, 10.0, 20.0)
    a = x * 1
    a[:, 0].mul_(w)
    a.t()[1].add_(w)
    a[1, 1:].copy_(w)
    a.view(-1)[::2].mul_(a.detach().clone().view(-1)[::2])
    (a * x).sum().backward()
    return names(a), a, x.grad, w.grad


@same_on_both
def test_a_write_on_a_permuted_base_lands_where_it_should(T):
    x = matrix(T)
    base = x.t() * 1
    base[1].mul_(5)
    base.t()[0].add_(1)
    base.permute(1, 0)[1:, 2].mul_(7)
    weights = T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=T.float64)
    (base * weights).sum().backward()
    return base, base.stride(), x.grad


@same_on_both
def test_a_write_on_a_permuted_base_differentiates_twice(T):
    x = matrix(T)
    base = x.t() * x.t()
    base[1].mul_(x[:, 1])
    (g,) = T.autograd.grad((base * base).sum(), x, create_graph=True)
    return T.autograd.grad(g.sum(), x)


@same_on_both
def test_a_write_through_a_view_of_saved_memory_is_noticed(T):
    x = matrix(T)
    a = x.exp()
    b = (a * a).sum()
    a[0, 0] = 0.0
    return attempt(lambda: b.backward()), x.grad


@same_on_both
def test_outputs_of_a_multi_view_op_cannot_be_written_to(T):
    results = []
    ways = (lambda a: a.unbind(), lambda a: a.split(1), lambda a: a.chunk(2), lambda a: a.split_with_sizes([1, 1]))
    for split in ways:
        a = matrix(T) * 1
        first, _ = split(a)
        results += [attempt(lambda first=first: first.add_(1)), attempt(lambda first=first: first[0].add_(1))]
        b = matrix(T) * 1
        parts = split(b)
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
            inside = v.requires_grad
        results.append(
            (
                inside,
                v.requires_grad,
                attempt(lambda v=v: names(v.add_(1))),
                attempt(lambda v=v: names(v.mul_(leaf(T)))),
            )
        )
    return results


@same_on_both
def test_a_view_of_such_a_view_cannot_either_and_a_view_made_outside_can(T):
    base = matrix(T) * 1
    with T.no_grad():
        v = base[0]
    w = v[1:]
    outside = base[1]
    with T.no_grad():
        outside.add_(1)
        v.add_(1)
    outside.mul_(2)
    return attempt(lambda: w.add_(1)), names(base), attempt(lambda: names(v)), base


@same_on_both
def test_the_view_of_a_leaf_may_be_written_to_under_no_grad(T):
    x = matrix(T)
    v = x[0]
    with T.no_grad():
        v.add_(1)
    return x, x._version, attempt(lambda: v.add_(1)), attempt(lambda: names(v))


@same_on_both
def test_hooks_on_a_base_and_on_a_view_around_a_write(T):
    log = []
    x = matrix(T)
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
def test_a_node_of_a_write_through_a_view_knows_its_edges(T):
    x, w = matrix(T), leaf(T, 2.0)
    a = x * 1
    a[0].mul_(w)
    node = a.grad_fn
    return node.name(), [None if n is None else n.name() for n, _ in node.next_functions], names(a[0])


@same_on_both
def test_a_second_pass_through_a_write_raises_where_it_needs_what_was_freed(T):
    x = matrix(T)
    a = x * 1
    a[0].mul_(T.tensor(3.0, dtype=T.float64))
    a.sum().backward(retain_graph=True)
    a.sum().backward()
    return attempt(lambda: a.sum().backward()), x.grad


@same_on_both
def test_retain_grad_follows_a_view_and_a_base_through_a_write(T):
    x = matrix(T)
    a = x * 1
    a.retain_grad()
    v = a[0]
    v.mul_(3)
    (a * 2).sum().backward()
    return a.grad, x.grad


@same_on_both
def test_gradients_with_respect_to_a_base_after_a_write_are_of_its_new_value(T):
    x = matrix(T)
    a = x * 1
    a[0].zero_()
    return T.autograd.grad((a * a).sum(), [a, x])


@same_on_both
def test_zeroing_a_part_stops_its_gradient(T):
    x = matrix(T)
    a = x * 1
    a[:, 1].zero_()
    a[0] = T.tensor([7.0, 8.0, 9.0], dtype=T.float64)
    (a * a).sum().backward()
    return a, x.grad


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
    return y.stride(), leaf(T, [[1.0, 2.0], [3.0, 4.0]]).t().expand(3, 2, 2).clone().stride(), x.grad


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
    ways = {
        "T": lambda t: t.T, "H": lambda t: t.H, "mT": lambda t: t.mT, "mH": lambda t: t.mH, "t": lambda t: t.t(),
        "adjoint": lambda t: t.adjoint(),
    }  # fmt: skip
    tensors = [T.ones(*shape, dtype=T.float64, requires_grad=True) for shape in ((2,), (2, 3), (2, 2, 3))]
    zero = leaf(T, 1.0)
    return [[attempt(lambda f=f, t=t: names(f(t))) for f in ways.values()] for t in tensors], zero.mT is zero


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
