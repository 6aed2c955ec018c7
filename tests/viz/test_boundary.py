"""What goes wrong in our observation stays ours: the program goes on as without us, and the recording has a note."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.functions import text_of

import viz
from viz.diagnosis.watching.values import Values
from viz.engines import Torch
from viz.monitor.activations import Activations
from viz.recording.passes import Passes
from viz.recording.reader import Reader
from viz.recording.watch import Watch

COULD_NOT = "viz could not read"
X = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
BEYOND_READING = {
    "func.grad": "print(torch.func.grad(lambda x: (x * x).sum())(x))",
    "jacrev": "print(torch.func.jacrev(lambda x: x.sin() * 2)(x))",
    "hessian": "print(torch.func.hessian(lambda x: (x ** 3).sum())(x))",
    "batched gradients": "print(torch.autograd.grad(x.sin() * 2, x, torch.eye(2), is_grads_batched=True))",
    "jacobian": "print(torch.autograd.functional.jacobian(lambda x: x.sin() * 2, x, vectorize=True))",
    "jagged": "n = torch.nested.as_nested_tensor([x, x * 2], layout=torch.jagged)\n"
    "(n * 2).values().sum().backward()\nprint(x.grad)",
    "view": "b = torch.ones(3)\nwith torch.no_grad():\n    v = b[:2]\nb.mul_(x.sum())\nprint(b)",
}


def alone(program):
    """What a program prints and raises without us."""
    output, raised = io.StringIO(), None
    with contextlib.redirect_stdout(output):
        try:
            exec(program, {"__name__": "__main__"})
        except Exception as error:
            raised = type(error).__name__, str(error)
    return output.getvalue(), raised


@pytest.mark.parametrize("name", BEYOND_READING)
def test_a_tensor_that_cannot_be_read_stops_no_program_and_becomes_a_note(name):
    program = X + BEYOND_READING[name]
    recording = viz.record(program, engine="torch")
    assert (recording.stdout, recording.error) == alone(program)
    assert recording.graph.note.startswith(f"{COULD_NOT} this tensor: ") and recording.graph.ops
    assert COULD_NOT in repr(recording)
    assert recording.to_json() and recording.picture().svg


def test_a_view_whose_history_cannot_be_read_has_its_numbers():
    assert viz.record(X + BEYOND_READING["view"]).tensors["v"]["value"]["data"] == [3.0, 3.0]


def test_a_hook_that_is_given_none_is_recorded():
    program = X + text_of("Nothing", "return x * 2", "return None", engine="torch")
    program += 'y = x * 3\ny.register_hook(lambda gradient: print("hook", gradient))\nNothing.apply(y).sum().backward()'
    recording = viz.record(program)
    assert (recording.stdout, recording.error) == alone(program) and not recording.graph.note
    (hook,) = [event for event in recording.events if event.kind == "hook"]
    assert [gradient.array for gradient in hook.gradients] == [None, None]


OF_EACH_KIND = """
optimizer, clipping, closure, twice, tensor hooks, saved tensor hooks, reentrant checkpoint, jacobian,
in-place on a view, raised exception
""".strip()


@pytest.mark.outer
@pytest.mark.parametrize("most", [5, pytest.param(0, marks=[pytest.mark.long, pytest.mark.timeout(7200)])])
@pytest.mark.parametrize("entry", ["record", "watch", "draw", "diagnose"])
def test_a_program_goes_on_as_without_us_wherever_our_observation_fails(entry, most):
    """Ten programs run with a fault at `most` of the observer's calls, one after the other; 0 is at each."""
    command = [sys.executable, "-m", "support.faults", entry, str(most), *re.split(r",\s", OF_EACH_KIND)]
    tests = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join(map(str, (tests.parent, tests, tests / "viz")))
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("place", [(Reader, "value"), (Watch, "_settle"), (Passes, "watch"), (Torch, "array")])
def test_an_error_of_ours_is_a_note(monkeypatch, place):
    def fails(*arguments, **keywords):
        raise LookupError("ours")

    monkeypatch.setattr(*place, fails)
    recording = viz.record(X + "(x * x).sum().backward()")
    assert recording.error is None and recording.to_json()
    assert recording.graph.note.startswith(COULD_NOT) and recording.graph.note.endswith(": ours")


@pytest.mark.parametrize("place", [(Watch, "_given"), (Values, "value"), (Activations, "called")])
def test_what_a_handler_of_the_program_raises_passes(monkeypatch, place):
    monkeypatch.setattr(*place, lambda *given, **named: signal.raise_signal(signal.SIGTERM))
    model = torch.nn.Linear(2, 2)

    def late(number, frame):
        raise TimeoutError("too late")

    def step():
        try:
            model(torch.ones(2)).sum().backward()
        except TimeoutError:
            raised.append("too late")

    raised, before = [], signal.signal(signal.SIGTERM, late)
    try:
        with viz.watch(model, progress=False) if place[0] is Activations else contextlib.nullcontext():
            {Watch: viz.record, Values: viz.diagnose, Activations: lambda step: step()}[place[0]](step)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert raised
