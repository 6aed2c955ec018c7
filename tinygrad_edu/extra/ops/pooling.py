"""Convolutions of volumes, pooling by norms, and the way back from pooling."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, nn_functions, public
from ...ops.pointwise.arithmetic import abs
from ...ops.pointwise.powers import pow
from ...ops.shapes.shape import reshape
from .convolution import _conv, _conv_transpose, as_tuple
from .images import avg_pool2d
from .padding import pad

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


@public(where=_BOTH, method=False)
def conv3d(input: Tensor, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """Convolve a batch of volumes (N, in, D, H, W) with kernels (out, in/groups, kd, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv3d(T.zeros(1, 2, 4, 4, 4), T.zeros(3, 2, 2, 2, 2)).shape
    tinygrad_edu.Size([1, 3, 3, 3, 3])
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@public(where=_BOTH, method=False)
def conv_transpose3d(
    input: Tensor, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
) -> Tensor:
    """The transpose of conv3d: each element is spread over a kernel (in, out/groups, kd, kh, kw).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.conv_transpose3d(T.zeros(1, 2, 2, 2, 2), T.zeros(2, 3, 2, 2, 2), stride=2).shape
    tinygrad_edu.Size([1, 3, 4, 4, 4])
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@public(where=_NN, method=False)
def lp_pool1d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of sequences, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool1d(T.tensor([[3.0, 4.0]]), norm_type=2, kernel_size=2)
    tensor([[5.]])
    """
    pooled = nn_functions["avg_pool1d"](pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(pooled * as_tuple(kernel_size, 1)[0], norm_type)


@public(where=_NN, method=False)
def lp_pool2d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of images, with p = norm_type.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.lp_pool2d(T.tensor([[[3.0, 0.0], [0.0, 4.0]]]), norm_type=2, kernel_size=2)
    tensor([[[5.]]])
    """
    pooled = avg_pool2d(pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(pooled * math.prod(as_tuple(kernel_size, 2)), norm_type)


def _root(value, p):
    return pow(functions["sign"](value) * functions["relu"](abs(value)), 1.0 / p)


@public(where=_NN, method=False)
def local_response_norm(input: Tensor, size, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element by (k + alpha·mean square of the neighbouring channels)^beta.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.local_response_norm(T.ones(1, 2, 1, 1), size=2, alpha=2.0).shape
    tinygrad_edu.Size([1, 2, 1, 1])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    squares = pad(input * input, [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2])
    channels = input.shape[1]
    total = squares.narrow(1, 0, channels)
    for shift in range(1, size):
        total = total + squares.narrow(1, shift, channels)
    return input / pow(total / size * alpha + k, beta)


def _unpool(input, indices, output_size, dims):
    flat, places = (reshape(x, (*x.shape[:-dims], -1)) for x in (input, indices))
    room = wrap(np.zeros((*flat.shape[:-1], math.prod(output_size)), input._data.dtype))
    return reshape(functions["scatter"](room, -1, places, flat), (*input.shape[:-dims], *output_size))


def _max_unpool(dims):
    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, step, room = (as_tuple(x, dims) for x in (kernel_size, stride or kernel_size, padding))
        natural = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], step, room, kernel, strict=True)]
        sizes = natural if output_size is None else list(output_size)[-dims:]
        return _unpool(input, indices, sizes, dims)

    unpool.__name__ = f"max_unpool{dims}d"
    unpool.__doc__ = f"""Puts the elements back where max_pool{dims}d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> x = T.arange({2.0**dims}).reshape{(1, *(2,) * dims)}
    >>> values, indices = T.nn.functional.max_pool{dims}d(x, 2, return_indices=True)
    >>> T.nn.functional.max_unpool{dims}d(values, indices, 2).flatten()[-2:]
    tensor([0., {2.0**dims - 1:.0f}.])
    """
    return public(where=_NN, method=False)(unpool)


_max_unpool(1)
_max_unpool(2)
_max_unpool(3)
