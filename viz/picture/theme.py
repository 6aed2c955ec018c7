"""All colours, shapes, fonts and sizes of the pictures, in one place."""

from __future__ import annotations

import functools
import re
import unicodedata

FONT = "'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
PLAIN_FONT = "'DejaVu Sans'"  # our own font, for pictures that are drawn here
SIZE = {"name": 14.0, "value": 13.0, "small": 11.0, "tiny": 10.0}
SIZE |= {"symbol": 19.0, "word": 14.0, "title": 11.0, "sign": 12.0}

# Each colour in the light theme and in the dark one. `-ink` is for letters. `shade-0` to `shade-6` are sizes of
# gradients, from small to large; no gradient is the colour of a pill.
_COLOURS = """
paper #ffffff #14181f
ink #1c2430 #e8ecf2
soft #5b6675 #a5b0bf
line #8a94a3 #748094
box #ffffff #1d232d
leaf #0072B2 #5db7ea
leaf-fill #eaf4fb #12303f
input #7b8593 #8f9aaa
input-fill #f5f6f8 #20262f
pill #eef0f4 #2b3340
pill-line #6b7686 #8f9bad
grad #D55E00 #ff9a57
grad-ink #a84300 #ff9a57
saved #E69F00 #E69F00
saved-fill #fff1d0 #4a3508
saved-ink #6b4700 #ffd98a
run #ffe3cf #5a2f12
ready #f2b48a #8a4b1f
error #b3261e #ff8a80
error-fill #fdecea #43201d
heat-high #0072B2 #5db7ea
heat-low #D55E00 #ff9a57
shade-0 #fff0c9 #3a3426
shade-1 #fdd58f #574222
shade-2 #f9b456 #7a5019
shade-3 #ee8f2f #a05f12
shade-4 #d96a17 #c6740f
shade-5 #b1480d #e8952f
shade-6 #7d2c08 #ffbe6b
shade-ink #ffffff #14181f
"""
_ROWS = [row.split() for row in _COLOURS.split("\n") if row]
LIGHT, DARK = {name: light for name, light, _ in _ROWS}, {name: dark for name, _, dark in _ROWS}

# Advance widths of DejaVu Sans, the widest of the fonts in FONT, from space to tilde, in thousandths of the font size.
_WIDTHS_OF_DEJAVU = """
318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 337 838 838
838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 684 989 685 611 685 390
337 390 838 500 500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592
525 636 337 636 838"""
_WIDTHS = [int(width) for width in _WIDTHS_OF_DEJAVU.split()]
BOLD = 1.11  # how much wider bold text is


# The same few texts are measured again and again: names, numbers, states.
@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """An upper bound of the width of `text` in pixels, computed without a font."""
    total = 0
    for character in text:
        code = ord(character)
        if 32 <= code < 127:
            total += _WIDTHS[code - 32]
        elif unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
            continue
        elif unicodedata.east_asian_width(character) in ("W", "F") or code >= 0x1F000:
            total += 1400
        else:
            total += 840
    return total * size * (BOLD if bold else 1.0) / 1000


_PATH = re.compile(r"[\w.\[\]']*\w\.[\w.]*\w")  # the path of a parameter or a module


def shorten(text: str, size: float, width: float, bold: bool = False) -> str:
    """`text`, cut with an ellipsis if it is wider than `width` pixels; a path keeps its end."""
    text = printable(text)
    if text_width(text, size, bold) <= width:
        return text
    if _PATH.fullmatch(text):
        parts = text.split(".")
        while len(parts) > 1 and text_width("…" + ".".join(parts), size, bold) > width:
            del parts[0]
        text = "…" + ".".join(parts)
        if text_width(text, size, bold) <= width:
            return text
    if "::" in text:  # torch::autograd::CopySlices
        return shorten(text.rpartition("::")[2], size, width, bold)
    kept = text[: int(width / size * 5) + 1]  # no long text has characters narrower than a fifth of the font size
    while kept and text_width(kept + "…", size, bold) > width:
        kept = kept[:-1]
    return kept + "…"


