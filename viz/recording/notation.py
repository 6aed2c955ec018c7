"""How things are written: numbers, shapes, the mathematics of an op, names for what the program left unnamed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from viz.recording.graph import Array, Graph, Op

SYMBOLS = {
    "mul": "×",
    "add": "+",
    "sub": "−",
    "rsub": "−",
    "div": "÷",
    "truediv": "÷",
    "neg": "−(·)",
    "pow": "(·)ⁿ",
    "exp": "exp",
    "log": "ln",
    "sqrt": "√",
    "abs": "|·|",
    "sum": "Σ",
    "mean": "mean",
    "prod": "Π",
    "mm": "@",
    "bmm": "@",
    "mv": "@",
    "dot": "·",
    "matmul": "@",
    "addmm": "A@B + c",
    "t": "(·)ᵀ",
    "transpose": "(·)ᵀ",
    "square": "(·)²",
    "clone": "clone",
    "detach": "detach",
    "data": ".data",
    "sigmoid": "σ",
    "log_softmax": "ln softmax",
    "nll_loss": "NLL",
    "leaky_relu": "leaky relu",
    "squeeze": "squeeze",
    "unsqueeze": "unsqueeze",
    "expand": "expand",
    "reciprocal": "1/(·)",
    "where": "where",
    "copy_slices": "[…] =",
    "as_strided": "view",
    "select": "[i]",
    "slice": "[a:b]",
    "index": "[…]",
}
IN_PLACE = re.compile(r"^[a-z0-9_]*[a-z0-9]_$")
_SUPERSCRIPTS = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")
_SIGNS = ("×", "+", "−", "÷", "@", "·")  # stand between their operands
_INFIX = {"mul": "·", "add": "+", "sub": "−", "div": "/", "truediv": "/"}
MANY = 3000  # ops; in a larger graph no expression could be read
LONGEST_EXPRESSION = 10  # characters; past that an unnamed result is called t1, t2, …


def base_name(op: Op) -> str:
    """The op without what its engine adds: `mul` for `MulBackward0`, `__rmul__` and `mul_`."""
    return _base_name(op.name, op.recorded, op.custom)


@lru_cache(maxsize=4096)
def _base_name(name: str, recorded: bool, custom: bool) -> str:
    name = re.sub(r"Backward\d*$", "", name.rpartition("::")[2]) if recorded else name
    if recorded and not custom:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    name = name.strip("_") if name.startswith("__") else name.rstrip("_")
    if not recorded and len(name) > 3 and name[0] in "ri" and name[1:] in SYMBOLS and name not in SYMBOLS:
        name = name[1:]
    return name


def symbol(op: Op) -> str:
    """The mathematics of an op: `×` for `MulBackward0`, `(·)²` for a power of two, `+ 1` for adding a number."""
    name = base_name(op)
    number = op.constants[0] if op.constants else ""
    operands = sum(key is not None for key in op.inputs)
    if name == "pow" and operands == 1:
        power = number or "ⁿ"
        return f"(·){power.translate(_SUPERSCRIPTS)}" if len(power) <= 4 else f"(·)^{power}"
    if name in ("add", "sub", "mul", "div", "truediv") and operands == 1 and number:
        sign = SYMBOLS[name]
        return f"{sign} {number.replace('-', '−')}"
    if name == "rsub" and operands == 1 and number:
        return f"{number.replace('-', '−')} −"
    return SYMBOLS.get(name, name)


def applied(op: Op, operands: list[str]) -> str:
    """The mathematics of an op with its operands, as one says it: `2 × 3`, also for `× 3` of 2, `10 − 2`, `exp of 2`."""
    sign = symbol(op)
    if sign in _SIGNS and len(operands) == 2:
        left, right = operands[::-1] if base_name(op) == "rsub" else operands
        return f"{left} {sign} {right}"
    if len(operands) == 1 and sign[0] in _SIGNS and sign[1:2] == " ":
        return f"{operands[0]} {sign}"
    if len(operands) == 1 and sign.endswith(" −"):
        return f"{sign} {operands[0]}"
    return f"{sign} of {' and '.join(operands)}" if operands else sign


def name_values(graph: Graph) -> None:
    """Give every value without a variable an expression (`w·x`) or, where that gets long, a name (`t3`)."""
    for value in graph.values.values():
        if value.op is None and not value.name:
            value.expression = "input"
    count = 0
    expressions = len(graph.ops) <= MANY
    for value in graph.values.values():
        if value.name or value.op is None:
            continue
        op = graph.ops[value.op]
        text = _expression(graph, op) if expressions and len(op.outputs) == 1 else ""
        if not text or len(text) > LONGEST_EXPRESSION:
            count += 1
            text = f"t{count}"
        value.expression = text


def _expression(graph: Graph, op: Op) -> str:
    parts = [graph.values[key].title if key is not None else "" for key in op.inputs]
    name = base_name(op)
    number = op.constants[0] if op.constants else ""
    if name in _INFIX:
        filled = [part or number for part in parts]
        if len(filled) == 1 and number:
            filled.append(number)
        if len(filled) == 2 and all(filled):
            return _INFIX[name].join(_wrap(part, name, second) for second, part in enumerate(filled))
    if name == "rsub" and number and parts and parts[0]:
        return f"{number}−{_wrap(parts[0], 'sub', 1)}"
    if name == "pow" and len(parts) == 1 and number and len(number) <= 3:
        return f"{_wrap(parts[0], 'pow', 0)}{number.translate(_SUPERSCRIPTS)}"
    if name in ("t", "transpose", "permute", "numpy_t") and len(parts) == 1 and parts[0]:
        return f"{_wrap(parts[0], 'pow', 0)}ᵀ"
    if name == "neg" and parts:
        return f"−{_wrap(parts[0], 'mul', 1)}"
    if len(parts) == 1 and parts[0]:
        return f"{SYMBOLS.get(name, name)}({parts[0]})" if len(SYMBOLS.get(name, name)) < 5 else ""
    return ""


def _wrap(text: str, around: str, second: int) -> str:
    low = any(sign in text[1:] for sign in "+−")
    if (around in ("mul", "div", "truediv", "pow") and low) or (around == "sub" and second and low):
        return f"({text})"
    return f"({text})" if around == "pow" and "·" in text else text


def number(value: Any, digits: int = 4) -> str:
    """A number as a person writes it: `6`, `0.3`, `1.2e−7`, `nan`.

    >>> number(6.0), number(0.30000001), number(-1.5e-7)
    ('6', '0.3', '−1.5e−7')
    """
    if isinstance(value, bool):
        return str(value)
    number_ = float(value)
    if number_ - number_ != 0:
        return "nan" if number_ != number_ else "∞" if number_ > 0 else "−∞"
    text = f"{number_:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def shape(lengths: list[int] | None) -> str:
    """A shape as text: `scalar`, `(3)`, `(2, 3)`."""
    if lengths is None:
        return "shape unknown"
    if not lengths:
        return "scalar"
    return f"({', '.join(map(str, lengths))})"


def brief(array: Array | None) -> str:
    """An array in a few words: a scalar as its number, a short vector as its numbers, the rest as shape and norm."""
    if array is None:
        return ""
    if array.data is not None and not array.shape:
        return number(array.data)
    if array.data is not None and len(array.shape) == 1 and array.size <= 3:
        return f"[{', '.join(number(item, 3) for item in array.data)}]"
    if array.norm is None:
        return shape(array.shape)
    return f"{shape(array.shape)} ‖{number(array.norm, 3)}‖"


def scalar(array: Array | None) -> float | None:
    """The number in an array of one element, or None."""
    if array is None or array.data is None or array.size != 1:
        return None
    data = array.data
    while isinstance(data, list):
        data = data[0]
    return float(data)
