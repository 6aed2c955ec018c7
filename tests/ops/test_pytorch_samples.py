"""PyTorch's own samples: the calls by which it tests its ops (its `op_db`), on both engines.

A name that is not built is left out, and so is a call that is refused by a sentence; all others give PyTorch's numbers,
dtypes, shapes and gradients.
"""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from support.pytorchs_own import pytorchs_own

import tinygrad_edu
from tinygrad_edu.extra.bfloat16 import companion as bfloat16s

pytestmark = [pytest.mark.outer(start=1), pytest.mark.filterwarnings("ignore")]

# Of the first eight calls of each op these are compared; `-m long` compares all eight.
FEW, ALL = (0, 3), range(8)
EACH = [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.long)]

EXCEPT = {
    "empty": "the numbers are whatever was in memory",
    "empty_like": "the numbers are whatever was in memory",
    "as_strided": "the samples reach over the end of a copy",
    "sparse.mm": "the samples are compressed by rows, a layout that is refused",
    "empty_permuted": "the numbers are whatever was in memory",
    "nn.functional.batch_norm": "PyTorch takes an empty vector for a batch of channels",
}

UP_TO_SIGN = {"linalg.eigh": "with v, -v too is an eigenvector: the absolute values are compared, and their gradients"}

REFUSED_GRADIENTS = {
    "i0": "the gradient needs the Bessel function of order 1",
    "qr": "the gradient of wide matrices, and of mode 'complete'",
    "linalg.qr": "the gradient of wide matrices, and of mode 'complete'",
}


def _find(engine: Any, name: str) -> Any:
    """What `torch.<name>` is in an engine; None where there is no such name."""
    try:
        return functools.reduce(getattr, name.split("."), engine)
    except AttributeError:
        return None


@functools.cache
def _ops() -> dict[str, Any]:
    """What is compared, by its name."""
    return {
        op.formatted_name: op
        for op in pytorchs_own("common_methods_invocations").op_db
        if op.op is _find(torch, op.name)  # and not a function of PyTorch's tests around it
        and _find(tinygrad_edu, op.name) is not None
        and torch.float64 in op.supported_dtypes("cpu")
        and op.name not in EXCEPT
    }


MODULES = ["nn_functional", "linalg", "special"]


def _family(name: str) -> str:
    """The module of an op or, if it is in none of these, the start of its name."""
    return next((module for module in MODULES if name.startswith(f"{module}_")), name[0])


