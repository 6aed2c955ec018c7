"""Large graphs are folded until they can be read, without cycles and quickly, and are laid out in any case."""

import itertools
import subprocess

import numpy as np
import pytest

import viz
from viz.picture import layout
from viz.picture.fold import VISIBLE, fold, repetitions
from viz.recording import notation


def chain(T, count):
    y = T.tensor([1.0, 2.0], requires_grad=True)
    for position in range(count):
        y = y * 1.01 if position % 2 else y + 0.5
    return y.sum()


def tangle(T, count):
    values = [T.tensor([1.0, 2.0], requires_grad=True)]
    for position in range(count):  # each op reaches back to another place, so that nothing repeats
        values.append(values[-1] + values[(position * position * 7919) % len(values)])
    return values[-1]


def titles(picture):
    return [box.rows[0].text for box in picture._drawing.boxes if box.kind == "fold"]


def test_a_repeated_block_becomes_one_box_with_its_count_and_a_small_graph_none(T):
    assert titles(viz.draw(chain(T, 20))) == []
    picture = viz.draw(chain(T, 400))
    assert len(picture.graph.ops) == 401
    assert any(title.startswith(("199 × ", "200 × ")) for title in titles(picture))
    assert len(picture._drawing.boxes) < 20


@pytest.mark.parametrize(("make", "count"), [(chain, 401), (tangle, 600)])
def test_any_graph_is_folded_until_it_can_be_read_and_folds_make_no_cycle(T, make, count):
    drawing = viz.draw(make(T, count))._drawing
    assert len(drawing.boxes) <= VISIBLE
    links = {(link.tail, link.head) for link in drawing.links}
    while ends := {tail for tail, _ in links} - {head for _, head in links}:
        links = {(tail, head) for tail, head in links if tail not in ends}
    assert links == set()


@pytest.mark.outer
@pytest.mark.parametrize("make", [chain, tangle])
def test_twice_the_ops_are_twice_the_work(T, make, lines_run):
    work = []
    for count in (2_000, 4_000):
        y = make(T, count)
        work.append(lines_run(lambda: viz.draw(y)._drawing))  # noqa: B023
    assert work[1] < 2.5 * work[0]
    assert len(viz.draw(y).svg) < 400_000 or make is tangle


def test_every_op_is_in_exactly_one_unit(T):
    graph = viz.draw(chain(T, 500)).graph
    folding = fold(graph)
    inside = [key for one in folding.folds.values() for key in one.ops]
    assert len(inside) == len(set(inside))
    assert set(inside) == set(folding.unit)
    assert all(notation.symbol(graph.ops[key]) for key in inside)


def test_a_layout_that_takes_too_long_is_replaced_by_a_simple_one_that_says_so(T, monkeypatch):
    def forever(*args, **kwargs):
        raise subprocess.TimeoutExpired("dot", kwargs["timeout"])

    monkeypatch.setattr(layout, "IN_PROCESS", 0)
    monkeypatch.setattr(layout.subprocess, "run", forever)
    y = chain(T, 10)
    picture = viz.draw(y)
    assert "plain rows" in picture.drawn("light")
    spots = picture.layout.spots
    assert len(spots) == len(picture._drawing.boxes)
    assert len({(round(spot.x), round(spot.y)) for spot in spots.values()}) == len(spots)


def test_a_layout_that_would_take_too_long_is_not_begun(monkeypatch):
    boxes = [(f"b{place}", 50.0, 20.0) for place in range(40)]
    every = [(f"{a} {b}", f"b{a}", f"b{b}", 0.0, 0.0) for a, b in itertools.combinations(range(40), 2)]
    monkeypatch.setattr(layout, "_run", None)
    made = layout.place(boxes, every)
    assert "plain rows" in made.note
    assert len({(spot.x, spot.y) for spot in made.spots.values()}) == 40


def test_parameters_of_a_long_program_stand_above_their_users_in_plain_rows():
    boxes = [(f"{kind}{place}", 50.0, 20.0) for place in range(30) for kind in "wx"]
    links = [(f"w{place}", f"w{place}", f"x{place}", 0.0, 0.0) for place in range(30)]
    links += [(f"x{place}", f"x{place - 1}", f"x{place}", 0.0, 0.0) for place in range(1, 30)]
    made = layout.simple(boxes, links)
    assert made.width == 2 * (50.0 + 16.0)
    assert all(made.spots[f"w{place}"].y < made.spots[f"x{place}"].y for place in range(30))


@pytest.mark.outer
def test_a_separate_process_gives_the_same_layout(T, monkeypatch):
    y = chain(T, 10)
    here, run = viz.draw(y).layout, subprocess.run
    # On a busy machine a process may not even have started when its time is up: that is the test above, not this one.
    monkeypatch.setattr(layout.subprocess, "run", lambda *args, **options: run(*args, **{**options, "timeout": None}))
    monkeypatch.setattr(layout, "IN_PROCESS", 0)
    there = viz.draw(y).layout
    assert here.spots == there.spots


def test_a_block_that_repeats_begins_as_the_first_step_did_though_that_was_unlike():
    assert repetitions(np.array([0, 1, 4, 3, *[0, 1, 2, 3] * 3]), 3) == [(4, 16, 4)]
