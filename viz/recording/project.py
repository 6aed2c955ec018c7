"""A script and the files it imports from beside it, as one text: a line has one number, and a place in its own file."""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from viz.recording.source import Source

MOST_FILES = 64
MARK = "# ──── {} ────"  # a line before each file; no program holds it


class Project(Source):
    """The text of a script, and after it that of each file that it imports from its own folder.

    Args:
        script: the text of the script.
        folder: where it looks for what it imports; None for a script alone.
        files: the texts of its files by their paths, in place of what stands there.
    """

    def __init__(self, script: str, folder: Path | None = None, files: dict[str, str] | None = None) -> None:
        super().__init__(script)
        self.main = script  # as it is: a line above it must not get lost
        self.folder = folder
        self.files = files if files is not None else _imported(script, folder) if folder is not None else {}
        lines = script.split("\n")
        self._above = {self.filename: 0}  # lines above the first one of each file
        for path, text in self.files.items():
            lines.append(MARK.format(path))
            self._above[path] = len(lines)
            lines += text.split("\n")
        self.text = "\n".join(lines)

    def owns(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename in self._above

    def holds(self, code: CodeType) -> bool:
        return code.co_filename in self._above

    def number(self, frame: FrameType, line: int) -> int:
        return line + self._above[frame.f_code.co_filename]

    def place(self, line: int) -> tuple[str, int]:
        path, above = max(((file, up) for file, up in self._above.items() if up < line), key=lambda entry: entry[1])
        return ("" if path == self.filename else path), line - above

    def told(self, line: int | None) -> str:
        path, number = self.place(line or 1)
        if self.folder is not None and Path(path).is_relative_to(self.folder):
            path = str(Path(path).relative_to(self.folder))
        return f"line {number} of {path}" if path else f"line {number}"

    def named(self, line: int) -> str:
        path, number = self.place(line)
        return f"{Path(path).name}:{number}" if path else f"line {number}"

    def changed(self, text: str) -> Project:
        """The project with another text."""
        parts: list[tuple[str, list[str]]] = [("", [])]
        marks = {MARK.format(path): path for path in self.files}
        for line in text.split("\n"):
            if line in marks:
                parts.append((marks[line], []))
            else:
                parts[-1][1].append(line)
        texts = {path: "\n".join(lines) for path, lines in parts}
        return Project(texts.pop(""), self.folder, texts)

    def take_effect(self) -> None:
        """Let what is imported from now on be these texts, and not what stands in the files. It cannot be undone."""
        for name, module in list(sys.modules.items()):
            if name != "__main__" and getattr(module, "__file__", None) in self.files:
                del sys.modules[name]
        loader = importlib.machinery.SourceFileLoader
        before = loader.get_code

        def get_code(own: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
            text = self.files.get(own.path)
            return before(own, name) if text is None else compile(text, own.path, "exec", dont_inherit=True)

        loader.get_code = get_code  # type: ignore[method-assign, assignment]


def _imported(script: str, folder: Path) -> dict[str, str]:
    """Path and text of each file in the folder that a script imports, or that these import."""
    names: dict[str, str] = {}
    waiting = [(script, folder)]
    for text, home in waiting:  # it grows
        with contextlib.suppress(SyntaxError, ValueError):
            for path in (path for node in ast.walk(ast.parse(text)) for path in _files(node, folder, home)):
                if str(path) not in names and len(names) < MOST_FILES and path.is_file():
                    with contextlib.suppress(OSError, SyntaxError, ValueError):
                        inner = path.read_text(encoding="utf-8")
                        ast.parse(inner)
                        names[str(path)] = inner
                        waiting.append((inner, path.parent))
    return names


def _files(node: ast.AST, folder: Path, home: Path) -> Iterator[Path]:
    """Where the modules that a statement imports may stand."""
    start, names = folder, []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        start = [folder, home, *home.parents][node.level]
        names = [node.module or "", *(f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names)]
    for name in names:
        parts = name.split(".") if name else []
        for count in range(len(parts) + 1):
            yield start.joinpath(*parts[:count], "__init__.py")
        if parts:
            yield start.joinpath(*parts).with_suffix(".py")
