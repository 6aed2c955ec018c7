"""The contents of folds travel with the scene: everything can be reached, and is patched as if it were unfolded."""

import base64
import gzip
import json
import xml.etree.ElementTree as ET

import pytest
import torch

import viz
from viz.frames.director import VIEWS, Director
from viz.picture.fold import fold, inside

pytestmark = pytest.mark.outer
LONG = "w = T.tensor(1.0, requires_grad=True)\ny = w\nfor i in range(300):\n"
LONG += "    y = y * 1.001 if i % 2 else y + w\ny.backward()"


@pytest.fixture(scope="module", params=viz.engines.NAMES)
def recording(request):
    return viz.record(LONG, engine=request.param)


@pytest.fixture(scope="module")
def scene(recording):
    return recording.scene()


def unpacked(fold_):
    return json.loads(gzip.decompress(base64.b64decode(fold_["packed"])))


def keys_in(svg, identity):
    found = {element.get("id") for element in ET.fromstring(svg).iter()} - {None}
    return {one.removeprefix(f"{identity}-") for one in found}


@pytest.mark.parametrize("view", VIEWS)
def test_every_op_is_drawn_in_the_picture_or_inside_a_fold_that_opens_from_it(recording, scene, view):
    picture = scene["views"][view]
    seen = keys_in(picture["svg"], picture["id"])
    open_to = {None: seen}
    for key, one in picture["folds"].items():
        assert key in open_to[one["parent"]]
        open_to[key] = keys_in(unpacked(one)["svg"], picture["id"])
        seen |= open_to[key]
    assert recording.graph.ops.keys() <= seen
    assert {key for key in seen if key.startswith("f") and "-" not in key} == picture["folds"].keys()


@pytest.mark.parametrize("view", VIEWS)
def test_inside_a_fold_elements_end_as_they_would_without_one(recording, scene, view):
    flat = last_states(Director(recording).stages[view].patches)
    picture, checked = scene["views"][view], 0
    for one in picture["folds"].values():
        inside = unpacked(one)
        drawn = keys_in(inside["svg"], picture["id"])
        patches = [{**patch, **inside["patches"].get(str(step), {})} for step, patch in enumerate(picture["patches"])]
        found = last_states(patches)
        for key in drawn & flat.keys():
            shown = {slot: text for slot, text in flat[key].items() if slot == "class" or f"{key}-{slot}" in drawn}
            assert found[key] == shown
            checked += 1
    assert checked > 600


def last_states(patches):
    states = {}
    for patch in patches:
        for key, change in patch.items():
            state = states.setdefault(key, {})
            state.update(change.get("text", {}))
            if "class" in change:
                state["class"] = change["class"]
    return states


def test_details_name_a_fold_count_its_ops_and_say_that_it_opens(scene):
    (top,) = [key for key, one in scene["views"]["values"]["folds"].items() if one["parent"] is None]
    about = dict(scene["details"][top])
    assert "×" in about["folded"]
    assert int(about["ops"]) > 250
    assert about["inside"] == "a click or Enter opens it"


def test_what_does_not_fit_stays_closed_and_says_so(recording, monkeypatch):
    monkeypatch.setattr("viz.frames.scene.CHARACTERS", 0)
    monkeypatch.setattr("viz.frames.scene.LEAST_CHARACTERS", 60_000)
    scene = recording.scene()
    folds = scene["views"]["values"]["folds"]
    assert 0 < len(folds) < 10
    assert sum(len(one["packed"]) for one in folds.values()) < 60_000
    assert all(one["parent"] is None or one["parent"] in folds for one in folds.values())
    closed = [dict(rows)["inside"] for rows in scene["details"].values() if rows[0][0] == "folded"]
    assert "too large to include" in closed


@pytest.mark.parametrize("count", [200, 2_000, 20_000])
def test_opening_a_fold_always_leads_to_smaller_ones(T, count):
    y = w = T.tensor([1.0, 2.0], requires_grad=True)
    for position in range(count):
        y = y * 1.01 if position % 3 else y + w
    graph = viz.draw(y).graph
    (whole, *_) = sorted(fold(graph).folds.values(), key=lambda one: -len(one.ops))
    depth = 0
    while True:
        part, folded = inside(graph, whole)
        if not folded.folds:
            break
        largest = max(folded.folds.values(), key=lambda one: len(one.ops))
        assert len(largest.ops) < len(whole.ops)
        assert len(part.ops) - len(folded.unit) + len(folded.folds) <= 150
        whole = largest
        depth += 1
    assert depth <= 4


def test_a_model_opens_module_by_module():
    layer = lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())  # noqa: E731
    block = lambda: torch.nn.Sequential(*[layer() for _ in range(30)])  # noqa: E731
    model = torch.nn.Sequential(*[block() for _ in range(20)])
    graph = viz.draw(model(torch.ones(2, 4)).sum(), module=model, view="values").graph
    first = next(iter(fold(graph).folds.values()))
    _part, folded = inside(graph, first)
    assert first.module == "0"
    assert {one.module for one in folded.folds.values()} == {f"0.{number}" for number in range(30)}
