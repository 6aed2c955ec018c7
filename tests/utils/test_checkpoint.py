"""Checkpointing keeps inputs instead of saved tensors, runs the function again, and reports a second run that differs."""

import contextlib
import gc
import logging
import weakref

import numpy as np
import pytest
import torch
import torch.utils.checkpoint

import tinygrad_edu as T
import tinygrad_edu.utils.checkpoint

FORMS = [True, False]


def plain(value):
    if isinstance(value, T.Tensor | torch.Tensor):
        return np.round(value.detach().numpy(), 4).tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def run(program, T, form):
    try:
        return plain(program(T, T.utils.checkpoint, form))
    except Exception as error:
        return type(error).__name__, " ".join(str(error).split()[:7])


def agree(program, form=False):
    ours, theirs = run(program, T, form), run(program, torch, form)
    assert ours == theirs
    return ours


class Counted:
    """A function that counts its runs."""

    def __init__(self, function):
        self.function = function
        self.runs = 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)


def leaf(T, *values):
    return T.tensor(values or (0.5, 1.0, 2.0), dtype=T.float64, requires_grad=True)


def once(T, C, form):
    x, w = leaf(T), leaf(T, 1.0, 2.0, 3.0)
    f = Counted(lambda x: (x * w).exp().tanh() * x)
    y = C.checkpoint(f, x, use_reentrant=form)
    y.sum().backward()
    return f.runs, y, x.grad, w.grad


def used_twice(T, C, form):
    x = leaf(T)
    f = Counted(lambda x: (x * x).exp())
    a, b = C.checkpoint(f, x, use_reentrant=form), C.checkpoint(f, x * 2, use_reentrant=form)
    (a * b + x).sum().backward()
    return f.runs, x.grad


def several(T, C, form):
    x, y = leaf(T), leaf(T)
    outputs = C.checkpoint(lambda a, k, b: (a * b * k, a.exp(), (a > 1), 5), x, 3.0, y, use_reentrant=form)
    (outputs[0].sum() + outputs[1].sum()).backward()
    return outputs[2].tolist(), outputs[3], x.grad, y.grad


def an_output_unused(T, C, form):
    x = leaf(T)
    a, _ = C.checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=form)
    a.sum().backward()
    return x.grad


def nested(T, C, form):
    x = leaf(T)
    inner = Counted(lambda x: x.exp() * x.sin())
    outer = Counted(lambda x: C.checkpoint(inner, x * 2, use_reentrant=form).tanh() * x)
    C.checkpoint(outer, x, use_reentrant=form).sum().backward()
    return outer.runs, inner.runs, x.grad


def nested_three(T, C, form):
    x = leaf(T)
    counts = [0, 0, 0]

    def level(n, x):
        counts[n] += 1
        y = x.sin() * x
        return C.checkpoint(lambda y: level(n + 1, y), y.exp(), use_reentrant=form) if n < 2 else y.cos() * y

    C.checkpoint(lambda x: level(0, x), x, use_reentrant=form).sum().backward()
    return counts, x.grad


def under_no_grad(T, C, form):
    x = leaf(T)
    f = Counted(lambda x: x * x)
    with T.no_grad():
        y = C.checkpoint(f, x, use_reentrant=form)
    return f.runs, y.requires_grad, y


def a_second_backward(T, C, form):
    x = leaf(T)
    f = Counted(lambda x: (x * x).exp())
    y = C.checkpoint(f, x, use_reentrant=form).sum()
    y.backward(retain_graph=True)
    y.backward()
    return f.runs, x.grad


def freed(T, C, form):
    x = leaf(T)
    y = C.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=form).sum()
    y.backward()
    y.backward()


def by_grad(T, C, form):
    x = leaf(T)
    return T.autograd.grad(C.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=form).sum(), x)


def by_inputs(T, C, form):
    x = leaf(T)
    C.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=form).sum().backward(inputs=[x])
    return x.grad


def parameters_alone(T, C, form):
    w = leaf(T)
    y = C.checkpoint(lambda x: x * w, T.ones(3), use_reentrant=form)
    return y.requires_grad


