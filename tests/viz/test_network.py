"""A network drawn by its modules: every box and link is there, an opened box makes room, gradients have their sizes."""

import functools
import itertools
import math
import re

import pytest
from support.models import MODELS
from support.networks import NETWORKS

import viz
from viz import engines
from viz.frames import network as views
from viz.frames.scene import scene
from viz.picture import network as networks
from viz.picture.boxes import LOOPS, MANY, ROOT, RUNNING, Boxes, Drawn
from viz.picture.fit import BESIDE
from viz.picture.nested import compose
from viz.picture.recurrence import Part, unrolled
from viz.picture.svg import MARGIN
from viz.picture.theme import SIZE, text_width

pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def recordings():
    """Each network on each engine, recorded once."""

    @functools.cache
    def of(name, engine):
        with engines.load(engine).seeded(0):
            return viz.record(NETWORKS[name], engine=engine)

    return of


def modules_of(whole):
    return [key for key, unit in whole.units.items() if unit.kind == "module" and key != ROOT]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_op_stands_in_one_box_inside_its_module_and_every_link_ends_at_a_box(recordings, engine, name):
    graph = recordings(name, engine).graph
    whole, hidden = networks.network(graph), Drawn(graph).hidden
    for op in graph.ops.values():
        if op.key in hidden:
            continue
        assert whole.units[whole.unit_of[op.key][-1]].kind in RUNNING
        around = [whole.units[key].title for key in whole.unit_of[op.key] if whole.units[key].kind == "module"]
        assert not op.module or op.module in around
    for key in [ROOT, *modules_of(whole)]:
        unit = whole.units[key]
        assert all(tail != head and max(tail, head) < len(unit.children) for tail, head in unit.links)


def overlap(one, other):
    (_, x, y, w, h, _), (_, a, b, v, g, _) = one, other
    return abs(x - a) < (w + v) / 2 - 0.5 and abs(y - b) < (h + g) / 2 - 0.5


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("how", ["first", "all", "every other"])
def test_boxes_that_open_in_their_places_cover_no_other_box(recordings, name, how):
    whole = networks.network(recordings(name, "tinygrad_edu").graph)
    opened = {"first": whole.first, "all": modules_of(whole), "every other": modules_of(whole)[::2]}[how]
    shown = compose(whole, opened)
    siblings = itertools.groupby(sorted(shown.boxes, key=lambda box: str(box[0].parent)), lambda box: box[0].parent)
    for _, group in siblings:
        for one, other in itertools.combinations(list(group), 2):
            assert not overlap(one, other), (one[0].title, other[0].title)
    places = {box[0].key: box for box in shown.boxes}
    for unit, x, y, w, h, _ in shown.boxes:
        if unit.parent != ROOT:
            _, a, b, v, g, _ = places[unit.parent]
            assert abs(x - a) + w / 2 <= v / 2 + 0.5 and abs(y - b) + h / 2 <= g / 2 + 0.5, unit.title


def test_what_stood_above_a_box_stands_above_it_when_one_opens(recordings):
    whole = networks.network(recordings("U-Net", "tinygrad_edu").graph)

    def ends(opened):
        return {unit.key: (y - h / 2, y + h / 2) for unit, _, y, _, h, _ in compose(whole, opened).boxes}

    before = ends(whole.first)
    inside = [key for key in modules_of(whole) if key not in whole.first and key in before]
    after = ends([*whole.first, inside[1], inside[4]])
    above = [(one, other) for one in before for other in before if before[one][1] <= before[other][0]]
    assert len(above) > 20
    assert all(after[one][1] <= after[other][0] + 0.5 for one, other in above)


@pytest.mark.parametrize("name", NETWORKS)
def test_both_engines_show_the_same_modules(recordings, name):
    def seen(engine):
        whole = networks.network(recordings(name, engine).graph)
        boxes = [unit for unit in map(whole.units.get, modules_of(whole)) if not unit.fold]
        # PyTorch's attention multiplies with the weights of its `out_proj` and never calls it.
        boxes = [unit for unit in boxes if not unit.title.endswith("attn.out_proj")]
        return [(unit.title, [row for row in unit.rows if row[0] != "shape"]) for unit in boxes]

    assert seen("tinygrad_edu") == seen("torch")


