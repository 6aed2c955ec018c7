"""What several tests share: runners that hold both engines to each other, tables of programs, and hands for a browser."""

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """The environment for a Python process of a test's own, in which `support` can be imported as well."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
