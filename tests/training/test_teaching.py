"""The teaching programs give the same losses on both engines, and learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from support.teaching import PROGRAMS, STEPS

import tinygrad_edu

pytestmark = pytest.mark.outer


@pytest.mark.parametrize("train", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_has_the_same_losses_on_both_engines_and_learns(train: Any) -> None:
    ours, theirs = train(tinygrad_edu), train(torch)
    assert len(ours) == STEPS
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert np.mean(ours[-3:]) < np.mean(ours[:3])
