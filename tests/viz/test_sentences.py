"""What the player says is true: every number in every sentence, over the table of ops that PyTorch and ours share."""

import importlib
import math
import re

import numpy as np
import pytest
from support.functions import text_of
from support.samples import ACTIVATION, EXPONENTIAL, POINTWISE, RANDOM, SAMPLES

import viz
import viz.engines
from viz.frames.scene import frame
from viz.recording import notation

pytestmark = pytest.mark.outer
NUMBER = r"−?(?:\d[\d.]*(?:e−?\d+)?|∞|nan)"
SIGNS = {"×": "*", "÷": "/", "+": "+", "−": "-", "%": "%", "//": "//", "to the power": "**"}
STEP = 1e-6


def number(text):
    return float(text.replace("−", "-").replace("∞", "inf"))


def close(one, other):
    """Equal as far as four digits go."""
    return math.isclose(one, other, rel_tol=3e-3, abs_tol=3e-4)


def recorded(engine, code, arrays, grads):
    T = viz.engines.load(engine).module
    given = {name: T.tensor(array) for name, array in arrays.items()}
    for name in grads:
        given[name].requires_grad_(True)
    rule = importlib.import_module(f"{engine}.nn.functional")
    return viz.record(code, engine=engine, inputs={"F": rule, **given})


def scalars(sample):
    """The first number of each input, or None where a row is not about numbers."""
    arrays = sample.arrays()
    if any(array.dtype.kind != "f" or not array.size for array in arrays.values()):
        return None
    return {name: np.asarray(array.reshape(-1)[-1]) for name, array in arrays.items()}


