"""The table of samples: one row for each way to call an op. Adding an op is adding a row.

A row is code, run with `T` as either engine and `F` as its `nn.functional`, and the inputs it names. An input is a shape
(standard normal numbers that require grad), or one of the makers below.
"""

from __future__ import annotations

import zlib
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


M, V = (3, 4), (4,)
KINKS = values(-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0)

POINTWISE = [
    S("a + b", a=M, b=M),
    S("a + b", a=M, b=V),
    S("a + b", a=(3, 1), b=(1, 4)),
    S("a + b", a=(), b=M),
    S("a + 2", a=M),
    S("2 + a", a=M),
    S("T.add(a, b, alpha=3)", a=M, b=V),
    S("a - b", a=M, b=(3, 1)),
    S("a - 2.5", a=M),
    S("2.5 - a", a=M),
    S("T.sub(a, b, alpha=0.5)", a=M, b=V),
    S("T.rsub(a, b, alpha=2)", a=M, b=V),
    S("a * b", a=M, b=M),
    S("a * b", a=M, b=V),
    S("3 * a", a=M),
    S("a * a", a=M),
    S("a / b", a=M, b=positive(4)),
    S("a / 4", a=M),
    S("1 / a", a=positive(3, 4)),
    S("T.div(a, b, rounding_mode='floor')", a=M, b=positive(4)),
    S("T.div(a, b, rounding_mode='trunc')", a=M, b=positive(4)),
    S("a // 0.7", a=constant(3, 4)),
    S("a % 0.7", a=M),
    S("a.remainder(b)", a=M, b=positive(4)),
    S("T.fmod(a, 0.7)", a=M),
    S("T.fmod(a, b)", a=M, b=positive(4)),
    S("-a", a=M),
    S("a.abs()", a=KINKS),
    S("a.sign()", a=KINKS),
    S("a.reciprocal()", a=positive(3, 4)),
    S("a.floor()", a=M),
    S("a.ceil()", a=M),
    S("a.trunc()", a=M),
    S("a.round()", a=values(-1.5, -0.5, 0.5, 1.5, 2.5, 0.3)),
    S("a.round(decimals=2)", a=M),
    S("a.frac()", a=M),
    S("T.addcmul(a, b, c, value=0.5)", a=M, b=V, c=(3, 1)),
    S("T.addcdiv(a, b, c, value=0.5)", a=M, b=V, c=positive(3, 1)),
    S("T.lerp(a, b, 0.3)", a=M, b=M),
    S("T.lerp(a, b, 0.8)", a=M, b=V),
    S("T.lerp(a, b, c)", a=M, b=M, c=unit(4)),
    S("a.clamp(-0.5, 1.0)", a=KINKS),
    S("a.clamp(min=0.5)", a=KINKS),
    S("a.clamp(max=0.5)", a=KINKS),
    S("a.clamp(b, c)", a=M, b=within(-1, 0, 4), c=within(0, 1, 4)),
    S("a.clamp(b)", a=M, b=V),
    S("a.clamp(max=b)", a=M, b=V),
    S("a.clamp_min(0.5)", a=KINKS),
    S("a.clamp_max(0.5)", a=KINKS),
    S("T.maximum(a, b)", a=values(1.0, 2.0, 3.0), b=values(2.0, 2.0, 2.0)),
    S("T.minimum(a, b)", a=values(1.0, 2.0, 3.0), b=values(2.0, 2.0, 2.0)),
    S("T.max(a, b)", a=M, b=V),
    S("a.nan_to_num()", a=values(1.0, np.nan, np.inf, -np.inf, 2.0), single=1e-4),
    S("a.nan_to_num(nan=2.0, posinf=3.0, neginf=-3.0)", a=values(1.0, np.nan, np.inf, -np.inf)),
    S("T.where(a > 0, a, b)", a=M, b=V),
    S("T.where(a > 0, a, 0.0)", a=M),
    S("a.masked_fill(m, 2.0)", a=M, m=mask([True, False, True, False])),
    S("a.masked_fill(m, b)", a=M, b=(), m=mask([True, False, True, False])),
    S("a.clone()", a=M),
    S("a.to(T.float32)", a=M, single=1e-4, second=False),
    S("a.double()", a=M),
]

EXPONENTIAL = [
    S("a ** 2", a=M),
    S("a ** 3", a=M),
    S("a ** 0.5", a=positive(3, 4)),
    S("a ** -1", a=positive(3, 4)),
    S("a ** 0", a=M),
    S("a ** b", a=positive(3, 4), b=V),
    S("a ** b", a=values(0.0, 0.0, 0.5, 2.0), b=values(0.0, 2.0, 0.0, -1.0), second=False),
    S("2 ** a", a=M),
    S("a.square()", a=M),
    S("a.sqrt()", a=positive(3, 4)),
    S("a.rsqrt()", a=positive(3, 4)),
    S("a.exp()", a=M),
    S("a.exp2()", a=M),
    S("a.expm1()", a=M),
    S("a.log()", a=positive(3, 4)),
    S("a.log2()", a=positive(3, 4)),
    S("a.log10()", a=positive(3, 4)),
    S("a.log1p()", a=positive(3, 4)),
    S("a.sin()", a=M),
    S("a.cos()", a=M),
    S("a.tan()", a=within(-1.2, 1.2, 3, 4)),
    S("a.asin()", a=within(-0.9, 0.9, 3, 4)),
    S("a.acos()", a=within(-0.9, 0.9, 3, 4)),
    S("a.atan()", a=M),
    S("T.atan2(a, b)", a=M, b=V),
    S("a.sinh()", a=M),
    S("a.cosh()", a=M),
    S("a.tanh()", a=M),
    S("a.asinh()", a=M),
    S("a.acosh()", a=within(1.2, 3.0, 3, 4)),
    S("a.atanh()", a=within(-0.9, 0.9, 3, 4)),
    S("a.sigmoid()", a=M),
    S("a.logit()", a=unit(3, 4)),
    S("a.logit(0.3)", a=unit(3, 4)),
    S("a.erf()", a=within(-3, 3, 5, 5)),
    S("a.erfc()", a=within(-3, 3, 5, 5), single=1e-4),
    S("T.xlogy(a, b)", a=values(0.0, 1.0, 2.0), b=values(0.5, 1.0, 2.0)),
    S("T.logaddexp(a, b)", a=M, b=V),
]

