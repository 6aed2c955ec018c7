"""Runs a row of the table of samples on one engine, and compares the results of both engines."""

from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

from .samples import SAMPLES, Sample

ENGINES = (tinygrad_edu, torch)
DIFFERENTIABLE = [sample for sample in SAMPLES if any(given.grad for given in sample.inputs.values())]  # most of them
_IDS = {id(sample): f"{i}-{sample.code}" for i, sample in enumerate(SAMPLES)}  # two may differ in their inputs alone


def on_each(samples: list[Sample], every: int = 1) -> pytest.MarkDecorator:
    """Run a test on each of these rows of the table; with `every`, on one of so many, and with `-m long` on all."""
    rest = [sample for i, sample in enumerate(samples) if i % every]
    rows = [*samples[::every], *(pytest.param(sample, marks=pytest.mark.long) for sample in rest)]
    return pytest.mark.parametrize("sample", rows, ids=[_IDS[id(sample)] for sample in [*samples[::every], *rest]])


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
        """The gradients of all leaves; None for one that no output depends on."""
        outputs = self.differentiable()
        if not outputs:  # such as an index
            return [None] * len(self.leaves)
        settings = {"create_graph": create_graph, "retain_graph": True, "allow_unused": True}
        return list(self.engine.autograd.grad(outputs, self.leaves, weights(self.engine, outputs), **settings))


def _flat(result: Any) -> list[Any]:
    return [x for item in result for x in _flat(item)] if isinstance(result, tuple | list) else [result]


def weights(engine: Any, tensors: list[Any], seed: int = 1) -> list[Any]:
    """The same random numbers in the shape of each tensor, on each engine."""
    rng = np.random.default_rng(seed)
    return [engine.tensor(rng.standard_normal(tuple(t.shape))).to(t.dtype) for t in tensors]


def array(t: Any) -> Any:
    if t is None:
        return None
    return t.detach().numpy(force=True) if hasattr(t, "detach") else np.asarray(t)


def assert_same(ours: list[Any], theirs: list[Any], rtol: float, what: str) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(map(array, ours), map(array, theirs), strict=True):
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
