"""How things are written: numbers, shapes, the mathematics of an op, and names for values without a variable."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from viz.recording.graph import Array, Graph, Op

_SYMBOLS = """
mul ×, add +, sub −, rsub −, div ÷, truediv ÷, floordiv //, floor_divide //, mod %, remainder %, gt >, lt <, ge ≥,
le ≤, eq =, ne ≠, neg −(·), pow (·)ⁿ, exp exp, log ln, sqrt √, abs |·|, sum Σ, mean mean, prod Π, mm @, bmm @, mv @,
dot ·, matmul @, addmm A@B + c, t (·)ᵀ, transpose (·)ᵀ, square (·)², clone clone, detach detach, data .data, sigmoid σ,
log_softmax ln softmax, nll_loss NLL, nll_loss2d NLL, leaky_relu leaky relu, prelu_kernel prelu,
linalg_vector_norm norm, native_batch_norm batch norm, native_layer_norm layer norm, native_group_norm group norm,
convolution conv, max_pool2d_with_indices max pool, scaled_dot_product_flash_attention_for_cpu attention,
squeeze squeeze, unsqueeze unsqueeze, unsafe_view view, unsafe_split split, unsafe_chunk chunk, split_with_sizes split,
lstm_layer LSTM, lstm_step LSTM step, mkldnn_rnn_layer LSTM, reshape_alias view, to_copy to, expand expand,
reciprocal 1/(·), where where, copy_slices […] =, setitem […] =, as_strided view, select [i], slice [a:b], index […],
getitem […], BackwardHookFunction module hook"""
SYMBOLS: dict[str, str] = dict(re.findall(r"([\w-]+) ([^,]+)", _SYMBOLS))
IN_PLACE = re.compile(r"^[a-z0-9_]*[a-z0-9]_$")
_SUPERSCRIPTS = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")
# The words or signs between two operands when a step is described; a symbol that is a sign already stands there itself.
_BETWEEN = {name: sign for name, sign in SYMBOLS.items() if sign in "×+−÷//%><≥≤=≠@·"} | {"pow": "to the power"}
_INFIX = {"mul": "·", "add": "+", "sub": "−", "div": "/", "truediv": "/", "gt": ">", "lt": "<", "ge": "≥", "le": "≤"}
# For these ops a number among the arguments is mentioned. For others it is only a setting: a dimension or a shape.
_WITH_NUMBERS = {
    *("clamp", "clamp_min", "clamp_max", "fmod", "lerp", "where", "masked_fill"),
    *("leaky_relu", "threshold", "addcmul", "addcdiv"),
}
# How an op on an array is described, if its symbol has a place for the operand.
_DESCRIBED = """
neg the negative, abs the absolute value, square the square, pow a power, reciprocal the reciprocal, t the transpose,
transpose the transpose, select a part, slice a slice, index chosen entries, getitem a part"""
_SAID: dict[str, str] = dict(re.findall(r"([\w-]+) ([^,]+)", _DESCRIBED))
_ROUNDED = {"floor": ", rounded down,", "trunc": ", rounded toward zero,"}
_OPERANDS = ("input", "other", "exponent", "mat2", "vec2")  # keywords that may also pass operands
MANY = 3000  # ops; in a larger graph expressions would be unreadable
LONGEST_EXPRESSION = 10  # characters; a longer unnamed result is called t1, t2, …


def base_name(op: Op) -> str:
    """The op's name without what its engine adds: `mul` for `MulBackward0`, `__rmul__` and `mul_`."""
    if op.name.endswith("::NotImplemented"):  # PyTorch's node for an op without a derivative
        return _base_name(op.function, False, False)
    return _base_name(op.name, op.recorded, op.custom)


@lru_cache(maxsize=4096)
def _base_name(name: str, recorded: bool, custom: bool) -> str:
    name = re.sub(r"Backwards?\d*(_copy)?$", "", name.rpartition("::")[2]) if recorded else name
    if recorded and not custom:
        name = re.sub(r"(\d)([DP])(?=[A-Z]|$)", lambda match: match[0].lower(), name)  # MaxPool2D, Log1P
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        name = re.sub(r"^linalg_(?!vector_norm)(.+?)(_ex)?$", r"\1", name)
    name = name.strip("_") if name.startswith("__") else name.rstrip("_")
    if not recorded and len(name) > 3 and name[0] in "ri" and name[1:] in SYMBOLS and name not in SYMBOLS:
        name = name[1:]
    return name


def called(op: Op) -> str:
    """The function that the program called, in the form of `base_name`: `dropout`, even if a `mul` was recorded."""
    return _base_name(op.function, False, False)


