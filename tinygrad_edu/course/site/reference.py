"""The API reference: one page per subject, made by Sphinx from docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "reference"
EXTENSIONS = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", __name__]
SETTINGS = {
    "default_role": "code",  # docstrings write code between single backticks
    "autodoc_member_order": "alphabetical",
    "autodoc_typehints": "none",
    "autodoc_inherit_docstrings": False,
    "add_module_names": False,
    "napoleon_numpy_docstring": False,
}


class Page(NamedTuple):
    """A page of the reference: its title, its subject, and the modules whose public names it documents."""

    title: str
    about: str
    modules: tuple[str, ...]


PAGES = {
    "viz": Page("Pictures: viz", "Draw, record, play and compare; for tensors of PyTorch and of the core.", ("viz",)),
    "exercises": Page(
        "Exercises: tinygrad_edu.exercises", "Check an answer, and look exercises up.", ("tinygrad_edu.exercises",)
    ),
    "autograd": Page(
        "The core: autograd",
        "What `torch.autograd` offers, under the same names.",
        (
            "tinygrad_edu.autograd",
            "tinygrad_edu.autograd.graph",
            "tinygrad_edu.autograd.functional",
            "tinygrad_edu.autograd.forward_ad",
            "tinygrad_edu.utils.checkpoint",
            "tinygrad_edu.library",
        ),
    ),
    "tensors": Page("The core: tensors", "Functions of tensors, under PyTorch's names.", ("tinygrad_edu",)),
    "nn": Page(
        "The core: modules",
        "Layers, losses, first weights.",
        ("tinygrad_edu.nn", "tinygrad_edu.nn.init", "tinygrad_edu.nn.utils"),
    ),
    "optim": Page(
        "The core: optimizers and data",
        "How parameters follow their gradients, and how data come in batches.",
        ("tinygrad_edu.optim", "tinygrad_edu.optim.lr_scheduler", "tinygrad_edu.utils.data"),
    ),
}


def write(pages: Path) -> str:
    """Write the reference's pages into `pages`. Returns the list of them for the first page of the site.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> FOLDER in write(folder), (folder / FOLDER / "viz.md").exists()
    (True, True)
    """
    folder = pages / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(_text(page), encoding="utf-8")
    contents = "\n".join(PAGES)
    about = "Every name that programs, lessons and authors use, from the docstrings; the examples run as tests."
    (folder / "index.md").write_text(
        f"# Reference\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{contents}\n```\n", encoding="utf-8"
    )
    return f"\n## Reference\n\n```{{toctree}}\n:maxdepth: 2\n\n{FOLDER}/index\n```\n"


def _text(page: Page) -> str:
    parts = [f"# {page.title}\n\n{page.about}\n"]
    for module in page.modules:
        if len(page.modules) > 1:
            parts.append(f"## {module}\n")
        entries = [f".. auto{kind}:: {module}.{name}" for name, kind in names(module)]
        body = "\n".join(entry + ("\n   :members:\n" if "autoclass" in entry else "\n") for entry in entries)
        parts.append(f"```{{eval-rst}}\n{body}```\n")
    return "\n".join(parts)


def names(module: str) -> list[tuple[str, str]]:
    """The public functions and classes of a module that have a docstring: each name, and whether it is a class.

    >>> ("record", "function") in names("viz"), ("Picture", "class") in names("viz")
    (True, True)
    """
    found = importlib.import_module(module)
    public = getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    kinds = []
    for name in sorted(public, key=str.lower):
        value = getattr(found, name)
        ours = (getattr(value, "__module__", None) or "").split(".")[0] in ("tinygrad_edu", "viz")
        if ours and inspect.getdoc(value) and (inspect.isclass(value) or inspect.isroutine(value)):
            kinds.append((name, "class" if inspect.isclass(value) else "function"))
    return kinds


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx: our docstrings are plain text with code between backticks, not Sphinx's markup."""
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, options, lines: plain(lines), priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def plain(lines: list[str]) -> None:
    """Escape Sphinx's markup, in place: `|`, `*` and a `_` at a word's end, outside code and examples.

    >>> lines = ["|x - y| of `a * b`, as in copy_", "", ">>> 2 * 3", "6 * 1"]
    >>> plain(lines)
    >>> print(lines[0], lines[2:])
    \\|x - y\\| of `a * b`, as in copy\\_ ['>>> 2 * 3', '6 * 1']
    """
    in_example = False
    for number, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example and not line.lstrip().startswith(".. "):
            marks = r"[|]" if line.lstrip().startswith((":", "*")) else r"[|*]|_(?!\w)"  # a field's own `*args`
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(marks, r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "".join(parts)
