"""PyTorch's own samples: the calls by which it tests its ops (its `op_db`), on both engines.

A name that is not built is left out, and so is a call that is refused by a sentence; all others give PyTorch's numbers,
dtypes, shapes and gradients.
"""

import functools
import itertools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from support.op_table import _flat, weights
from support.pytorchs_own import pytorchs_own

import tinygrad_edu

pytestmark = [pytest.mark.outer(start=1), pytest.mark.filterwarnings("ignore")]

# Of the first eight calls of each op these are compared; `-m long` compares all eight.
FEW, ALL = (0, 3), range(8)
EACH = [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.long)]
EXCEPT = {"empty": "the numbers are whatever was in memory", "empty_like": "the numbers are whatever was in memory"}
EXCEPT |= {"nn.functional.batch_norm": "PyTorch takes an empty vector for a batch of channels"}


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
    """A sample on one engine: its converted arguments, leaves as PyTorch has them, and a flat list of what came out."""

    def __init__(self, engine: Any, op: Any, sample: Any) -> None:
        self.engine = engine
        self.leaves: list[Any] = []
        arguments = [self.convert(x) for x in (sample.input, *sample.args)]
        settings = {name: self.convert(x) for name, x in sample.kwargs.items()}
        engine.manual_seed(0)
        self.outputs = [x for x in _flat(_find(engine, op.name)(*arguments, **settings)) if hasattr(x, "grad_fn")]

    def convert(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            t = self.engine.as_tensor(x.detach().numpy().copy(order="K"))
            if x.requires_grad:
                self.leaves.append(t.requires_grad_())
            return t
        if isinstance(x, list | tuple):
            return type(x)(self.convert(item) for item in x)
        if isinstance(x, torch.dtype):
            return getattr(self.engine, str(x).removeprefix("torch."))
        if isinstance(x, torch.nn.Module):
            return getattr(self.engine.nn, type(x).__name__)()
        return str(x) if isinstance(x, torch.device) else x

    def gradients(self) -> list[Any]:
        outputs = [t for t in self.outputs if t.requires_grad]
        if not outputs:
            return []
        given = weights(self.engine, outputs, seed=0)
        return list(self.engine.autograd.grad(outputs, self.leaves, given, allow_unused=True))


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


def test_most_of_pytorchs_ops_are_compared() -> None:
    assert len(_ops()) >= 200


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
        _assert_same(ours.gradients(), theirs.gradients())