def _turned(op: Op) -> bool:
    """Whether the call's second operand comes first, as in `2 - a` and `2 ** a`, where Python calls a method of `a`."""
    return bool(re.fullmatch(r"__r\w+__|rsub", op.function or op.name)) and "__round__" not in (op.function, op.name)


def symbol(op: Op) -> str:
    """The mathematics of an op: `×` for `MulBackward0`, `(·)²` for a power of two, `+ 1` for adding a number."""
    if op.whole:
        return op.whole
    name = base_name(op)
    number = op.constants[0].replace("-", "−") if op.constants else ""
    operands = len(op.inputs) - op.inputs.count(None)
    if name == "pow" and operands == 1:
        if _turned(op) or (op.arguments and op.arguments[0].value is None) or op.name == "PowBackward2":
            return f"{number}^(·)" if number else "n^(·)"
        power = op.constants[0] if op.constants else "ⁿ"
        return f"(·){power.translate(_SUPERSCRIPTS)}" if len(power) <= 4 else f"(·)^{power}"
    sign = SYMBOLS.get(name, name)
    for argument in op.arguments if name in _BETWEEN and operands == 2 else ():
        if argument.keyword == "alpha":
            return f"{sign} {argument.text.replace('-', '−')}·(·)"
    if name in _BETWEEN and operands == 1 and number:
        comes_first = name not in ("mul", "add") and (name == "rsub" or _turned(op))
        return f"{number} {sign}" if comes_first else f"{sign} {number}"
    return sign


def applied(op: Op, text_of: Callable[[str], str]) -> str:
    """The mathematics of an op with its operands, as spoken: `2 × 3`, `10 − 2`, `|−2|`, `exp of 2`.

    `text_of` returns the text for the value of a key.
    """
    name = base_name(op)
    parts, named = _operands(op, name, text_of)
    if name in _BETWEEN and len(parts) == 2:
        if "alpha" in named:
            scaled = 0 if name == "rsub" else 1
            parts[scaled] = f"{named['alpha']} × {parts[scaled]}"
        left, right = parts
        if name == "pow":
            left = f"({left})" if left.startswith("−") else left
        else:
            right = f"({right})" if right.startswith("−") else right
        return f"{left} {_BETWEEN[name]} {right}{_ROUNDED.get(named.get('rounding_mode', ''), '')}"
    if name == "addmm" and len(parts) == 3 and not named:
        return f"{parts[1]} @ {parts[2]} + {parts[0]}"
    if name in ("copy_slices", "setitem") and len(parts) > 1:
        return f"{parts[-1]} written into {parts[0]}{f' at {listed(parts[1:-1])}' if parts[2:] else ''}"
    if name == "copy_slices" and parts and op.function:
        done = called(op)
        return f"{SYMBOLS.get(done, done)} on a part of {parts[0]}"
    sign = symbol(op)
    if len(parts) == 1 and "·" in sign and re.fullmatch(r"−?[\d.]+", parts[0]):
        bare = not parts[0].startswith("−") and name != "neg"
        return sign.replace("(·)" if "(·)" in sign and bare else "·", parts[0])
    if name in _BETWEEN and len(parts) == 1:  # a factor that belongs to the call and is not shown
        own = f" of {op.function}'s own" if op.function.isidentifier() and op.function[0] != "_" else ""
        other = f"something{own if called(op) != name else ''}"
        # In the graph of a pass, what no further gradient reaches is a number or the gradient that came.
        numbers = [saved.text for saved in op.saved if saved.value is None and saved.text]
        other = next(iter(numbers), "a gradient") if op.during == "backward" else other
        first, second = (other, parts[0]) if op.next and op.next[0][0] is None else (parts[0], other)
        return f"{first} {_BETWEEN[name]} {second}"
    return f"{_SAID.get(name, sign)} of {listed(parts)}" if parts else sign


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _operands(op: Op, name: str, text_of: Callable[[str], str]) -> tuple[list[str], dict[str, str]]:
    """The operands of an op in the order in which one says them, and the other keyword arguments of its call."""
    if not op.arguments:
        parts = [text_of(key) for key in op.inputs if key is not None]
        if name in _BETWEEN and len(parts) == 1 and op.constants:
            parts.append(op.constants[0].replace("-", "−"))
        return parts[::-1] if name == "rsub" or op.name == "PowBackward2" else parts, {}
    parts = []
    named: dict[str, str] = {}
    for argument in op.arguments:
        text = text_of(argument.value) if argument.value is not None else argument.text.replace("-", "−")
        if argument.keyword and argument.keyword not in _OPERANDS and argument.value is None:
            named[argument.keyword] = text
            if name in _WITH_NUMBERS:
                parts.append(f"{argument.keyword} {text}")
        elif argument.value is not None or name in _BETWEEN or name in _WITH_NUMBERS:
            parts.append(text)
    return parts[::-1] if _turned(op) else parts, named