RECURRENT = """
class Loop(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high, self.head = T.nn.LSTMCell(3, 4), T.nn.LSTMCell(4, 4), T.nn.Linear(4, 1)

    def forward(self, x):
        h = c = k = d = T.zeros(2, 4)
        total = 0
        for t in range(5):
            h, c = self.low(x[t], (h, c))
            k, d = self.high(h, (k, d))
            total = total + self.head(k).mean()
        return total

model = Loop()
loss = model(T.randn(5, 2, 3))
loss.backward()"""

BARE = """
cell, x, h = T.nn.RNNCell(3, 4), T.randn(4, 2, 3), T.zeros(2, 4)
for t in range(4):
    h = cell(x[t], h)
loss = h.sum()
loss.backward()"""


PROGRAM_ROWS = [(NETWORKS["RNN language model"], {"model.embedding": 4, "model.cell": 4, "model.decoder": 4})]
PROGRAM_ROWS += [(RECURRENT, {"model.low": 5, "model.high": 5, "model.head": 5}), (BARE, {"cell": 4})]


@pytest.mark.parametrize(("program", "rows"), PROGRAM_ROWS, ids=["language model", "two layers", "no module around"])
@pytest.mark.parametrize("opened", ["first", "a step"])
def test_the_steps_of_a_recurrence_are_columns_and_a_module_has_one_row(engine, program, rows, opened):
    whole = networks.network(viz.record(program, engine=engine).graph, rooms=((1900.0, 900.0),))
    around = {whole.units[key].parent for key in modules_of(whole) if whole.units[key].title in rows}
    extra = [next(key for key in modules_of(whole) if whole.units[key].title in rows)] if opened == "a step" else []
    boxes = {box[0].key: box for box in compose(whole, [*whole.first, *around, *extra]).boxes}
    modules = {key: unit.title for key, unit in whole.units.items() if unit.kind == "module"}
    runs = {title: [key for key, own in modules.items() if own == title] for title in rows}
    assert {title: len(keys) for title, keys in runs.items()} == rows
    for keys in runs.values():
        assert len({round(boxes[key][2]) for key in keys}) == 1
    columns = [[boxes[key] for key in step] for step in zip(*runs.values(), strict=True)]
    for one, other in itertools.pairwise(columns):
        assert max(x + w / 2 for _, x, _, w, _, _ in one) < min(x - w / 2 for _, x, _, w, _, _ in other)
    for keys in runs.values():  # each step has the parameters that all of them use
        leaves = [unit for unit in whole.units.values() if unit.kind == "leaf"]
        inside = [{unit.value for unit in leaves if unit.parent == key} for key in keys]
        assert inside[0] and all(one == inside[0] for one in inside)


def test_what_an_lstm_cell_does_is_inside_its_box_on_both_engines():
    def steps(engine):
        whole = networks.network(viz.record(RECURRENT, engine=engine).graph)
        model = next(unit for unit in whole.units.values() if unit.title == "model")
        return [whole.units[key].title for key in model.children if whole.units[key].kind not in ("leaf", "port")]

    assert steps("tinygrad_edu") == steps("torch")


def test_each_call_of_a_module_in_a_loop_is_a_box_and_a_loop_in_its_forward_divides_none(engine):
    program = """
class Twice(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = T.nn.RNNCell(3, 4)
    def forward(self, x, h):
        for _ in range(2):
            h = self.cell(x, h)
        return h
twice = Twice()
h = T.zeros(2, 4)
for x in T.ones(3, 2, 3):
    h = twice(x, h)
h = twice(x, twice(x, h))
h.sum().backward()"""
    units = networks.network(viz.record(program, engine=engine).graph).units.values()
    assert [sum(unit.title == title for unit in units) for title in ("twice", "twice.cell")] == [5, 10]
    folded = Boxes(Drawn(viz.record(program, engine=engine).graph), (), LOOPS)
    weights = {folded.weight(unit) for unit in folded.units.values() if unit.kind == "module" and unit.key != ROOT}
    assert weights - {0} == {3 * 4 + 4 * 4 + 8}  # once, however many calls a box stands for


def test_a_loop_of_two_steps_that_differ_folds_into_one_box_with_its_optimizer(engine):
    program = """
net, x = T.nn.Linear(2, 2), T.ones(3, 2)
optimizer = T.optim.SGD(net.parameters(), lr=0.1)
for factor in (1, 2):
    loss = (net(x) * factor).sum() + (factor - 1)
    loss.backward()
    optimizer.step()"""
    folded = Boxes(Drawn(viz.record(program, engine=engine).graph), (), LOOPS)
    running = [folded.units[key] for key in folded.units[ROOT].children if folded.units[key].ops]
    assert [(unit.title, unit.kind) for unit in running] == [("2 steps", "module")]
    assert all(tail != head for unit in folded.units.values() for tail, head in unit.links)


