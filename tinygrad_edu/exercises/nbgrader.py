"""For courses that use nbgrader. Put this into `nbgrader_config.py`.

    from tinygrad_edu.exercises.nbgrader import configure
    configure(get_config())

nbgrader and `tinygrad-edu grade` read the same notebooks and agree on every honest answer, including partial credit.
They differ in what they trust. `nbgrader autograde` runs a submission as a notebook: the answer, our check and the
number that becomes the grade share one process. An answer that patches it can give itself full marks, and an endless
loop lasts until nbgrader's time limit and takes the rest of that notebook with it. `tinygrad-edu grade` judges outside,
and a bad answer costs only its own points. Where the grade counts, use ours.
"""

from __future__ import annotations

import copy
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

from . import all_exercises
from .grading.submissions import defines, place_of_answer, place_of_check


class DropCopies(NbGraderPreprocessor):
    """Remove nbgrader's metadata from copied cells: of several cells with one id, the last keeps it.

    For nbgrader empties the metadata of a copy, and then refuses the whole notebook because of it.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook, changed in place."""
        seen = set()
        for cell in reversed(nb.cells):
            id = cell.metadata.get("nbgrader", {}).get("grade_id")
            if id in seen:
                self.log.warning("Cell with id %r exists several times: the last one is graded", id)
                del cell.metadata["nbgrader"]
            elif id:
                seen.add(id)
        return nb, resources


class PlaceAnswers(NbGraderPreprocessor):
    """Move the cell that counts as an answer in front of its check, if it is below it or above a stub.

    `tinygrad-edu grade` chooses that cell by the same rule, so the two agree.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook, changed in place."""
        for exercise in all_exercises().values():
            code = [cell for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]
            named = [(str(cell.metadata.get("nbgrader", {}).get("grade_id", "")), str(cell.source)) for cell in code]
            place, _ = place_of_answer(exercise.id, exercise.name, named)
            check = place_of_check(exercise.id, named)
            if place is None or check == len(code):
                continue
            again = any(defines(exercise.name).search(source) for _, source in named[place + 1 : check])
            if place > check or again:
                twin = copy.deepcopy(code[place])
                twin.metadata.pop("nbgrader", None)
                twin.pop("id", None)
                nb.cells.insert(nb.cells.index(code[check]), twin)
        return nb, resources


class ClearAnswers(ClearSolutions):
    """Clear answers as nbgrader does, except the `raise` of its stub outside functions.

    There it would stop the notebook at each answer that is a value, until the student gives one and removes the line.
    """

    def _replace_solution_region(self, cell: Any, language: str) -> bool:
        replaced = bool(super()._replace_solution_region(cell, language))
        if replaced and cell.cell_type == "code":
            stops = [line for line in self.code_stub[language].split("\n") if line.startswith("raise ")]
            cell.source = "\n".join(line for line in cell.source.split("\n") if line not in stops)
        return replaced


def configure(config: Any) -> None:
    """Set up an nbgrader course for our notebooks; `config` is what `get_config()` returns in `nbgrader_config.py`."""
    config.Autograde.sanitize_preprocessors = [DropCopies, PlaceAnswers, *Autograde.sanitize_preprocessors.default()]
    preprocessors = GenerateAssignment.preprocessors.default()
    config.GenerateAssignment.preprocessors = [ClearAnswers if p is ClearSolutions else p for p in preprocessors]
    for wait in ("timeout", "startup_timeout", "iopub_timeout"):  # the last: outputs come late on busy machines
        setattr(config.ExecutePreprocessor, wait, 120)
    if shutil.which("alembic") is None:  # nbgrader starts its database tool by name
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
