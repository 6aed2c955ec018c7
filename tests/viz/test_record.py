"""What a recording holds is what the engine did."""

import json
import linecache
import os

import pytest
import torch

import tinygrad_edu
import viz
from viz.picture.fold import fold
from viz.recording.recording import from_data

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


def test_a_program_may_resize_what_was_looked_at():
    program = (
        "w = T.ones(3)\nmask = w.data.new().resize_(3).fill_(2)\nkept = (w * 2).resize_(2)\ntotal = (mask * w).sum()"
    )
    recording = viz.record(program, "torch")
    assert recording.error is None
    assert recording.tensors["total"]["value"]["data"] == 6.0


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


def test_recording_changes_no_result(engine):
    T = viz.engines.load(engine).module
    plain = {"T": T}
    exec(LINE, plain)
    recorded = viz.record(LINE, engine=engine).tensors
    for name in "wxbyL":
        assert recorded[name]["value"]["data"] == float(plain[name])
    assert recorded["w"]["grad"]["data"] == float(plain["w"].grad)


@pytest.mark.outer
def test_no_tensor_and_no_node_outlives_the_recording(engine):
    import gc
    import weakref

    alive = []

    def program(T):
        w = T.tensor(2.0, requires_grad=True)
        L = (w * w).exp()
        alive.extend([weakref.ref(w), weakref.ref(L)])
        L.backward()

    recording = viz.record(program, engine=engine)
    gc.collect()
    assert [reference() for reference in alive] == [None, None]
    assert recording.error is None


def test_a_tensor_that_outlives_the_run_is_no_longer_watched(engine):
    kept = []

    def program(T):
        w = T.tensor(2.0, requires_grad=True)
        kept.append((w, w * w * w))

    recording = viz.record(program, engine=engine)
    before = len(recording.events)
    w, y = kept[0]
    y.backward()
    assert float(w.grad) == 12
    assert len(recording.events) == before


DIAMOND = "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()"


def test_all_gradients_of_a_leaf_meet_in_its_inbox_and_are_added_once(engine):
    recording = viz.record(DIAMOND, engine=engine)
    (leaf,) = recording.graph.accumulators()
    sent = [g.array.data for e in recording.events if e.kind == "send" for g in e.gradients if g.node == leaf]
    (added,) = [event for event in recording.events if event.kind == "accumulate"]
    assert sorted(sent) == [9, 63, 63]
    assert added.total.data == 135


def test_a_node_is_ready_only_when_all_its_gradients_have_come(engine):
    recording = viz.record(DIAMOND, engine=engine)
    first = next(op.key for op in recording.graph.ops.values())
    runs = [event for event in recording.events if event.kind in ("run", "send")]
    when = next(position for position, event in enumerate(runs) if first in event.ready)
    senders = [e.node for e in runs[: when + 1] if e.kind == "send" and any(g.node == first for g in e.gradients)]
    assert len(senders) == 2


READY = {
    "leaves before ops": "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\n"
    "u = a * 2\nv = b * 3\nw = (u * v).exp()\nL = w * a + v + b\nL.backward()",
    "several roots": "x = T.tensor(2.0, requires_grad=True)\nu = x * 3\nv = x.exp()\nT.autograd.backward([u, v, u * v])",
    "many branches": "x = T.tensor(2.0, requires_grad=True)\nparts = [x * i for i in range(6)]\n"
    "L = parts[3] + parts[0] + parts[5] + parts[1] + parts[4] + parts[2]\nL.backward()",
}


@pytest.mark.parametrize("source", READY.values(), ids=READY)
def test_the_ready_queue_is_listed_in_the_order_in_which_the_engine_takes_from_it(source, engine):
    recording = viz.record(source, engine=engine)
    accumulators = recording.graph.accumulators()
    events = recording.events
    longest = 0
    for position, event in enumerate(events):
        runs = [later.node for later in events[position + 1 :] if later.kind == "run"]
        if event.ready and event.kind in ("send", "accumulate"):
            assert event.ready[0] == runs[0]
        ranks = [
            (key not in accumulators, -(recording.graph.ops[key].sequence_nr if key not in accumulators else 0))
            for key in event.ready
        ]
        assert ranks == sorted(ranks)
        longest = max(longest, len(set(ranks)))
    assert longest > 1


