"""What goes wrong in our observation stays ours: the program goes on as without us, and the recording has a note."""

import contextlib
import io
import itertools

import pytest

import viz
from viz.engines import Torch
from viz.recording.passes import Passes
from viz.recording.reader import Reader
from viz.recording.record import Recorder
from viz.recording.watch import Watch

COULD_NOT = "viz could not read"
X = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
BEYOND_READING = {
    "func.grad": "print(torch.func.grad(lambda x: (x * x).sum())(x))",
    "jacrev": "print(torch.func.jacrev(lambda x: x.sin() * 2)(x))",
    "hessian": "print(torch.func.hessian(lambda x: (x ** 3).sum())(x))",
    "batched gradients": "print(torch.autograd.grad(x.sin() * 2, x, torch.eye(2), is_grads_batched=True))",
    "jacobian": "print(torch.autograd.functional.jacobian(lambda x: x.sin() * 2, x, vectorize=True))",
    "jagged": "n = torch.nested.as_nested_tensor([x, x * 2], layout=torch.jagged)\n(n * 2).values().sum().backward()\nprint(x.grad)",
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
    program = f"""{X}
class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return None
y = x * 3
y.register_hook(lambda gradient: print("hook", gradient))
Nothing.apply(y).sum().backward()
"""
    recording = viz.record(program)
    assert (recording.stdout, recording.error) == alone(program) and not recording.graph.note
    (hook,) = [event for event in recording.events if event.kind == "hook"]
    assert [gradient.array for gradient in hook.gradients] == [None, None]


PROGRAMS = {
    "two passes": f"""{X}
x.register_hook(lambda gradient: gradient * 2)
x.register_hook(lambda gradient: print(gradient))
for step in range(2):
    y = (x * x.sin()).sum()
    y.backward()
    print(step, y.item(), x.grad)
""",
    "training": """import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = (model(torch.ones(4, 2)) ** 2).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    print(loss.item(), [parameter.grad.norm().item() for parameter in model.parameters()])
""",
    "its own error": f"""{X}
y = x.exp()
try:
    y.backward()
except RuntimeError as error:
    print(error)
(first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print(first, torch.autograd.grad(first.sum(), x))
y.sum().backward()
y.sum().backward()
""",
}
ENTRIES = [
    *((Reader, name) for name in ("value", "node", "bind", "copy", "numbers", "match", "_fill")),
    *((Watch, name) for name in ("_settle", "_ran", "_arguments", "_met_op", "_tensors", "_did_whole", "_gradient")),
    *((Passes, name) for name in ("watch", "watch_leaf", "watched_hook", "start", "end", "_check_freed", "reach")),
    (Recorder, "_state"),
    *((Torch, name) for name in ("array", "node", "dtype", "device")),
]


@pytest.fixture(scope="module")
def without_us():
    """What each program prints, and what it raises."""
    return {name: alone(program) for name, program in PROGRAMS.items()}


@pytest.mark.parametrize("home, name", ENTRIES, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_the_program_goes_on_as_without_us_wherever_our_observation_fails(monkeypatch, without_us, home, name):
    whole, used = getattr(home, name), 0
    for program, expected in without_us.items():
        calls = itertools.count()

        def entry(*arguments, calls=calls, **keywords):
            if next(calls) == 1:
                raise LookupError("ours")
            return whole(*arguments, **keywords)

        with monkeypatch.context() as patched:
            patched.setattr(home, name, entry)
            recording = viz.record(PROGRAMS[program])
        error = recording.error
        assert (recording.stdout, error and (error["type"], error["message"])) == expected
        if next(calls) > 1:
            used += 1
            assert recording.graph.note.startswith(COULD_NOT) and recording.graph.note.endswith(": ours")
        assert recording.to_json()
    assert used


def test_interrupts_pass(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Reader, "_fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        viz.record(X)
