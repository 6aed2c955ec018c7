"""What does not fit folds by the parts of the program, and never over what a reader looks for."""

import pytest
from support.stage_programs import HELD_OUT, PROGRAMS

import viz
from viz.picture import parts
from viz.picture.fit import BESIDE

pytestmark = pytest.mark.outer
ALL = {**PROGRAMS, **HELD_OUT}
LOOP = "w = T.tensor(2.0, requires_grad=True)\nv = w\nfor i in range({}):\n    u = v * w\n    v = u + 1\nv.backward()"


def foldings(program, engine):
    recording = viz.record(program, engine=engine)
    return recording, list(parts.foldings(recording.graph))


@pytest.mark.parametrize("name", ALL)
def test_no_fold_hides_what_is_there_at_the_end(name, engine):
    recording, found = foldings(ALL[name], engine)
    graph = recording.graph
    alive = {state["key"] for state in recording.tensors.values()} & graph.values.keys()
    for folding in found:
        for key in alive & folding.hidden.keys():
            fold = folding.folds[folding.hidden[key]]
            ops = [graph.ops[one] for one in fold.ops]
            assert all(op.loops or op.module for op in ops), (fold.title(graph), graph.values[key].title)
            assert {op.key for op in graph.ops.values() if key in op.inputs} <= set(fold.ops)


@pytest.mark.parametrize("name", ALL)
def test_no_fold_makes_a_cycle(name, engine):
    recording, found = foldings(ALL[name], engine)
    for folding in found:
        stands, links = {**folding.unit, **folding.hidden}, set()
        for op in recording.graph.ops.values():
            links |= {(stands.get(key, key), stands.get(op.key, op.key)) for key in op.inputs if key is not None}
            links |= {(stands.get(op.key, op.key), stands.get(key, key)) for key in op.outputs}
        links = {(tail, head) for tail, head in links if tail != head}
        while leaves := {tail for tail, _ in links} - {head for _, head in links}:
            links = {(tail, head) for tail, head in links if tail not in leaves}
        assert links == set()


def test_the_steps_of_a_loop_are_named_as_people_count_them(engine):
    _, found = foldings(LOOP.format(5), engine)
    titles = [[fold.module for fold in folding.folds.values()] for folding in found]
    assert titles[0] == [f"step {number} of 5" for number in range(1, 6)]
    assert titles[1] == ["step 1 of 5", "steps 2–4", "step 5 of 5"]
    assert titles[2] == ["5 steps"]


def test_a_call_of_several_ops_has_its_name():
    _, found = foldings(PROGRAMS["mlp"], "tinygrad_edu")
    assert [fold.module for fold in found[0].folds.values()] == ["cross entropy"]


def test_the_steps_of_an_inner_loop_count_within_the_outer_step():
    loops = "for i in range(2):\n    for j in range(3):\n        x = x * 2\n"
    ops = viz.record(f"x = T.ones(2, requires_grad=True)\n{loops}x.sum().backward()").graph.ops.values()
    loops = [[step for _, step in op.loops] for op in ops if op.name == "MulBackward0"]
    assert loops == [[i, j] for i in (1, 2) for j in (1, 2, 3)]


def test_what_a_fold_hides_is_lit_at_the_fold() -> None:
    picture = viz.record(HELD_OUT["lstm"]).scene(views=("values",), rooms=(BESIDE,))["views"]["values"]
    hidden = [key for key, at in picture["stands"].items() if at in picture["folds"]]
    assert len(hidden) > 30
    assert not any(f'-{key}"' in picture["svg"] for key in hidden)