def ops(recording):
    return [(op.name, op.recorded, op.line) for op in recording.graph.ops.values()]


def test_ops_under_no_grad_are_seen_though_nothing_records_them(engine):
    source = "w = T.tensor(2.0, requires_grad=True)\nwith T.no_grad():\n    h = w.exp()\nL = h * w"
    assert ops(viz.record(source, engine=engine)) == [("exp", False, 3), ("MulBackward0", True, 4)]


def test_a_custom_function_has_the_line_that_applied_it(engine):
    from support.stage_programs import PROGRAMS

    program = PROGRAMS["function"].replace("y.backward()", "z = y * 2\nz = Cube.apply(z) + 1\nz.backward()")
    recording = viz.record(program, engine=engine)
    lines = {op.line: recording.source[op.line - 1] for op in recording.graph.ops.values() if op.custom}
    assert list(lines.values()) == ["y = Cube.apply(x)", "z = Cube.apply(z) + 1"]


def test_a_custom_function_is_one_node_and_what_its_forward_does_is_marked_as_inside_it(engine):
    source = """
class Double(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = T.tensor(3.0, requires_grad=True)
y = Double.apply(x)
y.backward()
"""
    recording = viz.record(source, engine=engine)
    graph = recording.graph
    inside = [op for op in graph.ops.values() if op.scope == "Double.forward"]
    (node,) = [op for op in graph.ops.values() if op.recorded]
    assert [op.recorded for op in inside] == [False]
    assert (node.name, [saved.value for saved in node.saved]) == ("DoubleBackward", [recording.tensors["x"]["key"]])
    assert recording.tensors["x"]["grad"]["data"] == 2


def test_what_a_function_does_is_told_with_the_names_that_the_function_itself_gives(engine):
    source = """
class Two(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, w1):
        ctx.save_for_backward(x, w1)
        return x.mm(w1)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g.mm(b.t()), a.t().mm(g)

features, weights = T.ones(2, 3), T.ones(3, 4, requires_grad=True)
y = Two.apply(features, weights)
y.sum().backward()
"""
    recording = viz.record(source, engine=engine)
    told = [step["sentence"] for step in recording.scene()["steps"]]
    assert any(text.startswith("x (2, 3) @ w1 (3, 4) gives") for text in told)
    assert any("@ g (2, 4) gives" in text for text in told)
    assert recording.tensors["weights"]["shape"] == [3, 4]


@pytest.mark.parametrize("done", ["normal_()", "uniform_(-1, 1)", "fill_(0.5)", "copy_(T.ones(2, 3))", "mul_(2)"])
def test_what_fills_the_data_of_a_parameter_before_its_first_use_is_no_op(engine, done):
    source = f"""
lin = T.nn.Linear(3, 2)
lin.weight.data.{done}
lin.bias.data.zero_()
loss = lin(T.ones(1, 3)).sum()
loss.backward()
"""
    graph = viz.record(source, engine=engine).graph
    assert [op.name for op in graph.ops.values() if not op.recorded] == []
    weights = [value for value in graph.values.values() if value.name == "lin.weight"]
    assert [value.kind for value in weights] == ["leaf"]


def test_a_module_whose_self_has_another_name_is_recorded(engine):
    source = """
class Net(T.nn.Module):
    def __init__(me):
        super().__init__()
        me.fc = T.nn.Linear(2, 1)

    def forward(me, x):
        return me.fc(x)

net = Net()
net(T.ones(1, 2)).sum().backward()
"""
    recording = viz.record(source, engine=engine)
    assert recording.error is None
    assert "net.fc" in {op.module for op in recording.graph.ops.values()}


def test_the_data_of_a_tensor_that_is_in_use_is_told(engine):
    source = "w = T.ones(2, requires_grad=True)\n(w * 2).sum().backward()\nw.data.mul_(w.grad)"
    names = [op.name for op in viz.record(source, engine=engine).graph.ops.values() if not op.recorded]
    assert (names == ["data", "mul_"]) or engine == "tinygrad_edu"


