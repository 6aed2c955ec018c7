"""Discrete Fourier transforms: three ops, and the functions of `torch.fft` built from them.

The transform of a complex signal is a matrix times the signal. So its gradient is the transform in the other direction, with
the same factor. Half of a real signal's spectrum determines the other half. The backward pass must count that other half too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor
from ...ops.binding import fft_functions, public
from ...ops.creation.factories import finish, plain
from ...ops.indexing.index import Slice
from ...ops.op import Op, linear
from ...ops.shapes.shape import axis_of
from ...overrides import overridable
from ..ops.arrangement import roll
from ..ops.padding import ConstantPadNd
from .parts import conj, conj_physical, is_complex

# The factor of a transform: none, 1/√n, 1/n. NumPy's names for them depend on the direction.
_NORMALIZATION = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}  # forward, inverse
_FORWARD: Any = ("backward", "ortho", "forward")
_BACKWARD: Any = ("forward", "ortho", "backward")


class FftC2C(Op, name="FftC2CBackward0"):
    """The transform of complex numbers along `dim`, forward or inverse."""

    def forward(self, *, dim, normalization, forward):
        if forward:
            return np.fft.fftn(self, axes=dim, norm=_FORWARD[normalization])
        return np.fft.ifftn(self, axes=dim, norm=_BACKWARD[normalization])

    def grad_self(grad, dim, normalization, forward):
        return FftC2C.apply(grad, dim=dim, normalization=normalization, forward=not forward)

    jvp = linear


class FftR2C(Op, name="FftR2CBackward0"):
    """The transform of real numbers along `dim`. If `onesided`, the last of these dimensions holds half of the spectrum."""

    def forward(self, *, dim, normalization, onesided):
        transform = np.fft.rfftn if onesided else np.fft.fftn
        return transform(self, axes=dim, norm=_FORWARD[normalization])

    # Only the shape is needed, but PyTorch saves the tensor and checks its version, so this rule does too.
    def grad_self(grad, self, dim, normalization, onesided):
        if onesided:
            last = dim[-1]
            grad = _resized(grad, {last: self.shape[last]})
        return FftC2C.apply(grad, dim=dim, normalization=normalization, forward=False).real

    jvp = linear


class FftC2R(Op, name="FftC2RBackward0"):
    """The inverse: from half a spectrum to real numbers, `last_dim_size` of them along the last of `dim`."""

    def forward(self, *, dim, normalization, last_dim_size):
        sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
        return np.fft.irfftn(self, s=sizes, axes=dim, norm=_BACKWARD[normalization])

    # An element that has a mirror image in the spectrum counts twice.
    def grad_self(grad, dim, normalization):
        half = FftR2C.apply(grad, dim=dim, normalization=normalization, onesided=True)
        size, last = grad.shape[dim[-1]], dim[-1]
        weights = np.ones(half.shape[last], dtypes.real_of(getattr(half, "_data", half).dtype))
        weights[1 : 1 + size - weights.size] = 2
        return half * weights.reshape([-1 if d == last else 1 for d in range(len(half.shape))])

    jvp = linear


for _op in (FftC2C, FftR2C, FftC2R):
    _op.of_complex = _op


# --- sizes and dimensions --------------------------------------------------------------------------------------------


def _resized(value: Any, sizes: dict[int, int]) -> Any:
    """`value`, cut or padded with zeros at the end, so that each dimension has the given size."""
    for d, n in sizes.items():
        if n < value.shape[d]:
            value = Slice.apply(value, dim=d, start=0, end=n, step=1)
    pad = tuple((0, sizes.get(d, n) - n) for d, n in enumerate(value.shape))
    return ConstantPadNd.apply(value, pad=pad) if any(after for _, after in pad) else value


def _prepared(name: str, input: Any, must_be: str = "") -> Tensor:
    """`input`, converted to floating-point or complex numbers."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"fft_{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}. Make one with tensor(…)."
        )
    kind = input._data.dtype
    if must_be == "real" and kind.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype.legacy_name}")
    if kind == np.float16:
        raise RuntimeError("Unsupported dtype Half: convert to float32 first.")
    if must_be == "complex":
        return input._to_numpy_dtype(dtypes.complex_of(kind))
    dtypes.complex_of(kind)  # announces the complex result; refuses half precision
    return input if kind.kind in "fc" else input._to_numpy_dtype(dtypes.get_default_dtype().numpy)


