"""Random programs of single statements: views, writes in place, hooks, several backward passes, stretches without grad.

A statement may raise. Then the program goes on, and which statement raised, what, and the state afterwards are compared.
PyTorch runs along while a program is made: of statements that it refuses, or that make numbers too large, few are kept.
"""

from __future__ import annotations

import functools
import random
import re
import warnings
from types import CodeType
from typing import Any

import numpy as np
import torch

from .parity import ENGINES, differences, error_of

LENGTH = 14
SHAPES = ("(2, 3)", "(3,)", "(3, 2)", "()", "(2, 2, 3)", "(1, 3)", "(2, 1)", "(3, 3)", "(0, 3)", "(1,)")

# {x}, {y}, {z}: tensors of the program; {n}: a name for the result; {d}: a dimension; {c}: a number.
UNARY = """
{x}.exp() | {x}.sin() | {x}.tanh() | {x}.sigmoid() | {x}.abs() | -{x} | {x}.relu() | {x} ** 2 | {x}.square() | {x}.clone()
{x} * {c} | {c} - {x} | {x} / {c} | {x} % {c} | {x}.clamp(-1, 1) | {x}.float() | {x}.double() | {x}.softmax({d}) | {x}.cumsum({d})
{x}.sum() | {x}.sum({d}) | {x}.mean({d}, True) | {x}.prod() | {x}.prod({d}) | {x}.max() | {x}.min({d})[0] | {x}.amax({d}) | {x}.norm()
{x}.var({d}) | {x}.std() | {x}.logsumexp({d}) | {x}.sort({d})[0] | {x}.flip({d}) | {x}.roll(1, {d}) | {x}.tril() | {x}.repeat(2, 1)
{x}.cumprod({d}) | {x}.argmax({d}) | {x}.sqrt() | {x}.log1p() | {x}.to(T.float32) | {x}.median() | {x}.norm(dim={d}) | T.diff({x})
F.softplus({x}) | F.layer_norm({x}, {x}.shape[-1:]) | F.dropout({x}, 0.5, False) | F.pad({x}, (1, 0)) | F.normalize({x}, dim={d})
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
BINARY = """
{x} + {y} | {x} - {y} | {x} * {y} | {x} / ({y} * {y} + 1) | {x} @ {y} | T.maximum({x}, {y}) | T.where({x} > 0, {x}, {y}) | T.cat([{x}, {y}], {d})
T.stack([{x}, {y}]) | T.addcmul({x}, {y}, {y}) | T.lerp({x}, {y}, 0.3) | F.mse_loss({x}, {y}) | F.l1_loss({x}, {y}) | T.outer({x}, {y})
{x}.index_add({d}, T.tensor([0]), {y}) | {x}.masked_fill({y} > 0, {c}) | T.addmm({x}, {y}, {y}) | F.linear({x}, {y}) | T.atan2({x}, {y})
T.einsum('...i,...i->...', {x}, {y}) | {x}.expand_as({y}) | {x}.lerp({y}, {y}) | T.hypot({x}, {y}) | F.cosine_similarity({x}, {y}, {d})
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
VIEWS = """
{x}.t() | {x}.transpose(0, -1) | {x}[0] | {x}[..., ::2] | {x}[:, None] | {x}.view(-1) | {x}.reshape(-1) | {x}.expand(2, *{x}.shape) | {x}[1:]
{x}.unsqueeze({d}) | {x}.flatten() | {x}.unbind(0)[0] | {x}.chunk(2, {d})[0] | {x}.split(1)[0] | {x}.diagonal() | {x}.select({d}, 0)
{x}.narrow({d}, 0, 1) | {x}.squeeze() | {x}.view_as({x}) | {x}.data | {x}.detach() | T.nn.Parameter({x}) | {x}[...] | {x}.mT | {x}.contiguous()
{x}.view({x}.shape) | {x}.movedim(0, -1) | {x}.unfold({d}, 2, 1) | {x}.ravel() | T.nn.Buffer({x}) | {x}.swapaxes(0, -1) | {x}.view(-1, 1)
{x}[T.tensor([0, 0])] | {x}.index_select({d}, T.tensor([0])) | {x}[{x} > 0] | {x}.gather({d}, T.zeros_like({x}, dtype=T.int64)) | {x}.take(T.tensor([0]))
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
WRITES = """
{x}.mul_({y}) | {x}.add_({y}) | {x}.sub_({c}) | {x}.zero_() | {x}.fill_({c}) | {x}.copy_({y}) | {x}[0] = {y} | {x}[..., 0] = {c} | {x}.div_(2)
{x}[T.tensor([0, 0])] = {y} | {x}[..., -1] += {y} | {x}[0] *= {c} | {x}.clamp_(-1, 1) | {x}.exp_() | {x}.sigmoid_() | {x}.relu_() | {x}.neg_()
{x}.requires_grad_() | {x}.requires_grad_(False) | {x}.detach_() | {x}.t_() | {x}.squeeze_() | {x}.unsqueeze_({d}) | {x}.transpose_(0, -1)
{x}.masked_fill_({y} > 0, {c}) | {x}.index_add_({d}, T.tensor([0]), {y}) | {x}.scatter_({d}, T.zeros_like({x}, dtype=T.int64), {y})
{x}[{x} > 0] = {c} | {x} += {y} | {x} *= {c} | {x}.addcmul_({y}, {y}) | {x}.lerp_({y}, 0.5) | {x}.index_fill_({d}, T.tensor([0]), {c})
{x}.data.mul_({c}) | {x}.detach().add_({c}) | {x}.data = {y} | {x}.data = {y}.data | {x}.set_({y}.detach()) | {x}.index_copy_({d}, T.tensor([0]), {y})
{x}.scatter_reduce_({d}, T.zeros_like({x}, dtype=T.int64), {y}, 'sum') | {x}.pow_(2) | {x}.sqrt_() | {x}.cumsum_({d}) | {x}.put_(T.tensor([0]), {y})
{x}.resize_({x}.shape) | T.mul({x}, {c}, out={y}) | {x}.masked_scatter_({y} > 0, {y}.clone()) | {x}.diagonal().fill_({c})
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
GRADIENTS = """
{x}.sum().backward() | {x}.sum().backward(retain_graph=True) | {x}.backward() | {x}.backward(T.ones_like({x})) | {x}.backward({y}.clone(), retain_graph=True)
({x} * {y}).sum().backward(retain_graph=True) | {x}.retain_grad() | {x}.grad = None | {x}.grad.zero_() | {x}.grad.mul_(2) | {x}.grad = {y}
{x}.register_hook(lambda g: g * 2) | {x}.register_hook(lambda g: log.append(g.sum().item())) | {x}.register_hook(lambda g: None)
{x}.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.sum().item())) | {x}.sum().backward(inputs=[{y}]) | {x}.grad_fn.register_hook(lambda a, b: log.append(len(a)))
{n} = T.autograd.grad({x}.sum(), [{y}])[0].clone() | {n} = T.autograd.grad({x}.sum(), [{y}], retain_graph=True)[0].clone() | {n} = T.autograd.grad({x}.sum(), [{y}], create_graph=True)[0].clone()
{n} = T.autograd.grad({x}, [{y}], {x}, create_graph=True, allow_unused=True)[0].clone() | {n} = T.autograd.grad({x}.square().sum(), [{y}], create_graph=True)[0].clone()
{x}.sum().backward(create_graph=True) | {n} = {x}.grad.clone()
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip
KINDS = [(UNARY, 5, True), (BINARY, 4, True), (VIEWS, 5, True), (WRITES, 6, False), (GRADIENTS, 4, False)]


# What is refused here and not there: see the page of differences.
REFUSED = (
    "unsupported operation: more than one element of the written-to",
    "memory that other tensors show cannot grow",
    "a write through a view of dtype",
    "set_ of a view that requires grad",
    "a view, or its base, was given other memory",
    "and a leaf stay one",
)


class Program:
    """The statements of a program, and the tensors that it has made so far on PyTorch."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.scope = scope_of(torch)
        for i in range(self.rng.randint(1, 3)):
            self.keep(self.leaf(f"t{i}"))
        while len(self.lines) < LENGTH:
            line = self.statement()
            if self.works(line) or self.rng.random() < 0.12:
                self.keep(line)

    def leaf(self, name: str) -> str:
        shape = self.rng.choice(SHAPES[:6] if self.rng.random() < 0.9 else SHAPES)
        numbers = np.random.default_rng(self.rng.randrange(10**6)).standard_normal(eval(shape)).round(1).tolist()
        dtype = "T.float64" if self.rng.random() < 0.85 else "T.float32"
        grad = ", requires_grad=True" if self.rng.random() < 0.7 else ""
        made = (
            f"T.tensor({numbers}, dtype={dtype}{grad})" if shape != "(0, 3)" else f"T.zeros(0, 3, dtype={dtype}{grad})"
        )
        return f"{name} = {made}"

    def statement(self) -> str:
        rng = self.rng
        names = [name for name, value in self.scope.items() if isinstance(value, torch.Tensor)]
        # What was made last is used most.
        x, y, z = (rng.choice(names[-3:] if rng.random() < 0.5 else names) for _ in range(3))
        n = f"t{len(self.lines)}"
        if rng.random() < 0.04:
            return self.leaf(n)
        forms, _, gives = rng.choices(KINDS, [weight for _, weight, _ in KINDS])[0]
        settings = {"x": x, "y": y, "z": z, "n": n, "d": rng.choice((0, -1, 1)), "c": rng.choice((2, 0.5, -1.5, 0))}
        form = rng.choice(forms)
        resizes = "out=" in form and self.scope[x].shape != self.scope[y].shape
        if forms is WRITES and (resizes or self.reads_what_it_writes(x, y)):
            settings["y"] = (
                f"{y}.clone()"  # where PyTorch does not see it, the result depends on the order of its kernel
            )
        line = form.format(**settings)
        line = f"{n} = {line}" if gives else line
        if rng.random() < 0.12:
            line = f"with T.{rng.choice(('no_grad', 'no_grad', 'enable_grad'))}(): {line}"
        return line

    def reads_what_it_writes(self, x: str, y: str) -> bool:
        """True if both show one memory, each in its own way, and one of them with gaps."""
        a, b = self.scope[x].detach(), self.scope[y].detach()
        ways = {(t.data_ptr(), tuple(t.shape), t.stride()) for t in (a, b)}
        gaps = any(t.numel() < t.untyped_storage().nbytes() // t.element_size() for t in (a, b))
        return len(ways) > 1 and gaps and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()

    def works(self, line: str) -> bool:
        before = set(self.scope)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code_of(line), self.scope)
        except Exception:
            return False
        tensors = [value.detach() for value in self.scope.values() if isinstance(value, torch.Tensor)]
        numbers = [t for t in tensors if t.dtype.is_floating_point and t.numel()]
        small = not numbers or all(bool(size < 1e6) for size in torch._foreach_norm(numbers, float("inf")))
        if not small:
            for name in set(self.scope) - before:
                del self.scope[name]
        return small

    def keep(self, line: str) -> None:
        self.lines.append(line)
        if (line.startswith("t") and " = T.tensor(" in line) or " = T.zeros(" in line:
            exec(code_of(line), self.scope)


