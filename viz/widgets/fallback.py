"""What a notebook shows of a widget without a kernel: a plain picture, which is hidden while the widget is alive."""

from __future__ import annotations

import base64
import html
import re

MARK = "tgv-fallback"

# A picture hides once the widget below it is alive. If it is not alive, its own notice hides instead.
_STYLE = f"""<style>
.jp-OutputArea-child:has(.{MARK}):has(+ .jp-OutputArea-child .tgv) {{ display: none; }}
.jp-OutputArea-child:has(.{MARK}) + .jp-OutputArea-child .jupyter-widgets:not(:has(*)) {{ display: none; }}
@media screen {{ .{MARK} {{ animation: {MARK}-waits 1s; }} }}
@keyframes {MARK}-waits {{ from, to {{ display: none; }} }}
</style>"""


def picture(svgs: list[str], title: str, sentence: str) -> str:
    """HTML for a saved notebook: pictures as images (which survive every sanitizer), a title, and one sentence."""
    images = "".join(
        f'<img alt="{html.escape(title)}" style="max-width: 100%; background: #ffffff" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(_without_idle_rules(svg).encode()).decode()}">'
        for svg in svgs
    )
    return (
        f'{_STYLE}<figure class="{MARK}" style="margin: 4px 2px">{images}'
        f"<figcaption><b>{html.escape(title)}</b> {html.escape(sentence)} "
        "<i>Run the cell to use it.</i></figcaption></figure>"
    )


def _without_idle_rules(svg: str) -> str:
    """The picture without those rules of its style sheet that need a class which it does not have: half of the sheet."""
    there = {name for names in re.findall(r'class="([^"]*)"', svg) for name in names.split()}

    def kept(rule: re.Match[str]) -> str:
        selectors = re.sub(r":not\([^)]*\)", "", rule[1]).split(",")
        return rule[0] if any(there.issuperset(re.findall(r"\.([a-z][\w-]*)", one)) for one in selectors) else ""

    return re.sub(
        r"<style>.*?</style>", lambda sheet: re.sub(r"([^{}]+)\{[^{}]*\}", kept, sheet[0]), svg, flags=re.DOTALL
    )