ACTIVATION = [
    S("F.relu(a)", a=KINKS),
    S("F.leaky_relu(a, 0.2)", a=KINKS),
    S("F.elu(a)", a=KINKS),
    S("F.elu(a, 0.5)", a=M),
    S("F.selu(a)", a=M),
    S("F.celu(a, 0.5)", a=M),
    S("F.gelu(a)", a=within(-4, 4, 5, 5)),
    S("F.gelu(a, approximate='tanh')", a=within(-4, 4, 5, 5)),
    S("F.silu(a)", a=M),
    S("F.mish(a)", a=M),
    S("F.softplus(a)", a=within(-25, 25, 3, 4)),
    S("F.softplus(a, 2.0, 5.0)", a=within(-5, 5, 3, 4)),
    S("F.logsigmoid(a)", a=within(-5, 5, 3, 4)),
    S("F.hardtanh(a)", a=KINKS),
    S("F.relu6(a)", a=within(-3, 9, 3, 4)),
    # PyTorch keeps the 1/6 in single precision, and has no second gradient.
    S("F.hardsigmoid(a)", a=within(-4, 4, 3, 4), second=False, double=1e-7),
    S("F.hardswish(a)", a=within(-4, 4, 3, 4), second=False),
    S("F.softsign(a)", a=M),
    S("F.tanhshrink(a)", a=M),
    S("F.softshrink(a)", a=KINKS),
    S("F.threshold(a, 0.2, -1.0)", a=M),
    S("F.glu(a)", a=M),
    S("F.prelu(a, w)", a=(2, 3, 4), w=(1,), names=False),
    S("F.prelu(a, w)", a=(2, 3, 4), w=(3,)),
    S("T.tanh(a)", a=M),
]

REDUCE = [
    S("a.sum()", a=M),
    S("a.sum(1)", a=M),
    S("a.sum(-1, keepdim=True)", a=M),
    S("a.sum((0, 2))", a=(2, 3, 4)),
    S("a.sum(dim=0, dtype=T.float64)", a=M),
    S("a.sum()", a=()),
    S("a.sum(0)", a=()),
    S("a.sum(1)", a=(3, 0)),
    S("a.mean()", a=M),
    S("a.mean(0)", a=M),
    S("a.mean((0, -1), keepdim=True)", a=(2, 3, 4)),
    S("a.prod()", a=M),
    S("a.prod()", a=values(2.0, 0.0, 3.0)),
    S("a.prod()", a=values(2.0, 0.0, 0.0)),
    S("a.prod(1)", a=M),
    S("a.prod(0, keepdim=True)", a=values([1.0, 0.0, 2.0], [3.0, 4.0, 0.0])),
    S("a.max()", a=values(1.0, 3.0, 3.0, 2.0)),
    S("a.min()", a=values(1.0, 1.0, 3.0, 2.0)),
    S("a.max(1)", a=M),
    S("a.max(0, keepdim=True)", a=values([1.0, 3.0], [1.0, 2.0])),
    S("a.min(1).values", a=M),
    S("a.min(1).indices", a=M),
    S("a.max(0)", a=()),
    S("a.median()", a=M),
    S("a.median(1)", a=M),
    S("a.amax()", a=values(1.0, 3.0, 3.0, 2.0)),
    S("a.amax(1)", a=M),
    S("a.amin((0, 1), keepdim=True)", a=M),
    S("a.var()", a=M),
    S("a.var(1)", a=M),
    S("a.var(1, correction=0, keepdim=True)", a=M),
    S("a.var(0, False)", a=M),
    S("a.std()", a=M),
    S("a.std((0, 2))", a=(2, 3, 4)),
    S("T.var_mean(a, 1)", a=M),
    S("T.std_mean(a, 1, keepdim=True)", a=M),
    S("a.norm()", a=M),
    S("a.norm()", a=values(0.0, 0.0, 0.0), second=False),
    S("a.norm(1, dim=1)", a=M),
    S("a.norm(3, dim=0, keepdim=True)", a=M),
    S("a.norm(1.5)", a=M),
    S("a.norm(0.5)", a=M),
    S("a.norm(float('inf'), 1)", a=M),
    S("a.norm(0)", a=M),
    S("a.logsumexp(1)", a=M),
    S("a.logsumexp((0, 1), keepdim=True)", a=M),
    S("a.cumsum(1)", a=M),
    S("a.cumsum(-2)", a=M),
    S("a.cumprod(1)", a=M),
    S("a.cumprod(0)", a=values([1.0, 0.0, 2.0], [3.0, 4.0, 0.0], [2.0, 0.0, 1.0])),
    S("a.nansum()", a=values(1.0, np.nan, 2.0)),
    S("a.nansum(0)", a=values([1.0, np.nan], [2.0, 3.0])),
    S("a.softmax(1)", a=M),
    S("a.softmax(0)", a=M),
    S("a.log_softmax(-1)", a=M),
    S("F.softmin(a, 1)", a=M),
    S("a.all()", a=M),
    S("(a > 0).any(1)", a=M),
    S("(a > 0).all(0, keepdim=True)", a=M),
    S("(a > 0).sum()", a=M),
    S("a.argmax()", a=M),
    S("a.argmax(1)", a=M),
    S("a.argmin(0, keepdim=True)", a=M),
    S("T.count_nonzero(a, 1)", a=M),
]

