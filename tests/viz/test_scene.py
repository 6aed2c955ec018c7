"""What a step says and changes: the numbers in it are those of the recording, and patches reach only what is drawn."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from support.stage_programs import PROGRAMS as USUAL

import viz
from viz.frames.director import VIEWS, Director
from viz.frames.scene import frame
from viz.picture import theme
from viz.picture.fit import LAPTOP, READABLE, ROOMS, Room
from viz.picture.kept import Kept

LINE = "w = T.tensor(2.0, requires_grad=True)\nx = T.tensor(3.0)\nb = T.tensor(1.0, requires_grad=True)\n"
LINE += "y = T.tensor(4.0)\nL = ((w * x + b) - y) ** 2\nL.backward()"
WIDE = (Room(4000, 4000),)  # where nothing is left out


@pytest.fixture
def scene(engine):
    return viz.record(LINE, engine=engine).scene(rooms=WIDE)


def test_a_step_names_the_op_its_node_and_the_numbers(scene):
    (step,) = [step for step in scene["steps"] if "× runs" in step["title"]]
    assert step["title"] == "Backward, step 5 of 6: × runs, MulBackward0"
    assert step["sentence"] == "× receives 6 and sends 6 · 3 = 18 to w."
    assert step["line"] == 6
    assert step["ready"] == ["AccumulateGrad(w)"]
    assert step["inbox"] == [["AccumulateGrad(w)", "18"]]


def test_saved_tensors_are_alive_until_their_node_ran(scene):
    states = [dict(map(tuple, step["saved"])) for step in scene["steps"]]
    assert states[-1] == {"× keeps x": "freed", "(·)² keeps w·x+b−y": "freed"}
    assert "freed" not in states[9].values()


def test_ids_are_unique_start_with_the_pictures_prefix_and_nothing_refers_by_url(scene):
    ids = []
    for view in VIEWS:
        picture = scene["views"][view]
        own = [one for element in ET.fromstring(picture["svg"]).iter() if (one := element.get("id"))]
        assert all(one.startswith(picture["id"]) for one in own)
        ids += own
    assert len(ids) == len(set(ids))
    assert not re.search(r"url\(|href|@import", json.dumps(scene["views"]))


def test_every_class_of_a_patch_has_a_rule(scene):
    rules = theme.css("x")
    for view in VIEWS:
        for patch in scene["views"][view]["patches"]:
            for change in patch.values():
                for word in change.get("class", "").split():
                    assert word in ("done",) or f".{word}" in rules


def words(svg, of=""):
    """The texts of a picture, of elements whose class has a word in it."""
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [element.text for element in found if of in (element.get("class") or "") and element.text]


def test_gradients_appear_when_they_arrive_and_not_before(scene):
    steps = scene["steps"]
    before = next(position for position, step in enumerate(steps) if step["phase"] == "backward")
    assert words(frame(scene, "values", before)).count(".grad None") == 2
    assert not any("18" in word for word in words(frame(scene, "values", before)))
    assert ".grad 18" in words(frame(scene, "values", len(steps) - 1))


def test_what_comes_between_a_backward_pass_and_the_next_forward_pass_is_called_neither(engine):
    program = """
net = T.nn.Linear(1, 1)
optimizer = T.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    net(T.ones(1, 1)).sum().backward()
    T.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
