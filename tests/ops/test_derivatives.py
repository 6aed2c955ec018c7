"""Each differentiable row of the table of samples: higher derivatives, other ways to compute them, another dtype."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from support.op_table import DIFFERENTIABLE, ENGINES, Run, assert_same, on_each, seed, weights
from support.samples import NO_NUMERICAL_CHECK, Sample

import tinygrad_edu

pytestmark = [pytest.mark.outer(start=1), pytest.mark.filterwarnings("ignore")]


@on_each([sample for sample in DIFFERENTIABLE if sample.second])
def test_the_second_gradient_is_that_of_pytorch(sample: Sample) -> None:
    second = []
    for engine in ENGINES:
        run = Run(engine, sample)
        first = [g for g in run.gradients(create_graph=True) if g is not None and g.requires_grad]
        if not first:
            second.append([None] * len(run.leaves))
            continue
        grads = engine.autograd.grad(first, run.leaves, weights(engine, first, seed=2), allow_unused=True)
        second.append(list(grads))
    ours, theirs = second
    assert_same(ours, theirs, sample.double, "second gradient")


@on_each(DIFFERENTIABLE)
def test_float32_has_the_value_and_the_gradient_of_pytorch(sample: Sample) -> None:
    ours, theirs = (Run(engine, sample, "float32") for engine in ENGINES)
    assert_same(ours.outputs, theirs.outputs, sample.single, "value")
    assert_same(ours.gradients(), theirs.gradients(), sample.single, "gradient")


def _tangents(engine: Any, sample: Sample) -> list[Any]:
    run, fw = Run(engine, sample), engine.autograd.forward_ad
    with fw.dual_level():
        moved = dict(run.inputs)
        names = [n for n, t in run.inputs.items() if t.requires_grad]
        for name, tangent in zip(names, weights(engine, [run.inputs[n] for n in names], seed=3), strict=True):
            moved[name] = fw.make_dual(run.inputs[name].detach(), tangent)
        seed(engine)
        floats = [o if hasattr(o, "dtype") and o.dtype.is_floating_point else None for o in run.call(moved)]
        return [None if o is None else fw.unpack_dual(o).tangent for o in floats]


# Ops that say that they have no forward mode.
REVERSE_ALONE = """
Amax Amin BinaryCrossEntropy BinaryCrossEntropyWithLogits Cumprod HuberLoss LinalgDet LinalgInvEx
LinalgSolveEx NativeBatchNorm NativeGroupNorm NativeLayerNorm NllLoss NllLoss2D Norm PreluKernel Prod
SmoothL1Loss
"""


@on_each([sample for sample in DIFFERENTIABLE if sample.forward])
def test_forward_mode_is_that_of_pytorch_or_is_refused(sample: Sample) -> None:
    try:
        theirs = _tangents(torch, sample)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"PyTorch has no forward mode here: {error}")
    try:
        ours = _tangents(tinygrad_edu, sample)
    except NotImplementedError as refusal:
        told = re.match(r"Trying to use forward AD with (\w+) that does not support it", str(refusal))
        assert told and told[1] in REVERSE_ALONE.split()
        return
    assert_same(ours, theirs, sample.double, "tangent")


def _as_function(sample: Sample) -> tuple[Any, list[Any]]:
    """A sample as a function of its differentiable inputs, and these."""
    inputs = Run(tinygrad_edu, sample)
    names = [name for name, t in inputs.inputs.items() if t.requires_grad]

    def function(*leaves: Any) -> tuple[Any, ...]:
        seed(tinygrad_edu)
        inputs.outputs = inputs.call({**inputs.inputs, **dict(zip(names, leaves, strict=True))})
        return tuple(inputs.differentiable())

    return function, inputs.leaves


# The tests above compare the same derivatives with PyTorch's, so one row of six is enough for every day.
@on_each([sample for sample in DIFFERENTIABLE if sample.code not in NO_NUMERICAL_CHECK], every=6)
def test_finite_differences_confirm_the_derivatives_of_both_orders(sample: Sample) -> None:
    T = tinygrad_edu
    if not Run(T, sample).differentiable():
        return
    assert T.autograd.gradcheck(*_as_function(sample), fast_mode=True)
    if sample.second:
        assert T.autograd.gradgradcheck(*_as_function(sample), fast_mode=True)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_the_gradient_of_a_determinant_is_its_cofactors_at_singular_matrices_as_well(kind: str) -> None:
    T = tinygrad_edu
    singular = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, 0.0, 1.0]]
    a = T.tensor([singular, [[2.0, 0, 0], [0, 3, 0], [0, 0, 4]]], dtype=getattr(T, kind), requires_grad=True)
    T.linalg.det(a).sum().backward()
    cofactors = [[4.0, 1, -2], [-2, -0.5, 1], [0, 0, 0]], [[12.0, 0, 0], [0, 8, 0], [0, 0, 6]]
    np.testing.assert_allclose(a.grad.numpy(), cofactors, atol=1e-4 if kind == "float32" else 1e-12)
