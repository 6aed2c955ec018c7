"""The picture as DOT text, for whoever wants to draw it with their own Graphviz; made with the `graphviz` package."""

from __future__ import annotations

import html

import graphviz

from viz.picture.shapes import Box, Drawing
from viz.picture.svg import State
from viz.picture.theme import DARK, LIGHT, SIZE, printable

FONT = "Helvetica"


def source(drawing: Drawing, state: dict[str, State], direction: str = "LR", theme: str = "light") -> str:
    """DOT for one view, with every label escaped: names come from users.

    Args:
        drawing: the boxes with their texts, and the lines between them.
        state: texts and classes of the step to show.
        direction: `"LR"` or `"TB"`.
        theme: `"dark"`, or anything else for light.
    """
    colours = DARK if theme == "dark" else LIGHT
    graph = graphviz.Digraph(
        graph_attr={"rankdir": direction, "bgcolor": colours["paper"], "nodesep": "0.25", "ranksep": "0.35"},
        node_attr={"fontname": FONT, "fontsize": "12", "fontcolor": colours["ink"], "margin": "0.08,0.04"},
        edge_attr={
            "fontname": FONT,
            "fontsize": "10",
            "color": colours["line"],
            "fontcolor": colours["grad-ink"],
            "arrowsize": "0.6",
        },
    )
    for box in drawing.boxes:
        graph.node(box.key, _label(box, state, colours), **_look(box, colours))
    for link in drawing.links:
        words = state[link.back].text if link.back in state and link.back else {}
        words = state[link.key].text if link.key in state and not words else words
        text = graphviz.escape(" ".join(filter(None, (words.get("label", ""), words.get("label2", "")))))
        label = {"label": text} if text else {}
        if link.kind == "share":
            graph.edge(link.tail, link.head, style="dotted", arrowhead="none", constraint="false")
        elif link.kind == "back":
            graph.edge(
                link.tail,
                link.head,
                dir="back",
                style="dashed" if label else "solid",
                color=colours["grad"] if label else colours["line"],
                **label,
            )
        else:
            graph.edge(link.tail, link.head, **label)
    return graph.source


def _label(box: Box, state: dict[str, State], colours: dict[str, str]) -> str:
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
