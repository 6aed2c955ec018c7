"""The path of a finding as HTML: a still picture, and with scripts, the same on the stage, step by step."""

from __future__ import annotations

from typing import Any

from viz.export import bundle
from viz.export.files import embedded, inlined

ENTRY = "cause.js"


def on_the_stage(still: str, player: dict[str, Any]) -> str:
    """A still picture as HTML, and the scene that replaces it once `starter` runs."""
    return f'<div class="tgv-cause-place">{still}<script type="application/json">{embedded(player)}</script></div>'


def starter() -> str:
    """The script that puts all neighbouring scenes on their stages, with its style; once per report."""
    return (
        f"<style>{bundle.style(ENTRY)}</style>"
        "<script>(()=>{const root=document.currentScript.parentElement;\n"
        f"if(!globalThis.vizCause){{{inlined(bundle.script(ENTRY))}}}\n"
        'for(const place of root.querySelectorAll(".tgv-cause-place"))'
        "globalThis.vizCause(place,JSON.parse(place.lastElementChild.textContent))})()</script>"
    )