SHAPE = [
    S("a.reshape(2, 6)", a=M),
    S("a.reshape(-1)", a=M),
    S("a.t().reshape(2, 6)", a=M),
    S("a.view(4, 3)", a=M),
    S("a.flatten()", a=(2, 3, 4)),
    S("a.flatten(1)", a=(2, 3, 4)),
    S("a.flatten(0, 1)", a=(2, 3, 4)),
    S("a.flatten()", a=()),
    S("a.unflatten(1, (2, -1))", a=M),
    S("a.squeeze()", a=(1, 3, 1)),
    S("a.squeeze(0)", a=(1, 3, 1)),
    S("a.squeeze(1)", a=(1, 3, 1)),
    S("a.squeeze((0, 2))", a=(1, 3, 1)),
    S("a.unsqueeze(-1)", a=M),
    S("a.expand(2, 3, 4)", a=M),
    S("a.expand(3, -1)", a=(1, 4)),
    S("a.expand_as(b)", a=V, b=M),
    S("a.broadcast_to((3, 4))", a=V),
    S("a.repeat(2, 1, 3)", a=M),
    S("a.tile((2,))", a=M),
    S("a.permute(2, 0, 1)", a=(2, 3, 4)),
    S("a.transpose(0, -1)", a=(2, 3, 4)),
    S("a.t()", a=M),
    S("a.T", a=M),
    S("a.mT", a=(2, 3, 4)),
    S("T.movedim(a, 0, 2)", a=(2, 3, 4)),
    S("T.movedim(a, (0, 1), (2, 0))", a=(2, 3, 4)),
    S("T.flip(a, (0, 1))", a=M),
    S("a.flip(1)", a=M),
    S("a.roll(1, 0)", a=M),
    S("a.roll((1, -2), (0, 1))", a=M),
    S("a.roll(2)", a=M),
    S("T.cat([a, b])", a=M, b=(2, 4)),
    S("T.cat([a, b, a], dim=1)", a=M, b=(3, 2)),
    S("T.stack([a, b], 1)", a=M, b=M),
    S("T.stack([a, b], -1)", a=M, b=M),
    S("T.hstack([a, b])", a=M, b=(3, 2)),
    S("T.hstack([a, b])", a=V, b=V),
    S("T.vstack([a, b])", a=V, b=V, names=False),
    S("a.split(2)", a=M),
    S("a.split(3, dim=1)[1]", a=M),
    S("a.split([1, 3], dim=1)", a=M),
    S("a.chunk(2, 1)", a=M),
    S("a.unbind(1)", a=M),
    S("a.narrow(1, 1, 2)", a=M),
    S("a.select(1, -1)", a=M),
    S("a.diagonal()", a=M),
    S("a.diagonal(1, 0, 2)", a=(3, 2, 4)),
    S("a.diag()", a=M),
    S("a.diag(1)", a=V),
    S("T.diag_embed(a)", a=M),
    S("a.tril()", a=M),
    S("a.triu(1)", a=M),
    S("a.unfold(1, 2, 1)", a=M),
    S("a.unfold(0, 2, 2)", a=(5, 2)),
    S("F.pad(a, (1, 2))", a=M),
    S("F.pad(a, (1, -1, 2, 0), value=3.0)", a=M),
    S("F.pad(a, (2, 1), mode='reflect')", a=(2, 3, 4)),
    S("F.pad(a, (1, 2, 1, 0), mode='reflect')", a=(2, 3, 3, 4)),
    S("F.pad(a, (2, 1), mode='replicate')", a=(2, 3, 4)),
    S("F.pad(a, (1, 2, 1, 0), mode='replicate')", a=(2, 3, 3, 4)),
    # PyTorch writes circular padding piece by piece: a chain of CopySlices.
    S("F.pad(a, (2, 1), mode='circular')", a=(2, 3, 4), names=False),
    S("a.repeat_interleave(2, 0)", a=M),
    S("a.repeat_interleave(2)", a=M),
    S("a.repeat_interleave(n, 0)", a=M, n=index([1, 2, 0])),
    S("T.meshgrid(a, b, indexing='ij')", a=(3,), b=V),
    S("T.meshgrid(a, b, indexing='xy')", a=(3,), b=V),
    S("a.sum_to_size(1, 4)", a=M),
    # Of a view, as a dual tensor is, as_strided is refused.
    S("a.as_strided((2, 2), (1, 4), 1)", a=M, names=False, forward=False),
    S("a.contiguous()", a=M),
    S("a.t().contiguous()", a=M),
]

