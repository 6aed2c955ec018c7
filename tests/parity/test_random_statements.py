"""Random programs of single statements do on both engines the same, errors included: see `support/statements.py`.

TINYGRAD_EDU_STATEMENTS=20000 runs so many, TINYGRAD_EDU_FIRST_STATEMENTS says from which seed.
"""

from __future__ import annotations

import os

import pytest
from support.statements import Program, first_difference, shortest

pytestmark = pytest.mark.outer(start=1)

COUNT = int(os.environ.get("TINYGRAD_EDU_STATEMENTS", "150"))
FIRST = int(os.environ.get("TINYGRAD_EDU_FIRST_STATEMENTS", "0"))


def test_random_statements_do_what_they_do_in_pytorch() -> None:
    found = []
    for seed in range(FIRST, FIRST + COUNT):
        lines = Program(seed).lines
        if first_difference(lines):
            fewer = shortest(lines)
            found.append(f"seed {seed}: {first_difference(fewer)}\n" + "\n".join(fewer))
    assert not found, "\n\n".join(found)
