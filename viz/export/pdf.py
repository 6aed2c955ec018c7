"""One of our plain SVGs as PDF, with lines and text. It knows the few elements and rules that `svg` writes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# The commands of a path: the fpdf method for each, and its number of arguments.
_PATH = {
    "M": ("move_to", 2),
    "L": ("line_to", 2),
    "H": ("horizontal_line_to", 1),
    "V": ("vertical_line_to", 1),
    "C": ("curve_to", 6),
    "Z": ("close", 0),
    "m": ("move_relative", 2),
    "l": ("line_relative", 2),
    "h": ("horizontal_line_relative", 1),
    "v": ("vertical_line_relative", 1),
}
BASELINE = 0.3  # of the size of the letters, below the middle of a cell of fpdf2's
_SPACE = "{http://www.w3.org/2000/svg}"


def draw(picture: str, fonts: list[str]) -> bytes:
    """The PDF of an SVG written with `plain=True`, on one page of the picture's size."""
    import fpdf

    root = ET.fromstring(picture)
    width, height = (float(root.get(name, "0")) for name in ("width", "height"))
    document = fpdf.FPDF(unit="pt", format=(width, height))
    document.set_auto_page_break(False)
    document.set_margin(0)
    document.c_margin = 0
    document.add_font("sans", "", fonts[0])
    document.add_font("sans", "B", fonts[1])
    for font in fonts[2:]:
        document.add_font(font, "", font)
    document.set_fallback_fonts(fonts[2:], exact_match=False)
    document.set_title(next((node.text or "" for node in root.iter(f"{_SPACE}title")), ""))
    document.add_page()
    rules = _rules(next(node.text or "" for node in root.iter(f"{_SPACE}style")))
    # (element, ancestors' classes and names from the outside in, inherited opacity, offset)
    stack: list[tuple[Any, list[set[str]], float, tuple[float, float]]] = [(root, [], 1.0, (0.0, 0.0))]
    while stack:
        element, above, opacity, (left, top) = stack.pop()
        name = element.tag.removeprefix(_SPACE)
        path = [*above, {name, *("." + name for name in element.get("class", "").split())}]
        look = _look(rules, path)
        opacity *= float(look.get("opacity", element.get("opacity", "1")))
        if look.get("display") == "none" or opacity == 0:
            continue
        moved = _NUMBER.findall(element.get("transform", ""))
        if moved:
            left, top = left + float(moved[0]), top + float(moved[1])
        if name in ("rect", "path", "text"):
            filled = opacity * float(look.get("fill-opacity", 1))
            with document.local_context(
                fill_opacity=filled, stroke_opacity=opacity * float(look.get("stroke-opacity", 1))
            ):
                _element(document, element, name, look, left, top)
        stack.extend((child, path, opacity, (left, top)) for child in reversed(element))
    return bytes(document.output())


def _rules(style: str) -> list[tuple[list[set[str]], dict[str, str]]]:
    """Each selector as a chain of requirements on an element and its ancestors, with its declarations."""
    rules = []
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        declared = dict(item.split(":", 1) for item in body.split(";") if ":" in item)
        for selector in selectors.split(","):
            chain = [set(re.findall(r"\.?[\w-]+", part)) for part in selector.split() if not part.startswith("#")]
            if chain:
                rules.append((chain, declared))
    # a browser lets the more specific rule win: more classes first, then the later rule
    rules.sort(key=lambda rule: sum(name.startswith(".") for part in rule[0] for name in part))
    return rules


def _look(rules: list[tuple[list[set[str]], dict[str, str]]], path: list[set[str]]) -> dict[str, str]:
    look: dict[str, str] = {}
    for chain, declared in rules:
        if chain[-1] <= path[-1] and _matches(chain[:-1], path[:-1]):
            look.update(declared)
    return look


def _matches(chain: list[set[str]], path: list[set[str]]) -> bool:
    position = 0
    for part in path:
        if position < len(chain) and chain[position] <= part:
            position += 1
    return position == len(chain)


def _colour(text: str | None) -> tuple[int, int, int] | None:
    if not text or not text.startswith("#"):
        return None
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _element(document: Any, element: Any, name: str, look: dict[str, str], left: float, top: float) -> None:
    fill, stroke = _colour(look.get("fill")), _colour(look.get("stroke"))
    if name == "text":
        if element.text:
            _text(document, element, look, left, top)
        return
    if fill is None and stroke is None:
        return
    with document.new_path() as path:
        path.style.fill_color = None if fill is None else "#{:02x}{:02x}{:02x}".format(*fill)
        path.style.stroke_color = None if stroke is None else "#{:02x}{:02x}{:02x}".format(*stroke)
        path.style.auto_close = False
        if stroke is not None:
            path.style.stroke_width = float(look.get("stroke-width", "1"))
            path.style.stroke_dash_pattern = [
                float(number) for number in _NUMBER.findall(look.get("stroke-dasharray", ""))
            ]
            path.style.stroke_dash_phase = 0
            path.style.stroke_cap_style = look.get("stroke-linecap", "butt")
        if name == "rect":
            x, y, width, height, radius = (float(element.get(key, "0")) for key in ("x", "y", "width", "height", "rx"))
            path.rectangle(x + left, y + top, width, height, radius, radius)
            return
        for command, numbers in re.findall(r"([MLHVCZmlhv])([^A-Za-z]*)", element.get("d", "")):
            values = [float(number) for number in _NUMBER.findall(numbers)]
            if command == "H":
                values = [values[0] + left]
            elif command == "V":
                values = [values[0] + top]
            elif command in "MLC":
                values = [value + (top if position % 2 else left) for position, value in enumerate(values)]
            draw_, count = getattr(path, _PATH[command][0]), _PATH[command][1]
            for start in range(0, max(1, len(values)), max(1, count)):
                draw_(*values[start : start + count])


def _text(document: Any, element: Any, look: dict[str, str], left: float, top: float) -> None:
    size = float(look.get("font-size", "13px").removesuffix("px"))
    document.set_font("sans", "B" if look.get("font-weight") == "600" else "", size)
    document.set_text_color(*(_colour(look.get("fill")) or (0, 0, 0)))
    x, y = float(element.get("x", "0")) + left, float(element.get("y", "0")) + top
    if look.get("text-anchor") == "middle":
        x -= document.get_string_width(element.text) / 2
    if element.text.isascii():
        document.text(x, y, element.text)
    else:  # with the other fonts, and from right to left where it is written so
        document.set_xy(x, y - BASELINE * size)
        document.cell(h=0, text=element.text)
