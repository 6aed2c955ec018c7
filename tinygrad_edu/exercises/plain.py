"""Plain data: what the student's process and the judge exchange, as JSON.

Of a student's objects only numbers, text and shapes survive: an object that claims to equal everything arrives as the
name of its type. `encode` runs with the student's code; `decode`, `show` and `same` run in the judge's process.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Any
from unicodedata import category

import numpy as np

Data = Any  # what `json` reads: None, bool, int, float, str, and lists and dicts of them

MAX_ELEMENTS = 4096  # in all parts of a value; no exercise needs more, and a larger answer is described, not sent
MAX_DEPTH = 8
MAX_INT = 10**18
MAX_TEXT = 2000  # characters of one string
MAX_TEXTS = 20_000  # characters of all strings in a value
MAX_AXES = 8
_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64|128)")
_UNREADABLE = ("Cc", "Cf", "Cs")  # Unicode's control characters, format characters and surrogates


class _Room:
    """What the value on its way may still have, in all of its parts together: elements, and characters of text."""

    def __init__(self, letters: int = MAX_TEXTS) -> None:
        self.left = MAX_ELEMENTS
        self.letters = letters

    def takes(self, count: int) -> bool:
        """Whether `count` more elements fit; if not, no further ones do."""
        self.left -= count
        return self.left >= 0

    def takes_text(self, text: str) -> bool:
        """Whether `text` fits; if not, no further text does."""
        self.letters -= len(text)
        return self.letters >= 0


def encode(value: object) -> Data:
    """Return `value` as JSON data.

    For subclasses of Python's types it uses the content in the base class, whatever the subclass says, so nothing can
    pretend to be something else.

    >>> encode((1, 2.5)), encode(np.array([1.0, float("nan")]))
    ({'tuple': [1, 2.5]}, {'array': [1.0, {'float': 'nan'}], 'shape': [2], 'dtype': 'float64'})
    """
    return _encode(value, 0, _Room())


def _encode(value: Any, depth: int, room: _Room) -> Data:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is np.bool_:
        return bool(value)
    if kind is np.ndarray or issubclass(kind, np.generic):
        return _encode_array("array", np.asarray(value), room)
    if is_tensor(value):
        return _encode_array("tensor", np.asarray(value.detach().numpy()), room)
    if issubclass(kind, str):
        text = str.__getitem__(value, slice(MAX_TEXT))
        return text if room.takes_text(text) else {"object": "str", "text": ""}
    if issubclass(kind, int):
        whole = int.__int__(value)
        return whole if abs(whole) < MAX_INT else {"object": "int", "text": "a number larger than any answer"}
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else {"float": str(number)}
    for base in (list, tuple, dict):
        if issubclass(kind, base):
            if depth >= MAX_DEPTH or not room.takes(base.__len__(value)):
                return {"object": base.__name__, "text": f"a {base.__name__} with more elements than any answer has"}
            if base is dict:
                items = list(dict.items(value))
                return {"dict": [[_encode(k, depth + 1, room), _encode(v, depth + 1, room)] for k, v in items]}
            return {base.__name__: [_encode(item, depth + 1, room) for item in base.__iter__(value)]}
    described = _described(value)
    return described if room.takes_text(described["text"]) else {"object": "object", "text": ""}


def is_tensor(value: object) -> bool:
    """Whether `value` is a tensor of either engine. Imports none: an engine that is not loaded has no tensors."""
    loaded = (getattr(sys.modules.get(engine), "Tensor", None) for engine in ("tinygrad_edu", "torch"))
    return any(isinstance(kind, type) and issubclass(type(value), kind) for kind in loaded)


def _encode_array(kind: str, array: np.ndarray, room: _Room) -> Data:
    if array.dtype.kind not in "bifu" or array.ndim > MAX_AXES or not room.takes(array.size):
        return {"object": kind, "text": f"{kind} of {array.size} elements, dtype {array.dtype}"}
    flat = [encode(item) for item in array.ravel().tolist()]
    data = {kind: flat, "shape": list(array.shape), "dtype": str(array.dtype)}
    return data if array.flags.c_contiguous else data | {"strided": True}


def _described(value: object) -> Data:
    try:
        text = text_of(repr, value, 200)
    except Exception:
        text = "an object whose repr fails"
    return {"object": type_name(value), "text": text}


def text_of(write: Callable[[object], str], value: object, length: int) -> str:
    """The start of `write(value)`, where write is str or repr: a plain str, whatever type the value's class returns."""
    return str.__getitem__(write(value), slice(length))


def type_name(value: object) -> str:
    """The name of the type of `value`, ignoring its metaclass.

    >>> type_name(2.5)
    'float'
    """
    return str.__str__(type.__dict__["__name__"].__get__(type(value)))[:200]


