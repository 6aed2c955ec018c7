"""Custom Functions: as a class of an engine, and as text for a program."""

import textwrap
from collections.abc import Callable
from typing import Any


def function(T: Any, name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """Of an engine, or of the core alone, which has no `autograd`."""
    base = getattr(T, "autograd", T).Function
    return type(name, (base,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def text_of(name: str, forward: str, backward: str, given: str = "x", came: str = "g", engine: str = "T") -> str:
    """Seven lines if each body is one; `given` are the arguments of forward, `came` are the gradients."""
    lines = [f"class {name}({engine}.autograd.Function):"]
    for head, body in ((f"forward(ctx, {given})", forward), (f"backward(ctx, {came})", backward)):
        lines += ["    @staticmethod", f"    def {head}:", textwrap.indent(body, "        ")]
    return "\n".join([*lines, ""])
