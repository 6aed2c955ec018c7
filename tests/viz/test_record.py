"""What a recording holds is what the engine did."""

import asyncio
import contextlib
import functools
import gc
import json
import linecache
import os
import textwrap
import threading
import weakref

import numpy as np
import pytest
import torch
from support.functions import text_of

import tinygrad_edu
import viz
from viz.picture.fold import fold
from viz.recording.record import record_backward
from viz.recording.recording import from_data
from viz.recording.unseen import Reading


def nodes_that_ran(recording):
    graph, leaves = recording.graph, recording.graph.accumulators()
    ran = [event.node for event in recording.events if event.kind == "run"]
    return [graph.ops[key].name if key in graph.ops else f"AccumulateGrad({leaves[key].name})" for key in ran]


def freed(recording):
    """The nodes whose buffers were freed, and what came just before."""
    found = [at for at, event in enumerate(recording.events) if event.kind == "freed"]
    name = lambda event: recording.graph.ops[event.node].name  # noqa: E731
    return [(name(recording.events[at]), recording.events[at - 1].kind) for at in found]


LINE = """
w = T.tensor(2.0, requires_grad=True)
x = T.tensor(3.0)
b = T.tensor(1.0, requires_grad=True)
y = T.tensor(4.0)
L = ((w * x + b) - y) ** 2
L.backward()
"""
LEAF = "x = T.tensor(2.0, requires_grad=True)\n"
TWICE = "y = x * x\ny.backward(retain_graph=True)\ny.backward()\n"
TWICE += "try:\n    y.backward()\nexcept RuntimeError:\n    pass\nz = 1"
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

