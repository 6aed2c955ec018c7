"""Stands in for `IPython.core.magic_arguments`: argparse reads what follows the name of a magic."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from .error import UsageError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def argument(*names: str, **options: Any) -> Callable[[Any], Any]:
    """Declare one argument of a magic."""

    def add(method: Any) -> Any:
        method.arguments = [(names, options), *getattr(method, "arguments", [])]
        return method

    return add


def magic_arguments() -> Callable[[Any], Any]:
    """Make the parser. This decorator stands above all `argument`s, so it runs last."""

    def add(method: Any) -> Any:
        method.parser = _Parser(method.__name__, add_help=False)
        for names, options in method.arguments:
            method.parser.add_argument(*names, **options)
        return method

    return add


def parse_argstring(method: Any, line: str) -> Any:
    """Read the arguments in a line.

    Raises:
        UsageError: the line does not fit the magic's arguments.
    """
    return method.parser.parse_args(shlex.split(line))