def name_values(graph: Graph) -> None:
    """Give every value without a variable an expression (`w·x`) or, if that is too long, a name (`t3`)."""
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
    name = base_name(op)
    parts, named = _operands(op, name, lambda key: graph.values[key].title)
    if named or not all(parts):
        return ""
    if name == "rsub":
        name = "sub"
    if name in _INFIX and len(parts) == 2:
        return f"{_wrap(parts[0], name, 0)}{_INFIX[name]}{_wrap(parts[1], name, 1)}"
    if name == "pow" and len(parts) == 2 and not _turned(op) and re.fullmatch(r"[−\d.]{1,3}", parts[1]):
        return f"{_wrap(parts[0], 'pow', 0)}{parts[1].replace('−', '-').translate(_SUPERSCRIPTS)}"
    if len(parts) != 1:
        return ""
    if name in ("t", "transpose", "permute", "numpy_t"):
        return f"{_wrap(parts[0], 'pow', 0)}ᵀ"
    if name == "neg":
        return f"−{_wrap(parts[0], 'mul', 1)}"
    if name == "abs":
        return f"|{parts[0]}|"
    sign = SYMBOLS.get(name, name)
    return f"{sign}({parts[0]})" if len(sign) < 5 and name not in _BETWEEN else ""


def _wrap(text: str, around: str, second: int) -> str:
    low = "+" in text[1:] or "−" in text[1:]
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
    if isinstance(value, str) and value.endswith("j"):  # JSON has nan and infinity as text, too
        whole = complex(value)
        imag = number(whole.imag, digits)
        return f"{number(whole.real, digits)}{imag if imag[0] == '−' else '+' + imag}j"
    number_ = float(value)
    if number_ - number_ != 0:
        return "nan" if number_ != number_ else "∞" if number_ > 0 else "−∞"
    text = f"{number_:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def large(count: float) -> str:
    """A large number with the prefix of its unit: `3.6 G`, `44 M`, `980 `.

    >>> large(3_600_000_000), large(980)
    ('3.6 G', '980 ')
    """
    for prefix in ("", "k", "M", "G", "T"):
        if count < 999.5 or prefix == "T":
            return f"{number(count, 3 if count >= 100 else 2)} {prefix}"
        count /= 1000
    raise AssertionError


def shape(lengths: list[int] | None) -> str:
    """A shape as text: `scalar`, `(3)`, `(2, 3)`."""
    if lengths is None:
        return "shape unknown"
    if not lengths:
        return "scalar"
    return f"({', '.join(map(str, lengths))})"


def brief(array: Array | None) -> str:
    """An array in a few words: a scalar as its number, a short vector as its numbers, any other as shape and norm."""
    if array is None:
        return ""
    if array.data is not None and not array.shape:
        return number(array.data)
    if (only := scalar(array)) is not None:
        return f"{'[' * len(array.shape)}{number(only)}{']' * len(array.shape)}"
    if array.data is not None and len(array.shape) == 1 and array.size <= 3:
        return f"[{', '.join(number(item, 3) for item in array.data)}]"
    if array.norm is None:
        return shape(array.shape)
    return f"{shape(array.shape)} norm {number(array.norm, 3)}"


def short(array: Array | None) -> str:
    """An array as briefly as possible, next to something that shows its shape: its number or numbers, else its norm."""
    if array is None or array.norm is None or scalar(array) is not None or (len(array.shape) == 1 and array.size <= 3):
        return brief(array)
    return f"norm {number(array.norm, 2)}"


def gradient(array: Array | None, name: str = "grad") -> str:
    """A gradient that passes through, as briefly as possible: `grad 3`, or by its norm, `|grad| 0.76`."""
    text = short(array)
    return f"|{name}| {text.removeprefix('norm ')}" if text.startswith("norm ") else f"{name} {text}".strip()


def held(array: Array | None) -> str:
    """What the attribute `.grad` holds, as briefly as possible: `.grad 3`, `.grad None`."""
    return ".grad None" if array is None else gradient(array, ".grad")


def scalar(array: Array | None) -> float | None:
    """The real number in an array of one element, or None."""
    if array is None or array.data is None or array.size != 1 or array.dtype.startswith("complex"):
        return None
    data = array.data
    while isinstance(data, list):
        data = data[0]
    return float(data)
