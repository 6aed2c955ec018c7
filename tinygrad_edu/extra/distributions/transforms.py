"""Invertible maps with a known change of volume, for example for flows (PyTorch: `torch.distributions.transforms`)."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor
from ...ops import functions as F
from ...ops import linalg_functions, nn_functions
from ...seam.later import later
from . import constraints

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]  # fmt: skip

_softplus = nn_functions["softplus"]


class Transform:
    """The base class. Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    `event_dims` holds the number of dimensions of one event, before and after.

    Example:
        >>> import tinygrad_edu as T
        >>> t = T.distributions.transforms.AffineTransform(1.0, 2.0)
        >>> t(T.tensor(3.0)), t.inv(T.tensor(7.0))
        (tensor(7.), tensor(3.))
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._kept = cache_size, (None, None)

    @property
    def sign(self) -> Any:
        """1 where the transform rises, -1 where it falls.

        Raises:
            NotImplementedError: it does both, or it turns vectors into vectors.
        """
        raise NotImplementedError(f"{type(self).__name__} has no sign: it neither rises nor falls everywhere.")

    @property
    def event_dims(self) -> tuple[int, int]:
        """Those of `domain` and `codomain`, unless a transform sets them."""
        return self.__dict__.get("_event_dims") or (self.domain.event_dim, self.codomain.event_dim)

    @event_dims.setter
    def event_dims(self, dims: tuple[int, int]) -> None:
        self._event_dims = dims
        self.domain, self.codomain = (_of(c, n) for c, n in zip((self.domain, self.codomain), dims, strict=True))

    def __call__(self, x: Any) -> Any:
        if self._cache_size and x is self._kept[0]:
            return self._kept[1]
        y = self._call(x)
        if self._cache_size:
            self._kept = x, y
        return y

    def _back(self, y: Any) -> Any:
        if self._cache_size and y is self._kept[1]:
            return self._kept[0]
        x = self._inverse(y)
        if self._cache_size:
            self._kept = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """ln |det dy/dx|"""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, that keeps its last input and output, or does not."""
        new = copy.copy(self)
        new._cache_size, new._kept = cache_size, (None, None)
        return new

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return _InverseTransform(self)

    def forward_shape(self, shape: Any) -> Any:
        """The output shape for an input of `shape`."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The input shape for an output of `shape`."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv, self.bijective = transform, transform.bijective
        self.domain, self.codomain = transform.codomain, transform.domain
        self.event_dims = transform.event_dims[::-1]

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def __call__(self, x: Any) -> Any:
        return self._inv._back(x)

    def _back(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    @property
    def inv(self) -> Transform:
        return self._inv

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


def _of(constraint: Any, dims: int) -> Any:
    """The constraint, for events of at least `dims` dimensions."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


def summed(value: Any, dims: int) -> Any:
    """`value`, summed over its last `dims` dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


class ComposeTransform(Transform):
    """Applies several transforms one after the other.

    >>> import tinygrad_edu as T
    >>> D = T.distributions
    >>> D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform()])(T.tensor(-0.5))  # e^(1 + 2·(-0.5))
    tensor(1.)
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        # Enough dimensions to contain the events of every part.
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain
        before = after = 0
        for part in self.parts:
            into, out = part.event_dims
            more = max(into - after, 0)
            before, after = before + more, max(after + more, into) + out - into
        self.event_dims = before, after

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _back(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._back(y)
        return y

    @property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return F["zeros_like"](x)
        total: Any = 0
        event = self.event_dims[0]
        for part in self.parts:
            y = part(x)
            into, out = part.event_dims
            total = total + summed(part.log_abs_det_jacobian(x, y), event - into)
            event += out - into
            x = y
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inside = ",\n    ".join(map(repr, self.parts))
        return f"ComposeTransform(\n    {inside}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Treats the last dimensions as one event: their changes of volume are summed.

    >>> import tinygrad_edu as T
    >>> D = T.distributions
    >>> D.IndependentTransform(D.ExpTransform(), 1).log_abs_det_jacobian(T.tensor([1.0, 2.0]), None)
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain, self.codomain = base_transform.domain, base_transform.codomain
        into, out = base_transform.event_dims
        self.event_dims = into + reinterpreted_batch_ndims, out + reinterpreted_batch_ndims

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform._back(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Reshapes the last dimensions.

    >>> import tinygrad_edu as T
    >>> T.distributions.ReshapeTransform((4,), (2, 2))(T.arange(4))
    tensor([[0, 1],
            [2, 3]])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)
        self.event_dims = len(self.in_shape), len(self.out_shape)

    def _batch(self, shape: Any, event: Any) -> tuple[int, ...]:
        return tuple(shape)[: len(shape) - len(event)]

    def _call(self, x: Any) -> Any:
        return x.reshape((*self._batch(x.shape, self.in_shape), *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape((*self._batch(y.shape, self.out_shape), *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(self._batch(x.shape, self.in_shape))

    def forward_shape(self, shape: Any) -> Any:
        return Size((*self._batch(shape, self.in_shape), *self.out_shape))

    def inverse_shape(self, shape: Any) -> Any:
        return Size((*self._batch(shape, self.out_shape), *self.in_shape))


class ExpTransform(Transform):
    """e^x

    >>> import tinygrad_edu as T
    >>> t = T.distributions.ExpTransform()
    >>> t(T.tensor(0.0)), t.inv(T.tensor(1.0))
    (tensor(1.), tensor(0.))
    """

    codomain: Any = constraints.positive

    sign = 1
    bijective = True

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """x^exponent

    >>> import tinygrad_edu as T
    >>> T.distributions.PowerTransform(3)(T.tensor(2.0))
    tensor(8.)
    """

    domain: Any = constraints.positive
    codomain: Any = constraints.positive

    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return self.exponent.sign() if isinstance(self.exponent, Tensor) else (self.exponent > 0) - (self.exponent < 0)

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


def _within(x: Any) -> Any:
    limits = np.finfo(x._data.dtype)
    return x.sigmoid().clamp(min=float(limits.tiny), max=float(1.0 - limits.eps))


class SigmoidTransform(Transform):
    """1/(1 + e^-x)

    >>> import tinygrad_edu as T
    >>> T.distributions.SigmoidTransform()(T.tensor(0.0))
    tensor(0.5000)
    """

    codomain: Any = constraints.unit_interval

    sign = 1
    bijective = True

    def _call(self, x: Any) -> Any:
        return _within(x)

    def _inverse(self, y: Any) -> Any:
        limits = np.finfo(y._data.dtype)
        y = y.clamp(min=float(limits.tiny), max=float(1.0 - limits.eps))
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x) - _softplus(x)


class SoftplusTransform(Transform):
    """ln(1 + e^x)

    >>> import tinygrad_edu as T
    >>> T.distributions.SoftplusTransform()(T.tensor(0.0))  # ln 2
    tensor(0.6931)
    """

    codomain: Any = constraints.positive

    sign = 1
    bijective = True

    def _call(self, x: Any) -> Any:
        return _softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x)


class TanhTransform(Transform):
    """tanh x. Its change of volume is computed so that it does not round to 0.

    >>> import tinygrad_edu as T
    >>> T.distributions.TanhTransform()(T.tensor(0.5))
    tensor(0.4621)
    """

    codomain: Any = constraints.interval(-1.0, 1.0)

    sign = 1
    bijective = True

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|

    >>> import tinygrad_edu as T
    >>> T.distributions.AbsTransform()(T.tensor([-2.0, 3.0]))
    tensor([2., 3.])
    """

    codomain: Any = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """loc + scale·x

    >>> import tinygrad_edu as T
    >>> T.distributions.AffineTransform(loc=1.0, scale=2.0)(T.tensor([0.0, 3.0]))
    tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dims = loc, scale, (event_dim, event_dim)

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale
        if isinstance(scale, Tensor):
            stretched: Any = F["broadcast_to"](
                F["abs"](scale).log(), np.broadcast_shapes(tuple(x.shape), tuple(scale.shape))
            )
        else:
            stretched = F["full_like"](x, math.log(abs(scale)))
        return summed(stretched, self.event_dims[0])

    def forward_shape(self, shape: Any) -> Any:
        each = (getattr(p, "shape", ()) for p in (self.loc, self.scale))
        return Size(np.broadcast_shapes(tuple(shape), *map(tuple, each)))

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """e^x, normalized to sum to 1. The inverse is the logarithm.

    >>> import tinygrad_edu as T
    >>> T.distributions.SoftmaxTransform()(T.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain: Any = constraints.real_vector
    codomain: Any = constraints.simplex

    event_dims = (1, 1)

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """Maps K numbers to K + 1 fractions that sum to 1: each number breaks a part off the rest.

    >>> import tinygrad_edu as T
    >>> T.distributions.StickBreakingTransform()(T.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain: Any = constraints.real_vector
    codomain: Any = constraints.simplex

    bijective = True
    event_dims = (1, 1)

    @staticmethod
    def _shift(x: Any, more: int) -> Any:
        return (x.shape[-1] + more - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        z = _within(x - self._shift(x, 1))
        pad = nn_functions["pad"]
        return pad(z, (0, 1), value=1) * pad((1 - z).cumprod(-1), (1, 0), value=1)

    def _inverse(self, y: Any) -> Any:
        most = y[..., :-1]
        left = (1 - most.cumsum(-1)).clamp(min=float(np.finfo(y._data.dtype).tiny))
        return most.log() - left.log() + self._shift(most, 1)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x, 1)
        return (-x + nn_functions["logsigmoid"](x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return Size((*tuple(shape)[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        return Size((*tuple(shape)[:-1], shape[-1] - 1))


__getattr__ = later(__name__, "Write it as a Transform: its _call, _inverse and log_abs_det_jacobian.")


class LowerCholeskyTransform(Transform):
    """A square matrix to a lower triangle with a positive diagonal: what is above the diagonal is left out.

    >>> import tinygrad_edu as T
    >>> T.distributions.LowerCholeskyTransform()(T.tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """A square matrix to a positive definite one, by its Cholesky factor.

    >>> import tinygrad_edu as T
    >>> T.distributions.PositiveDefiniteTransform()(T.tensor([[0.0, 0.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg_functions["cholesky"](y))
