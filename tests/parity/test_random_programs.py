"""Random programs give the same on PyTorch and on tinygrad_edu: values, graphs, hooks, versions and errors.

Before an issue is resolved, 20,000 of a new seed run on the fast engine and on the plain one: see `COUNT`.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from support.parity import ENGINES, differences
from support.programs import programs
from support.toolbox import execute, has_huge_numbers

pytestmark = pytest.mark.outer(start=1)

# The same programs on every run. TINYGRAD_EDU_PARITY_PROGRAMS asks for more of them, TINYGRAD_EDU_PARITY_SEED for others.
COUNT = int(os.environ.get("TINYGRAD_EDU_PARITY_PROGRAMS", "400"))
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
    # It writes over a tangent of its own that has no memory.
    assume("ZeroTensors are immutable" not in str(theirs["errors"]))
    # Where a write both overlaps what it reads and does not fit, PyTorch tells of one, we of the other; and it cannot fill
    # an expanded gradient.
    assume("to a single memory location" not in str(theirs["errors"]))
    assume(not has_huge_numbers(theirs))
    # We refuse to go on with a view, or its base, that was given other memory: the page of differences says so.
    assume("was given other memory" not in str(ours))
    # So it does of a write that would change a leaf's shape.
    assume("and a leaf stay one" not in str(ours["errors"]))
    # The page of differences tells which tangents a gradient keeps, and what is computed from it.
    keep_theirs = [f".tangents.{name}: " for name in made_of_gradients(lines)]
    found = [line for line in differences(theirs, ours) if not line.startswith(tuple(keep_theirs))]
    assert not found, "\n".join(["PyTorch and tinygrad_edu differ on", *lines, *found])


def made_of_gradients(lines: list[str]) -> list[str]:
    """The names that a program gives to gradients in a graph of their own, and to what comes after the first of them."""
    first = next((i for i, line in enumerate(lines) if "autograd.grad(" in line), len(lines))
    return [name.strip() for line in lines[first:] if " = " in line for name in line.partition(" = ")[0].split(",")]