def an_error_inside(T, C, form):
    def broken(x):
        raise KeyError("broken")

    return C.checkpoint(broken, leaf(T), use_reentrant=form)


def afterwards_the_state_is_sound(T, C, form):
    x = leaf(T)
    with contextlib.suppress(KeyError):
        an_error_inside(T, C, form)
    (x * x).sum().backward()
    return T.is_grad_enabled(), x.grad


def dropout(T, C, form):
    T.manual_seed(0)
    x = leaf(T, *[1.0] * 64)
    y = C.checkpoint(lambda x: x * (T.rand(64) > 0.5), x, use_reentrant=form)
    after = T.rand(3)
    y.sum().backward()
    # The same elements were dropped in both runs, and the second run is not felt in the random state.
    return plain(y) == plain(x.grad), plain(T.rand(1)) not in plain(after)


def dropout_not_preserved(T, C, form):
    T.manual_seed(0)
    x = leaf(T, *[1.0] * 64)
    y = C.checkpoint(lambda x: x * (T.rand(64) > 0.5), x, use_reentrant=form, preserve_rng_state=False)
    y.sum().backward()
    return plain(y) == plain(x.grad)


def keyword(T, C, form):
    x = leaf(T)
    C.checkpoint(lambda x, *, k: x * k, x, use_reentrant=form, k=3.0).sum().backward()
    return x.grad


def an_input_changed(T, C, form):
    x = leaf(T) * 1
    y = C.checkpoint(lambda x: x.exp(), x, use_reentrant=form)
    x.add_(1)
    y.sum().backward()


def no_gradient_inside(T, C, form):
    x = leaf(T)
    y = C.checkpoint(lambda x: x.detach() * 2, x, use_reentrant=form)
    return y.requires_grad, (y + x).sum().backward()


def with_contexts(T, C, form):
    log = []

    @contextlib.contextmanager
    def named(name):
        log.append("enter " + name)
        yield
        log.append("leave " + name)

    x = leaf(T)
    y = C.checkpoint(
        lambda x: x.exp(), x, use_reentrant=form, context_fn=lambda: (named("first"), named("second")), early_stop=False
    )
    log.append("between")
    y.sum().backward()
    return log, x.grad


PROGRAMS = {
    f.__name__: f
    for f in (
        once, used_twice, several, an_output_unused, nested, nested_three, under_no_grad, a_second_backward, freed, by_grad,
        by_inputs, parameters_alone, an_error_inside, afterwards_the_state_is_sound, dropout, dropout_not_preserved, keyword,
        an_input_changed, no_gradient_inside, with_contexts,
    )
}  # fmt: skip