ROWS = [row for row in POINTWISE + EXPONENTIAL + ACTIVATION if row.code != "F.glu(a)" and scalars(row)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_every_number_a_step_tells_of_an_op_is_right(row, engine):
    arrays = scalars(row)
    grads = [name for name in arrays if row.inputs[name].grad]
    recording = recorded(engine, f"y = {row.code}\nif y.requires_grad: y.backward()", arrays, grads)
    assert recording.error is None
    said = [step["sentence"] for step in recording.scene()["steps"]]

    for sentence in said:
        three = rf"^\(?({NUMBER})\)? (\S+|to the power) \(?({NUMBER})\)? gives \S+ = ({NUMBER})"
        for left, sign, right, result in re.findall(three, sentence):
            assert close(eval(f"({number(left)}){SIGNS[sign]}({number(right)})"), number(result)), sentence
        for upstream, local, product in re.findall(rf"({NUMBER}) · ({NUMBER}) = ({NUMBER})", sentence):
            assert close(number(upstream) * number(local), number(product)), sentence

    slopes = {name: slope(engine, row.code, arrays, name) for name in grads}
    ops = [op for op in recording.graph.ops.values() if op.recorded]
    for name, expected in slopes.items():
        if expected is None or not recording.tensors["y"]["requires_grad"]:
            continue
        added = [s for s in said if "adds" in s and f"{name}.grad" in s]
        assert added, said
        found = re.search(rf"= ({NUMBER}) have met|adds ({NUMBER}) into", added[0])
        assert close(number(found[1] or found[2]), expected), (added, expected)
        if len(ops) == 1:  # then the local derivative is that of the whole program
            sends = [s for s in said if " receives 1 and sends " in s]
            locals_ = re.findall(rf"1 · ({NUMBER}) = {NUMBER} to {name}\b", sends[0])
            assert close(sum(map(number, locals_)), expected), (sends, expected)


def slope(engine, code, arrays, name):
    """The derivative of the program by one input, by central differences; None where the two sides disagree."""
    T = viz.engines.load(engine).module
    rule = importlib.import_module(f"{engine}.nn.functional")

    def at(shift):
        moved = {**arrays, name: arrays[name] + shift}
        return float(eval(code, {"T": T, "F": rule, **{key: T.tensor(array) for key, array in moved.items()}}))

    here, right, left = at(0.0), at(STEP), at(-STEP)
    one, other = (right - here) / STEP, (here - left) / STEP
    return (one + other) / 2 if math.isclose(one, other, rel_tol=1e-2, abs_tol=1e-3) else None


# Inputs that no op tells of: nothing is done with them, or something that no graph has a place for.
UNTOLD = {
    "a.contiguous()": {"a"},
    "a.double()": {"a"},
    "F.dropout(x, 0.0)": {"x"},
    "F.dropout(x, 0.5, training=False)": {"x"},
    "a.expand_as(b)": {"b"},
    "F.l1_loss(a, b, weight=w)": {"w"},
    "F.l1_loss(a, b, weight=w, reduction='sum')": {"w"},
    "F.cross_entropy(x, y, w, reduction='sum')": {"w"},
    "F.margin_ranking_loss(x, y, t, margin=0.5)": {"t"},
    "F.hinge_embedding_loss(x, t)": {"t"},
    "T.cat([a, b], 1)": {"a"},  # it has no numbers
}
FLOATS = [row for row in SAMPLES if row not in RANDOM and any(i.grad for i in row.inputs.values())]


@pytest.mark.filterwarnings("ignore:Using torch.cross without specifying the dim")
@pytest.mark.parametrize("row", FLOATS, ids=lambda row: row.code)
def test_every_input_is_linked_to_an_op_and_gets_the_gradient_that_its_links_show(row, engine):
    arrays = row.arrays()
    grads = [name for name in arrays if row.inputs[name].grad and arrays[name].dtype.kind == "f"]
    code = f"out = {row.code}\nfor one in out if isinstance(out, (tuple, list)) else [out]:\n"
    code += "    if one.requires_grad: one.sum().backward(retain_graph=True)"
    recording = recorded(engine, code, arrays, grads)
    assert recording.error is None
    graph = recording.graph
    key_of = {value.name: key for key, value in graph.values.items() if value.name in arrays}
    linked = {key for op in graph.ops.values() for key in op.inputs}
    untold = {name for name, key in key_of.items() if key not in linked and re.search(rf"\b{name}\b", row.code)}
    assert untold <= UNTOLD.get(row.code, set())

    sent = {}
    for event in recording.events:
        if event.kind == "send":
            for gradient in event.gradients:
                if gradient.array is not None and gradient.array.data is not None:
                    sent.setdefault(gradient.value, []).append(np.array(gradient.array.data))
    for name in grads:
        grad = recording.tensors[name]["grad"]
        if grad is not None and grad["data"] is not None and name not in untold:
            np.testing.assert_allclose(sum(sent[key_of[name]]), grad["data"], rtol=1e-9, equal_nan=True)


def test_a_hook_on_a_module_is_no_op_of_the_program():
    program = "net = T.nn.Linear(1, 1)\nnet.register_full_backward_hook(lambda module, gin, gout: None)\n"
    ops = viz.record(f"{program}y = net(T.ones(2, 1, requires_grad=True))", engine="torch").graph.ops.values()
    assert [notation.symbol(op) for op in ops] == ["module hook", "(·)ᵀ", "A@B + c", "module hook"]


def told(program, engine):
    """The sentences of a program's steps."""
    return [step["sentence"] for step in viz.record(program, engine=engine).scene()["steps"]]


def test_what_a_hook_does_is_told_where_its_gradient_goes_on(engine):
    x = "x = T.tensor(3.0, requires_grad=True)\nx.register_hook(lambda g: g * 10)\n"
    said = told(f"{x}y = x * 2\ny.register_hook(lambda g: None)\n(y + x * 3).backward()", engine)
    assert "a hook on y sees 1 and leaves it; × 2 receives 1 and sends 1 · 2 = 2 to x." in said
    assert said[-3] == "3 + 2 = 5 has arrived at x. A hook on x turns it into 50 and passes that on."
    assert said[-2] == "3 + 2 = 5 have met in the inbox of x; AccumulateGrad runs once and adds 50 into x.grad."
    said = told(f"{x}x.backward()", engine)  # before the pass has its first gradient
    assert said[2].startswith("The backward pass starts at x with the gradient 1:")
    assert said[-3] == "1 has arrived at x. A hook on x turns it into 10 and passes that on."
    assert said[-2] == "AccumulateGrad adds 10 into x.grad."


def test_the_step_of_a_hook_shows_the_gradient_before_and_after_it(engine):
    start = "x = T.tensor(3.0, requires_grad=True)\na = x * 2\n"
    hooked = f"{start}a.register_hook(lambda g: g.clamp(max=5.0))\n(a + a * a).backward()"
    scene = viz.record(hooked, engine=engine).scene()
    (at,) = [number for number, step in enumerate(scene["steps"]) if step["title"] == "Backward: a hook on a"]
    assert scene["steps"][at]["line"] == 3
    assert "grad 1 + 6 + 6" not in frame(scene, "values", at)
    assert "grad 13 → 5" in frame(scene, "values", at)
    assert "grad 13 → 5" in frame(scene, "values", -1)
    assert scene["views"]["values"]["moves"][str(at)][0]["texts"] == ["1 + 6 + 6", "13", "5"]


@pytest.mark.parametrize("through", [True, False])
def test_a_leaf_that_is_sent_none_says_so_and_keeps_what_it_has(engine, through):
    program = text_of("First", "return a * b", "return g * 2, None", given="a, b")
    program += "a = T.tensor(3.0, requires_grad=True)\nb = T.tensor(4.0, requires_grad=True)\n"
    program += f"First.apply(a, b * 1 if {through} else b).backward()\nFirst.apply(a, b).backward()"
    recording = viz.record(program, engine=engine)
    assert recording.tensors["b"]["grad"] is None
    scene = recording.scene()
    said = [step["sentence"] for step in scene["steps"]]
    assert "AccumulateGrad receives no gradient, so b.grad stays None." in said
    for view in scene["views"].values():
        texts = [change.get("text", {}).get("grad") for patch in view["patches"] for change in patch.values()]
        assert {"None: no gradient", ".grad None"} & {*texts}
        assert not {"grad", "grad "} & set(texts)


COUNTED = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", T.tensor(0.0))

    def forward(self, x):
        self.calls += 1
        return {}

net = Net()
for _ in range(2):
    net(T.tensor(3.0))
"""
COUNTS = ["0 + 1 gives net.calls = 1 in place", "1 + 1 gives net.calls = 2 in place"]
ZEROED = """
w = T.tensor(1.0, requires_grad=True)
(w * w).backward()
w.grad = w.grad * 3
(w * w).backward()
w.grad.zero_()
"""
AVERAGED = "bn = T.nn.BatchNorm1d(2)\nx = T.tensor([[10.0, 20.0], [30.0, 60.0]])\ny = bn(x)"


@pytest.mark.parametrize(
    ("program", "line", "said"),
    [
        (COUNTED.format("x"), "self.calls += 1", COUNTS),
        (COUNTED.format("x * self.calls"), "self.calls += 1", COUNTS),
        (ZEROED, "w.grad.zero_()", ["w.grad = 8 now: its memory", "zero of 8 gives w.grad = 0 in place"]),
        (AVERAGED, "y = bn(x)", ["bn.running_mean = [2, 4] now: its memory"]),
    ],
    ids=["a counter", "a counter in use", "a gradient", "running statistics"],
)
def test_what_is_written_in_place_is_told_at_its_line(engine, program, line, said):
    recording = viz.record(program, engine=engine)
    steps = [step for step in recording.scene()["steps"] if any(words in step["sentence"] for words in said)]
    assert [recording.source[step["line"] - 1].strip() for step in steps] == [line] * len(said)


@pytest.mark.parametrize("write", ["w.data -= 0.5 * w.grad", "w.detach().numpy()[()] = 0.5"], ids=["data", "NumPy"])
def test_numbers_that_were_written_without_a_version_are_told_as_they_are(engine, write):
    said = told(f"w = T.tensor(2.0, requires_grad=True)\n(w * 3).backward()\n{write}\ny = w * 3", engine)
    assert "w = 0.5 now: its memory was written to." in said
    assert said[-1].startswith("0.5 × 3 gives y = 1.5")


NORM = "bn = T.nn.BatchNorm1d(2)\nx = T.tensor([[10.0, 20.0], [30.0, 60.0]])\ny = bn(x)\nbn.eval()\nz = bn(x)"
LATE = "w = T.tensor(2.0, requires_grad=True)\ny = w * 3 + w\nwith T.no_grad():\n    w.add_(5)\ny.backward()"
PENALTY = """
W1, W2, x = (T.ones(*shape, requires_grad=True) for shape in ((3, 2), (1, 3), (4, 2)))
y = T.tanh(x @ W1.T) @ W2.T
g = T.autograd.grad(y.sum(), x, create_graph=True)[0]
"""
POWER = """
w, v = T.tensor(3.0, requires_grad=True), T.tensor(2.0, requires_grad=True)
g = T.autograd.grad(w ** 2 * v, w, create_graph=True)[0]
"""
CLIPPED = """
a, b = T.nn.Linear(1, 1), T.nn.Linear(1, 1)
(a(T.full((1, 1), 2.0)) + b(T.full((1, 1), 2.0))).sum().backward()
T.nn.utils.clip_grad_{}"""
PACKED = """
x = T.tensor(3.0, requires_grad=True)
with T.autograd.graph.saved_tensors_hooks(lambda t: t.item(), T.tensor):
    y = x * x
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("b = T.ones(2, 2, requires_grad=True) * 2\nb[0].mul_(3)", "× on a part of b (2, 2) gives b"),
        ("o = T.zeros(3)\no[T.tensor([0, 2])] = T.tensor([1.0, 2.0])", "[1, 2] written into [0, 0, 0] at [0, 2]"),
        ("y = T.nn.functional.dropout(T.ones(3, requires_grad=True), 0.5)", "something of dropout's own"),
        ("m = T.tensor([1.0, 5.0], requires_grad=True).max(dim=0)", "which keeps its indices for"),
        ("x = T.tensor(1.0", "SyntaxError: '(' was never closed"),
        (NORM, "bn.running_mean = [2, 4] now: its memory was written to"),
        (NORM, "[2, 4] and"),
        (LATE, "1 + 3 = 4 have met in the inbox of w"),
        (LATE, "Every gradient has arrived: w.grad = 4."),
        (PACKED, "; a hook receives what it saves for the backward pass."),
        (
            "a, b = T.tensor([1.0, 5.0], requires_grad=True).unbind()\n(a * b).backward()",
            "unbind receives 5 for a and 1 for b and sends [5, 1] to input.",
        ),
        (
            "a, b = T.tensor([1.0, 5.0], requires_grad=True).unbind()\nb.backward()",
            "at b with the gradient 1: b changes",
        ),
        (
            CLIPPED.format("norm_(a.parameters(), 9.0)"),
            "clip_grad_norm_ leaves the gradients of 2 parameters as they are",
        ),
        (CLIPPED.format("norm_(a.parameters(), 1.0)"), "scales the gradients of 2 parameters: a.weight and a.bias."),
        (CLIPPED.format("value_(b.weight, 1.0)"), "clip_grad_value_ clips the gradients of 1 parameter: b.weight."),
        (AVERAGED, "which keeps x, what it worked out, bn.running_mean, bn.running_var and bn.weight for"),
        (PENALTY, " @ W2ᵀᵀ"),
        (POWER, " × 2 gives w¹·2 = 6"),
        ("w = T.ones(2)\nw.add_(1)\nv = w.detach()", "detach of [2, 2] gives v = [2, 2]; it is not recorded"),
    ],
)
def test_what_an_op_did_is_told_in_words(engine, program, said):
    assert any(said in one for one in told(program, engine)), told(program, engine)
