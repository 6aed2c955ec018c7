"""Stands for `IPython.core.magic_arguments`: what stands behind the name of a magic, read by argparse."""

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
    """One argument of a magic."""

    def add(method: Any) -> Any:
        method.arguments = [(names, options), *getattr(method, "arguments", [])]
        return method

    return add


def magic_arguments() -> Callable[[Any], Any]:
    """All arguments are there: what is above them reads them."""

    def add(method: Any) -> Any:
        method.parser = _Parser(method.__name__, add_help=False)
        for names, options in method.arguments:
            method.parser.add_argument(*names, **options)
        return method

    return add


def parse_argstring(method: Any, line: str) -> Any:
    """The arguments in a line.

    Raises:
        UsageError: they are others than the magic's.
    """
    return method.parser.parse_args(shlex.split(line))
