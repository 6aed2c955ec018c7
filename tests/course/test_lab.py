"""The settings that a student's JupyterLab starts with, read by JupyterLab's own code."""

import json
from importlib.util import find_spec

import pytest
from support import printed

# Importing it takes seconds, in every process of a run.
pytestmark = [pytest.mark.outer, pytest.mark.skipif(find_spec("jupyterlab") is None, reason="needs JupyterLab")]

READ = """
import json
from jupyterlab_server.config import get_page_config
from jupyterlab_server.settings_utils import _get_overrides
print(json.dumps([get_page_config([]).get("disabledExtensions"), _get_overrides("/nowhere")[0]]))
"""


def test_no_question_about_news_and_no_menus_of_an_instructor(monkeypatch):
    from tinygrad_edu.course.lab import defaults

    with defaults() as folder:
        monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(folder))
        hidden, settings = json.loads(printed(READ))
    names = hidden if isinstance(hidden, list) else [name for name, off in hidden.items() if off]
    assert {f"@jupyter/nbgrader:{part}" for part in ("formgrader", "create-assignment", "menu")} <= set(names)
    assert "@jupyter/nbgrader:validate-assignment" not in names
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_a_home_that_cannot_be_written_is_told_in_a_sentence(monkeypatch, tmp_path):
    from tinygrad_edu.course import lab

    taken = tmp_path / "file"
    taken.write_text("")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(taken / "data"))
    with pytest.raises(SystemExit, match=r"cannot write to its folder .*data.*Set HOME"):
        lab.start(tmp_path / "lessons", 0, browser=False, passed_on=())
