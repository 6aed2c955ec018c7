"""Padding, folding and resampling, as modules."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn.module import Module
from ..ops.convolution import as_tuple

__all__ = [
    "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "Fold", "PixelShuffle", "PixelUnshuffle", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d",
    "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Pads the last dimensions: one width for all, or (before, after) for each, starting with the last dimension."""

    _dims: int
    _mode = "constant"
    value = 0.0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        dims = (self._dims + 1, self._dims + 2)
        if self._mode == "circular" and input.ndim not in dims:
            raise ValueError(f"expected {dims[0]}D or {dims[1]}D input (got {input.ndim}D input)")
        return F.pad(input, self.padding, self._mode, self.value if self._mode == "constant" else None)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _pads(base: type[_Pad], name: str, mode: str, doc: str) -> list[Any]:
    return [
        type(f"{name}Pad{n}d", (base,), {"_dims": n, "_mode": mode, "__doc__": doc, "__module__": __name__})
        for n in (1, 2, 3)
    ]


ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads(
    _Pad,
    "Zero",
    "constant",
    """Pads with zeros.

    >>> import tinygrad_edu as T
    >>> T.nn.ZeroPad1d((1, 2))(T.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0., 0.]])
    """,
)


ConstantPad1d, ConstantPad2d, ConstantPad3d = _pads(
    _ConstantPad,
    "Constant",
    "constant",
    """Pads with one number.

    >>> import tinygrad_edu as T
    >>> T.nn.ConstantPad1d((1, 2), 9.0)(T.tensor([[1.0, 2.0, 3.0]]))
    tensor([[9., 1., 2., 3., 9., 9.]])
    """,
)


ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads(
    _Pad,
    "Reflection",
    "reflect",
    """Pads with the elements mirrored at the edges.

    >>> import tinygrad_edu as T
    >>> T.nn.ReflectionPad1d(2)(T.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """,
)


ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads(
    _Pad,
    "Replication",
    "replicate",
    """Pads by repeating the elements at the edges.

    >>> import tinygrad_edu as T
    >>> T.nn.ReplicationPad1d(2)(T.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """,
)


CircularPad1d, CircularPad2d, CircularPad3d = _pads(
    _Pad,
    "Circular",
    "circular",
    """Pads with the elements from the opposite side.

    >>> import tinygrad_edu as T
    >>> T.nn.CircularPad1d(1)(T.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """,
)


class Unfold(Module):
    """The windows of images (N, C, H, W) as columns (N, elements per window, windows).

    >>> import tinygrad_edu as T
    >>> T.nn.Unfold(kernel_size=2)(T.arange(9.0).reshape(1, 1, 3, 3))
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """The inverse arrangement of Unfold: adds each column at the position of its window, to (N, C, *output_size).

    >>> import tinygrad_edu as T
    >>> T.nn.Fold(output_size=(3, 3), kernel_size=(2, 2))(T.ones(1, 4, 4))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"


class PixelShuffle(Module):
    """Rearranges r² channels into r×r pixels: (N, C·r², H, W) to (N, C, H·r, W·r).

    >>> import tinygrad_edu as T
    >>> T.nn.PixelShuffle(2)(T.ones(1, 8, 3, 3)).shape
    tinygrad_edu.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearranges r×r pixels into r² channels: (N, C, H·r, W·r) to (N, C·r², H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.PixelUnshuffle(2)(T.zeros(1, 1, 4, 4)).shape
    tinygrad_edu.Size([1, 4, 2, 2])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleaves the channels of all groups.

    >>> import tinygrad_edu as T
    >>> T.nn.ChannelShuffle(2)(T.arange(4).reshape(1, 4, 1, 1)).flatten()
    tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """Resizes images by repeating or interpolating pixels.

    >>> import tinygrad_edu as T
    >>> T.nn.Upsample(scale_factor=2)(T.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.scale_factor = float(scale_factor) if isinstance(scale_factor, int) else scale_factor
        self.recompute_scale_factor = recompute_scale_factor
        self.name = type(self).__name__

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode "nearest".

    >>> import tinygrad_edu as T
    >>> T.nn.UpsamplingNearest2d(scale_factor=2)(T.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1., 1., 3., 3.],
              [1., 1., 3., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode "bilinear" and aligned corners.

    >>> import tinygrad_edu as T
    >>> T.nn.UpsamplingBilinear2d(scale_factor=2)(T.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1.0000, 1.6667, 2.3333, 3.0000],
              [1.0000, 1.6667, 2.3333, 3.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
