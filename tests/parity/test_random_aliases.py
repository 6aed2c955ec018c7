"""Random programs about memory: no number differs from PyTorch's without an error. See `support/aliases.py`.

TINYGRAD_EDU_ALIASES=3000 runs so many, TINYGRAD_EDU_FIRST_ALIASES says from which seed. What else differs, such as the words of
an error, is printed where TINYGRAD_EDU_AXES is set.
"""

from __future__ import annotations

import os

import pytest
from support.aliases import Program, first_difference, kind_of, shortest

pytestmark = pytest.mark.outer(start=1)

COUNT = int(os.environ.get("TINYGRAD_EDU_ALIASES", "60"))
FIRST = int(os.environ.get("TINYGRAD_EDU_FIRST_ALIASES", "20000"))


def test_no_number_is_wrong_without_an_error() -> None:
    found = []
    for seed in range(FIRST, FIRST + COUNT):
        lines = Program(seed).lines
        difference = first_difference(lines)
        if difference and kind_of(difference) == "wrong number":
            fewer = shortest(lines)
            found.append(f"seed {seed}: {first_difference(fewer)}\n" + "\n".join(fewer))
        elif difference and os.environ.get("TINYGRAD_EDU_AXES"):
            print(f"seed {seed}: {kind_of(difference)}: {difference}")
    assert not found, "\n\n".join(found)
