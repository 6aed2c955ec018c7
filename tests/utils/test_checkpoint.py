"""Checkpointing keeps inputs instead of saved tensors, runs the function again, and reports a run that differs."""

import contextlib
import gc
import weakref

import pytest
import torch
import torch.utils.checkpoint
from support.both import attempt, leaf, same_on_both
from support.parity import Raised

import tinygrad_edu as T
import tinygrad_edu.utils.checkpoint

FORMS = [True, False]


def tried(action):
    """The result of `action`, or the error that it raises, by its kind and first words."""
    result = attempt(action)
    return [result[0], result[1].split()[:5]] if isinstance(result, Raised) else result


class Counted:
    """A function that counts its runs."""

    def __init__(self, function):
        self.function = function
        self.runs = 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)


def exp(x):
    return x.exp()


def once(T, C, form):
    x, w = leaf(T), leaf(T, 1.0, 2.0, 3.0)
    f = Counted(lambda x: (x * w).exp().tanh() * x)
    a, b = C.checkpoint(f, x, use_reentrant=form), C.checkpoint(f, x * 2, use_reentrant=form)
    (a * b + x).sum().backward()
    by_keyword = tried(lambda: C.checkpoint(lambda x, *, k: x * k, x, use_reentrant=form, k=3.0))
    return f.runs, a, b, x.grad, w.grad, by_keyword


def several(T, C, form):
    x, y = leaf(T), leaf(T)
    outputs = C.checkpoint(lambda a, k, b: (a * b * k, a.exp(), (a > 1), 5), x, 3.0, y, use_reentrant=form)
    (outputs[0].sum() + outputs[1].sum()).backward()
    return outputs[2].tolist(), outputs[3], x.grad, y.grad


def an_output_unused_by_grad_and_by_inputs(T, C, form):
    x = leaf(T)
    outputs = [C.checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=form)[0] for _ in range(3)]
    outputs[0].sum().backward()
    first = x.grad.clone()
    seen = [tried(lambda: T.autograd.grad(outputs[1].sum(), x))]
    seen.append(tried(lambda: outputs[2].sum().backward(inputs=[x])))
    return first, seen, x.grad


def nested_three(T, C, form):
    x, counts = leaf(T), [0, 0, 0]

    def level(n, x):
        counts[n] += 1
        y = x.sin() * x
        return C.checkpoint(lambda y: level(n + 1, y), y.exp(), use_reentrant=form) if n < 2 else y.cos() * y

    C.checkpoint(lambda x: level(0, x), x, use_reentrant=form).sum().backward()
    return counts, x.grad


def under_no_grad_and_twice(T, C, form):
    x = leaf(T)
    f = Counted(lambda x: x**3)
    with T.no_grad():
        y = C.checkpoint(f, x, use_reentrant=form)

    def second():
        (g,) = T.autograd.grad(C.checkpoint(f, x, use_reentrant=form).sum(), x, create_graph=True)
        return g.detach(), *T.autograd.grad(g.sum(), x)

    return f.runs, y.requires_grad, y, tried(second)


def a_second_backward(T, C, form):
    x, w = leaf(T), leaf(T)
    f = Counted(lambda x: (x * x).exp())
    y = C.checkpoint(f, x, use_reentrant=form).sum()
    y.backward(retain_graph=True)
    y.backward()
    by_parameters_alone = C.checkpoint(lambda x: x * w, T.ones(3), use_reentrant=form).requires_grad
    return f.runs, x.grad, by_parameters_alone, tried(y.backward)


def an_error_inside(T, C, form):
    def broken(x):
        raise KeyError("broken")

    x = leaf(T)
    seen = tried(lambda: C.checkpoint(broken, x, use_reentrant=form))
    (x * x).sum().backward()
    return seen, T.is_grad_enabled(), x.grad


def dropout(T, C, form):
    seen = []
    for preserved in (True, False):
        T.manual_seed(0)
        x = leaf(T, *[1.0] * 64)
        y = C.checkpoint(lambda x: x * (T.rand(64) > 0.5), x, use_reentrant=form, preserve_rng_state=preserved)
        y.sum().backward()
        # Whether the same elements were dropped in both runs, and the second run is felt in the random state.
        seen.append((y.tolist() == x.grad.tolist(), T.rand(1)))
    return seen


def an_input_changed_or_detached(T, C, form):
    x, w = leaf(T) * 1, leaf(T)
    y, z = C.checkpoint(exp, x, use_reentrant=form), C.checkpoint(lambda x: x.detach() * 2, w, use_reentrant=form)
    x.add_(1)
    passes = [tried(lambda root=root: root.sum().backward()) for root in (y, z + w)]
    return passes, z.requires_grad, w.grad


