"""Writes the fix of a finding as changed lines. A change may be wrong: `trial` hides what does not cure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from viz.diagnosis.change import Change, applied
from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation

LIBRARIES = re.compile(r"torch|T|F|np|math|(torch\.|T\.)?(nn|nn\.functional|nn\.init|special|linalg)")
ROUNDS = "round|floor|ceil|trunc|sign"
INSIDE = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # what stands in parentheses

# Of one line: the first pattern of its kind that it holds, and what to write. `{T}` is the engine.
_OWN_SIZE = [
    (r"(init\.)(?:trunc_)?(?:normal|uniform)_\(([\w.\[\]]+),[^()]*\)", r"\1xavier_uniform_(\2)"),
    (r",\s*gain=[\d.]+", ""),
    (r"(\.eye\(\w+\)) \* [\d.]+", r"\1"),
    (r"(\.randn\((\d+), ?\d+\)) \* [\d.]+", r"\1 / \2 ** 0.5"),
    (r"^[\w.]+\.mul_\(.*\)$", "pass"),
]
_GRAD_ON = [
    (r"no_grad\(\)", "enable_grad()"),
    (r"(inference_mode)\(\)", r"\1(False)"),
    (r"(set_grad_enabled)\(False\)", r"\1(True)"),
]
PATTERNS: dict[str, list[tuple[str, str]]] = {
    "detach": [(r"\.detach\(\)", "")], "data": [(r"\.data\b", "")], "item": [(r"(\.detach\(\)|\.data)?\.item\(\)", "")],
    "no-grad": [*_GRAD_ON, (r"\.sample\(", ".rsample(")], "inference-mode": _GRAD_ON,
    "exploding": _OWN_SIZE, "vanishing": _OWN_SIZE,
    "requires-grad-off": [(r"\bFalse\b", "True"), (r"^([\w.]+ = [\w.]+\(.*\))$", r"\1.requires_grad_()")],
    "double-softmax": [(r"\b(Softmax|Sigmoid|Softmin)\([^()]*\)", "Identity()")],
    "graph-grows": [(r"^(\w[\w.]* \+= \w+)$", r"\1.item()"), (r"^(\w+) = (.+)$", r"\1 = (\2).detach()")],
    "retain-graph": [(r"retain_graph=True,\s*|(,\s*)?retain_graph=True", "")],
    "not-scalar": [(r"\.backward\(", ".mean().backward(")], "unused": [(r"(\bgrad\(.*)\)$", r"\1, allow_unused=True)")],
    "in-place": [
        (r"(= .*\.\w+)_\(", r"\1("),
        (r",\s*inplace=True", ""),
        (r"^(\w+)\[.*\] = .*$", r"\1 = \1.clone()\n\g<0>"),
        (r"^.*\.grad.*$", r"with {T}.no_grad(): \g<0>"),
        (r"^(\w+) ([-+*/])= ([\w.]+)$", r"\1 = \1 \2 \3"),
        (r"^(\w+) ([-+*/])= (.+)$", r"\1 = \1 \2 (\3)"),
    ],
    "data-write": [(r"^(\w+)\.data\.mul_\((.+)\)$", r"\1 = \1 * (\2)")],
    "reversed": [
        (r",\s*maximize=True", ""),
        (r"^.*(register_hook\(lambda \w+: -|\.grad\.mul_\(-1\)|\.grad\.neg_\(\)).*$", "pass"),
        (r"alpha=(?=\w)", "alpha=-"),
        (r"\+=", "-="),
    ],
    "zero-by-zero": [(rf" / ([\w.]+(?:\({INSIDE}\))?|\({INSIDE}\))", r" / (\1 + 1e-8)")],
    "flat": [
        (rf"([\w.]+)\.({ROUNDS})\(\)", r"(\1 + (\g<0> - \1).detach())"),
        (rf"[\w.]+\.({ROUNDS})\(({INSIDE})\)", r"(\2 + (\g<0> - (\2)).detach())"),
    ],
    "alias": [(r" = (.+\.state_dict\(\))$", r" = copy.deepcopy(\1)")],
    "used-twice": [
        (rf"\[([\w.]+\({INSIDE}\))\] \* (\w+)", r"[\1 for _ in range(\2)]"),
        (r"\[(\w+) for ", r"[copy.deepcopy(\1) for "),
        (r"\.append\((\w+)\)$", r".append(copy.deepcopy(\1))"),
        (r" = ([\w.]+)$", r" = copy.deepcopy(\1)"),
    ],
    "cut": [
        ("use_reentrant=True", "use_reentrant=False"), ("create_graph=False", "create_graph=True"),
        (r"\.backward\(\)", ".backward(create_graph=True)"), (r"\.backward\(", ".backward(create_graph=True, "),
        (rf"\bgrad\({INSIDE}(?=\))", r"\g<0>, create_graph=True")],
}  # fmt: skip
Changes = list[Change] | None


class Code:
    """A program's text by its statements, and the one that a finding names."""

    def __init__(self, seen: Observation, finding: Finding) -> None:
        self.seen, self.finding, self.places, self.old = seen, finding, seen.places, seen.places.code
        self.lines = seen.places.text.split("\n")
        self.line = finding.line or 0
        self.code = self.old(finding.line)
        self.here = self.statement(finding.line)
        self.other = self.statement(finding.lines[1]) if len(finding.lines) > 1 else None
        passes = [each.line for each in seen.passes if each.kind == "backward"]
        self.backward = self.statement(passes[-1]) if passes else None

    def statement(self, line: int | None) -> ast.stmt | None:
        """The statement that a line holds; None where it holds several, or only a part of one."""
        held = [n for n in self.places.nodes if isinstance(n, ast.stmt) and n.lineno == line == n.end_lineno]
        return held[0] if len(held) == 1 else None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that one stands among."""
        names = ("body", "orelse", "finalbody")
        blocks = (getattr(node, name, None) for node in self.places.nodes for name in names)
        return next(block for block in blocks if isinstance(block, list) and statement in block)

    def beside(self, one: ast.stmt | None, other: ast.stmt | None) -> bool:
        """Whether two statements stand in one block."""
        return one is not None and other is not None and other in self.block(one)

    def loop(self, statement: ast.stmt | None) -> ast.For | ast.While | None:
        """The innermost loop around a statement, if its lines are its own."""
        around = self.places.find(ast.For, ast.While, at=statement.lineno if statement is not None else 0)
        return around[-1] if around and around[-1].body[0].lineno > around[-1].lineno else None

    def parts(self, kind: type, fits: Callable[[Any], bool] = lambda node: True) -> list[Any]:
        """The parts of the line that are of a kind."""
        own = self.places.find(kind, at=self.line, fits=fits)
        return [node for node in own if node.lineno == node.end_lineno]

    def call(self, *names: str) -> tuple[ast.Call, ast.expr] | None:
        """The only call of one of these names in the line, and its object: first argument, or the part before `.`."""
        calls = self.parts(ast.Call, lambda node: ast.unparse(node.func).rpartition(".")[2] in names)
        if len(calls) != 1:
            return None
        owner = getattr(calls[0].func, "value", None)
        if owner is not None and not LIBRARIES.fullmatch(name := ast.unparse(owner)) and name != "self":
            return calls[0], owner
        return (calls[0], calls[0].args[0]) if calls[0].args else None

    def text(self, node: ast.AST) -> str:
        """A part as it is written."""
        return ast.get_source_segment(self.places.text, node) or ast.unparse(node)

    def operand(self, node: ast.AST) -> str:
        """A part as it can be written before a `.`: in parentheses if it needs them."""
        simple = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
        return self.text(node) if isinstance(node, simple) else f"({self.text(node)})"

    def put(self, node: Any, new: str) -> Changes:
        """The line with another text for a part of it."""
        whole = self.lines[node.lineno - 1].encode()
        text = whole[: node.col_offset].decode() + new + whole[node.end_col_offset :].decode()
        return [Change(node.lineno, self.old(node.lineno), text.strip())]

    def instead(self, statement: ast.stmt, new: str) -> Change:
        """`new` in place of a statement, which is `{old}` in it."""
        old = self.old(statement.lineno)
        return Change(statement.lineno, old, new.replace("{old}", old))

    def without(self, statement: ast.stmt) -> Change:
        """A statement taken away."""
        return self.instead(statement, "" if len(self.block(statement)) > 1 else "pass")


def written(seen: Observation, finding: Finding) -> list[Change]:
    """The lines to change so that the program runs and the finding goes away; none if they cannot be written."""
    way = WAYS.get(finding.kind)
    try:
        code = Code(seen, finding)
        changes = _called(code) or (way(code) if way is not None else None) or _by_pattern(code)
        if changes and all(change.new != change.old for change in changes):
            copies = any("copy.deepcopy(" in change.new for change in changes)
            if copies and not re.search(r"^import copy\b", seen.places.text, re.MULTILINE):
                changes.append(code.instead(seen.places.tree.body[0], "import copy\n{old}"))
            ast.parse(applied(seen.places.text, changes))
            return sorted(changes, key=lambda change: change.line)
    except (SyntaxError, ValueError, LookupError, StopIteration):
        pass
    return []


def _called(code: Code) -> Changes:
    """The parentheses of a call that a line leaves out."""
    new = re.sub(r"\.(step|backward|zero_grad)$", r"\g<0>()", code.code)
    return [Change(code.line, code.code, new)] if new != code.code else None


def _by_pattern(code: Code) -> Changes:
    for pattern, new in PATTERNS.get(code.finding.kind, ()):
        text, count = re.subn(pattern, new.replace("{T}", code.places.engine_name), code.code, count=1)
        if count:
            return [Change(code.line, code.code, text)]
    return None


def _given(statement: ast.stmt | None) -> str:
    return ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _away_from_zero(code: Code) -> Changes:
    """`f(x)` → `f(x + 1e-8)`."""
    found = code.call("sqrt", "rsqrt", "log", "log2", "log10", "norm")
    if found is None:
        return None
    call, given = found
    below = code.finding.told.get("below")  # where adding a little does not help
    new = f"{code.operand(given)}.clamp(min=1e-8)" if below else f"{code.text(given)} + 1e-8"
    return code.put(given, f"({new})" if getattr(call.func, "value", None) is given else new)


def _leaf(code: Code) -> Changes:
    """What a line computes as a leaf."""
    if code.finding.told["keeps"]:
        return [Change(code.line, code.code, f"{code.code}\n{code.finding.tensors[0]}.retain_grad()")]
    value = code.here.value if isinstance(code.here, ast.Assign) else None
    return code.put(value, f"{code.operand(value)}.detach().requires_grad_()") if value is not None else None


def _copied(code: Code) -> Changes:
    """A copy where a line only gave another name to the same memory."""
    if code.other is None or ".detach()" not in (old := code.old(code.other.lineno)):
        return None
    return [code.instead(code.other, old.replace(".detach()", ".detach().clone()"))]


def _no_squash(code: Code) -> Changes:
    call = code.call("softmax", "sigmoid", "softmin")
    return code.put(call[0], code.text(call[1])) if call is not None else None


def _registered(code: Code) -> Changes:
    nn = "nn" if re.search(r"(?<![\w.])nn\.", code.places.text) else f"{code.places.engine_name}.nn"
    value = getattr(code.here, "value", None)
    if not isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
        return None
    kind, text = "ModuleDict" if isinstance(value, (ast.Dict, ast.DictComp)) else "ModuleList", code.text(value)
    return code.put(value, f"{nn}.{kind}({text if text not in ('[]', '{}') else ''})")


def _one_shape(code: Code) -> Changes:
    differences = code.parts(ast.BinOp, lambda node: isinstance(node.op, ast.Sub))
    calls = code.parts(ast.Call, lambda node: len(node.args) >= 2)
    sides = [(difference.left, difference.right) for difference in differences] or [call.args[:2] for call in calls]
    a, b = code.finding.told["ranks"]
    longer = sides[0][0 if a > b else 1] if len(sides) == 1 else None
    return code.put(longer, f"{code.operand(longer)}.squeeze(1)") if longer is not None and a != b else None


def _stacked(code: Code) -> Changes:
    call = code.call("tensor", "as_tensor", "FloatTensor", "Tensor")
    if call is not None and code.finding.told.get("copied"):
        return code.put(call[0], code.operand(call[1]))

    def stack(tensors: ast.expr) -> str:
        """`stack([…])` of tensors; of a list of lists, each row is stacked first."""
        rows = tensors.elts if isinstance(tensors, ast.List) else []
        nested = rows and all(isinstance(row, ast.List) for row in rows)
        text = f"[{', '.join(map(stack, rows))}]" if nested else code.text(tensors)
        return f"{code.places.engine_name}.stack({text})"

    return code.put(call[0], stack(call[1])) if call is not None else None


def _detached_between(code: Code) -> Changes:
    """The state cut off right after the backward pass, or where a method keeps it for its next call."""
    tensors, back = code.finding.tensors, code.backward
    name = tensors[0].partition("[")[0] if tensors else _given(code.here)
    if name.startswith("self.") and isinstance(code.here, ast.Assign):
        value = code.here.value
        if isinstance(value, ast.Tuple):
            return code.put(value, f"({', '.join(f'{code.operand(element)}.detach()' for element in value.elts)})")
        if isinstance(value, ast.BinOp):
            return code.put(value, f"{code.operand(value)}.detach()")
        read = code.parts(ast.Attribute, lambda node: ast.unparse(node) == name and isinstance(node.ctx, ast.Load))
        begins = f"{name} = None" in code.places.text
        return code.put(read[0], f"{name}.detach()") if len(read) == 1 and not begins else None
    if back is None or not name.isidentifier() or code.loop(back) is None:
        return None
    several = any("[" in tensor for tensor in tensors)
    cut = f"tuple(state.detach() for state in {name})" if several else f"{name}.detach()"
    return [code.instead(back, f"{{old}}\n{name} = {cut}")]


def _as_numbers(code: Code) -> Changes:
    """What is kept without its history."""
    learnt = {value.name for value in code.seen.values if value.requires_grad and value.name}
    names = [name for name in code.parts(ast.Name, lambda name: name.id in learnt) if isinstance(name.ctx, ast.Load)]
    if isinstance(code.here, (ast.Assign, ast.AugAssign)) and not re.search(r"\+= [\[(]", code.code):
        return None  # by a pattern
    return code.put(names[0], f"{names[0].id}.detach()") if len(names) == 1 else None


def _made_after(code: Code) -> Changes:
    root, name = code.other, _given(code.other)
    if code.here is None or root is None or not name or root.lineno > code.line or not code.beside(root, code.here):
        return None
    copied = code.instead(code.here, f"{{old}}\n{code.old(root.lineno)}")
    between = "\n".join(code.lines[root.lineno : code.line])
    return [copied] if re.search(rf"\b{re.escape(name)}\b", between) else [code.without(root), copied]


def _held_too(code: Code) -> Changes:
    """The parameters in the optimizer that lacks them, in place of what does not learn by it."""
    call, roots = getattr(code.here, "value", None), {name.partition(".")[0] for name in code.finding.tensors}
    line = code.places.where_given(root := min(roots, default=""))
    own = next((optimizer for optimizer in code.seen.optimizers if optimizer.line == code.line), None)
    if not isinstance(call, ast.Call) or not call.args or len(roots) != 1 or line is None or own is None:
        return None
    old, others = code.text(call.args[0]), (optimizer for optimizer in code.seen.optimizers if optimizer is not own)
    doubled = any(set(own.leaves) <= set(other.leaves) for other in others)
    idle = not any(code.seen.leaves[nr].gradients for nr in own.leaves)
    instead = doubled or idle or old.startswith(f"{root}.")
    alone = root in code.finding.tensors  # a tensor, and not the parameters of a module
    left = f"[*{old}, {root if alone else f'*{root}.parameters()'}]"
    return code.put(call.args[0], (f"[{root}]" if alone else f"{root}.parameters()") if instead else left)


def _training_again(code: Code) -> Changes:
    """train() at the beginning of each turn of the training."""
    match = re.search(r"([\w.]+)\.eval\(\)", code.code)
    step = next((moment for moment in reversed(code.seen.moments) if moment.kind == "step"), None)
    loop = code.loop(code.statement(step.line)) if step is not None else None
    if match is None or loop is None or code.places.where_given(match[1]) is None:
        return [Change(code.line, code.code, code.code.replace(".eval()", ""))] if _given(code.here) else None
    return [code.instead(loop.body[0], f"{match[1]}.train()\n{{old}}")]


def _moved(code: Code) -> Changes:
    """zero_grad() moved before the backward pass; step(), or a write, behind it."""
    here, back = code.here, code.backward
    if here is None or back is None or not code.beside(here, back) or _by_pattern(code):
        return None
    both = (code.code, "{old}") if here.lineno > back.lineno else ("{old}", code.code)
    return [code.instead(back, "\n".join(both)), code.without(here)]


def _emptied(code: Code) -> Changes:
    """The gradients set back before each backward pass."""
    zero = re.search(r"([\w.]+)\.zero_grad\(\)", code.finding.fix)
    names = [name for name in code.finding.tensors if re.fullmatch(r"\w+(\[\d+\])?", name)]
    if code.here is None or (not zero and (not names or len(names) != len(code.finding.tensors))):
        return None
    by_hand = f"for p in ({', '.join(names)},): p.grad = None"
    return [code.instead(code.here, f"{zero[0] if zero is not None else by_hand}\n{{old}}")]


def _stepping(code: Code) -> Changes:
    """step(), and zero_grad() where there is none, after the backward pass."""
    name = next((_given(code.statement(held.line)) for held in code.seen.optimizers), "")
    zero = "" if "zero_grad" in code.places.text else f"\n{name}.zero_grad()"
    back = code.backward if name else None
    return [code.instead(back, f"{{old}}\n{name}.step(){zero}")] if back is not None else None


def _in_place_of_names(code: Code) -> Changes:
    """All updates of a step as writes under no_grad, and the gradients set back."""
    changes, names = [], []
    for statement in code.block(code.here) if code.here is not None else ():
        match = re.match(r"(\w+) = \1 ([-+]) (.*\.grad\b.*)", code.old(statement.lineno))
        if match is not None:
            update = f"with {code.places.engine_name}.no_grad(): {match[1]} {match[2]}= {match[3]}"
            changes.append(code.instead(statement, update))
            names.append(match[1])
    if not names or code.line not in [change.line for change in changes]:
        return None
    if not re.search(r"\.grad(\.zero_|\s*=\s*None)", code.places.text):
        last, empty = changes.pop(), "; ".join(f"{name}.grad = None" for name in names)
        changes.append(Change(last.line, last.old, f"{last.new}\n{empty}"))
    return changes


def _once_each(code: Code) -> Changes:
    """What one pass frees: without its history for the other, or computed anew for the next."""
    told, loop = code.finding.told, code.loop(code.other)
    if "own" in told:
        given = code.parts(ast.expr, lambda node: ast.unparse(node) == told["what"])
        return code.put(given[0], f"{told['what']}.detach()") if len(given) == 1 else None
    if code.here is None or loop is None or told.get("what") or not code.beside(code.here, loop):
        return None
    return [code.without(code.here), code.instead(loop.body[0], f"{code.code}\n{{old}}")]


def _own_layer(code: Code) -> Changes:
    """The layer that nothing uses, in the place of the one that two lines use."""
    told = code.finding.told
    new = code.code.replace(f"self.{told.get('other')}", f"self.{told.get('short')}")
    return [Change(code.line, code.code, new)] if "short" in told else None


def _dimension(code: Code) -> Changes:
    """The dimension that the next op works on, counted from the same end."""
    told = code.finding.told
    new = told["wanted"] - (told["dim"] - told["written"] if told["written"] < 0 else 0)
    return [Change(code.line, code.code, re.sub(rf"\bdim ?= ?{told['written']}\b", f"dim={new}", code.code))]


def _requiring(code: Code) -> Changes:
    """What is made, made so that it learns."""
    new = re.sub(r"\)$", ", requires_grad=True)", code.code)
    return [Change(code.line, code.code, new)] if code.finding.told.get("first") else None


WAYS: dict[str, Callable[[Code], Changes]] = {
    "sqrt-at-zero": _away_from_zero, "log-of-zero": _away_from_zero, "norm-at-zero": _away_from_zero,
    "non-leaf": _leaf, "in-place": _copied,
    "double-softmax": _no_squash, "broadcast-loss": _one_shape,
    "unregistered": _registered, "new-tensor": _stacked, "rebound": _in_place_of_names,
    "state-not-detached": _detached_between, "graph-grows": _as_numbers, "second-backward": _once_each,
    "stale-optimizer": _made_after, "not-in-optimizer": _held_too, "eval-mode": _training_again,
    "zero-before-step": _moved, "step-before-backward": _moved, "data-write": _moved,
    "used-twice": _own_layer, "wrong-dim": _dimension, "requires-grad-off": _requiring, "no-zero-grad": _emptied,
    "never-steps": _stepping,
}  # fmt: skip
