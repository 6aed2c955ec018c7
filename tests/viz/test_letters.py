"""Names in scripts that our own fonts lack are drawn with a font of the machine, or are numbered."""

import io
import shutil
import sys
import warnings
from pathlib import Path

import matplotlib
import pytest
from PIL import Image
from pypdf import PdfReader

import viz
from viz.export import letters
from viz.export.files import png

HEBREW, NOBODYS = "שלום", "\U000f1234"  # the second is of a private area: no font has it


@pytest.fixture
def fonts(tmp_path, monkeypatch):
    """A user's folder of fonts, with one that has Hebrew."""
    folder = tmp_path / ("Library/Fonts" if sys.platform == "darwin" else ".local/share/fonts")
    folder.mkdir(parents=True)
    shutil.copy(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf", folder)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("fonts")
def test_a_name_in_another_script_is_drawn_with_a_font_that_has_it(tmp_path):
    recording = viz.record(f"{HEBREW} = T.tensor(3.0, requires_grad=True)\ny = {HEBREW} * {HEBREW}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the writer misses no letter
        text = PdfReader(recording.save(tmp_path / "a.pdf")).pages[0].extract_text()
    assert HEBREW[::-1] in text  # from left to right, as it is laid out
    text = f'<text x="5" y="15" font-family="DejaVu Sans">{HEBREW}</text>'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20">{text}</svg>'
    with Image.open(io.BytesIO(png(picture))) as image:
        assert image.getbbox() is not None


def test_a_word_that_no_font_has_is_a_number_and_is_told_once():
    picture = f"<title>{NOBODYS}</title><text>a {NOBODYS}{NOBODYS} b</text>"
    picture = f'<svg xmlns="http://www.w3.org/2000/svg">{picture}</svg>'
    with pytest.warns(UserWarning, match=r"No font on this machine has .* drawn as \[(\d+)\]") as told:
        drawn, _ = letters.drawable(picture)
    number = str(told[0].message).partition("drawn as ")[2].partition(".")[0]
    assert drawn == picture.replace(f"a {NOBODYS}{NOBODYS} b", f"a {number} b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert letters.drawable(picture)[0] == drawn


def test_a_picture_in_latin_and_greek_needs_no_other_font():
    assert letters.drawable("<svg><text>∂L/∂w = Σ α · x → 2</text></svg>")[1] == letters.OURS