INDEX = [
    S("a[0]", a=M),
    S("a[-1, 2]", a=M),
    S("a[1:, ::2]", a=M),
    S("a[:]", a=M),
    S("a[...]", a=M),
    S("a[..., 0]", a=(2, 3, 4)),
    S("a[None, :, 1]", a=M),
    S("a[i]", a=M, i=index([0, 2, 0])),
    S("a[:, i]", a=M, i=index([3, 0])),
    S("a[i, 1:]", a=M, i=index([0, 2])),
    S("a[i, j]", a=M, i=index([0, 2]), j=index([1, 1])),
    S("a[i[:, None], j]", a=M, i=index([0, 2]), j=index([1, 3, 1])),
    S("a[i, :, j]", a=(2, 3, 4), i=index([0, 1]), j=index([1, 3])),
    S("a[[0, 2]]", a=M),
    S("a[m]", a=M, m=mask([True, False, True])),
    S("a[:, m]", a=M, m=mask([True, False, True, True])),
    S("a[a > 0]", a=M),
    S("a[m, i]", a=M, m=mask([True, False, True]), i=index([1, 2])),
    S("a[0:0]", a=M),
    S("a[True]", a=M, names=False),
    S("a.index_select(1, i)", a=M, i=index([0, 2, 0])),
    S("a.gather(1, i)", a=M, i=index([[0, 0], [1, 3], [2, 2]])),
    S("a.gather(0, i)", a=M, i=index([[0, 1, 2, 2]])),
    S("a.scatter(1, i, b)", a=M, i=index([[0, 1], [1, 3], [2, 0]]), b=(3, 2)),
    S("a.scatter(1, i, 2.0)", a=M, i=index([[0, 1], [1, 3], [2, 0]])),
    S("a.scatter_add(1, i, b)", a=M, i=index([[0, 0], [1, 3], [2, 2]]), b=(3, 2)),
    S("a.index_add(0, i, b, alpha=2)", a=M, i=index([0, 0]), b=(2, 4)),
    S("a.index_copy(0, i, b)", a=M, i=index([0, 2]), b=(2, 4)),
    S("a.index_fill(1, i, 3.0)", a=M, i=index([0, 2])),
    S("a.index_put((i, j), b)", a=M, i=index([0, 2]), j=index([1, 1]), b=(2,)),
    S("a.index_put((i,), b, accumulate=True)", a=M, i=index([0, 0]), b=(2, 4)),
    S("a.take(i)", a=M, i=index([0, 5, 5])),
    S("T.take_along_dim(a, i, 1)", a=M, i=index([[0], [1], [3]])),
    S("a.masked_select(m)", a=M, m=mask([True, False, True, False])),
    S("a.nonzero()", a=KINKS),
    S("a.sort(1)", a=M),
    S("a.sort(0, descending=True)", a=M),
    S("a.argsort(1)", a=M),
    S("a.topk(2)", a=M),
    S("a.topk(2, 0, largest=False)", a=M),
    S("a.unique()", a=constant(3, 4)),
]

# In place: a copy of the input is changed, so that the input keeps its values.
INPLACE = [
    S("a.clone().add_(b, alpha=2)", a=M, b=V),
    S("a.clone().sub_(b)", a=M, b=V),
    S("a.clone().mul_(b)", a=M, b=V),
    S("a.clone().div_(b)", a=M, b=positive(4)),
    S("a.clone().pow_(2)", a=M),
    S("a.clone().exp_()", a=M),
    S("a.clone().sqrt_()", a=positive(3, 4)),
    S("a.clone().neg_()", a=M),
    S("a.clone().tanh_()", a=M),
    S("a.clone().sigmoid_()", a=M),
    S("a.clone().relu_()", a=M),
    S("a.clone().clamp_(-0.5, 0.5)", a=M),
    S("a.clone().clamp_min_(0.1)", a=M),
    S("a.clone().lerp_(b, 0.3)", a=M, b=M),
    S("a.clone().addcmul_(b, b, value=2)", a=M, b=V),
    S("a.clone().masked_fill_(m, 2.0)", a=M, m=mask([True, False, True, False])),
    S("a.clone().copy_(b)", a=M, b=V),
    S("a.clone().fill_(2.0)", a=M),
    S("a.clone().fill_(b)", a=M, b=()),
    S("a.clone().zero_()", a=M),
    S("a.clone().index_add_(0, i, b)", a=M, i=index([0, 2]), b=(2, 4)),
    S("a.clone().scatter_(1, i, b)", a=M, i=index([[0, 1], [1, 3], [2, 0]]), b=(3, 2)),
    S("a.clone().cumsum_(1)", a=M),
    S("a.clone().tril_()", a=M),
    *[
        S(f"(a * 1).{name}_({other})", a=M, b=M)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for other in ("0.5", "b")
    ],
    S("(a * 1).true_divide_(2)", a=M),
    S("F.relu(a.clone(), inplace=True)", a=M),
]