def _checked_size(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _normalization(norm: str | None, forward: bool) -> int:
    if norm not in (None, *_NORMALIZATION):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return _NORMALIZATION[norm or "backward"][not forward]


def _axis(input: Tensor, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis_of(dim, input.ndim)


def _axes(name: str, input: Tensor, s: Any, dim: Any, needs_one: bool = False) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions to transform, and the size of each (-1 keeps the size that it has)."""
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if s is not None and dim is not None and len(s) != len(dim):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if s is not None and dim is None:
        if len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        dim = range(input.ndim - len(s), input.ndim)
    axes = tuple(range(input.ndim)) if dim is None else tuple(_axis(input, d) for d in dim)
    if len(set(axes)) < len(axes):
        raise RuntimeError("FFT dims must be unique")
    if needs_one and not axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    sizes = [input.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(axes)]
    return axes, sizes


# --- the three ops, in both directions -------------------------------------------------------------------------------


def _complex_transform(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    input = _prepared(name, input, "" if isinstance(dim, int) else "complex")
    if isinstance(dim, int):
        axes: tuple[int, ...] = (_axis(input, dim),)
        sizes = [input.shape[axes[0]] if s is None else s]
    else:
        axes, sizes = _axes(name, input, s, dim)
    sizes = [_checked_size(n) for n in sizes]
    if not axes:
        return input.clone()
    input = _resized(input, dict(zip(axes, sizes, strict=True)))
    normalization = _normalization(norm, forward)
    if is_complex(input):
        return FftC2C.apply(input, dim=axes, normalization=normalization, forward=forward)
    spectrum = FftR2C.apply(input, dim=axes, normalization=normalization, onesided=False)
    return spectrum if forward else conj(spectrum)


def _to_half(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    """Transform real numbers into half a spectrum."""
    input = _prepared(name, input, "real")
    if isinstance(dim, int):
        axes: tuple[int, ...] = (_axis(input, dim),)
        sizes = [input.shape[axes[0]] if s is None else s]
    else:
        axes, sizes = _axes(name, input, s, dim, needs_one=True)
    sizes = [_checked_size(n) for n in sizes]
    input = _resized(input, dict(zip(axes, sizes, strict=True)))
    normalization = _normalization(norm, forward)
    if forward or len(axes) == 1:
        half = FftR2C.apply(input, dim=axes, normalization=normalization, onesided=True)
        return half if forward else conj(half)
    half = conj_physical(FftR2C.apply(input, dim=axes[-1:], normalization=normalization, onesided=True))
    return FftC2C.apply(half, dim=axes[:-1], normalization=normalization, forward=False)


def _from_half(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    """Transform half a spectrum into real numbers."""
    input = _prepared(name, input, "complex")
    if isinstance(dim, int):
        axes: tuple[int, ...] = (_axis(input, dim),)
        sizes = [-1 if s is None else s]
        known = s is not None
    else:
        axes, sizes = _axes(name, input, s, dim, needs_one=True)
        given = (s,) if isinstance(s, int) else s
        known = given is not None and given[-1] != -1
    last = sizes[-1] if known else 2 * (input.shape[axes[-1]] - 1)
    sizes = [*(_checked_size(n) for n in sizes[:-1]), _checked_size(last) // 2 + 1]
    input = _resized(input, dict(zip(axes, sizes, strict=True)))
    normalization = _normalization(norm, forward)
    if forward:
        if len(axes) > 1:
            input = FftC2C.apply(input, dim=axes[:-1], normalization=normalization, forward=True)
        input, axes = conj(input), axes[-1:]
    return FftC2R.apply(input, dim=axes, normalization=normalization, last_dim_size=last)


_fft = public(where=(fft_functions,), method=False)
Dims = Sequence[int] | None


@_fft
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along `dim`. With `n`, the input is cut, or padded with zeros, to n numbers.

    Args:
        norm: where the factor 1/n goes: "backward" (default: into the inverse), "forward", or "ortho" (1/√n into both).

    >>> import tinygrad_edu as T
    >>> T.fft.fft(T.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _complex_transform("fft", input, n, dim, norm, True)


@_fft
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    >>> import tinygrad_edu as T
    >>> T.fft.ifft(T.fft.fft(T.tensor([1.0, 2.0]))).real
    tensor([1., 2.])
    """
    return _complex_transform("ifft", input, n, dim, norm, False)


@_fft
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 numbers of the Fourier transform of real numbers. The others are their conjugates.

    >>> import tinygrad_edu as T
    >>> T.fft.rfft(T.tensor([1.0, 2.0, 1.0, 0.0]))
    tensor([4.+0.j, 0.-2.j, 0.+0.j])
    """
    return _to_half("rfft", input, n, dim, norm, True)


@_fft
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers. For m numbers of the spectrum, n is 2·(m - 1) by default.

    >>> import tinygrad_edu as T
    >>> T.fft.irfft(T.fft.rfft(T.tensor([1.0, 2.0, 1.0, 0.0])))
    tensor([1., 2., 1., 0.])
    """
    return _from_half("irfft", input, n, dim, norm, False)


@_fft
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real spectrum of a signal whose second half is the conjugate of the first half.

    >>> import tinygrad_edu as T
    >>> T.fft.hfft(T.tensor([1.0, 1j]))  # n = 2·(2 - 1) numbers
    tensor([1., 1.])
    """
    return _from_half("hfft", input, n, dim, norm, True)


@_fft
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

    >>> import tinygrad_edu as T
    >>> T.fft.ihfft(T.tensor([1.0, 3.0]))
    tensor([ 2.-0.j, -1.-0.j])
    """
    return _to_half("ihfft", input, n, dim, norm, False)


@_fft
def fftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The Fourier transform along several dimensions, by default along all.

    >>> import tinygrad_edu as T
    >>> T.fft.fftn(T.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return _complex_transform("fftn", input, s, _several(dim), norm, True)


@_fft
def ifftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    >>> import tinygrad_edu as T
    >>> T.fft.ifftn(T.fft.fftn(T.tensor([[1.0, 2.0]]))).real
    tensor([[1., 2.]])
    """
    return _complex_transform("ifftn", input, s, _several(dim), norm, False)


@_fft
def rfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers. The last dimension holds only half of the spectrum, as in `rfft`.

    >>> import tinygrad_edu as T
    >>> T.fft.rfftn(T.ones(2, 4)).shape
    tinygrad_edu.Size([2, 3])
    """
    return _to_half("rfftn", input, s, _several(dim), norm, True)


@_fft
def irfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`.

    >>> import tinygrad_edu as T
    >>> T.fft.irfftn(T.fft.rfftn(T.eye(2)))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _from_half("irfftn", input, s, _several(dim), norm, False)


@_fft
def hfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several dimensions, `fft` along the others.

    >>> import tinygrad_edu as T
    >>> T.fft.hfftn(T.tensor([[1.0, 1j]]))
    tensor([[1., 1.]])
    """
    return _from_half("hfftn", input, s, _several(dim), norm, True)


@_fft
def ihfftn(input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    >>> import tinygrad_edu as T
    >>> T.fft.ihfftn(T.tensor([[1.0, 3.0]])).real
    tensor([[ 2., -1.]])
    """
    return _to_half("ihfftn", input, s, _several(dim), norm, False)


def _several(dim: Any) -> Any:
    return (dim,) if isinstance(dim, int) else dim


@_fft
def fft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """The Fourier transform along two dimensions.

    >>> import tinygrad_edu as T
    >>> T.fft.fft2(T.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return fftn(input, s, dim, norm)


@_fft
def ifft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`.

    >>> import tinygrad_edu as T
    >>> T.fft.ifft2(T.fft.fft2(T.eye(2))).real
    tensor([[1., 0.],
            [0., 1.]])
    """
    return ifftn(input, s, dim, norm)


@_fft
def rfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of real numbers. The last dimension holds only half of the spectrum, as in `rfft`.

    >>> import tinygrad_edu as T
    >>> T.fft.rfft2(T.ones(2, 4)).shape
    tinygrad_edu.Size([2, 3])
    """
    return rfftn(input, s, dim, norm)


@_fft
def irfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`.

    >>> import tinygrad_edu as T
    >>> T.fft.irfft2(T.fft.rfft2(T.eye(2)))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return irfftn(input, s, dim, norm)


@_fft
def hfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two dimensions.

    >>> import tinygrad_edu as T
    >>> T.fft.hfft2(T.tensor([[1.0, 1j]]))
    tensor([[1., 1.]])
    """
    return hfftn(input, s, dim, norm)


@_fft
def ihfft2(input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`.

    >>> import tinygrad_edu as T
    >>> T.fft.ihfft2(T.tensor([[1.0, 3.0]])).real
    tensor([[ 2., -1.]])
    """
    return ihfftn(input, s, dim, norm)


@_fft
def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Move frequency 0 from the beginning to the middle, along `dim` (by default along all dimensions).

    >>> import tinygrad_edu as T
    >>> T.fft.fftshift(T.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    axes, sizes = _axes("fftshift", input, None, _several(dim))
    return roll(input, tuple(n // 2 for n in sizes), axes)


@_fft
def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import tinygrad_edu as T
    >>> T.fft.ifftshift(T.fft.fftshift(T.arange(3)))
    tensor([0, 1, 2])
    """
    axes, sizes = _axes("ifftshift", input, None, _several(dim))
    return roll(input, tuple((n + 1) // 2 for n in sizes), axes)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies that the numbers of `fft` belong to, in cycles per unit of the spacing `d`.

    >>> import tinygrad_edu as T
    >>> T.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies(np.fft.ifftshift(np.arange(-(n // 2), n - n // 2)), n, d, dtype, device, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies that the numbers of `rfft` belong to.

    >>> import tinygrad_edu as T
    >>> T.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device, requires_grad)


for _function in (fftfreq, rfftfreq):
    fft_functions[_function.__name__] = overridable(plain(_function))


def _frequencies(steps: np.ndarray, n: int, d: float, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy_dtype(dtype)
    return finish(steps.astype(kind) * kind.type(1.0 / (n * d)), requires_grad, device)