@functools.lru_cache(1000)
def code_of(line: str) -> CodeType:
    """A statement, compiled once for all that run it."""
    return compile(line, "<statement>", "exec")


def scope_of(T: Any) -> dict[str, Any]:
    return {"T": T, "F": T.nn.functional, "log": []}


def trace(T: Any, lines: list[str], **names: Any) -> list[Any]:
    """What each statement raises, and the state of every tensor after the last one."""
    scope = {**scope_of(T), **names}
    # What was computed from single precision is compared in it.
    kind = np.float32 if any("float32" in line or "float()" in line for line in lines) else None
    seen: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines:
            try:
                exec(code_of(line), scope)
                seen.append(None)
            except Exception as error:
                seen.append(error_of(error))
        state = {name: state_of(value, kind) for name, value in scope.items() if hasattr(type(value), "requires_grad_")}
    log = [np.asarray(value, kind) if kind and isinstance(value, float) else value for value in scope["log"]]
    return [seen, log, state]


def state_of(t: Any, kind: Any) -> Any:
    try:
        node = t.grad_fn is not None
    except Exception as error:
        node = error_of(error)
    return {
        "values": numbers(t, kind), "requires_grad": t.requires_grad, "node": node,
        "version": t._version, "dtype": str(t.dtype).rpartition(".")[2], "retains_grad": t.retains_grad, "is_view": t._is_view(),
        "grad": None if t.grad is None else numbers(t.grad, kind),
    }  # fmt: skip


