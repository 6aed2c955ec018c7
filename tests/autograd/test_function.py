"""`Function`: what a custom op may take and return, what `ctx` keeps, and how each mistake is answered."""

import gc
import warnings
import weakref

import pytest
from support.both import attempt, failing, leaf, names, noting, same_on_both, values_of, warned


def make(T, forward, backward=None, setup_context=None, **others):
    """A Function class with these rules."""
    body = {"forward": staticmethod(forward), **{k: staticmethod(v) for k, v in others.items()}}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    if setup_context is not None:
        body["setup_context"] = staticmethod(setup_context)
    return type("Mine", (T.autograd.Function,), body)


@same_on_both
def test_the_combined_form_gets_ctx_first_and_the_split_form_keeps_in_setup_context(T):
    seen = []

    def combined(ctx, x, k):
        ctx.k = k
        ctx.save_for_backward(x)
        return x**k

    def split(x, k):
        seen.append((T.is_grad_enabled(), x.requires_grad))
        return x**k

    def setup(ctx, inputs, output):
        x, ctx.k = inputs
        seen.append((type(inputs).__name__, len(inputs), output.requires_grad, T.is_grad_enabled()))
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        return grad * ctx.k * ctx.saved_tensors[0] ** (ctx.k - 1), None

    x = leaf(T)
    y, z = make(T, combined, backward).apply(x, 3), make(T, split, backward, setup).apply(x, 2)
    (y + z).sum().backward()
    return seen, y, z, x.grad


@same_on_both
def test_ctx_is_the_node_and_the_node_carries_the_name_of_the_class(T):
    held = []

    def forward(ctx, x):
        held.append(ctx)
        ctx.note = "kept"
        return x**2

    y = make(T, forward, lambda ctx, grad: (held.append(ctx), grad)[1]).apply(leaf(T))
    y.sum().backward()
    node = y.grad_fn
    return node.name(), type(node).__name__, node is held[0], node is held[1], node.note, names(y)


@same_on_both
def test_forward_runs_without_recording_and_backward_too_unless_it_creates_a_graph(T):
    modes = []

    def rule(ctx, x):
        y = x * 2
        modes.append((T.is_grad_enabled(), x.requires_grad, y.requires_grad))
        return y

    x = leaf(T)
    y = make(T, rule, rule).apply(x).sum()
    T.autograd.grad(y, x, retain_graph=True)
    T.autograd.grad(y, x, create_graph=True)
    return modes