net = build()
loss = net(T.tensor([1, 2])).sum()
"""
BLOCKS = (
    "layers = [T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Tanh(), T.nn.Linear(2, 2), T.nn.ReLU()) for _ in range(16)]\n"
    "model = T.nn.Sequential(*layers)\nloss = model(T.ones(1, 2)).sum()\nloss.backward()"
)
# claim -> the program, what is looked at, what is there
HOLDS = {
    "nodes run in the engine's order, and a leaf is served as soon as it is ready": (
        LINE,
        nodes_that_ran,
        ["PowBackward0", "SubBackward0", "AddBackward0", "AccumulateGrad(b)", "MulBackward0", "AccumulateGrad(w)"],
    ),
    "the tensors at the end have their values": (
        LINE,
        lambda r: {name: state["value"]["data"] for name, state in r.tensors.items()},
        {"w": 2, "x": 3, "b": 1, "y": 4, "L": 9},
    ),
    "and their gradients": (
        LINE,
        lambda r: [state["grad"] and state["grad"]["data"] for state in r.tensors.values()],
        [18, None, 6, None, None],
    ),
    "and their nodes": (LINE, lambda r: r.tensors["L"]["grad_fn"], "PowBackward0"),
    "buffers are freed node by node right after the node ran": (
        LINE,
        lambda r: [name for name, before in freed(r) if before in ("send", "freed")],
        ["PowBackward0", "MulBackward0"],
    ),
    "a pass that starts in autograd is seen": (
        f"{LEAF}T.autograd.backward([x * 3, x * x])",
        lambda r: (nodes_that_ran(r), r.tensors["x"]["grad"]["data"]),
        (["MulBackward0", "MulBackward0", "AccumulateGrad(x)"], 7),
    ),
    "grad accumulates nothing": (
        f"{LEAF}(g,) = T.autograd.grad(x * x, x)",
        lambda r: (nodes_that_ran(r), r.tensors["g"]["value"]["data"], r.tensors["x"]["grad"]),
        (["MulBackward0"], 4, None),
    ),
    "a second pass adds to grad": (
        LEAF + TWICE,
        lambda r: [event.total.data for event in r.events if event.kind == "accumulate"],
        [4, 8],
    ),
    "a caught error does not end the recording": (
        LEAF + TWICE,
        lambda r: ["second time" in event.text for event in r.events if event.kind == "raised"],
        [True],
    ),
    "a hook that changes a gradient is an event with both numbers": (
        f"{LEAF}y = x * 3\ny.register_hook(lambda g: g * 10)\nL = y * 2\nL.backward()",
        lambda r: [[one.array.data for one in event.gradients] for event in r.events if event.kind == "hook"],
        [[2, 20]],
    ),
    "each change in place is a separate value on the same memory": (
        "w = T.tensor(1.0, requires_grad=True)\nwith T.no_grad():\n    w -= 0.5\n    w -= 0.25",
        lambda r: [(v.version, v.array.data, v.how_shared) for v in r.graph.values.values() if v.name == "w"],
        [(0, 1.0, ""), (1, 0.5, "in-place"), (2, 0.25, "in-place")],
    ),
    "what a call without a record makes is of one op, however many results it has": (
        "w = T.tensor([1.0, 3.0], requires_grad=True)\nwith T.no_grad():\n    top, at = (w * 2).max(0)",
        lambda r: [(op.name, len(op.outputs)) for op in r.graph.ops.values()],
        [("mul", 1), ("max", 2)],
    ),
    "a recorded model is folded by the modules that ran": (
        BLOCKS,
        lambda r: [one.module for one in fold(r.graph).folds.values()],
        [f"model.{number}" for number in range(16)],
    ),
    "a tied weight has both names, and the program's name wins over a function's": (
        TIED,
        lambda r: [(v.name, "net.head.weight" in v.names) for v in r.graph.values.values() if v.kind == "leaf"],
        [("net.embedding.weight", True)],
    ),
    "the variables of a comprehension over several lines stay as they are": (
        f"{LEAF}parts = [\n    x\n    * i\n    for i\n    in range(4)\n]\nsum(parts).backward()",
        lambda r: r.tensors["x"]["grad"]["data"],
        6,
    ),
}


@pytest.mark.parametrize(("source", "look", "there"), HOLDS.values(), ids=HOLDS)
def test_what_a_recording_holds(source, look, there, engine):
    recording = viz.record(source, engine=engine)
    assert recording.error is None
    assert look(recording) == there


def test_a_program_that_leaves_python_by_force_ends_alone(engine):
    before = os._exit
    recording = viz.record(f"import os\n{LEAF}L = x * x\nos._exit(3)\nL.backward()", engine)
    assert recording.error["line"] == 4
    assert "os._exit(3) ends Python at once" in recording.error["message"]
    assert os._exit is before


def test_a_program_may_resize_what_was_looked_at():
    program = "w = T.ones(3)\nmask = w.data.new().resize_(3).fill_(2)\n"
    program += "kept = (w * 2).resize_(2)\ntotal = (mask * w).sum()"
    recording = viz.record(program, "torch")
    assert recording.error is None
    assert recording.tensors["total"]["value"]["data"] == 6.0


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
def test_a_damaged_or_foreign_recording_is_a_clear_error(data, message):
    with pytest.raises(ValueError, match=message):
        from_data(json.loads(json.dumps(data)))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"schema": 1', b"__import__('os')", b'{"schema": "1"}'])
def test_loading_a_file_that_is_not_a_recording_is_a_clear_error(content, tmp_path):
    path = tmp_path / "flow.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"flow\.json"):
        viz.load(path)


@pytest.mark.outer
def test_no_tensor_and_no_node_outlives_the_recording(engine):
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


def test_gradients_meet_in_an_inbox_and_a_node_is_ready_when_all_of_its_own_have_come(engine):
    recording = viz.record(DIAMOND, engine=engine)
    (leaf,) = recording.graph.accumulators()
    sent = [g.array.data for e in recording.events if e.kind == "send" for g in e.gradients if g.node == leaf]
    (added,) = [event for event in recording.events if event.kind == "accumulate"]
    assert sorted(sent) == [9, 63, 63]
    assert added.total.data == 135
    first = next(op.key for op in recording.graph.ops.values())
    runs = [event for event in recording.events if event.kind in ("run", "send")]
    when = next(position for position, event in enumerate(runs) if first in event.ready)
    senders = [e.node for e in runs[: when + 1] if e.kind == "send" and any(g.node == first for g in e.gradients)]
    assert len(senders) == 2


READY = {
    "leaves before ops": "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\n"
    "u = a * 2\nv = b * 3\nw = (u * v).exp()\nL = w * a + v + b\nL.backward()",
    "several roots": f"{LEAF}u = x * 3\nv = x.exp()\nT.autograd.backward([u, v, u * v])",
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
        first = {key: key in accumulators for key in event.ready}
        ranks = [(not leaf, 0 if leaf else -recording.graph.ops[key].sequence_nr) for key, leaf in first.items()]
        assert ranks == sorted(ranks)
        longest = max(longest, len(set(ranks)))
    assert longest > 1


def test_a_custom_function_is_one_node_at_its_line_and_what_its_forward_does_is_marked_as_inside_it(engine):
    own = text_of("Double", "ctx.save_for_backward(x)\nreturn x * by", "return g * 2, None", given="x, by")
    source = f"""{own}
