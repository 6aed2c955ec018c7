"""The bank of questions: what is right is computed on both engines; and who is asked what, when."""

import itertools
import json

import pytest
import torch

import tinygrad_edu
from tinygrad_edu.course.cli import main
from tinygrad_edu.course.review import RECORD, Memory, Review, gift, review
from tinygrad_edu.course.review.bank import RAISES, TEMPLATES, computed, every, question


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_both_engines_give_the_same_right_answer_and_every_wrong_one_is_another(template):
    for variant in range(len(template.sets)):
        one = question(template, variant, tinygrad_edu)
        assert one.right == computed(template, template.given(variant), torch)
        assert len(one.choices) == 1 + len(template.wrong)
        assert set(one.misconceptions) == set(one.choices) - {one.right}
        assert "<" not in one.text + "".join(one.choices.values())


def test_there_are_enough_questions_and_each_lesson_has_some():
    assert len({template.name for template in TEMPLATES}) == len(TEMPLATES)
    assert len(list(every(tinygrad_edu))) >= 120
    assert {template.lesson for template in TEMPLATES} == set(range(1, 11))
    assert all(len(template.sets) == 5 for template in TEMPLATES)


def test_two_lessons_are_asked_about_and_none_that_is_still_to_come(tmp_path):
    asked = Memory.of(tmp_path).next(before=5)
    assert len(asked) == 2
    assert len({one.template.lesson for one in asked}) == 2
    assert all(one.template.lesson < 5 for one in asked)
    assert Memory.of(tmp_path).next(before=1) == []


def test_what_was_missed_comes_first_and_with_other_numbers(tmp_path):
    memory = Memory.of(tmp_path)
    first, second = memory.next(before=6)
    wrong = next(iter(first.misconceptions))
    memory.note(first, wrong)
    memory.note(second, second.right)
    again, other = Memory.of(tmp_path).next(before=6)
    assert again.template is first.template
    assert again.text != first.text
    assert other.template is not second.template
    assert Memory.of(tmp_path).wrong == {first.misconceptions[wrong]: 1}


def test_everything_new_is_asked_before_anything_is_asked_again(tmp_path):
    memory, seen = Memory.of(tmp_path), []
    for _ in itertools.repeat(None, len([one for one in TEMPLATES if one.lesson < 4])):
        one = memory.next(before=4, count=1)[0]
        seen.append(one.template.name)
        memory.note(one, one.right)
    assert len(set(seen)) == len(seen)
    assert memory.next(before=4, count=1)[0].template.name == seen[0]


def test_the_first_choice_in_a_notebook_is_remembered(tmp_path):
    shown = review(4, tmp_path)
    assert isinstance(shown, Review)
    assert not (tmp_path / RECORD).exists()  # before an answer nothing is written
    asked, prediction = Memory().next(before=4)[0], shown.predictions[0]
    wrong = next(iter(asked.misconceptions))
    prediction.tried = [wrong]
    prediction.tried = [wrong, asked.right]
    held = json.loads((tmp_path / RECORD).read_text())
    assert held["row"] == {asked.template.name: 0}
    assert held["asked"] == {asked.template.name: 1}


def test_a_memory_that_cannot_be_read_is_kept_aside(tmp_path):
    (tmp_path / RECORD).write_text("[1, 2]")
    assert Memory.of(tmp_path).asked == {}
    assert (tmp_path / RECORD).with_suffix(".old.json").read_text() == "[1, 2]"


def test_the_command_asks_until_it_is_right(tmp_path, capsys, monkeypatch):
    one, two = Memory().next(before=4)
    wrong = next(place for place, choice in enumerate(one.choices, 1) if choice != one.right)
    right = [1 + list(each.choices).index(each.right) for each in (one, two)]
    typed = iter(["0", str(wrong), str(right[0]), str(right[1])])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    assert main(["review", "--dir", str(tmp_path), "--before", "4"]) == 0
    said = capsys.readouterr().out
    assert "Type a number from 1 to" in said
    assert one.choices[one.right] in said
    assert Memory.of(tmp_path).row == {one.template.name: 0, two.template.name: 1}


def test_a_learning_platform_gets_every_question(tmp_path):
    target = tmp_path / "questions.gift"
    assert main(["review", "--gift", str(target)]) == 0
    text = target.read_text()
    assert text == gift()
    assert text.count("::[html]") + text.count(":: [html]") == len(list(every(tinygrad_edu)))
    for block in text.split("\n\n"):
        if block.startswith("::"):
            answers = [line.strip()[0] for line in block.splitlines()[1:-1]]
            assert answers.count("=") == 1
            assert set(answers) <= {"=", "~"}
    assert RAISES in text
