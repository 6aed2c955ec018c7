"""Makes the runner of tests/parity and the table of tests/ops importable beside these tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("parity", "ops")]