def test_a_hook_that_changes_a_gradient_is_an_event_with_both_numbers(engine):
    source = (
        "x = T.tensor(2.0, requires_grad=True)\ny = x * 3\ny.register_hook(lambda g: g * 10)\nL = y * 2\nL.backward()"
    )
    (hook,) = [event for event in viz.record(source, engine=engine).events if event.kind == "hook"]
    assert [gradient.array.data for gradient in hook.gradients] == [2, 20]


MODULES = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU(), T.nn.Linear(3, 1))
    def forward(self, x):
        return self.layers(x) * 2
net = Net()
x = T.ones(4, 2)
loss = net(x).sum() + T.nn.Linear(2, 1)(x).sum()
loss.backward()
"""


def test_each_op_knows_the_module_whose_forward_ran_it_and_parameters_their_paths(engine):
    graph = viz.record(MODULES, engine=engine).graph
    assert [(op.name, op.module) for op in graph.ops.values() if op.name != "TBackward0"] == [
        ("AddmmBackward0", "net.layers.0"),
        ("ReluBackward0", "net.layers.1"),
        ("AddmmBackward0", "net.layers.2"),
        ("MulBackward0", "net"),
        ("SumBackward0", ""),
        ("AddmmBackward0", "Linear"),
        ("SumBackward0", ""),
        ("AddBackward0", ""),
    ]
    names = {value.name for value in graph.values.values() if value.kind == "leaf"}
    inside = {f"net.layers.{number}.{name}" for number in (0, 2) for name in ("weight", "bias")}
    assert names == inside | {"Linear.weight", "Linear.bias"}


def test_a_recorded_model_is_folded_by_the_modules_that_ran(engine):
    source = (
        "layers = [T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Tanh(), T.nn.Linear(2, 2), T.nn.ReLU()) for _ in range(16)]\n"
        "model = T.nn.Sequential(*layers)\nloss = model(T.ones(1, 2)).sum()\nloss.backward()"
    )
    folds = fold(viz.record(source, engine=engine).graph).folds.values()
    assert [one.module for one in folds] == [f"model.{number}" for number in range(16)]


def test_each_change_in_place_is_a_separate_value_on_the_same_memory(engine):
    source = "w = T.tensor(1.0, requires_grad=True)\nwith T.no_grad():\n    w -= 0.5\n    w -= 0.25"
    recording = viz.record(source, engine=engine)
    versions = [value for value in recording.graph.values.values() if value.name == "w"]
    assert [(value.version, value.array.data, value.how_shared) for value in versions] == [
        (0, 1.0, ""),
        (1, 0.5, "in-place"),
        (2, 0.25, "in-place"),
    ]


def test_a_second_pass_adds_to_grad_and_a_caught_error_does_not_end_the_recording(engine):
    source = (
        "x = T.tensor(2.0, requires_grad=True)\ny = x * x\ny.backward(retain_graph=True)\ny.backward()\n"
        "try:\n    y.backward()\nexcept RuntimeError:\n    pass\nz = x * 2"
    )
    recording = viz.record(source, engine=engine)
    assert recording.error is None
    totals = [event.total.data for event in recording.events if event.kind == "accumulate"]
    assert totals == [4, 8]
    (raised,) = [event for event in recording.events if event.kind == "raised"]
    assert "second time" in raised.text
    assert "z" in recording.tensors


def test_a_pass_that_starts_in_autograd_is_seen_like_one_that_starts_at_a_tensor(engine):
    source = "x = T.tensor(2.0, requires_grad=True)\nT.autograd.backward([x * 3, x * x])"
    recording = viz.record(source, engine=engine)
    assert nodes_that_ran(recording) == ["MulBackward0", "MulBackward0", "AccumulateGrad(x)"]
    assert recording.tensors["x"]["grad"]["data"] == 7


def test_grad_runs_nodes_and_accumulates_nothing(engine):
    recording = viz.record("x = T.tensor(2.0, requires_grad=True)\n(g,) = T.autograd.grad(x * x, x)", engine=engine)
    assert nodes_that_ran(recording) == ["MulBackward0"]
    assert recording.tensors["g"]["value"]["data"] == 4
    assert recording.tensors["x"]["grad"] is None


def test_large_arrays_are_summarised(engine):
    recording = viz.record("x = T.ones(100, 50)", engine=engine)
    value = recording.tensors["x"]["value"]
    assert value["data"] is None
    assert (value["shape"], value["low"], value["high"]) == ([100, 50], 1, 1)
    assert value["norm"] == pytest.approx(5000**0.5)
    assert (len(value["heat"]), len(value["heat"][0])) == (12, 12)


def test_numbers_that_json_does_not_have_survive_it(engine, tmp_path):
    recording = viz.record("x = T.tensor([float('nan'), float('inf'), 1.0])", engine=engine)
    path = tmp_path / "odd.json"
    path.write_text(recording.to_json(), encoding="utf-8")
    assert viz.load(path).scene()["steps"] == recording.scene()["steps"]


def test_a_program_that_cannot_be_compiled_is_an_error_with_its_line(engine):
    recording = viz.record("x = 1\ny = = 2", engine=engine)
    assert (recording.error["type"], recording.error["line"]) == ("SyntaxError", 2)


def test_pasted_pytorch_code_runs_on_the_chosen_engine(engine):
    source = "import torch\nfrom torch.autograd import Function\nx = torch.tensor(1.0, requires_grad=True)"
    recording = viz.record(source, engine=engine)
    assert recording.error is None
    assert recording.tensors["x"]["is_leaf"]


def test_what_is_printed_is_kept_and_not_shown(engine, capsys):
    assert viz.record("print('hello')", engine=engine).stdout == "hello\n"
    assert capsys.readouterr().out == ""


def test_inputs_are_names_in_a_program_and_arguments_of_a_function(engine):
    import numpy as np

    given = {"x": np.array([1.0, 2.0], dtype=np.float32)}
    assert viz.record("y = x * 2", engine=engine, inputs=given).tensors["y"]["value"]["data"] == [2, 4]

    def program(T, x):
        y = x * 3
        return y + 1

    assert viz.record(program, engine=engine, inputs=given).tensors["y"]["value"]["data"] == [3, 6]


def test_an_unavailable_device_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="NumPy on the CPU"):
        viz.record("x = 1", device="cuda")


def test_a_non_program_is_a_type_error():
    with pytest.raises(TypeError, match="source text or a function"):
        viz.record(3)


def test_a_program_that_prints_without_end_keeps_the_beginning() -> None:
    recording = viz.record("for i in range(3000):\n    print('x' * 100)\ny = T.tensor(1.0)", engine="tinygrad_edu")
    assert recording.stdout.startswith("x" * 100)
    assert "is not kept" in recording.stdout
    assert len(recording.stdout) < 101_000


CELL = """\
def f(T):
    x = T.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()
