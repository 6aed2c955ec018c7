"""Runs the command `tinygrad-edu`: in a separate process, or within this one if only the answer matters."""

import contextlib
import io
import subprocess
import sys

from tinygrad_edu.course.cli import main

COMMAND = [sys.executable, "-m", "tinygrad_edu.course.cli"]


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    """The command as a separate process."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, encoding="utf-8", timeout=300, **options)


def call(*arguments: str) -> subprocess.CompletedProcess:
    """The command within this process, which has PyTorch loaded already."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
            if isinstance(code, str):  # as Python does at the end of a process
                print(code, file=sys.stderr)
                code = 1
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