LINALG = [
    S("a @ b", a=M, b=(4, 2)),
    S("a @ b", a=M, b=V),
    S("a @ b", a=V, b=(4, 2)),
    S("a @ b", a=V, b=V),
    S("a @ b", a=(2, 3, 4), b=(4, 5)),
    S("a @ b", a=(2, 3, 4), b=V),
    S("a @ b", a=(2, 3, 4), b=(2, 4, 5)),
    S("a @ b", a=(2, 1, 3, 4), b=(5, 4, 2)),
    S("a @ b", a=V, b=(2, 4, 5)),
    S("T.mm(a, b)", a=M, b=(4, 2)),
    S("T.mv(a, b)", a=M, b=V),
    S("T.bmm(a, b)", a=(2, 3, 4), b=(2, 4, 5)),
    S("T.dot(a, b)", a=V, b=V),
    S("T.inner(a, b)", a=M, b=(2, 4), names=False),
    S("T.outer(a, b)", a=(3,), b=V),
    S("T.addmm(a, b, c, beta=0.5, alpha=2)", a=(2,), b=M, c=(4, 2)),
    S("T.addmv(a, b, c)", a=(3,), b=M, c=V),
    S("T.baddbmm(a, b, c, beta=2)", a=(2, 3, 5), b=(2, 3, 4), c=(2, 4, 5)),
    # PyTorch permutes and multiplies in an order of its own; the values and gradients are the same.
    S("T.einsum('ij,jk->ik', a, b)", a=M, b=(4, 2), names=False),
    S("T.einsum('ij,ij->', a, b)", a=M, b=M, names=False),
    S("T.einsum('bij,bjk', a, b)", a=(2, 3, 4), b=(2, 4, 5), names=False),
    S("T.einsum('...ij,...kj->...ik', a, b)", a=(2, 3, 4), b=(5, 4), names=False),
    S("T.einsum('ii', a)", a=(3, 3), names=False),
    S("T.einsum('ii->i', a)", a=(3, 3), names=False),
    S("T.einsum('i,j,k->kij', a, b, c)", a=(2,), b=(3,), c=V, names=False),
    S("T.einsum('ij->j', a)", a=M, names=False),
    S("T.tensordot(a, b, dims=1)", a=(2, 3, 4), b=(4, 5), names=False),
    S("T.tensordot(a, b, dims=([0, 2], [1, 0]))", a=(2, 3, 4), b=(4, 2, 5), names=False),
    S("T.kron(a, b)", a=(2, 3), b=(2, 2)),
    S("T.trace(a)", a=M),
]

DECOMPOSITION = [
    S("T.linalg.inv(a)", a=well_conditioned(3)),
    S("T.linalg.inv(a)", a=well_conditioned(3, 2)),
    S("T.linalg.det(a)", a=well_conditioned(3)),
    S("T.linalg.det(a)", a=well_conditioned(2, 4)),
    S("T.linalg.slogdet(a)", a=well_conditioned(3)),
    S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(3, 2)),
    S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(3,), names=False),
    S("T.linalg.solve(a, b, left=False)", a=well_conditioned(3), b=(2, 3)),
    S("T.linalg.cholesky(a @ a.mT + 3 * T.eye(3, dtype=a.dtype))", a=(3, 3)),
    S("T.linalg.vector_norm(a, 3)", a=M),
    S("T.linalg.matrix_norm(a)", a=M),
    S("T.linalg.matrix_norm(a, 1)", a=M, names=False),
    S("T.linalg.matrix_norm(a, float('inf'))", a=M, names=False),
    S("T.linalg.norm(a)", a=M),
    S("T.linalg.norm(a, 1)", a=M, names=False),
    S("T.linalg.norm(a, 3, dim=1)", a=M),
    S("T.linalg.matrix_power(a, 3)", a=(3, 3)),
    S("T.linalg.matmul(a, b)", a=M, b=(4, 2)),
]

IMAGE = (2, 3, 6, 5)

