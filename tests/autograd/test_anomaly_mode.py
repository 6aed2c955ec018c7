"""Anomaly mode names the forward line behind a backward pass that failed, as PyTorch's does."""

import threading
import warnings

import pytest
import torch

import tinygrad_edu as T


def listen(program, T):
    """The result or the error of a program and, for each warning, its opening words and the marked lines it shows."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = program(T)
        except Exception as error:
            result = type(error).__name__, str(error).split(".")[0].split(":")[0]
    texts = [str(w.message) for w in heard if w.category is UserWarning and "has been enabled" not in str(w.message)]
    return result, [(text.split(".")[0], marked(text)) for text in texts]


def marked(text):
    return [line.split("# ")[1].strip() for line in text.splitlines() if "# line" in line]


def agree(program):
    ours, theirs = listen(program, T), listen(program, torch)
    assert ours == theirs
    return ours


def failing(T):
    def backward(ctx, grad):
        raise ValueError("boom")

    rules = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(backward)}
    return type("Failing", (T.autograd.Function,), rules)


def root_of_a_negative_number(T):
    with T.autograd.detect_anomaly():
        x = T.tensor([-1.0, 4.0], requires_grad=True)
        y = x.sqrt()  # line of the root
        y.sum().backward()


def without_the_check(T):
    with T.autograd.detect_anomaly(check_nan=False):
        x = T.tensor([-1.0, 4.0], requires_grad=True)
        x.sqrt().sum().backward()
    return str(x.grad)


def infinities(T):
    with T.autograd.detect_anomaly():
        x, y = T.tensor([0.0], requires_grad=True), T.ones(3, requires_grad=True)
        x.sqrt().backward()
        (y * y).sum().backward()
    return x.grad.tolist(), y.grad.tolist()


def nan_outside(T):
    x = T.tensor([-1.0, 0.0, float("inf")], requires_grad=True)
    (x.sqrt() * x).sum().backward()
    return str(x.grad)


def the_metadata_of_a_node(T):
    with T.autograd.set_detect_anomaly(True):
        node = (T.ones(1, requires_grad=True) * 2).grad_fn  # line of the product
    return list(node.metadata), marked("\n".join(node.metadata["traceback_"]))


def a_backward_that_raises(T):
    with T.autograd.detect_anomaly(check_nan=False):
        y = failing(T).apply(T.ones(2, requires_grad=True))  # line of the Function
        (y * 2).sum().backward()


def a_saved_tensor_changed(T):
    with T.autograd.detect_anomaly():
        y = T.ones(2, requires_grad=True).exp()  # line of exp
        y.add_(1)
        y.sum().backward()


def forward_outside(T):
    y = T.tensor([-1.0], requires_grad=True).sqrt()  # line not remembered
    with T.autograd.detect_anomaly():
        y.backward()


def in_a_third_backward(T):
    with T.autograd.detect_anomaly():
        x = T.tensor([0.0], requires_grad=True)
        y = (x**2.5).sum()  # line of the power
        (g,) = T.autograd.grad(y, x, create_graph=True)  # line of the first backward
        (h,) = T.autograd.grad(g.sum(), x, create_graph=True)  # line of the second backward
        (h * 0).sum().backward()


def a_hook_that_makes_nan(T):
    with T.autograd.detect_anomaly():
        x = T.ones(1, requires_grad=True)
        y = x * 2  # line behind the hook
        y.register_hook(lambda grad: grad * float("nan"))
        (y * 3).backward()


PROGRAMS = [
    *(root_of_a_negative_number, without_the_check, a_backward_that_raises, a_saved_tensor_changed, forward_outside),
    *(in_a_third_backward, a_hook_that_makes_nan, infinities, nan_outside, the_metadata_of_a_node),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_errors_and_forward_lines_are_pytorchs(program) -> None:
    agree(program)


def test_flags_nest_and_are_restored_also_after_an_exception() -> None:
    def program(T):
        seen = []

        def look():
            seen.append((T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()))

        look()
        with T.autograd.detect_anomaly(check_nan=False):
            look()
            with T.autograd.set_detect_anomaly(False):
                look()
            look()
            with pytest.raises(ZeroDivisionError), T.autograd.set_detect_anomaly(True):
                look()
                _ = 1 / 0
        look()
        T.autograd.set_detect_anomaly(True)
        look()
        T.set_anomaly_enabled(False)
        look()
        return seen

    agree(program)


def test_entering_warns_that_it_is_slow_and_the_flag_does_not() -> None:
    for T_ in (T, torch):
        with pytest.warns(UserWarning, match="Anomaly Detection has been enabled. This mode will increase the runtime"):
            T_.autograd.detect_anomaly()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with T_.autograd.set_detect_anomaly(True):
                pass


def test_it_works_in_the_thread_that_asked_for_it() -> None:
    caught = []
    thread = threading.Thread(target=lambda: caught.append(listen(root_of_a_negative_number, T)[0]))
    thread.start()
    thread.join()
    assert "returned nan values" in caught[0][1] and not T.is_anomaly_enabled()


def test_where_warnings_are_errors_the_error_of_the_pass_arrives_and_the_line_is_printed(capsys) -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = T.autograd.detect_anomaly()
    with mode:
        x = T.tensor([1.0, 2.0], requires_grad=True) + 1
        y = x**2
        x += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
                y.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err
