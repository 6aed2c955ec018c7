"""Random programs give the same on PyTorch and on tinygrad_edu, by three designs: see `support/random_programs.py`.

TINYGRAD_EDU_PARITY_PROGRAMS=20000 runs so many of each design, TINYGRAD_EDU_PARITY_SEED=7 others than usual; `-k
memory`, `-k statements` or `-k graphs` runs one design. Before an issue is resolved, 20,000 of a new seed run.
"""

import os

import pytest
from support.random_programs import DESIGNS, first_difference, kind_of, shortest

pytestmark = pytest.mark.outer(start=1)
USUAL = {"memory": 60, "statements": 150, "graphs": 400}
COUNT = os.environ.get("TINYGRAD_EDU_PARITY_PROGRAMS")
FIRST = int(os.environ.get("TINYGRAD_EDU_PARITY_SEED", "0")) * 1_000_000
PARTS = 8 if COUNT else 1  # of many programs, for as many processes
MOST = 5  # what is found is shown for so many programs


@pytest.mark.timeout(0)  # how long it takes is a matter of how many there are, and of who else is at work
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("design", DESIGNS)
def test_a_random_program_gives_the_same_on_both_engines(design: str, part: int) -> None:
    found: list[str] = []
    for seed in range(FIRST + part, FIRST + int(COUNT or USUAL[design]), PARTS):
        lines = DESIGNS[design][0](seed)
        difference = first_difference(design, lines)
        # Of operands that nearly fit, which error is told first is a matter of each op; a wrong number never is.
        if difference and (design != "memory" or kind_of(difference) == "wrong number"):
            fewer = shortest(design, lines)
            found.append("\n".join([f"{design}, seed {seed}: {first_difference(design, fewer)}", *fewer]))
            if len(found) == MOST:
                break
    assert not found, "\n\n".join(found)
