"""`tinygrad-edu site`: writes the course as a static web site, for readers without an installation.

Each lesson runs in the students' version. Its widgets go into the page with their saved state, and `live.js` plays them
without a kernel and without a network. Sphinx with MyST-NB and the theme Furo makes the pages and the search.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import hashlib
import html
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..working_copy import Notebook, update_working_copy
from . import reference, running
from .live import pages as live_pages
from .live.parts import PartError

HERE = Path(__file__).parent
TITLE = "Autograd made visible"
T = TypeVar("T")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_STATES = "application/vnd.jupyter.widget-state+json"
_MOST_AT_ONCE = 4  # lessons that run; each has a kernel with PyTorch in it
_MOST_IN_PAGE = 20_000  # characters of a widget's state; a larger one is a file of its own
_STILL = 'class="tgv-fallback"'  # the class of the still that `viz` shows before a widget
_EXPLORER = "viz.widgets.explorer.Explorer"
_LIST = ".tinygrad-edu-site"  # the list of a site's files

# Run after a lesson. A page must already hold what a widget would request from Python later: each fix of a mistake, and
# the hidden view of an explorer and its picture on a phone, the numbers behind each node. Messages between two cells
# are not recorded, so each widget sends its state once more.
_LATER = """
import sys
if "ipywidgets" in sys.modules:
    from ipywidgets.widgets.widget import _instances
    for shown in list(_instances.values()):
        if "viz.widgets.mistake" in sys.modules and isinstance(shown, sys.modules["viz.widgets.mistake"].MistakeView):
            for shown.fix in reversed(range(-1, len(shown.lesson["fixes"]))):
                pass
        if "viz.widgets.explorer" in sys.modules and isinstance(shown, sys.modules["viz.widgets.explorer"].Explorer):
            shown.draw_for(sys.modules["viz.picture.fit"].POCKET)
        if "viz.widgets.player" in sys.modules and isinstance(shown, sys.modules["viz.widgets.player"].Player):
            shown.count_ahead()
    for shown in list(_instances.values()):
        shown.send_state()
"""

_ABOUT = """An interactive course on the one line `loss.backward()`. Every picture is what a small readable autograd, or
PyTorch itself, did with the program beside it. """
_READING = """The players step, the sliders slide, the questions answer you. What needs Python does not run here: your
answers to the exercises and the switches of the explorers. For those, take the lessons into JupyterLab with
`tinygrad-edu lab`."""
_TRY = "Press a switch, drag a number, edit the code: the graph follows. It plays by itself until you touch it."
_LIVE = "Python runs in this page: nothing is installed, and nothing leaves your computer."
_OWN = 'Or <a href="explore.html">paste a PyTorch program of your own</a>, and see its graph.'
_SIDEBAR = [f"sidebar/{name}.html" for name in ("brand", "search", "scroll-start", "navigation", "scroll-end")]
_LESSONS = """## The lessons

