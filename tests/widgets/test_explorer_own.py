"""`viz.explore` of a student's own PyTorch: a step, a notebook's text, a method; switches for each part of it."""

import functools
import json
from typing import Any

import pytest
import torch

import viz
from viz.experiments.edits import edit
from viz.experiments.parts import parts_of
from viz.experiments.program import ProgramError, parse

nn = torch.nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
inputs, labels = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])


def train_step() -> None:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()


class Trainer:
    def __init__(self) -> None:
        self.net = nn.Linear(3, 1)

    def step(self, rate: float = 0.1) -> None:
        loss = (self.net(inputs) * rate).sum()
        loss.backward()


def everything() -> str:
    """All that a run could change, as text."""
    state = [[(name, one.tolist()) for name, one in model.state_dict().items()], str(optimizer.state_dict())]
    flags = [(one.requires_grad, one.grad is None, one._version) for one in model.parameters()]
    hooks = [len(module._forward_hooks) for module in model.modules()]
    hooks += [len(one._backward_hooks or ()) for one in model.parameters()]
    return json.dumps([state, flags, hooks, model.training, torch.get_rng_state().sum().item()])


def explored(program: Any) -> Any:
    made = viz.explore(program)
    made._begin()
    return made


def parts(made: Any) -> set[tuple[str, int, bool]]:
    """What can be frozen: its path, its line, whether the program itself freezes it."""
    switches = made.program["switches"]
    return {(one["path"][1], one["line"], one["own"]) for one in switches if one["path"][0] == "frozen"}


def gradients(made: Any) -> dict[str, str]:
    return {row["name"]: row["grad"]["torch"] for row in made.result["table"]}


def test_a_step_runs_on_pytorch_alone_and_leaves_everything_as_it_was() -> None:
    before, made = everything(), explored(train_step)
    code = ["optimizer.zero_grad()", "loss = nn.functional.cross_entropy(model(inputs), labels)"]
    assert made.result["code"] == [*code, "loss.backward()", "optimizer.step()"]
    assert made.view == "modules"
    assert made.result["verdict"]["label"].endswith("alone")
    assert "tinygrad_edu cannot run it" in made.result["verdict"]["compared"]
    assert everything() == before


def test_to_freeze_and_thaw_gives_the_same_bit_for_bit() -> None:
    before, made = everything(), explored(train_step)
    first = json.dumps([made.result["table"], made.modules_pictures])
    made.state = {"frozen": {"model.body": True}}
    assert made.result["code"][0] == "model.body.requires_grad_(False)"
    assert "model.body is frozen" in made.result["account"]
    assert gradients(made)["model.body.0.weight"] == "None: requires no grad"
    assert "None" not in gradients(made)["model.head.weight"]
    made.state = {"frozen": {"model.body": True, "model.body.0.bias": False}}
    assert made.result["code"][:2] == ["model.body.requires_grad_(False)", "model.body[0].bias.requires_grad_(True)"]
    assert "None" not in gradients(made)["model.body.0.bias"]
    made.state = {}
    assert json.dumps([made.result["table"], made.modules_pictures]) == first
    assert everything() == before


def test_a_line_is_left_out_and_a_network_evaluated() -> None:
    made = explored(train_step)
    made.state = {"skipped": [4], "evaluated": ["model"]}
    assert made.result["code"][0] == "model.eval()"
    assert made.result["code"][-1] == "# optimizer.step()"
    assert "model is in eval mode, line 4 is left out" in made.result["account"]
    assert model.training


def test_a_network_made_by_the_text_is_frozen_behind_its_line() -> None:
    text = "import torch\nnet = torch.nn.Linear(2, 1)\nloss = net(torch.ones(3, 2)).sum()\nloss.backward()"
    made = explored(text)
    assert parts(made) == {("net", 2, False), ("net.weight", 2, False), ("net.bias", 2, False)}
    made.state = {"frozen": {"net.weight": True}}
    assert made.result["code"][2] == "net.weight.requires_grad_(False)"
    assert made.result["verdict"]["agree"], "both engines run what makes all that it uses"
    made.request = {"state": {}, "text": "\n".join(made.result["code"]).replace(".sum()", ".mean()")}
    assert made.result["state"]["frozen"] == {"net.weight": True}, "an edit by hand keeps the switch"
    assert not any(frozen for _, _, frozen in parts(made)), "the program itself freezes nothing"


def test_text_takes_what_it_does_not_make_from_its_caller() -> None:
    made = explored("loss = model(inputs).sum()\nloss.backward()")
    assert made.program["given"] == "# given: inputs, model"
    assert not made.result["errors"]


@pytest.mark.parametrize("program", [train_step, "loss = model(inputs).sum()\nloss.backward()"])
def test_an_edit_takes_what_is_there_by_then(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explored(program)
    monkeypatch.setitem(globals(), "later", nn.Linear(3, 1))
    explorer.request = {"state": {}, "text": "loss = later(inputs).sum()\nloss.backward()"}
    assert explorer.result["errors"] == [] and ("later.weight", 0, False) in parts(explorer)


def test_a_method_is_a_program() -> None:
    trainer = Trainer()
    made = explored(trainer.step)
    assert made.result["code"] == ["loss = (self.net(inputs) * rate).sum()", "loss.backward()"]
    assert not made.result["errors"]
    assert trainer.net.weight.grad is None


def test_a_result_of_another_cell_is_refused_with_a_way_out() -> None:
    hidden = model(inputs)
    with pytest.raises(ProgramError, match="hidden is the result of another cell"):
        viz.explore("hidden.sum().backward()")
    assert hidden.grad_fn is not None


def test_hooks_of_a_run_do_not_add_up() -> None:
    before = everything()
    made = explored("h = model.head.weight.register_hook(print)\nmodel(inputs).sum().backward()")
    made.state = {"frozen": {"model.body": True}}
    assert everything() == before


@pytest.mark.parametrize(("path", "spelled"), [("m.a.0.b", "m.a[0].b"), ("m", "m")])
def test_a_path_is_written_as_python(path: str, spelled: str) -> None:
    program = parse("y = m(x)", {"m": model, "x": inputs})
    assert edit(program, {"frozen": {path: True}}).source.splitlines()[0] == f"{spelled}.requires_grad_(False)"


def test_only_a_network_with_a_name_has_switches() -> None:
    recording = viz.record("import torch\nloss = torch.nn.Linear(2, 1)(torch.ones(2)).sum()")
    assert parts_of(parse("\n".join(recording.source)), recording, {}) == []
    with pytest.raises(ProgramError, match="no line makes net"):
        edit(parse("\n".join(recording.source)), {"frozen": {"net": True}})


def test_the_only_line_of_a_block_becomes_pass() -> None:
    program = parse("for _ in range(2):\n    optimizer.step()", {"optimizer": optimizer})
    assert edit(program, {"skipped": [2]}).source.splitlines()[1] == "    pass  # optimizer.step()"


def test_a_call_of_a_function_shows_the_function() -> None:
    assert explored("train_step()").result["code"][0] == "optimizer.zero_grad()"


def test_what_a_text_reaches_through_functions_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "run", functools.partial(lambda: train_step()))
    before = everything()
    assert explored("run()").result["verdict"]["agree"] is None, "it runs on PyTorch alone"
    assert everything() == before


def test_playing_a_step_leaves_everything_as_it_was() -> None:
    before = everything()
    assert viz.play(train_step).scene["steps"]
    assert everything() == before
