"""Programs of the usual kinds give the same losses, weights and predictions on both engines, or a sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from support.parity import ENGINES, differences, error_of, observe
from support.wild_programs import PROGRAMS

pytestmark = pytest.mark.outer(start=1)


def test_there_are_sixty_programs() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_on_pytorch(name: str) -> None:
    theirs, ours = (outcome(PROGRAMS[name], ENGINES[engine]) for engine in ("torch", "tinygrad_edu"))
    assert "raised" not in theirs, f"the program itself: {theirs}"
    assert list(differences(theirs, ours)) == []


def outcome(program: Any, engine: Any) -> Any:
    """What the program returns: values and dtypes of tensors, and the rest as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"out": _values(observe(program(engine))["result"])}
        except Exception as error:
            return {"raised": error_of(error)}


def _values(plain: Any) -> Any:
    if isinstance(plain, dict) and "values" in plain:
        return {"values": plain["values"], "dtype": plain["dtype"]}
    if isinstance(plain, dict):
        return {key: _values(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_values(value) for value in plain]
    # A number read out of a tensor is as exact as float32.
    return np.array(plain, np.float32) if isinstance(plain, float) else plain
