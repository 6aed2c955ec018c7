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


# --- the two forms ---------------------------------------------------------------------------------------------------


@same_on_both
def test_the_combined_form_gets_ctx_first(T):
    def forward(ctx, x, k):
        ctx.k = k
        ctx.save_for_backward(x)
        return x**k

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.k * x ** (ctx.k - 1), None

    x = leaf(T)
    y = make(T, forward, backward).apply(x, 3)
    y.sum().backward()
    return y, x.grad


@same_on_both
def test_the_split_form_keeps_in_setup_context(T):
    seen = []

    def forward(x, k):
        seen.append((T.is_grad_enabled(), x.requires_grad))
        return x * k

    def setup(ctx, inputs, output):
        x, ctx.k = inputs
        seen.append((type(inputs).__name__, len(inputs), output.requires_grad, T.is_grad_enabled()))
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * ctx.k + 0 * x * y, None

    x = leaf(T)
    y = make(T, forward, backward, setup).apply(x, 3)
    y.sum().backward()
    return seen, y, x.grad


@same_on_both
def test_ctx_is_the_node_and_the_node_carries_the_name_of_the_class(T):
    held = []

    class Power(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            held.append(ctx)
            ctx.note = "kept"
            return x**2

        @staticmethod
        def backward(ctx, grad):
            held.append(ctx)
            return grad

    x = leaf(T)
    y = Power.apply(x)
    y.sum().backward()
    node = y.grad_fn
    return node.name(), type(node).__name__, node is held[0], node is held[1], node.note, names(y)


@same_on_both
def test_forward_runs_without_recording_and_backward_too(T):
    modes = []

    def forward(ctx, x):
        modes.append(T.is_grad_enabled())
        y = x * 2
        modes.append(y.requires_grad)
        return y

    def backward(ctx, grad):
        modes.append((T.is_grad_enabled(), grad.requires_grad))
        return grad * 2

    x = leaf(T)
    y = make(T, forward, backward).apply(x)
    T.autograd.grad(y.sum(), x, retain_graph=True)
    T.autograd.grad(y.sum(), x, create_graph=True)
    return modes


@same_on_both
def test_nothing_is_recorded_where_no_argument_requires_grad_or_under_no_grad(T):
    f = make(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    with T.no_grad():
        quiet = f.apply(leaf(T))
    return f.apply(T.ones(2)), quiet, f.apply(leaf(T)).requires_grad


# --- arguments -------------------------------------------------------------------------------------------------------


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
def test_optional_arguments_that_are_left_out_need_no_gradient(T):
    def forward(ctx, x, k=2.0):
        ctx.k = k
        return x * k

    x = leaf(T)
    y = make(T, forward, lambda ctx, g: g * ctx.k).apply(x)
    z = make(T, forward, lambda ctx, g: (g * ctx.k, None)).apply(x, 5.0)
    (y + z).sum().backward()
    return y, z, x.grad


@same_on_both
def test_keywords_stand_in_the_place_of_their_argument(T):
    f = make(T, lambda ctx, x, k=1.0: x * k, lambda ctx, g: (g * 2, None))
    x = leaf(T)
    results = [attempt(lambda: f.apply(x, k=2.0)), attempt(lambda: f.apply(x=x)), attempt(lambda: f.apply(k=x, x=3.0))]
    return results, [attempt(lambda t=t: T.autograd.grad(t.sum(), x)) for t in results]


@same_on_both
def test_the_split_form_binds_defaults_before_setup_context(T):
    seen = []

    def setup(ctx, inputs, output):
        seen.append(len(inputs))
        ctx.k = inputs[1]

    f = make(T, lambda x, k=2: x * k, lambda ctx, g: (g * ctx.k, None), setup)
    x = leaf(T)
    result = attempt(lambda: f.apply(x))
    if not isinstance(result, tuple):
        result.sum().backward()
    return seen, x.grad


@same_on_both
def test_needs_input_grad_tells_of_each_argument_in_forward_and_in_backward(T):
    seen = []

    def forward(ctx, a, b, k):
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, None, None

    a, b = leaf(T), T.ones(3, dtype=T.float64)
    make(T, forward, backward).apply(a, b, 3).sum().backward()
    make(T, forward, backward).apply(b, a, 3)
    return seen


@same_on_both
def test_a_tensor_in_a_list_is_not_seen(T):
    f = make(T, lambda ctx, x, others: x + others[0], lambda ctx, g: (g, None))
    x, hidden = leaf(T), leaf(T)
    f.apply(x, [hidden]).sum().backward()
    return x.grad, hidden.grad, f.apply(T.ones(3), [hidden]).requires_grad


@same_on_both
def test_the_same_tensor_twice_gets_both_gradients(T):
    f = make(T, lambda ctx, a, b: a + b, lambda ctx, g: (g * 2, g * 3))
    x = leaf(T)
    y = f.apply(x, x)
    y.sum().backward()
    return names(y), x.grad


# --- outputs ---------------------------------------------------------------------------------------------------------


@same_on_both
def test_several_outputs_have_one_node_and_numbers(T):
    def backward(ctx, a, b):
        return a * 2 + b * 3

    x = leaf(T)
    a, b = make(T, lambda ctx, x: (x * 2, x * 3), backward).apply(x)
    (a.sum() + (b * b).sum()).backward()
    return a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, x.grad


@same_on_both
def test_outputs_that_are_not_tensors_pass_through(T):
    f = make(T, lambda ctx, x: (x * 2, "note", None, 3), lambda ctx, g, *others: g * 2)
    x = leaf(T)
    y, note, nothing, three = f.apply(x)
    y.sum().backward()
    return y, note, nothing, three, x.grad


@same_on_both
def test_a_non_tensor_may_be_returned_and_a_list_is_one_thing(T):
    number = make(T, lambda ctx, x: 3.0).apply(leaf(T))
    pair = make(T, lambda ctx, x: [x * 2, 1]).apply(leaf(T))
    return attempt(lambda: number), type(pair).__name__, pair[0].requires_grad


@same_on_both
def test_a_tuple_of_one_stays_a_tuple(T):
    y = make(T, lambda ctx, x: (x * 2,), lambda ctx, g: g * 2).apply(leaf(T))
    return type(y).__name__, y[0]


@same_on_both
def test_gradients_that_did_not_come_are_zeros_or_none_as_ctx_asks(T):
    seen = {}
    for value in (True, False):

        def forward(ctx, x, value=value):
            ctx.set_materialize_grads(value)
            return x * 2, x[0] * 3

        def backward(ctx, a, b, value=value):
            seen[value] = None if a is None else values_of(a), None if b is None else values_of(b)
            return T.ones(3, dtype=T.float64)

        x = leaf(T)
        make(T, forward, backward).apply(x)[1].backward()
        seen[value, "grad"] = x.grad
    return {str(k): v for k, v in seen.items()}


@same_on_both
def test_an_output_marked_non_differentiable_ends_the_graph(T):
    def forward(ctx, x):
        index, top = x.argmax(), x * 2
        ctx.mark_non_differentiable(index, top)
        return x * 3, index, top

    def backward(ctx, g, index, top):
        seen.append((values_of(g), values_of(index), values_of(top)))
        return g * 3

    seen = []
    x = leaf(T)
    y, index, top = make(T, forward, backward).apply(x)
    y.sum().backward()
    return y, index, top, seen, x.grad


@same_on_both
def test_integer_outputs_are_never_differentiable(T):
    y, i = make(T, lambda ctx, x: (x * 2, (x > 0).long()), lambda ctx, g, i: g * 2).apply(leaf(T))
    return y.requires_grad, i.requires_grad, i.grad_fn is None


@same_on_both
def test_an_input_returned_as_it_is_becomes_a_view_with_the_functions_node(T):
    x = leaf(T)
    y = make(T, lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    c = T.ones(2)
    z = make(T, lambda ctx, x: x, lambda ctx, g: g).apply(c)
    (y * 2).sum().backward()
    return y is x, names(y), y._is_view(), y.data_ptr() == x.data_ptr(), x.grad, z is c, attempt(lambda: y.add_(1))


@same_on_both
def test_a_view_of_an_input_may_be_returned_and_not_be_written_to(T):
    x = leaf(T)
    a = x * 1
    y = make(T, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3)).apply(a)
    y.sum().backward()
    return y._is_view(), names(y), x.grad, attempt(lambda: y.add_(1)), attempt(lambda: y.t().add_(1))


@same_on_both
def test_a_tensor_from_outside_may_be_returned(T):
    outside = T.ones(3, dtype=T.float64)
    y = make(T, lambda ctx, x: outside, lambda ctx, g: g * 2).apply(leaf(T))
    return y is outside, outside.requires_grad, names(outside)


# --- saving ----------------------------------------------------------------------------------------------------------


@same_on_both
def test_inputs_outputs_intermediates_and_none_can_be_saved(T):
    def forward(ctx, x):
        e = x.exp()
        y = e * x
        ctx.save_for_backward(x, y, e, None)
        return y

    def backward(ctx, grad):
        x, y, e, nothing = ctx.saved_tensors
        seen.append((x is leaf_, y.requires_grad, y.grad_fn is ctx, e.requires_grad, nothing))
        return grad * (e + y)

    seen = []
    leaf_ = leaf(T)
    y = make(T, forward, backward).apply(leaf_)
    y.sum().backward()
    return seen, leaf_.grad


@same_on_both
def test_only_tensors_can_be_saved(T):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    return attempt(lambda: make(T, forward).apply(leaf(T)))


@same_on_both
def test_saved_tensors_are_gone_after_backward_and_attributes_are_not(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.kept = x
        return x * 2

    y = make(T, forward, lambda ctx, g: g * 2).apply(leaf(T)).sum()
    node = y.grad_fn.next_functions[0][0]
    before = len(node.saved_tensors), node.needs_input_grad
    y.backward()
    return before, attempt(lambda: node.saved_tensors), node.kept, attempt(lambda: y.backward())


@same_on_both
def test_a_function_that_saved_nothing_may_run_again(T):
    x = leaf(T)
    y = make(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x).sum()
    y.backward()
    y.backward()
    return x.grad


@same_on_both
def test_a_saved_tensor_that_was_changed_is_noticed_and_an_attribute_is_not(T):
    def forward(ctx, x, save):
        y = x.exp()
        ctx.y = y if not save else None
        if save:
            ctx.save_for_backward(y)
        return y

    def backward(ctx, grad):
        return grad * (ctx.y if ctx.y is not None else ctx.saved_tensors[0]), None

    results = []
    for save in (True, False):
        x = leaf(T, 1.0)
        y = make(T, forward, backward).apply(x, save)
        with T.no_grad():
            y.mul_(100)
        results.append((attempt(lambda y=y: y.backward()), x.grad))
    return results


@same_on_both
def test_the_last_call_of_save_for_backward_counts(T):
    def forward(ctx, x):
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        return x * 2

    return len(make(T, forward).apply(leaf(T)).grad_fn.saved_tensors)


# --- in place --------------------------------------------------------------------------------------------------------


def doubling(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    return make(T, forward, lambda ctx, g: g * 2)


@same_on_both
def test_a_dirty_input_is_the_output_with_a_new_history_and_version(T):
    x = leaf(T)
    a = x * 3
    y = doubling(T).apply(a)
    y.sum().backward()
    return y is a, a._version, names(a), x.grad


@same_on_both
def test_a_dirty_view_rewrites_the_history_of_its_base(T):
    x = leaf(T)
    base = x * 3
    part = base[1:]
    y = doubling(T).apply(part)
    (base * T.tensor([1.0, 10.0, 100.0], dtype=T.float64)).sum().backward()
    return y is part, base._version, base, part, x.grad


@same_on_both
def test_a_leaf_that_requires_grad_cannot_be_dirty_nor_a_view_of_one(T):
    x = leaf(T)
    plain = T.ones(3)
    return [
        attempt(lambda: doubling(T).apply(x)),
        attempt(lambda: doubling(T).apply(x[1:])),
        doubling(T).apply(plain) is plain,
        plain,
    ]


@same_on_both
def test_a_dirty_input_must_be_returned(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x.clone()

    return attempt(lambda: make(T, forward, lambda ctx, g: g).apply(leaf(T) * 1))


@same_on_both
def test_a_dirty_view_allows_no_second_output(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x.sum()

    f = make(T, forward, lambda ctx, g, h: g * 2)
    return attempt(lambda: f.apply((leaf(T) * 1)[1:])), attempt(lambda: len(f.apply(leaf(T) * 1)))


@same_on_both
def test_a_change_that_is_not_marked_is_noticed_by_those_who_saved(T):
    f = make(T, lambda ctx, x: x.mul_(2).clone(), lambda ctx, g: g * 2)
    x = leaf(T)
    a = x.exp()
    y = f.apply(a)
    return a._version, attempt(lambda: y.sum().backward())


# --- mistakes --------------------------------------------------------------------------------------------------------


@same_on_both
def test_a_wrong_number_of_gradients_is_an_error_and_nones_too_many_are_forgiven(T):
    results = []
    for returned in (
        lambda g: (g,),
        lambda g: (g, g, g),
        lambda g: (g, g, None),
        lambda g: (g, g, None, None),
        lambda g: (),
        lambda g: None,
        lambda g: [g, g],
    ):
        x = leaf(T)
        f = make(T, lambda ctx, a, b: a * b, lambda ctx, g, returned=returned: returned(g))
        y = f.apply(x, leaf(T))
        results.append((attempt(lambda y=y: y.sum().backward()), x.grad))
    return results


@same_on_both
def test_a_wrong_none_is_silent(T):
    x, w = leaf(T), leaf(T)
    make(T, lambda ctx, a, b: a * b, lambda ctx, g: (g, None)).apply(x, w).sum().backward()
    return x.grad, w.grad


@same_on_both
def test_a_gradient_for_a_non_tensor_is_an_error(T):
    f = make(T, lambda ctx, x, k: x * k, lambda ctx, g: (g, g))
    return attempt(lambda: f.apply(leaf(T), 2).sum().backward())


@same_on_both
def test_a_gradient_for_a_tensor_that_needs_none_is_ignored(T):
    x, c = leaf(T), T.ones(3, dtype=T.float64)
    make(T, lambda ctx, a, b: a * b, lambda ctx, g: (g, g)).apply(x, c).sum().backward()
    return x.grad, c.grad


@same_on_both
def test_a_gradient_of_the_wrong_shape_is_an_error_unless_it_can_be_summed(T):
    results = []
    for shape in [(2,), (3, 1), (2, 3), (1, 3), (), (3, 3)]:
        x = leaf(T)
        f = make(T, lambda ctx, x: x * 2, lambda ctx, g, shape=shape: T.ones(shape, dtype=T.float64))
        results.append((attempt(lambda f=f, x=x: f.apply(x).sum().backward()), x.grad))
    return results


@same_on_both
def test_a_gradient_of_another_dtype_is_cast(T):
    x = leaf(T)
    make(T, lambda ctx, x: x * 2, lambda ctx, g: T.ones(3)).apply(x).sum().backward()
    return x.grad


@same_on_both
def test_a_gradient_that_is_not_a_tensor_is_an_error(T):
    return [
        attempt(lambda v=v: make(T, lambda ctx, x: x * 2, lambda ctx, g: v).apply(leaf(T)).sum().backward())
        for v in (3.0, "text")
    ]


@same_on_both
def test_what_is_not_implemented_says_so(T):
    x = leaf(T)
    no_backward = make(T, lambda ctx, x: x * 2).apply(x)
    no_forward = type("Mine", (T.autograd.Function,), {})
    return attempt(lambda: no_backward.sum().backward()), attempt(lambda: no_forward.apply(x)), no_backward


@same_on_both
def test_non_static_functions_and_instances_are_refused(T):
    class Old(T.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, grad):
            return grad * 2

    class New(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    def call(kind):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind()(leaf(T))

    return attempt(lambda: call(New)), attempt(lambda: call(Old)), warned(New)


@same_on_both
def test_an_error_in_forward_or_backward_arrives_as_it_is(T):
    def bad(ctx, x):
        raise KeyError("boom")

    x = leaf(T)
    error = attempt(lambda: make(T, bad).apply(x))
    mode = T.is_grad_enabled()
    late = attempt(lambda: make(T, lambda ctx, x: x * 2, bad).apply(x).sum().backward())
    return error, mode, late, T.is_grad_enabled()


# --- vjp, jvp, once_differentiable, double backward ------------------------------------------------------------------


@same_on_both
def test_vjp_is_another_name_of_backward_and_both_are_an_error(T):
    x = leaf(T)
    y = make(T, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    both = make(T, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(x)
    return x.grad, attempt(lambda: both.sum().backward())


@same_on_both
def test_a_backward_made_of_ops_is_differentiated_again(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad

    x = leaf(T)
    (g,) = T.autograd.grad(make(T, forward, backward).apply(x).sum(), x, create_graph=True)
    (h,) = T.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = T.autograd.grad(h.sum(), x)
    return g.requires_grad, values_of(g), values_of(h), k


@same_on_both
def test_a_saved_output_carries_its_history_into_the_second_backward(T):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf(T)
    y = make(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    return T.autograd.grad(g.sum(), x)


@same_on_both
def test_a_saved_intermediate_has_no_history_and_the_second_gradient_is_silently_short(T):
    """The note "Double backward with custom functions" describes it: gradcheck passes, gradgradcheck fails."""

    def forward(ctx, x):
        s = x.sinh() if hasattr(x, "sinh") else (x.exp() - (-x).exp()) / 2
        e = x.exp()
        ctx.save_for_backward(e)
        return s

    def backward(ctx, grad):
        (e,) = ctx.saved_tensors
        return grad * (e + 1 / e) / 2

    f = make(T, forward, backward)
    x = leaf(T)
    (g,) = T.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    first = T.autograd.gradcheck(f.apply, (x,), raise_exception=False)
    second = T.autograd.gradgradcheck(f.apply, (x,), raise_exception=False)
    return values_of(g), g.requires_grad, first, second


@same_on_both
def test_an_intermediate_that_is_returned_as_well_keeps_its_history(T):
    def forward(ctx, x):
        e = x.exp()
        ctx.save_for_backward(e)
        return (e - 1 / e) / 2, e

    def backward(ctx, grad, grad_e):
        (e,) = ctx.saved_tensors
        return grad * (e + 1 / e) / 2 + grad_e * e

    f = make(T, forward, backward)
    return T.autograd.gradgradcheck(lambda x: f.apply(x)[0], (leaf(T),))


@same_on_both
def test_once_differentiable_lets_no_wrong_second_gradient_through(T):
    once = T.autograd.function.once_differentiable
    modes = []

    def backward(ctx, grad):
        modes.append(T.is_grad_enabled())
        return grad * 2 * ctx.x

    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    x = leaf(T)
    f = make(T, forward, once(backward))
    f.apply(x).sum().backward()
    (g,) = T.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (h,) = T.autograd.grad((f.apply(x) * x).sum(), x, create_graph=True)
    return modes, x.grad, g.requires_grad, attempt(lambda: h.sum().backward())


@same_on_both
def test_a_nested_function_computes_a_gradient_with_its_own_function(T):
    class CubeBackward(T.autograd.Function):
        @staticmethod
        def forward(ctx, grad, x):
            ctx.save_for_backward(grad, x)
            return grad * 3 * x**2

        @staticmethod
        def backward(ctx, out):
            grad, x = ctx.saved_tensors
            return out * 3 * x**2, out * grad * 6 * x

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    f = make(T, forward, lambda ctx, g: CubeBackward.apply(g, ctx.saved_tensors[0]))
    x = leaf(T)
    (g,) = T.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    return names(g), T.autograd.grad(g.sum(), x), T.autograd.gradgradcheck(f.apply, (x,))


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
    class Linear(T.autograd.Function):
        @staticmethod
        def forward(input, weight, bias):
            output = input.mm(weight.t())
            return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

        @staticmethod
        def setup_context(ctx, inputs, output):
            input, weight, bias = inputs
            ctx.save_for_backward(input, weight, bias)

        @staticmethod
        def backward(ctx, grad):
            input, weight, bias = ctx.saved_tensors
            wants = ctx.needs_input_grad
            return (
                grad.mm(weight) if wants[0] else None,
                grad.t().mm(input) if wants[1] else None,
                grad.sum(0) if bias is not None and wants[2] else None,
            )

    x, w, b = leaf(T, [[1.0, 2.0]]), leaf(T, [[3.0, 4.0], [5.0, 6.0]]), leaf(T, 7.0, 8.0)
    Linear.apply(x, w, b).sum().backward()
    Linear.apply(x.detach(), w, None).sum().backward()
    return x.grad, w.grad, b.grad, T.autograd.gradcheck(Linear.apply, (x, w, b))


@same_on_both
def test_hooks_on_the_node_of_a_function_see_all_its_gradients(T):
    log = []
    x, w = leaf(T), leaf(T, 3.0)
    y = make(T, lambda ctx, x, k, w: x * w, lambda ctx, g: (g * 2, None, g.sum() * 5)).apply(x, "k", w)
    y.grad_fn.register_hook(noting(log, "after"))
    y.grad_fn.register_prehook(noting(log, "before"))
    y.sum().backward()
    return log, names(y)


# --- outputs that have no gradient --------------------------------------------------------------------------------------


@same_on_both
def test_an_output_that_is_not_a_tensor_has_no_gradient_in_backward(T):
    seen, x = [], leaf(T)

    def backward(ctx, *grads):
        seen.append([None if g is None else values_of(g) for g in grads])
        return grads[1]

    outputs = make(T, lambda ctx, x: ("text", x * 2, None, 5, x.argmax()), backward).apply(x)
    outputs[1].sum().backward()
    return seen, x.grad, outputs[1].output_nr


@same_on_both
def test_an_input_that_was_changed_and_is_not_recorded_comes_back_detached(T):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def unmarked(ctx, x):
        ctx.mark_non_differentiable(x)
        return forward(ctx, x)

    leaf_, inner = leaf(T), leaf(T) * 1
    with T.no_grad():
        y = make(T, forward, lambda ctx, grad: grad).apply(leaf_)
    z = make(T, unmarked, lambda ctx, grad: grad).apply(inner)
    return [(t.requires_grad, values_of(t)) for t in (leaf_, y, inner, z)], y is leaf_, z is inner


@same_on_both
def test_what_forward_finds_outside_is_detached_where_it_is_not_recorded(T):
    outside, kept = leaf(T), leaf(T) * 2
    found = make(T, lambda ctx, x: outside, lambda ctx, grad: grad)
    with T.no_grad():
        y = found.apply(leaf(T))

    def forward(ctx, x):
        ctx.mark_non_differentiable(kept)
        return kept, x * 2

    z, _ = make(T, forward, lambda ctx, nothing, grad: grad).apply(leaf(T))
    return y is outside, y.requires_grad, z is kept, z.requires_grad, z.grad_fn is None


# --- the rest of torch.autograd.function -----------------------------------------------------------------------------


@same_on_both
def test_the_node_of_a_second_gradient_that_nobody_wrote_raises_when_it_is_reached(T):
    once = T.autograd.function.once_differentiable
    x = leaf(T)
    first, nothing, second = once(lambda ctx, a, b, scale: (a * scale, None, b))(None, x, x, scale=3)
    return (
        *(t.grad_fn.name() for t in (first, second)),
        first.grad_fn is second.grad_fn,
        nothing,
        second.output_nr,
        names(first),
        values_of(first),
        attempt(lambda: first.sum().backward()),
        attempt(lambda: once(lambda ctx, a: [a])(None, x)),
    )


@same_on_both
def test_saved_tensors_that_are_cleared_on_access_are_there_once(T):
    def build(read):
        def backward(ctx, grad):
            return read(ctx) * grad

        kind = make(T, lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], backward)
        kind.clear_saved_tensors_on_access = True
        return kind

    x, log = leaf(T), []
    once = build(lambda ctx: 2 * ctx.saved_tensors[0])
    twice = build(lambda ctx: ctx.saved_tensors[0] + ctx.saved_tensors[0])
    y = once.apply(x)
    y.sum().backward(retain_graph=True)
    log.append(attempt(lambda: y.sum().backward()))
    z = once.apply(x)
    z.sum().backward()
    log += [attempt(lambda: z.grad_fn.saved_tensors), attempt(lambda: z.grad_fn._raw_saved_tensors)]
    log.append(attempt(lambda: twice.apply(x).sum().backward()))
    return log, x.grad


@same_on_both
def test_boxed_gradients_come_in_one_list(T):
    seen = []

    def backward(ctx, grads):
        seen.append((type(grads).__name__, len(grads)))
        first = grads.pop(0)
        return first * 2 + grads.pop()

    kind = make(T, lambda ctx, x: (x * 2, x + 1), backward)
    kind.boxed_grads_call = True
    x = leaf(T)
    a, b = kind.apply(x)
    a.grad_fn.register_hook(noting(seen, "after"))
    (a * b).sum().backward()
    return seen, x.grad


@same_on_both
def test_a_rule_for_vmap_may_be_written_and_changes_nothing(T):
    kind = make(
        T,
        lambda x: x * 2,
        lambda ctx, grad: grad * 2,
        lambda ctx, inputs, output: None,
        vmap=lambda info, dims, x: (x, 0),
    )
    other = make(T, lambda x: x * 3, lambda ctx, grad: grad * 3, lambda ctx, inputs, output: None)
    other.generate_vmap_rule = True
    x = leaf(T)
    (kind.apply(x) * other.apply(x)).sum().backward()
    return x.grad, T.autograd.Function.generate_vmap_rule, attempt(lambda: T.autograd.Function.vmap(None, (0,), x))


@same_on_both
def test_the_classes_behind_a_function_are_pytorchs(T):
    module = T.autograd.function
    kind = make(T, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, grad: grad * ctx.saved_tensors[0])
    x = leaf(T)
    node = kind.apply(x).grad_fn
    return (
        type(kind) is module.FunctionMeta,
        isinstance(node, module.BackwardCFunction) and isinstance(node, module.FunctionCtx),
        type(node) is kind._backward_cls and node._forward_cls is kind,
        type(node).__name__,
        values_of(node.apply(T.ones(3, dtype=T.float64))),
    )


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

    z = leaf(T) * 1
    node = make(T, forward, lambda ctx, grad, nothing: grad * 3).apply(z)[0].grad_fn
    return told, node.dirty_tensors, node.non_differentiable


@same_on_both
def test_the_old_kinds_of_function_are_functions(T):
    module = T.autograd.function

    class Tripled(module.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    class Nested(module.NestedIOFunction):
        @staticmethod
        def forward(ctx, x):
            return x * 5

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = leaf(T)
    y = Nested.apply(Tripled.apply(x * 1))
    y.sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flag = Tripled(True).inplace
    return names(y), x.grad, flag, warned(lambda: Tripled()), T.autograd.NestedIOFunction is module.NestedIOFunction


@same_on_both
def test_ctx_has_room_for_names_of_the_users(T):
    found = {}
    for name in ("run", "release", "name", "accumulate", "variable", "edges", "outputs", "kept", "function"):

        def forward(ctx, x, rule, name=name):
            setattr(ctx, name, rule)
            return rule(x)

        x = leaf(T)
        kind = make(T, forward, lambda ctx, grad, name=name: (getattr(ctx, name)(grad), None))
        kind.apply(x, lambda t: t * 3).sum().backward()
        found[name] = x.grad
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
    def tripled(ctx, x):
        out = 3 * x
        ctx.mark_dirty(out.add_(1))
        return out

    def viewed(ctx, x):
        out = x.clone().view_as(x)
        ctx.mark_dirty(out)
        return out

    x = leaf(T)
    told = warned(lambda: make(T, tripled, lambda ctx, grad: 3 * grad).apply(x * 1).sum().backward())
    return told, x.grad, attempt(lambda: make(T, viewed, lambda ctx, grad: grad).apply(x * 1))


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

    made = []
    gc.collect()
    gc.disable()
    try:
        x = leaf(T)
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