@pytest.mark.outer
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("form", FORMS, ids=["reentrant", "not reentrant"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_checkpoint_runs_again_and_gives_pytorchs_gradients_or_errors(name: str, form: bool) -> None:
    agree(PROGRAMS[name], form)


def test_second_derivatives_go_through_a_checkpoint() -> None:
    def program(T, C, form):
        x = leaf(T)
        (g,) = T.autograd.grad(C.checkpoint(lambda x: x**3, x, use_reentrant=False).sum(), x, create_graph=True)
        g.sum().backward()
        return g, x.grad

    agree(program)


# --- when the second run is not the first ----------------------------------------------------------------------------


def changing(first, second):
    """A function that does `first` when it runs for the first time and `second` after that."""
    runs = []

    def function(x):
        runs.append(None)
        return (first if len(runs) == 1 else second)(x)

    return function


DIFFERENCES = {
    "fewer saved": (lambda x: x.exp().sin().exp(), lambda x: x.exp()),
    "more saved": (lambda x: x.exp(), lambda x: x.exp().sin().exp()),
    "another shape": (lambda x: x.exp(), lambda x: x[:1].exp()),
    "another dtype": (lambda x: x.exp(), lambda x: x.double().exp()),
    "other values": (lambda x: x.exp(), lambda x: (x + 1).exp()),
    "nothing saved": (lambda x: x.exp(), lambda x: x),
}


@pytest.mark.parametrize("check", ["default", "none", "thorough"])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_second_run_that_differs_is_an_error_where_pytorch_has_one(name: str, early: bool, check: str) -> None:
    def program(T, C, form):
        x = leaf(T)
        f = changing(*DIFFERENCES[name])
        y = C.checkpoint(f, x, use_reentrant=False, early_stop=early, determinism_check=check)
        y.sum().backward()
        return x.grad

    ours, theirs = run(program, T, False), run(program, torch, False)
    if name in ("another shape", "another dtype") and check == "none":
        # What follows from wrong shapes is each engine's own error.
        assert type(ours) is type(theirs)
    else:
        assert ours == theirs


def test_the_error_says_what_differs_and_where() -> None:
    x = leaf(T)
    y = T.utils.checkpoint.checkpoint(changing(*DIFFERENCES["another shape"]), x, use_reentrant=False)
    with pytest.raises(
        T.utils.checkpoint.CheckpointError, match=r"position 0[\s\S]*\[3\][\s\S]*\[1\][\s\S]*run again|again"
    ):
        y.sum().backward()


@pytest.mark.parametrize("early", [True, False, None])
def test_the_second_run_stops_when_all_is_saved_unless_it_is_told_not_to(early: bool | None) -> None:
    def program(T, C, form):
        reached = []

        def f(x):
            y = x.exp()
            reached.append("saved")
            y = y + 1
            reached.append("end")
            return y

        x = leaf(T)
        if early is None:
            with C.set_checkpoint_early_stop(False):
                y = C.checkpoint(f, x, use_reentrant=False)
        else:
            y = C.checkpoint(f, x, use_reentrant=False, early_stop=early)
        y.sum().backward()
        return reached

    assert len(agree(program)) == (3 - 1 if early else 4)


# --- what is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.outer
@pytest.mark.parametrize("form", FORMS)
def test_what_the_function_computes_inside_is_not_kept(form: bool) -> None:
    def alive(T, C):
        inside = []

        def f(x):
            y = x.exp()
            inside.append(weakref.ref(y))
            return y.sin() * 2

        x = leaf(T)
        result = C.checkpoint(f, x, use_reentrant=form)
        gc.collect()
        return [r() is not None for r in inside], result.requires_grad

    assert alive(T, T.utils.checkpoint) == alive(torch, torch.utils.checkpoint) == ([False], True)


def test_a_step_leaves_nothing_behind_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(T)
        references = []

        def f(x):
            y = x.exp().sin()
            references.append(weakref.ref(y))
            return y * y

        for _ in range(3):
            T.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
        assert [r() for r in references] == [None] * 6
    finally:
        gc.enable()


# --- sequences, arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_a_sequence_is_cut_as_in_pytorch(segments: int, form: bool) -> None:
    def program(T, C, form):
        functions = [Counted(f) for f in (lambda x: x.sin(), lambda x: x.exp(), lambda x: x * x, lambda x: x.tanh())]
        functions.append(Counted(lambda x: x * 2))
        x = leaf(T)
        y = C.checkpoint_sequential(functions, segments, x, use_reentrant=form)
        y.sum().backward()
        return [f.runs for f in functions], y, x.grad

    agree(program, form)


REFUSED = {
    "keywords with re-entrance": lambda C, x: C.checkpoint(lambda x: x, x, use_reentrant=True, k=1),
    "contexts with re-entrance": lambda C, x: C.checkpoint(
        lambda x: x, x, use_reentrant=True, context_fn=lambda: (contextlib.nullcontext(), contextlib.nullcontext())
    ),
    "an unknown check": lambda C, x: C.checkpoint(lambda x: x, x, use_reentrant=False, determinism_check="careful"),
    "keywords for a sequence": lambda C, x: C.checkpoint_sequential([lambda x: x], 1, x, use_reentrant=False, k=1),
    "a list to detach": lambda C, x: C.detach_variable([x]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_pytorch_refuses_are_refused(name: str) -> None:
    result = agree(lambda T, C, form: REFUSED[name](C, leaf(T)))
    assert isinstance(result[0], str)


def test_leaving_use_reentrant_out_warns_and_means_true() -> None:
    def program(T, C, form):
        x = leaf(T)
        with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
            y = C.checkpoint(lambda x: x * x, x)
        with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
            C.checkpoint_sequential([lambda x: x, lambda x: x * x], 2, x)
        return y.grad_fn.name()

    assert agree(program) == "CheckpointFunctionBackward"


def test_inputs_that_ask_for_nothing_are_warned_of_with_re_entrance() -> None:
    for C in (T.utils.checkpoint, torch.utils.checkpoint):
        engine = T if C is T.utils.checkpoint else torch
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
            C.checkpoint(lambda x: x * 2, engine.ones(2), use_reentrant=True)


# --- debug -----------------------------------------------------------------------------------------------------------


def let_torch_log_alone(monkeypatch) -> None:
    """PyTorch's debug writes log records that only its own handler can format: pytest's must not see them."""
    monkeypatch.setattr(logging.getLogger("LoggingTensor"), "handlers", [])


@pytest.mark.outer
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("mode", [None, True, False])
@pytest.mark.parametrize("debug", [True, False])
def test_debug_is_an_argument_that_a_context_overrides(
    debug: bool, mode: bool | None, early: bool, monkeypatch
) -> None:
    let_torch_log_alone(monkeypatch)

    def program(T, C, form):
        found = []
        for name, forms in DIFFERENCES.items():
            with C.set_checkpoint_debug_enabled(mode):
                y = C.checkpoint(changing(*forms), leaf(T), use_reentrant=False, debug=debug, early_stop=early)
            try:
                y.sum().backward()
            except C.CheckpointError as error:
                found.append((name, " ".join(str(error).split()[:7])))
        return found

    told = agree(program)
    assert len(told) > 2
    assert all(("An error happened" in text) == (debug if mode is None else mode) for _, text in told)


def test_debug_lists_the_calls_of_both_runs_with_their_lines() -> None:
    x = leaf(T)
    f = changing(lambda x: (x.exp() * 2).sin(), lambda x: (x.exp() * 2).sum())
    with pytest.raises(T.utils.checkpoint.CheckpointError) as raised:
        T.utils.checkpoint.checkpoint(f, x, use_reentrant=False, debug=True).sum().backward()
    first, second = str(raised.value).split("Operations executed during recomputation:")
    assert "exp(float64[3])" in first and "mul(float64[3], 2)" in first and "sin(float64[3])" in first
    assert "sum(float64[3])" in second and "sin" not in second
    assert all(f"{__file__}:" in line for line in (*first.splitlines()[4:-1], *second.splitlines()[2:-2]) if line)
    assert "different number of tensors" in str(raised.value.__cause__)


def test_debug_changes_nothing_where_both_runs_are_the_same(monkeypatch) -> None:
    let_torch_log_alone(monkeypatch)

    def program(T, C, form):
        x = leaf(T)
        C.checkpoint(lambda x: (x.exp() * x).sum(), x, use_reentrant=False, debug=True).backward()
        return x.grad

    agree(program)


def test_debug_and_a_context_fn_cannot_be_combined() -> None:
    contexts = lambda: (contextlib.nullcontext(), contextlib.nullcontext())  # noqa: E731
    for engine in (T, torch):
        with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
            engine.utils.checkpoint.checkpoint(
                lambda x: x, leaf(engine), use_reentrant=False, debug=True, context_fn=contexts
            )


def test_a_context_that_swallows_the_error_of_the_first_run_is_reported() -> None:
    def program(T, C, form):
        contexts = lambda: (contextlib.suppress(ZeroDivisionError), contextlib.nullcontext())  # noqa: E731
        return C.checkpoint(lambda x: x * (1 // 0), leaf(T), use_reentrant=False, context_fn=contexts)

    assert agree(program)[0] == "RuntimeError"


def test_selective_checkpointing_is_refused_by_a_sentence_and_its_policies_are_pytorchs() -> None:
    ours, theirs = T.utils.checkpoint, torch.utils.checkpoint
    assert {p.name: p.value for p in ours.CheckpointPolicy} == {p.name: p.value for p in theirs.CheckpointPolicy}
    with pytest.raises(NotImplementedError, match=r"not built: .* Checkpoint the parts between"):
        ours.create_selective_checkpoint_contexts(lambda ctx, op, *args: ours.CheckpointPolicy.MUST_SAVE)