NETWORK = [
    S("F.linear(x, w, b)", x=M, w=(2, 4), b=(2,)),
    S("F.linear(x, w)", x=M, w=(2, 4)),
    S("F.linear(x, w, b)", x=(2, 3, 4), w=(2, 4), b=(2,)),
    S("F.linear(x, w)", x=(2, 3, 4), w=(2, 4)),
    S("F.linear(x, w, b)", x=V, w=(2, 4), b=(2,)),
    S("F.bilinear(x, y, w, b)", x=(3, 4), y=(3, 5), w=(2, 4, 5), b=(2,)),
    S("F.conv1d(x, w, b)", x=(2, 3, 7), w=(4, 3, 3), b=(4,)),
    S("F.conv1d(x, w, stride=2, padding=1, dilation=2)", x=(2, 3, 9), w=(4, 3, 3)),
    S("F.conv1d(x, w)", x=(3, 7), w=(4, 3, 3), names=False),
    S("F.conv2d(x, w, b)", x=IMAGE, w=(4, 3, 3, 2), b=(4,)),
    S("F.conv2d(x, w, b, stride=2, padding=1)", x=IMAGE, w=(4, 3, 3, 3), b=(4,)),
    S("F.conv2d(x, w, padding=(1, 2), dilation=2)", x=IMAGE, w=(2, 3, 2, 2)),
    S("F.conv2d(x, w, groups=2)", x=(2, 4, 5, 5), w=(6, 2, 3, 3)),
    S("F.conv2d(x, w, padding='same')", x=IMAGE, w=(2, 3, 3, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(2, 3, 1, 1)),
    S("F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)", x=(2, 3, 4, 4), w=(3, 2, 3, 3), b=(2,)),
    S("F.conv_transpose1d(x, w)", x=(2, 3, 5), w=(3, 4, 3)),
    S("F.max_pool2d(x, 2)", x=IMAGE),
    S("F.max_pool2d(x, 3, stride=1, padding=1)", x=IMAGE),
    S("F.max_pool2d(x, 2, ceil_mode=True)", x=IMAGE),
    S("F.max_pool2d(x, 2, return_indices=True)", x=IMAGE),
    S("F.max_pool2d(x, 2, dilation=2)", x=IMAGE),
    S(
        "F.max_pool2d(x.masked_fill(x < 0.5, -float('inf')), 3, 2, 1, return_indices=True)[1] + 0 * x[..., :2, :2]",
        x=(2, 3, 4, 4),
    ),
    S(
        "F.max_pool2d(x.masked_fill(x > 1, float('nan')), 2, return_indices=True)[1] * x[..., ::2, ::2]",
        x=(2, 3, 4, 4),
        forward=False,
    ),
    S("F.max_pool1d(x, 2)", x=(2, 3, 6)),
    S("F.avg_pool2d(x, 2)", x=IMAGE),
    S("F.avg_pool2d(x, 3, stride=2, padding=1)", x=IMAGE),
    S("F.avg_pool2d(x, 3, 2, 1, True, False)", x=IMAGE),
    S("F.avg_pool2d(x, 2, divisor_override=3)", x=IMAGE),
    S("F.avg_pool1d(x, 3, stride=1)", x=(2, 3, 6)),
    S("F.adaptive_avg_pool2d(x, (4, 2))", x=IMAGE),
    S("F.adaptive_avg_pool2d(x, 1)", x=IMAGE),
    S("F.adaptive_avg_pool1d(x, 4)", x=(2, 3, 6), second=False),
    S("F.batch_norm(x, None, None, w, b, True)", x=IMAGE, w=(3,), b=(3,), single=1e-4),
    S("F.batch_norm(x, None, None, w, b, True)", x=(5, 3), w=(3,), b=(3,), single=1e-4),
    S("F.batch_norm(x, m, v, w, b, False)", x=IMAGE, w=(3,), b=(3,), m=constant(3), v=unit_constant(3), single=1e-4),
    S("F.batch_norm(x, None, None, training=True)", x=IMAGE, single=1e-4),
    S("F.instance_norm(x)", x=IMAGE, single=1e-4),
    S("F.layer_norm(x, (4,), w, b)", x=(2, 3, 4), w=(4,), b=(4,), single=1e-4),
    S("F.layer_norm(x, (3, 4))", x=(2, 3, 4), single=1e-4),
    S("F.group_norm(x, 2, w, b)", x=(2, 4, 3, 3), w=(4,), b=(4,), single=1e-4),
    S("F.rms_norm(x, (4,), w)", x=M, w=(4,), names=False),
    S("F.dropout(x, 0.0)", x=M),
    S("F.dropout(x, 0.5, training=False)", x=M),
    S("F.dropout(x, 1.0)", x=M),
    S("F.embedding(i, w)", i=index([[0, 2], [2, 1]]), w=(4, 3)),
    S("F.embedding(i, w, padding_idx=2)", i=index([[0, 2], [2, 1]]), w=(4, 3)),
    S("F.one_hot(i)", i=index([0, 2, 1])),
    S("F.one_hot(i, 5)", i=index([[0], [2]])),
    S("F.normalize(x)", x=M),
    S("F.normalize(x, p=1.0, dim=0)", x=M),
    S("F.cosine_similarity(x, y)", x=M, y=M),
    S("F.pairwise_distance(x, y)", x=M, y=M, names=False),
    S("F.scaled_dot_product_attention(q, k, v)", q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 4), second=False),
    S(
        "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        q=(1, 2, 4, 4),
        k=(1, 2, 4, 4),
        v=(1, 2, 4, 4),
        second=False,
    ),
    S(
        "F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
        q=(2, 3, 4),
        k=(2, 5, 4),
        v=(2, 5, 4),
        m=(3, 5),
        names=False,
    ),
    S("F.scaled_dot_product_attention(q, k, v, scale=0.3)", q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 4), names=False),
]