def printable(text: str) -> str:
    """`text` on one line, without control characters and without characters that change the writing direction."""
    if text.isprintable():
        return text
    return "".join(
        " " if character in "\n\r\t\v\f" else character
        for character in text
        if character in "\n\r\t\v\f" or not (_unprintable(character))
    )


def _unprintable(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn")
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or code in (0x200E, 0x200F, 0xFEFF)
    )


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


@functools.lru_cache(maxsize=64)
def css(scope: str, theme: str = "auto", plain: bool = False) -> str:
    """The style sheet of one picture, every rule under `#scope`.

    Args:
        scope: id of the `<svg>` element.
        theme: `"light"`, `"dark"`, or `"auto"` for that of the surrounding page.
        plain: write out colours, without variables and media queries, for renderers that support neither.
    """
    here = f"#{scope}"
    base = DARK if theme == "dark" else LIGHT
    rules = [
        f"{here}{{{_variables(base)}font-family:{FONT};color-scheme:{'light dark' if theme == 'auto' else theme}}}"
    ]
    if theme == "auto":
        dark = _variables(DARK)
        rules.append(f"@media(prefers-color-scheme:dark){{{here}{{{dark}}}}}")
        rules.append(f"body[data-jp-theme-light=true] {here}{{{_variables(LIGHT)}color-scheme:light}}")
        rules.append(f"body[data-jp-theme-light=false] {here},body.vscode-dark {here}{{{dark}color-scheme:dark}}")
    if plain:
        rules = [f"{here} text{{font-family:{PLAIN_FONT}}}"]
        rules += [rule for rule in _RULES if not rule.startswith("@")]
        text = "".join(rules).replace("&", here)
        # Such a renderer draws even what is invisible, and spends a quarter of its time on it.
        text = text.replace("{opacity:0}", "{display:none}").replace("{opacity:1}", "{display:inline}")
        return re.sub(r"var\(--([a-z0-9-]+)\)", lambda match: base[match[1]], text)
    rules += [rule.replace("&", here) for rule in _RULES]
    return "".join(rules)


SHADE_INK = 4  # from this shade on, letters have the other colour

