"""Fixtures: who the student is, what students hand in, and where it runs."""

import pytest
from support.grading import write_submissions

from tinygrad_edu import exercises
from tinygrad_edu.exercises.exercise import PROGRAM
from tinygrad_edu.sandbox.outside import Sandbox


@pytest.fixture(autouse=True)
def first_try():
    """Each test is a student who tries for the first time."""
    exercises._tries.clear()


@pytest.fixture
def submit(tmp_path):
    """Write notebooks, given by student, and return the folder."""
    return lambda **notebooks: write_submissions(tmp_path / "submitted", **notebooks)


@pytest.fixture(scope="module")
def sandbox(request):
    """One for all answers of a file, with the engines that the file names."""
    with Sandbox(PROGRAM, getattr(request.module, "LOADED", ())) as sandbox:
        yield sandbox
