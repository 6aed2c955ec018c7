"""`viz.watch`: what is seen of a training that is already written, and that nothing of it changes."""

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from support.training_loops import LOOPS, STEPS

import tinygrad_edu
import viz
from viz.monitor.history import gathered
from viz.monitor.picture import COLUMNS, drawn, maps_of, numbers_of

ENGINES = {"torch": torch, "tinygrad_edu": tinygrad_edu}
KINDS = {"plain": 3, "lightning": 3, "transformers": 4, "gan": 4, "recurrent": 3}  # rows with a gradient; others: 2
unwatched = contextlib.nullcontext


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    """Small networks lose more by threads than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def watched(name: str, **options: Any) -> viz.Watch:
    """The watch around a loop of PyTorch, which has run."""
    seen: list[viz.Watch] = []
    LOOPS[name](torch, lambda model: seen.append(viz.watch(model, **options)) or seen[0])
    return seen[0]


def trained(model: Any, lr: float = 0.1, steps: int = 3, x: Any = None, loss: Any = None, **options: Any) -> viz.Watch:
    """The watch around a plain loop over a model of PyTorch, which has run."""
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=lr)
    with viz.watch(model, every=1, **options) as w:
        for step in range(steps):
            optimizer.zero_grad()
            out = model(torch.ones(4, 2) if x is None else x())
            (out.square().mean() if loss is None else loss(out, step)).backward()
            optimizer.step()
    return w


@pytest.mark.outer
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LOOPS)
def test_a_watched_training_has_the_same_losses_and_random_numbers_to_the_last_bit(name: str, engine: str) -> None:
    T = ENGINES[engine]
    expected, after = LOOPS[name](T, unwatched), T.rand(3).tolist()
    seen: list[viz.Watch] = []

    def around(model: Any) -> viz.Watch:
        seen.append(viz.watch(model, every=4))
        return seen[0]

    assert LOOPS[name](T, around) == expected and T.rand(3).tolist() == after
    w = seen[0]
    assert w.notes == [] and w.steps == STEPS
    assert [column.step for column in w.columns] == [1, *range(4, STEPS + 1, 4)]
    for column in w.columns:
        gradients = [one for one in column.values["gradient"] if one is not None]
        updates = [one for one in column.values["update"] if one is not None]
        assert len(gradients) >= KINDS.get(name, 2) and all(one > 0 for one in gradients)
        assert len(updates) == len(gradients) and all(0 < one < 1 for one in updates[:-1])
        assert any(one is not None for one in column.values["activation"])
        assert column.losses and all(map(math.isfinite, column.losses.values()))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_numbers_are_those_of_the_training(engine: str) -> None:
    T = ENGINES[engine]
    T.manual_seed(0)
    model = T.nn.Sequential(T.nn.Linear(3, 5), T.nn.ReLU(), T.nn.Linear(5, 2), T.nn.Tanh())
    optimizer = T.optim.SGD(model.parameters(), lr=0.5)
    x = T.randn(7, 3)
    with T.no_grad():
        model[0].bias[1] = -100.0  # this unit is dead
    with viz.watch(model, every=1) as w:
        before = [p.detach().clone() for p in model.parameters()]
        hidden = model[1](model[0](x)).detach().numpy()
        out = model[0](x).detach().numpy()
        result = model(x)
        loss = (result * 30).square().sum()
        loss.backward()
        gradients = [p.grad.numpy().copy() for p in model.parameters()]
        optimizer.step()
    after = [p.detach() for p in model.parameters()]
    (column,) = w.columns
    size = lambda arrays: math.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for a in arrays))  # noqa: E731
    assert column.losses == {0: pytest.approx(loss.item())}
    assert column.values["gradient"] == [pytest.approx(size(gradients[i : i + 2]), rel=1e-5) for i in (0, 2)]
    moved = [(now - old).numpy() for now, old in zip(after, before, strict=True)]
    first = size(moved[:2]) / size([one.numpy() for one in before[:2]])
    assert column.values["update"][0] == pytest.approx(first, rel=1e-5)
    assert column.values["activation"][0] == pytest.approx(float(np.abs(out).mean()), rel=1e-5)
    assert column.values["mean"][0] == pytest.approx(float(out.mean()), rel=1e-5)
    assert column.values["dead"][0] == pytest.approx(float((hidden == 0).all(axis=0).mean()))
    assert (hidden[:, 1] == 0).all()
    assert column.values["saturated"][1] == pytest.approx(float((np.abs(result.detach().numpy()) > 0.995).mean()))


def test_functional_activations_are_seen_through_pooling_dropout_and_views() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.fc = torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(36, 2)

        def forward(self, x: Any) -> Any:
            F = torch.nn.functional
            x = F.dropout(F.max_pool2d(torch.relu(self.conv(x)), 2), 0.5)
            return self.fc(x.flatten(1))

    model = Net()
    with torch.no_grad():
        model.conv.bias[:3] = -100.0
    w = trained(model, lr=0.0, x=lambda: torch.randn(5, 1, 8, 8))
    assert [column.values["dead"][0] for column in w.columns] == [0.75] * 3
    (trouble,) = [one for one in w.report().troubles if one.kind == "dead-units"]
    assert trouble.layers == ("conv",) and "75%" in trouble.sentence


def test_an_evaluation_is_left_out() -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with viz.watch(model, every=1) as w:
        model(torch.ones(3, 2)).sum().backward()
        with torch.no_grad():
            model(torch.full((3, 2), 1e6))
        optimizer.step()
    assert w.columns[0].values["activation"][0] < 10


def test_two_optimizers_share_the_steps_and_have_a_loss_each() -> None:
    w = watched("gan", every=6)
    assert w.optimizers == ["D", "G"] and w.layers == ["G.0", "G.2", "D.0", "D.2"]
    assert all(set(column.losses) == {0, 1} for column in w.columns)


def hooks() -> list[Any]:
    module, optimizer = torch.nn.modules.module, __import__("torch.optim.optimizer", fromlist=["x"])
    of_ours = tinygrad_edu.nn.hooks.everywhere, tinygrad_edu.optim.optimizer._after_each_step
    of_torch = (module._global_forward_hooks, optimizer._global_optimizer_pre_hooks)
    of_torch += (optimizer._global_optimizer_post_hooks,)
    passes = [each for T in (torch, tinygrad_edu) for each in (T.Tensor.backward, T.autograd.backward)]
    return [*passes, *map(list, of_torch + of_ours)]


@pytest.mark.parametrize("engine", ENGINES)
def test_everything_is_taken_off_at_the_end_and_after_an_error(engine: str) -> None:
    T = ENGINES[engine]
    model = T.nn.Sequential(T.nn.Linear(2, 2))
    before, state = hooks(), {key: repr(one) for key, one in vars(model[0]).items() if "hooks" in key}
    w = viz.watch(model, every=1)
    with pytest.raises(ZeroDivisionError), w:
        assert hooks() != before
        assert {key: repr(one) for key, one in vars(model[0]).items() if "hooks" in key} == state
        model(T.ones(1, 2)).sum().backward()
        raise ZeroDivisionError("by zero")
    assert hooks() == before and not w.running
    assert w.ended == "ZeroDivisionError after step 0: by zero" and "ended with ZeroDivisionError" in repr(w.report())


def test_watches_may_be_nested_end_in_any_order_and_one_may_go_on_but_not_twice_at_once() -> None:
    model, before = torch.nn.Linear(2, 1), hooks()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    outer, inner, other = (viz.watch(model, every=1) for _ in range(3))
    with outer:
        step()
        with inner:
            step()
        other.__enter__()
        step()
        with pytest.raises(RuntimeError, match="runs already"), outer:
            pass
    model(torch.ones(1, 2)).sum().backward()
    other.__exit__(None, None, None)
    assert (outer.steps, inner.steps, other.steps) == (3, 1, 1) and hooks() == before
    with outer:
        step()
    assert outer.steps == 4 and outer.columns[-1].step == 4


@pytest.mark.outer
def test_a_compiled_model_is_watched_without_activations_and_says_so() -> None:
    plain = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    w = trained(torch.compile(plain, backend="eager"), steps=2, loss=lambda out, _: out.sum())
    assert w.layers == ["0", "2"] and w.columns[-1].values["gradient"][1] > 0
    assert w.columns[-1].values["activation"] == []
    assert len(w.notes) == 1 and w.notes[0].startswith("The model is compiled")


def test_trouble_is_named_in_words_with_its_layer_and_step() -> None:
    torch.manual_seed(0)
    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(8, 8), torch.nn.Sigmoid())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(8, 2))
    classes = lambda out, _: torch.nn.functional.cross_entropy(out, torch.randint(0, 2, (16,)))  # noqa: E731
    report = trained(model, steps=6, x=lambda: torch.randn(16, 8), loss=classes).report()
    kinds = {one.kind: one for one in report.troubles}
    assert "vanishing-gradient" in kinds and kinds["vanishing-gradient"].layers == ("0",)
    assert "slow-updates" in kinds and "0" in kinds["slow-updates"].layers
    assert "viz.diagnose" not in repr(report) and ".diagnose(step)" in repr(report)

    w = trained(torch.nn.Linear(2, 1), lr=1e30)
    (trouble,) = [one for one in w.report().troubles if one.kind == "not-finite"]
    assert "step 2" in trouble.sentence or "step 3" in trouble.sentence
    assert "nan, inf" in drawn(w)

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    w = trained(model)
    assert w.columns[-1].values["gradient"][0] is None and w.columns[-1].values["gradient"][1] > 0
    assert not any("0" in one.layers for one in w.report().troubles), "a frozen layer is no trouble"


def test_a_detached_layer_is_named_and_diagnose_finds_its_line() -> None:
    model = torch.nn.ModuleDict({"body": torch.nn.Linear(2, 4), "head": torch.nn.Linear(4, 1)})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        hidden = model["body"](torch.ones(4, 2)).detach()
        model["head"](hidden).square().mean().backward()
        optimizer.step()

    with viz.watch(model, every=1) as w:
        step()
        step()
    (trouble,) = [one for one in w.report().troubles if one.kind == "no-gradient"]
    assert trouble.layers == ("body",)
    found = w.report().diagnose(step).findings[0]
    assert found.kind == "detach" and found.line is not None


def test_a_loop_that_trains_another_model_is_told() -> None:
    model, other = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    with viz.watch(model) as w:
        other(torch.ones(1, 1)).sum().backward()
        optimizer.step()
    assert "No step moved a parameter of Linear" in repr(w.report()) and "no step yet" in drawn(w)


def test_a_failure_of_the_watch_never_ends_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from viz.monitor.activations import Activations

    monkeypatch.setattr(Activations, "called", lambda *_: 1 / 0)
    before, seen = hooks(), []
    losses = LOOPS["plain"](torch, lambda model: seen.append(viz.watch(model)) or seen[0])
    assert losses == LOOPS["plain"](torch, unwatched) and hooks() == before
    assert "Watching ended at step 0: ZeroDivisionError" in repr(seen[0].report())


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (lambda: viz.watch(3), TypeError, "takes the model"),
        (lambda: viz.watch([]), TypeError, "got none"),
        (lambda: viz.watch(torch.nn.Linear(1, 1), every=0), ValueError, "whole number from 1"),
        (lambda: viz.watch(torch.nn.ReLU()), ValueError, "no parameters"),
        (lambda: viz.watch([torch.nn.Linear(1, 1), tinygrad_edu.nn.Linear(1, 1)]), ValueError, "one engine"),
    ],
)
def test_bad_arguments_say_what_to_do(given: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        given()


def test_the_page_is_whole_and_asks_no_network(tmp_path: Any) -> None:
    w = watched("plain", every=1)
    text = w.save(tmp_path / "run.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)|@import|fetch\(|https?://(?!www\.w3\.org)""", text)
    state = json.loads(re.search(r'id="state">(.*?)</script>', text, re.DOTALL)[1])
    assert state["numbers"]["layers"] == ["0", "3", "5"] and len(state["numbers"]["steps"]) == STEPS
    assert (tmp_path / "run.html").stat().st_size < 200_000
    with pytest.raises(ValueError, match="html"):
        w.save(tmp_path / "run.gif")


