"""Names, labels and messages come from users: whatever they contain, pictures stay well-formed and nothing runs."""

import html
import xml.etree.ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tinygrad_edu as T
import viz
from viz.export import files as export
from viz.picture import svg, theme

NASTY = "\" ' \\ \\N <b> <script>alert(1)</script>]]> --> &amp; {|} <<TABLE>> </svg> </style> "
NASTY += "%s{}$ \x00\x07 \u202eevil"
NASTY = ["", "a\nb", "🙂👩‍👩‍👧", "\ud800", "\ufffe", "x" * 10_000, "ä" * 10_000, *NASTY.split()]
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=60))
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def picture(name):
    w = T.tensor(2.0, requires_grad=True)
    return viz.draw({name: w * 3.0}, names={name + "w": w})


@pytest.mark.outer
@quick
@given(texts)
def test_any_name_gives_well_formed_svg_without_a_script(name):
    root = ET.fromstring(picture(name).svg)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "rect", "path", "text", "title", "desc", "style"}
    attributes = {key for element in root.iter() for key in element.attrib}
    assert not {key for key in attributes if key.startswith("on") or key == "href"}


@pytest.mark.outer
@quick
@given(texts)
def test_any_name_gives_dot_that_graphviz_reads_back(name):
    import pygraphviz

    graph = pygraphviz.AGraph(string=picture(name).source)
    assert graph.number_of_nodes() == 3
    graph.close()


@pytest.mark.outer
@settings(quick, max_examples=25)
@given(texts)
def test_any_name_in_a_recording_gives_a_page_that_a_strict_parser_reads_and_a_well_formed_animation(name):
    html5lib = pytest.importorskip("html5lib")

    def program(T):
        w = T.tensor(2.0, requires_grad=True)
        named = {name: w * 3.0, "]]>": w + 1.0}
        named[name].backward()

    recording = viz.record(program)
    html5lib.HTMLParser(strict=True).parse(export.player_page(recording.scene()))
    ET.fromstring(export.Frames(recording, "values").animated())


@pytest.mark.outer
@quick
@given(texts)
def test_no_text_leaves_its_script_element(text):
    assert "<" not in export.embedded({"sentence": text.encode("utf-8", "replace").decode()})


@quick
@given(texts)
def test_escaped_text_is_what_a_parser_gives_back(text):
    shown = html.unescape(svg.escape(text))
    assert ET.fromstring(f"<a>{svg.escape(text)}</a>").text in (shown, None)
    assert not any(character in shown for character in "\x00\x07\u202e\n")


@given(st.text(max_size=40), st.floats(8, 20), st.floats(20, 200))
def test_shortened_text_is_as_narrow_as_asked(text, size, width):
    assert theme.text_width(theme.shorten(text, size, width), size) <= max(width, theme.text_width("…", size))


@pytest.mark.parametrize("message", NASTY)
def test_an_error_message_cannot_break_the_page(message, tmp_path):
    recording = viz.record(f"raise ValueError({message!r})")
    assert recording.error["type"] == "ValueError"
    assert "<script>alert" not in recording.save(tmp_path / "page.html").read_text(encoding="utf-8")
    ET.fromstring(recording.save(tmp_path / "page.svg").read_text(encoding="utf-8"))