recording = viz.record(f, engine=engine)
"""


def test_a_function_that_opens_its_cell_and_raises_keeps_the_tensors_it_had_made(engine):
    filename = "<cell>"
    linecache.cache[filename] = (len(CELL), None, CELL.splitlines(keepends=True), filename)
    names = {"viz": viz, "engine": engine}
    exec(compile(CELL, filename, "exec"), names)
    recording = names["recording"]
    assert recording.error["type"] == "RuntimeError"
    assert recording.error["line"] == 5
    assert recording.tensors["x"]["grad"]["data"] == 6.0
    assert recording.tensors["y"]["value"]["data"] == 9.0


TRAINED = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = T.nn.Linear(2, 3), T.nn.Linear(3, 1)
        self.apply(self.begin)

    def begin(self, module):
        if isinstance(module, T.nn.Linear):
            T.nn.init.xavier_uniform_(module.weight)

    def forward(self, x):
        return self.out(self.hidden(x).relu())

net = Net()
optimizer = T.optim.Adam(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(T.ones(4, 2)).mean()
    optimizer.zero_grad()
    loss.backward()
    T.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
"""


def test_initialisation_clipping_and_steps_are_one_thing_each_on_both_engines(engine):
    recording = viz.record(TRAINED, engine=engine)
    assert recording.error is None
    not_recorded = [op.name for op in recording.graph.ops.values() if not op.recorded]
    assert not_recorded == ["clip_grad_norm_", "Adam.step"] * 2
    # A step moves each parameter, so there are three versions of each; what initialisation made has no history.
    names = [value.name for value in recording.graph.values.values() if value.kind == "leaf"]
    parameters = ["net.hidden.bias", "net.hidden.weight", "net.out.bias", "net.out.weight"]
    assert sorted(names) == sorted(parameters * 3)


