"""Shows the smallest input that an answer missed: its graph as a picture and, after many tries, on `viz`'s stage."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sandbox.time_limit import Budget, TimeUp, time_limit
from .exercise import Criterion, Exercise, source_of
from .plain import decode
from .running import helpers

if TYPE_CHECKING:
    from viz.recording.recording import Recording
    from viz.widgets.player import Player

    from .judging.judge import Failure


@functools.lru_cache(maxsize=256)
def drawn(id: str, case: str) -> str:
    """The graph of an input that failed, drawn by `viz`; nothing if `viz` is not installed."""
    from . import get

    drawing = get(id).drawing
    if drawing is None:
        return ""
    try:
        import tinygrad_edu
        import viz

        tensors = drawing(tinygrad_edu, *decode(json.loads(case)))
        svg = viz.draw(list(tensors.values())[-1], names=tensors).svg
    except Exception:  # no layout tool or no viz: the report then has no picture
        return ""
    return f'<figure style="margin:8px 0 0"><figcaption>The graph of this input:</figcaption>{svg}</figure>'


def worked(exercise: Exercise, criterion: Criterion, failure: Failure, answer: object) -> Player | None:
    """The input of `failure` on the stage: its backward pass or, where an exercise draws none, what `answer` does.

    None if no tensor is computed, if the answer behaves differently when watched, or if `viz` is not installed.
    """
    with contextlib.suppress(Exception, TimeUp), time_limit(Budget(exercise.seconds)):
        T, case = importlib.import_module(failure.engine), decode(failure.case)
        names = dict(zip(criterion.parameters, case, strict=True))
        recording = _right(exercise, T, names) if exercise.drawing else _own(exercise, criterion, T, names, answer)
        error = recording.error or {"message": ""}
        if recording.graph.ops and error["message"][:20] in failure.got:
            return recording.play()
    return None


def _right(exercise: Exercise, T: Any, case: dict[str, Any]) -> Recording:
    """The backward pass through the graph of an input, from the gradient that arrives there."""
    from viz.recording.record import record

    assert exercise.drawing is not None
    tensors = exercise.drawing(T, *case.values())
    name, result = list(tensors.items())[-1]
    seed: dict[str, Any] = {key: T.tensor(case[key]) for key in ("grad_output", "grad") if key in case}
    seed = seed or ({"ones": T.ones_like(result)} if result.ndim else {})
    return record(f"{name}.backward({', '.join(seed)})", engine=T.__name__, inputs={**tensors, **seed})


def _own(exercise: Exercise, criterion: Criterion, T: Any, case: dict[str, Any], answer: object) -> Recording:
    """What the answer does with an input. The program is the check, which calls it.

    Raises TypeError if the check hands it NumPy's arrays, which a recorded program gets as tensors.
    """
    from viz.recording.record import record

    if "T" not in inspect.signature(criterion.probe).parameters or any(
        isinstance(v, np.ndarray) for v in case.values()
    ):
        raise TypeError("not about tensors")
    called = ", ".join([exercise.name, "T", *(f"{name}={name}" for name in case)])
    source = f"{source_of(criterion.probe).replace('def probe(', 'def the_check(', 1)}\n\nthe_check({called})"
    names = {name: getattr(helpers, name) for name in helpers.__all__}
    return record(source, engine=T.__name__, inputs={**names, **case, exercise.name: answer})
