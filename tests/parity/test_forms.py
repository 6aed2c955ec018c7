"""Short programs as people write them give PyTorch's values, gradients and errors, and warn where PyTorch warns."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
from support.forms import programs
from support.parity import ENGINES, PHRASE, Raised, differences, error_of, observe

pytestmark = pytest.mark.outer(start=1)

# Warnings that are about the innards of PyTorch.
NOT_SAID = ("TypedStorage", "torch.jit.script", "__array_wrap__", "__array__", "nested tensors")


@pytest.mark.parametrize("source", [pytest.param(source, id=f"{subject}-{source}") for subject, source in programs()])
def test_a_form_means_what_it_means_in_pytorch(source: str) -> None:
    theirs, ours = (outcome(source, ENGINES[name]) for name in ("torch", "tinygrad_edu"))
    assert list(differences(theirs, ours)) == []


def outcome(source: str, engine: Any) -> Any:
    """What `source` leaves in `out` as plain data, or the error that it raises; and the opening of each warning."""
    names: dict[str, Any] = {"T": engine, "F": engine.nn.functional, "np": np}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            exec(source, names)
        except Exception as error:
            return {"raised": error_of(error)}
    told = [w for w in heard if not any(name in str(w.message) for name in NOT_SAID)]
    said = sorted({f"{w.category.__name__}: {_opening(str(w.message))}" for w in told})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"out": _values(observe(names["out"])["result"]), "warnings": said}


def _opening(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("tinygrad_edu", "torch"))[:PHRASE]


def _values(plain: Any) -> Any:
    """The data of a tensor that programs compute with; other tests compare the graph."""
    if isinstance(plain, dict) and "values" in plain:
        return {key: plain[key] for key in ("values", "dtype", "requires_grad") if key in plain}
    if isinstance(plain, list):
        return [_values(p) for p in plain]
    if isinstance(plain, dict):
        return {key: _values(p) for key, p in plain.items()}
    if isinstance(plain, str):
        return plain.replace("tinygrad_edu.", "torch.")
    if isinstance(plain, Raised | int | float | bool | type(None) | np.ndarray):
        return plain
    return str(plain)
