"""After a SyntaxError in an answer's cell, its name still is the function of an earlier run: a check says so."""

import pytest
from support import printed

pytestmark = pytest.mark.outer(start=1)

pytest.importorskip("IPython")

RIGHT = "def mul_backward(grad_output, a, b):\\n    return grad_output * b, grad_output * a"
SESSION = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def run(cell):
    return shell.run_cell(cell, store_history=True).result
run("from tinygrad_edu.exercises import check")
run("{RIGHT}")
run("check('mul_backward', mul_backward).passed")
assert run("check('mul_backward', mul_backward).passed") is True
run("{RIGHT}".replace("* a", "* (a"))
report = run("check('mul_backward', mul_backward)")
assert not report.passed
assert "SyntaxError" in str(report) and "in line 2 of the cell" in str(report), str(report)
run("other = 1 +")
run("{RIGHT}")
assert run("check('mul_backward', mul_backward).passed") is True
"""


def test_a_check_is_about_the_cell_that_was_written_last():
    printed(SESSION)  # which ends at the first assertion that does not hold
