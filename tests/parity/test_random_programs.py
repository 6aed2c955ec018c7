"""Random programs give the same on PyTorch and on tinygrad_edu: values, graphs, hooks, versions and errors."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from support.parity import ENGINES, differences
from support.programs import programs
from support.toolbox import execute, has_huge_numbers

# The same programs on every run. TINYGRAD_EDU_PARITY_PROGRAMS asks for more of them, TINYGRAD_EDU_PARITY_SEED for others.
COUNT = int(os.environ.get("TINYGRAD_EDU_PARITY_PROGRAMS", "2000"))
SEED = os.environ.get("TINYGRAD_EDU_PARITY_SEED")


@pytest.mark.timeout(0)  # how long it takes is a matter of how many there are, and of who else is at work
@(seed(int(SEED)) if SEED else lambda test: test)
@given(programs())
@settings(
    max_examples=COUNT,
    derandomize=SEED is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)
def test_a_random_program_gives_the_same_on_both_engines(lines):
    theirs, ours = (execute(lines, ENGINES[name]) for name in ("torch", "tinygrad_edu"))
    # A program that trips PyTorch's own assertions says nothing about us.
    assume("INTERNAL ASSERT" not in str(theirs["errors"]))
    # It has not built a hook on several tensors, one a leaf, for autograd.grad.
    assume("_will_engine_execute_node" not in str(theirs))
    # Where a write both overlaps what it reads and does not fit, PyTorch tells of one, we of the other.
    assume("refer to a single memory location" not in str(theirs["errors"]))
    assume(not has_huge_numbers(theirs))
    found = list(differences(theirs, ours))
    assert not found, "\n".join(["PyTorch and tinygrad_edu differ on", *lines, *found])