x, by = T.tensor(3.0, requires_grad=True), T.tensor(2.0)
y = Double.apply(x, by)
with T.no_grad():
    h = x.exp()
z = Double.apply(y, by) + h
z.backward()
"""
    recording = viz.record(source, engine=engine)
    ops = list(recording.graph.ops.values())
    assert [op.recorded for op in ops if op.scope == "Double.forward"] == [False, False]
    lines = [("DoubleBackward", 11), ("exp", 13), ("DoubleBackward", 14), ("AddBackward0", 14)]
    assert [(op.name, op.line) for op in ops if not op.scope and op.during == "forward"] == lines
    assert [op.recorded for op in ops if op.name == "exp"] == [False]
    node = next(op for op in ops if op.custom)
    assert node.inputs == [recording.tensors[name]["key"] for name in ("x", "by")], "also what gets no gradient"
    assert [saved.value for saved in node.saved] == [recording.tensors["x"]["key"]]
    assert recording.tensors["x"]["grad"]["data"] == 4


def test_what_a_function_does_is_told_with_the_names_that_the_function_itself_gives(engine):
    rule = "a, b = ctx.saved_tensors\nreturn g.mm(b.t()), a.t().mm(g)"
    source = text_of("Two", "ctx.save_for_backward(x, w1)\nreturn x.mm(w1)", rule, given="x, w1")
    source += "features, weights = T.ones(2, 3), T.ones(3, 4, requires_grad=True)\n"
    recording = viz.record(f"{source}y = Two.apply(features, weights)\ny.sum().backward()", engine=engine)
    told = [step["sentence"] for step in recording.scene()["steps"]]
    assert any(text.startswith("x (2, 3) @ w1 (3, 4) gives") for text in told)
    assert any("@ g (2, 4) gives" in text for text in told)
    assert recording.tensors["weights"]["shape"] == [3, 4]


@pytest.mark.parametrize("done", ["normal_()", "uniform_(-1, 1)", "fill_(0.5)", "copy_(T.ones(2, 3))", "mul_(2)"])
def test_what_fills_the_data_of_a_parameter_is_told_from_its_first_use_on(engine, done):
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
    used = viz.record(f"{source}lin.weight.data.mul_(lin.weight.grad)", engine=engine).graph
    told = [op.name for op in used.ops.values() if not op.recorded]
    assert told == ["data", "mul_"] or engine == "tinygrad_edu"


def test_each_op_knows_the_module_that_ran_it_whatever_self_is_called_and_parameters_their_paths(engine):
    source = """
class Net(T.nn.Module):
    def __init__(this):
        super().__init__()
        this.layers = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU(), T.nn.Linear(3, 1))
    def forward(this, x):
        return this.layers(x) * 2
