"""The table of samples: one row for each way to call an op.

Adding an op is adding a row. A row is code, run with `T` as either engine and `F` as its `nn.functional`, and the
inputs it names. An input is a shape (standard normal numbers that require grad), or one of the makers below.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Input:
    """How to make the values of one input."""

    shape: tuple[int, ...]
    make: Any
    grad: bool = True


def within(low: float, high: float, *shape: int) -> Input:
    return Input(shape, lambda rng: rng.uniform(low, high, shape))


def unit(*shape: int) -> Input:
    return within(0.1, 0.9, *shape)


def positive(*shape: int) -> Input:
    return within(0.3, 2.0, *shape)


def values(*numbers: Any) -> Input:
    array = np.array(numbers, dtype=np.float64)
    return Input(array.shape, lambda rng: array.copy())


def constant(*shape: int) -> Input:
    return Input(shape, lambda rng: rng.standard_normal(shape), grad=False)


def unit_constant(*shape: int) -> Input:
    return Input(shape, lambda rng: rng.uniform(0.1, 0.9, shape), grad=False)


def signs(*shape: int) -> Input:
    return Input(shape, lambda rng: np.sign(rng.standard_normal(shape)), grad=False)


def index(data: Any) -> Input:
    array = np.array(data, dtype=np.int64)
    return Input(array.shape, lambda rng: array, grad=False)


def mask(data: Any) -> Input:
    array = np.array(data, dtype=bool)
    return Input(array.shape, lambda rng: array, grad=False)


def well_conditioned(n: int, *batch: int) -> Input:
    return Input((*batch, n, n), lambda rng: rng.standard_normal((*batch, n, n)) + 3 * np.eye(n))


@dataclass(frozen=True)
class Sample:
    code: str
    inputs: dict[str, Input] = field(compare=False)
    # What this row does not claim, each with its reason.
    names: bool = True  # node names
    second: bool = True  # the second gradient
    forward: bool = True  # forward mode
    double: float = 1e-9  # how near float64 comes
    single: float = 2e-5  # how near float32 comes

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.code.encode()))
        return {name: i.make(rng) for name, i in self.inputs.items()}


def S(
    code: str,
    *,
    names: bool = True,
    second: bool = True,
    forward: bool = True,
    double: float = 1e-9,
    single: float = 2e-5,
    **inputs: Any,
) -> Sample:
    made = {
        name: i if isinstance(i, Input) else Input(tuple(i), lambda rng, shape=tuple(i): rng.standard_normal(shape))
        for name, i in inputs.items()
    }
    return Sample(code, made, names, second, forward, double, single)


def rows(**inputs: Any) -> Callable[[str], list[Sample]]:
    """Rows that have their inputs in common, separated by `|`."""
    return lambda codes: [
        S(code.strip(), **inputs) for line in codes.splitlines() for code in line.split(" | ") if code.strip()
    ]


M, V = (3, 4), (4,)
KEYS, WEIGHTS = {"k": (2, 5, 4), "v": (2, 5, 4)}, unit_constant(4)
KINKS = values(-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0)

POINTWISE = [
    *rows(a=M, b=M)("a + b | a * b | T.lerp(a, b, 0.3)"),
    *rows(a=M, b=V)("a + b | T.add(a, b, alpha=3) | T.sub(a, b, alpha=0.5) | a * b | T.lerp(a, b, 0.8) | a.clamp(b)"),
    *rows(a=M, b=V)("a.clamp(max=b) | T.max(a, b) | T.where(a > 0, a, b)"),
    S("a + b", a=(3, 1), b=(1, 4)),
    S("a + b", a=(), b=M),
    *rows(a=M)("a + 2 | 2 + a | a - 2.5 | 2.5 - a | 3 * a | a * a | a / 4 | a % 0.7 | T.fmod(a, 0.7) | -a | a.floor()"),
    *rows(a=M)("a.ceil() | a.trunc() | a.round(decimals=2) | a.round(decimals=0) | a.frac() | T.where(a > 0, a, 0.0)"),
    *rows(a=M)("a.long().double(memory_format=None) | a.clone() | a.double()"),
    S("a - b", a=M, b=(3, 1)),
    S("T.add(i.to(T.uint8), i.to(T.uint8), alpha=-3)", i=index([1, 2])),
    *rows(a=M, b=positive(4))("a / b | T.div(a, b, rounding_mode='floor') | T.div(a, b, rounding_mode='trunc')"),
    *rows(a=M, b=positive(4))("a.remainder(b) | T.fmod(a, b)"),
    *rows(a=positive(3, 4))("1 / a | a.reciprocal()"),
    *rows(a=constant(3, 4))("a // 0.7 | 2.1 % a"),
    *rows(a=KINKS)("a.abs() | a.sign() | a.clamp(-0.5, 1.0) | a.clamp(min=0.5) | a.clamp(max=0.5) | a.clamp_min(0.5)"),
    S("a.clamp_max(0.5)", a=KINKS),
    S("a.round()", a=values(-1.5, -0.5, 0.5, 1.5, 2.5, 0.3)),
    S("T.addcmul(a, b, c, value=0.5)", a=M, b=V, c=(3, 1)),
    S("T.addcdiv(a, b, c, value=0.5)", a=M, b=V, c=positive(3, 1)),
    S("T.lerp(a, b, c)", a=M, b=M, c=unit(4)),
    S("a.clamp(b, c)", a=M, b=within(-1, 0, 4), c=within(0, 1, 4)),
    *rows(a=values(1.0, 2.0, 3.0), b=values(2.0, 2.0, 2.0))("T.maximum(a, b) | T.minimum(a, b)"),
    S("a.nan_to_num()", a=values(1.0, np.nan, np.inf, -np.inf, 2.0), single=1e-4),
    S("a.nan_to_num(nan=2.0, posinf=3.0, neginf=-3.0)", a=values(1.0, np.nan, np.inf, -np.inf)),
    S("a.masked_fill(m, 2.0)", a=M, m=mask([True, False, True, False])),
    S("a.masked_fill(m, b)", a=M, b=(), m=mask([True, False, True, False])),
    S("a.to(T.float32)", a=M, single=1e-4, second=False),
]

EXPONENTIAL = [
    *rows(a=M)("a ** 2 | a ** 3 | a ** 0 | 2 ** a | a.square() | a.exp() | a.expm1() | a.sin() | a.cos() | a.atan()"),
    *rows(a=M)("a.sinh() | a.cosh() | a.tanh() | a.sigmoid()"),
    *rows(a=positive(3, 4))("a ** 0.5 | a ** -1 | a.sqrt() | a.rsqrt() | a.log() | a.log2() | a.log10() | a.log1p()"),
    S("a ** b", a=positive(3, 4), b=V),
    S("a ** b", a=values(0.0, 0.0, 0.5, 2.0), b=values(0.0, 2.0, 0.0, -1.0), second=False),
    *rows(i=index([1, 2, -3]))("i ** 2.0 | i ** 1.0"),
    S("(i > 1) ** 2", i=index([1, 2])),
    S("i ** -i", i=index([1, 2, -1])),
    S("a.tan()", a=within(-1.2, 1.2, 3, 4)),
    *rows(a=within(-0.9, 0.9, 3, 4))("a.asin() | a.acos()"),
    *rows(a=M, b=V)("T.atan2(a, b) | T.logaddexp(a, b)"),
    *rows(a=unit(3, 4))("a.logit() | a.logit(0.3)"),
    S("a.erf()", a=within(-3, 3, 5, 5)),
    S("a.erf()", a=()),
    S("T.xlogy(a, b)", a=values(0.0, 1.0, 2.0), b=values(0.5, 1.0, 2.0)),
]

ACTIVATION = [
    *rows(a=KINKS)("F.relu(a) | F.leaky_relu(a, 0.2) | F.elu(a) | F.hardtanh(a)"),
    *rows(a=M)("F.elu(a, 0.5) | F.selu(a) | F.silu(a) | F.mish(a) | F.softsign(a)"),
    *rows(a=within(-4, 4, 5, 5))("F.gelu(a) | F.gelu(a, approximate='tanh')"),
    S("F.gelu(a)", a=()),
    S("F.softplus(a)", a=within(-25, 25, 3, 4)),
    *rows(a=within(-5, 5, 3, 4))("F.softplus(a, 2.0, 5.0) | F.logsigmoid(a)"),
    S("F.relu6(a)", a=within(-3, 9, 3, 4)),
    # PyTorch keeps the 1/6 in single precision, and has no second gradient.
    S("F.hardsigmoid(a)", a=within(-4, 4, 3, 4), second=False, double=1e-7),
    S("F.hardswish(a)", a=within(-4, 4, 3, 4)),
    S("F.prelu(a, w)", a=(2, 3, 4), w=(1,)),
    S("F.prelu(a, w)", a=(2, 3, 4), w=(3,)),
    S("F.prelu(a, w)", a=(), w=(1,)),
]

REDUCE = [
    *rows(a=M)("a.sum() | a.sum(1) | a.sum(-1, keepdim=True) | a.sum(dim=0, dtype=T.float64) | a.mean() | a.mean(0)"),
    *rows(a=M)("a.prod() | a.prod(1) | a.max(1) | a.min(1).values | a.min(1).indices | a.median() | a.median(1)"),
    *rows(a=M)("a.amax(1) | a.amin((0, 1), keepdim=True) | a.var() | a.var(1) | a.var(1, correction=0, keepdim=True)"),
    *rows(a=M)("a.var(0, False) | a.std() | a.norm() | a.norm(1, dim=1) | a.norm(3, dim=0, keepdim=True)"),
    *rows(a=M)("a.norm(1.5) | a.norm(0.5) | a.norm(float('inf'), 1) | a.norm(0)"),
    *rows(a=M)("a.clone().cumprod_(0, dtype=a.dtype) | a.logsumexp(1) | a.logsumexp((0, 1), keepdim=True)"),
    *rows(a=M)("a.cumsum(1) | a.cumsum(-2) | a.cumprod(1) | a.cummin(0) | a.softmax(0) | a.log_softmax(-1)"),
    *rows(a=M)("F.softmin(a, 1) | a.all() | (a > 0).any(1) | (a > 0).all(0, keepdim=True) | (a > 0).sum()"),
    *rows(a=M)("a.argmax() | a.argmax(1) | a.argmin(0, keepdim=True) | T.count_nonzero(a, 1)"),
    *rows(a=(2, 3, 4))("a.sum((0, 2)) | a.mean((0, -1), keepdim=True) | a.std((0, 2))"),
    *rows(a=())("a.sum() | a.sum(0) | a.max(0) | T.cummax(a, 0)"),
    # PyTorch has a node for both.
    *rows(a=M, names=False)("T.var_mean(a, 1) | T.std_mean(a, 1, keepdim=True)"),
    S("a.sum(1)", a=(3, 0)),
    S("a.prod()", a=values(2.0, 0.0, 3.0)),
    S("a.prod()", a=values(2.0, 0.0, 0.0)),
    S("a.prod(0, keepdim=True)", a=values([1.0, 0.0, 2.0], [3.0, 4.0, 0.0])),
    *rows(a=values(1.0, 3.0, 3.0, 2.0))("a.max() | a.amax()"),
    S("a.min()", a=values(1.0, 1.0, 3.0, 2.0)),
    S("a.max(0, keepdim=True)", a=values([1.0, 3.0], [1.0, 2.0])),
    S("a.norm()", a=values(0.0, 0.0, 0.0), second=False),
    S("a.median(dim=1)", a=values([1.0, np.nan, 3.0], [3.0, 1.0, 2.0])),
    S("i.logsumexp(0)", i=index([1, 2, 3]), double=1e-6),
    S("i.to(T.uint8).trace()", i=index([[1, 2], [3, 4]])),
    S("i.to(T.uint8).all(0)", i=index([[1, 2], [0, 4]])),
    *rows(i=index([1, 2]))("i.to(T.int32).cumsum(0, dtype=T.int32) | i.to(T.uint8).cumprod_(0)"),
    S("a.cumprod(0)", a=values([1.0, 0.0, 2.0], [3.0, 4.0, 0.0], [2.0, 0.0, 1.0])),
    S("a.cummax(1)", a=values([1.0, 3.0, 2.0, 3.0], [2.0, np.nan, 5.0, 1.0])),
    S("i.cummin(1)", i=index([[3, 1, 1, 2]])),
    # PyTorch's tangent loses its digits where the numbers lie far apart.
    S("a.softmax(1)", a=M),
]

SHAPE = [
    *rows(a=M)("a.reshape(2, 6) | a.reshape(-1) | a.t().reshape(2, 6) | a.view(4, 3) | a.unflatten(1, (2, -1))"),
    *rows(a=M)("a.unsqueeze(-1) | a.expand(2, 3, 4) | a.repeat(2, 1, 3) | a.tile((2,)) | a.t() | a.T"),
    *rows(a=M)("T.flip(a, (0, 1)) | a.flip(1) | a.roll(1, 0) | a.roll((1, -2), (0, 1)) | a.roll(2) | a.split(2)"),
    *rows(a=M)("a.split(3, dim=1)[1] | a.split([1, 3], dim=1) | a.chunk(2, 1) | a[:, :0].chunk(3, 1) | a.unbind(1)"),
    *rows(a=M)("a.narrow(1, 1, 2) | a.select(1, -1) | a.diagonal() | a.diag() | T.diag_embed(a) | a.tril()"),
    *rows(a=M)("a.triu(1) | a.unfold(1, 2, 1) | F.pad(a, (1, 2)) | F.pad(a, (1, -1, 2, 0), value=3.0)"),
    *rows(a=M)("a.repeat_interleave(2, 0) | a.repeat_interleave(2) | a.sum_to_size(1, 4) | a.contiguous()"),
    S("a.t().contiguous()", a=M),
    *rows(a=(2, 3, 4))("a.flatten() | a.flatten(1) | a.flatten(0, 1) | a.permute(2, 0, 1) | a.transpose(0, -1) | a.mT"),
    *rows(a=(2, 3, 4))("T.movedim(a, 0, 2) | T.movedim(a, (0, 1), (2, 0)) | F.pad(a, (2, 1), mode='reflect')"),
    S("F.pad(a, (2, 1), mode='replicate')", a=(2, 3, 4)),
    *rows(a=())("a.flatten() | a.unfold(0, 1, 1)"),
    S("T.flatten(a, 1)", a=(0, 3, 4)),
    *rows(a=(1, 3, 1))("a.squeeze() | a.squeeze(0) | a.squeeze(1) | a.squeeze((0, 2))"),
    S("a.expand(3, -1)", a=(1, 4)),
    S("a.expand_as(b)", a=V, b=M),
    *rows(a=V)("a.broadcast_to((3, 4)) | a.diag(1)"),
    S("T.cat([a, b])", a=M, b=(2, 4)),
    *rows(a=M, b=(3, 2))("T.cat([a, b, a], dim=1) | T.hstack([a, b])"),
    S("T.cat([a, b], 1)", a=(0,), b=M, names=False),
    *rows(a=M, b=M)("T.stack([a, b], 1) | T.stack([a, b], -1)"),
    *rows(a=V, b=V)("T.hstack([a, b]) | T.vstack([a, b])"),
    S("a.diagonal(1, 0, 2)", a=(3, 2, 4)),
    S("a.unfold(0, 2, 2)", a=(5, 2)),
    *rows(a=(2, 3, 3, 4))("F.pad(a, (1, 2, 1, 0), mode='reflect') | F.pad(a, (1, 2, 1, 0), mode='replicate')"),
    # PyTorch writes circular padding piece by piece: a chain of CopySlices.
    S("F.pad(a, (2, 1), mode='circular')", a=(2, 3, 4), names=False),
    S("F.pad(a, (-1, 1, -2, 1), mode='circular')", a=(1, 2, 4, 4), names=False),
    S("a.repeat_interleave(n, 0)", a=M, n=index([1, 2, 0])),
    *rows(a=(3,), b=V)("T.meshgrid(a, b, indexing='ij') | T.meshgrid(a, b, indexing='xy')"),
]

INDEX = [
    *rows(a=M)("a[0] | a[-1, 2] | a[1:, ::2] | a[:] | a[...] | a[None, :, 1] | a[[0, 2]] | a[a > 0] | a[0:0]"),
    *rows(a=M)("a[True] | a.sort(1) | a.sort(0, descending=True) | a.sort(dim=0, stable=True) | a.argsort(1)"),
    *rows(a=M)("a.topk(2) | a.topk(2, 0, largest=False)"),
    S("a[..., 0]", a=(2, 3, 4)),
    *rows(a=M, i=index([0, 2, 0]))("a[i] | a.index_select(1, i)"),
    S("a[:, i]", a=M, i=index([3, 0])),
    S("a[i, 1:]", a=M, i=index([0, 2])),
    S("a[i, j]", a=M, i=index([0, 2]), j=index([1, 1])),
    S("a[i[:, None], j]", a=M, i=index([0, 2]), j=index([1, 3, 1])),
    S("a[i, :, j]", a=(2, 3, 4), i=index([0, 1]), j=index([1, 3])),
    S("a[m]", a=M, m=mask([True, False, True])),
    S("a[:, m]", a=M, m=mask([True, False, True, True])),
    S("a[m, i]", a=M, m=mask([True, False, True]), i=index([1, 2])),
    S("a.gather(1, i)", a=M, i=index([[0, 0], [1, 3], [2, 2]])),
    S("a.gather(0, i)", a=M, i=index([[0, 1, 2, 2]])),
    S("a.scatter(1, i, b)", a=M, i=index([[0, 1], [1, 3], [2, 0]]), b=(3, 2)),
    S("a.scatter(1, i, 2.0)", a=M, i=index([[0, 1], [1, 3], [2, 0]])),
    S("a.scatter_add(1, i, b)", a=M, i=index([[0, 0], [1, 3], [2, 2]]), b=(3, 2)),
    *rows(a=M, i=index([0, 0]), b=(2, 4))("a.index_add(0, i, b, alpha=2) | a.index_put((i,), b, accumulate=True)"),
    S("a.index_copy(0, i, b)", a=M, i=index([0, 2]), b=(2, 4)),
    S("a.index_fill(1, i, 3.0)", a=M, i=index([0, -2])),
    S("a.index_fill(1, i, b)", a=M, b=(), i=index([0, 2])),
    S("a.clone().index_fill_(0, i, b)", a=M, b=(), i=index([0, 2, 0])),
    S("a.index_add(0, i, b)", a=(), b=(), i=index([0])),
    S("a.index_copy(0, i, b)", a=(3,), b=(), i=index([1])),
    S("a.index_fill(0, i, 3.0)", a=(), i=index([0])),
    S("a.gather(0, i)", a=V, i=Input((2, 0), lambda rng: np.zeros((2, 0), np.int64), grad=False)),
    S("a.index_put((i, j), b)", a=M, i=index([0, 2]), j=index([1, 1]), b=(2,)),
    S("T.take_along_dim(a, i, 1)", a=M, i=index([[0], [1], [3]])),
    S("a.masked_select(m)", a=M, m=mask([True, False, True, False])),
    S("a.nonzero()", a=KINKS),
    S("a.unique()", a=constant(3, 4)),
]

# In place: a copy of the input is changed, so that the input keeps its values.
INPLACE = [
    *rows(a=M, b=V)("a.clone().add_(b, alpha=2) | a.clone().sub_(b) | a.clone().mul_(b)"),
    *rows(a=M, b=V)("a.clone().addcmul_(b, b, value=2) | a.clone().copy_(b)"),
    S("a.clone().div_(b)", a=M, b=positive(4)),
    *rows(a=M)("a.clone().pow_(2) | a.clone().exp_() | a.clone().neg_() | a.clone().tanh_() | a.clone().sigmoid_()"),
    *rows(a=M)("a.clone().relu_() | a.clone().clamp_(-0.5, 0.5) | a.clone().clamp_min_(0.1) | a.clone().fill_(2.0)"),
    *rows(a=M)("a.clone().zero_() | a.clone().cumsum_(1) | a.clone().tril_() | (a * 1).true_divide_(2)"),
    S("F.relu(a.clone(), inplace=True)", a=M),
    S("a.clone().sqrt_()", a=positive(3, 4)),
    S("a.clone().lerp_(b, 0.3)", a=M, b=M),
    S("a.clone().masked_fill_(m, 2.0)", a=M, m=mask([True, False, True, False])),
    S("a.clone().fill_(b)", a=M, b=()),
    S("a.clone().index_add_(0, i, b)", a=M, i=index([0, 2]), b=(2, 4)),
    S("a.clone().scatter_(1, i, b)", a=M, i=index([[0, 1], [1, 3], [2, 0]]), b=(3, 2)),
    S("i.to(T.uint8).add_(i * 100)", i=index([1, 3])),
]

LINALG = [
    *rows(a=M, b=(4, 2))("a @ b | T.mm(a, b)"),
    *rows(a=M, b=V)("a @ b | T.mv(a, b)"),
    S("a @ b", a=V, b=(4, 2)),
    *rows(a=V, b=V)("a @ b | T.dot(a, b)"),
    *rows(a=(2, 3, 4), b=(4, 5))("a @ b | T.tensordot(a, b, dims=1)"),
    S("a @ b", a=(2, 3, 4), b=V),
    *rows(a=(2, 3, 4), b=(2, 4, 5))("a @ b | T.bmm(a, b)"),
    S("a @ b", a=(2, 1, 3, 4), b=(5, 4, 2)),
    S("a @ b", a=V, b=(2, 4, 5)),
    S("T.matmul(a, b)", a=(2, 3, 0), b=(0, 2)),
    S("T.inner(a, b)", a=M, b=(2, 4)),
    S("T.outer(a, b)", a=(3,), b=V),
    S("T.addmm(a, b, c, beta=0.5, alpha=2)", a=(2,), b=M, c=(4, 2)),
    S("T.baddbmm(a, b, c, beta=2)", a=(2, 3, 5), b=(2, 3, 4), c=(2, 4, 5)),
    # PyTorch permutes and multiplies in an order of its own; the values and gradients are the same.
    S("T.einsum('ij,jk->ik', a, b)", a=M, b=(4, 2), names=False),
    S("T.einsum('ij,ij->', a, b)", a=M, b=M, names=False),
    S("T.einsum('bij,bjk', a, b)", a=(2, 3, 4), b=(2, 4, 5), names=False),
    S("T.einsum('...ij,...kj->...ik', a, b)", a=(2, 3, 4), b=(5, 4), names=False),
    *rows(a=(3, 3), names=False)("T.einsum('ii', a) | T.einsum('ii->i', a)"),
    S("T.einsum('i,j,k->kij', a, b, c)", a=(2,), b=(3,), c=V, names=False),
    S("T.einsum('ij->j', a)", a=M, names=False),
    S("T.tensordot(a, b, dims=([0, 2], [1, 0]))", a=(2, 3, 4), b=(4, 2, 5)),
    S("T.tensordot(a, b, dims=([0], [0]))", a=(1, 2), b=(3, 2)),
    S("T.trace(a)", a=M),
]

DECOMPOSITION = [*rows(a=well_conditioned(3))("T.linalg.inv(a) | T.linalg.det(a)")]
DECOMPOSITION += [S("T.linalg.inv(a)", a=well_conditioned(3, 2)), S("T.linalg.det(a)", a=well_conditioned(2, 4))]
DECOMPOSITION += [S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(3, 2))]
DECOMPOSITION += [S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(3,), names=False)]
DECOMPOSITION += [S("T.linalg.solve(a, b, left=False)", a=well_conditioned(3), b=(2, 3))]
DECOMPOSITION += [*rows(a=M)("T.linalg.vector_norm(a, 3) | T.linalg.norm(a) | T.linalg.norm(a, 3, dim=1)")]
DECOMPOSITION += [*rows(a=M, names=False)(""), S("T.linalg.matmul(a, b)", a=M, b=(4, 2))]
IMAGE = (2, 3, 6, 5)

NETWORK = [
    S("F.linear(x, w, b)", x=M, w=(2, 4), b=(2,)),
    S("F.linear(x, w)", x=M, w=(2, 4)),
    S("F.linear(x, w, b)", x=(2, 3, 4), w=(2, 4), b=(2,)),
    S("F.linear(x, w)", x=(2, 3, 4), w=(2, 4)),
    S("F.linear(x, w, b)", x=V, w=(2, 4), b=(2,)),
    S("F.conv1d(x, w, b)", x=(2, 3, 7), w=(4, 3, 3), b=(4,)),
    S("F.conv1d(x, w, stride=2, padding=1, dilation=2)", x=(2, 3, 9), w=(4, 3, 3)),
    S("F.conv1d(x, w)", x=(3, 7), w=(4, 3, 3)),
    S("F.conv2d(x, w, b)", x=IMAGE, w=(4, 3, 3, 2), b=(4,)),
    S("F.conv2d(x, w, b, stride=2, padding=1)", x=IMAGE, w=(4, 3, 3, 3), b=(4,)),
    S("F.conv2d(x, w, padding=(1, 2), dilation=2)", x=IMAGE, w=(2, 3, 2, 2)),
    S("F.conv2d(x, w, groups=2)", x=(2, 4, 5, 5), w=(6, 2, 3, 3)),
    S("F.conv2d(x, w, padding='same')", x=IMAGE, w=(2, 3, 3, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(2, 3, 1, 1)),
    S("F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)", x=(2, 3, 4, 4), w=(3, 2, 3, 3), b=(2,)),
    S("F.conv_transpose1d(x, w)", x=(2, 3, 5), w=(3, 4, 3)),
    S(
        "F.conv_transpose2d(x, w, stride=(3, 2), padding=1, output_padding=(2, 2), dilation=3)",
        x=(2, 2, 4, 4),
        w=(2, 2, 2, 3),
    ),
    *rows(x=IMAGE)("F.max_pool2d(x, 2) | F.max_pool2d(x, 3, stride=1, padding=1) | F.max_pool2d(x, 2, ceil_mode=True)"),
    *rows(x=IMAGE)("F.max_pool2d(x, 2, return_indices=True) | F.max_pool2d(x, 2, dilation=2) | F.avg_pool2d(x, 2)"),
    *rows(x=IMAGE)("F.avg_pool2d(x, 3, stride=2, padding=1) | F.avg_pool2d(x, 3, 2, 1, True, False)"),
    *rows(x=IMAGE)("F.avg_pool2d(x, 2, divisor_override=3) | F.adaptive_avg_pool2d(x, (4, 2))"),
    S("F.adaptive_avg_pool2d(x, 1)", x=IMAGE),
    *rows(x=(2, 3, 4, 4))("""
        F.max_pool2d(x.masked_fill(x < 0.5, -float('inf')), 3, 2, 1, return_indices=True)[1] + 0 * x[..., :2, :2]
        F.max_pool2d(x.masked_fill(x > 1, float('nan')), 2, return_indices=True)[1] * x[..., ::2, ::2]
    """),
    *rows(x=(2, 3, 6))("F.max_pool1d(x, 2) | F.avg_pool1d(x, 3, stride=1) | F.adaptive_avg_pool1d(x, 4)"),
    S("F.avg_pool2d(x, [2], [1], [1])", x=constant(*IMAGE)),
    S("F.avg_pool2d(T.arange(-8, 8).reshape(1, 4, 4), 2)"),
    S("F.batch_norm(x, None, None, w, b, True)", x=IMAGE, w=(3,), b=(3,), single=1e-4),
    S("F.batch_norm(x, None, None, w, b, True)", x=(5, 3), w=(3,), b=(3,), single=1e-4),
    S("F.batch_norm(x, m, v, w, b, False)", x=IMAGE, w=(3,), b=(3,), m=constant(3), v=unit_constant(3), single=1e-4),
    *rows(x=IMAGE, single=1e-4)("F.batch_norm(x, None, None, training=True) | F.instance_norm(x)"),
    S("F.layer_norm(x, (4,), w, b)", x=(2, 3, 4), w=(4,), b=(4,), single=1e-4),
    S("F.layer_norm(x, (3, 4))", x=(2, 3, 4), single=1e-4),
    S("F.group_norm(x, 2, w, b)", x=(2, 4, 3, 3), w=(4,), b=(4,), single=1e-4),
    S("F.group_norm(x, 2)", x=(0, 4)),
    S("F.rms_norm(x, (4,), w)", x=M, w=(4,)),
    S("F.rms_norm(x.half(), (2,))", x=values([300.0, 1e-3]), names=False, second=False, double=1e-3, single=1e-3),
    *rows(x=M)("F.dropout(x, 0.0) | F.dropout(x, 0.5, training=False) | F.dropout(x, 1.0) | F.normalize(x)"),
    S("F.normalize(x, p=1.0, dim=0)", x=M),
    *rows(i=index([[0, 2], [2, 1]]), w=(4, 3))("F.embedding(i, w) | F.embedding(i, w, padding_idx=2)"),
    S("F.one_hot(i)", i=index([0, 2, 1])),
    S("F.one_hot(i, 5)", i=index([[0], [2]])),
    *rows(x=M, y=M)("F.cosine_similarity(x, y) | F.pairwise_distance(x, y)"),
    S("F.scaled_dot_product_attention(q, k, v)", q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 4), second=False),
    S("F.scaled_dot_product_attention(q, k, v, is_causal=True)", **dict.fromkeys("qkv", (1, 2, 4, 4)), second=False),
    S("F.scaled_dot_product_attention(q, k, v, attn_mask=m)", q=(2, 3, 4), **KEYS, m=(3, 5), names=False),
    S("F.scaled_dot_product_attention(q, k, v, scale=0.3)", q=(2, 3, 4), **KEYS, names=False),
]

LOSS = [
    *rows(x=M, y=M)("F.mse_loss(x, y) | F.mse_loss(x, y, reduction='sum') | F.mse_loss(x, y, reduction='none')"),
    *rows(x=M, y=M)("F.l1_loss(x, y) | F.smooth_l1_loss(x, y) | F.smooth_l1_loss(x, y, beta=0.3, reduction='none')"),
    *rows(x=M, y=M)("F.huber_loss(x, y, delta=0.7) | F.kl_div(x, y, reduction='batchmean', log_target=True)"),
    *rows(a=M, b=M, w=positive(*M))("F.mse_loss(a, b, weight=w) | F.mse_loss(a, b, weight=w, reduction='none')"),
    *rows(a=M, b=M, w=positive(*M))("F.l1_loss(a, b, weight=w) | F.l1_loss(a, b, weight=w, reduction='sum')"),
    S("F.huber_loss(a, b, weight=w)", a=M, b=M, w=positive(*M)),
    *rows(x=M, t=index([0, 3, 1]))("F.nll_loss(x, t) | F.nll_loss(x, t, reduction='none') | F.cross_entropy(x, t)"),
    *rows(x=M, t=index([0, 3, 1]))("F.cross_entropy(x, t, reduction='none') | F.cross_entropy(x, t, ignore_index=1)"),
    S("F.cross_entropy(x, t, label_smoothing=0.1)", x=M, t=index([0, 3, 1])),
    *rows(x=M, t=index([0, 3, 1]), w=WEIGHTS)("F.nll_loss(x, t, w, ignore_index=3) | F.cross_entropy(x, t, w)"),
    *rows(x=(4,), t=index(2))("F.nll_loss(x, t, reduction='sum') | F.cross_entropy(x, t)"),
    S("F.nll_loss(x, t)", x=(2, 3, 2, 2), t=index([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])),
    S("F.cross_entropy(x, t)", x=(2, 3, 4), t=index([[0, 1, 2, 0], [1, 1, 2, 2]])),
    S("F.cross_entropy(x, t, w, label_smoothing=0.1, ignore_index=3)", x=M, t=index([0, 3, 1]), w=WEIGHTS, names=False),
    *rows(x=M, y=unit(3, 4))("F.cross_entropy(x, y) | F.cross_entropy(x, y, label_smoothing=0.2)"),
    *rows(x=M, y=unit(3, 4))("F.binary_cross_entropy_with_logits(x, y) | F.kl_div(x, y)"),
    S("F.cross_entropy(x, y, w, reduction='sum')", x=M, y=unit(3, 4), w=WEIGHTS),
    S("F.binary_cross_entropy(x, y)", x=unit(3, 4), y=unit_constant(3, 4)),
    S("F.binary_cross_entropy(x, y, w, reduction='sum')", x=unit(3, 4), y=unit_constant(3, 4), w=WEIGHTS),
    S("F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p)", x=M, y=unit(3, 4), w=WEIGHTS, p=WEIGHTS),
    S("F.margin_ranking_loss(x, y, t, margin=0.5)", x=V, y=V, t=constant(4)),
    S("F.hinge_embedding_loss(x, t)", x=V, t=signs(4)),
    S("F.triplet_margin_loss(x, y, z)", x=M, y=M, z=M),
]

RANDOM = [*rows()("F.dropout(T.ones(1000), 0.5).mean() > 0.8 | T.rand(1000).mean().round(decimals=1)")]
RANDOM += [*rows()("T.randn(2, 3).shape[1] | T.randint(3, 4, (2, 2)) | T.randperm(5).sort()[0] | T.randint(3, 4, ())")]
RANDOM += [*rows(a=M)("a.clone().uniform_(2, 2) | a.clone().normal_(2, 0) | (a * 0).bernoulli_(1.0)")]
RANDOM += [S("T.bernoulli(a * 0 + 1)", a=constant(3, 4)), S("T.bernoulli(a * 0 + 1)", a=())]
RANDOM += [S("(a * 0).bernoulli_(a * 0 + 1)", a=M, names=False)]
RANDOM += [S("T.normal(a, b)", a=M, b=positive(4), double=1e-6), S("T.normal(a, 0.5)", a=M, double=1e-6)]
RANDOM += [S("T.normal(0.5, b)", b=positive(20), double=1e-6)]

WINDOWS = [
    *rows(a=(2, 2, 5, 4, 6))("""
        F.max_pool3d(a, 2) | F.max_pool3d(a, (2, 3, 2), stride=(1, 2, 3), padding=1, ceil_mode=True)
        F.max_pool3d(a, 2, dilation=2) | F.max_pool3d(a, 2, return_indices=True) | F.avg_pool3d(a, 2)
        F.avg_pool3d(a, (3, 2, 2), stride=2, padding=1, ceil_mode=True) | F.avg_pool3d(a, 2, divisor_override=3)
        F.avg_pool3d(a, 3, 2, 1, count_include_pad=False) | F.adaptive_avg_pool3d(a, (2, 3, None))
        F.adaptive_max_pool3d(a, 2) | F.adaptive_max_pool3d(a, (2, 3, 4), return_indices=True)
    """),
    *rows(a=(2, 4, 4, 4))("F.max_pool3d(a, 2) | F.avg_pool3d(a, 2)"),
    S("F.adaptive_max_pool2d(a, (3, 2), return_indices=True)", a=(2, 3, 5, 4)),
    S("F.adaptive_max_pool1d(a, 2, return_indices=True)", a=(2, 3, 5)),
]

RESAMPLED = [
    *[
        S(f"F.interpolate(a, {call})", a=shape)
        for shape, calls in (
            ((1, 2, 3), ("size=5", "size=2, mode='nearest-exact'", "size=5, mode='linear'")),
            ((2, 1, 3, 4), ("scale_factor=2", "size=(2, 5), mode='bilinear'", "size=(5, 3), mode='nearest-exact'")),
            ((1, 1, 2, 3, 2), ("size=4", "size=(3, 2, 4), mode='trilinear'", "size=3, mode='nearest-exact'")),
        )
        for call in calls
    ],
    S("F.unfold(a, 2)", a=(2, 3, 4, 5)),
    S("F.unfold(a, (2, 3), dilation=2, padding=(1, 2), stride=(2, 1))", a=(1, 2, 4, 5)),
    S("F.unfold(a, 2)", a=(3, 4, 4), names=False),
    S("F.unfold(a, (2, 2))", a=(0, 1, 4, 4)),
    S("F.fold(a, (4, 5), 2)", a=(2, 8, 12)),
    S("F.fold(F.unfold(a, 3, padding=1), (4, 4), 3, padding=1)", a=(1, 2, 4, 4)),
    # PyTorch has a node of its own for each of these.
    *rows(a=(1, 2, 3, 4))("F.interpolate(a, scale_factor=2) | F.interpolate(a, size=(5, 3))"),
    S("F.interpolate(a, scale_factor=1.7, mode='bilinear')", a=(1, 2, 3, 4)),
    S("F.interpolate(a, scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)", a=(1, 2, 3, 4)),
    S("F.interpolate(a, (2, 6), mode='bilinear', align_corners=True)", a=(1, 2, 3, 4)),
    S("F.interpolate(a, 7, mode='linear')", a=(1, 2, 4)),
]


# Where PyTorch has a node of its own, or another order of the same ones, the names are not claimed.
COMPOSED = [
    *rows(a=M)("T.argwhere(a > 0) | a.ravel()"),
    S("T.atleast_1d(a)", a=()),
    S("T.atleast_2d(a, b)", a=V, b=M),
    S("T.broadcast_tensors(a, b)", a=M, b=V, names=False),
    S("T.column_stack([a, b])", a=M, b=(3,)),
    *rows()("T.tril_indices(3, 4, -1) | T.triu_indices(3, 4) | T.linspace(T.tensor(0.0), T.tensor(2), 5)"),
    *rows()("T.linspace(4.3, -3, 50, dtype=T.int64) | T.arange(0.1, 0.5, 0.1, dtype=T.float64)"),
    *rows()("T.arange(0.1, -7.9, -4.0) | T.arange(0.0, -8.000001, -4.0, dtype=T.int64) | T.arange(T.tensor(3))"),
    # PyTorch has no second gradient of a distance.
    S("T.cdist(a, b)", a=(2, 3, 4), b=(2, 5, 4), second=False),
    S("T.cdist(a, b, 1)", a=(3, 4), b=(5, 4), second=False),
    S("T.cdist(a, b, 1.5)", a=(3, 4), b=(2, 5, 4), second=False),
    S("T.cdist(a, b)", a=(2, 27, 3), b=(4, 3), names=False),  # PyTorch expands and folds a batch its own way
    S("T.cdist(a, b, compute_mode='use_mm_for_euclid_dist')", a=(4, 3), b=(2, 3)),
    S("T.cdist(a, b, compute_mode='donot_use_mm_for_euclid_dist')", a=(26, 3), b=(2, 3), second=False),
    S("F.pairwise_distance(a, b, 1, keepdim=True)", a=M, b=V),
    S("F.pairwise_distance(a, b)", a=V, b=V),
    *rows(a=well_conditioned(3))("T.det(a) | a.inverse()"),
]

NANS = values(np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, 2.0, 0.5)

# PyTorch has no second gradient (or tangent) at nan for some of them, where a formula gives one. For the shrinking
# functions and hardtanh its first one depends on the length of the vector.
NOT_NUMBERS = [
    *rows(a=NANS)("T.sign(a) | T.abs(a) | a.relu() | F.leaky_relu(a, 0.1) | T.clamp(a, -1.0, 1.0) | a.norm(p=1)"),
    *rows(a=NANS)("a.norm(p=float('inf')) | a.amax(dim=0) | a.amin(dim=0) | a.max(dim=0)[0] | T.fmod(a, 2)"),
    *rows(a=NANS)("a.logsumexp(dim=0) | a.softmax(dim=0) | a.sort(dim=0)[0] | a.topk(3)[0] | T.sigmoid(a) | T.erf(a)"),
    S("F.l1_loss(a, a.detach() * 0)", a=NANS),
    # Without the nan: PyTorch's gradient there depends on how many numbers the processor computes at once.
    *rows(a=values(np.inf, -np.inf, 1.0, -1.0, 0.0, 2.0, 0.5), second=False)("F.elu(a, 0.8) | F.selu(input=a)"),
    *rows(a=NANS, second=False)("F.smooth_l1_loss(a, a.detach() * 0) | F.huber_loss(a, a.detach() * 0)"),
    *rows(a=NANS, forward=False)("T.maximum(a, a.detach() * 0) | T.minimum(a, -a.detach()) | T.median(a)"),
]

SAMPLES = [*POINTWISE, *EXPONENTIAL, *ACTIVATION, *REDUCE, *SHAPE, *INDEX, *INPLACE, *LINALG, *DECOMPOSITION]
SAMPLES += [*NETWORK, *LOSS, *RANDOM, *RESAMPLED, *WINDOWS, *COMPOSED, *NOT_NUMBERS]

# Calls that PyTorch refuses, and the type of its error.
REFUSED = [
    S("F.unfold(a, 5)", a=(1, 2, 4, 4)),
    S("F.fold(a, (4, 4), 2)", a=(1, 8, 7)),
    S("F.fold(a, (4, 4), 2)", a=(1, 7, 9)),
    *rows(a=(1, 2, 3))("F.interpolate(a) | F.interpolate(a, 2, 2.0) | F.interpolate(a, 2, align_corners=True)"),
    S("F.interpolate(a.long(), 2, mode='bilinear')", a=(1, 2, 3, 3)),
    *rows(a=M, b=(3,))("a + b | F.l1_loss(a, b)"),
    *rows(a=M, b=M)("a @ b | T.tensordot(a, b, dims=1)"),
    *rows(a=M, b=V)("a.dot(b) | a.clamp(b, 0.5) | T.stack([a, b])"),
    S("a.mm(b)", a=V, b=M),
    *rows(a=M)("a.view(5, 5) | a.t().view(12) | a.reshape(5, -1) | a.expand(2, 2) | a.permute(0, 0)"),
    *rows(a=M)("a.transpose(0, 2) | T.isclose(a, a, rtol=-1.0) | a.roll(()) | a.narrow(0, 4, 0) | a.narrow(0, 0, -1)"),
    *rows(a=M)("F.hardtanh(a, 1.0, -1.0) | T.full_like(a, 1e400 - 1e400, dtype=T.int32)"),
    *rows(a=M)("a.new_full((2,), -300, dtype=T.uint8) | F.mse_loss(a, a, weight=a[0])"),
    *rows(a=M)("F.huber_loss(a, a, weight=a[0]) | F.triplet_margin_loss(a, a, a, margin=-1.0)"),
    *rows(a=M)("a.clone().uniform_(1, to=0) | a.sum(2) | a.sum((0, 0)) | a.mean(dtype=T.int64) | a.sum_to_size(2, 4)"),
    *rows(a=M)("T.diag_embed(a, 0, 1, 1) | a.clamp() | a.long().mean() | a.long().softmax(1) | T.cat([a, None])"),
    *rows(a=M)("T.cat([a, T.tensor(1.0)]) | a.split([1, 1]) | a.chunk(0) | a.narrow(0, 2, 2) | a.unflatten(1, (3, 3))"),
    *rows(a=M)("a.repeat(2) | a.unfold(0, 5, 1) | a[3] | a[0, 0, 0] | a[1.5] | a[::-1] | a.topk(9) | T.where(a, a, a)"),
    *rows(a=M)("T.div(a, 2, rounding_mode='up') | T.einsum('ij,jk', a) | T.einsum([a], 'ij') | T.einsum('ijk', a)"),
    *rows(a=M)("-(a > 0) | (a > 0) - (a > 0) | a.long() ** -1 | a.long().add_(0.5) | a.relu_()"),
    *rows(a=M)("(a // 2).sum().backward() | a.exp(1) | F.pad(a, (1,)) | F.pad(a, (5, 5), mode='reflect')"),
    *rows(a=M)("F.gelu(a, approximate='x') | a.item() | bool(a) | T.linalg.inv(a) | a.detach().normal_(0, -1)"),
    *[
        S(f"T.{name}(a, 0.5)", a=M)
        for name in ("maximum", "minimum", "atan2", "logaddexp", "logical_and", "logical_or", "isclose")
    ],
    *[S(f"T.{name}(0.5, a)", a=M) for name in ("eq", "lt", "fmod", "max", "clamp_min", "maximum", "exp")],
    S("T.meshgrid(a, a, indexing='zz')", a=V),
    S("a.narrow(0, 0, 1)", a=()),
    *rows(a=(2, 3, 4))("T.movedim(a, (0, -3), (1, 2)) | T.movedim(a, (0, 1), (1, -2)) | a.t()"),
    *rows(a=unit_constant(3))("a.multinomial(0) | (a > 0).multinomial(1)"),
    S("a.multinomial(1)", a=unit_constant(1, 2, 3)),
    *rows()("T.full((2,), 300, dtype=T.int8) | T.full((2,), float('nan'), dtype=T.int64) | T.full((2,), 1e60)"),
    *rows()("T.tensor([1, 300], dtype=T.int8) | T.tensor([1.5, 3e9], dtype=T.int32)"),
    *rows()("T.ones(2, dtype=T.int8).fill_(300) | T.ones(2, dtype=T.float16).fill_(1e6)"),
    S("T.ones(2, dtype=T.int8).__setitem__(0, 300)"),
    S("T.ones(2, dtype=T.int8).masked_fill(T.tensor([True, False]), 300)"),
    *rows()("T.linspace(0, 1e6, 3, dtype=T.float16) | T.arange(0, float('inf')) | T.linspace(0, 1, -1)"),
    *rows()("T.linspace(T.ones(2), 1, 3) | T.eye(-1) | T.cat([]) | T.exp(1.0) | T.randint(3, 3, (2,))"),
    S("a.max()", a=(0,)),
    S("a.max(0)", a=(0, 3)),
    S("T.cat([a, b])", a=M, b=(3, 3)),
    *rows(a=M, i=index([3]))("a[i] | a.index_select(0, i)"),
    S("a[b]", a=M, b=constant(2)),
    S("a[m]", a=M, m=mask([True, False])),
    S("a.gather(1, i)", a=M, i=index([[4]])),
    *rows(a=M, i=index([0]))("a.gather(1, i) | a.index_fill(0, i, a[0]) | a.masked_select(i)"),
    S("a.index_select(0, i.to(T.uint8))", a=M, i=index([1])),
    S("a.index_add(0, i, b)", a=M, b=(2,), i=index([0, 2])),
    S("a.index_add(0, i, a.float()[:2].half())", a=M, i=index([0, 2])),
    S("a.index_copy(0, i, b)", a=M, b=V, i=index([0, 2])),
    *rows(a=M, i=index([[0], [1]]))("a.scatter(1, i, a.half()) | a.clone().scatter_add_(1, i, a.half())"),
    S("a.masked_fill(b, 0.0)", a=M, b=constant(3, 4)),
    S("a.add_(b)", a=constant(4), b=constant(3, 4)),
    S("F.glu(a)", a=(3, 3)),
    S("T.diag(a)", a=(2, 2, 2)),
    S("a.fill_(b)", a=constant(2), b=constant(2)),
    S("T.exp(a.numpy())", a=constant(2)),
    S("F.linear(x, w)", x=M, w=(2, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(4, 2, 3, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(4, 3, 9, 9)),
    S("F.conv2d(x, w)", x=M, w=(4, 3, 3, 3)),
    *rows(x=IMAGE, w=(4, 3, 3, 3))("F.conv2d(x, w, groups=2) | F.conv2d(x, w, dilation=0)"),
    *rows(x=IMAGE)("F.max_pool2d(x, 2, padding=2) | F.max_pool2d(x, 9) | F.max_pool2d(x, 2, dilation=0)"),
    *rows(x=IMAGE)("F.adaptive_avg_pool2d(x, (-1, 2)) | F.batch_norm(x, None, None) | F.group_norm(x, 2)"),
    S("F.max_pool1d(x, 1)", x=()),
    *rows(x=(3, 3))("F.max_pool1d(x, 1, stride=0) | F.avg_pool1d(x, 2, padding=-1)"),
    *rows(x=M)("F.adaptive_avg_pool2d(x, (2, 2)) | F.rms_norm(x, ()) | F.rms_norm(x, (3,)) | F.max_pool2d(x, 2)"),
    *rows(x=M)("F.layer_norm(x, (3,)) | F.dropout(x, 1.5)"),
    S("F.adaptive_avg_pool1d(x, [])", x=(1, 2, 3)),
    S("F.group_norm(x, 1)", x=V),
    S("F.prelu(x, w)", x=M, w=(1, 4)),
    S("F.batch_norm(x, None, None, training=True)", x=(1, 3)),
    S("F.embedding(i, w)", i=index([4]), w=(4, 3)),
    S("F.embedding(x, w)", x=V, w=(4, 3)),
    S("F.one_hot(i, 2)", i=index([2])),
    *rows(x=M, y=M)("F.mse_loss(x, y, reduction='average') | F.huber_loss(x, y, delta=0.0)"),
    S("F.nll_loss(x, t)", x=M, t=index([0, 4, 1])),
    *rows(x=M, t=index([0, 1]))("F.nll_loss(x, t) | F.cross_entropy(x, t)"),
    S("F.cross_entropy(x, t)", x=M, t=index([0, 1, -1])),
    S("F.cross_entropy(x, t, label_smoothing=2.0)", x=M, t=index([0, 1, 1])),
    *rows(x=M, y=V)("F.cross_entropy(x, y) | F.binary_cross_entropy_with_logits(x, y)"),
    S("F.binary_cross_entropy(x, y)", x=M, y=unit(3, 4)),
    S("F.binary_cross_entropy(x, y)", x=unit(3, 4), y=unit(4)),
    S("T.linalg.inv(a)", a=values([1.0, 2.0], [2.0, 4.0])),
    S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(2, 2)),
]

# Rows on which finite differences say something else than the derivative, each for its reason.
AT_KINKS = (
    "a.abs() | a.sign() | a.round() | a.clamp(-0.5, 1.0) | a.clamp(min=0.5) | a.clamp(max=0.5) | a.clamp_min(0.5) | "
    "a.clamp_max(0.5) | T.maximum(a, b) | T.minimum(a, b) | F.relu(a) | F.leaky_relu(a, 0.2) | F.elu(a) | "
    "F.hardtanh(a) | a.max() | a.min() | a.max(0, keepdim=True) | a.amax() | a.cummax(1)"
)
NO_NUMERICAL_CHECK = {
    **dict.fromkeys(
        AT_KINKS.split(" | "), "the inputs are at kinks, jumps or ties, where PyTorch takes one slope of several"
    ),
    "a ** b": "0 ** b has no derivative by b from both sides",
    "a.to(T.float32)": "rounding to float32 is coarser than the differences",
    "F.embedding(i, w, padding_idx=2)": "the row of padding gets no gradient, by what padding means",
    "a.sum(1)": "an empty input leaves nothing to differ",
    **dict.fromkeys(
        ["a[0:0]", "T.flatten(a, 1)", "a.gather(0, i)", "T.matmul(a, b)", "F.group_norm(x, 2)", "F.unfold(a, (2, 2))"],
        "where nothing comes in or out, nothing differs",
    ),
    **dict.fromkeys(["F.rms_norm(x.half(), (2,))"], "rounding to float16 is coarser than the differences"),
    **dict.fromkeys(["a.median(dim=1)", *(s.code for s in NOT_NUMBERS)], "differences of nan are nan"),
    **dict.fromkeys(
        ["T.normal(a, b)", "T.normal(a, 0.5)", "T.normal(0.5, b)", "T.bernoulli(a * 0 + 1)"],
        "a draw is cut off from what it is drawn by",
    ),
}
