"""Every format holds the picture, and a missing package is named."""

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from PIL import Image, ImageChops

import viz
from viz.export import film
from viz.export.files import Frames, png
from viz.frames.director import Director
from viz.frames.network import Stills
from viz.frames.scene import frame
from viz.picture.fit import Room

pytestmark = pytest.mark.outer
PROGRAM = "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()"


@pytest.fixture(scope="module")
def recording():
    return viz.record(PROGRAM)


BEGINS = {"json": b"{", "html": b"<!doctype html>", "svg": b"<?xml"}
BEGINS |= {"png": b"\x89PNG", "pdf": b"%PDF-", "gif": b"GIF89a"}


@pytest.mark.parametrize(("suffix", "start"), [*BEGINS.items(), ("dot", b"digraph")])
def test_a_recording_is_saved_in_the_format_of_its_suffix(recording, tmp_path, suffix, start):
    assert recording.save(tmp_path / f"flow.{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("flow.docx", {}, ValueError, r"\.json, \.html, \.svg"),
        ("flow.svg", {"step": 999}, IndexError, "step must be from 0 to"),
        ("flow.png", {"animate": True}, ValueError, "animate=True is for"),
    ],
)
def test_what_cannot_be_saved_says_why(recording, tmp_path, name, options, error, said):
    with pytest.raises(error, match=said):
        recording.save(tmp_path / name, **options)


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if element.text]


WIDE = (Room(4000, 4000),)  # a stage where nothing is left out, as in a file


def test_a_saved_step_is_what_the_player_shows_there(recording, tmp_path):
    scene = recording.scene(rooms=WIDE)
    for step in (0, 3, len(scene["steps"]) - 1):
        saved = recording.save(tmp_path / "step.svg", step=step).read_text(encoding="utf-8")
        shown = texts(frame(scene, "values", step))
        assert texts(saved)[: len(shown)] == shown


def shown_at(tree, css, share):
    """The texts of an animated picture that are visible after `share` percent of its time."""
    stops = {
        name: [(float(at), state) for at, state in re.findall(r"([\d.]+)%\{visibility:(\w+)\}", frames)]
        for name, frames in re.findall(r"@keyframes \w+?(k\d+)\{((?:[^{}]*\{[^{}]*\})*)\}", css)
    }
    found = []

    def walk(element, visible):
        for word in (element.get("class") or "").split():
            if word in stops:
                visible = [state for at, state in stops[word] if at <= share][-1] == "visible"
        if visible and element.tag.endswith("}text") and element.text:
            found.append(element.text)
        for child in element:
            walk(child, visible)

    walk(tree, True)
    return found


def test_an_animated_svg_shows_each_step_in_its_time_has_no_script_and_moves_where_that_is_wanted(recording, tmp_path):
    scene = recording.scene(rooms=WIDE)
    text = recording.save(tmp_path / "moving.svg", animate=True).read_text(encoding="utf-8")
    tree = ET.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags <= {"svg", "g", "rect", "path", "text", "title", "desc", "style"}
    moving, end = text.index("@media(prefers-reduced-motion:no-preference)"), text.index("@keyframes")
    assert "animation:" not in text[:moving] + text[end:]
    assert text[moving:end].count("{") == text[moving:end].count("}")
    css = next(element.text for element in tree.iter() if element.tag.endswith("style"))
    count = len(scene["steps"])
    for step, about in enumerate(scene["steps"]):
        texts_ = shown_at(tree, css, (step + 0.5) * 100 / (count + 2))
        still = texts(recording.save(tmp_path / "still.svg", step=step).read_text(encoding="utf-8"))
        drawn = [one for one in still if one in texts(frame(scene, "values", step))]
        assert sorted(texts_[: len(drawn)]) == sorted(drawn)
        assert about["title"] in " ".join(texts_)


def test_a_gif_has_a_frame_a_step_is_as_light_as_its_page_and_no_sharper_than_its_picture(tmp_path):
    long = viz.record("y = x = T.tensor(2.0, requires_grad=True)\nfor i in range(9):\n    y = y * x + y / x")
    frames = Frames(long, "values")
    steps = [frames.svg(step, "light", plain=True) for step in range(frames.count)]
    with Image.open(long.save(tmp_path / "flow.gif", view="values")) as film:
        assert film.n_frames == frames.count == len(long.scene()["steps"])
        assert film.size == tuple(map(max, zip(*map(size_of, steps), strict=True)))
        for step in range(film.n_frames):
            film.seek(step)
            assert film.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def size_of(picture):
    return tuple(map(int, re.findall(r'(?:width|height)="(\d+)"', picture)[:2]))


