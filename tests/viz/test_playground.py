"""The playground: it runs the program that it shows, on both engines alike; its pictures say what the network does."""

import base64
import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tinygrad_edu
import viz
from viz.engines import NAMES
from viz.experiments import plane
from viz.experiments.playground import DATA, GRID, KEPT, STEPS, Learner, points_of, setting_of

SETTINGS: list[dict[str, Any]] = [{}, {"layers": 0, "batch": 8, "weight_decay": 0.1}]
SETTINGS += [{"layers": 1, "width": 3, "activation": "none", "init": "xavier", "optimizer": "momentum", "lr": 0.03}]
SETTINGS += [{"layers": 3, "activation": "relu", "init": "he", "optimizer": "Adam", "lr": 0.01, "batch": 32}]
SETTINGS += [{"layers": 6, "width": 4, "activation": "sigmoid", "init": "small", "seed": 7}]
SETTINGS += [{"layers": 5, "norm": "layer", "residual": True, "lr": 0.1, "zero_grad": False}]
SETTINGS += [{"layers": 3, "norm": "batch", "activation": "relu", "batch": 32, "optimizer": "Adam", "lr": 0.003}]
SETTINGS += [{"init": "zeros"}, {"init": "large", "lr": 0.01}]
SETTINGS += [{"features": "x2 x1 x1*x2 sin(x1)", "noise": 0.1, "test": 0.25, "l1": 0.001}]


def learned(steps: int, data: str = "circles", **settings: Any) -> Learner:
    learner = Learner(setting_of(settings), data)
    for _ in range(steps):
        learner.step()
    return learner


# --- the program ---


