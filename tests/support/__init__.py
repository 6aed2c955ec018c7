"""What several tests share: runners that compare both engines, tables of programs, and helpers that drive a browser."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Where Jupyter keeps its files, by environment variable.
FOLDERS = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
FOLDERS |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
FOLDERS |= {"IPYTHONDIR": "ipython"}


def environment() -> dict[str, str]:
    """The environment for a separate Python process of a test, in which `support` can be imported too."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def printed(program: str, *arguments: str, **options: Any) -> str:
    """What a program prints that runs to its end in a Python process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
