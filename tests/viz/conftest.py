"""Every claim about recordings and pictures is held against both engines."""

import sys
from pathlib import Path

import pytest

import viz.engines

HERE = str(Path(viz.__file__).parent)


@pytest.fixture(params=viz.engines.NAMES)
def engine(request):
    """The name of an engine."""
    return request.param


@pytest.fixture
def T(engine):
    """The module of that engine, as a program gets it."""
    return viz.engines.load(engine).module


@pytest.fixture
def lines_run():
    """Counts the lines of viz that run inside a function: what others do on the machine does not change the count."""

    def counted(function):
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            if not frame.f_code.co_filename.startswith(HERE):
                return None
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function()
        finally:
            sys.settrace(before)
        return count

    return counted
