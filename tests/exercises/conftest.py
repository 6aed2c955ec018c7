"""Fixtures: what students hand in."""

import json

import pytest


@pytest.fixture
def submit(tmp_path):
    """Write notebooks, given by student, and return the folder."""

    def write(**notebooks):
        folder = tmp_path / "submitted"
        for student, content in notebooks.items():
            file = folder / student / "lesson1.ipynb"
            file.parent.mkdir(parents=True)
            file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return folder

    return write
