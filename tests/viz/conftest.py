"""Every claim about recordings and pictures is held against both engines."""

import pytest

import viz.engines


@pytest.fixture(params=viz.engines.NAMES)
def engine(request):
    """The name of an engine."""
    return request.param


@pytest.fixture
def T(engine):
    """The module of that engine, as a program gets it."""
    return viz.engines.load(engine).module
