"""The picture as DOT text, for readers who want to draw it with their own Graphviz."""

from __future__ import annotations

import html

from viz.picture.shapes import Box, Drawing, Link
from viz.picture.svg import States
from viz.picture.theme import DARK, LIGHT, SIZE, printable

FONT = "Helvetica"


def source(drawing: Drawing, state: States, direction: str = "LR", theme: str = "light") -> str:
    """DOT for one view, with every label escaped: names come from users.

    Args:
        drawing: the boxes with their texts, and the lines between them.
        state: texts and classes of the step to show.
        direction: `"LR"` or `"TB"`.
        theme: `"dark"`, or anything else for light.
    """
    colours = DARK if theme == "dark" else LIGHT
    lines = [
        "digraph {",
        _attributes("graph", rankdir=direction, bgcolor=colours["paper"], nodesep="0.25", ranksep="0.35"),
        _attributes("node", fontname=FONT, fontsize="12", fontcolor=colours["ink"], margin="0.08,0.04"),
        _attributes(
            "edge", fontname=FONT, fontsize="10", color=colours["line"], fontcolor=colours["grad-ink"], arrowsize="0.6"
        ),
    ]
    lines += [_attributes(box.key, **_look(box, colours), label=_label(box, state, colours)) for box in drawing.boxes]
    lines += _clusters(drawing, None)
    lines += [_attributes(f"{link.tail} -> {link.head}", **_line(link, state, colours)) for link in drawing.links]
    return "\n".join([*lines, "}", ""])


def _clusters(drawing: Drawing, parent: str | None) -> list[str]:
    lines = []
    for scope in drawing.scopes:
        if scope.parent == parent:
            label = _quoted(scope.title)
            lines.append(f'\tsubgraph cluster_{scope.key} {{ label="{label}" labeljust="l" {" ".join(scope.boxes)}')
            lines += [*_clusters(drawing, scope.key), "\t}"]
    return lines


def _quoted(text: str) -> str:
    """Escape a text so that it is shown exactly: Graphviz interprets backslashes, quotes and entities."""
    return html.escape(printable(text)).replace("\\", "\\\\")


def _attributes(statement: str, **attributes: str) -> str:
    # Our keys need no quotes; an HTML label is written in angle brackets.
    told = (f"{name}={text}" if text.startswith("<") else f'{name}="{text}"' for name, text in attributes.items())
    return f"\t{statement} [{' '.join(told)}]"


def _line(link: Link, state: States, colours: dict[str, str]) -> dict[str, str]:
    if link.kind == "share":
        return {"style": "dotted", "arrowhead": "none", "constraint": "false"}
    words = state[link.back].text if link.back in state and link.back else {}
    words = state[link.key].text if link.key in state and not words else words
    text = " ".join(filter(None, (words.get("label", ""), words.get("label2", ""))))
    label = {"label": _quoted(text)} if text else {}
    if link.kind != "back":
        return label
    colour = colours["grad"] if label else colours["line"]
    return {"dir": "back", "style": "dashed" if label else "solid", "color": colour, **label}


def _label(box: Box, state: States, colours: dict[str, str]) -> str:
    texts = state[box.key].text if box.key in state else {}
    lines = []
    for row in box.rows:
        if row.pictures:
            continue
        text = html.escape(row.cut(texts.get(row.slot, row.text)))
        if not text:
            continue
        size = SIZE.get("small" if row.style == "grad" else row.style, 13.0)
        colour = {"grad": colours["grad-ink"], "small": colours["soft"], "tiny": colours["soft"]}.get(row.style)
        text = f"<B>{text}</B>" if row.style == "name" else text
        paint = f' COLOR="{colour}"' if colour else ""
        lines.append(f'<TR><TD><FONT POINT-SIZE="{size:.0f}"{paint}>{text}</FONT></TD></TR>')
    for key, label in box.tabs:
        freed = key in state and "freed" in state[key].classes
        text = html.escape(printable(label))
        text = f"<S>{text}</S>" if freed else text
        fill = "" if freed else f' BGCOLOR="{colours["saved-fill"]}"'
        lines.append(
            f'<TR><TD BORDER="1" COLOR="{colours["saved"]}"{fill}><FONT POINT-SIZE="10">{text}</FONT></TD></TR>'
        )
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="1">'
    return f"<{table}{''.join(lines)}</TABLE>>"


def _look(box: Box, colours: dict[str, str]) -> dict[str, str]:
    looks = {
        "leaf": ("box", "rounded,filled", colours["leaf"], colours["leaf-fill"], "2.4"),
        "input": ("box", "rounded,filled,dashed", colours["input"], colours["input-fill"], "1.2"),
        "result": ("box", "rounded,dotted", colours["line"], colours["box"], "1.2"),
        "op": ("box", "rounded,filled", colours["pill-line"], colours["pill"], "1.2"),
        "unrecorded": ("box", "rounded,dotted", colours["pill-line"], colours["pill"], "1.2"),
        "accumulate": ("box", "rounded,filled", colours["leaf"], colours["leaf-fill"], "2"),
    }
    shape, style, line, fill, width = looks.get(
        box.kind, ("box", "rounded,filled", colours["line"], colours["box"], "1.2")
    )
    return {"shape": shape, "style": style, "color": line, "fillcolor": fill, "penwidth": width}
