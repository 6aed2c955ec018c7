"""The parts of a complex number, and complex numbers made from parts: `real`, `conj`, `angle`, `view_as_real`, `polar`, …

The gradient of a real loss L with respect to z = x + iy is ∂L/∂x + i·∂L/∂y, as in PyTorch: the direction of steepest ascent.
"""

from __future__ import annotations

import math

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, bind
from ...ops.binding import functions, public
from ...ops.creation.factories import zeros_like
from ...ops.indexing.index import select
from ...ops.indexing.masking import where
from ...ops.linalg.matmul import dot
from ...ops.op import Op, linear
from ...ops.pointwise.arithmetic import Abs, abs
from ...ops.pointwise.powers import square
from ...ops.pointwise.rounding import Sgn, sgn
from ...ops.reductions.norms import VectorNorm
from ...ops.shapes.permute import transposed
from ...overrides import overridable
from ..ops.linalg.decomposition import Norm
from ..ops.special import FloatOp


class ViewAsReal(Op):
    """A view with one more dimension, of size 2: the real and the imaginary part."""

    view = True

    def forward(self):
        return self[..., None].view(dtypes.real_of(self.dtype))

    def grad_self(grad):
        return as_complex(grad)

    jvp = linear


class ViewAsComplex(Op):
    """A view as complex numbers: the last dimension, of size 2, holds the real and the imaginary part."""

    view = True

    def forward(self):
        return self.view(dtypes.complex_of(self.dtype))[..., 0]

    def grad_self(grad):
        return ViewAsReal.apply(grad)

    jvp = linear


class Conj(Op):
    def forward(self):
        return np.conj(self)

    def grad_self(grad):
        return conj(grad)

    jvp = linear


class ConjPhysical(Conj):
    forward = Conj.forward


class ConjPhysicalInPlace(Conj, name="ConjPhysicalBackward1"):
    forward = Conj.forward


class Complex(Op):
    """real + i·imag"""

    def forward(real, imag):
        out = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtypes.complex_of(real.dtype))
        out.real, out.imag = real, imag
        return out

    def grad_real(grad):
        return grad.real

    def grad_imag(grad):
        return grad.imag

    jvp = linear


class Polar(Op):
    """abs·e^(i·angle)"""

    def forward(abs, angle):
        return Complex.forward(abs * np.cos(angle), abs * np.sin(angle))

    # abs moves the result outward, angle moves it around 0.
    def grad_abs(grad, result):
        return (conj(grad) * sgn(result)).real

    def grad_angle(grad, result):
        return (conj(grad) * (result * 1j)).real

    def jvp(abs_tangent, angle_tangent, angle, result):
        return polar(abs_tangent, angle) + angle_tangent * (result * 1j)


class Angle(FloatOp):
    """The angle of a complex number. For a real number it is 0, or π if the number is negative."""

    def forward(self):
        if self.dtype.kind == "c":
            return np.angle(self)
        return np.where(np.isnan(self), self, np.where(self < 0, math.pi, 0)).astype(self.dtype)

    def grad_self(grad):
        return zeros_like(grad)

    def jvp(tangent):
        return zeros_like(tangent)


class AngleOfComplex(Angle, name="AngleBackward0"):
    forward = Angle.forward

    # dφ = Im(z̄·dz)/|z|²: only the part of dz at right angles to z counts
    def grad_self(grad, self):
        return where(self == 0, 0.0, grad * (self * 1j) / square(abs(self)))

    def jvp(tangent, self):
        return (conj(self) * tangent).imag / square(abs(self))


class AbsOfComplex(Abs, name="AbsBackward0"):
    forward = Abs.forward

    def grad_self(grad, self):
        return grad * sgn(self)

    def jvp(tangent, self):
        return (conj(sgn(self)) * tangent).real


class SgnOfComplex(Sgn, name="SgnBackward0"):
    """z/|z|, and 0 at 0."""

    forward = Sgn.forward

    # Only the part of the gradient at right angles to z remains.
    def grad_self(grad, self, result):
        return _across(grad, self, result)

    def jvp(tangent, self, result):
        return _across(tangent, self, result)


def _across(value, z, direction):
    zero = z == 0
    along = (conj(direction) * value).real
    return where(zero, 0.0, (value - direction * along) / where(zero, 1.0, abs(z)))