```{toctree}
:maxdepth: 1

%s
```
"""
_FIRST_PROGRAM = """w = T.tensor(2.0, requires_grad=True)
b = T.tensor(-1.0, requires_grad=True)
x = T.tensor(3.0)
y = w * x + b
loss = (y - 3) ** 2
loss.backward()"""
_FRONT = f'import viz\n\nviz.explore("""\n{_FIRST_PROGRAM}\n""")'


class SiteError(RuntimeError):
    """The site cannot be built; the message says what to do."""


def build(
    out: Path, only: Sequence[str] = (), progress: bool = False, live: bool = False, numpy_wheel: Path | None = None
) -> Path:
    """Write the site into the folder `out` and return its first page.

    Args:
        out: the folder to write to. It is created if missing, and must be empty or contain an earlier site, whose
            obsolete pages are removed. Hidden files, such as those of Git, do not count, and stay.
        only: build only lessons whose file names start like this, such as `"02"`; all lessons if empty.
        progress: print on stderr which lesson runs.
        live: let the reader's browser run Python, so that cells, checks and switches work.
        numpy_wheel: a NumPy wheel for Pyodide; downloaded once if not given. Only for a live site.

    Raises:
        SiteError: a package is missing, `out` holds something else, a cell of a lesson raises, or a part of a live site
            cannot be had.

    >>> build(Path("site"))  # doctest: +SKIP
    PosixPath('site/index.html')
    """
    _check_packages()
    _check_folder(out)
    with tempfile.TemporaryDirectory() as scratch:
        copied, pages, static, made = (Path(scratch) / name for name in ("lessons", "pages", "static", "site"))
        update_working_copy(copied)
        lessons = [path for path in _in_reading_order(copied) if not only or path.name.startswith(tuple(only))]
        if not lessons:
            raise SiteError(f"no lesson's name starts with {' or '.join(only)}")
        contents = _LESSONS % _toctree(lessons, copied) + ("" if only else reference.write(pages))
        if live:
            given = _or_site_error(live_pages.gathered, numpy_wheel)
            _write(copied / "index.ipynb", _front_page())
            with ThreadPoolExecutor(1) as beside:  # the lessons
                files = beside.submit(live_pages.write_files, static / "live", _FRONT, given)
                _write_pages([*lessons, copied / "index.ipynb"], copied, pages, static, contents, progress, live)
                _or_site_error(files.result)
        else:
            _write_pages(lessons, copied, pages, static, contents, progress, live)
            text = f"# {TITLE}\n\n{_ABOUT}{_READING}\n\n{contents}"
            (pages / "index.md").write_text(text, encoding="utf-8")
        for file in ("live.js", "live.css"):
            shutil.copy(HERE / file, static / file)
        if progress:
            _tell(len(lessons), len(lessons), "pages and search")
        _sphinx(pages, made, static, Path(scratch) / "doctrees", live)
        _without_wide_has(made / "_static")
        if live:
            live_pages.finish(made)
        _replace(out, made)
    return out / "index.html"


def _write_pages(
    notebooks: Sequence[Path], copied: Path, pages: Path, static: Path, contents: str, progress: bool, live: bool
) -> None:
    """Run the notebooks, and write each as Sphinx reads it; of a live site, the first page is the last of them."""
    lessons = [path for path in notebooks if path.stem != "index"]
    exercises = {path.stem: live_pages.exercises_of(_read(path)) for path in lessons}
    widgets = _Live(static / "widgets")
    (static / "live" / "tapes").mkdir(parents=True, exist_ok=True)
    tapes = [static / "live" / "tapes" / f"{path.stem}.pack" if live else None for path in notebooks]
    for number, (path, notebook) in enumerate(zip(notebooks, _run_beside_one_another(notebooks, tapes), strict=True)):
        if progress:
            _tell(number, len(notebooks), path.stem)
        name = path.relative_to(copied)
        widgets.bring_to_life(notebook)
        _hide_sources(notebook)
        _unlink_absent(notebook, path.parent, lessons)
        if path in lessons:
            notebook["cells"].append(_download(name))
            (pages / "download" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, pages / "download" / name)
        else:
            notebook["cells"].append(_markdown("lessons", contents))
        if live:
            live_pages.make_live(notebook, path.stem, exercises)
        _write(pages / name, notebook)


def _or_site_error(work: Callable[..., T], *given: Any) -> T:
    try:
        return work(*given)
    except PartError as error:
        raise SiteError(str(error)) from None


def _toctree(lessons: Sequence[Path], root: Path) -> str:
    return "\n".join(path.relative_to(root).with_suffix("").as_posix() for path in lessons)


def _markdown(id: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


def _front_page() -> Notebook:
    """The first page of a live site: the explorer over a small program."""
    import nbformat

    about = {"jupyter": {"source_hidden": True}, "tags": ["plays-by-itself"]}
    code = nbformat.v4.new_code_cell(_FRONT, id="explore", metadata=about)
    cells = [_markdown("try", f"# {TITLE}\n\n{_TRY} {_OWN}"), code, _markdown("about", _ABOUT + _LIVE)]
    return dict(nbformat.v4.new_notebook(cells=cells))


def _read(path: Path) -> Notebook:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _check_packages() -> None:
    try:
        import furo  # noqa: F401
        import myst_nb  # noqa: F401
        import nbclient  # noqa: F401
    except ModuleNotFoundError as error:
        raise SiteError(f"{error}: pip install 'tinygrad-edu[site]'") from None


def _check_folder(out: Path) -> None:
    """Refuse a folder with files of somebody else: a page of theirs might have the name of one of ours. One that cannot
    be made raises `OSError` here, and not after all lessons were run."""
    if out.is_file():
        raise SiteError(f"{out} is a file: name a folder with -o")
    out.mkdir(parents=True, exist_ok=True)
    if not (out / _LIST).exists() and any(not path.name.startswith(".") for path in out.iterdir()):
        raise SiteError(f"{out} contains files that do not belong to a site: name an empty folder with -o")


def _replace(out: Path, made: Path) -> None:
    """Put the files of `made` into `out`, and remove what an earlier site left there."""
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    record = out / _LIST
    before = set(record.read_text(encoding="utf-8").splitlines()) if record.exists() else set()
    out.mkdir(parents=True, exist_ok=True)
    record.write_text("\n".join(sorted(names | before)), encoding="utf-8")  # complete even if interrupted
    shutil.copytree(made, out, dirs_exist_ok=True)
    for gone in sorted(before - names):
        (out / gone).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # up to the first folder that is not empty
            for folder in (out / gone).relative_to(out).parents[:-1]:
                (out / folder).rmdir()
    record.write_text("\n".join(sorted(names)), encoding="utf-8")


def _in_reading_order(root: Path) -> list[Path]:
    """The lessons by number, then the notebooks without a number."""
    return sorted(root.rglob("*.ipynb"), key=lambda path: (not path.name[0].isdigit(), path.name))


def _tell(number: int, total: int, doing: str) -> None:
    filled = 30 * number // total
    end = "\n" if number == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {number} of {total}  {doing:<40.40}{end}")
    sys.stderr.flush()


def _run_beside_one_another(paths: Sequence[Path], tapes: Sequence[Path | None]) -> Iterator[Notebook]:
    """What `_run` makes of each, in order. While one lesson waits for its kernel, another computes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pool = ThreadPoolExecutor(min(cores, _MOST_AT_ONCE))
    try:
        yield from pool.map(_run, paths, tapes)
    finally:
        pool.shutdown(cancel_futures=True)