@pytest.mark.outer
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_both_engines_have_the_same_losses_and_gradients(settings: dict[str, Any]) -> None:
    ours, theirs = (learned(20, "moons", engine=name, **settings) for name in NAMES)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(np.array(ours.sizes[0]), np.array(theirs.sizes[0]), rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("data", DATA)
def test_the_shown_program_run_as_a_script_takes_the_same_steps(engine: str, data: str) -> None:
    learner = learned(5, data, engine=engine, batch=8, residual=True, layers=2)
    script = learner.text.replace(f"range({STEPS})", "range(5)")
    script = script.replace("optimizer.step()", "optimizer.step(); losses.append(loss.item())")
    names: dict[str, Any] = {"losses": []}
    exec(script, names)
    assert names["losses"] == learner.losses


def test_the_users_own_random_numbers_and_dtype_are_left_alone() -> None:
    tinygrad_edu.manual_seed(3)
    wanted = [tinygrad_edu.rand(()).item() for _ in range(2)]
    tinygrad_edu.manual_seed(3)
    found = [tinygrad_edu.rand(()).item()]
    learned(2, batch=8)
    assert [*found, tinygrad_edu.rand(()).item()] == wanted


GIVEN_ROWS = [({"lr": 0}, "larger than 0 and finite, not 0. With a rate of 0 no parameter moves")]
GIVEN_ROWS += [({"lr": "nan"}, "larger than 0 and finite, not nan"), ({"lr": "fast"}, "must be a number, not 'fast'")]
GIVEN_ROWS += [({"lr": -1}, "not −1"), ({"layers": 21}, "a whole number from 0 to 20, not 21")]
GIVEN_ROWS += [({"width": 2.5}, "a whole number from 1 to 64, not 2.5"), ({"weight_decay": float("inf")}, "not inf")]
GIVEN_ROWS += [({"activation": "swish"}, "activation is one of tanh, relu, sigmoid, none, not 'swish'")]
GIVEN_ROWS += [({"features": "x3"}, "at least one of x1, x2, x1^2"), ({"features": ""}, "at least one of")]
GIVEN_ROWS += [({"noise": 2}, "from 0 to 0.5"), ({"test": -0.1}, "from 0 to 0.8")]
GIVEN_ROWS += [({"l1": "much"}, "must be a number")]


@pytest.mark.parametrize(("given", "words"), GIVEN_ROWS)
def test_a_setting_that_cannot_be_is_refused_with_a_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        setting_of(given)


def test_unknown_settings_are_named() -> None:
    with pytest.raises(TypeError, match="there is no setting 'depth'; the settings are engine, layers"):
        viz.playground(depth=3)
    with pytest.raises(ValueError, match="data is one of circles"):
        viz.playground("cubes")


def test_custom_points_are_checked() -> None:
    assert points_of([[0.5, -0.25, 1]]) == ((0.5, -0.25, 1),)
    for wrong in ([(0.5, 1)], [(2, 0, 1)], [(0, 0, 2)], [("a", 0, 1)], [(0, 0, 0)] * 301):
        with pytest.raises(ValueError, match=r"point|x and y"):
            points_of(wrong)
    with pytest.raises(ValueError, match="There are no points"):
        Learner(setting_of({}), "own", ())


# --- a run ---


@pytest.mark.outer
@pytest.mark.parametrize("data", [name for name in DATA if name != "spiral"])
def test_every_data_set_can_be_learned(data: str) -> None:
    assert learned(150, data, optimizer="Adam", lr=0.05).right(150) > 0.9


@pytest.mark.outer
def test_the_states_that_are_kept_are_few_and_spread_over_the_run() -> None:
    learner = learned(2 * KEPT + 31, width=2)
    assert len(learner.kept) <= KEPT
    assert learner.kept[0] == 0
    assert learner.kept[-1] == learner.taken
    assert max(late - early for early, late in pairwise(learner.kept)) <= 4
    assert learner.right(0) == learned(0, width=2).right(0)


@pytest.mark.parametrize("engine", NAMES)
def test_a_recorded_step_is_the_step_that_was_taken(engine: str) -> None:
    learner = learned(7, engine=engine, batch=8, optimizer="Adam", lr=0.03, zero_grad=False)
    recording = learner.recording(5)
    assert recording.error is None
    assert recording.tensors["loss"]["value"]["data"] == pytest.approx(learner.losses[4], rel=1e-6)
    assert learner.taken == 7
    with pytest.raises(IndexError, match="step 8 has not run yet"):
        learner.recording(8)


def test_gradients_vanish_through_sigmoids_and_normalisation_or_residuals_keep_them() -> None:
    def share(**more: Any) -> float:
        sizes = learned(1, layers=10, lr=0.01, activation="sigmoid", **more).sizes[0]
        return sizes[0] / sizes[-1]

    assert share() < 1e-6
    assert min(share(norm="layer"), share(residual=True)) > 100 * share()
    inside = learned(1, layers=4, width=5, residual=True).inside(1)  # what leaves each block
    assert [one.shape for one in inside.maps] == [(5, GRID // 2, GRID // 2)] * 4 and len(inside.weights) == 5


# --- pictures ---


def test_the_line_between_the_classes_is_where_the_scores_are_equal() -> None:
    across, up = np.meshgrid(np.arange(GRID, dtype=float), np.arange(GRID, dtype=float))
    (straight,) = plane.contour(across - 20.25)
    assert {x for x, _ in straight} == {20.25}
    assert len(straight) == GRID
    (round_one,) = plane.contour(np.hypot(across - 23, up - 23) - 10)
    assert round_one[0] == round_one[-1]
    assert all(math.hypot(x - 23, y - 23) == pytest.approx(10, abs=0.1) for x, y in round_one)
    assert plane.contour(np.full((GRID, GRID), np.nan)) == []


def test_every_pattern_of_a_field_gives_lines_that_end_at_the_edge_or_where_they_began() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        for line in plane.contour(rng.normal(size=(6, 6))):
            ends = {line[0], line[-1]}
            assert len(ends) == 1 or all({x, y} & {0.0, 5.0} for x, y in ends)


def test_the_still_shows_both_runs_and_the_points() -> None:
    shown = viz.playground("xor", beside={"engine": "torch", "layers": 3}, steps=3)
    html, text = shown._still()["text/html"], shown._still()["text/plain"]
    svg = base64.b64decode(html.split("base64,")[1].split('"')[0]).decode()
    assert svg.count('class="point ') == 200
    assert 'class="path run0"' in svg and 'class="path run1"' in svg and "data:image/png" in svg
    assert "after 3 steps" in text and "A: loss" in text and "B: loss" in text


# --- what the page asks ---


def ask(shown: Any, **what: Any) -> dict[str, Any]:
    """Ask as the page does, with all settings, and give the answer."""
    task = {name: shown.task[name] for name in ("data", "points", "settings")}
    shown.asked = {**task, "seq": len(str(shown.asked)), **what}
    return shown.frame


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    # The page asks again when an answer's time is up; on a busy machine that is before the first steps are taken.
    monkeypatch.setattr("viz.widgets.playground.SLICE", float("inf"))
    return viz.playground("line", layers=1, width=4)


def test_steps_are_taken_and_a_change_begins_anew(shown: Any) -> None:
    assert ask(shown, steps=3)["taken"] == 3
    code = shown.task["code"][0]
    frame = ask(shown, settings=[{**shown.task["settings"][0], "lr": 0.5}, None], steps=2)
    assert frame["taken"] == 2
    assert shown.task["code"][0] == code.replace("lr=1)", "lr=0.5)")
    assert ask(shown, begin=True)["taken"] == 0


def test_one_answer_brings_several_pictures_and_the_same_training(shown: Any) -> None:
    frame = ask(shown, steps=2, frames=4)
    assert [one["at"] for one in frame["before"]] == [2, 4, 6] and frame["at"] == 8
    assert frame["before"][0]["network"]["maps"] != frame["network"]["maps"]
    losses = shown.learners[0].losses
    ask(shown, begin=True, steps=8)
    assert shown.learners[0].losses == losses and shown.frame["before"] == []
    assert shown.frame["network"] == frame["network"]


def test_both_settings_take_the_same_steps(shown: Any) -> None:
    first = shown.task["settings"][0]
    ask(shown, settings=[first, {**first, "engine": "torch"}], looked=1, steps=4)
    assert [learner.taken for learner in shown.learners] == [4, 4]
    assert len(shown.frame["sentences"]) == 2


@pytest.mark.parametrize("engine", NAMES)
def test_a_run_whose_loss_is_no_number_ends_says_why_and_stops_the_page(shown: Any, engine: str) -> None:
    wild = [{**shown.task["settings"][0], "engine": engine, "activation": "none", "lr": 1e30}, None]
    for _ in range(10):
        frame = ask(shown, settings=wild, steps=25)
    learner = shown.learners[0]
    assert not math.isfinite(learner.losses[-1])
    assert f"At step {learner.taken} the loss is" in learner.ended
    assert "rate of 1e+30 is too large" in learner.ended
    assert frame["over"]
    assert "too large here" in frame["sentences"][0]
    assert frame["heat"] is None
    assert ">nan</text>" in frame["charts"] or ">inf</text>" in frame["charts"]


def test_impossible_settings_are_reported_and_nothing_is_lost(shown: Any) -> None:
    ask(shown, steps=3)
    settings = shown.task["settings"]
    frame = ask(shown, settings=[{**settings[0], "lr": 0}, None], steps=1)
    assert "larger than 0" in frame["said"]
    assert frame["taken"] == 3
    assert "There are no points" in ask(shown, data="own", points=[])["said"]
    assert ask(shown, settings=settings, steps=1)["taken"] == 4


def test_an_earlier_step_can_be_looked_at_and_opened(shown: Any) -> None:
    ask(shown, steps=6)
    frame = ask(shown, at=2, open=0)
    assert frame["at"] == 2 and not frame["present"] and frame["taken"] == 6
    assert shown.scene["title"] == "Step 2: one pass of the loop"
    assert ask(shown, at=-1)["present"]


def test_the_layers_of_an_opened_step_are_in_sight_at_once() -> None:
    deep = viz.playground("circles", layers=8)
    ask(deep, steps=1, open=0)
    shown = deep.scene["views"]["modules"]
    assert (shown["svg"].count(">Tanh<"), shown["network"]["open"]) == (8, ["root", "u1"])


# --- inside: neurons, weights, gradients ---


@pytest.mark.parametrize("engine", NAMES)
def test_the_neurons_weights_and_gradients_are_those_of_the_program(engine: str) -> None:
    settings = {"features": "x1 x1*x2", "layers": 2, "width": 3, "norm": "layer", "optimizer": "Adam", "lr": 0.01}
    learner = learned(3, engine=engine, **settings)
    script = learner.text.replace(f"range({STEPS})", "range(3)")
    names: dict[str, Any] = {}
    exec(script, names)
    inside, T = learner.inside(3), names["T"]
    across = (np.arange(GRID) + 0.5) / GRID * 2 * 1.25 - 1.25
    places = np.stack(np.meshgrid(across, -across), axis=-1).reshape(-1, 2)
    with T.no_grad():
        given = names["features"](T.tensor(places, dtype=T.float32))
        second = names["model"][:6](given).numpy()[:, 1].reshape(GRID, GRID)[::2, ::2]
        scores = names["model"](given).numpy()
    np.testing.assert_allclose(inside.maps[1][1], second, atol=1e-6)
    np.testing.assert_allclose(inside.field, (scores[:, 1] - scores[:, 0]).reshape(GRID, GRID), atol=1e-5)
    linear = [one for one in names["model"] if type(one).__name__ == "Linear"]
    np.testing.assert_allclose(inside.weights[1], linear[1].weight.detach().numpy(), atol=1e-7)
    np.testing.assert_allclose(inside.gradients[0], linear[0].weight.grad.numpy(), atol=1e-7)
    last = linear[2].weight.grad.numpy()
    np.testing.assert_allclose(inside.gradients[2], (last[1:] - last[:1]) / 2, atol=1e-7)


def test_the_test_loss_is_that_of_the_points_that_were_kept() -> None:
    learner = learned(4, "moons", test=0.3, features="x1 x2 x2^2")
    tested, trained = learner.everything(test=True), learner.everything()
    assert (len(tested), len(trained)) == (60, 140) and not set(tested) & set(trained)
    assert set(tested) | set(trained) == set(learned(0, "moons").everything())
    margins = learner.margins(4, np.array([point[:2] for point in tested]))
    labels = np.array([point[2] for point in tested])
    expected = float(np.mean(np.log1p(np.exp(-margins * (2 * labels - 1)))))
    assert learner.test_losses[-1] == pytest.approx(expected, rel=1e-4)


def test_numbers_are_learned_by_regression() -> None:
    learner = learned(1, "slope")
    assert learner.numbers and learner.losses[0] != learned(1, "line").losses[0] and "MSELoss" in learner.text
    assert 0 <= learner.right(0) < learned(100, "slope", optimizer="Adam", lr=0.03).right(100)


def test_the_call_makes_the_same_playground_again() -> None:
    settings = {"layers": 1, "features": "x1 x1*x2", "beside": {"lr": 0.5}, "steps": 3}
    made = viz.playground("own", points=[(0.5, 0.5, 1), (-0.5, 0.1, 0)], **settings)
    again = eval(made.call(), {"viz": viz})
    assert again.call() == made.call()
    assert [one.losses for one in again.learners] == [one.losses for one in made.learners]
    assert viz.playground().call() == "viz.playground('circles')"
