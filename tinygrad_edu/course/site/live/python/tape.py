"""What PyTorch did when the site was built, for each program of a lesson: as written, and with each switch.

This file both writes the tape, in the kernel that runs a lesson for the site, and reads it, in the page.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import hashlib
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SAYS = "PyTorch does not run in a browser"
NOT_RECORDED = f"{SAYS}, and this change was not recorded. tinygrad_edu is live."
_MOST_NAMED = 14  # switches that are combined, for one text
_dtype = "float32"  # the type of floats if a program names none
_recordings: dict[str, dict[str, Any]] = {}  # by key: `run`, a recording as JSON, and `warned`, categories and texts
_version = ""


def key(source: str, device: str, dtype: str, inputs: dict[str, Any]) -> str:
    """The key of a recording: a hash of the program's text and of everything that it was given."""
    given = {name: _written(value) for name, value in sorted(inputs.items())}
    text = json.dumps([source, device, dtype, given], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _written(value: Any) -> Any:
    array = getattr(value, "detach", lambda: value)()
    array = getattr(array, "numpy", lambda: array)()
    if hasattr(array, "tolist"):
        return [str(array.dtype), array.tolist()]
    return value.__qualname__ if callable(value) else repr(value)


def start() -> None:
    """Store what PyTorch records in this process from now on. Called where the site is built."""
    from viz import engines
    from viz.recording.record import Recorder
    from viz.recording.source import without_other_frames

    run = Recorder.run

    def run_and_keep(self: Any, inputs: dict[str, Any]) -> Any:
        if self.engine.name != engines.TORCH or self.shaken or any(map(self.engine.is_module, inputs.values())):
            return run(self, inputs)  # no page has a module of PyTorch's to ask about, nor moves what a program makes
        dtype = str(self.engine.module.get_default_dtype()).rpartition(".")[2]
        found = key(self.source.text, self.device, dtype, inputs)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made = run(self, inputs)
        told = [[one.category.__name__, without_other_frames(str(one.message))] for one in warned]
        _recordings[found] = {"run": made.to_json(), "warned": told}
        for one in warned:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return made

    Recorder.run = run_and_keep  # type: ignore[method-assign]


def press_every_switch(texts: Sequence[str]) -> None:
    """Record the program of each explorer in this process with each of its switches, and with combinations of them.

    The combinations are of two or three switches that one of the `texts` beside an explorer names.
    """
    from ipywidgets.widgets.widget import _instances

    from viz import engines
    from viz.experiments.edits import edit
    from viz.experiments.program import ProgramError
    from viz.experiments.switches import presses
    from viz.recording.record import STEPS, record
    from viz.widgets.explorer import Explorer
    from viz.widgets.runs import SEED, asks

    for shown in list(_instances.values()):
        if not isinstance(shown, Explorer):
            continue
        given = {"input": asks, **shown._last.program.namespace}
        for state in states(presses(shown.program["switches"]), texts):
            with contextlib.suppress(ProgramError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                edited = edit(shown._last.program, state)
                with engines.load(engines.TORCH).seeded(SEED):
                    record(edited.source, engines.TORCH, inputs=given, limit=STEPS)


def states(switches: list[dict[str, Any]], texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What one press leads to, a second call of backward() with another switch, and what a text names together."""
    from viz.experiments.switches import pressed

    for switch in switches:
        yield pressed({}, switch)
    twice = [pair for pair in itertools.combinations(switches, 2) if _on_a_second_call(*pair)]
    named = ([switch for switch in switches if _is_named(switch, text)][:_MOST_NAMED] for text in texts)
    together = ((*itertools.combinations(several, 2), *itertools.combinations(several, 3)) for several in named)
    for chosen in (*twice, *itertools.chain.from_iterable(together)):
        yield functools.reduce(pressed, chosen, {})


def _on_a_second_call(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two switches stand at the same call of backward(), and one of them calls it again."""
    return one["line"] == other["line"] and 2 in (one["on"], other["on"])


def _is_named(switch: dict[str, Any], text: str) -> bool:
    """Whether a text names a switch in code marks, and with it a name of the program that it is about."""
    words = set(re.findall(r"`([^`]+)`", text))
    return switch["called"] in words and (not switch["names"] or not words.isdisjoint(switch["names"]))


def save(path: Path) -> None:
    """Write the tape as gzipped JSON: PyTorch's version, and the recordings by key."""
    import gzip

    from viz import engines

    version = str(engines.load(engines.TORCH).module.__version__)
    text = json.dumps({"version": version, "recordings": _recordings})
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def insert(text: str) -> None:
    """Use this tape from now on. Called in the page."""
    global _version
    read = json.loads(text)
    _version = read["version"]
    _recordings.update(read["recordings"])


class Player:
    """Takes the place of a `Recorder`: looks up the run instead of running the program."""

    def __init__(self, source: Any, device: str = "cpu", *options: Any, **more: Any) -> None:
        self.source = source
        self.device = device

    def run(self, inputs: dict[str, Any]) -> Any:
        """What PyTorch did with this program.

        Raises:
            ModuleNotFoundError: no tape holds it.
        """
        from viz.recording.recording import from_data

        found = _recordings.get(key(self.source.text, self.device, _dtype, inputs))
        if found is None:
            raise ModuleNotFoundError(NOT_RECORDED, name="torch")
        for category, text in found["warned"]:
            warnings.warn(text, getattr(builtins, category, UserWarning), stacklevel=2)
        return from_data(json.loads(found["run"]))


class _Module:
    """Stands in for the module `torch`: it has a version and a default dtype, but no functions."""

    def __init__(self) -> None:
        self.__version__ = f"{_version}, recorded"

    @staticmethod
    def get_default_dtype() -> str:
        return _dtype

    def __getattr__(self, name: str) -> Any:
        raise ModuleNotFoundError(f"{SAYS}. tinygrad_edu does.", name="torch")


class PyTorch:
    """The engine PyTorch: it answers questions about itself, but computes nothing."""

    name = "torch"

    def __init__(self) -> None:
        self.module = _Module()

    def devices(self) -> dict[str, str]:
        """The devices, and why CUDA is not available."""
        return {"cpu": "", "cuda": f"{SAYS}."}

    @contextlib.contextmanager
    def seeded(self, seed: int, device: str = "cpu") -> Iterator[Callable[[], list[str]]]:
        """Do nothing: the recordings were made with their seeds."""
        yield list

    @contextlib.contextmanager
    def default_dtype(self, name: str) -> Iterator[None]:
        """A context that looks up the recordings made under this dtype."""
        global _dtype
        before, _dtype = _dtype, name
        try:
            yield
        finally:
            _dtype = before

    @staticmethod
    def on_one_thread() -> contextlib.AbstractContextManager[None]:
        """Do nothing: nothing is computed."""
        return contextlib.nullcontext()

    def same_randomness(self) -> contextlib.AbstractContextManager[None]:
        """The playground calls this before it computes with an engine.

        Raises:
            ModuleNotFoundError: always.
        """
        raise ModuleNotFoundError(f"{SAYS}: choose tinygrad_edu here.")

    def is_tensor(self, thing: Any) -> bool:
        """False: there are no tensors of PyTorch here."""
        return False

    is_module = is_tensor
