"""The graph of a gradient: what `create_graph=True` records, beside what PyTorch records."""

from typing import Any

import numpy as np
import pytest
import torch
from support.both import leaf, names, same_on_both, values_of
from support.op_table import DIFFERENTIABLE, Run, on_each
from support.samples import Sample

import tinygrad_edu

pytestmark = pytest.mark.outer
KINKS = ["relu(x)", "leaky_relu(x, 0.2)", "hardtanh(x)", "relu6(x)", "prelu(x, w)"]


@pytest.mark.parametrize("code", KINKS)
@same_on_both
def test_the_slope_of_a_kink_has_the_node_of_pytorch_and_its_gradients(T, code):
    x, w, v = leaf(T), leaf(T, [0.3]), leaf(T, 0.5, 2.0, 3.0)
    y = eval("F." + code, {"F": T.nn.functional, "x": x, "w": w})
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = T.autograd.grad(y, x, v, create_graph=True)
    return names(g), values_of(g), *T.autograd.grad(g.sum(), x), *T.autograd.grad((h * h).sum(), v)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, -1, 0.5, 2.5])
@same_on_both
def test_every_derivative_of_a_power_is_part_of_a_graph_as_in_pytorch(T, exponent):
    x = leaf(T, 0.7, 2.0)
    seen, y = [], x**exponent
    for _ in range(5):
        if not y.requires_grad:
            break
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True)
        seen.append((y.requires_grad, values_of(y)))
    return seen


@pytest.mark.parametrize("exponent", [2, 3])
def test_a_number_in_a_rule_is_an_operand_of_mul_where_pytorch_has_a_separate_mul(exponent) -> None:
    """Differs on purpose: see docs/differences.md."""
    graphs = {}
    for T in (torch, tinygrad_edu):
        x = leaf(T, 3.0)
        (g,) = T.autograd.grad(x**exponent, x, create_graph=True)
        graphs[T] = names(g)
    assert graphs[torch] == "MulBackward0(None, MulBackward1(PowBackward0(AccumulateGrad)))"
    assert graphs[tinygrad_edu] == "MulBackward0(None, MulBackward0(PowBackward0(AccumulateGrad), None))"


@same_on_both
def test_the_second_gradients_of_a_tensor_to_the_power_of_a_tensor_are_pytorchs_at_the_edges(T):
    """Such as x ** x at 0. PyTorch's second gradient is NaN: 0 times the infinite slope of the branch not taken."""
    a, b = (leaf(T, [n % 4 - 1.0 for n in range(16)]), leaf(T, [n // 4 - 1.0 for n in range(16)]))
    gs = T.autograd.grad((a**b).sum(), (a, b), create_graph=True)
    seconds = [T.autograd.grad(g.sum(), (a, b), retain_graph=True) for g in gs]
    x = leaf(T, 0.0, 1.0)
    (g,) = T.autograd.grad((x**x).sum(), x, create_graph=True)
    return [values_of(g) for g in gs], seconds, T.autograd.grad(g.sum(), x)


# Where PyTorch has no gradient at all, and we have one of zeros.
REACHES_FURTHER = {"a.norm(0)"}


def _reached(run: Run, grads: list[Any]) -> list[set[int]]:
    """For each leaf: the leaves on which the graph of its gradient depends."""
    number = {id(leaf): i for i, leaf in enumerate(run.leaves)}
    return [{number[id(v)] for v in _variables(g) if id(v) in number} for g in grads]


def _variables(t: Any) -> list[Any]:
    seen: set[Any] = set()
    stack = [] if t is None else [t.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack.extend(n for n, _ in node.next_functions)
    return [n.variable for n in seen if hasattr(n, "variable")]


@pytest.mark.filterwarnings("ignore")
@on_each(DIFFERENTIABLE)
def test_a_gradient_depends_on_what_it_depends_on_in_pytorch_or_that_second_gradient_is_zero(sample: Sample) -> None:
    """Each rule of ours is written with ops, and what is linear leaves no trace of its input; PyTorch's fused kernels
    have a node with an edge to each input, along which zeros flow."""
    if sample.code in REACHES_FURTHER:
        return
    theirs, ours = (Run(engine, sample) for engine in (torch, tinygrad_edu))
    firsts, our_firsts = (run.gradients(create_graph=True) for run in (theirs, ours))
    their_reach, our_reach = _reached(theirs, firsts), _reached(ours, our_firsts)
    for first, there, here in zip(firsts, their_reach, our_reach, strict=True):
        assert here <= there
        if here < there and sample.second:
            missing = [theirs.leaves[i] for i in sorted(there - here)]
            for g in torch.autograd.grad(first.sum(), missing, retain_graph=True, allow_unused=True):
                assert g is None or not np.any(values_of(g))
