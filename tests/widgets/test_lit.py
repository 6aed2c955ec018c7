"""What is written beside the nodes that a change made different: the JavaScript that finds the room, run by itself."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from viz import widgets

LIT = Path(widgets.__file__).parent / "js" / "lit.js"


def said(expression: str) -> Any:
    """The value of an expression in which `lit` is the module."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node was found: install Node.js")
    code = f"import * as lit from {json.dumps(LIT.as_uri())}; console.log(JSON.stringify({expression}))"
    ran = subprocess.run([node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def test_a_part_that_became_something_else_says_so() -> None:
    assert said("lit.platesOf({kind: 'new', order: 0})") == [{"text": "new", "of": "new"}]
    (plate,) = said("lit.platesOf({kind: 'became', order: 0, became: 'not recorded'})")
    assert plate["text"] == "not recorded"


@pytest.mark.parametrize("gap", [60, 24, 12, 0])
def test_every_changed_node_has_a_plate(gap: int) -> None:
    """Also in a picture that is full to its edges: each is within it, and touches its node."""
    size = 40 * 3 + gap * 2
    code = f"""(() => {{
        const nodes = [0, 1, 2].flatMap((row) => [0, 1, 2].map((column) =>
            ({{ x: column * {40 + gap}, y: row * {40 + gap}, width: 40, height: 40 }})));
        const taken = [...nodes];
        return nodes.map((node) => {{
            const place = lit.roomFor([node], 80, taken, {{ x: 0, y: 0, w: {size}, h: {size} }});
            taken.push(place);
            return [node, place];
        }});
    }})()"""
    for node, place in said(code):
        assert place is not None
        assert 0 <= place["x"] <= size - place["width"] and 0 <= place["y"] <= size - place["height"]
        for at, length in (("x", "width"), ("y", "height")):
            assert place[at] <= node[at] + node[length] + 5 and node[at] - 5 <= place[at] + place[length]


def test_a_plate_stands_where_it_covers_nothing() -> None:
    node, other = {"x": 100, "y": 100, "width": 40, "height": 40}, {"x": 90, "y": 70, "width": 60, "height": 25}
    box = {"x": 0, "y": 0, "w": 300, "h": 300}
    place = said(f"lit.roomFor([{json.dumps(node)}], 60, {json.dumps([node, other])}, {json.dumps(box)})")
    assert (place["x"], place["y"]) == (90, 145), "above is another node, so it is below"
    right = {"x": 142, "y": 70, "width": 60, "height": 130}
    place = said(f"lit.roomFor([{json.dumps(node)}], 60, {json.dumps([node, other, right])}, {json.dumps(box)})")
    assert (place["x"], place["y"]) == (81, 145), "it slides to just beside what is in the way"
    plates = [{"x": 90, "y": y, "width": 60, "height": 15, "text": True} for y in (70, 155)]
    narrow = {"x": 90, "y": 0, "w": 60, "h": 300}
    place = said(f"lit.roomFor([{json.dumps(node)}], 60, {json.dumps([node, *plates])}, {json.dumps(narrow)})")
    assert not any(place["y"] < one["y"] + 15 and one["y"] < place["y"] + 15 for one in plates), "it is on its node"
    close = [{"x": 90, "y": y, "width": 60, "height": 15} for y in (70, 155)]
    place = said(f"lit.roomFor([{json.dumps(node)}], 60, {json.dumps([node, *close])}, {json.dumps(narrow)})")
    assert place["y"] in (92.5, 132.5), "on its own edge, not over a neighbour's"
