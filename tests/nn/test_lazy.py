"""Lazy layers: sizes inferred by the first input, PyTorch's weights, states and refusals."""

import numpy as np
import pytest
import torch

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)
LAYERS = """LazyLinear(4): 5, 3; LazyLinear(4, bias=False): 2, 5, 3; LazyConv1d(4, 2): 2, 3, 5;
LazyConv3d(4, 2): 3, 4, 4, 4; LazyConv2d(4, 2, stride=2): 2, 3, 5, 5; LazyBatchNorm1d(): 5, 3;
LazyBatchNorm2d(affine=False): 2, 3, 4, 4"""


@pytest.mark.parametrize("row", LAYERS.replace("\n", " ").split("; "))
def test_the_first_input_makes_pytorchs_layer_with_its_weights(row: str) -> None:
    code, shape = row.split(": ")[0], eval(row.split(": ")[1])
    seen = []
    for T in ENGINES:
        T.manual_seed(0)
        layer, fresh = (eval(f"T.nn.{code}", {"T": T}) for _ in range(2))
        before = repr(layer), list(layer.state_dict())
        out = layer(T.ones(shape))
        fresh.load_state_dict(layer.state_dict())
        state = np.concatenate([t.numpy().ravel() for t in fresh.state_dict().values()])
        count = len(list(layer.parameters()))
        seen.append((*before, type(layer).__name__, repr(layer), tuple(out.shape), count, state))
    assert seen[0][:-1] == seen[1][:-1]
    np.testing.assert_allclose(seen[0][-1], seen[1][-1], rtol=1e-5)


def test_what_has_no_numbers_yet_is_refused_and_trains_after_the_first_call_as_does_a_state_taken_before() -> None:
    for T in ENGINES:
        layer = T.nn.LazyLinear(2)
        state, weight = layer.state_dict(), layer.weight
        asked = "w.shape; w.sum(); w.normal_(); w.numel(); w.clone(); T.nn.init.ones_(w); T.optim.Adagrad([w])"
        for code in asked.split("; "):
            with pytest.raises((ValueError, RuntimeError), match="uninitialized parameter"):
                eval(code, {"T": T, "w": weight})
        optimizer = T.optim.SGD(layer.parameters(), lr=0.1)
        layer(T.ones(4, 3)).sum().backward()
        assert state["weight"] is layer.weight and state["bias"].tolist() == layer.bias.tolist()
        before = layer.weight.detach().clone()
        optimizer.step()
        assert (before - layer.weight).detach().numpy() == pytest.approx(0.4, abs=1e-6)
