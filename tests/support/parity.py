"""Runs one program on PyTorch and on tinygrad_edu, and reports every difference.

A program is `def program(T)`: it gets an engine and returns whatever is to be compared. `observe` turns that into plain
data: of a tensor its values, flags, version, gradient and the whole graph behind it, with a number for each node, so
that shared nodes show. `differences` compares two such observations.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import tinygrad_edu

ENGINES = {"torch": torch, "tinygrad_edu": tinygrad_edu}
Program = Callable[[Any], Any]

# How much of an error's message has to be PyTorch's own: enough for a search engine.
PHRASE = 28


def run(program: Program, engine: Any) -> Any:
    """What `program` returns on `engine`, observed; or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = program(engine)
        except Exception as error:
            return error_of(error)
        return observe(result)


def attempt(action: Callable[[], Any]) -> Any:
    """Inside a program: the result of `action`, or the error that it raises, as something to compare."""
    try:
        return action()
    except Exception as error:
        return error_of(error)


class Raised(tuple):
    """The type of an error, and its message."""

    __slots__ = ()


def error_of(error: Exception) -> Raised:
    return Raised((type(error).__name__, str(error)))


def watch(*roots: Any, log: list[Any] | None = None) -> list[Any]:
    """A list that fills as nodes behind `roots` run: which node, and the gradients that came in."""
    log = [] if log is None else log
    numbers = Numbers()
    for root in roots:
        numbers.number(getattr(root, "grad_fn", root))
    for number, node in enumerate(numbers.nodes):
        node.register_prehook(_logger(log, f"{number} {node.name()}"))
    return log


def _logger(log: list[Any], label: str) -> Callable[[Any], None]:
    return lambda grads: log.append((label, *(None if g is None else values_of(g) for g in grads)))


def names(t: Any) -> str:
    """The graph behind a tensor in one line, such as `MulBackward0(AccumulateGrad, AccumulateGrad)`."""
    node = getattr(t, "grad_fn", t)
    if node is None:
        return "None"
    inner = ", ".join(names(n) if n is not None else "None" for n, _ in node.next_functions)
    return node.name().removeprefix("torch::autograd::") + (f"({inner})" if inner else "")


class Numbers:
    """The nodes behind some tensors, each with a number, in the order in which a walk meets them first."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self._of: dict[int, int] = {}

    def number(self, node: Any) -> int | None:
        """The number of `node`; it and all behind it have one from now on."""
        if node is None:
            return None
        stack = [node]
        while stack:
            n = stack.pop()
            if id(n) in self._of:
                continue
            self._of[id(n)] = len(self.nodes)
            self.nodes.append(n)
            stack.extend(m for m, _ in reversed(n.next_functions) if m is not None)
        return self._of[id(node)]

    def table(self) -> list[Any]:
        """Of each node its name, its edges, and what it shows of what it saved."""
        return [
            {
                "name": n.name(),
                "next_functions": [(None if m is None else self._of[id(m)], nr) for m, nr in n.next_functions],
                # Without an edge there is nothing to compute, and what is kept all the same is a matter of each rule.
                "saved": saved(n) if any(m is not None for m, _ in n.next_functions) else {},
            }
            for n in self.nodes
        ]


def saved(node: Any) -> dict[str, str]:
    """The `_saved_…` names of a node, and what is behind each: a tensor, None, freed, changed, or a setting."""
    return {name: _kind_of_saved(node, name) for name in sorted(dir(node)) if _is_saved(name)}


def _is_saved(name: str) -> bool:
    """Names of what a node saved; the sizes and strides that only PyTorch's own rules use are left out."""
    return name.startswith("_saved_") and "_sym_" not in name


def _kind_of_saved(node: Any, name: str) -> str:
    try:
        value = getattr(node, name)
    except RuntimeError as error:
        return str(error)[:PHRASE]
    if value is None:
        return "None"
    return "tensor" if hasattr(value, "grad_fn") else "setting"


def values_of(t: Any) -> np.ndarray:
    return np.array(t.detach().numpy(force=True))


