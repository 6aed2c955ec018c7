"""A lesson on PyTorch runs by changing its import, and from the same seed it gives the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from support.usual_programs import PROGRAMS

import tinygrad_edu

pytestmark = pytest.mark.outer


@pytest.mark.parametrize("lesson", PROGRAMS, ids=lambda f: f.__name__)
def test_a_lesson_gives_the_same_numbers_on_both_engines(lesson: Any) -> None:
    ours, theirs = np.array(lesson(tinygrad_edu)), np.array(lesson(torch))
    assert np.isfinite(theirs).all()
    # float32 through a few steps of training.
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