@same_on_both
def test_nothing_is_recorded_where_no_argument_requires_grad_or_under_no_grad(T):
    f = make(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    with T.no_grad():
        quiet = f.apply(leaf(T))
    with T.inference_mode():
        inside = f.apply(leaf(T))
    return f.apply(T.ones(2)), quiet, f.apply(leaf(T)).requires_grad, inside.requires_grad, inside.is_inference()


@same_on_both
def test_arguments_may_be_anything_and_each_has_a_gradient_or_none(T):
    def forward(ctx, x, text, numbers, function, nothing=None):
        ctx.needs = ctx.needs_input_grad
        return function(x) * len(text) * sum(numbers)

    def backward(ctx, grad):
        return grad * 9, None, None, None, None

    x = leaf(T)
    y = make(T, forward, backward).apply(x, "abc", [1, 2], abs, None)
    y.sum().backward()
    return y, x.grad, y.grad_fn.needs, y.grad_fn.next_functions[0][0].variable is x


@same_on_both
def test_keywords_stand_in_the_place_of_their_argument(T):
    f = make(T, lambda ctx, x, k=1.0: x * k, lambda ctx, g: (g * 2, None))
    x = leaf(T)
    results = [attempt(lambda: f.apply(x, k=2.0)), attempt(lambda: f.apply(x=x)), attempt(lambda: f.apply(k=x, x=3.0))]
    return results, [attempt(lambda t=t: T.autograd.grad(t.sum(), x)) for t in results]


@same_on_both
def test_optional_arguments_that_are_left_out_need_no_gradient(T):
    seen = []

    def forward(ctx, x, k=2.0):
        ctx.k = k
        return x * k

    def setup(ctx, inputs, output):
        seen.append(len(inputs))
        ctx.k = inputs[1]

    x = leaf(T)
    y = make(T, forward, lambda ctx, g: g * ctx.k).apply(x)
    z = make(T, forward, lambda ctx, g: (g * ctx.k, None)).apply(x, 5.0)
    split = attempt(lambda: make(T, lambda x, k=2: x * k, lambda ctx, g: (g * ctx.k, None), setup).apply(x))
    (y + z + (0 if isinstance(split, tuple) else split)).sum().backward()
    return y, z, x.grad, split, seen


@same_on_both
def test_needs_input_grad_tells_of_each_argument_in_forward_and_in_backward(T):
    seen = []
    noted = lambda ctx, value: (seen.append(ctx.needs_input_grad), value)[1]  # noqa: E731
    f = make(T, lambda ctx, a, b, k: noted(ctx, a * b), lambda ctx, grad: noted(ctx, (grad, None, None)))
    a, b = leaf(T), T.ones(3, dtype=T.float64)
    f.apply(a, b, 3).sum().backward()
    f.apply(b, a, 3)
    return seen


@same_on_both
def test_a_tensor_in_a_list_is_not_seen_and_one_that_is_given_twice_gets_both_gradients(T):
    f = make(T, lambda ctx, x, others: x + others[0], lambda ctx, g: (g, None))
    x, hidden, twice = leaf(T), leaf(T), leaf(T)
    f.apply(x, [hidden]).sum().backward()
    y = make(T, lambda ctx, a, b: a + b, lambda ctx, g: (g * 2, g * 3)).apply(twice, twice)
    y.sum().backward()
    return x.grad, hidden.grad, f.apply(T.ones(3), [hidden]).requires_grad, names(y), twice.grad


@same_on_both
def test_several_outputs_have_one_node_and_numbers(T):
    x = leaf(T)
    a, b = make(T, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b * 3).apply(x)
    (a.sum() + (b * b).sum()).backward()
    return a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, x.grad


@same_on_both
def test_outputs_that_are_not_tensors_pass_through_and_have_no_gradient(T):
    seen, x = [], leaf(T)

    def backward(ctx, *grads):
        seen.append([None if g is None else values_of(g) for g in grads])
        return grads[1]

    outputs = make(T, lambda ctx, x: ("text", x * 2, None, 5, x.argmax()), backward).apply(x)
    outputs[1].sum().backward()
    single = make(T, lambda ctx, x: (x * 2,), lambda ctx, g: g * 2).apply(leaf(T))
    pair = make(T, lambda ctx, x: [x * 2, 1]).apply(leaf(T))
    return [
        *(seen, x.grad, outputs, outputs[1].output_nr),
        *(type(single).__name__, single, type(pair).__name__, pair[0].requires_grad),
        make(T, lambda ctx, x: 3.0).apply(leaf(T)),
    ]


@same_on_both
def test_gradients_that_did_not_come_are_zeros_or_none_as_ctx_asks(T):
    seen = []
    for value in (True, False):

        def forward(ctx, x, value=value):
            ctx.set_materialize_grads(value)
            return x * 2, x[0] * 3

        x = leaf(T)
        backward = noting(seen, value, lambda a: T.ones(3, dtype=T.float64))
        make(T, forward, lambda ctx, a, b, note=backward: note(a, b)).apply(x)[1].backward()
        seen.append(x.grad)
    return seen


@same_on_both
def test_an_output_marked_non_differentiable_or_of_integers_ends_the_graph(T):
    def forward(ctx, x):
        index, top = x.argmax(), x * 2
        ctx.mark_non_differentiable(index, top)
        return x * 3, index, top, (x > 0).long()

    def backward(ctx, *grads):
        seen.append([values_of(g) for g in grads[:3]])
        return grads[0] * 3

    seen, x = [], leaf(T)
    outputs = make(T, forward, backward).apply(x)
    outputs[0].sum().backward()
    return outputs, seen, x.grad


@same_on_both
def test_an_input_returned_as_it_is_becomes_a_view_with_the_functions_node_and_is_not_written_to(T):
    x = leaf(T)
    y = make(T, lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    c, a = T.ones(2), x * 1
    z = make(T, lambda ctx, x: x, lambda ctx, g: g).apply(c)
    v = make(T, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3)).apply(a)
    two = make(T, lambda ctx, x: (x.view(3, 1), x[:2]), lambda ctx, g, h: g.view(3)).apply(a)
    ((y * 2).sum() + v.sum()).backward()
    written = [attempt(lambda t=t: t.add_(1)) for t in (y, v, v.t(), *two)]
    reasons = ["multiple views" in error[1] for error in written]
    flags = y is x, names(y), y._is_view(), y.data_ptr() == x.data_ptr(), x.grad, z is c, v._is_view(), names(v)
    return flags, written, reasons


@same_on_both
def test_inputs_outputs_intermediates_and_none_can_be_saved(T):
    def forward(ctx, x):
        e = x.exp()
        y = e * x
        ctx.save_for_backward(x, y, e, None)
        return y

    def backward(ctx, grad):
        x, y, e, nothing = ctx.saved_tensors
        seen.append((x is given, y.requires_grad, y.grad_fn is ctx, e.requires_grad, nothing))
        return grad * (e + y)

    seen, given = [], leaf(T)
    make(T, forward, backward).apply(given).sum().backward()
    return seen, given.grad


@same_on_both
def test_only_tensors_can_be_saved_and_the_last_call_counts(T):
    def forward(ctx, x, second):
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(second)
        return x * 2

    x = leaf(T)
    return attempt(lambda: make(T, forward).apply(x, 3)), len(make(T, forward).apply(x, x).grad_fn.saved_tensors)


@same_on_both
def test_saved_tensors_are_gone_after_backward_and_attributes_are_not(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = x
        return x * 2

    x = leaf(T)
    y = make(T, forward, lambda ctx, g: g * 2).apply(leaf(T)).sum()
    saved_nothing = make(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x).sum()
    node = y.grad_fn.next_functions[0][0]
    before = len(node.saved_tensors), node.needs_input_grad
    y.backward()
    for _ in range(2):
        saved_nothing.backward()
    return before, attempt(lambda: node.saved_tensors), node.kept, attempt(lambda: y.backward()), x.grad


@same_on_both
def test_a_saved_tensor_that_was_changed_is_noticed_and_an_attribute_is_not(T):
    def forward(ctx, x, save):
        ctx.y = x.exp()
        if save:
            ctx.save_for_backward(ctx.y)
        return ctx.y

    f = make(T, forward, lambda ctx, grad: (grad * (ctx.saved_tensors or [ctx.y])[0], None))
    x, w = leaf(T, 1.0), leaf(T, 1.0)
    results = [f.apply(x, True), f.apply(w, False)]
    with T.no_grad():
        for y in results:
            y.mul_(100)
    return [attempt(lambda y=y: y.backward()) for y in results], x.grad, w.grad


def doubling(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    return make(T, forward, lambda ctx, g: g * 2)


@same_on_both
def test_a_dirty_input_is_the_output_with_a_new_history_and_version_and_a_dirty_view_rewrites_its_base(T):
    x = leaf(T)
    a, base = x * 3, x * 3
    part = base[1:]
    same = doubling(T).apply(a) is a, doubling(T).apply(part) is part
    (a + base * T.tensor([1.0, 10.0, 100.0], dtype=T.float64)).sum().backward()
    return same, a._version, names(a), base._version, base, part, x.grad


@same_on_both
def test_what_may_be_dirty(T):
    def copied(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2).clone()

    def two(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x.sum()

    x, plain, saved = leaf(T), T.ones(3), leaf(T).exp()
    unmarked = make(T, lambda ctx, x: x.mul_(2).clone(), lambda ctx, g: g * 2).apply(saved)
    return [
        *(attempt(lambda t=t: doubling(T).apply(t)) for t in (x, x[1:])),
        *(doubling(T).apply(plain) is plain, plain),
        attempt(lambda: make(T, copied, lambda ctx, g: g).apply(x * 1)),
        *(attempt(lambda t=t: len(make(T, two, lambda ctx, g, h: g * 2).apply(t))) for t in ((x * 1)[1:], x * 1)),
        *(saved._version, attempt(lambda: unmarked.sum().backward())),
    ]


@same_on_both
def test_what_backward_returns_is_taken_summed_cast_ignored_or_refused(T):
    """A wrong number is an error, a None too many forgiven, a wrong None silent; a shape fits if it can be summed."""
    shapes = [T.ones(shape, dtype=T.float64) for shape in [(2,), (3, 1), (2, 3), (1, 3), (), (3, 3)]]
    results = []
    for returned in (
        *(lambda g: (g, g, None), lambda g: (g, None, None), lambda g: [g, g, None], lambda g: (g, g, None, None)),
        *(lambda g: (g,), lambda g: (g, g), lambda g: (), lambda g: None),
        *(lambda g: (g, g, g), lambda g: (g, g, None, g)),
        *(lambda g: (3.0, g, None), lambda g: ("text", g, None), lambda g: (T.ones(3), g, None)),
        *(lambda g, value=value: (value, g, None) for value in shapes),
    ):
        for second in (leaf(T), T.ones(3, dtype=T.float64)):
            x = leaf(T)
            f = make(T, lambda ctx, a, b, k: a * b * k, lambda ctx, g, returned=returned: returned(g))
            y = f.apply(x, second, 2.0)
            results.append((attempt(lambda y=y: y.sum().backward()), x.grad, second.grad))
    return results


@same_on_both
def test_what_is_not_implemented_says_so(T):
    x = leaf(T)
    no_backward = make(T, lambda ctx, x: x * 2).apply(x)
    no_forward = type("Mine", (T.autograd.Function,), {})
    return attempt(lambda: no_backward.sum().backward()), attempt(lambda: no_forward.apply(x)), no_backward


@same_on_both
def test_non_static_functions_and_instances_are_refused(T):
    old = type("Old", (T.autograd.Function,), {"forward": lambda self, x: x * 2, "backward": lambda self, grad: grad})
    new = make(T, lambda ctx, x: x * 2)

    def call(kind):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind()(leaf(T))

    return attempt(lambda: call(new)), attempt(lambda: call(old)), warned(new)


@same_on_both
def test_an_error_in_forward_or_backward_arrives_as_it_is(T):
    def bad(ctx, x):
        raise KeyError("boom")

    x = leaf(T)
    error = attempt(lambda: make(T, bad).apply(x))
    mode = T.is_grad_enabled()
    late = attempt(lambda: make(T, lambda ctx, x: x * 2, bad).apply(x).sum().backward())
    return error, mode, late, T.is_grad_enabled()


@same_on_both
def test_vjp_is_another_name_of_backward_and_both_are_an_error(T):
    x = leaf(T)
    make(T, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 2).apply(x).sum().backward()
    both = make(T, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(x)
    return x.grad, attempt(lambda: both.sum().backward())


@same_on_both
def test_a_backward_made_of_ops_is_differentiated_again_by_what_it_saved_of_its_inputs_and_outputs(T):
    def forward(ctx, x):
        y = x.exp() * x
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return (x.exp() + y) * grad

    y = x = leaf(T)
    y, orders = make(T, forward, backward).apply(x), []
    for _ in range(3):
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True)
        orders.append((y.requires_grad, values_of(y)))
    return orders


@same_on_both
def test_a_saved_intermediate_has_no_history_unless_it_is_returned_as_well(T):
    """The note "Double backward with custom functions" describes it: gradcheck passes, gradgradcheck fails."""

    def forward(ctx, x, returned):
        e = x.exp()
        ctx.save_for_backward(e)
        return ((e - 1 / e) / 2, e) if returned else (e - 1 / e) / 2

    def backward(ctx, grad, grad_e=0):
        (e,) = ctx.saved_tensors
        return grad * (e + 1 / e) / 2 + grad_e * e, None

    f, x = make(T, forward, backward), leaf(T)
    checks = T.autograd.gradcheck, T.autograd.gradgradcheck
    (g,) = T.autograd.grad(f.apply(x, False).sum(), x, create_graph=True)
    return [
        *(values_of(g), g.requires_grad),
        *(check(lambda x: f.apply(x, False), (x,), raise_exception=False) for check in checks),
        *(check(lambda x: f.apply(x, True)[0], (x,), raise_exception=False) for check in checks),
    ]


@same_on_both
def test_once_differentiable_lets_no_wrong_second_gradient_through(T):
    once, modes = T.autograd.function.once_differentiable, []

    def backward(ctx, grad):
        modes.append(T.is_grad_enabled())
        return grad * 2 * ctx.x

    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    x, f = leaf(T), make(T, forward, once(backward))
    f.apply(x).sum().backward()
    (g,) = T.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (h,) = T.autograd.grad((f.apply(x) * x).sum(), x, create_graph=True)
    first, nothing, second = once(lambda ctx, a, b, scale: (a * scale, None, b))(None, x, x, scale=3)
    return (
        *(modes, x.grad, g.requires_grad, attempt(lambda: h.sum().backward())),
        *(t.grad_fn.name() for t in (first, second)),
        *(first.grad_fn is second.grad_fn, nothing, second.output_nr, names(first), values_of(first)),
        *(attempt(lambda: first.sum().backward()), attempt(lambda: once(lambda ctx, a: [a])(None, x))),
    )


@same_on_both
def test_forward_may_compute_with_autograd_inside(T):
    def forward(ctx, x):
        with T.enable_grad():
            inner = x.detach().requires_grad_()
            y = (inner**3).sum()
            (ctx.slope,) = T.autograd.grad(y, inner)
        return y.detach()

    x = leaf(T)
    make(T, forward, lambda ctx, g: g * ctx.slope).apply(x).backward()
    return x.grad


@same_on_both
def test_a_linear_layer_as_the_note_extending_pytorch_writes_it(T):
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

    def backward(ctx, grad):
        (input, weight, bias), (into, by, plus) = ctx.saved_tensors, ctx.needs_input_grad
        of_bias = grad.sum(0) if bias is not None and plus else None
        return grad.mm(weight) if into else None, grad.t().mm(input) if by else None, of_bias

    linear = make(T, forward, backward, lambda ctx, inputs, output: ctx.save_for_backward(*inputs)).apply
    x, w, b = leaf(T, [[1.0, 2.0]]), leaf(T, [[3.0, 4.0], [5.0, 6.0]]), leaf(T, 7.0, 8.0)
    linear(x, w, b).sum().backward()
    linear(x.detach(), w, None).sum().backward()
    return x.grad, w.grad, b.grad, T.autograd.gradcheck(linear, (x, w, b)), T.autograd.gradgradcheck(linear, (x, w, b))


@same_on_both
def test_hooks_on_the_node_of_a_function_see_all_its_gradients(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    y = make(T, lambda ctx, x, k, w: x * w, lambda ctx, g: (g * 2, None, g.sum() * 5)).apply(x, "k", w)
    y.grad_fn.register_hook(noting(log, "after"))
    y.grad_fn.register_prehook(noting(log, "before"))
    y.sum().backward()
    return log, names(y)


@same_on_both
def test_an_input_that_was_changed_and_is_not_recorded_comes_back_detached(T):
    def unmarked(ctx, x):
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.mul_(2)

    leaf_, inner = leaf(T), leaf(T) * 1
    with T.no_grad():
        y = doubling(T).apply(leaf_)
    z = make(T, unmarked, lambda ctx, grad: grad).apply(inner)
    return [(t.requires_grad, values_of(t)) for t in (leaf_, y, inner, z)], y is leaf_, z is inner


@same_on_both
def test_what_forward_finds_outside_may_be_returned_and_is_detached_where_it_is_not_recorded(T):
    outside, kept, plain = leaf(T), leaf(T) * 2, T.ones(3, dtype=T.float64)
    with T.no_grad():
        y = make(T, lambda ctx, x: outside, lambda ctx, grad: grad).apply(leaf(T))
    recorded = make(T, lambda ctx, x: plain, lambda ctx, g: g * 2).apply(leaf(T))

    def forward(ctx, x):
        ctx.mark_non_differentiable(kept)
        return kept, x * 2

    z, _ = make(T, forward, lambda ctx, nothing, grad: grad).apply(leaf(T))
    flags = y is outside, y.requires_grad, z is kept, z.requires_grad, z.grad_fn is None
    return flags, recorded is plain, plain.requires_grad, names(plain)


@same_on_both
def test_the_classes_behind_a_function_are_pytorchs(T):
    module = T.autograd.function
    kind = make(T, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, grad: grad * ctx.saved_tensors[0])
    x = leaf(T)
    node = kind.apply(x).grad_fn
    kinds = isinstance(node, module.BackwardCFunction) and isinstance(node, module.FunctionCtx)
    linked = type(node) is kind._backward_cls and node._forward_cls is kind
    grad = node.apply(T.ones(3, dtype=T.float64))
    return type(kind) is module.FunctionMeta, kinds, linked, type(node).__name__, values_of(grad)


@same_on_both
def test_what_forward_asked_for_stands_on_ctx_until_it_is_done(T):
    told = []

    def forward(ctx, x):
        y = x * 2
        told.append([ctx.to_save, ctx.saved_for_forward, ctx.dirty_tensors, ctx.non_differentiable])
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(y)
        told.append([len(t) for t in (ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable)])
        return x.mul_(3), y

    node = make(T, forward, lambda ctx, grad, nothing: grad * 3).apply(leaf(T) * 1)[0].grad_fn
    return told, node.dirty_tensors, node.non_differentiable


@same_on_both
def test_ctx_has_room_for_names_of_the_users(T):
    found = []
    for name in ["run", "release", "name", "accumulate", "variable", "edges", "outputs", "kept", "function"]:
        x = leaf(T)
        put = lambda ctx, x, rule, name=name: (setattr(ctx, name, rule), rule(x))[1]  # noqa: E731
        kind = make(T, put, lambda ctx, grad, name=name: (getattr(ctx, name)(grad), None))
        kind.apply(x, lambda t: t * 3).sum().backward()
        found.append(x.grad)
    return found


@same_on_both
def test_forward_may_write_to_a_view_that_it_has_made(T):
    def forward(ctx, x, written):
        out = x.clone()[:2]
        if written:
            out += 2
        return out

    x = leaf(T)
    Mine = make(T, forward, lambda ctx, grad: (T.cat([grad * 5, T.zeros(1, dtype=T.float64)]), None))
    return [(Mine.apply(x, written), *T.autograd.grad(Mine.apply(x, written).sum(), x)) for written in (False, True)]


@same_on_both
def test_only_an_input_is_marked_as_dirty(T):
    def tripled(ctx, x, viewed):
        out = x.clone().view_as(x) if viewed else 3 * x
        ctx.mark_dirty(out)
        return out

    x, f = leaf(T), make(T, tripled, lambda ctx, grad: (3 * grad, None))
    warned(lambda: f.apply(x * 1, False).sum().backward())
    return x.grad, attempt(lambda: f.apply(x * 1, True))


@pytest.mark.outer
@same_on_both
def test_nothing_is_held_by_what_a_function_saves_of_its_own_outputs(T):
    def written(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def interrupted(ctx, x):
        y = x.clone()
        made.append(weakref.ref(y))
        ctx.save_for_backward(y)
        return y

    made, x = [], leaf(T)
    gc.collect()
    gc.disable()
    try:
        view = (x * 1).view(-1)
        made.append(weakref.ref(view))
        make(T, written, lambda ctx, grad: grad).apply(view)
        del view
        again = make(T, interrupted, lambda ctx, grad: (ctx.saved_tensors, grad)[1]).apply
        # The second run ends in the middle of `apply`, once all is there.
        T.utils.checkpoint.checkpoint(lambda x: again(x), x, use_reentrant=False).sum().backward()
        with T.autograd.graph.saved_tensors_hooks(failing("not kept"), lambda t: t):
            refused = attempt(lambda: again(x))
        return [reference() is None for reference in made], refused
    finally:
        gc.enable()
