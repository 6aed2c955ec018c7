"""The functions that the worker calls. They exchange text, so that no Python object must be kept alive for JavaScript."""

from __future__ import annotations

import json
from typing import Any

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
later.look_there_too()

import differences  # noqa: E402 its imports may come from packs that are loaded later

differences.put_in_place()
kernel.shell = shell.Shell(kernel.namespace)  # not earlier: `import viz` would load all magics


async def run(cell: str, source: str) -> bool:
    """Run a cell. Returns whether it ran to its end."""
    return await kernel.run(cell, source)


def receive(model: str, changes: str) -> None:
    """Take over what the page changed in a widget, as JSON."""
    kernel.receive(model, json.loads(changes))


def insert(text: str) -> None:
    """Use a tape."""
    tape.insert(text)


def explore(about: str) -> None:
    """Show the explorer of explore.html; see `explored.open`."""
    import explored

    explored.prepare()
    explored.open(about)


def diagnose(program: str) -> None:
    """Tell explore.html what is wrong with a program."""
    import explored

    explored.diagnose(program)