def test_the_result_of_a_layer_of_the_library_stands_beside_it():
    program = "net, criterion = T.nn.Linear(2, 3), T.nn.CrossEntropyLoss()\n"
    program += "loss = criterion(net(T.ones(4, 2)), T.tensor([0, 1, 2, 0]))"
    whole = networks.network(viz.record(program).graph)
    result = next(unit for unit in whole.units.values() if unit.kind == "value")
    assert (result.title, result.parent) == ("loss", "root")
    root = whole.units["root"]
    tails = [root.children[tail] for tail, head in root.links if root.children[head] == result.key]
    assert [whole.units[tail].title for tail in tails] == ["criterion"]


LOOP = """import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()"""


def test_of_a_training_loop_that_is_folded_the_first_step_and_the_last_loss_are_shown():
    whole = networks.network(viz.record(LOOP).graph)
    steps = [unit for unit in whole.units.values() if unit.rest]
    assert [unit.title for unit in steps] == ["5 more steps"] and steps[0].parent == "root"
    losses = [unit for unit in whole.units.values() if unit.kind == "value"]
    assert [(unit.title, unit.parent) for unit in losses] == [("loss", "root")] * 2


def test_what_does_not_fit_beside_its_user_stands_above_it():
    import torch

    model, given, loss = MODELS["LeNet"](torch)
    whole = viz.draw(model, given, loss=loss)._network[3]
    spots = {unit.title: spot for unit, *spot, _ in compose(whole, whole.first).boxes}
    (x, y, *_), (middle, center, _, height) = spots["x"], spots["model"]
    assert x == pytest.approx(middle, abs=1) and y < center - height / 2


def test_what_a_call_arranges_is_in_the_box_of_its_op_and_what_the_program_calls_is_not():
    import torch

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.query(x) @ self.key(x).transpose(1, 2)

    def ops(graph, around):
        whole = networks.network(graph)
        inside = next(unit for unit in whole.units.values() if unit.title.endswith(around)).children
        return [[text for _, _, text in whole.units[one].rows] for one in inside if whole.units[one].kind in RUNNING]

    model, x = Attention(), torch.ones(4, 5, 3)
    called = viz.draw(model, x).graph
    assert ops(called, "model") == [["(·)ᵀ", "(4, 2, 5)"], ["@", "(4, 5, 5)"]]
    assert ops(called, "query") == [["A@B + c", "(4, 5, 2)"]]
    drawn = networks.network(viz.draw(model(x)).graph).units.values()
    assert {"@", "(·)ᵀ"} < {unit.title for unit in drawn} and "expand" not in {unit.title for unit in drawn}
    plain = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(3, 2, bias=False))
    guessed = viz.draw(plain(x)).graph  # of a Linear its `t` alone uses a parameter
    assert {op.name for op in guessed.ops.values() if op.module == "plain.1"} >= {"MmBackward0", "TBackward0"}
    cell = viz.draw(torch.nn.LSTMCell(3, 2), torch.ones(4, 3), (torch.ones(4, 2), torch.ones(4, 2))).graph
    assert [name for name, *_ in ops(cell, "LSTMCell")].count("(·)ᵀ") == 0


def test_an_activation_that_is_used_again_and_again_is_no_recurrence(engine):
    program = """
act = T.nn.ReLU()
net = T.nn.Sequential(T.nn.Linear(4, 4), act, T.nn.Linear(4, 4), act, T.nn.Linear(4, 4), act)
loss = net(T.ones(2, 4)).sum()
"""
    whole = networks.network(viz.record(program, engine=engine).graph)
    net = next(unit for unit in whole.units.values() if unit.title == "net")
    units = [whole.units[key] for key in net.children]
    parts = [Part(unit.size, unit.title, True, "Linear" in str(unit.rows)) for unit in units]
    assert unrolled(parts, net.links) is None


DEEP = """
layers = [T.nn.Linear(4, 4, bias=False) for _ in range(12)]
net = T.nn.Sequential(*(part for layer in layers for part in (layer, T.nn.Sigmoid())))
with T.no_grad():
    for layer in layers:
        layer.weight.copy_(T.eye(4) * 0.1)
loss = net(T.ones(2, 4)).sum()
loss.backward()
"""