@pytest.mark.outer
def test_a_step_says_what_it_moves(engine):
    steps = viz.record(TRAINED, engine=engine).scene()["steps"]
    (step,) = {step["sentence"] for step in steps if step["title"] == "Forward: Adam.step"}
    assert step.startswith("Adam.step moves 4 parameters by their gradients: net.")


TIED = """
class Tied(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = T.nn.Embedding(5, 3), T.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))

def build():
    model = Tied()
    return model

language = build()
loss = language(T.tensor([1, 2])).sum()
loss.backward()
"""


def test_a_tied_weight_has_both_names_and_the_program_s_name_wins_over_a_function_s(engine):
    (leaf,) = [v for v in viz.record(TIED, engine=engine).graph.values.values() if v.kind == "leaf"]
    assert leaf.name == "language.embedding.weight"
    assert "language.head.weight" in leaf.names


def test_an_interrupt_of_our_own_code_leaves_no_mode_behind(engine):
    program = """
class Interrupts:
    @property
    def __class__(self): raise KeyboardInterrupt  # as soon as the recording looks at it
class Twice(T.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g):
        met = Interrupts()
        return g * 2
Twice.apply(T.tensor(2.0, requires_grad=True)).backward()
"""
    with torch.device("cpu"):  # a mode of PyTorch's own, which stays
        with pytest.raises(KeyboardInterrupt):
            viz.record(program, engine)
        assert [type(mode).__name__ for mode in torch.overrides._get_current_function_mode_stack()] == ["DeviceContext"]
    state = tinygrad_edu.modes
    assert state.thread.state.modes == ()


# the engine of a program that does not name one


def test_a_step_on_tensors_of_an_engine_is_recorded_on_that_engine(T, engine):
    model = T.nn.Linear(3, 1)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    x = T.ones(2, 3)

    def helper():
        return model(x).pow(2).mean()

    def step():
        optimizer.zero_grad()
        loss = helper()
        loss.backward()
        optimizer.step()

    for program in (step, lambda: helper().backward()):
        recording = viz.record(program)
        assert (recording.engine, recording.error) == (engine, None)
        assert [event.kind for event in recording.events].count("accumulate") == 2
        named = {value.title for value in recording.graph.values.values()}
        assert {"model.weight", "model.bias"} <= named


@pytest.mark.parametrize(
    ("program", "engine"),
    [
        ("import torch\nx = torch.tensor(2.0, requires_grad=True)\n(x * x).backward()", "torch"),
        ("import tinygrad_edu as T\nx = T.tensor(2.0, requires_grad=True)\n(x * x).backward()", "tinygrad_edu"),
        ("x = T.tensor(2.0, requires_grad=True)\n(x * x).backward()", "tinygrad_edu"),
        (lambda T: (T.tensor(2.0, requires_grad=True) ** 2).backward(), "tinygrad_edu"),
    ],
)
def test_an_import_and_a_parameter_tell_the_engine(program, engine):
    recording = viz.record(program)
    assert recording.engine == engine
    assert recording.graph.ops


def test_a_recording_of_nothing_says_so_and_an_error_is_shown():
    import torch

    model = torch.nn.Linear(2, 1)
    empty = viz.record(lambda: model(torch.ones(1, 2)), engine="tinygrad_edu")
    assert "Nothing was recorded" in empty.graph.note
    assert "pass engine='torch'" in empty.graph.note
    assert "Nothing was recorded" in repr(empty)
    failed = viz.record("x = T.ones(2)\nx @ T.ones(3)")
    assert "stopped in line 2: RuntimeError" in repr(failed)
    assert failed.play().step == len(failed.play().scene["steps"]) - 1


