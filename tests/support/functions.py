"""Custom Functions: as a class of an engine, and as text for a program."""

import textwrap
from collections.abc import Callable
from typing import Any


def function(T: Any, name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    return type(name, (T.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def text_of(name: str, forward: str, backward: str, given: str = "x", engine: str = "T") -> str:
    """Seven lines if each body is one; `given` are the arguments of forward, and `g` is what backward is given."""
    lines = [f"class {name}({engine}.autograd.Function):"]
    for head, body in ((f"forward(ctx, {given})", forward), ("backward(ctx, g)", backward)):
        lines += ["    @staticmethod", f"    def {head}:", textwrap.indent(body, "        ")]
    return "\n".join([*lines, ""])
