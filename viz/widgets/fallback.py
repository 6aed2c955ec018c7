"""What a notebook shows of a widget without a kernel: a plain picture, which is hidden while the widget is alive."""

from __future__ import annotations

import base64
import html

from viz.export.files import with_used_styles

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
        f'src="data:image/svg+xml;base64,{base64.b64encode(with_used_styles(svg).encode()).decode()}">'
        for svg in svgs
    )
    return (
        f'{_STYLE}<figure class="{MARK}" style="margin: 4px 2px">{images}'
        f"<figcaption><b>{html.escape(title)}</b> {html.escape(sentence)} "
        "<i>Run the cell to use it.</i></figcaption></figure>"
    )
