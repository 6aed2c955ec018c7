"""`viz.draw(model, x)`: each op stands in the box of the module that made it, and the model is as it was before."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from support.functions import function
from torch import nn
from torch.utils.checkpoint import checkpoint

import viz

# torch.compile reads `.grad` of tensors that are no leaves.
IGNORED = ("ignore:The .grad attribute:UserWarning", "ignore:`torch.jit:DeprecationWarning")
pytestmark = pytest.mark.filterwarnings(*IGNORED)
X = torch.linspace(-1, 1, 32).reshape(8, 4)
INSIDE = (  # what PyTorch's graph shows of a closed part
    {"TBackward0", "AddmmBackward0", "ReluBackward0"},
    {"torch::jit::(anonymous namespace)::DifferentiableGraphBackward"},
    {"CompiledFunctionBackward"},
)


REVERSED = function(torch, "Reversed", lambda ctx, x: x.view_as(x), lambda ctx, gradient: -gradient)
ROUNDED = function(torch, "Rounded", lambda ctx, x: x.round(), lambda ctx, gradient: gradient)


class Calls(nn.Module):
    def __init__(self, function, *parts):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, x):
        return self.function(x, *self.parts)


def layers():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


def compiled(module):
    torch._dynamo.reset()
    return torch.compile(module, backend="aot_eager")


def compiled_in_place(module):
    torch._dynamo.reset()
    module.compile(backend="aot_eager")
    return module


def between(part):
    return nn.Sequential(nn.Linear(4, 4), part, nn.Linear(4, 1))


def drawn(model):
    picture = viz.draw(model, X, loss=lambda output: output.sum())
    places = {}
    for op in picture.graph.ops.values():
        places.setdefault(op.module.partition(".")[2], []).append(op.name)
    return picture, places


@pytest.mark.parametrize(("function", "node"), [(REVERSED, "ReversedBackward"), (ROUNDED, "RoundedBackward")], ids=str)
def test_the_op_of_a_custom_function_stands_in_the_module_that_returns_it(function, node):
    picture, places = drawn(between(Calls(lambda x: function.apply(x))))
    assert node in places["1"] and node not in places["2"]
    recording = viz.record(lambda: between(Calls(lambda x: function.apply(x)))(X).sum().backward())
    (op,) = [op for op in recording.graph.ops.values() if op.name == node]
    assert op.module == "Sequential.1"
    assert [call.kind for call in picture.calls] == ["Linear", "Calls", "Linear", "Sequential"]


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_block_is_drawn_once(reentrant):
    model = Calls(lambda x, block, head: head(checkpoint(block, x, use_reentrant=reentrant)), layers(), nn.Linear(4, 1))
    picture = viz.draw(model, X.clone().requires_grad_(), loss=lambda output: output.sum())
    kinds = ["Linear", "ReLU", "Sequential", "Linear", "Calls"]
    assert [call.kind for call in picture.calls] == kinds and len(picture.graph.calls) == len(kinds)
    heads = [op.name for op in picture.graph.ops.values() if op.module == "model.parts.1"]
    assert heads == ["TBackward0", "AddmmBackward0"]


def test_a_graph_is_drawn_without_a_new_run_of_its_checkpointed_block_and_played_with_one_that_is_undone():
    block = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    y = checkpoint(block, X, use_reentrant=False).sum()
    picture = viz.draw(y)
    assert block[1].num_batches_tracked == 1
    assert {saved.state for op in picture.graph.ops.values() for saved in op.saved} == {"packed"}
    assert viz.play(y).scene["steps"] and block[1].num_batches_tracked == 1


CLOSED = {"traced": lambda part: torch.jit.trace(part, X), "scripted": torch.jit.script, "compiled": compiled}
CLOSED |= {"compiled in place": compiled_in_place}


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_part_is_one_box_with_its_own_name_and_the_reason(name, grad):
    model = between(CLOSED[name](layers()))
    with torch.set_grad_enabled(grad):
        expected, picture = model(X), viz.draw(model, X)
    kinds = [("0", "Linear"), ("1", "Sequential"), ("2", "Linear"), ("", "Sequential")]
    assert [(call.path, call.kind) for call in picture.calls] == kinds
    assert "model.1 is one box: " in picture.caption and picture.graph.modules["model.1"]["class"] == "Sequential"
    inside = {op.name for op in picture.graph.ops.values() if op.module == "model.1"}
    assert inside in (INSIDE if grad else [{"Sequential"}])
    assert picture.graph.values[picture.graph.roots[0]].shape == list(expected.shape)


def test_a_compiled_part_is_compiled_as_without_us():
    def graphs(run):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        run(between(torch.compile(layers(), backend="aot_eager")))
        return dict(torch._dynamo.utils.counters["stats"])

    alone = graphs(lambda model: model(X).sum().backward())
    assert alone["unique_graphs"] == 1
    assert graphs(lambda model: viz.draw(model, X, loss=lambda output: output.sum())) == alone
    assert graphs(lambda model: viz.record(lambda: model(X).sum().backward())) == alone


def test_a_compiled_function_is_one_op_of_the_module_that_calls_it():
    torch._dynamo.reset()

    def waves(x):
        return x.sin() * 2

    function = torch.compile(waves, backend="aot_eager")
    _, places = drawn(Calls(lambda x, layer: function(layer(x)), nn.Linear(4, 4)))
    assert places == {"parts.0": ["TBackward0", "AddmmBackward0"], "": ["CompiledFunctionBackward", "SumBackward0"]}
    inputs = {"f": function, "w": X.clone().requires_grad_(), "c": X}
    recording = viz.record("y = f(w)\ny.sum().backward()\nz = f(c)", inputs=inputs)
    assert [(op.function, op.name, op.line) for op in recording.graph.ops.values()] == [
        ("compiled waves", "CompiledFunctionBackward", 1),
        ("sum", "SumBackward0", 2),
        ("compiled waves", "compiled waves", 3),
    ]


@pytest.mark.parametrize("make", ["torch.jit.trace(layer, x)", "torch.export.export(layer, (x,)).module()"])
def test_what_runs_to_be_written_down_is_no_op_of_the_program(make):
    inputs = {"layer": nn.Linear(4, 4), "x": X}
    recording = viz.record(f"f = {make}\nf(x).sum().backward()", engine="torch", inputs=inputs)
    assert recording.error is None and not recording.graph.note
    assert {op.line for op in recording.graph.ops.values()} == {2}


def test_what_is_traced_while_a_program_is_recorded_is_the_program_alone():
    recording = viz.record("f = torch.jit.trace(lambda x: x.sin() * 2, x)\nprint(f.graph)", inputs={"x": X})
    traced = str(torch.jit.trace(lambda x: x.sin() * 2, X).graph)
    assert recording.error is None and traced.count("aten::") == recording.stdout.count("aten::")


def test_a_lazy_model_is_drawn_and_stays_lazy(T):
    model = T.nn.Sequential(T.nn.LazyLinear(3), T.nn.ReLU(), T.nn.LazyLinear(1))
    picture = viz.draw(model, T.ones(8, 4), loss=lambda output: output.sum())
    assert [call.kind for call in picture.calls] == ["Linear", "ReLU", "Linear", "Sequential"]
    assert type(model[0]).__name__ == "LazyLinear" and picture.graph.modules["model.0"]["parameters"] == 15


def test_what_another_thread_makes_is_in_no_box_and_said():
    def together(x, *parts):
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda part: part(x), parts))

    model, said = Calls(together, nn.Linear(4, 4), nn.Linear(4, 4)), "A part of the program ran in another thread"
    picture = viz.draw(model, X)
    assert said in picture.caption and "FLOPs" not in picture.caption
    assert [call.kind for call in picture.calls] == ["Calls"]
    assert viz.record(lambda: model(X).sum().backward()).graph.note.startswith(said)


def test_a_pass_that_is_still_to_come_runs():
    layer, x = nn.Linear(4, 4), X.clone()
    waiting = layer(x).sum()
    viz.draw(Calls(lambda x, part: part(x.mul_(2)), layer), x)
    waiting.backward()


def test_a_parameter_that_is_written_to_without_python_seeing_it_is_named():
    model = Calls(lambda x, part: part(torch.arange(8)), nn.Embedding(9, 4, max_norm=0.5))
    assert viz.draw(model, X).caption.endswith("forward wrote to parts.0.weight, which stays as it is now.")


def test_an_error_that_forward_catches_closes_its_box_and_one_that_it_does_not_names_it():
    def tries(x, wrong, right):
        try:
            return wrong(x)
        except RuntimeError:
            return right(x)

    picture, places = drawn(Calls(tries, nn.Linear(5, 5), nn.Linear(4, 1)))
    assert places == {"parts.0": ["identity"], "parts.1": ["TBackward0", "AddmmBackward0"], "": ["SumBackward0"]}
    assert all(len(op.calls) <= 2 for op in picture.graph.ops.values())
    with pytest.raises(RuntimeError) as raised:
        viz.draw(between(nn.Linear(5, 5)), X)
    said = "viz.draw ran the model: this happened in Sequential.1 (Linear), which was given (8, 4)"
    assert raised.value.__notes__ == [said]
