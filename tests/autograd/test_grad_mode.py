"""Grad modes decide what is recorded: in blocks, decorators, generators, threads, and after exceptions."""

import asyncio
import copy

import numpy as np
from support.both import attempt, leaf, names, same_on_both


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
def test_an_exception_restores_the_mode_also_of_a_decorated_function_that_calls_itself(T):
    seen = []
    for mode in (T.no_grad, T.enable_grad, T.inference_mode, lambda: T.set_grad_enabled(False)):

        @mode()
        def countdown(n, mode=mode):
            seen.append(modes(T))
            if n == 0:
                raise ValueError("end")
            with mode(), T.enable_grad():
                countdown(n - 1)

        seen.append((attempt(lambda: countdown(3)), modes(T)))
    return seen


@same_on_both
def test_what_is_computed_under_no_grad_is_a_constant_and_enable_grad_inside_it_records(T):
    x = leaf(T)
    with T.no_grad():
        made, constant = leaf(T, 1.0), x * 2
        with T.enable_grad():
            y = x * 2
        z = y * 3
    w = (constant * x).sum()
    w.backward()
    straight_through = y + (x.round() - y).detach()
    return names(y), z, made, constant, x.grad, names(w), *T.autograd.grad(straight_through.sum(), x)


@same_on_both
def test_set_grad_enabled_acts_at_once_as_a_function_and_until_the_end_as_a_block_or_decorator(T):
    seen = []
    for mode in (False, True):
        T.set_grad_enabled(mode)
        seen.append(modes(T))
    with T.set_grad_enabled(False):
        seen.append(modes(T))

    @T.set_grad_enabled(False)
    def decorated():
        return modes(T)

    return seen, modes(T), decorated(), modes(T)


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
def test_in_a_generator_the_mode_holds_for_its_own_code_alone(T):
    """A block in a plain generator leaks while it is suspended: a trap that PyTorch has too."""

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
        raise ValueError("late")

    def leaky():
        with T.no_grad():
            yield

    seen = []
    g, h, leak = numbers(), numbers(), leaky()
    seen += [next(g), modes(T), g.send(7), modes(T), g.throw(KeyError("x")), modes(T), attempt(lambda: next(g))]
    next(h)
    h.close()
    next(leak)
    seen.append(modes(T))
    leak.close()
    return seen, modes(T)


@same_on_both
def test_generators_pass_on_what_they_return_and_coroutines_can_be_decorated(T):
    @T.no_grad()
    def inner():
        yield 1
        return "value"

    def outer():
        result = yield from inner()
        yield result, modes(T)

    async def f():
        return modes(T)

    return list(outer()), attempt(lambda: asyncio.run(T.no_grad()(f)()))[1:], modes(T)


@same_on_both
def test_detach_shares_memory_and_versions_and_data_shares_memory_alone(T):
    y = leaf(T) * 1
    d, raw = y.detach(), y.data
    d.add_(1)
    after_detach = y._version, d._version, raw._version
    raw.add_(1)
    return after_detach, y._version, raw._version, d.requires_grad, raw.requires_grad, y, d._is_view(), names(y)


@same_on_both
def test_a_change_through_detach_is_noticed_and_through_data_is_a_wrong_gradient(T):
    x, w = leaf(T, 1.0), leaf(T, 1.0)
    y, z = x.exp(), w.exp()
    y.detach().zero_()
    z.data.zero_()
    return attempt(lambda: y.backward()), attempt(lambda: z.backward()), x.grad, w.grad


@same_on_both
def test_detach_in_place_makes_a_leaf(T):
    x = leaf(T)
    y = x * 2
    y.detach_()
    view = (x * 2)[1:]
    return y, attempt(lambda: view.detach_()), attempt(lambda: x.detach_()) is x, x.requires_grad


@same_on_both
def test_inference_tensors_have_no_version_and_no_history(T):
    x = leaf(T)
    with T.inference_mode():
        y, v = x * 2, x.view(-1)
        flags = y.is_inference(), v.is_inference(), x.is_inference(), y.requires_grad, v._is_view()
    return flags, y.is_inference(), attempt(lambda: y._version), y.is_leaf, y.grad_fn is None


