"""Grad modes decide what is recorded: in blocks, decorators, generators, threads, nested blocks, and after exceptions."""

import asyncio
import threading

import numpy as np
from support.both import attempt, leaf, names, same_on_both, warned


def modes(T):
    return T.is_grad_enabled(), T.is_inference_mode_enabled()


@same_on_both
def test_modes_nest_and_each_restores_what_it_found(T):
    seen = [modes(T)]
    with T.no_grad():
        seen.append(modes(T))
        with T.enable_grad():
            seen.append(modes(T))
            with T.set_grad_enabled(False):
                seen.append(modes(T))
            seen.append(modes(T))
            with T.inference_mode():
                seen.append(modes(T))
                with T.enable_grad():
                    seen.append((modes(T), (leaf(T) * 2).requires_grad))
                with T.inference_mode(False):
                    seen.append((modes(T), (leaf(T) * 2).requires_grad))
                with T.no_grad(), T.inference_mode(False):
                    seen.append(modes(T))
                seen.append(modes(T))
        seen.append(modes(T))
    return [*seen, modes(T)]


@same_on_both
def test_an_exception_restores_the_mode(T):
    seen = []
    for mode in (T.no_grad, T.enable_grad, T.inference_mode, lambda: T.set_grad_enabled(False)):

        def fail(mode=mode):
            with mode():
                raise ValueError("inside")

        seen.append((attempt(fail), modes(T)))
    return seen


@same_on_both
def test_what_is_computed_under_no_grad_is_a_constant_afterwards(T):
    x = leaf(T)
    with T.no_grad():
        y = x * 2
        made = leaf(T, 1.0)
        z = x.requires_grad, made.requires_grad
    w = (y * x).sum()
    w.backward()
    return y, z, x.grad, names(w)


@same_on_both
def test_enable_grad_inside_no_grad_records(T):
    x = leaf(T)
    with T.no_grad():
        with T.enable_grad():
            y = x * 2
        z = y * 3
    return names(y), y.requires_grad, z.requires_grad


@same_on_both
def test_set_grad_enabled_acts_at_once_as_a_function_and_until_the_end_as_a_block(T):
    seen = []
    previous = T.set_grad_enabled(False)
    seen.append(modes(T))
    T.set_grad_enabled(True)
    seen.append(modes(T))
    with T.set_grad_enabled(False):
        seen.append(modes(T))
    seen.append((modes(T), previous is None))
    return seen


@same_on_both
def test_modes_decorate_functions_with_and_without_a_call(T):
    def f(x, k=2):
        """Doubles."""
        return (x * k).requires_grad, modes(T)

    x = leaf(T)
    decorated = [T.no_grad()(f), T.no_grad(f), T.inference_mode()(f), T.inference_mode(f), T.inference_mode(False)(f)]
    with T.no_grad():
        decorated += [T.enable_grad()(f), T.enable_grad(f), T.set_grad_enabled(True)(f)]
        inside = [g(x, k=3) for g in decorated], modes(T)
    return [g(x) for g in decorated], inside, [g.__name__ for g in decorated], decorated[0].__doc__, modes(T)


@same_on_both
def test_a_decorated_function_may_call_itself_and_raise(T):
    seen = []

    @T.no_grad()
    def countdown(n):
        seen.append(modes(T))
        if n == 0:
            raise ValueError("end")
        with T.enable_grad():
            countdown(n - 1)

    return attempt(lambda: countdown(3)), seen, modes(T)


@same_on_both
def test_set_grad_enabled_as_a_decorator_holds_inside_the_function_alone(T):
    @T.set_grad_enabled(False)
    def f():
        return modes(T)

    return modes(T), f(), modes(T)


@same_on_both
def test_in_a_generator_the_mode_holds_for_its_own_code_alone(T):
    @T.no_grad()
    def numbers():
        try:
            got = yield modes(T)
            while True:
                got = yield got, modes(T)
        except KeyError:
            yield "caught", modes(T)
        finally:
            seen.append(("closed", modes(T)))
        return "returned"

    seen = []
    g = numbers()
    seen += [next(g), modes(T), g.send(7), modes(T), g.throw(KeyError("x")), modes(T)]
    seen.append(attempt(lambda: next(g))[0])
    h = numbers()
    next(h)
    h.close()
    return seen, modes(T)


@same_on_both
def test_a_generator_passes_on_what_it_returns_and_what_it_raises(T):
    @T.no_grad()
    def inner():
        yield 1
        return "value"

    def outer():
        result = yield from inner()
        yield result, modes(T)

    @T.no_grad()
    def raising():
        yield modes(T)
        raise ValueError("late")

    g = raising()
    return list(outer()), next(g), attempt(lambda: next(g)), modes(T)