net = Net()
x = T.ones(4, 2)
loss = net(x).sum() + T.nn.Linear(2, 1)(x).sum()
loss.backward()
"""
    graph = viz.record(source, engine=engine).graph
    expected = [
        ("AddmmBackward0", "net.layers.0"),
        ("ReluBackward0", "net.layers.1"),
        ("AddmmBackward0", "net.layers.2"),
        ("MulBackward0", "net"),
    ]
    expected += [("SumBackward0", ""), ("AddmmBackward0", "Linear"), ("SumBackward0", ""), ("AddBackward0", "")]
    assert [(op.name, op.module) for op in graph.ops.values() if op.name != "TBackward0"] == expected
    names = {value.name for value in graph.values.values() if value.kind == "leaf"}
    inside = {f"net.layers.{number}.{name}" for number in (0, 2) for name in ("weight", "bias")}
    assert names == inside | {"Linear.weight", "Linear.bias"}


def test_large_arrays_are_summarised_and_numbers_that_json_does_not_have_survive_a_file(engine, tmp_path):
    recording = viz.record("x = T.ones(100, 50)\ny = T.tensor([float('nan'), float('inf'), 1.0])", engine=engine)
    value = recording.tensors["x"]["value"]
    assert value["data"] is None
    assert (value["shape"], value["low"], value["high"]) == ([100, 50], 1, 1)
    assert value["norm"] == pytest.approx(5000**0.5)
    assert (len(value["heat"]), len(value["heat"][0])) == (12, 12)
    path = tmp_path / "odd.json"
    path.write_text(recording.to_json(), encoding="utf-8")
    assert viz.load(path).scene()["steps"] == recording.scene()["steps"]


def test_inputs_are_names_in_a_program_and_arguments_of_a_function(engine):
    given = {"x": np.array([1.0, 2.0], dtype=np.float32)}
    assert viz.record("y = x * 2", engine=engine, inputs=given).tensors["y"]["value"]["data"] == [2, 4]

    def program(T, x):
        y = x * 3
        return y + 1

    assert viz.record(program, engine=engine, inputs=given).tensors["y"]["value"]["data"] == [3, 6]


def test_what_is_printed_has_the_name_by_which_the_program_imports_the_engine(engine):
    printed = "{0}.Size([2]) {0}.float32\n"
    for name in ("torch", "tinygrad_edu"):
        recording = viz.record(f"import {name} as t\nx = t.ones(2)\nprint(x.shape, x.dtype)", engine=engine)
        assert recording.stdout == printed.format(name)


def test_what_is_printed_is_not_shown_and_the_beginning_of_it_is_kept(engine, capsys) -> None:
    recording = viz.record("for i in range(3000):\n    print('x' * 100)\ny = T.tensor(1.0)", engine=engine)
    assert recording.stdout.startswith("x" * 100 + "\n")
    assert "is not kept" in recording.stdout
    assert len(recording.stdout) < 101_000
    assert capsys.readouterr().out == ""


CELL = """\
def f(T):
    x = T.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()
    y.backward()
recording = viz.record(f, engine=engine)
"""


def test_an_exception_ends_the_recording_of_a_cell_with_its_line_and_its_node_and_keeps_the_tensors(engine):
    filename = "<cell>"
    linecache.cache[filename] = (len(CELL), None, CELL.splitlines(keepends=True), filename)
    names = {"viz": viz, "engine": engine}
    exec(compile(CELL, filename, "exec"), names)
    recording = names["recording"]
    error = recording.error
    assert (error["type"], error["line"], error["phase"]) == ("RuntimeError", 5, "backward")
    assert "backward through the graph a second time" in error["message"]
    assert recording.graph.ops[error["node"]].name == "MulBackward0"
    assert recording.events[-1].kind == "error"
    assert recording.tensors["x"]["grad"]["data"] == 6.0
    assert recording.tensors["y"]["value"]["data"] == 9.0


TRAINED = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = T.nn.Embedding(5, 2, padding_idx=0)
        self.hidden, self.out = T.nn.Linear(2, 3), T.nn.Linear(3, 1)
        self.apply(self.begin)

    def begin(self, module):
        if isinstance(module, T.nn.Linear):
            T.nn.init.xavier_uniform_(module.weight)

    def forward(self, x):
        return self.out(self.hidden(self.words(x)).relu())

net = Net()
optimizer = T.optim.Adam(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(T.tensor([0, 1, 2, 3])).mean()
    optimizer.zero_grad()
    loss.backward()
    T.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
"""


