"""The fix as changed lines of the program, where it takes more than the one line that a finding names."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from viz.diagnosis.change import Change, applied
from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation


class Program:
    """A program's text by its statements, each with what it stands in.

    Args:
        seen: what was seen of it.
    """

    def __init__(self, seen: Observation) -> None:
        self.seen = seen
        self.places = seen.places
        self.lines = seen.places.text.split("\n")
        self._around: dict[ast.AST, tuple[ast.AST, list[ast.stmt]]] = {}
        for node in seen.places.nodes:
            for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
                if isinstance(body, list):
                    self._around |= {inner: (node, body) for inner in body}

    def statement(self, line: int | None) -> ast.stmt | None:
        """The one statement that a line holds; None where it holds several, or only a part of one."""
        all_of_them = [node for node in self._around if isinstance(node, ast.stmt)]
        found = [node for node in all_of_them if node.lineno <= (line or 0) <= (node.end_lineno or 0)]
        inner = max(found, key=lambda node: (node.lineno, node.col_offset), default=None)
        if inner is None or hasattr(inner, "body") or sum(node.lineno == inner.lineno for node in all_of_them) > 1:
            return None
        return inner

    def body(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that it stands among."""
        return self._around[statement][1]

    def loop(self, statement: ast.stmt) -> ast.For | ast.While | None:
        """The innermost loop around it, within its function."""
        node: ast.AST = statement
        while node in self._around and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node = self._around[node][0]
            if isinstance(node, (ast.For, ast.While)):
                return node
        return None

    def text(self, statement: ast.stmt) -> str:
        """A statement as it is written, its later lines with their own indentation."""
        return "\n".join(self.lines[statement.lineno - 1 : statement.end_lineno]).strip()

    def old(self, line: int) -> str:
        """A line without its indentation."""
        return self.lines[line - 1].strip()

    def before(self, statement: ast.stmt, new: str) -> Change:
        """`new` in a line before a statement."""
        old = self.old(statement.lineno)
        return Change(statement.lineno, old, f"{new}\n{old}")

    def after(self, statement: ast.stmt, new: str) -> Change:
        """`new` in a line after a statement."""
        line = statement.end_lineno or statement.lineno
        return Change(line, self.old(line), f"{self.old(line)}\n{new}")

    def instead(self, statement: ast.stmt, new: str) -> Change | None:
        """`new` in place of a statement of one line."""
        if statement.lineno != statement.end_lineno:
            return None
        return Change(statement.lineno, self.old(statement.lineno), new)

    def without(self, statement: ast.stmt) -> Change | None:
        """A statement of one line taken away."""
        return self.instead(statement, "" if len(self.body(statement)) > 1 else "pass")

    def backward(self) -> ast.stmt | None:
        """The statement of the last backward pass."""
        passes = [each for each in self.seen.passes if each.kind == "backward"]
        return self.statement(passes[-1].line) if passes else None


Changes = list[Change] | None


def repaired(seen: Observation, finding: Finding) -> list[Change]:
    """The lines to change, so that the program runs and the finding goes away; none where they cannot be written down."""
    repair = REPAIRS.get(finding.kind)
    if repair is None:
        return []
    try:
        program = Program(seen)
        changes = repair(program, finding)
        if changes:
            ast.parse(applied(seen.places.text, changes))
            return sorted(changes, key=lambda change: change.line)
    except (SyntaxError, ValueError, IndexError):
        pass
    return []


def _all(*changes: Change | None) -> Changes:
    found = [change for change in changes if change is not None]
    return found if len(found) == len(changes) else None