class Vdot(Op):
    """The product of two vectors, with the first one conjugated."""

    def forward(self, other):
        return np.vdot(self, other)

    def grad_self(grad, other):
        return conj(grad) * other

    def grad_other(grad, self):
        return grad * self

    def jvp(tangent, other_tangent, self, other):
        return vdot(tangent, other) + vdot(self, other_tangent)


Abs.of_complex, Sgn.of_complex, Angle.of_complex = AbsOfComplex, SgnOfComplex, AngleOfComplex
for _op in (
    ViewAsReal, ViewAsComplex, Conj, ConjPhysical, ConjPhysicalInPlace, Complex, Polar, AngleOfComplex, AbsOfComplex, SgnOfComplex, Vdot,
):  # fmt: skip
    _op.of_complex = _op


# --- functions -------------------------------------------------------------------------------------------------------


def is_complex(value):
    """True for a complex Tensor, array or number."""
    return getattr(value, "_data", value).dtype.kind == "c"


def as_complex(value):
    """Real and imaginary parts along the last dimension, as complex numbers. Copies them if they are not contiguous."""
    if isinstance(value, Tensor):
        return ViewAsComplex.apply(value.contiguous())
    return ViewAsComplex.forward(np.ascontiguousarray(value))


@public(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers with one more dimension, of size 2: the real and the imaginary part.

    >>> import tinygrad_edu as T
    >>> T.view_as_real(T.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not is_complex(input):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return ViewAsReal.apply(input)


@public(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """A view as complex numbers of a tensor whose last dimension, of size 2, holds the real and the imaginary part.

    >>> import tinygrad_edu as T
    >>> T.view_as_complex(T.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    array = input._data
    if array.dtype.kind != "f":
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {input.dtype.legacy_name}"
        )
    if not array.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2: the real and the imaginary part.")
    *steps, last = input.stride()
    if last != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1. Call contiguous() first.")
    if any(step % 2 for step in steps):
        raise RuntimeError(
            "Tensor must have a stride divisible by 2 for all but last dimension. Call contiguous() first."
        )
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2. Call clone() first.")
    return ViewAsComplex.apply(input)


def _refuse_other_types(called, names, a, b):
    for position, (name, t) in enumerate(zip(names, (a, b), strict=True), start=1):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"{called}(): argument '{name}' (position {position}) must be Tensor, not {type(t).__name__}. Make one with "
                "tensor(…)."
            )
    if a._data.dtype.kind != "f" or b._data.dtype.kind != "f":
        kinds = [t.dtype.legacy_name for t in (a, b)]
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}"
        )
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.legacy_name} but got scalar type {b.dtype.legacy_name} for second argument"
        )


@public(method=False)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i·imag.

    >>> import tinygrad_edu as T
    >>> T.complex(T.tensor([1.0]), T.tensor([2.0]))
    tensor([1.+2.j])
    """
    _refuse_other_types("complex", ("real", "imag"), real, imag)
    dtypes.complex_of(real._data.dtype)
    return Complex.apply(real, imag)


@public(method=False)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs·e^(i·angle): a complex number by its length and angle.

    >>> import tinygrad_edu as T
    >>> T.polar(T.tensor([2.0]), T.tensor([0.0]))
    tensor([2.+0.j])
    """
    _refuse_other_types("polar", ("abs", "angle"), abs, angle)
    dtypes.complex_of(abs._data.dtype)
    return Polar.apply(abs, angle)


@public()
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number, from -π to π. For a real number it is 0, or π if the number is negative.

    >>> import tinygrad_edu as T
    >>> T.angle(T.tensor([1j, -2.0]))
    tensor([1.5708, 3.1416])
    """
    return Angle.apply(input)


@public()
def conj(input: Tensor) -> Tensor:
    """The conjugate x - iy. A real tensor is returned as it is.

    >>> import tinygrad_edu as T
    >>> T.conj(T.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return Conj.apply(input) if is_complex(input) else input


@public()
def conj_physical(input: Tensor) -> Tensor:
    """The conjugate, like `conj`.

    >>> import tinygrad_edu as T
    >>> T.conj_physical(T.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return ConjPhysical.apply(input) if is_complex(input) else input


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The real part, as a view. A real tensor is returned as it is.

    >>> import tinygrad_edu as T
    >>> T.real(T.tensor([1 + 2j]))
    tensor([1.])
    """
    return select(ViewAsReal.apply(input), -1, 0) if is_complex(input) else input


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view.

    Raises:
        RuntimeError: the tensor is real, and its memory holds no imaginary part.

    >>> import tinygrad_edu as T
    >>> T.imag(T.tensor([1 + 2j]))
    tensor([2.])
    """
    if not is_complex(input):
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes. For a real tensor use zeros_like(t)."
        )
    return select(ViewAsReal.apply(input), -1, 1)


@public()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The product of two vectors, with the first one conjugated. For real vectors it equals `dot`.

    >>> import tinygrad_edu as T
    >>> T.vdot(T.tensor([1.0, 2.0]), T.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if not is_complex(input) or input._data.dtype != other._data.dtype or not input.ndim == other.ndim == 1:
        return dot(input, other)
    if input.shape != other.shape:
        return dot(input, other)
    return Vdot.apply(input, other)


@public()
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0.

    >>> import tinygrad_edu as T
    >>> T.isreal(T.tensor([1j, 2.0]))
    tensor([False,  True])
    """
    return imag(input) == 0 if is_complex(input) else functions["ones_like"](input, dtype=dtypes.bool_)


def _itself(name):
    def same(input):
        return input

    same.__name__ = name
    same.__doc__ = f"""The tensor itself: here, conjugation and negation are never delayed.

    >>> import tinygrad_edu as T
    >>> T.{name}(T.tensor([1j]).conj())
    tensor([0.-1.j])
    """
    return public()(same)


for _name in ("resolve_conj", "resolve_neg"):
    _itself(_name)


def is_conj(input):
    """False: here, conjugation is never delayed.

    >>> import tinygrad_edu as T
    >>> T.is_conj(T.tensor([1j]).conj())
    False
    """
    return False


def is_neg(input):
    """False: here, negation is never delayed.

    >>> import tinygrad_edu as T
    >>> T.is_neg(-T.ones(2))
    False
    """
    return False


def conj_physical_(self):
    """The in-place version of `conj_physical`."""
    return ConjPhysicalInPlace.apply_(self) if is_complex(self) else self


def adjoint(self):
    """The conjugate of the transposed matrix, or of each transposed matrix of a batch."""
    return conj(transposed(self, "adjoint()"))


def _set_real(self, value):
    real(self).copy_(value if isinstance(value, Tensor) else functions["tensor"](value))


def _set_imag(self, value):
    imag(self).copy_(value if isinstance(value, Tensor) else functions["tensor"](value))


for _asked in (adjoint, is_conj, is_neg):
    functions[_asked.__name__] = overridable(_asked)
    bind(_asked.__name__, overridable(_asked))
bind("conj_physical_", overridable(conj_physical_))
bind("_as_parts", lambda self: ViewAsReal.apply(self))
bind("_from_parts", as_complex)
bind("H", property(lambda self: conj(transposed(self, "H", most=2))))
bind("mH", property(lambda self: conj(transposed(self, "mH"))))
bind("real", property(real, _set_real))
bind("imag", property(imag, _set_imag))


# --- norms -----------------------------------------------------------------------------------------------------------


class VectorNormOfComplex(VectorNorm, name="LinalgVectorNormBackward0"):
    """A norm of the absolute values: it changes only where a number moves outward."""

    forward = VectorNorm.forward

    def grad_self(grad, self, result, ord, dim, keepdim):
        return VectorNorm.grad_self(grad, abs(self), result, ord, dim, keepdim) * sgn(self)

    def jvp(tangent, self, result, ord, dim, keepdim):
        outward = real(conj(sgn(self)) * tangent)
        return VectorNorm.jvp(outward, abs(self), result, ord, dim, keepdim)


class NormOfComplex(Norm, name="NormBackward1"):
    forward = Norm.forward

    def grad_self(grad, self, result, p, dim, keepdim):
        return VectorNormOfComplex.grad_self(grad, self, result, p, dim, keepdim)

    def jvp(tangent, self, result, p, dim, keepdim):
        return VectorNormOfComplex.jvp(tangent, self, result, p, dim, keepdim)


VectorNorm.of_complex = VectorNormOfComplex.of_complex = VectorNormOfComplex
Norm.of_complex = NormOfComplex.of_complex = NormOfComplex
