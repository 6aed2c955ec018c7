"""Training runs: what a program yields is kept by step, settings make runs beside it, and a stopped run continues."""

import gc
import json
import math
import os
import re
import signal
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import viz
from viz.experiments.curves import picture
from viz.picture.chart import STOPS
from viz.widgets.training import TrainingView


def bowl(T: Any, lr: float = 0.25, zero_grad: bool = True) -> Iterator[Any]:
    w = T.tensor(2.0, requires_grad=True)

    def loss() -> Any:
        return w * w

    while True:
        if zero_grad:
            w.grad = None
        loss().backward()
        yield loss, {"w": w}
        with T.no_grad():
            w -= lr * w.grad


def line(T: Any, lr: float = 0.1) -> Iterator[Any]:
    model = T.nn.Linear(1, 1)
    with T.no_grad():
        model.weight.fill_(0.0)
        model.bias.fill_(0.0)
    optimizer = T.optim.SGD(model.parameters(), lr=lr)
    x, y = T.tensor([[0.0], [1.0], [2.0]]), T.tensor([[1.0], [3.0], [5.0]])

    def loss() -> Any:
        return T.nn.functional.mse_loss(model(x), y)

    while True:
        optimizer.zero_grad()
        loss().backward()
        yield loss, model
        optimizer.step()


def train(program: Any, **options: Any) -> viz.Training:
    return viz.train(program, **{"steps": 5, "progress": False, **options})


def path(training: viz.Training, run: int = 0) -> list[float]:
    return [step.values["w"][0] for step in training.runs[run].steps]


def test_each_step_has_the_loss_the_parameters_and_their_gradients(engine: str) -> None:
    steps = train(bowl, engine=engine).runs[0].steps
    assert [step.values["w"] for step in steps] == [[2.0], [1.0], [0.5], [0.25], [0.125]]
    assert [step.gradients["w"] for step in steps] == [[4.0], [2.0], [1.0], [0.5], [0.25]]
    assert [step.loss for step in steps] == [4.0, 1.0, 0.25, 0.0625, 0.015625]


def test_without_zero_grad_the_other_path_stands_beside_it() -> None:
    training = train(bowl, beside=[{"zero_grad": False}, {"lr": 1.0}])
    assert [run.label for run in training.runs] == ["as written", "zero_grad=False", "lr=1.0"]
    assert path(training, 1)[:4] == [2.0, 1.0, -0.5, -1.75]  # the gradients add up: 4, 6, 5
    assert path(training, 2) == [2.0, -2.0, 2.0, -2.0, 2.0]


def test_a_run_added_later_catches_up_and_all_go_on_together() -> None:
    training = train(bowl)
    training.add(lr=0.5)
    assert len(training.runs[1].steps) == 5
    training.run(3)
    assert [len(run.steps) for run in training.runs] == [8, 8]
    assert path(training) == [2.0 * 0.5**k for k in range(8)]


def test_a_module_gives_its_parameters_by_name() -> None:
    training = train(line, steps=400)
    last = training.runs[0].steps[-1]
    assert (last.values["model.weight"][0], last.values["model.bias"][0]) == pytest.approx((2.0, 1.0), abs=0.01)
    surface = training.surface()
    assert surface is not None and surface.names == ["model.weight", "model.bias"]


def test_the_surface_is_the_loss_and_leaves_the_parameters_as_they_are() -> None:
    training = train(bowl)
    surface = training.surface()
    assert surface is not None
    left, right = surface.window[:2]
    (heights,) = surface.heights
    spread = (right - left) / (len(heights) - 1)
    assert heights == pytest.approx([(left + i * spread) ** 2 for i in range(len(heights))], rel=1e-5)
    training.run(1)
    assert path(training)[-1] == 2.0 * 0.5**5


def test_a_loss_that_is_not_a_function_has_a_curve_but_no_surface() -> None:
    def program(T: Any) -> Iterator[Any]:
        w = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
        while True:
            loss = (w * w).sum()
            loss.backward()
            yield loss, {"w": w}
            with T.no_grad():
                w -= 0.1 * w.grad
            w.grad = None

    training = train(program)
    assert training.surface() is None
    drawn = picture(training, None)
    assert drawn.count('data-run="0"') == 2  # a line in both panels