class Call:
    """A sample on one engine: its arguments converted, leaves as PyTorch has them, and the flat list of what came out."""

    def __init__(self, engine: Any, op: Any, sample: Any, widens: bool = False) -> None:
        self.engine, self.widens = engine, widens
        self.leaves: list[Any] = []
        arguments = [self.convert(x) for x in (sample.input, *sample.args)]
        settings = {name: self.convert(x) for name, x in sample.kwargs.items()}
        engine.manual_seed(0)
        self.outputs = [x for x in _flat(_find(engine, op.name)(*arguments, **settings)) if hasattr(x, "grad_fn")]
        if op.name in UP_TO_SIGN:
            self.outputs = [abs(x) for x in self.outputs]

    def convert(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.dtype is torch.bfloat16:
            t = self.engine.as_tensor(x.detach().double().numpy())
            t = t if self.widens else t.to(self.engine.bfloat16)
            if x.requires_grad:
                self.leaves.append(t.requires_grad_())
            return t
        if isinstance(x, torch.Tensor):
            t = self.engine.as_tensor(x.detach().numpy().copy(order="K"))
            if x.requires_grad:
                self.leaves.append(t.requires_grad_())
            return t
        if isinstance(x, list | tuple):
            return type(x)(self.convert(item) for item in x)
        if isinstance(x, torch.dtype):
            if self.widens and x is torch.bfloat16:
                return torch.float64
            return getattr(self.engine, str(x).removeprefix("torch."))
        if isinstance(x, torch.nn.Module):
            return getattr(self.engine.nn, type(x).__name__)()
        return str(x) if isinstance(x, torch.device) else x

    def gradients(self) -> list[Any]:
        outputs = [t for t in self.outputs if t.requires_grad]
        if not outputs:
            return []
        rng = np.random.default_rng(0)
        weights = [self.weights(t, rng) for t in outputs]
        return list(self.engine.autograd.grad(outputs, self.leaves, weights, allow_unused=True))

    def weights(self, t: Any, rng: np.random.Generator) -> Any:
        numbers = self.engine.as_tensor(_random_like(t, rng))
        if self.widens or t.dtype is self.engine.bfloat16:
            return numbers.to(self.engine.bfloat16).to(t.dtype)
        return numbers


def _random_like(t: Any, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(tuple(t.shape))
    return numbers + 1j * rng.standard_normal(tuple(t.shape)) if t.is_complex() else numbers


def _flat(result: Any) -> list[Any]:
    return [x for item in result for x in _flat(item)] if isinstance(result, tuple | list) else [result]


def _assert_same(ours: list[Any], theirs: list[Any]) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            # No gradient and a gradient of zeros say the same.
            assert not any(np.any(t.numpy()) for t in (a, b) if t is not None)
            continue
        a, b = a.detach().numpy(), b.detach().numpy(force=True)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("numbers", EACH)
@pytest.mark.parametrize("family", [*MODULES, *string.ascii_lowercase])
def test_pytorchs_samples_give_its_numbers_and_gradients(family: str, numbers: Sequence[int]) -> None:
    wrong = []
    for name, op in _ops().items():
        if _family(name) == family:
            try:
                _compare(op, numbers)
            except Exception as error:
                error.add_note(f"in the samples of {name}")
                wrong.append(error)
    if wrong:
        raise ExceptionGroup("these ops are not PyTorch's", wrong)


# Of each op so many calls with complex numbers.
COMPLEX_SAMPLES = 3


@pytest.mark.parametrize("family", [*MODULES, *string.ascii_lowercase])
def test_pytorchs_complex_samples_give_its_numbers_and_gradients_or_are_refused(family: str) -> None:
    wrong = []
    for name, op in _ops().items():
        if _family(name) == family and torch.complex128 in op.supported_dtypes("cpu"):
            try:
                _compare_complex(op)
            except Exception as error:
                error.add_note(f"in the complex samples of {name}")
                wrong.append(error)
    if wrong:
        raise ExceptionGroup("of complex numbers these ops are not PyTorch's", wrong)


# Of each op so many calls with bfloat16.
BFLOAT16_SAMPLES = 2

# The gradient goes to whichever of several equal elements was found.
TIES = {"sort", "msort", "argsort", "topk"}
# PyTorch rounds as often, elsewhere: so many units in the last place.
LOOSER = {
    "softmax": 17, "std": 2, "rsqrt": 2, "prod": 2, "dist": 2, "linalg.norm": 2, "norm": 2, "nn.functional.normalize": 128,
    "nn.functional.triplet_margin_loss": 8, "nn.functional.cosine_similarity": 16, "addcdiv": 2, "linalg.vector_norm": 2,
    "linalg.matrix_norm": 2, "nn.functional.pairwise_distance": 2,
}  # fmt: skip


@pytest.mark.parametrize("family", [*MODULES, *string.ascii_lowercase])
def test_pytorchs_bfloat16_samples_give_its_numbers_and_gradients_or_are_refused(family: str) -> None:
    wrong = []
    for name, op in _ops().items():
        if _family(name) == family and torch.bfloat16 in op.supported_dtypes("cpu") and op.name not in TIES:
            try:
                _compare_bfloat16(op)
            except Exception as error:
                error.add_note(f"in the bfloat16 samples of {name}")
                wrong.append(error)
    if wrong:
        raise ExceptionGroup("of bfloat16 these ops are not PyTorch's", wrong)


def test_most_ops_that_pytorch_computes_in_bfloat16_are_built() -> None:
    built = [
        op for op in _ops().values() if torch.bfloat16 in op.supported_dtypes("cpu") and _accepts_bfloat16(op.name)
    ]
    assert len(built) >= 300


def _accepts_bfloat16(name: str) -> bool:
    return name.rpartition(".")[2] in bfloat16s._accepted


def _compare_bfloat16(op: Any) -> None:
    torch.manual_seed(0)
    has_gradient = op.supports_autograd and torch.bfloat16 in op.supported_backward_dtypes("cpu")
    samples = op.sample_inputs("cpu", torch.bfloat16, requires_grad=has_gradient)
    for sample in itertools.islice(samples, BFLOAT16_SAMPLES):
        try:
            ours = Call(tinygrad_edu, op, sample)
            gradients = ours.gradients() if has_gradient else []
        except NotImplementedError:
            return
        theirs = Call(torch, op, sample)
        exact = Call(torch, op, sample, widens=True)
        units = LOOSER.get(op.name, 1)
        _assert_rounded(ours.outputs, theirs.outputs, exact.outputs, units)
        _assert_rounded(gradients, *(c.gradients() if has_gradient else [] for c in (theirs, exact)), units)


def _wide(t: Any) -> np.ndarray:
    return t.detach().double().numpy(force=True)


def _assert_rounded(ours: list[Any], theirs: list[Any], exact: list[Any], units: int) -> None:
    """Our numbers are PyTorch's, to `units` in the last place; or nearer to what float64 gives."""
    assert len(ours) == len(theirs)
    for a, b, c in zip(ours, theirs, exact, strict=True):
        if a is None or b is None:
            assert not any(np.any(_wide(t)) for t in (a, b) if t is not None)
            continue
        assert (tuple(a.shape), str(a.dtype).split(".")[1]) == (tuple(b.shape), str(b.dtype).split(".")[1])
        one = 2.0**-7 if b.dtype is torch.bfloat16 else 1e-5
        x, y, z = map(_wide, (a, b, c))
        near = np.abs(x - y) <= units * one * np.maximum(np.abs(x), np.abs(y)) + 1e-12
        better = np.abs(x - z) <= np.abs(y - z)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        assert np.all(same | near | better), (x[~(same | near | better)], y[~(same | near | better)])


def test_most_of_pytorchs_ops_are_compared() -> None:
    assert len(_ops()) >= 418


def _compare_complex(op: Any) -> None:
    torch.manual_seed(0)
    has_gradient = torch.complex128 in op.supported_backward_dtypes("cpu")
    samples = op.sample_inputs("cpu", torch.complex128, requires_grad=has_gradient)
    for sample in itertools.islice(samples, COMPLEX_SAMPLES):
        try:
            ours = Call(tinygrad_edu, op, _resolved(sample))
            gradients = ours.gradients() if has_gradient else []
        except NotImplementedError:
            return
        theirs = Call(torch, op, _resolved(sample))
        _assert_same(ours.outputs, theirs.outputs)
        _assert_same(gradients, theirs.gradients() if has_gradient else [])


def _resolved(sample: Any) -> Any:
    """The sample without delayed conjugates, which cannot become arrays."""
    return sample.transform(
        lambda x: x.detach().resolve_conj().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
    )


def _compare(op: Any, numbers: Sequence[int]) -> None:
    torch.manual_seed(0)
    samples = op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)
    for number, sample in enumerate(itertools.islice(samples, numbers[-1] + 1)):
        if number not in numbers:
            continue
        theirs = Call(torch, op, sample)
        try:
            ours = Call(tinygrad_edu, op, sample)
        except NotImplementedError:
            continue
        _assert_same(ours.outputs, theirs.outputs)
        try:
            gradients = ours.gradients()
        except NotImplementedError:
            assert op.name in REFUSED_GRADIENTS
            continue
        _assert_same(gradients, theirs.gradients())
