"""Fixtures: who the student is, and what students hand in."""

import pytest
from support.grading import write_submissions

from tinygrad_edu import exercises


@pytest.fixture(autouse=True)
def first_try():
    """Each test is a student who tries for the first time."""
    exercises._tries.clear()


@pytest.fixture
def submit(tmp_path):
    """Write notebooks, given by student, and return the folder."""
    return lambda **notebooks: write_submissions(tmp_path / "submitted", **notebooks)