_RULES = (
    "& text{fill:var(--ink);font-size:13px;font-variant-numeric:tabular-nums;white-space:pre}",
    "& .paper{fill:var(--paper)}",
    "& .name{font-weight:600;font-size:14px}",
    "& .small{font-size:11px;fill:var(--soft)}",
    "& .tiny{font-size:10px;fill:var(--soft)}",
    "& .grad{fill:var(--grad-ink);font-size:11px}",
    "& .symbol{font-size:19px}",
    "& .word{font-size:14px}",
    "& .title{font-size:11px;font-weight:600}",
    "& .sign{font-size:12px}",
    "& .mid{text-anchor:middle}",
    "& .scope rect{fill:var(--line);fill-opacity:.08;stroke:var(--line);stroke-width:1;stroke-opacity:.5}",
    "& .frame{fill:var(--box);stroke:var(--line);stroke-width:1.2}",
    "& .leaf .frame{fill:var(--leaf-fill);stroke:var(--leaf);stroke-width:2.6}",
    "& .input .frame{fill:var(--input-fill);stroke:var(--input);stroke-width:1.4;stroke-dasharray:5 3}",
    "& .result .frame{stroke-dasharray:1.5 3}",
    "& .pill{fill:var(--pill);stroke:var(--pill-line);stroke-width:1.2}",
    "& .unrecorded .pill{fill:none;stroke-dasharray:1.5 3.5;stroke-linecap:round}",
    "& .unrecorded text{fill:var(--soft)}",
    "& .cut .pill{fill:none;stroke:var(--grad);stroke-width:2;stroke-dasharray:5 3}",
    "& .accumulate .pill{fill:var(--leaf-fill);stroke:var(--leaf);stroke-width:2}",
    "& .beyond .pill{fill:none;stroke-dasharray:2 3}",
    "& .plus{display:none;fill:none;stroke:var(--ink);stroke-width:1.6}",
    "& .tgv-opens .plus{display:inline}",
    "& .tab rect{fill:var(--saved-fill);stroke:var(--saved);stroke-width:1.2}",
    "& .tab text{font-size:11px;fill:var(--saved-ink)}",
    "& .tab .strike{display:none;stroke:var(--saved-ink);stroke-width:1.2}",
    "& .tab.freed rect{fill:none;stroke-dasharray:2 2}",
    "& .tab.freed .strike{display:inline}",
    "& .tab.freed text{fill:var(--soft)}",
    "& .slim.freed{display:none}",
    "& .forward path{fill:none;stroke:var(--line);stroke-width:1.4}",
    "& .forward .head{fill:var(--line);stroke:none}",
    "& .share path{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:1.5 3.5;stroke-linecap:round}",
    "& .back path{fill:none;stroke:var(--grad);stroke-width:1.5;stroke-dasharray:5 3.5}",
    "& .back .head{fill:var(--grad);stroke:none;stroke-dasharray:none}",
    "& .back text{fill:var(--grad-ink);font-size:11px}",
    "& .back .plate{fill:var(--paper)}",
    "& .back{opacity:0}",
    "& .back.has-grad,& .back.running{opacity:1}",
    "& .back.running path{stroke-width:2.4}",
    "& .back.graph{opacity:1}",
    "& .graph path{stroke:var(--line)}",
    "& .graph .head{fill:var(--line)}",
    "& .graph.has-grad path,& .graph.running path{stroke:var(--grad)}",
    "& .graph.has-grad .head,& .graph.running .head{fill:var(--grad)}",
    "& .node{transition:opacity .15s}",
    "& .pending,& .back.graph.pending{opacity:.28}",
    "& .running .frame,& .running .pill{stroke:var(--grad);stroke-width:2.6;fill:var(--run)}",
    "& .ready .frame,& .ready .pill{stroke:var(--ready);stroke-width:2.6}",
    "& .error .frame,& .error .pill{stroke:var(--error);stroke-width:2.8;fill:var(--error-fill)}",
    "& .now .frame,& .now .pill{stroke:var(--ink);stroke-width:2.4}",
    "& .grid{display:none}",
    "& .grid.on{display:inline}",
    "& .rule{fill:none;stroke:var(--line);stroke-width:.6}",
    "& .cell{font-size:11px}",
    "& .grad-grid .cell{fill:var(--grad-ink)}",
    "& .high{fill:var(--heat-high)}",
    "& .low{fill:var(--heat-low)}",
    "& .odd{fill:none;stroke:var(--error);stroke-width:1.4}",
    "& .network .forward path{stroke-width:1.3}",
    "& .module>.frame{fill:var(--pill);stroke:var(--pill-line);stroke-width:1.6}",
    "& .node.frozen>.frame{stroke:var(--input);stroke-dasharray:5 3}",
    "& .module .plus{display:inline}",
    "& .opened>.frame{fill:var(--line);fill-opacity:.07;stroke:var(--pill-line);stroke-width:1.2}",
    "& .opened-title{font-size:12px;font-weight:600;fill:var(--soft)}",
    "& .network .grad{fill:var(--grad-ink)}",
    *(f"& .node.lv{shade}>.frame,& .node.lv{shade}>.pill{{fill:var(--shade-{shade})}}" for shade in range(7)),
    *(f"& .node.lv{shade} text{{fill:var(--ink)}}" for shade in range(SHADE_INK)),
    *(f"& .node.lv{shade} text{{fill:var(--shade-ink)}}" for shade in range(SHADE_INK, 7)),
    *(f"& .node.lv{shade} .plus{{stroke:var(--shade-ink)}}" for shade in range(SHADE_INK, 7)),
    *(f"& .node.around-lv{shade}>.frame{{stroke:var(--shade-{shade});stroke-width:2.4}}" for shade in (2, 3, 4, 5, 6)),
    "& .node.lvzero>.frame,& .node.lvzero>.pill{fill:none;stroke-dasharray:2 3}",
    "& .node.lvodd>.frame,& .node.lvodd>.pill{fill:var(--error-fill);stroke:var(--error)}",
    "& .legend text{font-size:11px;fill:var(--soft)}",
    "@media(prefers-reduced-motion:reduce){& .node{transition:none}}",
)