def _run(path: Path, tape: Path | None = None) -> Notebook:
    """The notebook with its outputs and the state of its widgets; PyTorch's answers are stored on `tape`."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    saves = [] if tape is None else [live_pages.save_tape(tape, notebook.cells)]
    starts = [] if tape is None else [live_pages.START_TAPE]
    own = slice(len(starts), len(starts) + len(notebook.cells))
    code = nbformat.v4.new_code_cell
    notebook.cells = [*map(code, starts), *notebook.cells, *map(code, [_LATER, *saves])]
    try:
        running.run(notebook, path.parent)
    except running.CellError as error:
        raise SiteError(f"{path.name} does not run: {error}") from error
    notebook.cells = notebook.cells[own]
    return dict(notebook)


def _hide_sources(notebook: Notebook) -> None:
    """Remove the code that JupyterLab shows folded: that of a prediction reveals the right choice."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"].setdefault("tags", []).append("remove-input")


def _unlink_absent(notebook: Notebook, folder: Path, lessons: Sequence[Path]) -> None:
    """Turn a link to a lesson that is not built into text, and one of an output to a notebook into one to its page."""

    def lead(link: re.Match[str]) -> str:
        built = Path(os.path.normpath(folder / f"{link[1]}.ipynb")) in lessons
        return f'<a href="{link[1]}.html">{link[2]}</a>' if built else link[2]

    def keep(link: re.Match[str]) -> str:
        return link[0] if Path(os.path.normpath(folder / link[2])) in lessons else link[1]

    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(r"\[([^\]]*)\]\(([^):]+\.ipynb)\)", keep, cell["source"])
            cell["source"] = re.sub(r"\[([^\]]*)\]\((#node=[^)\s]+)\)", _pointing, cell["source"])
        for output in cell.get("outputs", []):
            if shown := output.get("data", {}).get("text/html"):
                output["data"]["text/html"] = re.sub(
                    r'<a href="([^"#:]+)\.ipynb#[^"]*">(.*?)</a>', lead, "".join(shown)
                )


def _pointing(link: re.Match[str]) -> str:
    """A link to a node of a picture as HTML: Sphinx would look for a heading of that name."""
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(link[1], quote=False))
    return f'<a href="{html.escape(link[2])}">{text}</a>'


def _write(path: Path, notebook: Notebook) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


def _download(name: Path) -> dict[str, Any]:
    text = (
        f"{{download}}`This page as a notebook, to work in <{'../' * (len(name.parts) - 1)}download/{name.as_posix()}>`"
    )
    return _markdown("download", text)


