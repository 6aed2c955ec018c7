"""The functions that the worker calls. They exchange text, so that JavaScript keeps no Python object alive."""

from __future__ import annotations

import builtins
import functools
import json
from collections.abc import Callable
from typing import Any

import differences
import kernel
import later
import shell
import tape
import the_page  # registered by worker.js


def _send(message: dict[str, Any]) -> None:
    if message["type"] != "stream":
        kernel.flush()
    the_page.send(json.dumps(message, default=str))


kernel.send = _send
differences.put_in_place()
kernel.shell = shell.Shell(kernel.namespace)  # not earlier: `import viz` would load all magics


async def run(cell: str, source: str) -> bool:
    """Run a cell. Returns whether it ran to its end."""
    return await kernel.run(cell, source)


def run_and_ask(cell: str, source: str) -> bool:
    """Run a cell that calls `input()`: the worker lets this function wait in the middle, where the browser can.

    Raises:
        RuntimeError: the cell awaits something.
    """
    running = kernel.run(cell, source)
    try:
        running.send(None)
    except StopIteration as end:
        return bool(end.value)
    running.close()
    raise RuntimeError("a cell here can call input(), or await something, but not both")


def _input(prompt: object = "") -> str:
    """Ask in the output of the cell.

    Raises:
        OSError: this browser cannot wait for an answer in the middle of a cell.
    """
    from pyodide.ffi import can_run_sync, run_sync

    kernel.flush()
    asked = the_page.ask(kernel._cell, str(prompt)) if can_run_sync() else None
    if asked is None:
        raise OSError("input() cannot ask in this browser: write the value into the program instead")
    return str(run_sync(asked))


builtins.input = _input


def _unless_missing(work: Callable[..., None]) -> Callable[..., str | None]:
    """As `work`, but nothing is done while a pack is on its way: its name is returned, and the worker calls again."""

    @functools.wraps(work)
    def tried(*args: str) -> str | None:
        try:
            work(*args)
        except later.NotHere as missing:
            return str(missing)
        return None

    return tried


@_unless_missing
def receive(model: str, changes: str) -> None:
    """Take over what the page changed in a widget, as JSON."""
    kernel.receive(model, json.loads(changes))


def insert(text: str) -> None:
    """Use a tape."""
    tape.insert(text)


@_unless_missing
def explore(about: str) -> None:
    """Show the explorer of explore.html; see `explored.open`."""
    import explored

    explored.prepare()
    explored.open(about)


def ahead() -> bool:
    """Try what the reader may press next. Returns whether there is more to try."""
    try:
        import ahead
    except later.NotHere:  # it comes with the packs that no first picture needs
        return False
    return ahead.rehearse()


@_unless_missing
def diagnose(program: str) -> None:
    """Tell explore.html what is wrong with a program."""
    import explored

    explored.diagnose(program)