@same_on_both
def test_an_inference_tensor_cannot_be_saved_for_backward_nor_made_to_require_grad_outside(T):
    x = leaf(T)
    with T.inference_mode():
        c = T.ones(3, dtype=T.float64)
        inside = attempt(lambda: T.ones(2).requires_grad_().requires_grad)
    return [
        *(attempt(lambda: x * c), attempt(lambda: (x + c).requires_grad), attempt(lambda: c * 2).is_inference()),
        *(attempt(lambda: x * c.clone()).requires_grad, inside),
        *(attempt(lambda: c.requires_grad_()), attempt(lambda: c.requires_grad_(False).requires_grad)),
    ]


@same_on_both
def test_every_way_to_write_to_an_inference_tensor_outside_is_refused(T):
    def forward(ctx, x, w):
        ctx.mark_dirty(x)
        return x

    def made():
        with T.inference_mode():
            return T.ones(3).add_(1)

    def assigned(key, value):
        made()[key] = value

    def in_mode(mode, action):
        with mode():
            return action()

    w, at = T.ones(3, requires_grad=True), T.tensor([0])
    dirty = type("Dirty", (T.autograd.Function,), {"forward": staticmethod(forward)}).apply
    ways = """made().add_(1); in_mode(T.no_grad, lambda: made().add_(1)); dirty(made(), w); dirty(made(), T.ones(3));
    in_mode(T.inference_mode, lambda: dirty(made(), w)).is_inference(); made().unsqueeze_(0); assigned(0, 2.0);
    assigned(at, 2.0); assigned(at, w[:1]); assigned(T.tensor([True, False, True]), 2.0); assigned(T.tensor([7]), 2.0);
    assigned(at, T.ones(2)); made().normal_(); made().copy_(w)"""
    scope = {"T": T, "made": made, "assigned": assigned, "in_mode": in_mode, "dirty": dirty, "w": w, "at": at}
    return [attempt(lambda way=way: eval(way.strip(), scope)) for way in ways.split(";")]


@same_on_both
def test_a_normal_tensor_changed_in_inference_mode_counts_and_backward_runs_there(T):
    x, w = leaf(T), leaf(T)
    y, z = x.exp(), (w * w).sum()
    with T.inference_mode():
        y.add_(1)
        z.backward()
    return y._version, y.is_inference(), attempt(lambda: y.sum().backward()), w.grad.tolist()


@same_on_both
def test_a_view_made_in_inference_mode_cannot_be_written_to_outside_and_one_of_its_tensors_is_one_too(T):
    base, plain = leaf(T) * 1, T.ones(3)
    with T.inference_mode():
        v, w, c = base.view(-1), plain.view(-1), T.ones(2, 2)
    written = [attempt(lambda: v.add_(1)), attempt(lambda: w.add_(1)).tolist(), plain.tolist(), v.is_inference()]
    v = c.view(-1)
    return written, v.is_inference(), v._is_view(), attempt(lambda: v.add_(1)), c.detach().is_inference()


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
    return made.is_inference(), x.is_inference(), made.clone().is_inference(), added, x.grad


@same_on_both
def test_a_deep_copy_made_in_inference_mode_is_an_inference_tensor(T):
    tensor, parameter = T.ones(2), T.nn.Parameter(T.ones(2))
    with T.inference_mode():
        inside = [copy.deepcopy(tensor), copy.deepcopy(parameter), *T.nn.BatchNorm1d(2).state_dict().values()]
    copies = [*inside, *map(copy.deepcopy, inside)]
    return [(one.is_inference(), one.requires_grad) for one in copies], attempt(lambda: inside[1].mul_(2))


@same_on_both
def test_a_view_made_under_no_grad_meets_an_inference_tensor_as_in_pytorch(T):
    with T.inference_mode():
        i = T.ones(2, 3, dtype=T.float64)
    x = T.ones(2, 3, dtype=T.float64, requires_grad=True) * 2
    with T.no_grad():
        v = x.view(2, 3)
    ops = "v / i; i / v; v * i; v - i; v.pow(i); v @ i.t(); T.where(i > 0, v, i); T.cat([v, i]); v[i > 0]"
    return [attempt(lambda op=op: eval(op, {"T": T, "v": v, "i": i}).detach()) for op in ops.split("; ")]