LOSS = [
    S("F.mse_loss(x, y)", x=M, y=M),
    S("F.mse_loss(x, y, reduction='sum')", x=M, y=M),
    S("F.mse_loss(x, y, reduction='none')", x=M, y=M),
    S("F.l1_loss(x, y)", x=M, y=M),
    S("F.smooth_l1_loss(x, y)", x=M, y=M),
    S("F.smooth_l1_loss(x, y, beta=0.3, reduction='none')", x=M, y=M),
    S("F.mse_loss(a, b, weight=w)", a=M, b=M, w=positive(*M)),
    S("F.mse_loss(a, b, weight=w, reduction='none')", a=M, b=M, w=positive(*M)),
    S("F.l1_loss(a, b, weight=w)", a=M, b=M, w=positive(*M)),
    S("F.l1_loss(a, b, weight=w, reduction='sum')", a=M, b=M, w=positive(*M)),
    S("F.huber_loss(a, b, weight=w)", a=M, b=M, w=positive(*M)),
    S("F.huber_loss(x, y, delta=0.7)", x=M, y=M),
    S("F.nll_loss(x, t)", x=M, t=index([0, 3, 1])),
    S("F.nll_loss(x, t, w, ignore_index=3)", x=M, t=index([0, 3, 1]), w=unit_constant(4)),
    S("F.nll_loss(x, t, reduction='none')", x=M, t=index([0, 3, 1])),
    S("F.nll_loss(x, t, reduction='sum')", x=(4,), t=index(2)),
    S("F.nll_loss(x, t)", x=(2, 3, 2, 2), t=index([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])),
    S("F.cross_entropy(x, t)", x=M, t=index([0, 3, 1])),
    S("F.cross_entropy(x, t, w)", x=M, t=index([0, 3, 1]), w=unit_constant(4)),
    S("F.cross_entropy(x, t, reduction='none')", x=M, t=index([0, 3, 1])),
    S("F.cross_entropy(x, t, ignore_index=1)", x=M, t=index([0, 3, 1])),
    S("F.cross_entropy(x, t)", x=(4,), t=index(2)),
    S("F.cross_entropy(x, t)", x=(2, 3, 4), t=index([[0, 1, 2, 0], [1, 1, 2, 2]])),
    S("F.cross_entropy(x, t, label_smoothing=0.1)", x=M, t=index([0, 3, 1]), names=False),
    S(
        "F.cross_entropy(x, t, w, label_smoothing=0.1, ignore_index=3)",
        x=M,
        t=index([0, 3, 1]),
        w=unit_constant(4),
        names=False,
    ),
    S("F.cross_entropy(x, y)", x=M, y=unit(3, 4), names=False),
    S("F.cross_entropy(x, y, w, reduction='sum')", x=M, y=unit(3, 4), w=unit_constant(4), names=False),
    S("F.cross_entropy(x, y, label_smoothing=0.2)", x=M, y=unit(3, 4), names=False),
    S("F.binary_cross_entropy(x, y)", x=unit(3, 4), y=unit_constant(3, 4)),
    S("F.binary_cross_entropy(x, y, w, reduction='sum')", x=unit(3, 4), y=unit_constant(3, 4), w=unit_constant(4)),
    S("F.binary_cross_entropy_with_logits(x, y)", x=M, y=unit(3, 4)),
    S(
        "F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p)",
        x=M,
        y=unit(3, 4),
        w=unit_constant(4),
        p=unit_constant(4),
    ),
    S("F.kl_div(x, y)", x=M, y=unit(3, 4)),
    S("F.kl_div(x, y, reduction='batchmean', log_target=True)", x=M, y=M),
    S("F.soft_margin_loss(x, y)", x=M, y=constant(3, 4)),
    S("F.margin_ranking_loss(x, y, t, margin=0.5)", x=V, y=V, t=constant(4), names=False),
    S("F.hinge_embedding_loss(x, t)", x=V, t=signs(4), names=False),
    S("F.triplet_margin_loss(x, y, z)", x=M, y=M, z=M, names=False),
]

RANDOM = [
    S("F.dropout(T.ones(1000), 0.5).mean() > 0.8"),
    S("T.rand(1000).mean().round(decimals=1)"),
    S("T.randn(2, 3).shape[1]"),
    S("T.randint(3, 4, (2, 2))"),
    S("T.randperm(5).sort()[0]"),
    S("a.clone().uniform_(2, 2)", a=M),
    S("a.clone().normal_(2, 0)", a=M),
    S("T.bernoulli(a * 0 + 1)", a=constant(3, 4)),
]

SAMPLES = [
    *POINTWISE,
    *EXPONENTIAL,
    *ACTIVATION,
    *REDUCE,
    *SHAPE,
    *INDEX,
    *INPLACE,
    *LINALG,
    *DECOMPOSITION,
    *NETWORK,
    *LOSS,
    *RANDOM,
]

