"""`viz.draw(model, x)` on twelve real models: what it shows is what forward hooks of our own see."""

import functools

import pytest
import torch
from support.models import MODELS
from torch.utils.flop_counter import FlopCounterMode

import viz
from viz import engines
from viz.picture.boxes import ROOT
from viz.picture.nested import compose

pytestmark = pytest.mark.outer


def flat(thing, tensor):
    if isinstance(thing, tensor):
        return [tuple(thing.shape)]
    if isinstance(thing, (list, tuple)):
        return [shape for one in thing for shape in flat(one, tensor)]
    return [shape for one in thing.values() for shape in flat(one, tensor)] if isinstance(thing, dict) else []


def seen_by_hooks(T, model, args):
    """Every call, as forward hooks see it, and the calls that it was inside of."""
    calls, running, handles = [], [], []

    def begins(path):
        return lambda module, args, kwargs: running.append(path)

    def ends(path):
        def hook(module, args, kwargs, output):
            running.pop()
            given = flat([args, kwargs], T.Tensor)
            calls.append((path, type(module).__name__, given, flat(output, T.Tensor), tuple(running)))

        return hook

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(begins(path), with_kwargs=True))
        handles.append(module.register_forward_hook(ends(path), with_kwargs=True))
    model(*args)
    for handle in handles:
        handle.remove()
    return calls


def boxes_around(whole, unit):
    found = []
    while unit.parent is not None:
        unit = whole.units[unit.parent]
        if unit.call is not None:
            found.insert(0, unit.title)
    return tuple(found)


@pytest.fixture(scope="module")
def drawn():
    """Each model on each engine, drawn once."""

    @functools.cache
    def of(name, engine):
        with engines.load(engine).seeded(0):
            model, args, loss = MODELS[name](engines.load(engine).module)
            return model, args, loss, viz.draw(model, args, loss=loss)

    return of


@pytest.mark.parametrize("name", MODELS)
def test_calls_shapes_and_nesting_are_those_of_forward_hooks(drawn, engine, name):
    T = engines.load(engine).module
    model, args, _, picture = drawn(name, engine)
    truth = seen_by_hooks(T, model, args)
    assert [(call.path, call.kind, call.inputs, call.outputs) for call in picture.calls] == [one[:4] for one in truth]
    whole = picture._network[3]
    boxes = [unit for unit in whole.units.values() if unit.call is not None]
    nested = sorted((unit.title.partition(".")[2], boxes_around(whole, unit)) for unit in boxes)
    around = lambda paths: tuple(".".join(filter(None, ("model", path))) for path in paths)  # noqa: E731
    assert nested == sorted((path, around(inside)) for path, _, _, _, inside in truth)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_backward_and_the_model_is_as_before(engine, name):
    T = engines.load(engine).module
    with engines.load(engine).seeded(0):
        model, args, loss = MODELS[name](T)
        T.manual_seed(5)
        before = {path: one.detach().clone() for path, one in model.state_dict().items()}
        picture = viz.draw(model, args, loss=loss)
        assert all(T.equal(one, before[path]) for path, one in model.state_dict().items())
        assert all(one.grad is None for one in model.parameters())
        value = loss(model(*args))  # random numbers go on as if nothing had been drawn
        value.backward()
    assert picture.run.loss.data == pytest.approx(float(value), rel=1e-5)
    for path, parameter in model.named_parameters():
        found = picture.run.gradients.get(path)
        assert (found is None) == (parameter.grad is None), path
        if found is not None:
            assert found.norm == pytest.approx(float(parameter.grad.norm()), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_every_box_is_reached_from_what_the_model_was_given(drawn, engine, name):
    """No box of a module floats beside the flow of the data."""
    whole = drawn(name, engine)[3]._network[3]
    for key, unit in whole.units.items():
        if unit.kind != "module" or key == ROOT:
            continue
        touched = {place for link in unit.links for place in link}
        lonely = [whole.units[child] for place, child in enumerate(unit.children) if place not in touched]
        assert len(unit.children) == 1 or not [one.title for one in lonely if one.kind == "module"], (name, unit.title)


@pytest.mark.parametrize("name", MODELS)
def test_arrows_end_at_the_edges_of_boxes_whatever_is_open(drawn, name):
    whole = drawn(name, "tinygrad_edu")[3]._network[3]
    opened = [key for key, unit in whole.units.items() if unit.kind == "module" and key != ROOT]
    for some in (whole.first, opened[::2]):
        shown = compose(whole, some)
        for curve in shown.curves:
            for a, b in (curve[0], curve[-1]):
                away = [max(abs(a - x) - w / 2, abs(b - y) - h / 2) for _, x, y, w, h, _ in shown.boxes]
                assert any(each == pytest.approx(0, abs=1.5) for each in away)


def test_flops_are_those_of_pytorchs_own_counter():
    for name in ("LeNet", "ResNet-18", "U-Net", "GPT of 6 layers", "VAE", "mixture of experts"):
        model, args, _ = MODELS[name](torch)
        counter = FlopCounterMode(display=False)
        with counter:
            model(*args)
        assert viz.draw(model, args).run.flops == counter.get_total_flops(), name


def names_in_training(T):
    model = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.Tanh(), T.nn.Linear(3, 1))
    while True:
        loss = model(T.ones(2, 4)).sum()
        loss.backward()
        yield loss, model