def test_stopped_between_two_steps_it_goes_on_from_there() -> None:
    def program(T: Any) -> Iterator[Any]:
        for step, yielded in enumerate(bowl(T)):
            if step == 2:
                os.kill(os.getpid(), signal.SIGINT)  # what Kernel > Interrupt sends, in the middle of a step
            yield yielded

    before, training = signal.getsignal(signal.SIGINT), train(program)
    assert len(training.runs[0].steps) == 3
    assert signal.getsignal(signal.SIGINT) is before
    training.run(2)
    assert path(training) == [2.0, 1.0, 0.5, 0.25, 0.125]


def test_a_program_that_ends_or_raises_keeps_its_steps_and_says_why_it_cannot_go_on() -> None:
    def short(T: Any) -> Iterator[Any]:
        for _, each in zip(range(2), bowl(T), strict=False):
            yield each

    def broken(T: Any) -> Iterator[Any]:
        w = T.tensor(2.0, requires_grad=True)
        loss = w * w
        while True:
            loss.backward()
            yield loss, {"w": w}

    assert train(short).runs[0].ended == "the program ends after 2 steps"
    ended = train(broken).runs[0].ended
    assert ended.startswith("step 1 raises RuntimeError: Trying to backward through the graph a second time")
    assert 'viz.mistake("second backward")' in ended


