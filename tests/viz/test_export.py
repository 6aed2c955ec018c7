"""Every format holds the picture, and says what is missing when a package is."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

import viz

PROGRAM = "x = T.tensor(3.0, requires_grad=True)\na = x * x\nL = a * (a + x)\nL.backward()"


@pytest.fixture(scope="module")
def recording():
    return viz.record(PROGRAM)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("json", b"{"), ("html", b"<!doctype html>"), ("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF-"),
     ("gif", b"GIF89a"), ("dot", b"digraph")],
)  # fmt: skip
def test_a_recording_is_saved_in_the_format_of_its_suffix(recording, tmp_path, suffix, start):
    assert recording.save(tmp_path / f"flow.{suffix}").read_bytes().startswith(start)


def test_an_unknown_suffix_lists_those_that_work(recording, tmp_path):
    with pytest.raises(ValueError, match=r"\.json, \.html, \.svg"):
        recording.save(tmp_path / "flow.docx")


def test_a_step_that_is_not_there_is_an_index_error(recording, tmp_path):
    with pytest.raises(IndexError, match="step must be from 0 to"):
        recording.save(tmp_path / "flow.svg", step=999)


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if element.text]


def test_a_saved_step_is_what_the_player_shows_there(recording, tmp_path):
    scene = recording.scene()
    from viz.scene import frame

    for step in (0, 3, len(scene["steps"]) - 1):
        saved = recording.save(tmp_path / "step.svg", step=step).read_text(encoding="utf-8")
        shown = texts(frame(scene, "values", step))
        assert texts(saved)[: len(shown)] == shown


def test_a_gif_has_a_frame_for_every_step(recording, tmp_path):
    image = pytest.importorskip("PIL.Image")
    with image.open(recording.save(tmp_path / "flow.gif", scale=1.0)) as film:
        assert film.n_frames == len(recording.scene()["steps"])


def test_the_page_needs_no_network_and_its_scene_is_the_recordings(recording, tmp_path):
    page = recording.save(tmp_path / "flow.html").read_text(encoding="utf-8")

    class Reader(HTMLParser):
        outside: list[str] = []  # noqa: RUF012
        scene = ""
        inside = False

        def handle_starttag(self, tag, attrs):
            values = dict(attrs)
            self.outside += [value for name, value in attrs if name in ("src", "href") and value]
            self.inside = tag == "script" and values.get("id") == "scene"

        def handle_data(self, data):
            if self.inside:
                self.scene += data

        def handle_endtag(self, tag):
            self.inside = False

    reader = Reader()
    reader.feed(page)
    assert reader.outside == []
    assert json.loads(reader.scene)["source"] == PROGRAM.splitlines()


def test_a_script_tag_in_the_program_does_not_end_the_page(tmp_path):
    nasty = viz.record("x = T.tensor(1.0)  # </script><script>alert(1)</script>")
    page = nasty.save(tmp_path / "nasty.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page


def test_a_missing_package_is_named_with_the_command_that_installs_it(recording, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match="pip install resvg-py"):
        recording.save(tmp_path / "flow.png")
