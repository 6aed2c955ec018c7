"""Each row of the table of samples, on both engines."""

from __future__ import annotations

import builtins
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from samples import NO_NUMERICAL_CHECK, REFUSED, SAMPLES, Sample

import tinygrad_edu

pytestmark = pytest.mark.filterwarnings("ignore")

ENGINES = (tinygrad_edu, torch)
_IDS = {id(sample): f"{i}-{sample.code}" for i, sample in enumerate(SAMPLES)}  # two may be equal but for their inputs


def on_each(samples: list[Sample]) -> pytest.MarkDecorator:
    """Run a test on each of these rows of the table."""
    return pytest.mark.parametrize("sample", samples, ids=[_IDS[id(sample)] for sample in samples])


def seed(engine: Any) -> None:
    """Begin the random numbers anew; PyTorch's own `manual_seed` notes the whole stack of calls each time, for GPUs."""
    engine.random.default_generator.manual_seed(0)


class Run:
    """A sample on one engine: its inputs as tensors, and the flat list of what came out."""

    def __init__(self, engine: Any, sample: Sample, dtype: str = "float64", grad: bool = True) -> None:
        self.engine = engine
        self.sample = sample
        self.inputs = {}
        for name, array in sample.arrays().items():
            is_float = array.dtype.kind == "f"
            t = engine.tensor(array, dtype=getattr(engine, dtype)) if is_float else engine.tensor(array)
            if is_float and grad and sample.inputs[name].grad:
                t.requires_grad_()
            self.inputs[name] = t
        self.leaves = [t for t in self.inputs.values() if t.requires_grad]
        seed(engine)
        self.outputs = self.call(self.inputs)

    def call(self, inputs: dict[str, Any]) -> list[Any]:
        scope = {"T": self.engine, "F": self.engine.nn.functional, **inputs}
        return _flat(eval(self.sample.code, scope))

    def differentiable(self) -> list[Any]:
        return [o for o in self.outputs if hasattr(o, "requires_grad") and o.requires_grad]

    def gradients(self, create_graph: bool = False) -> list[Any]:
        outputs = self.differentiable()
        grads = self.engine.autograd.grad(
            outputs, self.leaves, _weights(self.engine, outputs), create_graph=create_graph, retain_graph=True,
            allow_unused=True,
        )  # fmt: skip
        return list(grads)


def _flat(result: Any) -> list[Any]:
    return [x for item in result for x in _flat(item)] if isinstance(result, tuple | list) else [result]


def _weights(engine: Any, tensors: list[Any], seed: int = 1) -> list[Any]:
    """The same random numbers in the shape of each tensor, on each engine."""
    rng = np.random.default_rng(seed)
    return [engine.tensor(rng.standard_normal(tuple(t.shape))).to(t.dtype) for t in tensors]


def _array(t: Any) -> Any:
    if t is None:
        return None
    return t.detach().numpy(force=True) if hasattr(t, "detach") else np.asarray(t)


def _assert_same(ours: list[Any], theirs: list[Any], rtol: float, what: str) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(map(_array, ours), map(_array, theirs), strict=True):
        if a is None or b is None:
            # No gradient and a gradient of zeros say the same.
            there = a if b is None else b
            assert there is None or not there.any(), f"no {what}"
            continue
        assert a.shape == b.shape, what
        assert a.dtype == b.dtype, what
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, _scale(b)), err_msg=what)


def _scale(array: np.ndarray) -> float:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else np.zeros(0)
    return float(np.abs(finite).max()) if finite.size else 0.0


@on_each(SAMPLES)
def test_the_value_has_the_numbers_dtype_and_shape_of_pytorch(sample: Sample) -> None:
    ours, theirs = (Run(engine, sample) for engine in ENGINES)
    _assert_same(ours.outputs, theirs.outputs, sample.double, "value")
    assert [getattr(o, "requires_grad", None) for o in ours.outputs] == [
        getattr(o, "requires_grad", None) for o in theirs.outputs
    ]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    DIFFERENTIABLE = [s for s in SAMPLES if Run(torch, s).differentiable()]