class _Live:
    """Puts widgets into pages: their state where they are shown, their code once for all pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    def bring_to_life(self, notebook: Notebook) -> None:
        """Replace each widget among the outputs by HTML that contains all of it. Changes `notebook`."""
        states = notebook["metadata"].pop("widgets", {}).get(_STATES, {"state": {}})["state"]
        for cell in notebook["cells"]:
            outputs = cell.get("outputs", [])
            for before, output in zip([None, *outputs], outputs, strict=False):
                view = output.get("data", {}).get(_WIDGET)
                if view is None:
                    continue
                has_still = before is not None and _STILL in str(before.get("data", {}).get("text/html", ""))
                if has_still:
                    still = before["data"]["text/html"]
                    before["data"]["text/html"] = f'<div class="tgv-still">{still}</div>'
                output["data"] = {"text/html": self._html(states, view["model_id"], has_still)}
                if states[view["model_id"]]["state"]["_anywidget_id"] == _EXPLORER:
                    cell["metadata"].setdefault("tags", []).append("has-explorer")

    def _html(self, states: dict[str, Any], id: str, has_still: bool) -> str:
        state = states[id]["state"]
        library = states[state["library"]]["state"]  # the code of all widgets of this kind
        module, style = self._shared(library["script"], "js"), self._shared(library["style"], "css")
        kind = state["_anywidget_id"]
        own = {name: value for name, value in state.items() if not name.startswith("_") and name != "layout"}
        packed = _packed(own)
        held = {"state": packed} if len(packed) < _MOST_IN_PAGE else {"file": self._shared(packed, "js")}
        about = json.dumps({"kind": kind, "module": module, "style": style, **held})
        prints = "tgv-live" + (" tgv-has-still" if has_still else "")
        return f'<div class="{prints}"><script type="application/json">{about}</script></div>'

    def _shared(self, text: str, kind: str) -> str:
        """Write a widget's code, style or large state where every page finds it; the content decides the name."""
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        # A page opened from a disk may load scripts but no modules, so `live.js` reads a text of it.
        content = f"tinygradEduModules[{name!r}] = {json.dumps(text)};\n" if kind == "js" else text
        (self.folder / f"{name}.{kind}").write_text(content, encoding="utf-8")
        return name


def _packed(data: Any) -> str:
    """Deflated JSON in base64, a thirtieth of its size where a widget has many pictures; `live.js` reads it."""
    return base64.b64encode(zlib.compress(json.dumps(data, ensure_ascii=False).encode(), 9)).decode()


def _without_wide_has(static: Path) -> None:
    """Write MyST-NB's `:has(> *:nth-child(2))` in another way, with the same meaning. It asks about any element, so a
    browser styled the whole page again for each new picture: most of a click's time."""
    for sheet in static.glob("mystnb*.css"):
        text = sheet.read_text(encoding="utf-8")
        asked = r"div\.cell:has\(> \*:nth-child\(2\)\) ([\w.]+):(first|last)-child"
        sheet.write_text(re.sub(asked, r"div.cell > \1:\2-child:not(:only-child)", text), encoding="utf-8")


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Collect no garbage: Sphinx keeps what it makes, and looking through it again took a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _sphinx(source: Path, out: Path, static: Path, doctrees: Path, live: bool) -> None:
    import io

    from sphinx.application import Sphinx

    settings = {
        "project": TITLE,
        "extensions": ["myst_nb", "sphinx.ext.githubpages", "tinygrad_edu.course.site.mathml", *reference.EXTENSIONS],
        "exclude_patterns": ["download/**"],
        "nb_execution_mode": "off",
        "nb_merge_streams": True,
        "myst_enable_extensions": ["dollarmath"],
        "myst_heading_anchors": 3,
        "html_theme": "furo",
        "html_title": TITLE,
        "html_static_path": [str(static)],
        "html_css_files": ["live.css"],
        "html_js_files": [("live.js", {"defer": "defer"})],
        "html_copy_source": False,
        "html_use_index": False,  # the search finds the same names
        "html_show_copyright": False,
        "html_show_sphinx": False,
        "templates_path": [str(HERE / "templates")],
        "html_sidebars": {"**": [*_SIDEBAR[:-1], *["explore.html"] * live, _SIDEBAR[-1]]},
        "language": "en",
        **reference.SETTINGS,
    }
    warnings = io.StringIO()
    app = Sphinx(
        str(source), None, str(out), str(doctrees), "html", confoverrides=settings, status=None, warning=warnings
    )
    with _without_collection():
        app.build()
    if app.statuscode:
        raise SiteError(f"Sphinx could not write the site: {warnings.getvalue()}")
