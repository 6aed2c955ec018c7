"""Writes the fixed line of a finding, if changing one line is the fix."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation

ROUNDS = {"round", "floor", "ceil", "trunc", "sign"}
SQUASHES = {"softmax", "sigmoid", "softmin"}
ADAPTIVE = {"Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adamax"}
LITTLE = "1e-8"


class Line:
    """One line of a program that holds a whole statement, or the head of one.

    Args:
        code: the line without its indentation.
        engine: how the program calls the engine, such as `torch`.

    Raises:
        SyntaxError: the line is part of a longer statement.
    """

    def __init__(self, code: str, engine: str) -> None:
        self.code = code
        self.engine = engine
        head = code.split("#")[0].rstrip()
        text = f"{head}\n  pass" if head.endswith(":") else f"{head}\ndef f(): pass" if head.startswith("@") else code
        self.tree = ast.parse(text)

    def nodes(self, kind: type[ast.AST]) -> Iterator[ast.AST]:
        """The parts of a kind, the outermost first."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))

    def text(self, node: ast.AST) -> str:
        """A part as it is written."""
        return ast.get_source_segment(self.code, node) or ast.unparse(node)

    def operand(self, node: ast.AST) -> str:
        """A part as it can be written before a `.`: in parentheses if it needs them."""
        simple = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
        return self.text(node) if isinstance(node, simple) else f"({self.text(node)})"

    def put(self, node: ast.AST, new: str) -> str:
        """The line with another text for a part."""
        first = len(self.code.encode()[: node.col_offset].decode())  # type: ignore[attr-defined]
        last = len(self.code.encode()[: node.end_col_offset].decode())  # type: ignore[attr-defined]
        return self.code[:first] + new + self.code[last:]

    def put_in(self, whole: ast.AST, node: ast.AST, new: str) -> str:
        """The text of `whole` with another text for a part of it."""
        text, part = self.text(whole), self.text(node)
        at = len(self.code.encode()[: node.col_offset].decode()) - len(self.code.encode()[: whole.col_offset].decode())  # type: ignore[attr-defined]
        return text[:at] + new + text[at + len(part) :]

    def call(self, *names: str) -> tuple[ast.Call, ast.expr] | None:
        """The only call of one of these names, and its object: its first argument, or the part before the `.`."""
        found = [
            node
            for node in self.nodes(ast.Call)
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names
        ]
        if len(found) != 1:
            return None
        func = found[0].func
        method = isinstance(func, ast.Attribute) and not re.fullmatch(
            r"torch|T|F|np|math|(torch\.|T\.)?(nn|nn\.functional|nn\.init|special|linalg)", ast.unparse(func.value)
        )
        if method and ast.unparse(func.value) != "self":  # type: ignore[attr-defined]
            return found[0], func.value  # type: ignore[attr-defined]
        return (found[0], found[0].args[0]) if found[0].args else None


def changed(seen: Observation, finding: Finding) -> tuple[str, str] | None:
    """The line that a finding names, and its replacement; None if the fix takes more than one line."""
    rewrite = REWRITES.get(finding.kind)
    code = seen.places.code(finding.line)
    if rewrite is None or not code:
        return None
    try:
        new = rewrite(Line(code, seen.places.engine_name), finding, seen)
        if new is not None and new != code:
            Line(new, "")
            return code, new
    except (SyntaxError, ValueError):
        pass
    return None


def _numbers_away(*names: str) -> Callable[[Line, Finding, Observation], str | None]:
    """`f(x)` → `f(x + 1e-8)`."""

    def rewrite(line: Line, finding: Finding, seen: Observation) -> str | None:
        found = line.call(*names)
        if found is None:
            return _root(line) if "sqrt" in names else None
        call, given = found
        new = f"{line.text(given)} + {LITTLE}"
        if re.search(r"(received|at) -", finding.message):  # adding a little does not help below 0
            new = f"{line.operand(given)}.clamp(min={LITTLE})"
        return line.put(given, f"({new})" if isinstance(call.func, ast.Attribute) and call.func.value is given else new)

    return rewrite


