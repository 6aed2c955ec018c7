"""Padding, patches, shuffled pixels and resizing, as modules."""

from __future__ import annotations

from typing import Any

from ..array.tensor import Tensor
from ..ops.network.convolution import as_tuple
from . import functional as F
from .by_dimension import by_dimension
from .module import Module

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Fold"]
__all__ += ["PixelShuffle", "PixelUnshuffle", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d"]
__all__ += ["ReplicationPad1d"]
__all__ += ["ReplicationPad2d", "ReplicationPad3d", "Unfold", "Upsample", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """Pads the last dimensions: one width for all, or (before, after) for each, starting with the last dimension."""

    _dims = 1
    _mode = "constant"
    value: float | None = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = as_tuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        if self._mode == "circular" and input.ndim - self._dims not in (1, 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.ndim}D input)")
        return F.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


_DOC = """Pads {{what}} with {what}.

>>> import tinygrad_edu as T
>>> T.nn.{name}Pad{{n}}d(1{value})(T.ones(1, {{twos}})).shape
tinygrad_edu.Size([1, {{fours}}])
"""


def _pads(name: str, what: str, mode: str = "constant", base: type[_Pad] = _Pad) -> list[Any]:
    doc = _DOC.format(what=what, name=name, value=", 9.0" if base is _ConstantPad else "")
    return by_dimension(base, f"{name}Pad{{n}}d", doc, _mode=mode)


ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads("Zero", "zeros")
ConstantPad1d, ConstantPad2d, ConstantPad3d = _pads("Constant", "one number", base=_ConstantPad)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads("Reflection", "the elements mirrored at the edges", "reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads("Replication", "the elements at the edges", "replicate")
CircularPad1d, CircularPad2d, CircularPad3d = _pads("Circular", "the elements of the opposite side", "circular")


class Unfold(Module):
    """The windows of images (N, C, H, W) as columns (N, elements per window, windows).

    >>> T.nn.Unfold(kernel_size=2)(T.arange(9.0).reshape(1, 1, 3, 3)).shape
    tinygrad_edu.Size([1, 4, 4])
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


class Upsample(Module):
    """Resizes images by repeating or interpolating pixels.

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

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)
        return F.interpolate(input, *settings)

    def extra_repr(self) -> str:
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"