def with_contexts(T, C, form):
    log, x = [], leaf(T)

    @contextlib.contextmanager
    def named(name):
        log.append("enter " + name)
        yield
        log.append("leave " + name)

    settings = {"context_fn": lambda: (named("first"), named("second"))}
    y = C.checkpoint(lambda x: x.exp(), x, use_reentrant=form, **settings)
    log.append("between")
    y.sum().backward()
    return log, x.grad


PROGRAMS = [
    *(once, several, an_output_unused_by_grad_and_by_inputs, nested_three, under_no_grad_and_twice, a_second_backward),
    *(with_contexts, an_error_inside, dropout, an_input_changed_or_detached),
]


@pytest.mark.outer
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("form", FORMS, ids=["reentrant", "not reentrant"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@same_on_both
def test_a_checkpoint_runs_again_and_gives_pytorchs_gradients_or_errors(T, program, form):
    return tried(lambda: program(T, T.utils.checkpoint, form))


def changing(first, second):
    """A function that does `first` when it runs for the first time and `second` after that."""
    runs = []

    def function(x):
        runs.append(None)
        return (first if len(runs) == 1 else second)(x)

    return function


def long(x):
    return x.exp().sin().exp()


DIFFERENCES = {"fewer saved": (long, exp), "more saved": (exp, long), "another shape": (exp, lambda x: x[:1].exp())}
DIFFERENCES |= {"another dtype": (exp, lambda x: x.double().exp()), "other values": (exp, lambda x: (x + 1).exp())}
DIFFERENCES |= {"nothing saved": (exp, lambda x: x)}


@pytest.mark.parametrize("check", ["default", "none"])
@pytest.mark.parametrize("name", DIFFERENCES)
@same_on_both
def test_a_second_run_that_differs_is_an_error_where_pytorch_has_one(T, name, check):
    x, f = leaf(T), changing(*DIFFERENCES[name])
    y = T.utils.checkpoint.checkpoint(f, x, use_reentrant=False, determinism_check=check)
    result = tried(lambda: y.sum().backward())
    # What follows from wrong shapes is each engine's own error.
    return result is None if name in ("another shape", "another dtype") and check == "none" else (result, x.grad)


def test_the_error_says_what_differs_and_where() -> None:
    y = T.utils.checkpoint.checkpoint(changing(*DIFFERENCES["another shape"]), leaf(T), use_reentrant=False)
    with pytest.raises(T.utils.checkpoint.CheckpointError, match=r"position 0[\s\S]*\[3\][\s\S]*\[1\][\s\S]*again"):
        y.sum().backward()


@pytest.mark.outer
@pytest.mark.parametrize("form", FORMS)
def test_what_the_function_computes_inside_is_not_kept(form: bool) -> None:
    def alive(T, C, form):
        inside, x = [], leaf(T)

        def f(x):
            y = x.exp()
            inside.append(weakref.ref(y))
            return y.sin() * 2

        result = C.checkpoint(f, x, use_reentrant=form)
        gc.collect()
        return [r() is not None for r in inside], result.requires_grad

    assert all(alive(E, E.utils.checkpoint, form) == ([False], True) for E in (T, torch))


def test_a_step_leaves_nothing_behind_without_the_garbage_collector() -> None:
    references = []

    def f(x):
        y = x.exp().sin()
        references.append(weakref.ref(y))
        return y * y

    gc.collect()
    gc.disable()
    try:
        x = leaf(T)
        for _ in range(3):
            T.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
        assert [r() for r in references] == [None] * 6
    finally:
        gc.enable()


def contexts():
    return contextlib.nullcontext(), contextlib.nullcontext()


REFUSED = """C.checkpoint(f, x, use_reentrant=True, k=1); C.checkpoint(f, x, use_reentrant=True, context_fn=contexts);
C.checkpoint(f, x, use_reentrant=False, determinism_check="thorough")"""


@pytest.mark.parametrize("code", REFUSED.replace("\n", " ").split("; "))
@same_on_both
def test_arguments_that_pytorch_refuses_are_refused(T, code):
    scope = {"C": T.utils.checkpoint, "f": lambda x: x, "x": leaf(T), "contexts": contexts}
    result = tried(lambda: eval(code, scope))
    assert isinstance(result, list), "an error"
    return result


def test_leaving_use_reentrant_out_warns_and_means_true_and_inputs_that_ask_for_nothing_are_warned_of() -> None:
    for C, E in ((T.utils.checkpoint, T), (torch.utils.checkpoint, torch)):
        with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
            assert C.checkpoint(lambda x: x * x, leaf(E)).grad_fn.name() == "CheckpointFunctionBackward"
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
            C.checkpoint(exp, E.ones(2), use_reentrant=True)
