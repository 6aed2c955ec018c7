"""If only the numbers change, the picture stays the same; another graph gets another picture."""

import pytest

from viz.frames.scene import frame, scene
from viz.picture.kept import Kept
from viz.recording.record import record

PROGRAM = "w = T.tensor({}, requires_grad=True)\nd = w * 2.0\nL = d * d\nL.backward()"


def pictures(kept, *programs, view="values"):
    return [scene(record(program), identity="g", views=(view,), kept=kept)["views"][view] for program in programs]


@pytest.mark.parametrize("view", ["values", "grad_fn"])
def test_a_shorter_number_changes_no_place(view):
    recordings = [record(PROGRAM.format(number)) for number in (-1.125, 2.0)]
    for recording in recordings:
        for op in recording.graph.ops.values():
            op.sequence_nr = 0
    kept = Kept()
    first, second = (scene(one, identity="g", views=(view,), kept=kept)["views"][view] for one in recordings)
    assert first["svg"] == second["svg"]
    assert first["patches"] != second["patches"]


def test_a_longer_number_gets_room_and_some_to_spare():
    short, long, longer = pictures(Kept(), *(PROGRAM.format(number) for number in (2.0, 2.13, 2.125)))
    assert short["svg"] != long["svg"]
    assert long["svg"] == longer["svg"]


def test_another_graph_is_another_picture():
    kept, program = Kept(), PROGRAM.format(1.0)
    one, other, again = pictures(kept, program, program.replace("w * 2", "w + 2"), program)
    assert one["svg"] != other["svg"]
    assert one["svg"] == again["svg"]


def test_both_engines_share_a_picture_but_no_id():
    kept = Kept()
    program = PROGRAM.format(1.0).replace("w * 2.0", "w + w")
    ours, theirs = (
        scene(record(program, engine), identity=name, views=("values",), kept=kept)["views"]["values"]
        for engine, name in (("tinygrad_edu", "gone"), ("torch", "gtwo"))
    )
    assert ours["svg"].replace("gone", "gtwo") == theirs["svg"]
    assert "gone" not in theirs["svg"]


def test_what_is_shown_is_what_is_shown_without():
    kept = Kept()
    for number in (-3.125, 2.0):
        recording = record(PROGRAM.format(number))
        scenes = (scene(recording, identity="g", views=("values",), kept=memory) for memory in (kept, None))
        shown = [frame(each, "values", -1) for each in scenes]
        texts = [[part.partition("<")[0] for part in picture.split(">")] for picture in shown]
        assert texts[0] == texts[1]
