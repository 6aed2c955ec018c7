"""A network of one's own is whole in a notebook's cell, its parameters named; frozen, shared and cut parts are seen."""

import pytest
import torch
from support.models import MODELS
from torch import nn

import viz
from viz.picture.boxes import CALLS, LINES, LOOPS, ROOT, STEPS, WHOLE, Boxes, Drawn
from viz.picture.nested import compose
from viz.picture.network import CELL, network

pytestmark = pytest.mark.outer


def convolutional():
    features = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU()]
    head = [nn.Flatten(), nn.Linear(968, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 10)]
    return nn.Sequential(*features, *head), (torch.ones(2, 1, 28, 28),)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x):
        return x + torch.relu(self.layer(self.norm(x)))


def deep():
    return nn.Sequential(nn.Linear(4, 8), *(Residual() for _ in range(125)), nn.Linear(8, 2)), (torch.ones(3, 4),)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.Linear(11, 8), nn.Linear(8, 1)

    def forward(self, x):
        state = torch.zeros(x.shape[1], 8)
        for step in x:
            state = torch.tanh(self.cell(torch.cat([step, state], 1)))
        return self.head(state)


class Hierarchical(nn.Module):
    """A recurrence in a recurrence: twelve steps are too wide for columns."""

    def __init__(self):
        super().__init__()
        self.low, self.high = Residual(), Residual()

    def forward(self, x):
        low = high = x
        for _ in range(3):
            for _ in range(3):
                low = self.low(low + high + x)
            high = self.high(high + low)
        return high