def test_where_a_gradient_vanishes_is_seen_at_once(engine):
    view = viz.record(DEEP, engine=engine).scene()["views"]["modules"]
    units, last = view["network"]["units"], {}
    for patch in view["network"]["patches"]:
        last.update(patch)
    shades = {
        unit["t"]: int(re.search(r"lv(\d)", last[key][0])[1])
        for key, unit in units.items()
        if unit["k"] == "module" and any("Linear" in text for _, _, text in unit["r"])
    }
    order = [shades[f"net.{2 * number}"] for number in range(12)]
    assert order == sorted(order)
    assert (order[0], order[-1]) == (0, 6) or order[-1] - order[0] >= 5


def test_a_module_s_gradient_is_that_of_its_parameters_together(engine):
    program = "lin = T.nn.Linear(2, 1)\nloss = lin(T.tensor([[3.0, 4.0]])).sum()\nloss.backward()"
    view = viz.record(program, engine=engine).scene()["views"]["modules"]["network"]
    key = next(key for key, unit in view["units"].items() if unit["t"] == "lin")
    said = [patch[key][1] for patch in view["patches"] if key in patch and patch[key][1]][-1]
    assert said == f"grad {math.sqrt((9 + 16 + 1) / 3):.2g}"


TWICE = """
net = T.nn.Linear(2, 1)
opt = T.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(T.full((4, 2), 5.0 * step + 3)).mean() - 2 * net(T.ones(4, 2)).mean()
    opt.zero_grad()
    loss.backward()
    {}"""
FROZEN = """
net = T.nn.Linear(2, 1)
for free in (False, True):
    net.requires_grad_(free)
    (net(T.full((1, 2), 3.0)) * T.ones(1, requires_grad=True)).sum().backward()"""
GIVEN = """
net = T.nn.Linear(2, 1)
given = (T.ones(1, 2) * 3).requires_grad_(True)
net(given).sum().backward()"""


def test_the_ends_of_a_legend_are_in_the_picture():
    legend = [["size of gradient (rms): parameters", "1e−3", "1e0"], ["results", "1e−3", "1e0"]]
    whole = networks.network(viz.record("y = T.tensor(1.0, requires_grad=True) * 2").graph)
    picture = networks.svg_of(whole, whole.first, "x", {}, "", legend=legend)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture)[1])
    ends = [float(x) for x in re.findall(r'<text class="small" x="(\d+)" y="[\d.]+">1e0', picture)]
    assert len(ends) == 2 and all(MARGIN + x + text_width("1e0", SIZE["small"]) <= width for x in ends)


def test_of_the_steps_that_are_folded_the_first_op_is_named_as_it_is():
    program = "w = T.ones(2, 3, requires_grad=True)\ny = w.t()\n"
    program += "for _ in range(5):\n    y = ((y.t() @ y).sum() + y.t().exp()).t().tanh()"
    units = Boxes(Drawn(viz.record(program).graph), (), LOOPS).units.values()
    below = [text for unit in units if unit.rest for slot, _, text in unit.rows if slot == "class"]
    assert below and all(text.startswith("(·)ᵀ, ") for text in below)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (TWICE.format("opt.step()"), ["grad 1", "grad 1", "grad 4.9", "grad 4.9"]),  # (1, 1, −1), then (6, 6, −1)
        (TWICE.format("pass"), ["grad 1", "grad 1", "grad 4.9", "grad 4.9"]),
        (FROZEN, ["", "grad 2.5"]),
        (GIVEN, ["grad 2.5"]),  # and not what `given` has, too
    ],
    ids=["called twice, moved", "called twice", "frozen", "a given leaf"],
)
def test_a_call_has_the_gradient_of_the_passes_through_it(engine, program, told):
    view = viz.record(program, engine=engine).scene()["views"]["modules"]["network"]
    last = {key: text for patch in view["patches"] for key, (_, text) in patch.items()}
    assert [last[key] for key, unit in view["units"].items() if unit["t"] == "net"] == told