print(net.weight.grad * 2)
with T.no_grad():
    net(T.ones(1, 1)).sum()"""
    steps = [step for step in viz.record(program, engine=engine).scene()["steps"] if step["phase"] != "backward"]
    outside = [step["title"] for step in steps if step["phase"] == "outside"]
    moved = ["clip_grad_norm_", "SGD.step"]
    assert outside == [*moved, "input", *moved, "net.weight.grad", "× 2", "input"]
    assert steps[-1]["title"] == "Forward: Σ"


def test_no_text_of_any_step_is_wider_than_its_box(engine):
    source = "w = T.tensor([0.123456, -2.0e-7, 3.0e9], requires_grad=True)\nL = (w * w).sum()\nL.backward()"
    scene = viz.record(source, engine=engine).scene()
    sizes = {"name": (14, True), "value": (13, False), "tiny": (10, False), "grad": (11, False), "small": (11, False)}
    for step in range(len(scene["steps"])):
        for group in ET.fromstring(frame(scene, "values", step)).iter("{http://www.w3.org/2000/svg}g"):
            box = next((one for one in group if (one.get("class") or "") in ("frame", "pill")), None)
            if box is None:
                continue
            for text in group.findall("{http://www.w3.org/2000/svg}text"):
                size, bold = sizes.get((text.get("class") or "").removeprefix("mid "), (0, False))
                assert theme.text_width(text.text or "", size, bold) <= float(box.get("width"))


@pytest.mark.outer
def test_a_long_recording_is_small(engine):
    source = "w = T.tensor(1.0, requires_grad=True)\ny = w\nfor i in range(500):\n"
    source += "    y = y * 1.001 if i % 2 else y + w\ny.backward()"
    scene = viz.record(source, engine=engine).scene()
    assert len(scene["steps"]) > 1000
    assert len(json.dumps(scene)) < 1_500_000


SLOPE = "w = T.tensor(1.0, requires_grad=True)\nfor i in range({}):\n    L = (w * 2 - 4) ** 2\n    L.backward()"
DEEP = "y = w = T.tensor(1.0, requires_grad=True)\nfor i in range({}):\n    y = y * w\ny.backward()"


@pytest.mark.outer
@pytest.mark.parametrize("source", [SLOPE, DEEP], ids=["many passes", "one long pass"])
def test_twice_the_steps_are_twice_the_work(source, lines_run):
    work = []
    for count in (100, 200):
        recording = viz.record(source.format(count))
        work.append(lines_run(lambda: Director(recording)))  # noqa: B023
    assert work[1] < 2.3 * work[0]


@pytest.mark.parametrize("view", VIEWS)
def test_a_new_pass_starts_without_the_gradients_of_the_last_on_their_way(view, engine):
    source = "x = T.tensor(3.0, requires_grad=True)\ny = x * x * x\ny.backward(retain_graph=True)\ny.backward()"
    scene = viz.record(source, engine=engine).scene()
    (start,) = [at for at, step in enumerate(scene["steps"]) if step["title"].startswith("Backward 2 starts")]
    before, after = (words(frame(scene, view, at), of="grad") for at in (start - 1, start))
    assert len(before) > 4
    assert after == ([".grad 27"] if view == "values" else [])  # what has been added to `.grad` stays there


@pytest.mark.parametrize("room", [WIDE[0], LAPTOP, Room(100, 60)])
def test_a_box_tells_what_passes_through_from_what_grad_holds(engine, room):
    source = "w = T.tensor(2.0, requires_grad=True)\nh = w * 3\nh.retain_grad()\nL = h * h\n"
    source += "(h + 1).backward(retain_graph=True)\nL.backward()"
    scene = viz.record(source, engine=engine).scene(rooms=(room,))
    first = next(at for at, step in enumerate(scene["steps"]) if step["title"].startswith("Backward 2 starts"))
    assert ".grad 1" in words(frame(scene, "values", first))
    assert {".grad 13", ".grad 39"} <= {*words(frame(scene, "values", -1))}
    assert ("grad 12" in words(frame(scene, "values", -1))) == (room.width > 100)


def wide(count):
    lines = ["v = T.tensor(1.0, requires_grad=True)"] + ["v = v * 2.0"] * count + ["v.backward()"]
    return viz.record("\n".join(lines))


def test_a_picture_stays_as_it_was_first_drawn_for_a_room_while_that_fits():
    """No change of a program turns its picture around, or shows and hides what stands beside the point."""
    kept = Kept()

    def drawn(count):
        picture = wide(count).scene(rooms=(LAPTOP,), kept=kept)["views"]["values"]
        return picture["direction"], picture["rank"]

    assert wide(1).scene(rooms=(LAPTOP,))["views"]["values"]["rank"] == 0
    long = drawn(7)
    assert long[1] > 0
    assert drawn(1) == long
    assert drawn(30)[1] > long[1]


@pytest.mark.outer
@pytest.mark.parametrize("room", ROOMS, ids=["laptop", "strip", "desktop", "phone"])
@pytest.mark.parametrize("name", USUAL)
def test_every_usual_program_fits_a_stage_whole_and_can_be_read(name, room):
    pictures = viz.record(USUAL[name]).scene(rooms=(room,))["views"]
    for view in ("values", "grad_fn"):  # that of a network's modules opens and closes: tests/browser measures it
        picture = pictures[view]
        scale = min(room.width / picture["width"], room.height / picture["height"])
        assert picture["least"] * scale >= READABLE


def test_a_scene_has_a_picture_for_each_room_that_needs_another(engine):
    pictures = wide(9).scene(rooms=ROOMS)["views"]["values"]
    all_pictures = [pictures, *pictures["others"]]
    assert len({(one["direction"], one["rank"]) for one in all_pictures}) == len(all_pictures) > 1
    for one in all_pictures:
        ids = {element.get("id") for element in ET.fromstring(one["svg"]).iter()}
        for patch in one["patches"]:
            for key, change in patch.items():
                assert f"{one['id']}-{key}" in ids
                assert all(f"{one['id']}-{key}-{slot}" in ids for slot in change.get("text", {}))


def test_a_gradient_is_drawn_for_a_value_that_only_the_engine_saw(engine):
    program = "x = T.tensor([[1.0, 2.0]])\nlin = T.nn.Linear(2, 2)\nlin(x).sum().backward()"
    scene = viz.record(program, engine=engine).scene(rooms=WIDE)
    hidden = [key for key, value in viz.record(program, engine=engine).graph.values.items() if value.array is None]
    drawn = frame(scene, "values", len(scene["steps"]) - 1)
    assert hidden
    for key in hidden:  # the transposed weight, inside the call
        assert f'-{key}d0" class="grid grad-grid on"' in drawn


def test_the_version_of_a_fresh_parameter_and_of_its_views_goes_without_saying(engine):
    layers = "net = T.nn.Sequential(T.nn.Conv2d(1, 1, 2), T.nn.Linear(2, 1))\n"
    scene = viz.record(layers + "y = net(T.ones(1, 1, 3, 3)).sum()", engine=engine).scene()
    assert "version" not in scene["views"]["values"]["svg"]
    assert "uniform" not in scene["views"]["values"]["svg"]
    scene = viz.record(layers + "with T.no_grad(): net[1].bias.mul_(2)", engine=engine).scene()
    assert "version" in scene["views"]["values"]["svg"]


def test_many_side_by_side_are_put_below_each_other(engine):
    picture = viz.record("y = T.cat([T.tensor([float(i)]) for i in range(60)])", engine=engine).picture()
    assert picture.layout.direction == "LR"
