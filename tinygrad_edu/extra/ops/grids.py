"""Samples of an image at the places of a grid."""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.binding import functions, nn_functions, public
from ...ops.indexing.masking import where
from ...ops.operands import refuse_mixture
from ...ops.pointwise.arithmetic import abs
from ...ops.pointwise.rounding import sign
from ...ops.shapes.shape import reshape, unsqueeze

_NN, _BOTH = (nn_functions,), (functions, nn_functions)


@public(where=_NN, method=False)
def affine_grid(theta, size, align_corners: bool | None = None) -> Tensor:
    """A grid (N, H, W, 2) of sampling positions for images of `size` (N, C, H, W), from affine maps theta (N, 2, 3); or for
    volumes (N, C, D, H, W) a grid (N, D, H, W, 3) from maps (N, 3, 4).

    >>> import tinygrad_edu as T
    >>> T.nn.functional.affine_grid(T.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True).shape
    tinygrad_edu.Size([1, 2, 2, 2])
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{list(size)}."
        )
    spatial, dims, kind = tuple(size[2:]), len(size) - 2, theta._data.dtype
    if theta.ndim != 3 or theta.shape[1:] != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"{list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")

    def line(n):
        # Round at each step in the dtype of theta, as PyTorch does: the last bit decides on which side of a pixel a position
        # lies, and so its gradient there.
        steps = functions["linspace"](-1, 1, n, dtype=theta.dtype)._data if n > 1 else np.zeros(1, kind)
        return steps if align_corners else steps * kind.type(n - 1) / kind.type(n)

    places = reversed(np.meshgrid(*map(line, spatial), indexing="ij"))
    base = np.stack([*places, np.ones(spatial, kind)], -1).reshape(1, -1, dims + 1)
    return reshape(wrap(np.repeat(base, size[0], 0)) @ theta.transpose(1, 2), (size[0], *spatial, dims))


def _reflected(at, low, high):
    """Reflect positions beyond `low` and `high` back between them, as often as necessary."""
    span = high - low
    if span <= 0:
        return at * 0.0
    away = abs(at - low)
    times = np.floor(away._data / span)
    back = away - wrap((times * span).astype(away._data.dtype))
    return where(wrap(times % 2 == 0), back + low, span - back + low)


def _inside(at, n):
    """Move positions to the edge; their gradient there is 0, as in PyTorch."""
    return where(wrap(at._data <= 0), 0.0, where(wrap(at._data >= n - 1), float(n - 1), at))


def _padded_place(at, n, padding_mode, align_corners):
    if padding_mode == "reflection":
        at = _reflected(at, 0.0, float(n - 1)) if align_corners else _reflected(at, -0.5, n - 0.5)
    return at if padding_mode == "zeros" else _inside(at, n)


def _cubic_weights(t):
    """The weights of the four pixels around a position that lies `t` after the second of them."""

    def near(x):
        return ((x * 1.25) - 2.25) * x * x + 1

    def far(x):
        return ((x * -0.75 + 3.75) * x - 6.0) * x + 3.0

    return far(t + 1), near(t), near(1 - t), far(2 - t)


@public(where=_NN, method=False)
def grid_sample(
    input: Tensor, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Sample images (N, C, H, W) at the positions of `grid` (N, h, w, 2), from -1 to 1: interpolated or nearest.

    >>> import tinygrad_edu as T
    >>> image = T.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> T.nn.functional.grid_sample(image, T.tensor([[[[0.0, 0.0]]]]), align_corners=False)  # the center
    tensor([[[[2.5000]]]])
    """
    for name, value, known in (
        ("mode", mode, ("bilinear", "nearest", "bicubic")), ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):  # fmt: skip
        if value not in known:
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be '{known[0]}', '{known[1]}' or '{known[2]}', but got: "
                f"'{value}'"
            )
    if input.ndim != 4:
        raise NotImplementedError("grid_sample of volumes is not built: pass images (N, C, H, W).")
    if grid.ndim != 4 or grid.shape[0] != input.shape[0]:
        what = "the same batch size" if grid.ndim == 4 else "the same number of dimensions"
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have {what}, but got input with sizes {list(input.shape)} and grid "
            f"with sizes {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {input.shape.index(0, 2)} being empty"
        )
    if grid.shape[-1] != 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size 2 in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    refuse_mixture([input._data, grid._data])
    batch, channels, height, width = input.shape

    def place(value, n):
        at = (value + 1) * ((n - 1) / 2) if align_corners else (value + 1) * (n / 2) - 0.5
        return at if mode == "bicubic" else _padded_place(at, n, padding_mode, align_corners)

    x, y = place(grid[..., 0], width), place(grid[..., 1], height)

    def read(column, row):
        """The pixels at integer positions, 0 outside: (N, C, h, w)."""
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        number = np.clip(row, 0, height - 1) * width + np.clip(column, 0, width - 1)
        count = math.prod(grid.shape[1:3])
        flat = np.broadcast_to(number.reshape(batch, 1, count), (batch, channels, count))
        picked = reshape(input, (batch, channels, height * width)).gather(2, wrap(np.ascontiguousarray(flat)))
        shown = reshape(picked, (batch, channels, *grid.shape[1:3]))
        return where(wrap(inside[:, None]), shown, 0.0)

    if mode == "nearest":
        # The positions get a gradient of 0, as in PyTorch: a small shift reads the same pixel.
        no_slope = unsqueeze((sign(x) + sign(y)) * 0.0, 1)
        # Clamp to one pixel outside, because infinity has no integer.
        column, row = (np.rint(np.clip(at._data, -1, n)).astype(np.int64) for at, n in ((x, width), (y, height)))
        return read(column, row) + no_slope
    left, top = np.floor(x._data).astype(np.int64), np.floor(y._data).astype(np.int64)
    across, down = (unsqueeze(a - wrap(b.astype(a._data.dtype)), 1) for a, b in ((x, left), (y, top)))
    if mode == "bicubic":

        def whole(at, n):
            moved = _padded_place(wrap(at.astype(input._data.dtype)), n, padding_mode, align_corners)
            return moved._data.astype(np.int64)

        rows = []
        for i in range(-1, 3):
            row = whole(top + i, height)
            taps = [
                read(whole(left + j, width), row) * w for j, w in zip(range(-1, 3), _cubic_weights(across), strict=True)
            ]
            rows.append(taps[0] + taps[1] + taps[2] + taps[3])
        parts = [row * w for row, w in zip(rows, _cubic_weights(down), strict=True)]
        return parts[0] + parts[1] + parts[2] + parts[3]
    return (
        read(left, top) * (1 - across) * (1 - down)
        + read(left + 1, top) * across * (1 - down)
        + read(left, top + 1) * (1 - across) * down
        + read(left + 1, top + 1) * across * down
    )
