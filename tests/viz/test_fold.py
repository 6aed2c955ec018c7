"""Large graphs are folded until they can be read, without cycles and quickly, and are laid out in any case."""

import subprocess

import pytest

import viz
from viz.picture import layout
from viz.picture.fold import VISIBLE, fold
from viz.recording import notation


def chain(T, count):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = w
    for position in range(count):
        y = y * 1.01 if position % 2 else y + 0.5
    return w, y.sum()


def titles(picture):
    return [box.rows[0].text for box in picture._drawing.boxes if box.kind == "fold"]


def test_a_small_graph_is_not_folded(T):
    _w, y = chain(T, 20)
    assert titles(viz.draw(y)) == []


def test_a_repeated_block_becomes_one_box_with_its_count(T):
    _w, y = chain(T, 400)
    picture = viz.draw(y)
    assert len(picture.graph.ops) == 401
    assert any(title.startswith(("199 × ", "200 × ")) for title in titles(picture))
    assert len(picture._drawing.boxes) < 20


def test_a_graph_without_repetition_is_folded_too(T):
    _w, y = tangle(T, 600)
    assert len(viz.draw(y)._drawing.boxes) <= VISIBLE


def test_folds_make_no_cycle(T):
    _w, y = chain(T, 401)
    drawing = viz.draw(y)._drawing
    below = {box.key: [] for box in drawing.boxes}
    waits = dict.fromkeys(below, 0)
    for link in drawing.links:
        below[link.tail].append(link.head)
        waits[link.head] += 1
    ready = [key for key, count in waits.items() if not count]
    done = 0
    while ready:
        done += 1
        for head in below[ready.pop()]:
            waits[head] -= 1
            if not waits[head]:
                ready.append(head)
    assert done == len(drawing.boxes)


def test_a_model_is_folded_by_its_modules():
    torch = pytest.importorskip("torch")
    block = lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.ReLU())  # noqa: E731
    model = torch.nn.Sequential(*[block() for _ in range(20)])
    picture = viz.draw(model(torch.ones(2, 4)).sum(), module=model)
    assert {str(number) for number in range(20)} <= set(titles(picture))


@pytest.mark.outer
def test_ten_thousand_ops_are_drawn_in_kilobytes(T):
    _w, y = chain(T, 10_000)
    assert len(viz.draw(y).svg) < 400_000


def tangle(T, count):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    values = [w]
    for position in range(count):  # each op reaches back to another place, so that nothing repeats
        values.append(values[-1] + values[(position * position * 7919) % len(values)])
    return w, values[-1]


@pytest.mark.outer
@pytest.mark.parametrize("make", [chain, tangle])
def test_twice_the_ops_are_twice_the_work(T, make, lines_run):
    work = []
    for count in (2_000, 4_000):
        _w, y = make(T, count)
        work.append(lines_run(lambda: viz.draw(y)._drawing))  # noqa: B023
    assert work[1] < 2.5 * work[0]


def test_every_op_is_in_exactly_one_unit(T):
    _w, y = chain(T, 500)
    graph = viz.draw(y).graph
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
    _w, y = chain(T, 10)
    picture = viz.draw(y)
    assert "plain rows" in " ".join(picture.notes)
    spots = picture.layout.spots
    assert len(spots) == len(picture._drawing.boxes)
    assert len({(round(spot.x), round(spot.y)) for spot in spots.values()}) == len(spots)


@pytest.mark.outer
def test_a_separate_process_gives_the_same_layout(T, monkeypatch):
    _w, y = chain(T, 10)
    here = viz.draw(y).layout
    run = subprocess.run
    # On a busy machine a process may not even have started when its time is up: that is the test above, not this one.
    monkeypatch.setattr(layout.subprocess, "run", lambda *args, **options: run(*args, **{**options, "timeout": None}))
    monkeypatch.setattr(layout, "IN_PROCESS", 0)
    there = viz.draw(y).layout
    assert here.spots == there.spots


def test_no_graphviz_at_all_is_an_error_with_the_command_that_fixes_it(T, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygraphviz", None)
    monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install pygraphviz"):
        _ = viz.draw(T.tensor(1.0)).svg