def test_initialisation_clipping_and_steps_are_one_thing_each_on_both_engines(engine):
    recording = viz.record(TRAINED, engine=engine)
    assert recording.error is None
    (step,) = {step["sentence"] for step in recording.scene()["steps"] if step["title"] == "Adam.step"}
    assert step.startswith("Adam.step moves 5 parameters by their gradients: net.")
    not_recorded = [op.name for op in recording.graph.ops.values() if not op.recorded]
    assert not_recorded == ["clip_grad_norm_", "Adam.step"] * 2
    # A step moves each parameter, so there are three versions of each; what initialisation made has no history.
    names = [value.name for value in recording.graph.values.values() if value.kind == "leaf"]
    parameters = ["net.hidden.bias", "net.hidden.weight", "net.out.bias", "net.out.weight", "net.words.weight"]
    assert sorted(names) == sorted(parameters * 3)


def test_each_version_of_a_parameter_that_a_program_reaches_has_its_name(T):
    layer = T.nn.Linear(2, 1, bias=False)
    optimizer = T.optim.SGD(layer.parameters(), 0.1)

    def train():
        for _ in range(2):
            layer(T.ones(1, 2)).sum().backward()
            optimizer.step()

    values = viz.record(lambda: train()).graph.values.values()
    assert [value.name for value in values if value.kind == "leaf"] == ["layer.weight"] * 3


def test_an_interrupt_of_our_own_code_leaves_no_mode_behind(engine):
    own = text_of("Twice", "return x * 2", "met = Interrupts()\nreturn g * 2")
    program = f"""
class Interrupts:
    @property
    def __class__(self): raise KeyboardInterrupt  # as soon as the recording looks at it
{own}
Twice.apply(T.tensor(2.0, requires_grad=True)).backward()
"""
    with torch.device("cpu"):  # a mode of PyTorch's own, which stays
        with pytest.raises(KeyboardInterrupt):
            viz.record(program, engine)
        assert [type(mode).__name__ for mode in torch.overrides._get_current_function_mode_stack()] == ["DeviceContext"]
    state = tinygrad_edu.modes
    assert state.thread.state.modes == ()


@pytest.mark.parametrize("nth", range(2, 9))
@pytest.mark.parametrize("caught", [False, True])
def test_after_an_interrupt_as_our_reading_began_ops_are_seen_as_before(engine, monkeypatch, nth, caught):
    program, began, readings = "w = T.tensor(2.0, requires_grad=True)\nz = (w * 3).exp()", Reading.__enter__, []
    if caught:
        program = f"try:\n{textwrap.indent(program, '    ')}\nexcept KeyboardInterrupt:\n    pass"

    def begins(reading):
        began(reading)
        readings.append(reading)
        if len(readings) == nth:
            raise KeyboardInterrupt

    expected = contextlib.suppress(KeyboardInterrupt) if caught else pytest.raises(KeyboardInterrupt)
    with monkeypatch.context() as patched, expected:
        patched.setattr(Reading, "__enter__", begins)
        viz.record(program, engine)
    assert torch._C._is_torch_function_enabled() and tinygrad_edu.modes.thread.state.modes == ()


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


class Trainer:
    """A training as an object of the program."""

    def __init__(self, T):
        self.model, self.x = T.nn.Linear(3, 1), T.ones(2, 3)

    def step(self):
        self.model(self.x).mean().backward()

    __call__ = step

    async def coroutine(self):
        await asyncio.sleep(0)
        self.step()

    def generator(self):
        while True:
            yield self.step()