def readable(text: str) -> str:
    """`text` made safe for a report: its start, without half letters, and without what controls terminals or direction.

    >>> readable("no \\x1b[2J, no \\u202e")
    'no �[2J, no �'
    """
    return "".join(c if c in "\n\t" or category(c) not in _UNREADABLE else "\ufffd" for c in text[:MAX_TEXT])


def one_line(text: str) -> str:
    """A name made safe for a table or a heading: letters, signs, spaces, and the joiners of Persian and Hindi names."""
    return "".join(
        c if c in "\u200c\u200d" or category(c) not in (*_UNREADABLE, "Zl", "Zp") else "\ufffd" for c in text
    )


def decode(data: Data) -> Any:
    """Return a new value from what `encode` wrote. A tensor comes back as an array, and as contiguous as it was."""
    if not isinstance(data, dict):
        return data
    match next(iter(data)):
        case "float":
            return float(data["float"])
        case "list":
            return [decode(item) for item in data["list"]]
        case "tuple":
            return tuple(decode(item) for item in data["tuple"])
        case "dict":
            return {decode(key): decode(value) for key, value in data["dict"]}
        case "array" | "tensor" as kind:
            array = np.array([decode(item) for item in data[kind]], dtype=data["dtype"]).reshape(data["shape"])
            return np.repeat(array, 2, axis=-1)[..., ::2] if data.get("strided") else array
        case kind:
            raise ValueError(f"{kind!r} describes a value, it cannot be made again")


_NO_RESULT = {"object": "unreadable result", "text": "something that is no result"}


def checked(data: Data) -> Data:
    """`data` if `encode` could have written it, else a description: the sender is not trusted.

    Depth, elements, axes, numbers and text have limits, so that every reader of the result ends in milliseconds.
    """
    return _checked(data, 0, _Room(2 * MAX_TEXTS))


def _checked(data: Data, depth: int, room: _Room) -> Data:
    if data is None or isinstance(data, bool):
        return data
    if isinstance(data, str):
        return readable(data) if room.takes_text(data[:MAX_TEXT]) else _NO_RESULT
    if isinstance(data, int):
        return data if abs(data) < MAX_INT else _NO_RESULT
    if isinstance(data, float):
        return data if math.isfinite(data) else {"float": str(data)}
    if not isinstance(data, dict) or not data or depth > MAX_DEPTH:
        return _NO_RESULT
    kind, content = next(iter(data.items()))
    if kind == "float":
        return {kind: content} if content in ("nan", "inf", "-inf") else _NO_RESULT
    if kind in ("object", "stopped", "raised"):
        texts = [text if isinstance(text, str) else "" for text in (content, *map(data.get, ("text", "message", "as")))]
        if not all(room.takes_text(text[:MAX_TEXT]) for text in texts):
            return _NO_RESULT
        content, text, message, kind_of_error = map(readable, texts)
        if kind == "object":
            return {kind: content, "text": text}
        if kind == "stopped":
            return {kind: content}
        line = data.get("line")
        line = line if type(line) is int and 0 < line < 10**6 else None
        return {kind: content, "message": message, "line": line, "as": kind_of_error} | {
            "beneath": data.get("beneath") is True
        }
    if not isinstance(content, list) or not room.takes(len(content)):
        return _NO_RESULT
    if kind in ("list", "tuple"):
        return {kind: [_checked(item, depth + 1, room) for item in content]}
    if kind == "dict" and all(isinstance(item, list) and len(item) == 2 for item in content):
        return {kind: [[_checked(k, depth + 1, room), _checked(v, depth + 1, room)] for k, v in content]}
    if kind in ("array", "tensor"):
        shape, dtype = data.get("shape"), data.get("dtype")
        if (
            isinstance(shape, list)
            and len(shape) <= MAX_AXES
            and all(type(n) is int and 0 <= n <= MAX_ELEMENTS for n in shape)
            and math.prod(shape) == len(content)
            and isinstance(dtype, str)
            and _DTYPE.fullmatch(dtype)
        ):
            elements = [_checked(item, MAX_DEPTH, room) for item in content]
            if all(isinstance(item, bool | int | float) or (item and "float" in item) for item in elements):
                return {kind: elements, "shape": shape, "dtype": dtype}
    return _NO_RESULT


def is_number(data: Data) -> bool:
    """Whether `data` is a single number: a Python float or int, NumPy's, or a 0-d array."""
    if isinstance(data, dict):
        return "float" in data or ("array" in data and data["shape"] == [])
    return isinstance(data, int | float) and not isinstance(data, bool)


def numbers(data: Data) -> list[float] | None:
    """The elements of a number, array or tensor, in order; None for anything else."""
    if isinstance(data, dict) and ("array" in data or "tensor" in data):
        return [decode(item) for item in data["array" if "array" in data else "tensor"]]
    return [float(decode(data))] if is_number(data) else None


