"""The code and the style of each kind of widget, kept once in a notebook, however many of the kind it shows."""

from __future__ import annotations

import re
from typing import Any

from IPython import get_ipython

from viz.export import bundle

_of_kinds: dict[type, Any] = {}


def library_of(kind: type) -> str:
    """The id of the widget that holds this kind's code and style; empty where nobody could ask for it.

    `library.js` asks the page's widget manager. Only Jupyter has one: in marimo and our pages a widget brings its code.
    """
    if getattr(get_ipython(), "kernel", None) is None:
        return ""
    held = _of_kinds.get(kind)
    if held is None or held.comm is None:  # closed by somebody, with all others
        held = _of_kinds[kind] = _opened(str(kind._esm), str(kind._css))  # type: ignore[attr-defined]
    return str(held.model_id)


def _opened(script: str, style: str) -> Any:
    import ipywidgets  # absent in the pages of the live site
    import traitlets

    class Library(ipywidgets.Widget):
        script = traitlets.Unicode().tag(sync=True)
        style = traitlets.Unicode().tag(sync=True)

    return Library(script=script, style=style)


LOADER = re.sub(r"^\s*(//|/?\*).*\n", "", bundle.script("library.js"), flags=re.MULTILINE)
"""The code of a widget whose own code is in a library; without its comments, for it is stored once for each widget."""