def test_a_drawn_network_is_boxes_of_modules_and_a_tied_weight_belongs_to_both(T):
    class Tied(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = T.nn.Embedding(5, 3), T.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    model = Tied()
    units = viz.draw(model, T.tensor([1, 2]))._network[3].units.values()
    said = {unit.title: row[2] for unit in units if unit.kind == "module" for row in unit.rows if row[0] == "tied"}
    assert said == {"model.embedding": "= head.weight", "model.head": "= embedding.weight"}
    loss = model(T.tensor([1, 2])).sum()
    loss.backward()
    picture = viz.draw(loss, module=model)
    assert picture.view == "modules"
    for words in (">embedding<", ">Embedding<", ">head<", ">Linear<", ">15 parameters<", ">size of gradient (rms)<"):
        assert words in picture.svg
    html = picture._repr_mimebundle_()["text/html"]
    assert "vizNetwork(host," in html
    assert "<img alt=" in html
    assert viz.draw(loss, module=model, view="values").view == "values"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_file_of_a_network_is_small_and_shows_its_modules(recordings, tmp_path, theme):
    pillow = pytest.importorskip("PIL.Image")
    text = recordings("GPT", "tinygrad_edu").save(tmp_path / "gpt.svg", theme=theme).read_text()
    assert "2 × Block" in text
    long = "y = T.tensor(1.0, requires_grad=True)\nfor i in range(40):\n    y = (y * 1.1).sin()\n    y = y + i"
    for recording in (recordings("GPT", "tinygrad_edu"), viz.record(long)):
        with pillow.open(recording.save(tmp_path / "drawn.png", theme=theme)) as image:
            assert max(image.size) <= 4000


def test_an_unknown_view_lists_the_known_ones(tmp_path):
    plain = viz.record("x = T.tensor(1.0)")
    with pytest.raises(ValueError, match="this one runs none"):
        plain.save(tmp_path / "x.png", view="modules")
    with pytest.raises(ValueError, match="'modules', 'values', 'grad_fn'"):
        plain.save(tmp_path / "x.png", view="tree")
    assert "modules" not in plain.scene()["views"]


def test_the_steps_of_a_scene_mark_what_runs_and_the_boxes_around_it(recordings):
    scene = recordings("MLP", "torch").scene()
    view = scene["views"]["modules"]["network"]
    assert len(view["patches"]) == len(scene["steps"])
    model = next(key for key, unit in view["units"].items() if unit["t"] == "model")
    inside = [number for number, step in enumerate(scene["steps"]) if "in model" in step["title"]]
    assert inside
    assert all("now" in view["patches"][number][model][0] for number in inside)
    assert views.details(view)[model][0] == ["module", "model"]


def test_what_a_module_is_given_comes_from_outside_and_what_it_makes_from_inside(engine):
    source = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.Tanh())
    def forward(self, pair, *, scale):
        x, = pair
        half = T.full((3,), 0.5)
        return self.body(x) * half * scale
net = Net()
net((T.ones(2, 4),), scale=T.tensor(2.0)).sum().backward()
T.nn.Linear(3, 1)(T.zeros(5, 3)).sum().backward()"""
    values = viz.record(source, engine=engine).graph.values.values()
    homes = {tuple(value.shape): value.home for value in values if value.kind == "input"}
    assert homes == {(2, 4): "", (3,): "net", (): "", (5, 3): ""}


@pytest.mark.parametrize("inside", ["T.nn.Linear(4, 8)", "T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU())"])
def test_the_data_of_a_module_without_a_name_is_drawn_in_front_of_it(engine, inside):
    recording = viz.record(f"loss = {inside}(T.ones(2, 4)).sum()\nloss.backward()", engine=engine)
    units = scene(recording, rooms=(BESIDE,))["views"]["modules"]["network"]["units"]
    outermost = [units[key] for key in units["root"]["c"]]
    assert [unit["r"][-1][2] for unit in outermost if unit["k"] == "input"] == ["(2, 4)"]


CHANGED = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = T.nn.ModuleList([T.nn.Linear(4, 4) for _ in range(8)])
    def forward(self, x):
        for layer in self.layers:
            x = T.relu(layer(x)) * 2 + 1
        return x
net = Net()
a = net(T.ones(2, 4)) * 2
b = a.exp()
{}
loss = (((c * 3).tanh() + a).sigmoid().log() ** 2).sum()
loss.backward()"""


@pytest.mark.parametrize("width", [300.0, 420.0, 560.0, 900.0])
def test_what_a_change_folds_or_cuts_has_its_place_after_it(engine, width):
    known = {}
    lines = ["c = b + 1", "c = b.detach()", "with T.no_grad():\n    c = b + 1", "c = b + 1"]
    for line in lines:
        graph = viz.record(CHANGED.format(line), engine=engine).graph
        whole = networks.network(graph, rooms=((width, 250.0),), known=known)
        assert [unit.kind for unit in whole.units.values()].count("cut") == (line != lines[0])
        for key in [ROOT, *modules_of(whole)]:
            assert len(whole.inside(key).spots) == len(whole.units[key].children)


