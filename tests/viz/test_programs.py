"""Programs of every kind, recorded on both engines: each ends as it would unwatched, and can be played."""

import itertools
import json
import xml.etree.ElementTree as ET

import pytest
from support.functions import text_of

import viz
from viz.frames.director import VIEWS
from viz.frames.scene import frame
from viz.recording.recording import from_data

PROGRAMS = {
    "exception in the middle of forward": """\
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
z = y @ T.ones(3)
w = z + 1
""",
    "exception in a hook": """\
x = T.tensor(2.0, requires_grad=True)
y = x * 3
def bad(g):
    raise ValueError('no')
y.register_hook(bad)
(y * 2).backward()
""",
    "exception in custom backward": text_of("F", "return x * 2", "raise RuntimeError('mine')")
    + "x = T.tensor(3.0, requires_grad=True)\ny = F.apply(x) + x\ny.backward()\n",
    "exception in a called function": """\
def f(a):
    b = a * 2
    return b.nope
x = T.tensor(1.0, requires_grad=True)
f(x)
""",
    **{
        f"checkpoint reentrant={how}": f"""\
from torch.utils.checkpoint import checkpoint
x = T.tensor(2.0, requires_grad=True)
def block(a):
    b = a * a
    return b.exp()
y = checkpoint(block, x, use_reentrant={how})
L = y * 3
L.backward()
"""
        for how in (True, False)
    },
    "nested checkpoint": """\
from torch.utils.checkpoint import checkpoint
x = T.tensor(2.0, requires_grad=True)
inner = lambda a: a * a
outer = lambda a: checkpoint(inner, a * 2, use_reentrant=False).sin()
y = checkpoint(outer, x, use_reentrant=False)
y.backward()
""",
    "double backward": """\
x = T.tensor(2.0, requires_grad=True)
y = x ** 3
(g,) = T.autograd.grad(y, x, create_graph=True)
(h,) = T.autograd.grad(g, x, create_graph=True)
h.backward()
""",
    "inputs= and allow_unused=": """\
x = T.tensor(2.0, requires_grad=True)
w = T.tensor(3.0, requires_grad=True)
y = x * w
y.backward(inputs=[w])
g = T.autograd.grad(x * 2, [x, w], allow_unused=True)
""",
    "hooks of every kind": """\
x = T.tensor(2.0, requires_grad=True)
x.register_hook(lambda g: g * 2)
x.register_post_accumulate_grad_hook(lambda p: None)
y = x * 3
y.retain_grad()
h = y.register_hook(lambda g: g + 1)
y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
y.grad_fn.register_hook(lambda gi, go: None)
z = y.exp()
z.backward()
h.remove()
""",
    "views, one written to": """\
x = T.arange(6.0).reshape(2, 3).requires_grad_()
y = x * 1
w = x.view(3, 2).t()
v = y[1:]
v.mul_(5)
(y.sum() + (w * 2).sum()).backward()
""",
    "in-place too late": """\
x = T.tensor(2.0, requires_grad=True)
y = x * 3
z = y * y
y.add_(1)
z.backward()
""",
    "custom with two outputs, one None": text_of(
        "F",
        "ctx.save_for_backward(x, y); ctx.k = k\nreturn x * y * k, x + y",
        "x, y = ctx.saved_tensors\nreturn g * y * ctx.k + h, None, None",
        given="x, y, k",
        came="g, h",
    )
    + """\
x = T.tensor(3.0, requires_grad=True)
y = T.tensor(4.0, requires_grad=True)
a, b = F.apply(x, y, 2)
(a + b).backward()
""",
    "grad modes": """\
x = T.tensor(2.0, requires_grad=True)
with T.no_grad():
    a = x * 2
    with T.enable_grad():
        b = x * 3
with T.inference_mode():
    c = x * 4
d = (x.detach() * 2) + b
d.backward()
""",
    "lists and dicts": """\
p = {'w': T.tensor(2.0, requires_grad=True), 'b': T.tensor(0.5, requires_grad=True)}
h = [p['w'] * 1.0]
for i in range(3):
    h.append((h[-1] * p['w'] + p['b']).tanh())
h[-1].backward()
""",
    "empty and nan and int": """\
e = T.zeros(0, requires_grad=True)
n = T.tensor([float('nan'), float('-inf')], requires_grad=True)
i = T.tensor([1, 2, 3])
b = T.tensor([True, False])
y = e.sum() + (n * 2).sum() + i.sum()
y.backward()
""",
    "nothing": "\n",
    "no grad_fn backward": "x = T.tensor(1.0)\nx.backward()\n",
    "right-to-left": "שלום = T.tensor(2.0, requires_grad=True)\nعربي = שלום * 3\n"
    "d = {'\\u202eevil]]><script>': عربي + 1}\nd['\\u202eevil]]><script>'].backward()",
}
ERRORS = {"exception in the middle of forward": ("RuntimeError", 3, "forward")}
ERRORS |= {
    "exception in a hook": ("ValueError", 4, "backward"),
    "exception in custom backward": ("RuntimeError", 7, "backward"),
}
ERRORS |= {"exception in a called function": ("AttributeError", 3, "forward")}
ERRORS |= {"in-place too late": ("RuntimeError", 5, "backward"), "no grad_fn backward": ("RuntimeError", 2, "backward")}


