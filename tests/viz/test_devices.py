"""What chooses a device, moves to it and times it, with PyTorch's `meta`: it holds no number, so it proves none."""

import numpy as np
import pytest
import torch

import viz
from viz import engines


@pytest.fixture(autouse=True)
def meta(monkeypatch):
    """`meta` as a device to choose, whose numbers read as zeros."""
    kind = type(engines.load("torch"))
    read, known = kind.array, kind.devices
    monkeypatch.setattr(kind, "devices", lambda self: {**known(self), "meta": ""})
    zeros = lambda one: np.zeros(tuple(one.shape), np.float32)  # noqa: E731
    monkeypatch.setattr(kind, "array", lambda self, one: zeros(one) if one.is_meta else read(self, one))


def test_what_a_program_makes_and_what_it_is_given_is_moved_and_nothing_else_is():
    numbers = {"x": torch.tensor([1.0, 2.0]), "a": np.ones(2)}
    comparison = viz.compare("w = T.tensor(3.0, requires_grad=True)\n(w * x * a).sum().backward()", "meta", numbers)
    assert {value.device for value in comparison.theirs.graph.values.values()} == {"meta"}
    assert {value.device for value in comparison.ours.graph.values.values()} == {"cpu"}
    assert comparison.timing is not None and "META" in repr(comparison.timing)
    assert numbers["x"].device.type == "cpu"
    assert torch.get_default_device().type == "cpu"


def test_an_explorer_moves_pytorch_alone_and_back():
    program = "w = T.ones(2, requires_grad=True)\nL = (w * 2).sum()\nL.backward()"
    explorer = viz.explore(program, state={"device": "meta"})
    assert explorer._recordings["torch"].device == "meta"
    assert {value.device for value in explorer._recordings["torch"].graph.values.values()} == {"meta"}
    assert explorer._recordings["tinygrad_edu"].device == "cpu"
    explorer.state = {"device": "cpu"}
    assert {value.device for value in explorer._recordings["torch"].graph.values.values()} == {"cpu"}


def test_a_device_that_is_not_there_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="NumPy on the CPU"):
        viz.record("w = T.ones(2)", "tinygrad_edu", device="cuda")
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    runs = (lambda: viz.record("w = T.ones(2)", "torch", device="cuda"), lambda: viz.compare("w = 1", device="cuda"))
    for run in runs:
        with pytest.raises(ValueError, match=r"built for the CPU only|finds no CUDA GPU"):
            run()
