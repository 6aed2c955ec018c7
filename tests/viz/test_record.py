"""What a recording holds is what the engine did."""

import json

import pytest

import viz
from viz.record import from_data

LINE = """
w = T.tensor(2.0, requires_grad=True)
x = T.tensor(3.0)
b = T.tensor(1.0, requires_grad=True)
y = T.tensor(4.0)
L = ((w * x + b) - y) ** 2
L.backward()
"""


def kinds(recording):
    return [event.kind for event in recording.events]


def nodes_that_ran(recording):
    graph = recording.graph
    accumulators = graph.accumulators()
    return [
        graph.ops[event.node].name if event.node in graph.ops else f"AccumulateGrad({accumulators[event.node].name})"
        for event in recording.events
        if event.kind == "run"
    ]


def test_nodes_run_in_the_engines_order_and_a_leaf_is_served_as_soon_as_it_is_ready(engine):
    assert nodes_that_ran(viz.record(LINE, engine=engine)) == [
        "PowBackward0",
        "SubBackward0",
        "AddBackward0",
        "AccumulateGrad(b)",
        "MulBackward0",
        "AccumulateGrad(w)",
    ]


def test_the_tensors_at_the_end_have_their_values_and_gradients(engine):
    tensors = viz.record(LINE, engine=engine).tensors
    assert {name: state["value"]["data"] for name, state in tensors.items()} == {"w": 2, "x": 3, "b": 1, "y": 4, "L": 9}
    assert tensors["w"]["grad"]["data"] == 18
    assert tensors["b"]["grad"]["data"] == 6
    assert tensors["x"]["grad"] is None
    assert tensors["L"]["grad_fn"] == "PowBackward0"


def test_buffers_are_freed_node_by_node_right_after_the_node_ran(engine):
    recording = viz.record(LINE, engine=engine)
    freed = [position for position, event in enumerate(recording.events) if event.kind == "freed"]
    names = [recording.graph.ops[recording.events[position].node].name for position in freed]
    assert names == ["PowBackward0", "MulBackward0"]
    assert kinds(recording)[freed[0] - 1] == "send"


def test_a_recording_survives_json(engine, tmp_path):
    recording = viz.record(LINE, engine=engine)
    path = tmp_path / "flow.json"
    path.write_text(recording.to_json(), encoding="utf-8")
    assert viz.load(path).to_json() == recording.to_json()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "not a recording"),
        ({"schema": 99, "events": []}, "schema 99"),
        ({"schema": 1, "events": {}}, "should be a list"),
        ({"schema": 1, "events": [], "graph": {"ops": []}}, "should be an object"),
        ({"schema": 1, "events": [], "surprise": 1}, "unknown entry 'surprise'"),
        ({"schema": 1, "events": []}, "damaged"),
    ],
)
def test_a_damaged_or_foreign_file_is_a_clear_error(data, message):
    with pytest.raises(ValueError, match=message):
        from_data(json.loads(json.dumps(data)))


def test_an_exception_ends_the_recording_with_its_line(engine):
    recording = viz.record(LINE + "L.backward()", engine=engine)
    assert recording.error["type"] == "RuntimeError"
    assert "backward through the graph a second time" in recording.error["message"]
    assert recording.error["line"] == 7
    assert recording.error["phase"] == "backward"
    assert recording.graph.ops[recording.error["node"]].name == "PowBackward0"
    assert kinds(recording)[-1] == "error"
