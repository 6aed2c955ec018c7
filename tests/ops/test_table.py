"""Each row of the table of samples, on both engines: its value, its gradient, its graph, or its error."""

import builtins
import warnings
from typing import Any

import pytest
import torch
from support.op_table import ENGINES, Run, assert_same, on_each
from support.samples import REFUSED, SAMPLES, Sample

import tinygrad_edu

pytestmark = pytest.mark.filterwarnings("ignore")


def _structure(t: Any) -> list[Any]:
    """The names of the nodes behind a tensor and how they are joined, in the order of a walk."""
    number: dict[Any, int] = {}
    lines: list[Any] = []
    stack = [t.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in number:
            continue
        number[node] = len(number)
        edges = [(None if n is None else n.name(), nr) for n, nr in node.next_functions]
        # An edge to nowhere carries no number that means anything; numbers given to an op are not in its edges.
        while edges and edges[-1] == (None, 0):
            edges.pop()
        lines.append((node.name(), edges))
        stack.extend(n for n, _ in reversed(node.next_functions))
    return lines


@on_each(SAMPLES)
def test_the_values_the_gradients_and_the_graph_are_those_of_pytorch(sample: Sample) -> None:
    ours, theirs = (Run(engine, sample) for engine in ENGINES)
    assert_same(ours.outputs, theirs.outputs, sample.double, "value")
    flags, expected = ([getattr(o, "requires_grad", None) for o in run.outputs] for run in (ours, theirs))
    assert flags == expected
    if not theirs.differentiable():
        return
    gradients = ours.gradients()
    assert_same(gradients, theirs.gradients(), sample.double, "gradient")
    assert_same(ours.gradients(create_graph=True), gradients, 1e-12, "gradient under create_graph")
    for a, b in zip(ours.outputs, theirs.outputs, strict=True):
        if sample.names and getattr(b, "requires_grad", False):
            assert _structure(a) == _structure(b)


@pytest.mark.parametrize("sample", REFUSED, ids=[s.code for s in REFUSED])
def test_what_pytorch_refuses_is_refused_by_an_error_of_the_same_type(sample: Sample) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Run(torch, sample)
        except Exception as error:
            # PyTorch's own kinds, such as LinAlgError, are RuntimeErrors.
            expected = getattr(builtins, type(error).__name__, RuntimeError)
        else:
            pytest.fail("PyTorch allows this: the row belongs in SAMPLES")
        with pytest.raises(expected):
            Run(tinygrad_edu, sample)
