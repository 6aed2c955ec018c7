"""The builder without a browser: clicks are steps, steps are a program, and the program has run."""

from typing import Any

import pytest
import traitlets

from viz.widgets.builder import NAMES, Builder, build


def built(*steps: list[str], **options: Any) -> Builder:
    builder = build({"w": 3.0, "x": 2.0}, requires_grad=["w"], **options)
    builder.steps = list(steps)
    return builder


def test_the_code_is_what_the_clicks_stand_for() -> None:
    builder = built(["mul", "w", "x"], ["square", "p"], ["backward"])
    inputs = ["w = T.tensor(3.0, requires_grad=True)", "x = T.tensor(2.0)"]
    assert builder.result["code"] == [*inputs, "p = w * x", "q = p ** 2", "q.backward()"]
    assert builder.result["sentence"] == "q.backward(): w.grad = 24."
    values = [(v["name"], v["text"], v["grad"]) for v in builder.result["values"]]
    assert values == [("w", "3", "24"), ("x", "2", ""), ("p", "6", ""), ("q", "36", "")]


@pytest.mark.parametrize("engine", ["tinygrad_edu", "torch"])
def test_each_click_says_what_it_left_behind_on_either_engine(engine: str) -> None:
    said = "p = w * x gives 6, and leaves the node MulBackward0 behind."
    assert built(["mul", "w", "x"], engine=engine).result["sentence"] == said
    assert "so no node is made" in built(["add", "x", "x"], engine=engine).result["sentence"]
    assert "the same number, with no node" in built(["detach", "w"], engine=engine).result["sentence"]


def test_requires_grad_is_a_click_too() -> None:
    builder = built(["mul", "w", "x"], ["backward"])
    builder.start = [{**each, "requires_grad": False} for each in builder.start]
    assert builder.result["error"]
    assert "element 0 of tensors does not require grad" in builder.result["sentence"]


@pytest.mark.parametrize(
    "step", [["system", "w"], ["mul", "w"], ["mul", "w", "nobody"], ["backward", "w"], ["exp", "w); print(w"]], ids=str
)
def test_an_unknown_click_or_start_never_becomes_code(step: list[str]) -> None:
    with pytest.raises(traitlets.TraitError, match="not a step of this builder"):
        built(step)
    with pytest.raises(traitlets.TraitError, match="cannot be the name"):
        built().start = [{"name": "w = 1; x", "value": 1.0, "requires_grad": True}]


def test_the_picture_grows_with_each_click_and_it_says_when_it_is_full() -> None:
    sizes = [built(*[["exp", "w"]] * count).result["svgs"]["values"].count('class="node') for count in range(4)]
    assert sizes == sorted(set(sizes))
    builder = built(*[["exp", "x"]] * len(NAMES))
    assert builder.result["full"]
    with pytest.raises(traitlets.TraitError, match="not a step"):
        builder.steps = [*builder.steps, ["exp", "x"]]


@pytest.mark.parametrize(
    ("values", "requires_grad"), [({}, []), ({"for": 1.0}, []), ({"w": 1.0}, ["v"]), ({"T": 1}, [])]
)
def test_odd_beginnings_are_refused(values: dict[str, float], requires_grad: list[str]) -> None:
    with pytest.raises(ValueError, match=r"name|start"):
        build(values, requires_grad)