def sequence(data: Data) -> list[Data] | None:
    """The items of an encoded list or tuple: an answer may return either."""
    return data.get("tuple", data.get("list")) if isinstance(data, dict) else None


def items(data: Data, other: Data) -> list[Data] | None:
    """The items of a list or tuple; also the rows of an array or tensor, where `other` is a list or tuple.

    >>> same(encode((1.0, 2.0)), encode(np.array([1.0, 2.0])))
    True
    """
    if sequence(data) is not None or sequence(other) is None or not shape_of(data):
        return sequence(data)
    kind, (rows, *shape) = next(iter(data)), data["shape"]
    if not shape and kind == "array":
        return list(data[kind])
    width = math.prod(shape)
    return [
        {kind: data[kind][i * width : (i + 1) * width], "shape": shape, "dtype": data["dtype"]} for i in range(rows)
    ]


def kind_of(data: Data) -> str:
    """The kind of a piece of data, in plain words. Values of two kinds are never the same answer."""
    if data is None:
        return "None"
    if is_number(data):
        return "a number"
    if not isinstance(data, dict):
        return "True or False" if isinstance(data, bool) else "a string"
    if sequence(data) is not None:
        return "a tuple or list"
    kind = next(iter(data))
    names = {"array": "an array", "tensor": "a tensor", "dict": "a dict", "raised": "an error", "stopped": "no end"}
    return names.get(kind) or f"a value of type {data['object']}"


def same(a: Data, b: Data, rtol: float = 1e-5) -> bool:
    """Whether two observations agree: same kind, same shape, numbers within `rtol` of the largest of them.

    NaN agrees with NaN, because a misconception may produce it.
    """
    xs, ys = items(a, b), items(b, a)
    if xs is not None and ys is not None:
        return len(xs) == len(ys) and all(same(x, y, rtol) for x, y in zip(xs, ys, strict=True))
    if kind_of(a) != kind_of(b):
        return False
    ns, ms = numbers(a), numbers(b)
    if ns is not None and ms is not None:
        return shape_of(a) == shape_of(b) and len(ns) == len(ms) and close(ns, ms, rtol)
    if isinstance(a, dict) and isinstance(b, dict):
        if "dict" in a:
            return len(a["dict"]) == len(b["dict"]) and all(
                k == j and same(v, w, rtol) for (k, v), (j, w) in zip(ordered(a), ordered(b), strict=True)
            )
        return a.get("as") == b.get("as") and a.get("object") == b.get("object")
    return bool(a == b)


def ordered(data: Data) -> list[list[Data]]:
    """The items of an encoded dict, in an order that does not depend on insertion."""
    return sorted(data["dict"], key=lambda item: repr(item[0]))


def shape_of(data: Data) -> list[int]:
    return list(data.get("shape", [])) if isinstance(data, dict) else []


def close(xs: list[float], ys: list[float], rtol: float) -> bool:
    """Compare elements within `rtol` of the largest magnitude, which forgives cancellation to nearly 0."""
    scale = max((abs(y) for y in ys if math.isfinite(y)), default=1.0)
    near = rtol * scale + 1e-12
    return all(x == y or abs(x - y) <= near or (x != x and y != y) for x, y in zip(xs, ys, strict=True))


def show(data: Data) -> str:
    """`data` in readable form: `[[1, 2], [3, 4]]`, `0.25`, `(3, tensor([1, 2]))`.

    >>> show(encode((np.array([[1.0, 2.5]]), "w")))
    "(array([[1, 2.5]]), 'w')"
    """
    if not isinstance(data, dict):
        return f"{data:.6g}" if isinstance(data, float) else repr(data)
    kind = next(iter(data))
    if kind == "float":
        return str(data["float"])
    if kind == "list":
        return "[" + ", ".join(map(show, data["list"])) + "]"
    if kind == "tuple":
        return "(" + ", ".join(map(show, data["tuple"])) + ("," if len(data["tuple"]) == 1 else "") + ")"
    if kind == "dict":
        return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in data["dict"]) + "}"
    if kind in ("array", "tensor"):
        text = _nested([show(item) for item in data[kind]], data["shape"])
        return text if kind == "array" and not data["shape"] else f"{kind}({text})"
    if kind == "raised":
        return f"{data['raised']}: {data['message']}" if data["message"] else str(data["raised"])
    return str(data.get("text", data.get("stopped")))


def _nested(items: list[str], shape: list[int]) -> str:
    if 0 in shape:
        return f"[] of shape {tuple(shape)}"
    for size in reversed(shape):
        items = ["[" + ", ".join(items[i : i + size]) + "]" for i in range(0, len(items), size)]
    return items[0] if items else "[]"


def size(data: Data) -> int:
    """The size of `data` for a reader: the judge shows the smallest input that tells right from wrong."""
    return len(show(data))