class Translator(nn.Module):
    """An encoder, and a loop of attention, embedding, cell and head: 40 boxes a step."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(9, 8), nn.Embedding(9, 8)
        self.encoder, self.cell = nn.GRU(8, 8, batch_first=True), nn.GRUCell(16, 8)
        self.score, self.head = nn.Linear(16, 1), nn.Linear(8, 9)

    def forward(self, words):
        seen, (hidden,) = self.encoder(self.source(words))
        made = []
        for word in words.T:
            scores = self.score(torch.cat([hidden[:, None].expand_as(seen), seen], 2)).squeeze(2).softmax(1)
            context = (scores[:, None] @ seen).squeeze(1)
            hidden = self.cell(torch.cat([self.target(word), context], 1), hidden)
            made.append(self.head(hidden))
        return torch.stack(made)


def transformer():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), (torch.ones(2, 5, 16),)


NETWORKS = {"convolutional": convolutional, "deep": deep, "transformer": transformer}
NETWORKS |= {"recurrent": lambda: (Recurrent(), (torch.ones(9, 2, 3),))}
NETWORKS |= {"hierarchical": lambda: (Hierarchical(), (torch.ones(3, 8),))}
NETWORKS |= {"translator": lambda: (Translator(), (torch.ones(3, 5, dtype=torch.long),))}
NETWORKS |= {"U-Net": lambda: MODELS["U-Net"](torch)[:2]}


def shown(picture):
    whole = picture._network[3]
    return compose(whole, whole.first)


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_a_model_and_its_loss_are_whole_in_a_cell(make):
    model, given = make()
    for picture in (viz.draw(model, given, loss=lambda out: out.pow(2).mean()), viz.draw(model(*given).pow(2).mean())):
        assert picture.view == "modules"
        assert shown(picture).width <= CELL[0]
        assert shown(picture).height <= CELL[1]


def test_of_125_blocks_one_is_open_and_one_box_stands_for_the_rest():
    model, given = deep()
    boxes = {unit.title: is_open for unit, *_, is_open in shown(viz.draw(model, given)).boxes if unit.kind == "module"}
    names = {title.rpartition(".")[2]: is_open for title, is_open in boxes.items()}
    assert names == {"model": True, "1": True} | dict.fromkeys(["0", "norm", "layer", "124 × Residual", "126"], False)


def test_no_closed_box_hides_most_of_the_parameters():
    model, given = transformer()
    boxes = [unit for unit, *_, is_open in shown(viz.draw(model, given)).boxes if unit.kind == "module" and is_open]
    assert any(unit.title.endswith("layers.0") for unit in boxes)


def test_frozen_parameters_stand_in_their_module_and_say_so(T):
    model = T.nn.Sequential(T.nn.Sequential(T.nn.Linear(3, 3), T.nn.ReLU()), T.nn.Linear(3, 1))
    model[0].requires_grad_(False)
    whole = viz.draw(model, T.ones(2, 3))._network[3]
    outermost = [whole.units[key].kind for key in whole.units[ROOT].children]
    assert outermost.count("input") == 1  # what the model was given
    frozen = {unit.title.partition(".")[2] for unit in whole.units.values() if unit.frozen}
    assert frozen == {"0", "0.0", "0.0.weight", "0.0.bias"}


def test_a_parameter_that_a_step_by_hand_moves_stays_in_its_layer(T):
    net, x = T.nn.Sequential(T.nn.Linear(2, 4), T.nn.ReLU(), T.nn.Linear(4, 1)), T.ones(3, 2)

    def step():
        net(x).sum().backward()
        with T.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad

    graph = viz.record(step).graph
    parameters = [value for value in graph.values.values() if value.kind == "leaf" and value.op is None]
    names = {f"net.{layer}.{name}" for layer in (0, 2) for name in ("weight", "bias")}
    # Once more beside its step, unless that is folded: of those alike one is shown, of a loop none.
    for folding, beside in ((WHOLE, names), (CALLS, {"net.0.weight"}), (LOOPS, set())):
        boxes = Boxes(Drawn(graph), (), folding)
        homes = {one.title: [boxes.units[chain[-2]].title for chain in boxes.copies[one.key]] for one in parameters}
        assert {name: place[0] for name, place in homes.items()} == {name: name.rpartition(".")[0] for name in names}
        outside = [boxes.units[key] for key in boxes.units[ROOT].children if boxes.units[key].kind == "leaf"]
        assert {unit.rows[0][2] for unit in outside} == beside
        assert all(unit.shared == unit.value for unit in outside)


def test_of_a_loop_of_two_the_first_step_is_shown_and_the_other_is_frozen_only_where_all_is(T):
    teacher, student, x = T.nn.Linear(2, 1).requires_grad_(False), T.nn.Linear(2, 1), T.ones(3, 2)
    optimizer = T.optim.SGD(student.parameters(), lr=0.1)

    def training():
        for _ in range(2):
            optimizer.zero_grad()
            ((student(x) - teacher(x)) ** 2).mean().backward()
            optimizer.step()

    units = Boxes(Drawn(viz.record(training).graph), (), STEPS).units
    frozen = {units[key].title: units[key].frozen for key in units[ROOT].children}
    assert [frozen[title] for title in ("student", "teacher", "1 more step")] == [False, True, False]


def test_a_step_of_training_that_does_not_fit_is_shown_line_by_line(T):
    make, train = T.nn.Linear(3, 2), T.nn.Sequential(*(T.nn.Linear(2, 2) for _ in range(9)))
    optimizer, x = T.optim.Adam(train.parameters()), T.ones(4, 3)

    def training():
        for _ in range(3):
            wrong, right = train(make(x).detach()), train(make(x) + 1.0)
            loss = T.relu(1.0 + wrong).mean() + T.relu(1.0 - right).mean() + 10.0 * ((right - wrong) ** 2).mean().sqrt()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    graph, rooms = viz.record(training).graph, ((330.0, 240.0),)
    whole = network(graph, rooms=rooms)
    said = {unit.title or unit.rows[0][2]: unit.rows[1:] for unit, *_ in compose(whole, whole.first).boxes}
    assert {"detach", "2 more steps"} <= said.keys()
    assert any(text.startswith("line ") for rows in said.values() for _, _, text in rows)


def test_a_long_loop_by_hand_is_shown_line_by_line_between_its_parameters(T):
    program = """
x, y = T.randn(16, 6), T.randint(0, 9, (16,))
W1, b1, W2, b2 = T.randn(6, 10) * 0.2, T.randn(10) * 0.01, T.randn(10, 9) * 0.1, T.zeros(9)
for p in (W1, b1, W2, b2): p.requires_grad_()
for step in range(6):
    before = x @ W1 + b1
    mean, std = before.mean(0), before.std(0)
    h = T.tanh((before - mean) / (std + 1e-5))
    loss = T.nn.functional.cross_entropy(h @ W2 + b2, y)
    for p in (W1, b1, W2, b2): p.grad = None
    loss.backward()
    for p in (W1, b1, W2, b2): p.data += -0.1 * p.grad
