"""A program as an address: explore.html shows whatever its fragment carries, and no server is asked.

The fragment is `1.` and then JSON, deflated, in base64url; the number is that of the schema. What a number means never
changes, so an old link keeps working. `fragment.js` of the live site writes and reads the same.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from viz.experiments.program import ENGINE_NAMES, ProgramError, parse

SCHEMA = 1
BASE_VARIABLE = "TINYGRAD_EDU_EXPLORE"  # the address of an explore.html, for `viz.link` and "copy link"
_RAW = -15  # zlib's code for a deflated stream without a header
_PLAIN = (int, float, bool, str, type(None))  # types whose repr makes an equal value


def link(
    program: str | Callable[..., Any],
    base: str | None = None,
    *,
    state: dict[str, Any] | None = None,
    view: str = "",
    step: int = -1,
) -> str:
    """An address of explore.html that carries a program: its graph can be seen and changed with nothing installed.

    Args:
        program: source text with `T` or with `import torch`, or a function that takes the engine first.
        base: the address of an explore.html, which `tinygrad-edu site --live` writes; by default that of the
            environment variable TINYGRAD_EDU_EXPLORE, or else `explore.html`, for a page that lies beside it.
        state: the switches, as in `viz.explore(program).state`.
        view: `"values"`, `"grad_fn"` or `"modules"`; the page chooses if it is empty.
        step: the step to show; -1 is the last.

    Raises:
        ProgramError: the program cannot be read, or it uses a name from outside that is no plain number or text.

    >>> link("w = T.tensor(3.0, requires_grad=True); (w * w).backward()")
    'explore.html#1.q1YqULJSKlewVQjRK0nNK84v0jDWM9BRKEotLM0sSi2OTy9KTLENKSpN1YzJ0yhX0FIo19RLSkzOLk8sStHQVKoFAA'
    """
    read = parse(program)
    return address(read.source, read.namespace, base, state=state, view=view, step=step)


def address(
    source: str,
    namespace: dict[str, Any],
    base: str | None = None,
    *,
    state: dict[str, Any] | None = None,
    view: str = "",
    step: int = -1,
) -> str:
    """The link of a program that has been read: its text, and the names that it takes from outside."""
    if base is None:
        base = os.environ.get(BASE_VARIABLE, "explore.html")
    shown: dict[str, Any] = {"p": _with_outer_names(source, namespace)}
    if state:
        shown["s"] = dict(state)
        shown["p"] = shown["s"].pop("source", shown["p"])
    if view:
        shown["v"] = view
    if step != -1:
        shown["n"] = step
    return f"{base.partition('#')[0]}#{SCHEMA}.{_packed(shown)}"


def answer(source: str, namespace: dict[str, Any], **shown: Any) -> dict[str, str]:
    """What "copy link" of a widget gets: the `link` and a `note`, or `why` there is none."""
    try:
        url = address(source, namespace, **shown)
    except ProgramError as error:
        return {"why": str(error)}
    note = "" if BASE_VARIABLE in os.environ else f"copied; {BASE_VARIABLE} would put your site's address before it"
    return {"link": url, "note": note}


def _with_outer_names(source: str, namespace: dict[str, Any]) -> str:
    outer = []
    for name, value in namespace.items():
        if isinstance(value, ModuleType):
            if name not in ENGINE_NAMES:
                outer.append(f"import {value.__name__} as {name}")
            continue
        if not isinstance(value, _PLAIN):
            raise ProgramError(
                f"{name} is made outside of the program, and a link carries source text only: "
                f"make {name} inside the program"
            )
        outer.append(f"{name} = {value!r}")
    return "\n".join([*outer, source])


def _packed(shown: dict[str, Any]) -> str:
    compress = zlib.compressobj(9, zlib.DEFLATED, _RAW)
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    data = compress.compress(text) + compress.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def unpacked(address: str) -> dict[str, Any]:
    """What an address carries: `p`, the program, and if present `s`, its switches, `v`, the view, and `n`, the step.

    Raises:
        ValueError: it carries no program, or one of a newer schema.

    >>> unpacked(link("x = T.ones(2)"))
    {'p': 'x = T.ones(2)'}
    """
    schema, _, text = address.partition("#")[2].partition(".")
    if schema != str(SCHEMA):
        raise ValueError(f"{address!r} carries no program of schema {SCHEMA}")
    data = zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _RAW)
    return dict(json.loads(data))