def _given(statement: ast.stmt | None) -> str:
    """The one name that a statement gives."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0])
    return ""


def _copying(program: Program, changes: Changes) -> Changes:
    """The changes, with `import copy` where the program has none."""
    if changes is None or re.search(r"^import copy\b", program.places.text, re.MULTILINE):
        return changes
    first = program.places.tree.body[0]
    return [program.before(first, "import copy"), *changes]


def _detached_between(program: Program, finding: Finding) -> Changes:
    """The state cut off right after the backward pass, or where a method keeps it for its next call."""
    here, back = program.statement(finding.line), program.backward()
    name = finding.tensors[0].partition("[")[0] if finding.tensors else _given(here)
    if name.startswith("self.") and isinstance(here, ast.Assign):
        if isinstance(here.value, ast.Tuple) and all(isinstance(one, ast.Name) for one in here.value.elts):
            kept = ", ".join(f"{ast.unparse(one)}.detach()" for one in here.value.elts)
            return _all(program.instead(here, f"{name} = ({kept})"))
        code, read = program.text(here), re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.]| =)")
        if isinstance(here.value, ast.BinOp):
            right = code.partition(" = ")[2]
            return _all(program.instead(here, f"{name} = ({right}).detach()"))
        if len(read.findall(code)) == 1 and f"{name} = None" not in program.places.text:
            return _all(program.instead(here, read.sub(f"{name}.detach()", code)))
        return None
    if back is None or not name.isidentifier() or program.loop(back) is None:
        return None
    several = any("[" in one for one in finding.tensors)
    return [
        program.after(
            back, f"{name} = tuple(state.detach() for state in {name})" if several else f"{name} = {name}.detach()"
        )
    ]


def _as_numbers(program: Program, finding: Finding) -> Changes:
    """What is added up, or kept, without its history."""
    here = program.statement(finding.line)
    if here is None or here.lineno != here.end_lineno:
        return None
    code = program.text(here)
    source = lambda node: ast.get_source_segment(program.places.text, node) or ""  # noqa: E731
    if isinstance(here, ast.Assign) and _given(here).isidentifier():
        return _all(program.instead(here, code.replace(source(here.value), f"({source(here.value)}).detach()")))
    learnt = {value.name for value in program.seen.values if value.requires_grad and value.name}
    if isinstance(here, ast.AugAssign) and isinstance(here.value, ast.Call):
        return _all(program.instead(here, f"{code}.item()"))
    parts = [node for node in ast.walk(here) if isinstance(node, (ast.List, ast.Tuple, ast.Call))]
    names = [
        one.id
        for part in parts
        for one in (part.args + [word.value for word in part.keywords] if isinstance(part, ast.Call) else part.elts)
        if isinstance(one, ast.Name) and one.id in learnt
    ]
    if len(set(names)) != 1:
        return None
    return _all(program.instead(here, re.sub(rf"(?<![\w.])({names[0]})(?![\w.]|=[^=])", r"\1.detach()", code)))


def _made_after(program: Program, finding: Finding) -> Changes:
    """The optimizer made after the replacement."""
    if len(finding.lines) < 2:
        return None
    here, made = program.statement(finding.lines[0]), program.statement(finding.lines[1])
    name = _given(made)
    if here is None or made is None or not name or made.lineno > here.lineno:
        return None
    if program.body(here) is not program.body(made) or made.lineno != made.end_lineno:
        return None
    earlier = "\n".join([*program.lines[: made.lineno - 1], *program.lines[made.lineno : here.lineno]])
    copied = program.after(here, program.text(made))
    return [copied] if re.search(rf"\b{re.escape(name)}\b", earlier) else _all(program.without(made), copied)


def _held_too(program: Program, finding: Finding) -> Changes:
    """The parameters in the optimizer that lacks them."""
    made = program.statement(finding.line)
    call = getattr(made, "value", None)
    roots = {name.partition(".")[0] for name in finding.tensors}
    if (
        made is None
        or not isinstance(call, ast.Call)
        or not call.args
        or len(roots) != 1
        or made.lineno != made.end_lineno
    ):
        return None
    root, code = roots.pop(), program.text(made)
    old = ast.get_source_segment(program.places.text, call.args[0]) or ""
    if not old or '"params"' in old or "'params'" in old or not root.isidentifier():
        return None
    own = next((held for held in program.seen.optimizers if held.line == finding.line), None)
    doubled = own is not None and any(
        other.nr != own.nr and set(own.leaves) <= set(other.leaves) for other in program.seen.optimizers
    )
    given = program.places.where_given(root)
    whole = given is not None and given < made.lineno and any("." in name for name in finding.tensors)
    added = f"{root}.parameters()"
    if not whole:
        return None
    instead = doubled or "deepcopy(" in old or old.startswith(f"{root}.")
    new = added if instead else f"[*{old}, *{added}]"
    return _all(program.instead(made, code.replace(old, new, 1)))


def _training_again(program: Program, finding: Finding) -> Changes:
    """train() at the beginning of each turn of the training."""
    here = program.statement(finding.line)
    found = re.search(r"([\w.]+)\.eval\(\)", program.text(here)) if here is not None else None
    step = next((m for m in reversed(program.seen.moments) if m.kind == "step"), None)
    stepping = program.statement(step.line) if step is not None else None
    if found is None or here is None or stepping is None:
        return None
    if isinstance(here, ast.Assign):
        return _all(program.instead(here, program.text(here).replace(found[0], found[1])))
    loop = program.loop(stepping)
    if loop is None or loop.body[0].lineno == loop.lineno or program.places.where_given(found[1]) is None:
        return None
    around: ast.AST = here
    while around in program._around and not isinstance(around, ast.FunctionDef):
        around = program._around[around][0]
    function = around.name if isinstance(around, ast.FunctionDef) else ""
    calls = [place for place, one in enumerate(loop.body) if function and f"{function}(" in ast.unparse(one)]
    place = calls[-1] + 1 if calls and loop.body[calls[-1]].lineno < stepping.lineno else 0
    return [program.before(loop.body[place], f"{found[1]}.train()")]


def _zero_first(program: Program, finding: Finding) -> Changes:
    """zero_grad() moved before the backward pass."""
    here, back = program.statement(finding.line), program.backward()
    if here is None or back is None or program.body(here) is not program.body(back) or here.lineno < back.lineno:
        return None
    return _all(program.before(back, program.text(here)), program.without(here))


def _step_last(program: Program, finding: Finding) -> Changes:
    """step() moved behind the backward pass."""
    here, back = program.statement(finding.line), program.backward()
    if here is None or back is None or program.body(here) is not program.body(back) or here.lineno > back.lineno:
        return None
    return _all(program.without(here), program.after(back, program.text(here)))


def _emptied(program: Program, finding: Finding) -> Changes:
    """The gradients set back before each backward pass."""
    back = program.statement(finding.line)
    if back is None:
        return None
    zero = re.search(r"([\w.]+)\.zero_grad\(\)", finding.fix)
    if zero is not None:
        return [program.before(back, zero[0])]
    names = [name for name in finding.tensors if re.fullmatch(r"\w+(\[\d+\])?", name)]
    if not names or len(names) != len(finding.tensors):
        return None
    if len(names) == 1:
        return [program.before(back, f"{names[0]}.grad = None")]
    return [program.before(back, f"for p in ({', '.join(names)}): p.grad = None")]


def _stepping(program: Program, finding: Finding) -> Changes:
    """step(), and zero_grad() where there is none, after the backward pass."""
    back = program.backward()
    held = program.seen.optimizers[0] if program.seen.optimizers else None
    name = _given(program.statement(held.line)) if held is not None else ""
    if back is None or not name:
        return None
    zero = "" if "zero_grad" in program.places.text else f"\n{name}.zero_grad()"
    return [program.after(back, f"{name}.step(){zero}")]


def _in_place_of_names(program: Program, finding: Finding) -> Changes:
    """All updates of a step as writes under no_grad, and the gradients set back."""
    here = program.statement(finding.line)
    if here is None:
        return None
    T, changes, names = program.places.engine_name, [], []
    for one in program.body(here):
        value = getattr(one, "value", None)
        if not isinstance(one, ast.Assign) or not isinstance(value, ast.BinOp) or ".grad" not in ast.unparse(value):
            continue
        name, sign = _given(one), {ast.Sub: "-", ast.Add: "+"}.get(type(value.op))
        if sign is None or not name.isidentifier() or ast.unparse(value.left) != name:
            return None
        right = ast.get_source_segment(program.places.text, value.right)
        changes.append(program.instead(one, f"with {T}.no_grad(): {name} {sign}= {right}"))
        names.append(name)
    if not names or here.lineno not in [change.line for change in changes if change is not None]:
        return None
    last = changes[-1]
    if last is not None and not re.search(r"\.grad(\.zero_|\s*=\s*None)", program.places.text):
        zero = "; ".join(f"{name}.grad = None" for name in names)
        changes[-1] = Change(last.line, last.old, f"{last.new}\n{zero}")
    return _all(*changes)


def _once_each(program: Program, finding: Finding) -> Changes:
    """What one pass frees computed anew for the next; or one pass for both losses."""
    here, back = (
        program.statement(finding.line),
        program.statement(finding.lines[1] if len(finding.lines) > 1 else None),
    )
    if here is None or back is None:
        return None
    if "both go back through" in finding.message:
        both = [re.fullmatch(r"([\w.]+)\.backward\(\)", program.text(one)) for one in (here, back)]
        if both[0] is None or both[1] is None or program.body(here) is not program.body(back):
            return None
        return _all(program.without(here), program.instead(back, f"({both[0][1]} + {both[1][1]}).backward()"))
    if "ran once" in finding.message:
        loop = program.loop(back)
        if (
            loop is None
            or program.loop(here) is loop
            or hasattr(loop.body[0], "body")
            or loop.body[0].lineno == loop.lineno
        ):
            return None
        if here.lineno != here.end_lineno or program.body(here) is not program._around[loop][1]:
            return None
        return _all(program.without(here), program.before(loop.body[0], program.text(here)))
    return None


def _before_the_loop(program: Program, finding: Finding) -> Changes:
    """What is made once moved before the loop."""
    here = program.statement(finding.line)
    loop = program.loop(here) if here is not None else None
    if here is None or loop is None or loop.body[0].lineno == loop.lineno:
        return None
    moved = [here]
    if isinstance(here, ast.Assign):
        wanted = {held.line for held in program.seen.optimizers} | {finding.line}
        moved = [one for one in loop.body if one.lineno in wanted and isinstance(one, ast.Assign)]
    given = (
        {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
        if isinstance(loop, ast.For)
        else set()
    )
    given |= {_given(one) for one in loop.body if one not in moved}
    read = {
        part.id
        for one in moved
        for part in ast.walk(one)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }
    if here not in moved or read & given or any(one.lineno != one.end_lineno for one in moved):
        return None
    head = program.old(loop.lineno)
    before = Change(loop.lineno, head, "\n".join([*(program.text(one) for one in moved), head]))
    return _all(before, *(program.without(one) for one in moved))


def _own_copies(program: Program, finding: Finding) -> Changes:
    """A layer, a network or a state copied where it was only named again."""
    here = program.statement(finding.line)
    if here is None or here.lineno != here.end_lineno:
        return None
    code = program.text(here)
    times = next(
        (
            node
            for node in ast.walk(here)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)
        ),
        None,
    )
    source = lambda node: ast.get_source_segment(program.places.text, node) or ""  # noqa: E731
    if times is not None and isinstance(times.left, ast.List) and len(times.left.elts) == 1:
        each = times.left.elts[0]
        if isinstance(each, ast.Call):
            new = f"[{source(each)} for _ in range({source(times.right)})]"
            return _all(program.instead(here, code.replace(source(times), new)))
    for node in ast.walk(here):
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Name):
            inside = source(node)
            new = inside.replace(f"[{node.elt.id} ", f"[copy.deepcopy({node.elt.id}) ", 1)
            return _copying(program, _all(program.instead(here, code.replace(inside, new))))
    appended = re.fullmatch(r"([\w.]+\.append)\((\w+)\)", code)
    if appended is not None:
        return _copying(program, _all(program.instead(here, f"{appended[1]}(copy.deepcopy({appended[2]}))")))
    if isinstance(here, ast.Assign) and (
        isinstance(here.value, (ast.Name, ast.Attribute)) or code.endswith(".state_dict()")
    ):
        value = source(here.value)
        return _copying(program, _all(program.instead(here, code.replace(f"= {value}", f"= copy.deepcopy({value})"))))
    return None


def _seeded(program: Program, finding: Finding) -> Changes:
    """The seed set before each run."""
    here = program.statement(finding.line)
    return [program.before(here, f"{program.places.engine_name}.manual_seed(0)")] if here is not None else None


def _new_value(program: Program, finding: Finding) -> Changes:
    """A new tensor in place of a write over what is needed."""
    here = program.statement(finding.line)
    if here is None:
        return None
    code = program.text(here)
    if "inplace=True" in code:
        return _all(program.instead(here, re.sub(r",\s*inplace=True", "", code)))
    if isinstance(here, ast.Assign) and isinstance(here.targets[0], ast.Subscript):
        name = ast.unparse(here.targets[0].value)
        return [program.before(here, f"{name} = {name}.clone()")] if name.isidentifier() else None
    if isinstance(here, ast.AugAssign) and isinstance(here.target, ast.Name):
        if ".grad" in code:
            return _all(program.instead(here, f"with {program.places.engine_name}.no_grad(): {code}"))
        found = re.match(r"(\w+)\s*([-+*/])=\s*(.+)$", code)
        return _all(program.instead(here, f"{found[1]} = {found[1]} {found[2]} ({found[3]})")) if found else None
    return None


def _later_or_by_name(program: Program, finding: Finding) -> Changes:
    """A write through .data moved behind the backward pass, or the new value given the name."""
    here, back = program.statement(finding.line), program.backward()
    if here is None:
        return None
    code = program.text(here)
    put = re.fullmatch(r"(\w+)\.data = (.+)", code)
    if put is not None:
        return _all(program.instead(here, f"{put[1]} = {put[2].replace('.data', '')}"))
    names = {leaf.name for leaf in program.seen.leaves}
    times = re.fullmatch(r"(\w+)\.data\.mul_\((.+)\)", code)
    if times is not None and times[1] not in names:
        return _all(program.instead(here, f"{times[1]} = {times[1]} * ({times[2]})"))
    if back is None or program.body(here) is not program.body(back) or here.lineno > back.lineno:
        return None
    return _all(program.without(here), program.after(back, code))


def _other_sign(program: Program, finding: Finding) -> Changes:
    """The sign turned where it was wrong."""
    here = program.statement(finding.line)
    if here is None or here.lineno != here.end_lineno:
        return None
    code = program.text(here)
    if "maximize=True" in code:
        return _all(program.instead(here, re.sub(r",\s*maximize=True", "", code)))
    if re.search(r"\.register_hook\(lambda \w+: -|\.grad\.mul_\(-1\)|\.grad\.neg_\(\)", code):
        return _all(program.without(here))
    if (found := re.search(r"alpha=(\w+)", code)) is not None and ".add_(" in code:
        return _all(program.instead(here, code.replace(found[0], f"alpha=-{found[1]}")))
    value = getattr(here, "value", None)
    if (
        not isinstance(here, (ast.Assign, ast.Return))
        or not isinstance(value, ast.expr)
        or isinstance(value, ast.Tuple)
    ):
        return None
    source = ast.get_source_segment(program.places.text, value) or ""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        new = ast.get_source_segment(program.places.text, value.operand) or ""
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and isinstance(value.right, ast.Name):
        left = ast.get_source_segment(program.places.text, value.left)
        new = f"{left} + {value.right.id}"
    elif isinstance(value, ast.Call):
        new = f"-{source}"
    else:
        new = f"-({source})"
    return _all(program.instead(here, code[: len(code) - len(source)] + new)) if code.endswith(source) else None


def _size_of_its_own(program: Program, finding: Finding) -> Changes:
    """The initialisation that made the weights too small or too large, changed or taken away."""
    here = program.statement(finding.line)
    if here is None or here.lineno != here.end_lineno:
        return None
    code = program.text(here)
    if re.search(r"\.(data\.)?mul_\(", code) and finding.kind == "exploding":
        return _all(program.without(here))
    drawn = re.search(r"([\w.]*init\.)(normal_|uniform_|trunc_normal_)\(([\w.\[\]]+),[^()]*\)", code)
    if drawn is not None:
        return _all(program.instead(here, code.replace(drawn[0], f"{drawn[1]}xavier_uniform_({drawn[3]})")))
    if (gain := re.search(r",\s*gain=[\d.]+", code)) is not None:
        return _all(program.instead(here, code.replace(gain[0], "")))
    if (eye := re.search(r"(\.eye\(\w+\)) \* [\d.]+", code)) is not None:
        return _all(program.instead(here, code.replace(eye[0], eye[1])))
    randn = re.search(r"(\.randn\((\d+), ?\d+\))( \* [\d.]+)?", code) or re.search(
        r"(\.randn\((\d+), ?\d+)(, requires_grad=True\))", code
    )
    if randn is not None and "requires_grad=True)" not in randn[0]:
        return _all(program.instead(here, code.replace(randn[0], f"{randn[1]} / {randn[2]} ** 0.5")))
    return None


def _still_recorded(program: Program, finding: Finding) -> Changes:
    """detach() taken away where it is made, and put where another network's own loss uses it."""
    here = program.statement(finding.line)
    name = _given(here)
    if (
        here is None
        or not name.isidentifier()
        or ".detach()" not in program.text(here)
        or len(program.seen.optimizers) < 2
    ):
        return None
    body = program.body(here)
    first = next((one for one in body if one.lineno > here.lineno and f"({name})" in program.text(one)), None)
    if first is None or first.lineno != first.end_lineno:
        return None
    return _all(
        program.instead(here, program.text(here).replace(".detach()", "", 1)),
        program.instead(first, program.text(first).replace(f"({name})", f"({name}.detach())", 1)),
    )