@same_on_both
def test_a_block_in_a_plain_generator_leaks_while_it_is_suspended(T):
    """A trap that PyTorch has too: only the decorator handles it."""

    def leaky():
        with T.no_grad():
            yield

    g = leaky()
    next(g)
    leaked = modes(T)
    g.close()
    return leaked, modes(T)


@same_on_both
def test_decorating_a_class_warns(T):
    class C:
        pass

    return warned(lambda: T.no_grad()(C))


@same_on_both
def test_every_thread_starts_with_recording_on(T):
    seen = {}

    def work():
        seen["thread"] = modes(T)
        with T.no_grad():
            entered.set()
            leave.wait(10)
            seen["inside"] = modes(T)

    entered, leave = threading.Event(), threading.Event()
    with T.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait(10)
        seen["outside"] = modes(T)
        with T.enable_grad():
            leave.set()
            thread.join()
    seen["after"] = modes(T)
    return seen


@same_on_both
def test_a_backward_in_another_thread_is_that_threads_own(T):
    x = leaf(T)
    y = (x * x).sum()
    thread = threading.Thread(target=y.backward)
    with T.no_grad():
        thread.start()
        thread.join()
    return x.grad


@same_on_both
def test_coroutines_can_be_decorated(T):
    async def f():
        return modes(T)

    return attempt(lambda: asyncio.run(T.no_grad()(f)()))[1:], modes(T)


@same_on_both
def test_in_place_ops_under_no_grad_change_a_leaf_and_count(T):
    x = leaf(T)
    with T.no_grad():
        x.sub_(1)
        x += 3
        x[0] = 10
    return x, x._version


# --- detach and data -------------------------------------------------------------------------------------------------


@same_on_both
def test_detach_shares_memory_and_versions_and_data_shares_memory_alone(T):
    x = leaf(T)
    y = x * 1
    d, raw = y.detach(), y.data
    d.add_(1)
    after_detach = y._version, d._version, raw._version
    raw.add_(1)
    return after_detach, y._version, raw._version, d.requires_grad, raw.requires_grad, y, d._is_view(), names(y)


@same_on_both
def test_a_change_through_detach_is_noticed_and_through_data_is_a_wrong_gradient(T):
    results = []
    for cut in ("detach", "data"):
        x = leaf(T, 1.0)
        y = x.exp()
        (y.detach() if cut == "detach" else y.data).zero_()
        results.append((attempt(lambda y=y: y.backward()), x.grad))
    return results


@same_on_both
def test_detach_in_place_makes_a_leaf(T):
    x = leaf(T)
    y = x * 2
    y.detach_()
    view = (x * 2)[1:]
    return y, attempt(lambda: view.detach_()), attempt(lambda: x.detach_()) is x, x.requires_grad


@same_on_both
def test_the_straight_through_estimator(T):
    x = leaf(T)
    y = x + (x.round() - x).detach()
    (y * y).sum().backward()
    return y, x.grad


# --- inference mode --------------------------------------------------------------------------------------------------


@same_on_both
def test_inference_tensors_have_no_version_and_no_history(T):
    x = leaf(T)
    with T.inference_mode():
        y = x * 2
        v = x.view(-1)
        flags = y.is_inference(), v.is_inference(), x.is_inference(), y.requires_grad, v._is_view()
    return flags, y.is_inference(), attempt(lambda: y._version), y.is_leaf, y.grad_fn is None


@same_on_both
def test_an_inference_tensor_cannot_be_saved_for_backward(T):
    x = leaf(T)
    with T.inference_mode():
        c = T.ones(3, dtype=T.float64)
    return [
        attempt(lambda: x * c),
        attempt(lambda: (x + c).requires_grad),
        attempt(lambda: c * 2).is_inference(),
        attempt(lambda: x * c.clone()).requires_grad,
    ]


@same_on_both
def test_an_inference_tensor_is_written_to_in_inference_mode_alone(T):
    with T.inference_mode():
        c = T.ones(2)
        c.add_(1)
    outside = attempt(lambda: c.add_(1))
    with T.no_grad():
        under_no_grad = attempt(lambda: c.add_(1))
    return outside, under_no_grad


