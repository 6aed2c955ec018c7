"""What a notebook shows of a widget when no kernel runs: a plain picture, hidden while the widget is alive."""

from __future__ import annotations

import base64
import html
import xml.etree.ElementTree as ElementTree
from typing import Any

MARK = "tgv-fallback"

# A picture hides when the widget below it has come to life; the notice of a widget that has not, hides in its turn.
_STYLE = f"""<style>
.jp-OutputArea-child:has(.{MARK}):has(+ .jp-OutputArea-child .tgv) {{ display: none; }}
.jp-OutputArea-child:has(.{MARK}) + .jp-OutputArea-child .jupyter-widgets:not(:has(*)) {{ display: none; }}
</style>"""


def picture(svgs: list[str], title: str, sentence: str) -> str:
    """HTML for a saved notebook: pictures as images (which survive every sanitizer), a title, and one sentence."""
    images = "".join(
        f'<img alt="{html.escape(title)}" style="max-width: 100%; background: #ffffff" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'
        for svg in svgs
    )
    return (
        f'{_STYLE}<figure class="{MARK}" style="margin: 4px 2px">{images}'
        f"<figcaption><b>{html.escape(title)}</b> {html.escape(sentence)} "
        "<i>Run the cell to step through it.</i></figcaption></figure>"
    )


def still(scene: dict[str, Any], view: str) -> str:
    """The picture of a scene's last step, as SVG text: what the player shows there."""
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    root = ElementTree.fromstring(scene["views"][view]["svg"])
    elements = {element.get("id"): element for element in root.iter() if element.get("id")}
    prefix = root.get("id")
    for patch in scene["views"][view]["patches"]:
        for key, change in patch.items():
            element = elements.get(f"{prefix}-{key}")
            if element is not None and "class" in change:
                element.set("class", f"{element.get('data-base', '')} {change['class']}".strip())
            for slot, text in change.get("text", {}).items():
                place = elements.get(f"{prefix}-{key}-{slot}")
                if place is not None:
                    place.text = text
    return ElementTree.tostring(root, encoding="unicode")