@on_each(DIFFERENTIABLE)
def test_the_gradient_is_that_of_pytorch(sample: Sample) -> None:
    ours, theirs = (Run(engine, sample) for engine in ENGINES)
    _assert_same(ours.gradients(), theirs.gradients(), sample.double, "gradient")


@on_each(DIFFERENTIABLE)
def test_the_gradient_under_create_graph_is_the_plain_one(sample: Sample) -> None:
    run = Run(tinygrad_edu, sample)
    _assert_same(run.gradients(create_graph=True), run.gradients(), 1e-12, "gradient")


@on_each(DIFFERENTIABLE)
def test_the_second_gradient_is_that_of_pytorch(sample: Sample) -> None:
    if not sample.second:
        pytest.skip("this row claims no second gradient")
    second = []
    for engine in ENGINES:
        run = Run(engine, sample)
        first = [g for g in run.gradients(create_graph=True) if g is not None and g.requires_grad]
        if not first:
            second.append([None] * len(run.leaves))
            continue
        grads = engine.autograd.grad(first, run.leaves, _weights(engine, first, seed=2), allow_unused=True)
        second.append(list(grads))
    ours, theirs = second
    _assert_same(ours, [t if t is not None else None for t in theirs], sample.double, "second gradient")


@on_each(DIFFERENTIABLE)
def test_float32_has_the_value_and_the_gradient_of_pytorch(sample: Sample) -> None:
    ours, theirs = (Run(engine, sample, "float32") for engine in ENGINES)
    _assert_same(ours.outputs, theirs.outputs, sample.single, "value")
    _assert_same(ours.gradients(), theirs.gradients(), sample.single, "gradient")


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


@on_each(DIFFERENTIABLE)
def test_the_graph_has_the_nodes_and_edges_of_pytorch(sample: Sample) -> None:
    if not sample.names:
        pytest.skip("this row claims no node names")
    ours, theirs = (Run(engine, sample) for engine in ENGINES)
    for a, b in zip(ours.outputs, theirs.outputs, strict=True):
        if getattr(b, "requires_grad", False):
            assert _structure(a) == _structure(b)


def _tangents(engine: Any, sample: Sample) -> list[Any]:
    run = Run(engine, sample)
    fw = engine.autograd.forward_ad
    with fw.dual_level():
        moved = dict(run.inputs)
        names = [n for n, t in run.inputs.items() if t.requires_grad]
        for name, tangent in zip(names, _weights(engine, [run.inputs[n] for n in names], seed=3), strict=True):
            moved[name] = fw.make_dual(run.inputs[name].detach(), tangent)
        seed(engine)
        return [
            fw.unpack_dual(o).tangent if hasattr(o, "dtype") and o.dtype.is_floating_point else None
            for o in run.call(moved)
        ]


@on_each(DIFFERENTIABLE)
def test_forward_mode_is_that_of_pytorch_where_it_has_it(sample: Sample) -> None:
    if not sample.forward:
        pytest.skip("this row claims no forward mode")
    try:
        theirs = _tangents(torch, sample)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"PyTorch has no forward mode here: {error}")
    _assert_same(_tangents(tinygrad_edu, sample), theirs, sample.double, "tangent")


def _as_function(sample: Sample) -> tuple[Any, list[Any]]:
    """A sample as a function of its differentiable inputs, and these."""
    inputs = Run(tinygrad_edu, sample)
    names = [name for name, t in inputs.inputs.items() if t.requires_grad]

    def function(*leaves: Any) -> tuple[Any, ...]:
        seed(tinygrad_edu)
        inputs.outputs = inputs.call({**inputs.inputs, **dict(zip(names, leaves, strict=True))})
        return tuple(inputs.differentiable())

    return function, inputs.leaves


@on_each([sample for sample in DIFFERENTIABLE if sample.code not in NO_NUMERICAL_CHECK])
def test_finite_differences_confirm_the_derivatives_of_both_orders(sample: Sample) -> None:
    T = tinygrad_edu
    assert T.autograd.gradcheck(*_as_function(sample), fast_mode=True)
    if sample.second:
        assert T.autograd.gradgradcheck(*_as_function(sample), fast_mode=True)


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
