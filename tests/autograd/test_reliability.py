"""The core holds under load: long chains, shared graphs, many steps without the garbage collector, threads, exceptions."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest

import tinygrad_edu as T
from tinygrad_edu.autograd import Function, graph

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
        _, y = ctx.saved_tensors
        return grad * y


class Double_(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


# --- size ------------------------------------------------------------------------------------------------------------


def test_a_chain_of_one_hundred_thousand_ops_needs_no_recursion():
    """A C stack is full after some ten thousand; benchmarks/ measures a million."""
    assert sys.getrecursionlimit() < 10_000
    x = T.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


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


def test_the_second_graph_of_a_long_chain_needs_no_recursion():
    x = T.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y * 1.0001
    (first,) = T.autograd.grad(y * y, x, create_graph=True)
    first.backward()
    assert x.grad.item() == pytest.approx(2 * 1.0001**10_000, rel=1e-3)


def test_a_graph_with_two_to_the_sixty_paths_is_walked_once_per_node():
    x = T.tensor(1.0, requires_grad=True, dtype=T.float64)
    y = x
    for _ in range(60):
        y = y + y
    runs = []
    node = y.grad_fn
    while node is not None and node.next_functions:
        node.register_prehook(lambda grads: runs.append(1))
        node = node.next_functions[0][0]
    y.backward()
    assert len(runs) == 60  # each node once; a walk over all paths would be 2**60
    assert x.grad.item() == 2.0**60


# --- memory ----------------------------------------------------------------------------------------------------------


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
    y.grad_fn._around.tensors.clear()


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


def step_with_a_multi_grad_hook(w, x):
    handle = graph.register_multi_grad_hook((w,), lambda grads: None)
    (x * w).sum().backward()
    handle.remove()


@pytest.mark.parametrize(
    ("step", "count"),
    [
        (plain_step, 4_000),
        (step_with_custom_functions, 1_500),
        (step_with_hooks, 1_000),
        (step_with_views_and_in_place_writes, 1_000),
        (step_to_the_second_order, 1_000),
        (step_whose_graph_never_runs, 1_000),
        (step_that_fails, 500),
        (step_with_a_multi_grad_hook, 1_000),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_steps_without_the_garbage_collector_leave_nothing_behind(step, count):
    w = T.ones(4, requires_grad=True)
    x = T.tensor([0.1, 0.2, 0.3, 0.4])

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
        run(count)
        assert len(gc.get_objects()) - objects < 100
        assert sys.getallocatedblocks() - blocks < 300
    finally:
        gc.enable()


def test_a_freed_graph_frees_its_tensors():
    x = T.ones(3, requires_grad=True)
    hidden = x.exp()
    out = (hidden * hidden).sum()
    reference = weakref.ref(hidden)
    del hidden
    assert reference() is not None
    out.backward()
    assert reference() is None


# --- threads ---------------------------------------------------------------------------------------------------------


def test_eight_threads_have_separate_grad_modes():
    barrier = threading.Barrier(8)
    wrong = []

    def work(number):
        mode = (T.no_grad, T.enable_grad, T.inference_mode, lambda: T.set_grad_enabled(number % 2 == 0))[number % 4]
        expected = {0: False, 1: True, 2: False, 3: False}[number % 4]
        for _ in range(50):
            if not T.is_grad_enabled():
                wrong.append("a thread starts, or goes on, with recording off")
            with mode():
                barrier.wait()
                if T.is_grad_enabled() is not expected or T.is_inference_mode_enabled() is not (number % 4 == 2):
                    wrong.append(number)
                x = T.ones(2, requires_grad=True)
                if (x * 2).requires_grad is not expected:
                    wrong.append(number)
                barrier.wait()

    with T.no_grad():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not T.is_grad_enabled()
    assert not wrong


def test_eight_threads_compute_gradients_beside_each_other():
    results = {}

    def work(number):
        x = T.full((3,), float(number), dtype=T.float64, requires_grad=True)
        for _ in range(100):
            y = x
            for _ in range(20):
                y = y * 1.5 + x
            y.sum().backward()
        results[number] = x.grad.tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slope = 1.0
    for _ in range(20):
        slope = slope * 1.5 + 1
    assert all(values == pytest.approx([100 * slope] * 3) for values in results.values())
    assert len(results) == 8


def test_sequence_numbers_made_in_threads_are_all_different():
    numbers = []

    def work():
        x = T.ones(1, requires_grad=True)
        numbers.extend([(x * 2).grad_fn._sequence_nr() for _ in range(500)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == 4000


# --- exceptions ------------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def raise_stop(*args):
    raise Stop


class Failing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise Stop


class FailingForward(Function):
    @staticmethod
    def forward(ctx, x):
        raise Stop


def sound():
    """The state in which everything works: modes as at the start, no pass running, gradients right."""
    x = T.tensor(3.0, requires_grad=True)
    (x * x).backward()
    return (
        T.is_grad_enabled() and not T.is_inference_mode_enabled() and x.grad.item() == 6
    ) and T.autograd.graph_task.current_graph_task_id() == -1


def fail_in_a_tensor_hook(x):
    y = x * 2
    y.register_hook(raise_stop)
    y.sum().backward()


def fail_in_a_node_hook(x):
    y = x * 2
    y.grad_fn.register_hook(raise_stop)
    y.sum().backward(create_graph=True)


def fail_in_a_prehook(x):
    y = x * 2
    y.grad_fn.register_prehook(raise_stop)
    T.autograd.grad(y.sum(), x)


def fail_after_accumulating(x):
    x.register_post_accumulate_grad_hook(raise_stop)
    (x * 2).sum().backward()


def fail_in_a_backward(x):
    Failing.apply(x).sum().backward()


def fail_in_a_forward(x):
    FailingForward.apply(x)


def fail_under_no_grad(x):
    with T.no_grad():
        raise Stop


def fail_in_inference_mode(x):
    with T.inference_mode(), T.enable_grad():
        raise Stop


def fail_in_a_decorated_function(x):
    T.no_grad()(raise_stop)()


def fail_in_a_pack_hook(x):
    with graph.saved_tensors_hooks(raise_stop, lambda packed: packed):
        x.exp()


def fail_in_an_unpack_hook(x):
    with graph.saved_tensors_hooks(lambda t: t, raise_stop):
        y = x.exp()
    y.sum().backward()


@pytest.mark.parametrize(
    "fail",
    [
        fail_in_a_tensor_hook,
        fail_in_a_node_hook,
        fail_in_a_prehook,
        fail_after_accumulating,
        fail_in_a_backward,
        fail_in_a_forward,
        fail_under_no_grad,
        fail_in_inference_mode,
        fail_in_a_decorated_function,
        fail_in_a_pack_hook,
        fail_in_an_unpack_hook,
    ],
)
def test_an_exception_reaches_the_caller_and_leaves_the_state_sound(fail):
    with pytest.raises(Stop):
        fail(T.ones(2, requires_grad=True))
    assert sound()


def test_a_pass_that_failed_can_run_again_where_nothing_was_freed():
    x = T.ones(2, requires_grad=True)
    y = x.exp()
    handle = y.register_hook(raise_stop)
    out = y.sum()
    with pytest.raises(Stop):
        out.backward()
    handle.remove()
    out.backward()
    assert x.grad.tolist() == pytest.approx([2.718281828] * 2)


def test_a_backward_inside_a_backward_does_not_disturb_it():
    inner = []

    class Reenters(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with T.enable_grad():
                y = T.tensor(3.0, requires_grad=True)
                (y * y).backward()
                inner.append(y.grad.item())
            return grad * 2

    x = T.tensor(1.0, requires_grad=True)
    (Reenters.apply(x) + Reenters.apply(x)).backward()
    assert x.grad.item() == 4
    assert inner == [6, 6]
    assert sound()
