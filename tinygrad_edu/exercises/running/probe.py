"""The probe: runs an answer on every case and records the results as plain data.

It runs in the student's process, so it only *observes*: it contains no expected value, no verdict, nothing worth
stealing. It must import neither the judge nor a lesson, because the sandbox loads it before it forks for a submission.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from ...sandbox.time_limit import Budget, TimeUp, time_limit
from ..plain import Data, decode, encode, text_of, type_name
from .helpers import intact
from .state import watched_class, watching

ANSWERS = Path(__file__).parent.parent / "answers"
OTHER_CELL = "<cell>"  # the file name of code from the student's other cells
STAGES = 3  # the needed cells, the answer's own cell, the probe: each has its own budget


def probe(
    probes: Sequence[Callable],
    cases: Sequence[Sequence[Data]],
    answer: object,
    engines: Sequence[str],
    seconds: float,
    until: float | None = None,
    parameters: Mapping[str, Sequence[str]] | None = None,
    intact: Callable[[], None] = intact,
) -> Data:
    """Run each probe on its cases with `answer`, for each engine, within one budget: `seconds`, and the time `until`.

    A case is an encoded tuple of arguments, decoded again for each call, so an answer that writes into its inputs harms
    only itself. `intact` is called whenever the answer returns. `parameters` names those of the answer, or of the
    methods of a class, by which it says what was changed. Returns `{"answer": kind, "observed": {engine: [[observation,
    …], …]}, "changed": {engine: [[[name, …], …], …]}}`.
    """
    prepare(engines)
    kind = kind_of_answer(answer)
    budget = Budget(seconds, until)
    observed: dict[str, list] = {}
    changed: dict[str, list] = {}
    for engine in engines:
        rows = [
            [_observe(probe, answer, engine, case, budget, parameters or {}, intact) for case in inputs]
            for probe, inputs in zip(probes, cases, strict=True)
        ]
        observed[engine] = [[data for data, _ in row] for row in rows]
        changed[engine] = [[names for _, names in row] for row in rows]
    return {"answer": kind, "observed": observed, "changed": changed}


def prepare(engines: Sequence[str]) -> None:
    """Import the engines, and use PyTorch once: what only the first use of it takes does not count for an answer."""
    for engine in engines:
        importlib.import_module(engine)
    if "torch" in engines:
        with suppress(Exception):  # a cell of the student's may have changed PyTorch
            use_torch_once()


def kind_of_answer(answer: object) -> str:
    """The kind of an answer: "a class", "a function", or the name of its type."""
    if issubclass(type(answer), type):  # an answer may lie about its class, not about its type
        return "a class"
    if callable(answer):
        return "a function"
    return "of type dict" if issubclass(type(answer), dict) else f"of type {type_name(answer)}"


def _observe(
    probe: Callable,
    answer: Any,
    engine: str,
    case: Data,
    budget: Budget,
    parameters: Mapping[str, Sequence[str]],
    intact: Callable[[], None],
) -> tuple[Data, list[str]]:
    """What is observed of one case, and the names of the arguments that the answer changed."""
    changed: set[str] = set()
    forgot = False

    def watched(*arguments: Any, **named: Any) -> Any:
        nonlocal forgot
        returned = called(*arguments, **named)
        forgot = returned is None
        return returned

    kind = kind_of_answer(answer)
    called = watching(answer, parameters.get("", ()), changed.add, intact)
    head: tuple = (watched if kind == "a function" else answer,)
    if "T" in probe.__code__.co_varnames[: probe.__code__.co_argcount]:
        head += (importlib.import_module(engine),)
    methods = parameters if kind == "a class" else {}
    try:
        watched_methods = watched_class(answer, methods, changed.add, intact) if methods else nullcontext()
        with ExitStack() as after, watched_methods, time_limit(budget):
            for T in filter(None, map(sys.modules.get, ("tinygrad_edu", "torch"))):
                after.callback(T.set_default_dtype, T.get_default_dtype())  # an answer sets its own, not the next one's
            try:
                data = encode(probe(*head, *decode(case)))
            except TimeUp:
                raise
            except BaseException as error:  # including SystemExit and KeyboardInterrupt: an answer may raise anything
                said = raised(error)
                # If the probe failed because of a None, report that.
                data = None if forgot and said["line"] is None else said
    except TimeUp:
        data = {"stopped": "no end in sight"}
    return data, sorted(changed)


_OF_PYTHON = {id(kind): name for name, kind in vars(builtins).items() if isinstance(kind, type)}


def raised(error: BaseException) -> Data:
    """A description of the exception being handled: its type, its message, and the last line of the answer in it.

    A custom error of the answer counts `as` the Python error that it derives from. `beneath` says whether Python or an
    engine raised it, in words that are always the same, and not a `raise` of the answer's own.

    The answer's own code makes its message, so call this within a time limit.
    """
    try:
        message = text_of(str, error, 500)
    except TimeUp:
        raise
    except BaseException:
        message = ""
    frames = traceback.extract_tb(sys.exc_info()[2])  # error.__traceback__ may be a property of the answer's
    own = [frame.lineno for frame in frames if _is_answer(frame.filename)]
    deepest = frames[-1].filename if frames else ""  # an answer may remove the frames
    ours = _is_answer(deepest) or deepest == OTHER_CELL or Path(deepest).parent == ANSWERS
    return {
        "raised": type_name(error),
        "message": message,
        "line": own[-1] if own else None,
        "as": next(_OF_PYTHON[id(kind)] for kind in type.mro(type(error)) if id(kind) in _OF_PYTHON),
        "beneath": not ours or not _by_a_raise(sys.exc_info()[2]),
    }


def _by_a_raise(trace: TracebackType | None) -> bool:
    """Whether the last step of `trace` is a `raise` statement."""
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def _is_answer(filename: str) -> bool:
    return filename.startswith(("<answer", "<ipython")) or "ipykernel_" in filename


@functools.cache
def use_torch_once() -> None:
    """Use what imports a part of PyTorch on first use.

    That can take more time than an answer has, and in a sandbox there is later no file to import from.
    """
    torch = importlib.import_module("torch")
    w = torch.ones(2, requires_grad=True)
    torch.autograd.grad(w * w, w, grad_outputs=torch.ones(2))
    for kind in (torch.optim.SGD, torch.optim.Adam):
        optimizer = kind([w], lr=0.1)
        w.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.autograd.gradcheck(torch.exp, torch.ones(1, dtype=torch.float64, requires_grad=True))
    repr(w)