@pytest.mark.parametrize("room", [(1200.0, 250.0), (480.0, 250.0)])
def test_what_a_module_is_given_stands_before_it_and_all_is_in_sight(engine, room):
    source = """
g, d = T.nn.Linear(2, 2), T.nn.Linear(2, 1)
z = T.ones(3, 2)
fake = g(z)
loss = (d(fake.detach()).sigmoid().log() + d(fake).sigmoid().exp()).sum()
loss.backward()"""
    whole = networks.network(viz.record(source, engine=engine).graph, rooms=(room,))
    at = {unit.title: (middle, wide) for unit, middle, _, wide, _, _ in compose(whole, [ROOT]).boxes}
    (z, wide), (g, width) = at["z"], at["g"]
    assert z + wide / 2 < g - width / 2
    shown = compose(whole, whole.first)
    assert shown.width <= room[0] and shown.height <= room[1]


@pytest.mark.parametrize("layers", [3, 4])
def test_on_a_phone_the_layers_of_a_network_stand_below_each_other(engine, layers):
    source = f"""
net = T.nn.Sequential(*(layer for _ in range({layers}) for layer in (T.nn.Linear(8, 8), T.nn.ReLU())))
target = T.ones(2, 8)
loss = ((net(T.ones(2, 8)) - target) ** 2).mean()
loss.backward()"""
    graph = viz.record(source, engine=engine).graph
    whole = networks.network(graph, rooms=((348.0, 574.0),))
    shown = compose(whole, whole.first)
    assert shown.width <= 348 and shown.height <= 574
    lows = [y for n in range(layers) for unit, _, y, *_ in shown.boxes if unit.title == f"net.{2 * n}"]
    assert len(lows) == layers and lows == sorted(lows) and lows[0] < lows[-1]


def test_a_u_net_goes_down_on_the_left_and_up_on_the_right(engine):
    source = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("a", "b", "c", "d", "e"):
            setattr(self, name, T.nn.Linear(4, 4))
        self.tanh = T.nn.Tanh()
    def forward(self, x):
        one = self.a(x)
        two = self.b(self.tanh(one))
        low = self.tanh(self.c(self.tanh(two)))
        return self.e(self.d(low + two) + one)
net = Net()
net(T.ones(2, 4)).sum().backward()"""
    whole = networks.network(viz.record(source, engine=engine).graph, rooms=((400.0, 600.0),))
    (model,) = [key for key in whole.units[ROOT].children if whole.units[key].kind == "module"]
    inside = [box for box in compose(whole, [ROOT, model]).boxes if box[0].parent == model]
    at = {unit.title.removeprefix("net."): (x, y) for unit, x, y, *_ in inside}
    assert at["a"][1] < at["b"][1] < at["c"][1] > at["d"][1] > at["e"][1]
    assert max(at["a"][0], at["b"][0]) < min(at["d"][0], at["e"][0])


def test_where_height_is_short_a_target_stands_in_the_column_of_its_loss():
    source = """
class Net(T.nn.Module):
    def __init__(self):
        super().__init__()
        for number in range(9):
            setattr(self, f"conv{number}", T.nn.Conv2d(4, 4, 3, padding=1))
    def forward(self, x):
        skips = []
        for number in range(4):
            skips.append(x := getattr(self, f"conv{number}")(x))
        x = self.conv4(x)
        for number in range(5, 9):
            x = getattr(self, f"conv{number}")(x + skips.pop())
        return x
net, image, target = Net(), T.ones(1, 4, 8, 8), T.zeros(1, 4, 8, 8)
loss = T.nn.functional.mse_loss(net(image), target)
loss.backward()"""
    whole = networks.network(viz.record(source).graph, rooms=((900.0, 310.0),))
    shown = compose(whole, whole.first)
    across = {unit.title: x for unit, x, *_ in shown.boxes}
    assert shown.width <= 900.0 and shown.height <= 310.0
    assert across["target"] == pytest.approx(across["mse_loss"], abs=1)


def test_no_box_holds_more_than_can_be_laid_out():
    torch = engines.load("torch").module
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(count, 3) for count in (6, 4, 2)])
    *_, whole = viz.draw(torch.nn.LSTM(3, 4, 2, bidirectional=True), packed)._network
    assert 3 < max(len(unit.children) for unit in whole.units.values()) <= MANY + 2  # its ports
