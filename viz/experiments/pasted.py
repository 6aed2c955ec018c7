"""A program as it was posted: what came with it is taken off. A text that is Python stays as it is."""

from __future__ import annotations

import ast
import html
import keyword
import re
import textwrap
from collections.abc import Callable

Rows = list[str | None]  # None for a line that was taken off
CHARACTERS = str.maketrans("“”„«»‘’‚′−–\xa0\u2007\u202f", '"""""\'\'\'\'--   ', "\u200b\ufeff\u2060")
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.(?!:)|In\s?\[\s*\d*\]:|\.\.\.:)(?: |$)")
OUTPUT = re.compile(r"\s*Out\s?\[\s*\d*\]:")
FENCE = re.compile(r"\s*(?:```|~~~)\s*(\w*)")
NUMBER = re.compile(r"^\s*(\d+)(?:\s*\||[.:)])?(?=\s|$)")
QUOTE = re.compile(r"(?:[>|](?: |$))+")
CHANGE = re.compile(r"@@|diff |index |\+\+\+|[-\\]")  # a line of a patch that is no line of its program
COMMAND = re.compile(r"\s*(?:[%!]|\$ |(?:pip3?|conda) install |python3? \S+\.py)")
PRINT = re.compile(r"^(\s*(?:\w[^#\"']*:\s+)?)print\s+([^\s(=].*?)(,?)\s*(#.*)?$")
CODE = re.compile(r"[=\[{]|[(),\\]\s*:?$")
QUOTED = re.compile(r"""(['"]).*?\1|#.*""")
_WORD = rf"\b(?!(?:{'|'.join([*keyword.kwlist, *keyword.softkwlist, 'print'])})\b)[A-Za-z]+"
PROSE = re.compile(
    rf"^[-=*_]{{4,}}$|{_WORD}\s+{_WORD}(?:\s+{_WORD}|[^(\[{{=]*[.,:!?]$)"
)  # Python has no two names side by side
FAILED = re.compile(r"[\w.]*(?:Error|Exception|Interrupt)(?::|$)")


def cleaned(text: str) -> tuple[str, str]:
    """The program in a text, and what was done to the text, as a sentence; empty if it is Python as it stands.

    If no Python comes of it, the lines keep their numbers, so that an error names the line of the text.

    >>> cleaned(">>> w = 2\\n>>> print w\\n2")
    ('w = 2\\nprint(w)', 'Pasted text was cleaned: prompts and output taken off, print made a function.')
    """
    rows: Rows = list(text.splitlines())
    done = []
    for what, change in CHANGES:
        if _error(rows) is None:
            break
        changed = change(rows)
        if changed != rows and any(row and row.strip() for row in changed):
            rows = changed
            done.append(what)
    if not done:
        return text, ""
    works = _error(rows) is None
    kept = [row or "" for row in rows if row is not None or not works]
    return textwrap.dedent("\n".join(kept)), f"Pasted text was cleaned: {', '.join(done)}."


def _error(rows: Rows) -> SyntaxError | None:
    try:
        ast.parse(textwrap.dedent("\n".join(row or "" for row in rows)))
    except SyntaxError as error:
        return error
    return None


def _each(change: Callable[[str], str | None]) -> Callable[[Rows], Rows]:
    return lambda rows: [row if row is None else change(row) for row in rows]


def _in_fences(rows: Rows) -> Rows:
    """What each pair of fences encloses; where a fence names Python, only what such a fence opens."""
    fences = [FENCE.match(row or "") for row in rows]
    if not any(fences):
        return rows
    wanted = "py" if any(fence and fence[1][:2].lower() == "py" for fence in fences) else ""
    inside, code, found = False, False, Rows()
    for row, fence in zip(rows, fences, strict=True):
        if fence is not None:
            inside = not inside
            code = inside and fence[1].lower().startswith(wanted)
        found.append(row if code and fence is None else None)
    return found


def _without_prompts(rows: Rows) -> Rows:
    """What follows a prompt. Of a notebook, where lines after the first have none, all up to the output."""
    prompts = [row for row in rows if row and PROMPT.match(row)]
    if not prompts:
        return rows
    bare = all(row.lstrip().startswith("In") for row in prompts)
    code, found = True, Rows()
    for row in rows:
        prompt = PROMPT.match(row or "")
        code = prompt is not None or (bare and code and not OUTPUT.match(row or ""))
        found.append((row or "")[prompt.end() :] if prompt is not None else row if code else None)
    return found


def _without_quotes(rows: Rows) -> Rows:
    """Lines that a mail quotes, or the new side of a patch."""
    there = [row for row in rows if row and row.strip()]
    if all(map(QUOTE.match, there)):
        return [QUOTE.sub("", row, count=1) if row else row for row in rows]
    if any(row[0] == "+" for row in there) and all(row[0] in "+ " or CHANGE.match(row) for row in there):
        return [None if row and CHANGE.match(row) else row[1:] if row else row for row in rows]
    return rows


def _without_numbers(rows: Rows) -> Rows:
    """Lines without their numbers, if each has the next one."""
    numbers = [NUMBER.match(row) for row in rows if row and row.strip()]
    counted = [int(match[1]) for match in numbers if match is not None]
    if len(counted) < 2 or len(counted) < len(numbers) or counted != list(range(counted[0], counted[0] + len(counted))):
        return rows
    return [NUMBER.sub("", row, count=1) if row else row for row in rows]


def _without_words(rows: Rows) -> Rows:
    """The lines without those that are English, and without a traceback."""
    found, failed = Rows(), False
    for row in rows:
        failed = failed or "Traceback (most recent" in (row or "")
        found.append(None if failed else row)
        failed = failed and not FAILED.match(row or "")
    while (error := _error(found)) is not None:
        words = [at for at, row in enumerate(found) if row and _is_english(row)]
        if not words:
            return rows
        found[error.lineno - 1 if error.lineno is not None and error.lineno - 1 in words else words[-1]] = None
    return found


def _is_english(row: str) -> bool:
    """Whether a line can be no line of Python, as it stands or with others."""
    if PROSE.search(QUOTED.sub("", row).strip()):
        return True
    word = next(iter(row.split()), "")
    reads = len(re.findall(r"[A-Za-z']{2,}", row)) > 2 or row.rstrip().endswith((".", ":", "!", "?"))
    is_code = word in keyword.kwlist or not word[:1].isalpha() or CODE.search(row) or _error([row.strip()]) is None
    return reads and not is_code


def _called(match: re.Match[str]) -> str:
    """A print statement of Python 2 as a call."""
    before, values, comma, comment = match.groups(default="")
    return f"{before}print({values}{', end=' if comma else ''}{repr(' ') if comma else ''}){comment}"


CHANGES: list[tuple[str, Callable[[Rows], Rows]]] = [
    ("text around the code taken off", _in_fences),
    ("spaces and signs made plain", _each(lambda row: html.unescape(row).translate(CHARACTERS))),
    ("marks of a quotation or a patch taken off", _without_quotes),
    ("line numbers taken off", _without_numbers),
    ("prompts and output taken off", _without_prompts),
    ("commands taken off", _each(lambda row: None if COMMAND.match(row) else row)),
    ("print made a function", _each(lambda row: PRINT.sub(_called, row))),
    ("tabs made spaces", _each(str.expandtabs)),
    ("text around the code taken off", _without_words),
]