def assert_put_together(pictures, scale=1.0):
    """Each whole picture equals what was shown before with its parts put over it."""
    drawn = lambda svg: Image.open(io.BytesIO(png(svg, scale))).convert("RGB")  # noqa: E731
    shown = None
    for parts, whole in pictures:
        for (left, top, _, _), piece in parts:
            part = drawn(piece)
            shown = shown or part.copy()
            shown.paste(part, (round(left * scale), round(top * scale)))
        extrema = ImageChops.difference(drawn(whole).crop((0, 0, *shown.size)), shown).getextrema()
        assert max(high for _, high in extrema) <= 32  # a curve that is cut is rounded a little differently


@pytest.mark.parametrize("scale", [1.0, pytest.param(1.5, marks=pytest.mark.long)])
def test_a_frame_that_is_drawn_where_it_changes_equals_the_whole_picture(recording, scale):
    frames = Frames(recording, "values")
    whole = (picture for ((_, picture),) in frames.changes("light", 2000))
    assert_put_together(zip(frames.changes("light", film.grain(scale)), whole, strict=True), scale)
    assert sum(len(parts) for parts in frames.changes("light", 1)) > frames.count

    program = "x = T.ones(3, 2)\nloss = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Tanh())(x).sum()\nloss.backward()"
    frames = Stills(Director(viz.record(program)))
    pictures = [frames.svg(step, "light", plain=True) for step in range(frames.count)]
    grain = film.grain(scale)
    parts = [film.parts(one, frames.areas(step), size_of(pictures[0]), grain) for step, one in enumerate(pictures)]
    assert_put_together([([((0, 0, 0, 0), pictures[0])], pictures[0]), *zip(parts, pictures, strict=True)], scale)


def test_the_page_needs_no_network_and_its_scene_is_the_recordings(recording, tmp_path):
    page = recording.save(tmp_path / "flow.html").read_text(encoding="utf-8")
    outside, scenes = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            values = dict(attrs)
            outside.extend(value for name, value in attrs if name in ("src", "href") and value)
            scenes.extend([""] if values.get("id") == "scene" else [])

        def handle_data(self, data):
            if scenes == [""]:
                scenes[0] = data

    Reader().feed(page)
    assert outside == []
    assert json.loads(scenes[0])["source"] == PROGRAM.splitlines()


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM,
        "x = T.tensor(1.0)  # </script><script>alert(1)</script> <!-- ]]> &amp; \u202e",
        "raise ValueError('</noscript></main><p>')",
        "y = x = T.tensor(1.0, requires_grad=True)\nfor i in range(200):\n    y = y * 2 + x\ny.backward()",
    ],
    ids=["a diamond", "markup in the source", "markup in an error", "folded"],
)
def test_every_page_is_html_without_a_parse_error(program, tmp_path):
    html5lib, recording = pytest.importorskip("html5lib"), viz.record(program)
    for made in (recording, recording.picture()):
        page = made.save(tmp_path / "page.html").read_text(encoding="utf-8")
        assert "<script>alert(1)" not in page
        html5lib.HTMLParser(strict=True).parse(page)  # raises at the first error


def test_a_missing_package_is_named_with_the_command_that_installs_it(recording, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match="pip install resvg-py"):
        recording.save(tmp_path / "flow.png")


ARRAYS = """
table = T.tensor([[1.0, -2.0], [float("nan"), 4.0]], requires_grad=True)
heat = T.arange(-40.0, 41.0).reshape(9, 9) * table.nan_to_num().sum()
heat = heat / (heat + 39)  # one cell divides by zero
heat.sum().backward()
"""


def test_a_pdf_draws_tables_and_heat_maps_line_by_line_and_in_their_shades(tmp_path):
    pypdf, recording = pytest.importorskip("pypdf"), viz.record(ARRAYS)
    drawn = ET.fromstring(recording.save(tmp_path / "arrays.svg").read_text(encoding="utf-8"))
    grids = [one for one in drawn.iter() if (one.get("class") or "").startswith(("grid on", "grad-grid on"))]
    paths = [one for grid in grids for one in grid.iter("{http://www.w3.org/2000/svg}path")]
    begins = [found for one in paths for found in re.findall(r"M([\d.]+) ([\d.]+)", one.get("d"))]
    shades = {one.get("opacity") for one in paths} - {None}
    assert len(begins) > 80
    assert len(shades) == 5
    page = pypdf.PdfReader(recording.save(tmp_path / "arrays.pdf")).pages[0]
    moves = {tuple(map(float, where)) for where, name in page.get_contents().operations if name == b"m"}
    places = [(float(x) + 10, float(y) + 10) for x, y in begins]
    missing = [(x, y) for x, y in places if not any(abs(a - x) < 0.1 and abs(b - y) < 0.1 for a, b in moves)]
    assert missing == []
    states = [one.get_object() for one in page["/Resources"]["/ExtGState"].values()]
    assert {str(one["/ca"]) for one in states if "/ca" in one} >= shades - {"1.0"}
