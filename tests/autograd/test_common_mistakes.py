"""The fifteen things learners get wrong most: each mistake, its usual "fixing", and what is right, on both engines."""

from support.both import attempt, leaf, names, same_on_both, values_of, warned


def function(T, forward, backward):
    return type("Mine", (T.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


@same_on_both
def test_01_a_second_backward_raises_for_a_product_and_not_for_a_sum(T):
    x = leaf(T)
    product, total = (x * x).sum(), (x + 1).sum()
    product.backward()
    total.backward()
    total.backward()
    return attempt(lambda: product.backward()), x.grad


@same_on_both
def test_01_retain_graph_fixes_the_error_and_adds_the_old_gradient_again(T):
    x = leaf(T)
    state = x * 2
    grads = []
    for _ in range(3):
        state = state * x
        state.sum().backward(retain_graph=True)
        grads.append(values_of(x.grad))
    return grads


@same_on_both
def test_02_requires_grad_set_on_the_loss_silences_the_error_and_nothing_learns(T):
    w = leaf(T)
    loss = T.tensor((w * 2).sum().item())
    error = attempt(lambda: loss.backward())
    loss.requires_grad = True
    loss.backward()
    return error, w.grad, loss.grad


@same_on_both
def test_02_item_argmax_and_a_new_tensor_cut_the_graph(T):
    x = leaf(T)
    cuts = [
        T.tensor(x.sum().item()),
        x.argmax(),
        T.tensor([v.item() for v in x]),
        (x > 0).double().sum(),
        x.detach().sum(),
        x.data.sum(),
        T.tensor(x.detach().numpy()).sum(),
    ]
    with T.no_grad():
        cuts.append(x.sum())
    return [(t.requires_grad, attempt(lambda t=t: t.backward())) for t in cuts]


@same_on_both
def test_03_without_zero_grad_gradients_add_up_in_silence(T):
    w = leaf(T, 1.0)
    seen = []
    for _ in range(3):
        ((w - 3) ** 2).backward()
        seen.append(w.grad.item())
        with T.no_grad():
            w -= 0.1 * w.grad
    return seen, w


@same_on_both
def test_04_exp_and_relu_then_add_raise_while_a_product_and_a_square_do_not(T):
    results = {}
    for name in ("exp", "relu", "double", "square"):
        x = leaf(T)
        y = {"exp": x.exp, "relu": x.relu, "double": lambda x=x: x * 2, "square": lambda x=x: x**2}[name]()
        y.add_(1)
        results[name] = attempt(lambda y=y: y.sum().backward()), x.grad
    return results


@same_on_both
def test_05_a_result_of_to_a_cast_or_arithmetic_is_not_a_leaf_and_gets_no_grad(T):
    made = [
        leaf(T).to(T.float32),
        leaf(T).float(),
        leaf(T).to("cpu"),
        leaf(T) * 0.1,
        leaf(T).view(-1),
        leaf(T).clone(),
        leaf(T).double(),
    ]
    for t in made:
        t.sum().backward()
    return [(t.is_leaf, t.grad) for t in made]


@same_on_both
def test_05_an_update_that_rebinds_the_weight_makes_a_non_leaf(T):
    w = leaf(T)
    (w * w).sum().backward()
    w = w - 0.1 * w.grad
    (w * w).sum().backward()
    return w.is_leaf, names(w), w.grad


@same_on_both
def test_06_a_sum_of_losses_keeps_every_graph_and_item_keeps_none(T):
    alive = []
    for keep in (lambda loss: loss, lambda loss: loss.item(), lambda loss: loss.detach()):
        x = leaf(T)
        total = 0
        for _ in range(3):
            total = total + keep(x.exp().sum())
        alive.append(names(total) if hasattr(total, "grad_fn") else "a number")
    return alive


@same_on_both
def test_07_recurrent_state_that_is_not_detached_leads_into_the_last_batch(T):
    results = []
    for detach in (False, True):
        w = leaf(T, 0.5)
        h = T.ones(1, dtype=T.float64)
        steps = []
        for _ in range(3):
            if detach:
                h = h.detach()
            h = (h * w).tanh()
            steps.append(attempt(lambda h=h: h.sum().backward()))
        results.append((steps, w.grad))
    return results


@same_on_both
def test_08_an_attribute_is_silently_wrong_where_save_for_backward_raises(T):
    results = []
    for save in (False, True):

        def forward(ctx, x, save=save):
            y = x.exp()
            if save:
                ctx.save_for_backward(y)
            else:
                ctx.y = y
            return y

        def backward(ctx, grad, save=save):
            return grad * (ctx.saved_tensors[0] if save else ctx.y)

        x = leaf(T, 1.0)
        y = function(T, forward, backward).apply(x)
        with T.no_grad():
            y.mul_(100)
        results.append((attempt(lambda y=y: y.backward()), x.grad))
    assert results[0][1].item() > 271
    return results


@same_on_both
def test_09_detach_no_grad_and_data_are_three_things(T):
    x = leaf(T)
    d, raw = x.detach(), x.data
    with T.no_grad():
        n = x * 1
        v = x.view(-1)
    y = x * x
    flags = [(t.requires_grad, t.is_leaf, t.data_ptr() == x.data_ptr()) for t in (d, raw, n, v)]
    raw.add_(1)
    silent = T.autograd.grad(y.sum(), x, retain_graph=True)
    d.add_(1)
    return flags, silent, attempt(lambda: T.autograd.grad(y.sum(), x))


@same_on_both
def test_10_one_gradient_too_few_is_an_error_and_a_wrong_none_is_silent(T):
    results = []
    for backward in (lambda ctx, g: (g, None), lambda ctx, g: (g, None, None), lambda ctx, g: (g, g * ctx.k, None)):

        def forward(ctx, a, b, k):
            ctx.k = k
            return a + k * b

        a, b = leaf(T), leaf(T)
        y = function(T, forward, backward).apply(a, b, 3.0)
        results.append((attempt(lambda y=y: y.sum().backward()), a.grad, b.grad))
    return results


@same_on_both
def test_11_a_forgotten_unbroadcast_is_fixed_by_the_engine_for_a_custom_function(T):
    x, b = leaf(T, [[1.0, 2.0], [3.0, 4.0]]), leaf(T, 5.0, 6.0)
    y = function(T, lambda ctx, x, b: x + b, lambda ctx, g: (g, g)).apply(x, b)
    y.sum().backward()
    lost = function(T, lambda ctx, x: x * 1, lambda ctx, g: g.sum(0)).apply(x)
    return x.grad, b.grad, attempt(lambda: lost.sum().backward())


@same_on_both
def test_12_over_a_saved_intermediate_gradcheck_passes_and_gradgradcheck_fails(T):
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    f = function(T, forward, lambda ctx, g: 3 * ctx.saved_tensors[0] * g)

    def right(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    g = function(T, right, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)
    x = leaf(T)
    checks = T.autograd.gradcheck, T.autograd.gradgradcheck
    return [[check(h.apply, (x,), raise_exception=False) for check in checks] for h in (f, g)]


@same_on_both
def test_13_the_branch_of_where_that_was_not_taken_brings_nan(T):
    results = []
    for safe in (False, True):
        x = leaf(T, 0.0, 4.0)
        inner = T.where(x > 0, x, 1.0) if safe else x
        T.where(x > 0, inner.sqrt(), 0.0).sum().backward()
        results.append(x.grad)
    return results


@same_on_both
def test_14_a_function_is_applied_and_not_instantiated(T):
    import warnings

    class Old(T.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, grad):
            return grad * 2

    def instance():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Old()(leaf(T))

    return attempt(instance)


@same_on_both
def test_15_views_leaves_integers_and_roots_that_are_not_scalars(T):
    x = leaf(T)
    i = T.tensor([1, 2, 3])
    return [
        attempt(lambda: x.add_(1)),
        attempt(lambda: x[0].add_(1)),
        attempt(lambda: x.view(-1).zero_()),
        attempt(lambda: i.requires_grad_()),
        attempt(lambda: (x * 2).backward()),
        attempt(lambda: (x * i).sum().backward()),
        x.grad,
    ]


@same_on_both
def test_a_tensor_used_twice_counts_twice(T):
    x = leaf(T)
    (x * x).sum().backward()
    return x.grad


@same_on_both
def test_in_place_zeroing_under_an_old_graph_and_rebinding_grad(T):
    x = leaf(T)
    (x * 2).sum().backward()
    old = x.grad
    x.grad = x.grad * 0
    (x * 3).sum().backward()
    return old, x.grad


@same_on_both
def test_making_a_tensor_from_a_tensor_warns(T):
    x = leaf(T)
    return [
        warned(make)
        for make in (
            lambda: T.tensor(x.detach()),
            lambda: T.ones(1).new_tensor(x.detach()),
            lambda: T.tensor(x.tolist()),
            lambda: x.detach().clone().requires_grad_(),
        )
    ]


@same_on_both
def test_an_invalid_size_is_refused(T):
    makers = (
        lambda: T.ones([2, -1]), lambda: T.full((2, -3), 1.0), lambda: T.empty(-2), lambda: T.rand(2, -1),
        lambda: T.randn(-1), lambda: T.randint(0, 3, (-1,)), lambda: T.ones(2).new_zeros(-1),
        lambda: T.nn.functional.glu(T.tensor(1.0)), lambda: T.nn.functional.glu(T.ones(3)),
    )  # fmt: skip
    return [attempt(make) for make in makers], T.ones(T.tensor(2), 1).shape == (2, 1), T.zeros([]).shape == ()