def numbers(t: Any, kind: Any) -> np.ndarray:
    array = np.array(t.detach().numpy(force=True))
    return array.astype(kind) if kind and array.dtype.kind == "f" else array


def first_difference(lines: list[str]) -> str | None:
    """The first way in which both engines differ on these statements; None if they agree."""
    theirs, ours = (trace(ENGINES[name], lines) for name in ("torch", "tinygrad_edu"))
    if any(b and not a and any(form in b[1] for form in REFUSED) for a, b in zip(theirs[0], ours[0], strict=True)):
        return None
    if any(a and b and "Number of elements of source" in a[1] for a, b in zip(theirs[0], ours[0], strict=True)):
        return next(differences(theirs[0], ours[0]), None)  # PyTorch has written before it raised
    declared = (".is_view: ", *REFUSED)  # a view, perhaps, of its own result
    found = [line for line in differences(theirs, ours) if not any(form in line for form in declared)]
    if not found or hinges_on_rounding(lines, found[0], theirs):
        return None
    watched = [re.sub(r"\.data\.mul_\(.*\)", ".data.mul_(1)", line) for line in lines if ".data = " not in line]
    return found[0] if watched == lines or first_difference(watched) else None  # else the numbers changed unnoticed


def hinges_on_rounding(lines: list[str], difference: str, theirs: list[Any]) -> bool:
    """True if PyTorch differs from itself there, once the numbers that the program starts with differ in the last digit."""
    path = difference.partition(": ")[0]
    if path.startswith("[0]") or not path.endswith(("]", ".values", ".grad")):
        return False
    rng = np.random.default_rng(0)

    def nudged(numbers: Any, dtype: Any = None, **settings: Any) -> torch.Tensor:
        if dtype is not None:
            step = torch.finfo(dtype).eps
            numbers = np.asarray(numbers) * (1 + step * rng.choice((-1, 1), np.shape(numbers)))
        return torch.tensor(numbers, dtype=dtype, **settings)

    others = [line.replace(" = T.tensor(", " = nudged(") for line in lines]
    tries = (trace(torch, others, nudged=nudged) for _ in range(8))
    return any(line.startswith(f"{path}: ") for seen in tries for line in differences(theirs, seen))


def shortest(lines: list[str]) -> list[str]:
    """As few of the statements as differ in the same way."""
    kind = shape_of(first_difference(lines))
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1 :]
        if (found := first_difference(fewer)) and shape_of(found) == kind:
            lines = fewer
    return lines


def shape_of(difference: str | None) -> str:
    return (difference or "").partition(":")[0].rpartition(".")[2] if "raises" not in (difference or "") else "raises"
