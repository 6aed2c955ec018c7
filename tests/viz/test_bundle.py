"""A widget's bundle holds what the widget imports, each module in a separate scope, and nothing else."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viz.export import bundle

WIDGETS = sorted(path.name for path in bundle.HERE.glob("*.js") if "export default" in path.read_text(encoding="utf-8"))


def modules_in(text: str) -> list[str]:
    return re.findall(r"^const \$(\w+) = \(\(\) => \{$", text, re.MULTILINE)


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_s_bundle_imports_nothing_and_has_one_default_export(name: str) -> None:
    text = bundle.script(name)
    assert not re.search(r"^import\b", text, re.MULTILINE)
    assert len(re.findall(r"^export default", text, re.MULTILINE)) == 1


def test_a_question_without_a_picture_brings_no_stage() -> None:
    assert "js_stage" not in modules_in(bundle.script("predict.js"))
    assert "js_stage" in modules_in(bundle.script("player.js"))
    assert "tgv-zoom" not in bundle.style("predict.js")
    assert "tgv-zoom" in bundle.style("player.js")


def classes_in(text: str) -> set[str]:
    return set(re.findall(r"(?<!--)\btgv-[a-z][\w-]*", text)) - {"tgv"}


def rules_of(sheet: str) -> list[str]:
    """The selectors of a style sheet, those of one rule each for itself."""
    text = re.sub(r"/\*.*?\*/|@(?:container|media)[^{]*\{", "", bundle._text(sheet), flags=re.DOTALL)
    rules = re.findall(r"([^{}]+)\{", text)
    return [one.strip() for rule in rules for one in re.split(r",(?![^(]*\))", rule) if one.strip()]


@pytest.mark.parametrize("sheet", sorted(path.name for path in bundle.HERE.glob("*.css") if path.name != "common.css"))
def test_the_rules_of_one_widget_fit_nothing_of_another(sheet: str) -> None:
    others = {name: bundle.script(name) for name in WIDGETS if bundle._text(sheet) not in bundle.style(name)}
    # Who takes it without importing it.
    own = {"slope.css": ["training.js"], "predict.css": ["training.js"]}.get(sheet, [])
    for name in others.keys() - own:
        used = classes_in(others[name])
        assert [rule for rule in rules_of(sheet) if classes_in(rule) and classes_in(rule) <= used] == []


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes the files of a folder that stands for that of the widgets."""
    monkeypatch.setattr(bundle, "HERE", tmp_path)
    for cached in (bundle.script, bundle.style, bundle._text, bundle._enclosed):
        cached.cache_clear()
    return lambda **files: [(tmp_path / name.replace("_", ".")).write_text(text) for name, text in files.items()]


def test_names_of_two_modules_do_not_meet_and_styles_come_with_their_modules_the_general_ones_first(write: Any) -> None:
    write(
        a_js="const SIZE = 1;\nexport const one = () => SIZE;\n",
        a_css=".a {}\n",
        b_js='import { one as first } from "./a.js";\nconst SIZE = 2;\nexport const two = () => SIZE + first();\n',
        b_css=".b {}\n",
        c_js='import {\n  two,\n} from "./b.js";\nexport default { two };\n',
    )
    text = bundle.script("c.js")
    assert modules_in(text) == ["a", "b"]
    assert "const { one: first } = $a;" in text
    assert "const { two } = $b;" in text
    assert bundle.style("c.js") == ".a {}\n.b {}\n"


def test_modules_that_need_each_other_are_refused(write: Any) -> None:
    write(
        a_js='import { two } from "./b.js";\nexport const one = two;\n',
        b_js='import { one } from "./a.js";\nexport const two = one;\n',
    )
    with pytest.raises(ImportError, match=r"a\.js -> b\.js -> a\.js"):
        bundle.script("a.js")
