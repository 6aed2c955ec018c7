"""Forged results: the judge deals with whatever a submission sends at once, and a teacher reads none of it."""

import json
import time

import pytest
from support.grading import MUL, gradebook, notebook, run, verdict

from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.exercise import PROGRAM
from tinygrad_edu.exercises.judging import judge as judging
from tinygrad_edu.exercises.judging.judge import judge
from tinygrad_edu.exercises.judging.schema import Trouble, read
from tinygrad_edu.exercises.plain import MAX_TEXTS, encode
from tinygrad_edu.sandbox.outside import Sandbox

pytestmark = pytest.mark.outer(start=2)
LETTER = "\u0628"


def observed(data):
    return {"answer": "a function", "observed": {"tinygrad_edu": [[data] * 9] * 3}}


MONSTERS = {
    "an array of two million axes": {"array": [1], "shape": [1] * 2_000_000, "dtype": "float64"},
    "an array of a hundred thousand axes": {"tensor": [1], "shape": [1] * 100_000, "dtype": "float32"},
    "a list of four thousand long strings": {"list": [LETTER * 2000] * 4000},
    "a dict of long names": {"dict": [[LETTER * 1999 + chr(i), 0] for i in range(4000)]},
    "lists in lists": {"list": [{"list": [{"list": [{"list": [1] * 60}] * 60}] * 60}] * 60},
    "an array whose numbers are arrays": {
        "array": [{"array": [1], "shape": [1] * 4000, "dtype": "f8"}] * 9,
        "shape": [9],
    },
    "a number type of a gigabyte an element": {"array": [1] * 4000, "shape": [4000], "dtype": "S1000000000"},
    "an error with the longest name": {"raised": LETTER * 10**6, "message": LETTER * 10**6, "as": LETTER * 10**6},
    "a graph that takes long to walk": {"dict": [["L", {"list": [f"{i}" for i in range(4000)]}]]},
    "an order of thousands": {"list": [f"{i % 2000}" for i in range(4090)]},
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", MONSTERS)
@pytest.mark.parametrize("id", ["mul_backward", "topological_order", "smallest_graph", "log_loss"])
def test_a_huge_result_is_judged_at_once_and_earns_nothing(id, what):
    kind = "a function" if callable(get(id).rights[0]) else "of type dict"
    forged = {"answer": kind, "observed": dict.fromkeys(("tinygrad_edu", "torch"), [[MONSTERS[what]] * 9] * 3)}
    assert judge(get(id), forged).points == 0


# What the answer itself makes, in the sandbox: written out, most of these are longer than a cell may be.
MADE_INSIDE = {
    "an array of two million axes": '{"array": [1], "shape": [1] * 2_000_000, "dtype": "float64"}',
    "an array of a hundred thousand axes": '{"tensor": [1], "shape": [1] * 100_000, "dtype": "float32"}',
    "a list of four thousand long strings": '{"list": [chr(0x628) * 2000] * 4000}',
    "a list of long strings in the place of all": '["x" * 9000] * 900',
}


@pytest.mark.timeout(120)
def test_a_class_is_graded_to_its_end_whatever_some_of_it_send(submit, tmp_path):
    handed_in = {"ada": notebook(), "zoe": notebook()}
    for what, made in MADE_INSIDE.items():
        forging = f"import json, os\ndata = {made}\n"
        if what in MONSTERS:
            forging += "data = {'answer': 'a function', 'observed': {'tinygrad_edu': [[data]]}}\n"
        forging += "data = json.dumps(data).encode()\nwhile data: data = data[os.write(3, data):]\nos._exit(0)\n"
        handed_in[what] = notebook(mul=forging)
    assert run(submit(**handed_in), tmp_path / "out") == 0
    points = {name: int(row["points"]) for name, row in gradebook(tmp_path / "out").items()}
    assert points == dict.fromkeys(handed_in, 6) | {"ada": 9, "zoe": 9}
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == len(handed_in)


@pytest.mark.timeout(60)
def test_the_judge_has_a_separate_clock_and_reports_what_breaks_it(monkeypatch):
    def never_done(*arguments):
        while True:
            time.perf_counter()

    exercise = get("mul_backward")
    judging.known(exercise, 0, exercise.available)
    monkeypatch.setattr(judging, "SECONDS", 0.05)
    monkeypatch.setattr(judging, "_judged", never_done)
    found = judge(exercise, observed(1.0))
    assert found.points == 0
    assert found.trouble == found.reason == "Its result could not be judged in time."


SAYS = "FULL MARKS: please give 100"
FORGED = {
    "a trouble of its own": {"trouble": SAYS},
    "a trouble of a known kind with words": {"trouble": "raised", "type": SAYS, "message": SAYS, "line": SAYS},
    "a syntax error with words": {"trouble": "syntax", "message": SAYS, "line": 10**9},
    "what only the outside may say": {"trouble": "lost", "message": SAYS},
    "a kind of answer": {"answer": SAYS, "observed": {}},
    "a trouble that is a list": {"trouble": [SAYS]},
}


def test_no_sentence_of_a_submission_stands_in_the_teachers_column(submit, tmp_path):
    word = SAYS.split(":")[0].replace(" ", "_")
    forged = {what: json.dumps(sent).encode() for what, sent in FORGED.items()}
    answers = {what: f"import os\nos.write(3, {sent!r})\nos._exit(0)" for what, sent in forged.items()}
    answers["honest"] = f"def mul_backward(grad_output, a, b):\n    raise ValueError({SAYS!r})"
    answers["honest"] += f"\nraise ValueError({SAYS!r})"
    answers["named"] = f"def mulb(): pass\nclass {word}(Exception): pass\nraise {word}"
    folder = submit(**{what: notebook(mul=answer) for what, answer in answers.items()})
    assert run(folder, tmp_path / "out") == 0
    table = gradebook(tmp_path / "out")
    assert {name: int(row["points"]) for name, row in table.items()} == dict.fromkeys(answers, 6)
    assert "FULL" not in "".join(row["notes"] for row in table.values())
    assert "lost" not in "".join(table[what]["notes"] for what in FORGED)


def test_a_name_steers_no_terminal_no_spreadsheet_and_no_page(submit, tmp_path):
    names = ["\x1b]0;wiped\x07", "a\u202eb", "line\u2028break", "=cmd|'/c calc'!A1", "  +1", "＝1"]
    assert run(submit(**dict.fromkeys(names, b"{")), tmp_path / "out", "--lesson", "1") == 0
    rows = gradebook(tmp_path / "out").values()
    pages = [page.read_text() for page in (tmp_path / "out" / "students").glob("*/feedback.html")]
    assert len(rows) == len(pages) == len(names)
    for text in (*(field for row in rows for field in row.values()), *pages):
        assert not any(sign in text.replace("\n", "") for sign in "\x1b\x07\u202e\u2028\r\t")
    assert not {row["student"].lstrip()[0] for row in rows} & set("=+-@＝")


def test_a_file_that_is_named_like_a_sentence_is_quoted(submit, tmp_path):
    folder = submit(ada=notebook())
    (folder / "bob").mkdir()
    (folder / "bob" / f"{SAYS}\x1b[2J {'very ' * 30}.ipynb").write_text("")
    assert run(folder, tmp_path / "out") == 0
    notes = gradebook(tmp_path / "out")["bob"]["notes"]
    assert notes.startswith(f'"bob/{SAYS}\ufffd[2J very') and '…" is empty.' in notes[:80]


def test_what_an_answer_honestly_returns_is_never_too_much_for_the_schema():
    exercise = get("mul_backward")
    for value in (["x" * 3000] * 30, list(range(5000)), "y" * 10**6, {i: [i] * 9 for i in range(500)}):
        sent = encode(value)
        assert len(json.dumps(sent)) < 4 * MAX_TEXTS
        found = read(exercise, [("tinygrad_edu", 0, 0)], json.loads(json.dumps(observed(sent))))
        assert not isinstance(found, Trouble) and found.observed[("tinygrad_edu", 0, 0)] == sent


@pytest.mark.timeout(120)
def test_a_sleeper_is_ended_by_the_clock_and_the_next_answer_is_graded():
    with Sandbox(PROGRAM) as sandbox:
        source = "import time\ntime.sleep(1000)\n" + MUL
        before = time.monotonic()
        found = verdict(sandbox, source)
        assert time.monotonic() - before < 30  # ten by the clock; three budgets of twenty before there was one clock
        assert found.trouble.startswith("Endless loop?")
        assert verdict(sandbox, MUL).passed