def passed_on(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


KINDS = {"a method": lambda one: one.step, "an object": lambda one: one}
KINDS |= {"a partial": lambda one: functools.partial(Trainer.step, one)}
KINDS |= {"keywords": lambda one: functools.partial(Trainer.step, self=one)}
KINDS |= {"a decorator": lambda one: passed_on(one.step), "a coroutine": lambda one: one.coroutine}
KINDS |= {"a generator": lambda one: one.generator, "a helper": lambda one: lambda: one.step()}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_called_is_recorded_on_the_engine_of_what_it_holds_at_its_own_lines(T, engine, kind):
    recording = viz.record(KINDS[kind](Trainer(T)))
    assert (recording.engine, recording.error) == (engine, None)
    lines = [recording.source[event.line - 1] for event in recording.events if event.kind == "backward"]
    assert lines and all("step" in line or "backward" in line for line in lines)
    assert {op.module for op in recording.graph.ops.values()} == {"", "model"}
    assert ("100th yield" in recording.graph.note) == (kind == "a generator")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda loss: loss().backward(), "Nothing was recorded: the program ran in another thread, which viz does not"),
        (lambda loss: loss.backward(), "A backward pass ran in another thread, which viz does not follow"),
    ],
)
def test_what_ran_in_another_thread_is_said(T, target, said):
    x = T.ones(2, requires_grad=True)

    def step():
        loss = (lambda: x.sum()) if "Nothing" in said else x.sum()
        thread = threading.Thread(target=target, args=(loss,))
        thread.start()
        thread.join()

    assert viz.record(step).graph.note.startswith(said) and x.grad is not None
    assert "thread, which viz does not follow" in viz.diagnose(step).headline


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
    model = torch.nn.Linear(2, 1)
    empty = viz.record(lambda: model(torch.ones(1, 2)), engine="tinygrad_edu")
    assert "Nothing was recorded" in empty.graph.note
    assert "pass engine='torch'" in empty.graph.note
    assert "Nothing was recorded" in repr(empty)
    failed = viz.record("x = T.ones(2)\nx @ T.ones(3)")
    assert "stopped in line 2: RuntimeError" in repr(failed)
    assert failed.play().step == len(failed.play().scene["steps"]) - 1


@pytest.mark.parametrize("call", [viz.record, viz.compare, viz.explore, viz.diagnose])
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (torch.nn.Linear(2, 1), TypeError, r"a model alone runs nothing.*viz\.draw\(model, x\)"),
        (torch.ones(2), TypeError, "a tensor is no program"),
        (3, TypeError, "or a function"),
        ("train.py", ValueError, "name of a file"),
    ],
    ids=["a model", "a tensor", "a number", "a file"],
)
def test_what_is_no_program_is_refused_with_what_to_do(call, given, error, said):
    with pytest.raises(error, match=said):
        call(given)


def test_a_function_of_several_arguments_says_how_to_pass_them():
    for name in ("record", "diagnose"):
        with pytest.raises(TypeError, match=rf"needs batch as well: pass viz\.{name}\(…, inputs=\{{'batch': …\}}\)"):
            getattr(viz, name)(lambda T, batch: None)
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


def test_what_a_node_saved_of_a_tensor_without_grad_is_its_input_where_nobody_saw_the_call(T):
    w, x = T.tensor([2.0, 3.0], requires_grad=True), T.tensor([5.0, 7.0])
    loss = (w * x).sum()
    graph = record_backward(loss, {"w": w, "x": x, "loss": loss}).graph
    assert [graph.values[key].title for key in graph.ops["o0"].inputs] == ["w", "x"]


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


@pytest.mark.outer
def test_lines_between_calls_of_the_engine_cost_little_and_what_follows_is_seen(engine, lines_run):
    program = LEAF + "for i in range({}):\n    print(i)\nfor _ in range(2):\n    x = x * 3\nx.backward()"
    few, many = (lines_run(lambda n=n: viz.record(program.format(n), engine)) for n in (30_000, 60_000))
    assert many < 1.01 * few
    recording = viz.record(program.format(30_000), engine)
    found = [(op.name, op.line, op.loops and op.loops[-1][1]) for op in recording.graph.ops.values()]
    assert [one[1:] for one in found] == [(5, 1), (5, 2)]
    assert recording.stdout.startswith("0\n1\n2\n") and "is not kept" in recording.stdout[-100:]


class Waits:
    def __await__(self):
        yield "for something"


async def waiting():
    await Waits()


def test_a_coroutine_runs_where_an_event_loop_runs_unless_it_waits(T, monkeypatch):
    monkeypatch.setattr(asyncio, "_get_running_loop", object)  # as in a notebook
    recording = viz.record(Trainer(T).coroutine)
    assert recording.graph.ops and not recording.graph.note
    assert "waits for something" in viz.record(waiting).graph.note
