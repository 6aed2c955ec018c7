"""Files with which other systems grade through us: Gradescope's autograder as a zip, and a GitHub Actions workflow.

They install the code that wrote them, from a wheel beside them, and PyTorch for the CPU, in the version of comparison.
"""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import tinygrad_edu

from .own_wheel import pack

CPU = "https://download.pytorch.org/whl/cpu"
_FOLLOWED = tinygrad_edu.__version__.rpartition(".")[0]
SYSTEMS = ("gradescope", "github")

_RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission. Its machine is thrown away afterwards: --unprotected lets the grading
# go on where that machine refuses some of the walls around an answer.
set -euo pipefail
root="${{AUTOGRADER_ROOT:-/autograder}}"
work="$(mktemp -d)"
mkdir -p "$work/in/student" "$root/results"
cp -rp "$root/submission/." "$work/in/student/"
tinygrad-edu grade "$work/in" --lesson {lesson} --out "$work/out" --jobs 1 --unprotected --no-progress
cp "$work/out/students/student/results.json" "$root/results/results.json"
"""

_SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, when the autograder is built. It needs Python 3.11 or later: choose Ubuntu 24.04.
set -euo pipefail
apt-get update && apt-get install -y python3 python3-pip
here="$(cd "$(dirname "$0")" && pwd)"
python3 -m pip install --break-system-packages --extra-index-url {cpu} "$here/{wheel}[viz]" "{torch}"
"""

_WORKFLOW = """# Grades lesson {lesson} at each push: GitHub Actions, and Classroom 50, which reads result.json.
name: grade
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install --extra-index-url {cpu} "./.github/{wheel}[viz]" "{torch}"
      - name: grade
        run: |
          mkdir -p in/student && find . -name '*.ipynb' -not -path './in/*' -exec cp -p --parents -t in/student {{}} +
          tinygrad-edu grade in --lesson {lesson} --out grades --jobs 2 --unprotected --no-progress
          cp grades/students/student/result.json result.json
          cat grades/students/student/summary.md >> "$GITHUB_STEP_SUMMARY"
      - uses: actions/upload-artifact@v4
        with:
          name: feedback
          path: |
            result.json
            grades/students/student/feedback.html
"""


def hand_over(system: str, lesson: int, out: Path) -> Path:
    """Write the file that `system` runs to grade `lesson` into the folder `out`, and return its path."""
    place = out / ".github" if system == "github" else out
    place.mkdir(parents=True, exist_ok=True)
    wheel = pack(place)
    names = {"lesson": lesson, "wheel": wheel.name, "cpu": CPU, "torch": f"torch=={_FOLLOWED}.*"}
    if system == "github":
        file = place / "workflows" / "grade.yml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(_WORKFLOW.format(**names))
        return file
    file = out / f"gradescope-lesson{lesson}.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("run_autograder", _RUN), ("setup.sh", _SETUP)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | 0o755) << 16
            archive.writestr(entry, text.format(**names))
        archive.write(wheel, wheel.name)
    wheel.unlink()
    return file
