"""Fixtures: what students hand in."""

import pytest
from support.grading import write_submissions


@pytest.fixture
def submit(tmp_path):
    """Write notebooks, given by student, and return the folder."""
    return lambda **notebooks: write_submissions(tmp_path / "submitted", **notebooks)