def test_many_steps_share_columns_and_keep_their_worst_number_infinity_before_all() -> None:
    spike = lambda out, step: (out * (50.0 if step == 70 else 1.0)).sum()  # noqa: E731
    w = trained(torch.nn.Linear(1, 1), lr=0.0, steps=2 * COLUMNS + 1, x=lambda: torch.ones(1, 1), loss=spike)
    told: Any = numbers_of(w, maps_of(w))
    assert len(told["steps"]) <= COLUMNS
    place = next(at for at, (first, last) in enumerate(told["steps"]) if first <= 71 <= last)
    assert told["values"]["gradient"][place][0] == pytest.approx(50 * math.sqrt(2), rel=1e-2)
    numbers = np.array([[1.0, 3.0, 2.0, math.nan, math.nan], [math.nan, 1.0, math.inf, 5.0, 4.0]])
    expected = [[3.0, 2.0, math.nan], [1.0, math.inf, 4.0]]
    np.testing.assert_array_equal(gathered(numbers, 3), expected)
    assert gathered(np.empty((2, 0)), 3).shape == (2, 0)


def test_a_terminal_gets_one_line_that_is_written_anew(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("viz.monitor.watch.EVERY_OTHER", 0.0)
    LOOPS["by hand"](torch, lambda model: viz.watch(model, every=6))
    written = capsys.readouterr().err
    assert written.count("\n") == 1 and written.endswith("\n") and "Step 24: loss 0." in written
    LOOPS["by hand"](torch, lambda model: viz.watch(model, progress=False))
    assert capsys.readouterr().err == ""


def test_a_lazy_layer_is_watched_from_its_first_step(T):
    model = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.LazyLinear(2))
    model.never = T.nn.LazyLinear(2)
    model.forward = lambda x: model[1](model[0](x))
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    with viz.watch(model, every=1, progress=False) as watched:
        for _ in range(2):
            model(T.ones(8, 4)).sum().backward()
            optimizer.step()
    assert (watched.layers, watched.notes, watched.steps) == (["0", "1", "never"], [], 2)
    assert len(watched.columns[0].values["update"]) == 2
