"""The core under load: long chains, shared graphs, many steps without the garbage collector, threads, exceptions."""

import gc
import operator
import sys
import threading
import weakref

import numpy as np
import pytest
from support.both import attempt, same_on_both

import tinygrad_edu as T
from tinygrad_edu.autograd import Function, graph, graph_task

pytestmark = pytest.mark.outer(start=1)


class Exp(Function):
    """Saves its output, which holds its node: a cycle, if it were kept as it is."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[1]


class Double_(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_a_chain_of_two_hundred_thousand_ops_needs_no_recursion():
    """A C stack is full after some ten thousand; benchmarks/ measures a million."""
    assert sys.getrecursionlimit() < 10_000
    x = T.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_the_second_graph_of_a_long_chain_needs_no_recursion_nor_do_two_to_the_sixty_paths():
    x, z = (T.tensor(1.0, requires_grad=True, dtype=T.float64) for _ in range(2))
    y = x
    for _ in range(5_000):
        y = y * 1.0001
    (first,) = T.autograd.grad(y * y, x, create_graph=True)
    first.backward()
    assert x.grad.item() == pytest.approx(2 * 1.0001**10_000, rel=1e-3)
    y, runs = z, []
    for _ in range(60):
        y = y + y
        y.grad_fn.register_prehook(lambda grads: runs.append(1))
    y.backward()
    assert len(runs) == 60
    assert z.grad.item() == 2.0**60


def test_a_chain_through_custom_functions_and_in_place_writes_needs_no_recursion():
    x = T.tensor([0.0, 1.0], requires_grad=True)
    y = x * 1
    for _ in range(3_000):
        y = Double_.apply(y)
        y[0] = 0
        y = y / 2
    y.sum().backward()
    assert x.grad.tolist() == [0, 1]
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def plain_step(w, x):
    loss = ((x * w).tanh() - 1).sum()
    loss.backward()


def step_with_custom_functions(w, x):
    loss = Exp.apply(x * w).sum() + Double_.apply(w * 2).sum()
    loss.backward()


def step_with_hooks(w, x):
    y = x * w
    y.retain_grad()
    y.register_hook(lambda grad: grad + y.detach())
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: None)
    handle = w.register_hook(lambda grad: grad * 2)
    y.sum().backward()
    handle.remove()
    # A hook that mentions its own tensor ties a knot that only its removal undoes, in PyTorch as well.
    y.grad_fn._hooks.tensors.clear()


def step_with_views_and_in_place_writes(w, x):
    y = x * w
    y[0].mul_(2)
    part = y[1:]
    part.add_(w[1:])
    y.relu_()
    (y.sum() + part.sum()).backward()


def step_to_the_second_order(w, x):
    (grad,) = T.autograd.grad((w * w * x).sum(), w, create_graph=True)
    grad.pow(2).sum().backward()


def step_whose_graph_never_runs(w, x):
    Exp.apply((x * w).exp())[0].mul_(2)


def step_that_fails(w, x):
    y = (x * w).exp()
    y.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


STEPS = {
    plain_step: 4_000,
    step_with_custom_functions: 1_500,
    step_with_hooks: 1_000,
    step_with_views_and_in_place_writes: 1_000,
    step_to_the_second_order: 1_000,
    step_whose_graph_never_runs: 1_000,
    step_that_fails: 500,
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_steps_without_the_garbage_collector_leave_nothing_behind(step):
    w, x = T.ones(4, requires_grad=True), T.tensor([0.1, 0.2, 0.3, 0.4])

    def run(n):
        for _ in range(n):
            step(w, x)
            w.grad = None

    # CPython keeps up to 2,000 freed tuples of each size to use them again: these are there before the count begins.
    gc.collect()
    gc.disable()
    try:
        run(2_500)
        # Objects that can be part of a cycle, and all blocks of memory that Python holds, arrays among them.
        objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
        run(STEPS[step])
        assert len(gc.get_objects()) - objects < 100
        assert sys.getallocatedblocks() - blocks < 300
    finally:
        gc.enable()


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_eight_threads_have_separate_grad_modes():
    barrier, wrong = threading.Barrier(8), []

    def work(number):
        mode = (T.no_grad, T.enable_grad, T.inference_mode, lambda: T.set_grad_enabled(False))[number % 4]
        expected = number % 4 == 1
        for _ in range(50):
            if not T.is_grad_enabled():
                wrong.append("a thread starts, or goes on, with recording off")
            with mode():
                barrier.wait()
                seen = T.is_grad_enabled(), (T.ones(2, requires_grad=True) * 2).requires_grad
                if seen != (expected, expected) or T.is_inference_mode_enabled() is not (number % 4 == 2):
                    wrong.append(number)
                barrier.wait()

    with T.no_grad():
        in_threads(8, work)
        assert not T.is_grad_enabled()
    assert not wrong


def test_eight_threads_compute_gradients_beside_each_other_and_number_their_nodes():
    results, numbers = {}, []

    def work(number):
        x = T.full((3,), float(number), dtype=T.float64, requires_grad=True)
        for _ in range(100):
            y = x
            for _ in range(20):
                y = y * 1.5 + x
                numbers.append(y.grad_fn._sequence_nr())
            y.sum().backward()
        results[number] = x.grad.tolist()

    in_threads(8, work)
    slope = 1.0
    for _ in range(20):
        slope = slope * 1.5 + 1
    assert len(results) == 8 and len(set(numbers)) == 16_000
    assert all(values == pytest.approx([100 * slope] * 3) for values in results.values())


def test_threads_that_look_at_a_result_at_once_get_one_array():
    w = T.tensor(2.0, requires_grad=True)
    results, arrays, barrier = [w * w for _ in range(300)], [], threading.Barrier(4)

    def look(number):
        barrier.wait()
        arrays.append([y.detach().numpy() for y in results])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(4, look)
    finally:
        sys.setswitchinterval(interval)
    assert all(np.shares_memory(a, b) for others in arrays[1:] for a, b in zip(arrays[0], others, strict=True))


@same_on_both
def test_passes_of_several_threads_add_to_one_leaf_and_the_first_frees_what_they_share(T):
    x, errors, lock = T.ones(2, dtype=T.float64, requires_grad=True), [], threading.Lock()
    shared = x.exp()

    def work(number):
        with lock:
            ((x + 3) * 4 * 0.5).sum().backward()
            errors.append(attempt(lambda: shared.sum().backward()))

    in_threads(8, work)
    return errors, x.grad


class Stop(Exception):
    pass


def raise_stop(*args):
    raise Stop


class Failing(Function):
    @staticmethod
    def forward(ctx, x, in_backward):
        return x * 2 if in_backward else raise_stop()

    @staticmethod
    def backward(ctx, grad):
        raise Stop


def sound():
    """The state in which everything works: modes as at the start, no pass running, gradients right."""
    x = T.tensor(3.0, requires_grad=True)
    (x * x).backward()
    modes = T.is_grad_enabled(), T.is_inference_mode_enabled(), graph_task.current_graph_task_id()
    return modes == (True, False, -1) and x.grad.item() == 6


FAILURES = {
    "a tensor hook": lambda x: hooked(x * 2, "register_hook").sum().backward(),
    "a node hook": lambda x: hooked(x * 2, "grad_fn.register_hook").sum().backward(create_graph=True),
    "a prehook": lambda x: T.autograd.grad(hooked(x * 2, "grad_fn.register_prehook").sum(), x),
    "after accumulating": lambda x: (hooked(x, "register_post_accumulate_grad_hook") * 2).sum().backward(),
    "a backward": lambda x: Failing.apply(x, True).sum().backward(),
    "a forward": lambda x: Failing.apply(x, False),
    "under no_grad": lambda x: within(T.no_grad()),
    "in inference mode": lambda x: within(T.inference_mode()),
    "a decorated function": lambda x: T.no_grad()(raise_stop)(),
    "a pack hook": lambda x: within(graph.saved_tensors_hooks(raise_stop, lambda packed: packed), x.exp),
    "an unpack hook": lambda x: within(graph.saved_tensors_hooks(lambda t: t, raise_stop), x.exp).sum().backward(),
}


def hooked(t, place):
    operator.attrgetter(place)(t)(raise_stop)
    return t


def within(mode, action=raise_stop):
    with mode:
        return action()


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_an_exception_reaches_the_caller_and_leaves_the_state_sound(fail):
    with pytest.raises(Stop):
        fail(T.ones(2, requires_grad=True))
    assert sound()


def test_a_pass_that_failed_can_run_again_where_nothing_was_freed():
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    handle, out = y.register_hook(raise_stop), y.sum()
    with pytest.raises(Stop):
        out.backward()
    handle.remove()
    out.backward()
    assert x.grad.tolist() == pytest.approx([2.718281828] * 2)
