"""Submissions to hand in, and the grader run on them."""

import argparse
import csv
import json

from tinygrad_edu.exercises import get
from tinygrad_edu.exercises.exercise import unit_of
from tinygrad_edu.exercises.grading import grade
from tinygrad_edu.exercises.judging.judge import judge

CENTRAL = "def central_difference(f, x, eps):\n    return (f(x + eps) - f(x - eps)) / (2 * eps)\n"
MUL = "def mul_backward(grad_output, a, b):\n    return grad_output * b, grad_output * a\n"
RELU = "def relu_backward(grad_output, x):\n    return grad_output if x > 0 else 0.0\n"
STUB = "def relu_backward(grad_output, x):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"


def cell(source, id="", kind="code"):
    metadata = {"nbgrader": {"grade_id": id, "solution": not id.startswith("check_")}} if id else {}
    return {"cell_type": kind, "metadata": metadata, "source": source, "outputs": []}


def notebook(central=CENTRAL, mul=MUL, relu=RELU, extra=()):
    answers = {"central_difference": central, "mul_backward": mul, "relu_backward": relu}
    cells = [cell("# Lesson 1", kind="markdown"), cell("from tinygrad_edu.exercises import check")]
    for id, source in answers.items():
        cells += [cell(source, id), cell(f'check("{id}", {id})', f"check_{id}")]
    return {"cells": [*cells, *extra], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write_submissions(folder, **notebooks):
    """Write what each student handed in, a notebook or the bytes of a file, and return the folder."""
    for student, content in notebooks.items():
        file = folder / student / "lesson1.ipynb"
        file.parent.mkdir(parents=True)
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def run(submissions, out, *options):
    """Grade in one sandbox, unless the options say otherwise: each takes a moment to start."""
    parser = argparse.ArgumentParser()
    grade.add_arguments(parser)
    return grade.main(parser.parse_args([str(submissions), "--out", str(out), "--jobs", "1", *options]))


def verdict(sandbox, source, others=(), id="mul_backward", **unit):
    """The judge's on one answer, which runs in a sandbox."""
    exercise = get(id)
    return judge(exercise, sandbox.run(unit_of(exercise, source, others, seed=7) | unit), seed=7)


def gradebook(out):
    with (out / "gradebook.csv").open(newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}