# Calls that PyTorch refuses, and the type of its error.
REFUSED = [
    S("a + b", a=M, b=(3,)),
    S("a @ b", a=M, b=M),
    S("a.dot(b)", a=M, b=V),
    S("a.mm(b)", a=V, b=M),
    S("a.view(5, 5)", a=M),
    S("a.t().view(12)", a=M),
    S("a.reshape(5, -1)", a=M),
    S("a.expand(2, 2)", a=M),
    S("a.permute(0, 0)", a=M),
    S("a.transpose(0, 2)", a=M),
    S("a.as_strided((4, 4), (4, 1))", a=M),
    S("a.as_strided((2,), (-1,))", a=M),
    S("F.mse_loss(a, a, weight=a[0])", a=M),
    S("F.huber_loss(a, a, weight=a[0])", a=M),
    S("a.clone().uniform_(1, to=0)", a=M),
    S("a.clone().geometric_(2.0)", a=M),
    S("a.clone().log_normal_(0, -1)", a=M),
    S("a.clone().cauchy_(0, -1)", a=M),
    S("a.squeeze(3)", a=M),
    S("a.t()", a=(2, 3, 4)),
    S("a.sum(2)", a=M),
    S("a.sum((0, 0))", a=M),
    S("a.max()", a=(0,)),
    S("a.max(0)", a=(0, 3)),
    S("a.clamp()", a=M),
    S("a.long().mean()", a=M),
    S("a.long().softmax(1)", a=M),
    S("T.cat([a, b])", a=M, b=(3, 3)),
    S("T.cat([])"),
    S("T.stack([a, b])", a=M, b=V),
    S("a.split([1, 1])", a=M),
    S("a.chunk(0)", a=M),
    S("a.narrow(0, 2, 2)", a=M),
    S("a.unflatten(1, (3, 3))", a=M),
    S("a.repeat(2)", a=M),
    S("a.unfold(0, 5, 1)", a=M),
    S("a[3]", a=M),
    S("a[0, 0, 0]", a=M),
    S("a[i]", a=M, i=index([3])),
    S("a[b]", a=M, b=constant(2)),
    S("a[1.5]", a=M),
    S("a[::-1]", a=M),
    S("a[m]", a=M, m=mask([True, False])),
    S("a.gather(1, i)", a=M, i=index([[4]])),
    S("a.gather(1, i)", a=M, i=index([0])),
    S("a.index_select(0, i)", a=M, i=index([3])),
    S("a.topk(9)", a=M),
    S("a.masked_fill(b, 0.0)", a=M, b=constant(3, 4)),
    S("a.masked_select(i)", a=M, i=index([0])),
    S("T.where(a, a, a)", a=M),
    S("T.div(a, 2, rounding_mode='up')", a=M),
    S("T.einsum('ij,jk', a)", a=M),
    S("T.einsum('ijk', a)", a=M),
    S("T.tensordot(a, b, dims=1)", a=M, b=M),
    S("T.kron(a)", a=M),
    S("-(a > 0)", a=M),
    S("(a > 0) - (a > 0)", a=M),
    S("a.long() ** -1", a=M),
    S("a.add_(b)", a=constant(4), b=constant(3, 4)),
    S("a.long().add_(0.5)", a=M),
    S("a.relu_()", a=M),
    S("T.exp(1.0)"),
    S("(a // 2).sum().backward()", a=M),
    S("a.exp(1)", a=M),
    S("F.pad(a, (1,))", a=M),
    S("F.pad(a, (5, 5), mode='reflect')", a=M),
    S("F.glu(a)", a=(3, 3)),
    S("F.gelu(a, approximate='x')", a=M),
    S("T.diag(a)", a=(2, 2, 2)),
    S("a.fill_(b)", a=constant(2), b=constant(2)),
    S("T.meshgrid(a, a, indexing='zz')", a=V),
    S("a.item()", a=M),
    S("bool(a)", a=M),
    S("T.exp(a.numpy())", a=constant(2)),
    S("F.linear(x, w)", x=M, w=(2, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(4, 2, 3, 3)),
    S("F.conv2d(x, w)", x=IMAGE, w=(4, 3, 9, 9)),
    S("F.conv2d(x, w)", x=M, w=(4, 3, 3, 3)),
    S("F.conv2d(x, w, groups=2)", x=IMAGE, w=(4, 3, 3, 3)),
    S("F.max_pool2d(x, 2, padding=2)", x=IMAGE),
    S("F.max_pool2d(x, 9)", x=IMAGE),
    S("F.max_pool2d(x, 2)", x=M),
    S("F.batch_norm(x, None, None)", x=IMAGE),
    S("F.batch_norm(x, None, None, training=True)", x=(1, 3)),
    S("F.layer_norm(x, (3,))", x=M),
    S("F.group_norm(x, 2)", x=IMAGE),
    S("F.dropout(x, 1.5)", x=M),
    S("F.embedding(i, w)", i=index([4]), w=(4, 3)),
    S("F.embedding(x, w)", x=V, w=(4, 3)),
    S("F.one_hot(i, 2)", i=index([2])),
    S("F.mse_loss(x, y, reduction='average')", x=M, y=M),
    S("F.nll_loss(x, t)", x=M, t=index([0, 4, 1])),
    S("F.nll_loss(x, t)", x=M, t=index([0, 1])),
    S("F.cross_entropy(x, t)", x=M, t=index([0, 1])),
    S("F.cross_entropy(x, t)", x=M, t=index([0, 1, -1])),
    S("F.cross_entropy(x, t, label_smoothing=2.0)", x=M, t=index([0, 1, 1])),
    S("F.cross_entropy(x, y)", x=M, y=V),
    S("F.binary_cross_entropy(x, y)", x=M, y=unit(3, 4)),
    S("F.binary_cross_entropy(x, y)", x=unit(3, 4), y=unit(4)),
    S("F.binary_cross_entropy_with_logits(x, y)", x=M, y=V),
    S("F.huber_loss(x, y, delta=0.0)", x=M, y=M),
    S("T.linalg.inv(a)", a=M),
    S("T.linalg.inv(a)", a=values([1.0, 2.0], [2.0, 4.0])),
    S("T.linalg.cholesky(a)", a=values([1.0, 2.0], [2.0, 1.0])),
    S("T.linalg.solve(a, b)", a=well_conditioned(3), b=(2, 2)),
    S("T.randint(3, 3, (2,))"),
    S("a.detach().normal_(0, -1)", a=M),
]

# Rows on which finite differences say something else than the derivative, each for its reason.
NO_NUMERICAL_CHECK = {
    **dict.fromkeys(
        [
            "a.abs()", "a.sign()", "a.round()", "a.clamp(-0.5, 1.0)", "a.clamp(min=0.5)", "a.clamp(max=0.5)",
            "a.clamp_min(0.5)", "a.clamp_max(0.5)", "T.maximum(a, b)", "T.minimum(a, b)", "F.relu(a)",
            "F.leaky_relu(a, 0.2)", "F.elu(a)", "F.hardtanh(a)", "F.softshrink(a)", "a.max()", "a.min()",
            "a.max(0, keepdim=True)", "a.amax()",
        ],
        "the inputs are at kinks, jumps or ties, where PyTorch takes one slope of several",
    ),
    "a ** b": "0 ** b has no derivative by b from both sides",
    "a.to(T.float32)": "rounding to float32 is coarser than the differences",
    "F.embedding(i, w, padding_idx=2)": "the row of padding gets no gradient, by what padding means",
    "a.sum(1)": "an empty input leaves nothing to differ",
    "a[0:0]": "an empty output leaves nothing to differ",
}  # fmt: skip