class Owner:
    def __init__(self, T):
        self.T = T
        self.model = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.Tanh(), T.nn.Linear(3, 1))

    def step(self):
        self.model(self.T.ones(2, 4)).sum().backward()


@pytest.mark.parametrize("held", [False, True], ids=["a variable", "an attribute"])
def test_draw_record_train_and_diagnose_name_parameters_alike(engine, held):
    T = engines.load(engine).module
    owner = Owner(T)
    model = owner.model

    def step():
        model(T.ones(2, 4)).sum().backward()

    program = owner.step if held else step
    expected = ["model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"]
    leaves = lambda made: [value.name for value in made.graph.values.values() if value.kind == "leaf"]  # noqa: E731
    drawn = viz.draw(owner.model, T.ones(2, 4))
    named = {
        "draw": [unit.title for unit in drawn._network[3].units.values() if unit.kind == "leaf"],
        "draw alone": sorted(leaves(viz.draw(model)), key=expected.index),
        "record": leaves(viz.record(program)),
        "train": list(viz.train(names_in_training, 1, engine, progress=False).runs[0].steps[0].norms),
        "diagnose": [leaf.name for leaf in viz.diagnose(program).observation.leaves if leaf.parameter],
    }
    assert all(names == expected for names in named.values()), named


def test_a_module_that_returns_what_it_was_given_is_a_box_and_the_program_gets_the_same_tensor(T):
    nn, x = T.nn, T.ones(2, 4)
    kinds = (nn.Linear(4, 3), nn.Identity(), nn.Dropout(0.5), nn.ReLU(inplace=True), nn.Linear(3, 1))
    drawn = viz.draw(nn.Sequential(*kinds).eval(), x).graph
    ops = [(op.name, op.module.rpartition(".")[2]) for op in drawn.ops.values() if op.name != "TBackward0"]
    names = ("AddmmBackward0", "identity", "identity", "ReluBackward0", "AddmmBackward0")
    assert ops == list(zip(names, "01234", strict=True))
    first, *after = [op for op in drawn.ops.values() if op.name != "TBackward0"]
    for before, op in zip((first, *after), after, strict=False):
        assert before.outputs[0] in op.inputs


def test_a_frozen_body_that_ends_in_an_identity_is_drawn_as_it_runs(T):
    class Shifted(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = T.nn.Sequential(T.nn.Linear(4, 3), T.nn.Identity())
            self.shift = T.nn.Parameter(T.ones(3))

        def forward(self, x):
            with T.no_grad():
                h = self.body(x)
            h += self.shift
            return h.sum()

    model, x = Shifted(), T.ones(2, 4)
    picture = viz.draw(model, x)
    assert picture.graph.values[picture.graph.roots[-1]].array.data == model(x).item()
    assert [op.name for op in picture.graph.ops.values()] == ["linear", "identity", "AddBackward0", "SumBackward0"]