def _with_graph(program: Program, finding: Finding) -> Changes:
    """create_graph=True in the call of grad() that a finding names."""
    if "create_graph" not in finding.fix:
        return None
    calls = [
        node
        for node in program.places.nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] == "grad"
        and node.lineno <= (finding.line or 0) <= (node.end_lineno or 0)
    ]
    if len(calls) != 1:
        return None
    given = next((word.value for word in calls[0].keywords if word.arg == "create_graph"), None)
    line = given.lineno if given is not None else calls[0].end_lineno or 0
    end = (given.end_col_offset if given is not None else calls[0].end_col_offset) or 0
    whole = program.lines[line - 1].encode()
    if given is None:
        new = whole[: end - 1] + b", create_graph=True" + whole[end - 1 :]
    else:
        new = whole[: given.col_offset] + b"True" + whole[end:]
    return [Change(line, program.old(line), new.decode().strip())]


REPAIRS: dict[str, Callable[[Program, Finding], Changes]] = {
    "state-not-detached": _detached_between,
    "graph-grows": _as_numbers,
    "stale-optimizer": _made_after,
    "not-in-optimizer": _held_too,
    "eval-mode": _training_again,
    "zero-before-step": _zero_first,
    "step-before-backward": _step_last,
    "no-zero-grad": _emptied,
    "never-steps": _stepping,
    "rebound": _in_place_of_names,
    "second-backward": _once_each,
    "made-anew": _before_the_loop,
    "used-twice": _own_copies,
    "alias": _own_copies,
    "unseeded": _seeded,
    "in-place": _new_value,
    "data-write": _later_or_by_name,
    "reversed": _other_sign,
    "vanishing": _size_of_its_own,
    "exploding": _size_of_its_own,
    "detach": _still_recorded,
    "cut": _with_graph,
}