def yields(make: Any) -> Any:
    """A program that yields once what is made of the engine."""

    def program(T: Any) -> Iterator[Any]:
        yield make(T)

    return program


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        ("w = 1", TypeError, "train needs a function that takes the engine, not str: write `def program"),
        (lambda T: None, TypeError, "the program yields nothing, it returns NoneType: write"),
        ((lambda T: (_ for _ in ())), ValueError, "the program ends before its first yield: write"),
        (yields(lambda T: T.tensor(1.0)), TypeError, r"the program yields Tensor, not \(loss, parameters\): write"),
        (
            yields(lambda T: (T.ones(2), {"w": T.ones(2, requires_grad=True)})),
            ValueError,
            r"the loss should be one number, but it has shape \[2\]: sum or average it",
        ),
        (
            yields(lambda T: (T.tensor(1.0), {"w": T.ones(1)})),
            ValueError,
            "parameter 'w' does not require grad, so there is no gradient to show",
        ),
        (
            yields(lambda T: (T.tensor(1.0), {"w": 3.0})),
            TypeError,
            "parameter 'w' is float, not a tensor of tinygrad_edu",
        ),
    ],
)
def test_bad_input_is_answered_by_a_sentence(program: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        train(program)
    with pytest.raises(TypeError, match="takes no argument 'momentum'; its settings are lr, zero_grad"):
        train(bowl, beside=[{"momentum": 0.9}])


def test_a_terminal_gets_the_last_step_and_otherwise_nothing_is_printed(capsys: Any) -> None:
    training = train(bowl, beside=[{"lr": 1.0}], progress=True)
    assert capsys.readouterr() == ("", "")
    assert training.sentence(training.runs[0], 1) == "Step 1: loss = 1. w = 1, w.grad = 2."
    assert repr(training).splitlines()[1] == "lr=1.0: Step 4: loss = 4. w = 2, w.grad = 4."


@pytest.mark.parametrize("steps", [200, 300], ids=["infinite", "nan"])
def test_a_run_that_goes_astray_leaves_its_panel_and_says_so_without_a_nan_in_the_picture(steps: int) -> None:
    training = train(bowl, steps=steps, beside=[{"lr": 40.0}])
    loss = training.runs[1].steps[-1].loss
    assert loss != loss or loss > 1e30
    assert "The steps were too large" in training.sentence(training.runs[1], steps - 1)
    drawn = picture(training, training.surface()).partition("</style>")[2]  # before it, it is told in words
    assert "data-step" in drawn and "nan" not in drawn and "inf" not in drawn
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert max(map(len, labels)) < 40  # no number with forty digits stands at an axis


def test_no_step_at_all_is_a_picture_with_empty_axes() -> None:
    training = train(bowl, steps=0)
    assert picture(training, training.surface()).startswith("<svg")
    assert TrainingView(training).state["runs"][0]["sentences"] == []


def test_the_widget_takes_more_steps_runs_beside_and_tells_what_it_refuses() -> None:
    # A thread of its own has no event loop, like a script: what is asked for is done at once. (In a kernel it can be
    # stopped; the browser tests see that, and leave a loop running in this process.)
    with ThreadPoolExecutor(1) as thread:
        view = thread.submit(TrainingView, train(bowl)).result()
        thread.submit(view.set_trait, "asked", {"steps": 2, "seq": "1"}).result()
        assert len(view.state["runs"][0]["sentences"]) == 7
        thread.submit(view.set_trait, "asked", {"settings": {"lr": 0.5, "zero_grad": True}, "seq": "2"}).result()
    assert [run["label"] for run in view.state["runs"]] == ["as written", "lr=0.5"]
    assert view.run == 1
    assert view.state["svg"].startswith("<svg")


@pytest.mark.outer
def test_two_thousand_steps_of_ten_parameters_stay_small_on_the_page() -> None:
    def many(T: Any) -> Iterator[Any]:
        weights = [T.tensor([1.0 + k, 2.0], requires_grad=True) for k in range(10)]
        optimizer = T.optim.SGD(weights, lr=0.001)
        while True:
            optimizer.zero_grad()
            loss = sum((w * w).sum() for w in weights)
            loss.backward()
            yield loss, {f"w{k}": w for k, w in enumerate(weights)}
            optimizer.step()

    view = TrainingView(train(many, steps=2000))
    assert len(json.dumps(view.state)) < 1_500_000
    (run,) = view.state["runs"]
    assert len(run["at"]) <= STOPS + 1 and (run["at"][0], run["at"][-1]) == (0, 1999)
    assert run["sentences"][-1].startswith("Step 1999: loss = ")


def test_the_size_of_a_large_parameter_is_kept_and_not_the_numbers() -> None:
    def large(T: Any) -> Iterator[Any]:
        w = T.ones(300, 400, requires_grad=True)
        while True:
            w.grad = None
            (w * w).sum().backward()
            yield lambda: (w * w).sum(), {"w": w}

    training = train(large, steps=50)
    step = training.runs[0].steps[-1]
    assert step.norms["w"] == pytest.approx(math.sqrt(120_000)) and step.values == {}
    assert training.sentence(training.runs[0], 49) == "Step 49: loss = 120000. w: norm 346.4102, of its grad 692.8203."
    assert training.surface() is None


@pytest.mark.outer
def test_closing_frees_the_runs() -> None:
    training = train(bowl)
    view, freed = TrainingView(training), weakref.ref(training)
    view.close()
    del training, view
    gc.collect()
    assert freed() is None


def test_a_run_that_cannot_begin_is_none() -> None:
    def fussy(T: Any, lr: float = 0.25) -> Iterator[Any]:
        if lr > 1:
            raise ValueError("lr is too large")
        yield from bowl(T, lr)

    training = train(fussy)
    with pytest.raises(ValueError, match="lr is too large"):
        training.add(lr=2.0)
    assert [run.label for run in training.runs] == ["as written"]


def test_a_second_interrupt_does_not_wait_for_an_endless_step() -> None:
    def endless(T: Any) -> Iterator[Any]:
        for step, yielded in enumerate(bowl(T)):
            while step == 2:
                os.kill(os.getpid(), signal.SIGINT)
            yield yielded

    training = viz.train(endless, steps=2, progress=False)
    with pytest.raises(KeyboardInterrupt):
        training.run(3)
    assert training.runs[0].ended == "it was interrupted during step 2"
    assert repr(training).endswith("Here it ends: it was interrupted during step 2.")


def test_any_number_of_interrupts_between_two_steps_end_the_run_and_nothing_else() -> None:
    training = train(bowl, steps=1)
    slices = training.slices(5, lambda: 0.0)
    assert next(slices) == (1, 5)
    for _ in range(3):
        signal.raise_signal(signal.SIGINT)
    assert list(slices) == []
    assert len(training.runs[0].steps) == 2 and not training.runs[0].ended
