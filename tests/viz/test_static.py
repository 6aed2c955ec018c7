"""The picture of a trace: recorded ops are solid; a question that Python asked is dotted, with its answer."""

from typing import Any

import pytest

import tinygrad_edu as T
from viz.static import draw_trace

pytestmark = pytest.mark.filterwarnings("ignore::tinygrad_edu.jit.TracerWarning")


def double_or_square(x: Any) -> Any:
    return x * 2 if x > 0 else x * x


@pytest.mark.parametrize(("example", "kept", "answer"), [(3.0, "× 2", "True"), (-3.0, "×", "False")])
def test_the_branch_taken_is_there_with_its_answer_and_the_other_is_not(example: float, kept: str, answer: str) -> None:
    picture = draw_trace(T.jit.trace(double_or_square, T.tensor(example)))
    ops = list(picture.graph.ops.values())
    assert [(op.name, op.recorded) for op in ops] == [("gt", True), ("boolean", False), ("mul", True)]
    assert picture.graph.values[ops[1].outputs[0]].title == f"{answer}, frozen"
    assert f">{kept}</text>" in picture.svg
    assert "No replay asks again" in picture.svg


def test_an_op_in_place_gives_its_tensor_another_box() -> None:
    def written(x: Any) -> Any:
        y = x.clone()
        y[0] = 7.0
        return y

    graph = draw_trace(T.jit.trace(written, T.ones(2))).graph
    assert [value.title for value in graph.values.values()] == ["x", "v1", "v1"]
    clone, write = graph.ops.values()
    assert write.inputs == clone.outputs != write.outputs == graph.roots


def test_constants_and_several_results_are_drawn_and_without_a_question_nothing_is_said_of_questions() -> None:
    w = T.tensor(2.0)
    picture = draw_trace(T.jit.trace(lambda x: T.split(x * w, 1), T.ones(2)))
    graph = picture.graph
    assert [value.title for value in graph.values.values()] == ["x", "c1", "v1", "v2", "v3"]
    assert [graph.values[key].title for key in graph.roots] == ["v2", "v3"]
    assert "No replay asks" not in picture.svg
