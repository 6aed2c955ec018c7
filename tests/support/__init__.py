"""What several tests share: runners that compare both engines, tables of programs, and helpers that drive a browser."""

import os
from pathlib import Path

# Where Jupyter keeps its files, by environment variable.
FOLDERS = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
FOLDERS |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
FOLDERS |= {"IPYTHONDIR": "ipython"}


def environment() -> dict[str, str]:
    """The environment for a separate Python process of a test, in which `support` can be imported too."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