def observe(result: Any) -> Any:
    """`result`, which may hold tensors in tuples, lists and dicts, as plain data of neither engine."""
    numbers = Numbers()
    return {"result": _plain(result, numbers), "graph": numbers.table()}


def _plain(value: Any, numbers: Numbers) -> Any:
    if hasattr(value, "requires_grad_"):
        return _plain_tensor(value, numbers)
    if isinstance(value, Raised):
        return value
    if isinstance(value, dict):
        return {key: _plain(v, numbers) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v, numbers) for v in value]
    if hasattr(value, "next_functions"):
        return {"node": numbers.number(value)}
    return value


def _plain_tensor(t: Any, numbers: Numbers) -> Any:
    grad_fn = attempt(lambda: t.grad_fn)
    if isinstance(grad_fn, Raised):
        return {"values": values_of(t.data), "grad_fn": grad_fn}
    plain = {"values": values_of(t), "dtype": str(t.dtype).rpartition(".")[2], "requires_grad": t.requires_grad}
    plain |= {"is_leaf": t.is_leaf, "retains_grad": t.retains_grad, "output_nr": t.output_nr}
    plain |= {"version": "none" if t.is_inference() else t._version, "is_view": t._is_view()}
    plain |= {"base": None if t._base is None else (list(t._base.shape), t._base._version)}
    return plain | {
        "grad_fn": numbers.number(grad_fn),
        "grad": None if t.grad is None else _plain_gradient(t.grad, numbers),
    }


def _plain_gradient(t: Any, numbers: Numbers) -> Any:
    """What the engine made. Whether it kept an array that it was sent or copied it, the version and views tell; that is
    the engine's own business."""
    plain = _plain_tensor(t, numbers)
    return {key: plain[key] for key in ("values", "dtype", "requires_grad", "is_leaf", "grad_fn")}


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """One line for each place at which two observations differ."""
    if isinstance(theirs, Raised) and isinstance(ours, Raised):
        if theirs[0] != ours[0] or not opens_alike(theirs[1], ours[1]):
            yield f"{path}: PyTorch raises {theirs[0]}: {theirs[1]!r}; tinygrad_edu {ours[0]}: {ours[1]!r}"
    elif isinstance(theirs, np.ndarray) and isinstance(ours, np.ndarray):
        if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
            yield f"{path}: PyTorch has {theirs.shape} {theirs.dtype}, tinygrad_edu {ours.shape} {ours.dtype}"
        elif not _close(theirs, ours):
            yield f"{path}: PyTorch has {theirs.tolist()}, tinygrad_edu {ours.tolist()}"
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        for key in [*theirs, *(k for k in ours if k not in theirs)]:
            yield from differences(theirs.get(key, "nothing"), ours.get(key, "nothing"), f"{path}.{key}")
    elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple) and type(theirs) is type(ours):
        if len(theirs) != len(ours):
            yield f"{path}: PyTorch has {len(theirs)}: {_short(theirs)}; tinygrad_edu {len(ours)}: {_short(ours)}"
            return
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(a, b, f"{path}[{i}]")
    elif isinstance(theirs, float) and isinstance(ours, float):
        if not _close(np.asarray(theirs), np.asarray(ours)):
            yield f"{path}: PyTorch has {theirs}, tinygrad_edu {ours}"
    elif type(theirs) is not type(ours) or theirs != ours:
        yield f"{path}: PyTorch has {_short(theirs)}, tinygrad_edu {_short(ours)}"


def opens_alike(theirs: str, ours: str) -> bool:
    """True if our message opens with the phrase that PyTorch's opens with, whatever follows."""
    a, b = (re.sub(r"\s+", " ", m.replace("tinygrad_edu.", "torch.")).strip().lower() for m in (theirs, ours))
    return b.startswith(a[:PHRASE])


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    rtol = {8: 1e-7, 4: 1e-4, 2: 1e-2}[a.dtype.itemsize]
    return bool(np.allclose(a, b, rtol=rtol, atol=rtol * 1e-2, equal_nan=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "…"