"""
    graph = viz.record(program, engine=T.__name__).graph
    for room in ((557.0, 400.0), (400.0, 330.0)):
        whole = network(graph, rooms=(room,))
        said = {unit.rows[0][2] for unit, *_ in compose(whole, whole.first).boxes if unit.rows}
        assert {"W1", "W2", "b1", "b2", "x", "y", "loss", "5 more steps"} <= said, said
        assert not any("0.1" in text or "grad" in text or "data" in text for text in said), said
    lines = Boxes(Drawn(graph), (), LINES).units.values()
    assert ["mean, std", "line 6"] in [[text for *_, text in unit.rows[:2]] for unit in lines]


def test_a_cut_is_a_box_of_its_own_however_much_is_folded(T):
    generator, critic = T.nn.Linear(2, 2), T.nn.Sequential(T.nn.Linear(2, 4), T.nn.ReLU(), T.nn.Linear(4, 1))

    class Step(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.generator, self.critic = generator, critic

        def forward(self, z):
            fake = self.generator(z)
            for _ in range(30):
                fake = fake * 1.0
            return self.critic(fake.detach()).mean() - self.critic(fake).mean()

    boxes = shown(viz.draw(Step(), T.ones(3, 2))).boxes
    assert [unit.title for unit, *_ in boxes if unit.kind == "cut"] == ["detach"]


def test_what_only_asks_something_is_not_in_the_picture_of_a_network(T):
    net, x = T.nn.Linear(2, 1), T.ones(3, 2)

    def step():
        scores = T.distributions.Normal(net(x), 1.0).log_prob(x[:, :1])  # which asks whether its arguments are valid
        if (scores > 0).any():
            raise ValueError("none is")
        right = scores < 0
        return scores.masked_fill(scores != scores, 0.0).sum().backward(), right

    said = {unit.title for unit in Boxes(Drawn(viz.record(step).graph), (), WHOLE).units.values()}
    assert {"< 0", "≠"} <= said  # a name, and a use
    assert said.isdisjoint({"> 0", "=", "any", "all", "_is_all_true"})


def test_a_penalty_on_the_weights_is_no_call_of_their_layers(T):
    table, head = T.nn.Embedding(5, 3), T.nn.Linear(3, 1)
    loss = head(table(T.tensor([1, 2]))).mean() + sum((p**2).sum() for p in head.parameters()) + abs(table.weight).sum()
    whole = viz.draw(loss)._network[3]
    inside = [whole.units[key] for key in whole.units[ROOT].children]
    assert [unit.title for unit in inside if unit.kind == "module"] == ["table", "head"]
    assert {unit.title for unit in inside if unit.kind == "leaf"} == {"table.weight", "head.weight", "head.bias"}


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x):
        for _ in range(5):
            x = x + 0.1 * self.slope(x)
        return x


class Runge(Flow):
    def forward(self, x):
        for _ in range(5):
            one = self.slope(x)
            two = self.slope(x + 0.05 * one)
            three = self.slope(x + 0.05 * two)
            x = x + 0.1 / 6 * (one + 2 * two + 2 * three + self.slope(x + 0.1 * three))
        return x


def test_a_step_that_fits_in_rows_is_shown_and_not_folded_with_all_others():
    found = shown(viz.draw(Runge(), torch.ones(3, 2)))
    assert found.width <= CELL[0]
    assert found.height <= CELL[1]
    assert "3 more steps" in {unit.title for unit, *_ in found.boxes}


def test_what_runs_between_two_calls_of_a_module_is_not_in_it():
    flow = Flow()
    ops = viz.draw(flow(torch.ones(3, 2)).exp()).graph.ops.values()
    homes = {(op.name, op.module) for op in ops if op.name in ("AddBackward0", "TanhBackward0", "ExpBackward0")}
    found = {("AddBackward0", "flow"), ("TanhBackward0", "flow.slope"), ("ExpBackward0", "")}
    assert homes - {("AddBackward0", "")} == found
