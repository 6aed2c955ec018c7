"""The edits of the source that switches make.

They change the user's own text at the positions that `ast` reports, so formatting and comments stay as they are. The
edited source is what runs and what is shown. Lines and names in a state are those of the original program.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz.experiments.program import (
    BLOCKS,
    Input,
    Program,
    ProgramError,
    assigned,
    backward_call,
    blocks,
    factory_of,
    keyword_of,
    maker_of,
    name_of,
    requires_grad_statement,
    sizes_of,
    spelled,
    statements,
    tree_of,
)
from viz.experiments.switches import ARGUMENTS, DTYPES, SWITCHES, State

MOST = 64  # the most numbers in a tensor whose shape is changed


@dataclass(frozen=True)
class Edited:
    """Source after edits. `origin[i]` is the original line behind line i + 1, None for a line that an edit added.

    `owner[i]` is the first line of the statement that line i + 1 belongs to, added or not; 0 for lines around all.
    """

    source: str
    origin: tuple[int | None, ...]
    owner: tuple[int, ...]

    def line_of(self, line: int | None) -> int | None:
        """The original line behind line `line` of the edited source; for an added line, the one it was added to."""
        if line is None:
            return None
        behind = [origin for origin in self.origin[:line] if origin is not None]
        return behind[-1] if behind else 1


def edit(program: Program, state: State) -> Edited:
    """The source of `program` with the switches of `state`; other entries of `state` are left out.

    A value that several lines compute is named with its line: `h@4`.

    Raises:
        ProgramError: a switch names a line or a value that does not exist, or that cannot be edited there.

    >>> from viz.experiments.program import parse
    >>> p = parse("w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()")
    >>> print(edit(p, {"retain_grad": ["L"]}).source)
    w = T.tensor(3.0, requires_grad=True)
    L = w * w
    L.retain_grad()
    L.backward()
    """
    return _Editor(program, state).run()


class _Editor:
    """Collects replacements inside lines, and whole lines before and after them, and then writes all at once."""

    def __init__(self, program: Program, state: State):
        self.program = program
        self.state = state
        self.rows = program.source.splitlines()
        self.statements = [s for s in statements(tree_of(program.source)) if not isinstance(s, BLOCKS)]
        self.replacements: list[tuple[int, int, int, int, str]] = []  # first line, column, last line, column, text
        self.first: list[str] = []
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.indented: dict[int, int] = {}

    def run(self) -> Edited:
        inputs: dict[str, Callable[[str, Any], None]] = {
            "requires_grad": self._set_requires_grad,
            "values": self._set_value,
            "shapes": self._set_shape,
            "dtypes": self._set_dtype,
            "volatile": self._make_volatile,
        }
        for switch in SWITCHES:
            entries = switch.entries(self.state) if switch.name in self.state else {}
            # By line and name; what is inside a network has the last word on it.
            for key in sorted(entries, key=lambda key: (str(key).count("."), key)):
                value = entries[key]
                if switch.at == "input":
                    inputs[switch.name](key, value)
                elif switch.at == "line":
                    self._wrap(key, switch.code.format(T=self.program.engine_name))
                elif switch.at == "value" and value == switch.on:
                    self._add_after(key, switch.written(key.partition("@")[0]))
                elif switch.at in ("network", "part"):
                    self._call_on(key, switch.written(spelled(key), value))
                elif switch.at == "step":
                    self._skip(key)
        self._edit_backward()
        return self._write()

    # --- the edits ---

    def _set_requires_grad(self, name: str, wanted: bool) -> None:
        known = self._input(name)
        if known.requires_grad == wanted:
            return
        for statement in self.statements:
            found = requires_grad_statement(statement)
            if found and found[0] == name:
                _, value, call = found
                if value is not None:
                    self._replace(value, str(wanted))
                elif call is not None:
                    self._insert_argument(call, str(wanted))
                return
        call = self._call_of(name)
        keyword = keyword_of(call, "requires_grad")
        if keyword is not None:
            self._replace(keyword.value, str(wanted))
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
            if call.args:
                self._replace(call.args[0], str(wanted))
            else:
                self._insert_argument(call, str(wanted))
        else:
            self._insert_argument(call, f"requires_grad={wanted}")

    def _set_value(self, name: str, value: Any) -> None:
        known = self._input(name)
        if known.value is None:
            raise ProgramError(f"the value of {name} is not written out as numbers, so it cannot be set", known.line)
        self._replace(self._maker_of(name).args[0], repr(_floats(value) if known.kind == "float" else value))

    def _set_shape(self, name: str, shape: list[int]) -> None:
        known = self._input(name)
        if known.shape is None:
            raise ProgramError(f"the shape of {name} is not written out as numbers, so it cannot be set", known.line)
        if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) > MOST:
            raise ProgramError(
                f"a shape must consist of integers from 0, with at most {MOST} elements, not {shape}", known.line
            )
        first, *rest = sizes_of(self._maker_of(name))
        self._replace(first, repr(tuple(shape)), end=rest[-1] if rest else first)

    def _set_dtype(self, name: str, dtype: str) -> None:
        known, maker = self._input(name), self._maker_of(name)
        if dtype not in DTYPES:
            raise ProgramError(f"no dtype is called {dtype}; the dtypes are {', '.join(DTYPES)}", known.line)
        if name_of(maker) == "Tensor":
            raise ProgramError("Tensor(…) takes no dtype; write tensor(…), which does", known.line)
        keyword = keyword_of(maker, "dtype")
        written = f"{self.program.engine_name}.{dtype}"
        if keyword is not None:
            self._replace(keyword.value, written)
        else:
            self._insert_argument(maker, f"dtype={written}")

    def _make_volatile(self, name: str, wanted: bool) -> None:
        call = self._call_of(name)
        if name_of(call) == "Variable" and keyword_of(call, "volatile") is not None:
            return
        if name_of(call) == "Variable":
            self._insert_argument(call, "volatile=True")
        else:
            self._around(call, f"{self.program.engine_name}.autograd.Variable(", ", volatile=True)")

    def _wrap(self, line: int, header: str) -> None:
        statement = self._statement_at(line)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        depth = self.indented.get(first, 0)
        self.before.setdefault(first, []).append("    " * depth + self._indent(first) + header)
        for row in range(first, last + 1):
            self.indented[row] = self.indented.get(row, 0) + 1

    def _add_after(self, value: str, text: str) -> None:
        name, _, line = value.partition("@")
        makers = [s for s in self.statements if any(n == name for n, _ in assigned(s)) and line in ("", str(s.lineno))]
        if name not in self.program.values or not makers:
            raise ProgramError(f"no line computes {name}", int(line) if line else None)
        statement = makers[-1]
        last = statement.end_lineno or statement.lineno
        self.after.setdefault(last, []).append(self._indent(statement.lineno) + text)

    def _call_on(self, path: str, text: str) -> None:
        """Call a method of a network, or of a part of it: behind the line that makes it, or first of all."""
        root = path.partition(".")[0]
        makers = [s for s in self.statements if any(name == root for name, _ in assigned(s))]
        if makers:
            last = makers[-1].end_lineno or makers[-1].lineno
            self.after.setdefault(last, []).append(self._indent(makers[-1].lineno) + text)
        elif root in self.program.namespace:
            self.first.append(text)
        else:
            raise ProgramError(f"no line makes {root}")

    def _skip(self, line: int) -> None:
        """Turn a statement into a comment, with a `pass` where a block would be empty without it."""
        statement = self._statement_at(line)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        only = any(block == [statement] for outer in ast.walk(tree_of(self.program.source)) for block in blocks(outer))
        indent, rows = self._indent(first), self.rows[first - 1 : last]
        commented = [f"{indent}# {row.removeprefix(indent)}" for row in rows]
        if only:
            commented[0] = f"{indent}pass  {commented[0].lstrip()}"
        self.replacements.append((first, 0, last, len(rows[-1]), "\n".join(commented)))

    def _edit_backward(self) -> None:
        calls = [(s, call) for s in self.statements if (call := backward_call(s)) is not None]
        count = self.state.get("backwards") or 1
        if not calls and (count > 1 or any(self.state.get(switch.name) for switch in ARGUMENTS)):
            raise ProgramError("the program calls no backward(), so there is no pass to change")
        for statement, call in calls:
            is_last = statement is calls[-1][0]
            asked = (self.state.get("passes") or {}).get(str(statement.lineno), {})
            own = {**self.state, "backwards": count if is_last else 1, **asked}
            extra = []
            for switch in ARGUMENTS:
                wanted, keyword = own.get(switch.name), keyword_of(call, switch.name)
                if wanted is not None and keyword is not None:
                    self._replace(keyword.value, str(wanted))
                elif wanted:
                    extra.append(switch.written(switch.name, wanted))
            if extra:
                self._insert_argument(call, ", ".join(extra))
            clears = own.get("zero_grad", False)
            if clears and (statement is not calls[0][0] or self._repeats(statement)):
                self.before.setdefault(statement.lineno, []).extend(self._cleared(statement))
            self._call_again(statement, own["backwards"], clears, is_last)

    def _call_again(self, statement: ast.stmt, count: int, clears: bool, is_last: bool) -> None:
        """Write a call of backward `count` times in all."""
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        again: list[str] = []
        for number in range(2, count + 1):
            again += self._cleared(statement) if clears else []
            # Every pass keeps the graph for the next one; after the last one it is not needed.
            ends = number == count and is_last and not self._repeats(statement)
            again += self.rows[first - 1 : last] if ends else self._replaced(first, last)
        if again:
            self.after.setdefault(last, []).extend(again)

    def _repeats(self, statement: ast.stmt) -> bool:
        """Whether `statement` is inside a loop."""
        loops = [s for s in statements(tree_of(self.program.source)) if isinstance(s, (ast.For, ast.While))]
        return any(loop.lineno < statement.lineno <= (loop.end_lineno or loop.lineno) for loop in loops)

    def _cleared(self, statement: ast.stmt) -> list[str]:
        """The lines that reset every `.grad` before the pass that `statement` calls."""
        wanted = self.state.get("requires_grad") or {}
        leaves = [i for i in self.program.inputs if wanted.get(i.name, i.requires_grad) and i.line < statement.lineno]
        return [f"{self._indent(statement.lineno)}{leaf.name}.grad = None" for leaf in leaves]

    # --- finding places ---

    def _input(self, name: str) -> Input:
        tensor = next((i for i in self.program.inputs if i.name == name), None)
        if tensor is None:
            raise ProgramError(f"no input is called {name}")
        return tensor

    def _call_of(self, name: str) -> ast.Call:
        for statement in reversed(self.statements):
            for target, call in assigned(statement):
                if target == name and call is not None and factory_of(call) is not None:
                    return call
        raise ProgramError(f"no line makes {name} from scratch")

    def _maker_of(self, name: str) -> ast.Call:
        maker = maker_of(self._call_of(name))
        if maker is None:
            raise ProgramError(f"the call that makes {name} cannot be found", self._input(name).line)
        return maker

    def _statement_at(self, line: int) -> ast.stmt:
        for statement in self.statements:
            if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
                return statement
        raise ProgramError("there is no statement here", line)

    def _indent(self, line: int) -> str:
        row = self.rows[line - 1]
        return row[: len(row) - len(row.lstrip())]

    # --- writing ---

    def _column(self, line: int, offset: int) -> int:
        """Convert a column: `ast` counts bytes of UTF-8, but a line is text."""
        return len(self.rows[line - 1].encode()[:offset].decode())

    def _start(self, node: ast.expr) -> tuple[int, int]:
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _end(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return node.end_lineno, self._column(node.end_lineno, node.end_col_offset)

    def _replace(self, node: ast.expr, text: str, end: ast.expr | None = None) -> None:
        """Replace `node`, or everything from `node` to `end`, by `text`."""
        self.replacements.append((*self._start(node), *self._end(end or node), text))

    def _around(self, node: ast.expr, before: str, after: str) -> None:
        start, end = self._start(node), self._end(node)
        self.replacements += [(*start, *start, before), (*end, *end, after)]

    def _insert_argument(self, call: ast.Call, text: str) -> None:
        """Insert `text` after the last argument of `call`, before a trailing comma if there is one."""
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if arguments:
            end = max(arguments, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
            line, column = end.end_lineno or end.lineno, end.end_col_offset or 0
            text = f", {text}"
        else:
            line, column = call.end_lineno or call.lineno, (call.end_col_offset or 0) - 1
        column = self._column(line, column)
        self.replacements.append((line, column, line, column, text))

    def _replaced(self, first: int, last: int) -> list[str]:
        """Lines `first` to `last` with the replacements inside them."""
        rows = dict(zip(range(first, last + 1), self.rows[first - 1 : last], strict=True))
        for start_row, start, end_row, end, text in sorted(self.replacements, reverse=True):
            if not first <= start_row <= last:
                continue
            rows[start_row] = rows[start_row][:start] + text + rows[end_row][end:]
            for row in range(start_row + 1, end_row + 1):
                rows.pop(row)
        return [row for text in rows.values() for row in text.splitlines() or [""]]

    def _write(self) -> Edited:
        lines: list[str] = []
        origin: list[int | None] = []
        owner: list[int] = []

        def add(texts: list[str], number: int | None, owned_by: int) -> None:
            lines.extend(texts)
            origin.extend([number] * len(texts))
            owner.extend([owned_by] * len(texts))

        around = [switch for switch in SWITCHES if switch.at == "program" and self.state.get(switch.name)]
        for depth, switch in enumerate(around):
            add(["    " * depth + switch.code.format(T=self.program.engine_name)], None, 0)
        add(self.first, None, 0)
        spans = {s.lineno: s.end_lineno or s.lineno for s in self.statements}
        number = 1
        while number <= len(self.rows):
            last = spans.get(number, number)
            add([text for row in range(number, last + 1) for text in self.before.get(row, [])], None, number)
            indent = "    " * self.indented.get(number, 0)
            add([indent + row for row in self._replaced(number, last)], number, number)
            add([text for row in range(number, last + 1) for text in self.after.get(row, [])], None, number)
            number = last + 1
        lines[len(around) :] = ["    " * len(around) + line if line else line for line in lines[len(around) :]]
        return Edited("\n".join(lines), tuple(origin), tuple(owner))


def _floats(value: Any) -> Any:
    """`value` with all its numbers as floats: a slider's 1 must be 1.0, or the tensor would hold integers."""
    if isinstance(value, (list, tuple)):
        return [_floats(item) for item in value]
    return float(value)
