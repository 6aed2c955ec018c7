"""The map of the course is true: each concept is in its lessons, each exercise is in one of them."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from tinygrad_edu.course.glossary import glossary
from tinygrad_edu.exercises import all_exercises

ROOT = Path(__file__).resolve().parents[2]
LESSONS = [path for path in sorted((ROOT / "notebooks").glob("[0-9]*/*.ipynb")) if not path.stem.startswith("00")]
ROWS = re.findall(r"(?m)^\| .*\]\(\.\./notebooks/.*", (ROOT / "docs/concepts.md").read_text())
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in ROWS]


def lessons_of(row: list[str]) -> list[Path]:
    return [(ROOT / "docs" / link).resolve() for link in re.findall(r"\]\((.*?)\)", row[1])]


def code_words(cell: str) -> list[str]:
    return re.findall(r"`(.+?)`", cell)


def text_of(path: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in json.loads(path.read_bytes())["cells"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_concept_is_in_each_of_its_lessons_and_so_are_its_exercises(row: list[str]) -> None:
    texts = [text_of(path) for path in lessons_of(row)]
    for word in code_words(row[0]):
        assert any(word in text for text in texts), word
    for id in code_words(row[2]):
        assert any(f'check("{id}"' in text for text in texts), id


def test_every_exercise_is_on_the_map() -> None:
    assert {id for row in ROWS for id in code_words(row[2])} == set(all_exercises())


def test_the_exercises_stand_in_the_order_of_the_course() -> None:
    asked = [id for path in LESSONS for id in re.findall(r'^check\("(\w+)"', text_of(path), re.MULTILINE)]
    assert list(all_exercises()) == asked


def test_every_lesson_is_on_the_map() -> None:
    numbered = set(LESSONS)
    assert {path for row in ROWS for path in lessons_of(row)} == numbered
    assert len(numbered) == 15


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("[01]*/*.ipynb")), ids=lambda path: path.stem)
def test_each_link_between_lessons_leads_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text_of(path))
    assert [link for link in links if link.endswith(".ipynb") and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_program_that_a_lesson_plays_runs_on_both_engines_in_that_lesson(path: Path) -> None:
    text = text_of(path)
    played = set(re.findall(r"viz\.record\((\w+)", text))
    assert played - set(re.findall(r"viz\.(?:compare|explore)\((\w+)\)", text)) == set()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_each_file_that_a_lesson_points_to_is_there_and_names_what_it_is_said_to(path: Path) -> None:
    text = text_of(path)
    ours = re.findall(r"`((?:autograd|ops|nn|optim)/\w+\.py)`", text)
    assert [name for name in ours if not (ROOT / "tinygrad_edu" / name).exists()] == []
    told = text.partition("## In PyTorch's source")[2]
    assert told
    for line in re.split(r"^- ", told, flags=re.MULTILINE)[1:]:
        source = ""
        for word in code_words(line) if not line.startswith("In `tinygrad_edu`") else ():
            if re.fullmatch(r"[\w/]+\.\w+", word) and "/" in word:
                source = source_of(word)
            elif source and word not in all_exercises():
                name = re.split(r"[ .]", word.partition("(")[0])[-1]
                assert re.search(rf"\b{name}\b", source), f"{name} is not where the lesson says: {line}"


def source_of(name: str) -> str:
    """A file of PyTorch's, of those that are installed: its Python, and the headers of the rest."""
    package = Path(torch.__file__).parent
    places = [package.parent / name, package / "include" / name.removeprefix("aten/src/")]
    found = next((place for place in places if place.exists()), None)
    assert found or name.endswith((".cpp", ".yaml")), name
    return found.read_text() if found else ""


def test_each_term_is_introduced_once_and_the_glossary_says_where() -> None:
    entries = glossary()
    assert len({entry.term for entry in entries}) == len(entries) >= 20
    assert Counter(entry.lesson for entry in entries).keys() == set(range(1, 16))
    assert next(entry for entry in entries if entry.term == "accumulation").lesson == 3
    assert "**accumulation**: when a value is used several times" in entries._repr_markdown_()
