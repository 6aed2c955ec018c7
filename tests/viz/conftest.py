"""Every claim about recordings and pictures is held against both engines."""

import importlib.util

import pytest


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        have_core = importlib.util.find_spec("tinygrad_edu.overrides") is not None
        metafunc.parametrize("engine", ["tinygrad_edu", "torch"] if have_core else ["torch"])


@pytest.fixture
def torch():
    return pytest.importorskip("torch")