@pytest.mark.parametrize("call", [viz.record, viz.compare, viz.explore])
def test_what_is_no_program_is_refused_with_what_to_do(call):
    import torch

    model = torch.nn.Linear(2, 1)
    with pytest.raises(TypeError, match=r"a model alone runs nothing.*viz\.draw\(model, x\)"):
        call(model)
    with pytest.raises(TypeError, match="a tensor is no program"):
        call(torch.ones(2))
    with pytest.raises(ValueError, match=r"name of a file"):
        call("train.py")


def test_a_function_of_several_arguments_says_how_to_pass_them():
    with pytest.raises(TypeError, match=r"needs batch as well: pass viz\.record\(…, inputs=\{'batch': …\}\)"):
        viz.record(lambda T, batch: None)
    with pytest.raises(TypeError, match="it must take the engine"):
        viz.compare(lambda: None)
    with pytest.raises(TypeError, match="yields once a step"):
        viz.train(lambda: None)


def test_the_backward_pass_behind_a_tensor_is_played_and_changes_nothing(T):
    w = T.tensor(2.0, requires_grad=True)
    loss = w * w
    player = viz.play(loss)
    assert [step["title"] for step in player.scene["steps"]][-1]
    assert w.grad is None
    loss.backward()
    assert float(w.grad) == 4.0
    with pytest.raises(ValueError, match="requires no grad"):
        viz.play(T.tensor(1.0))


def test_a_forward_that_does_not_say_self_has_its_name(engine):
    program = """
class Net(T.nn.Module):
    def __init__(this):
        super().__init__()
        this.low, this.high = T.nn.Linear(2, 3), T.nn.Linear(3, 1)

    def forward(this, x):
        return this.high(this.low(x)).sigmoid()

net = Net()
loss = net(T.ones(1, 2)).sum()
"""
    modules = [op.module for op in viz.record(program, engine=engine).graph.ops.values()]
    assert {"net", "net.low", "net.high"} <= {*modules}


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
def test_the_data_that_a_linear_is_given_is_drawn(engine, shape):
    graph = viz.record(f"y = T.nn.Linear(4, 8)(T.ones(*{shape}))", engine=engine).graph
    given = [key for op in graph.ops.values() for key in op.inputs if key and graph.values[key].kind == "input"]
    assert [graph.values[key].shape for key in given] == [list(shape)]


def test_texts_of_recordings_and_pictures_are_one_line(T):
    model = T.nn.Sequential(*(T.nn.Linear(4, 4) for _ in range(20)))
    x = T.ones(2, 4)
    for thing in (viz.record(lambda: model(x)), viz.draw(model, x), viz.draw(model(x).sum()), viz.draw(model)):
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)


def test_a_program_that_leaves_python_by_force_ends_alone(engine):
    before = os._exit
    recording = viz.record(
        "import os\nw = T.tensor(2.0, requires_grad=True)\nL = w * w\nos._exit(3)\nL.backward()", engine
    )
    assert recording.error["line"] == 4
    assert "os._exit(3) ends Python at once" in recording.error["message"]
    assert os._exit is before


@pytest.mark.outer
def test_lines_between_calls_of_the_engine_cost_little_and_what_follows_is_seen(engine, lines_run):
    program = "w = T.tensor(2.0, requires_grad=True)\nfor i in range({}):\n    print(i)\nfor _ in range(2):\n    w = w * 3\nw.backward()"
    few, many = (lines_run(lambda n=n: viz.record(program.format(n), engine)) for n in (30_000, 60_000))
    assert many < 1.01 * few
    recording = viz.record(program.format(30_000), engine)
    found = [(op.name, op.line, op.loops and op.loops[-1][1]) for op in recording.graph.ops.values()]
    assert [one[1:] for one in found] == [(5, 1), (5, 2)]
    assert recording.stdout.startswith("0\n1\n2\n") and "is not kept" in recording.stdout[-100:]


@pytest.mark.parametrize("engine", ["tinygrad_edu", "torch"])
def test_the_variables_of_a_comprehension_over_several_lines_stay_as_they_are(engine):
    program = """
x = T.tensor(2.0, requires_grad=True)
parts = [
    x
    * i
    for i
    in range(4)
]
sum(parts).backward()
"""
    assert viz.record(program, engine=engine).error is None
