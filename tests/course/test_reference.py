"""The site's reference: each public name with its docstring, readable as it was written."""

import importlib
import re
from pathlib import Path

import pytest

from tinygrad_edu.course.site import reference

pytestmark = pytest.mark.outer

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that are quickly made, by Sphinx itself."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "PAGES", {name: reference.PAGES[name] for name in ("viz", "exercises")})
        (source / "index.md").write_text("# Site\n" + reference.write(source))
    (source / "static").mkdir()
    for name in ("live.css", "live.js"):
        (source / "static" / name).touch()
    importlib.import_module("tinygrad_edu.course.site.build")._sphinx(
        source, made, source / "static", made / "trees", False
    )
    return made / reference.FOLDER


def test_every_public_name_of_the_pictures_and_the_exercises_is_there_with_its_example(pages: Path) -> None:
    for page, names in {"viz": ["record", "draw", "compare", "Recording"], "exercises": ["check", "get"]}.items():
        text = (pages / f"{page}.html").read_text()
        for name in names:
            assert re.search(rf'<span class="pre">{name}</span>', text), name
        assert "&gt;&gt;&gt; " in text
        assert "problematic" not in text


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_page_lists_the_names_of_its_modules(page: str) -> None:
    for module in reference.PAGES[page].modules:
        assert len(reference.names(module)) > 1, module
