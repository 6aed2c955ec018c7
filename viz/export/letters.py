"""Finds fonts for letters that ours lack, such as Hebrew or Chinese, and numbers words that no font here can draw."""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
OURS = [str(HERE / "fonts" / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]
SUFFIXES = (".ttf", ".ttc", ".otf")
_DRAWN = re.compile(r"(?<=>)[^<>]+(?=</text>)")
_numbered: dict[str, int] = {}  # words that are drawn as a number, in all pictures of this process


def drawable(picture: str) -> tuple[str, list[str]]:
    """A plain SVG that the fonts, which are returned with it, can draw.

    A word that no font of this machine can draw becomes a number; a warning says once what the number stands for.
    """
    letters: list[str] = []
    missing = {ord(letter) for text in _DRAWN.findall(picture) for letter in text} - _covered(OURS[0])
    for font in _of_the_system() if missing else ():
        if missing & _covered(font):
            missing -= _covered(font)
            letters.append(font)
        if not missing:
            break
    if missing:
        word = re.compile(f"[{re.escape(''.join(map(chr, missing)))}]+")
        picture = _DRAWN.sub(lambda text: word.sub(_number, text[0]), picture)
    return picture, [*OURS, *letters]


def _number(word: re.Match[str]) -> str:
    if word[0] not in _numbered:
        _numbered[word[0]] = len(_numbered) + 1
        warnings.warn(
            f"No font on this machine has the letters of {word[0]!r}: it is drawn as [{_numbered[word[0]]}]. "
            "Install a font that has them, such as Noto Sans, or save as .svg or .html, "
            "which use the fonts of whoever reads them.",
            stacklevel=2,
        )
    return f"[{_numbered[word[0]]}]"


@functools.cache
def _covered(font: str) -> frozenset[int]:
    """The characters that a font has; none if its file cannot be read."""
    from fontTools.ttLib import TTFont, TTLibError  # which fpdf2 needs

    try:
        with TTFont(font, lazy=True, fontNumber=0) as opened:
            # Of colour fonts, neither writer can draw those that hold pixels alone.
            return frozenset(opened.getBestCmap() or ()) if "glyf" in opened or "CFF " in opened else frozenset()
    except (OSError, TTLibError):
        return frozenset()


def _of_the_system() -> Iterator[str]:
    """The font files of this machine, the shortest names first: those of regular faces."""
    home, windows = Path.home(), Path(os.environ.get("WINDIR", "C:/Windows"))
    places = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]
    if sys.platform == "darwin":
        places = [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
    elif sys.platform == "win32":
        places = [windows / "Fonts", home / "AppData/Local/Microsoft/Windows/Fonts"]
    for folder in places:
        fonts = [str(file) for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES]
        yield from sorted(fonts, key=lambda font: (len(font), font))