@same_on_both
def test_every_way_to_write_to_an_inference_tensor_outside_is_refused(T):
    class Dirty(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    def made():
        with T.inference_mode():
            return T.ones(3)

    def assigned(key, value):
        c = made()
        c[key] = value

    w, at = T.ones(3, requires_grad=True), T.tensor([0])
    ways = {
        "a Function that changes it": lambda: Dirty.apply(made(), w),
        "unrecorded": lambda: Dirty.apply(made(), T.ones(3)),
        "in inference mode": lambda: in_inference_mode(T, lambda: Dirty.apply(made(), w)).is_inference(),
        "a shape": lambda: made().unsqueeze_(0),
        "an element": lambda: assigned(0, 2.0),
        "elements": lambda: assigned(at, 2.0),
        "by what requires grad": lambda: assigned(at, w[:1]),
        "by a mask": lambda: assigned(T.tensor([True, False, True]), 2.0),
        "where there is nothing": lambda: assigned(T.tensor([7]), 2.0),
        "by what does not fit": lambda: assigned(at, T.ones(2)),
        "random numbers": lambda: made().normal_(),
        "a copy": lambda: made().copy_(w),
    }
    return {name: attempt(way) for name, way in ways.items()}


def in_inference_mode(T, action):
    with T.inference_mode():
        return action()


@same_on_both
def test_an_inference_tensor_cannot_be_made_to_require_grad_outside(T):
    with T.inference_mode():
        c = T.ones(2)
        inside = attempt(lambda: T.ones(2).requires_grad_().requires_grad)
    return attempt(lambda: c.requires_grad_()), inside, attempt(lambda: c.requires_grad_(False).requires_grad)


@same_on_both
def test_a_normal_tensor_changed_in_inference_mode_counts_and_is_noticed(T):
    x = leaf(T)
    y = x.exp()
    with T.inference_mode():
        y.add_(1)
    return y._version, y.is_inference(), attempt(lambda: y.sum().backward())


@same_on_both
def test_a_view_made_in_inference_mode_cannot_be_written_to_outside(T):
    base = leaf(T) * 1
    with T.inference_mode():
        v = base.view(-1)
    plain = T.ones(3)
    with T.inference_mode():
        w = plain.view(-1)
    return attempt(lambda: v.add_(1)), attempt(lambda: w.add_(1)).tolist(), plain.tolist(), v.is_inference()


@same_on_both
def test_a_view_of_an_inference_tensor_is_one_too(T):
    with T.inference_mode():
        c = T.ones(2, 2)
    v = c.view(-1)
    return v.is_inference(), v._is_view(), attempt(lambda: v.add_(1)), c.detach().is_inference()


@same_on_both
def test_backward_runs_in_inference_mode_no_graph_being_made(T):
    x = leaf(T)
    y = (x * x).sum()
    with T.inference_mode():
        result = attempt(lambda: y.backward())
    return result, None if x.grad is None else x.grad.tolist()


@same_on_both
def test_a_function_in_inference_mode_is_not_recorded(T):
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

    with T.inference_mode():
        y = Double.apply(leaf(T))
    return y.requires_grad, y.is_inference()


@same_on_both
def test_where_nothing_is_recorded_a_leaf_gives_its_array(T):
    x = leaf(T)
    outside = attempt(x.numpy)
    with T.no_grad():
        arrays = [x.numpy(), np.asarray(x), x.numpy() is not None]
        x.numpy()[0] = 7
    return outside, arrays, x, attempt(lambda: np.asarray(x))


@same_on_both
def test_requires_grad_is_a_bool(T):
    def put(value):
        x.requires_grad = value

    x = T.ones(2)
    return [attempt(lambda v=v: put(v)) for v in (True, 1, None, "no")], attempt(lambda: x.requires_grad_(0)), x


@same_on_both
def test_inference_tensors_are_known_by_a_function_and_are_no_gradients_to_add_to(T):
    with T.inference_mode():
        made = T.ones(3, dtype=T.float64)
    x = leaf(T)
    x.grad = made
    added = attempt(lambda: (x * 2).sum().backward())
    with T.inference_mode():
        x.grad.add_(1)
    x.grad = T.ones(3, dtype=T.float64)
    (x * 2).sum().backward()
    return T.is_inference(made), T.is_inference(x), T.is_inference(made.clone()), added, x.grad


@same_on_both
def test_a_view_made_under_no_grad_meets_an_inference_tensor_as_in_pytorch(T):
    with T.inference_mode():
        i = T.ones(2, 3, dtype=T.float64)
    x = T.ones(2, 3, dtype=T.float64, requires_grad=True) * 2
    with T.no_grad():
        v = x.view(2, 3)
    ops = (
        lambda: v / i, lambda: i / v, lambda: v * i, lambda: v - i, lambda: v.pow(i), lambda: v @ i.t(),
        lambda: T.where(i > 0, v, i), lambda: T.nn.functional.mse_loss(v, i), lambda: T.cat([v, i]), lambda: v[i > 0],
    )  # fmt: skip
    return [attempt(lambda op=op: op().detach()) for op in ops]


@same_on_both
def test_the_switch_for_threads_is_read_back(T):
    read = T.autograd.is_multithreading_enabled
    with T.autograd.set_multithreading_enabled(False):
        inside = read()
    T.autograd.set_multithreading_enabled(False)
    off = read()
    T.autograd.set_multithreading_enabled(True)
    return inside, off, read()