def _root(line: Line) -> str | None:
    powers = [node for node in line.nodes(ast.BinOp) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    powers = [node for node in powers if ast.unparse(node.right) in ("0.5", "1 / 2", "1.5", "-0.5")]
    return line.put(powers[0].left, f"({line.text(powers[0].left)} + {LITTLE})") if len(powers) == 1 else None


def _divisor(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = [node for node in line.nodes(ast.BinOp) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    return line.put(found[0].right, f"({line.text(found[0].right)} + {LITTLE})") if len(found) == 1 else None


def _straight(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = line.call(*ROUNDS)
    if found is None:
        return None
    call, given = found
    return line.put(call, f"({line.text(given)} + ({line.text(call)} - {line.operand(given)}).detach())")


def _registered(line: Line, finding: Finding, seen: Observation) -> str | None:
    assign = next((node for node in line.tree.body if isinstance(node, ast.Assign)), None)
    if assign is None:
        return None
    nn = "nn" if re.search(r"(?<![\w.])nn\.", seen.places.text) else f"{line.engine}.nn"
    value = assign.value
    inner = value.func.value if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
    if isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("Parameter") and inner.args:
        rest = line.text(value)[len(line.text(inner)) :]  # `Parameter(x).to(d)` → `Parameter(x.to(d))`
        return line.put(value, line.put_in(inner, inner.args[0], line.operand(inner.args[0]) + rest))
    kind = "Parameter" if "arameter" in finding.fix and "List" not in finding.fix else ""
    if isinstance(value, (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)):
        kind = ("Parameter" if "ParameterList" in finding.fix else "Module") + (
            "Dict" if "Dict" in type(value).__name__ else "List"
        )
        empty = not getattr(value, "elts", getattr(value, "keys", [0]))
        return line.put(value, f"{nn}.{kind}({'' if empty else line.text(value)})")
    return line.put(value, f"{nn}.Parameter({line.text(value)})") if kind else None


def _requires(line: Line, finding: Finding, seen: Observation) -> str | None:
    false = [node for node in line.nodes(ast.Constant) if isinstance(node, ast.Constant) and node.value is False]
    if len(false) == 1:
        return line.put(false[0], "True")
    assign = next((node for node in line.tree.body if isinstance(node, ast.Assign)), None)
    if assign is None or not isinstance(assign.value, ast.Call):
        return None
    if ast.unparse(assign.value.func).endswith("from_pretrained"):
        return f"{line.text(assign)[:-1]}, freeze=False)"
    return f"{line.text(assign)}.requires_grad_()" if "requires_grad" not in line.code else None


def _one_shape(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = re.search(r"shapes \(([^)]*)\) and \(([^)]*)\)", finding.message)
    if found is None:
        return None
    a, b = ([int(size) for size in side.split(",") if size.strip()] for side in found.groups())
    differences = [
        node for node in line.nodes(ast.BinOp) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    ]
    calls = [node for node in line.nodes(ast.Call) if isinstance(node, ast.Call) and len(node.args) >= 2]
    if len(differences) == 1:
        sides: list[ast.expr] = [differences[0].left, differences[0].right]
    elif len(calls) == 1:
        sides = calls[0].args[:2]
    else:
        return None
    longer = 0 if len(a) > len(b) else 1
    if len(a) == len(b) or (a, b)[longer][1:2] != [1]:
        return None
    return line.put(sides[longer], f"{line.operand(sides[longer])}.squeeze(1)")


def _no_squash(line: Line, finding: Finding, seen: Observation) -> str | None:
    if "takes logarithms" in finding.message:  # of a loss that wants them, so nothing is taken away
        module = line.call("softmax")
        return line.put(module[0], f"{line.text(module[0])}.log()") if module is not None else None
    made = line.call("Softmax", "Sigmoid", "Softmin")
    if made is None:
        ready = [
            node for node in line.nodes(ast.Call)
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("Softmax", "Sigmoid")
        ]  # fmt: skip
        if len(ready) == 1:
            return line.put(ready[0], f"{ast.unparse(ready[0].func).rpartition('.')[0]}.Identity()".lstrip("."))
    found = line.call(*SQUASHES)
    return line.put(found[0], line.text(found[1])) if found is not None and found[0].func is not found[1] else None


def _grad_on(line: Line, finding: Finding, seen: Observation) -> str | None:
    for old, new in (
        ("no_grad()", "enable_grad()"),
        ("inference_mode()", "inference_mode(False)"),
        ("set_grad_enabled(False)", "set_grad_enabled(True)"),
    ):
        if line.code.count(old) == 1:
            return line.code.replace(old, new)
    return None


def _rate(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = re.search(r"\blr\s*=\s*([0-9.eE+-]+)", line.code)
    if found is None:
        return None
    usual = "1e-3" if any(f"{kind}(" in line.code for kind in ADAPTIVE) else "1e-2"
    smaller = finding.kind == "rate-too-large"
    if smaller and float(found[1]) <= float(usual):
        usual = f"{float(found[1]) / 10:g}"
    elif not smaller and float(found[1]) >= float(usual):
        usual = f"{float(found[1]) * 10:g}"
    return line.code[: found.start(1)] + usual + line.code[found.end(1) :]


def _written(line: Line, finding: Finding, seen: Observation) -> str | None:
    """`w = w - lr * w.grad` → `with torch.no_grad(): w -= lr * w.grad`."""
    assign = line.tree.body[0] if len(line.tree.body) == 1 else None
    if not isinstance(assign, ast.Assign) or not isinstance(assign.value, ast.BinOp):
        return None
    target, value = ast.unparse(assign.targets[0]), assign.value
    sign = {ast.Sub: "-", ast.Add: "+"}.get(type(value.op))
    if sign is None or ast.unparse(value.left) != target:
        return None
    return f"with {line.engine}.no_grad(): {target} {sign}= {line.text(value.right)}"


def _a_leaf(line: Line, finding: Finding, seen: Observation) -> str | None:
    assign = line.tree.body[0] if len(line.tree.body) == 1 else None
    if not isinstance(assign, ast.Assign) or not isinstance(assign.targets[0], (ast.Name, ast.Attribute)):
        return None
    asked = line.call("requires_grad_")
    if asked is not None and not asked[0].args and not asked[0].keywords:
        call, given = asked
        value = line.put_in(assign.value, call, line.operand(given))
        return line.put(assign.value, f"{value}.requires_grad_()")
    return line.put(assign.value, f"{line.operand(assign.value)}.detach().requires_grad_()")


def _random(line: Line, finding: Finding, seen: Observation) -> str | None:
    for name in ("zeros_", "ones_", "constant_"):
        found = line.call(name)
        if found is not None and "init." in line.code:
            # Xavier's numbers need a matrix: a loop over all parameters meets biases as well.
            written = [leaf for leaf in seen.leaves if any(write.line == finding.line for write in leaf.writes)]
            usual = "xavier_uniform_({})" if all(len(leaf.shape) > 1 for leaf in written) else "normal_({}, std=0.1)"
            around = ast.unparse(found[0].func).rpartition(".")[0]
            return line.put(found[0], f"{around}.{usual.format(line.text(found[1]))}")
    new = re.sub(r"\.(zero_\(\)|fill_\([^()]*\))", ".normal_(0, 0.1)", line.code)
    new = re.sub(r"\.(zeros|ones)\(", ".randn(", new) if new == line.code else new
    return re.sub(r"\.full\((\(.*?\)), [^(),]+", r".randn(\1", new) if new == line.code else new


def _stacked(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = line.call("tensor", "as_tensor", "FloatTensor", "Tensor")
    if found is None or not isinstance(found[1], (ast.List, ast.Name, ast.ListComp)):
        return None
    return line.put(found[0], _stack(line, found[1]))


def _stack(line: Line, given: ast.expr) -> str:
    """`stack([…])` of tensors; of a list of lists, each row is stacked first."""
    text = line.text(given)
    if isinstance(given, ast.List) and given.elts and all(isinstance(row, ast.List) for row in given.elts):
        text = f"[{', '.join(_stack(line, row) for row in given.elts)}]"
    return f"{line.engine}.stack({text})"


def _the_tensor(line: Line, finding: Finding, seen: Observation) -> str | None:
    calls = [
        node for node in line.nodes(ast.Call)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "float" and len(node.args) == 1
    ]  # fmt: skip
    return line.put(calls[0], line.operand(calls[0].args[0])) if len(calls) == 1 else None


def _by_mode(line: Line, finding: Finding, seen: Observation) -> str | None:
    found = line.call("dropout")
    if found is None or "does not know the mode" not in finding.message or "training" in line.code:
        return None
    return line.put(found[0], f"{line.text(found[0])[:-1]}, training=self.training)")


REWRITES: dict[str, Callable[[Line, Finding, Observation], str | None]] = {
    "sqrt-at-zero": _numbers_away("sqrt", "rsqrt"),
    "log-of-zero": _numbers_away("log", "log2", "log10"),
    "norm-at-zero": _numbers_away("norm"),
    "zero-by-zero": _divisor,
    "flat": _straight,
    "unregistered": _registered,
    "requires-grad-off": _requires,
    "broadcast-loss": _one_shape,
    "double-softmax": _no_squash,
    "no-grad": _grad_on,
    "inference-mode": _grad_on,
    "rate-too-small": _rate,
    "rate-too-large": _rate,
    "rebound": _written,
    "non-leaf": _a_leaf,
    "equal-units": _random,
    "new-tensor": _stacked,
    "item": _the_tensor,
    "dropout-active": _by_mode,
}