@pytest.fixture(scope="module", params=itertools.product(PROGRAMS, viz.engines.NAMES), ids="-".join)
def watched(request):
    """The name of a program and its recording."""
    name, engine = request.param
    return name, viz.record(PROGRAMS[name], engine=engine)


def test_it_ends_as_it_would_unwatched_and_survives_json(watched):
    name, recording = watched
    text = recording.to_json()
    assert from_data(json.loads(text)).to_json() == text
    error = recording.error and tuple(recording.error[about] for about in ("type", "line", "phase"))
    assert error == ERRORS.get(name)
    if error or "torch." in PROGRAMS[name]:
        return  # the rest is held where the program can be run a second time as it stands
    T = viz.engines.load(recording.engine).module
    plain = {"T": T, "torch": T}
    exec(PROGRAMS[name], plain)
    for variable, state in recording.tensors.items():
        tensor = plain.get(variable)
        if not isinstance(tensor, T.Tensor):
            continue
        assert_same(state["value"], tensor)
        if state["grad"] is not None:
            assert_same(state["grad"], tensor.grad)


def assert_same(copied, tensor):
    expected = tensor.detach().numpy().tolist()
    assert json.dumps(copied["data"]) == json.dumps(expected)


@pytest.mark.outer
def test_every_step_of_it_is_a_picture_and_patches_name_only_what_is_drawn(watched):
    _name, recording = watched
    scene = recording.scene()
    for view in VIEWS:
        picture = scene["views"][view]
        drawn = {element.get("id") for element in ET.fromstring(picture["svg"]).iter()}
        assert len(picture["patches"]) == len(scene["steps"])
        for key, change in (item for patch in picture["patches"] for item in patch.items()):
            node = f"{picture['id']}-{key}"
            assert {node, *(f"{node}-{slot}" for slot in change.get("text", ()))} <= drawn
        for step in range(0, len(scene["steps"]), 4):
            ET.fromstring(frame(scene, view, step))
    assert all(step["title"] and step["sentence"] for step in scene["steps"])


# PyTorch's own derivative of a power multiplies by a number in C++, which has a node name of its own.
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "double backward"])
def test_both_engines_record_the_same_nodes_and_run_them_in_the_same_order_with_the_same_numbers(name):
    comparison = viz.compare(PROGRAMS[name])
    assert comparison.agree and not comparison.details, repr(comparison)


def test_a_name_of_ten_thousand_letters_is_shortened_where_it_is_shown(engine, tmp_path):
    name = "x" * 10_000
    recording = viz.record(f"{name} = T.tensor(1.0, requires_grad=True)\ny = {name} * 2\ny.backward()", engine=engine)
    assert name in recording.tensors
    texts = [one.text or "" for one in ET.fromstring(recording.picture().svg).iter("{http://www.w3.org/2000/svg}text")]
    assert max(map(len, texts)) < 300
    assert recording.save(tmp_path / "page.html").stat().st_size < 400_000
