"""Layers with weights (linear, convolutions, embeddings), and simple layers between them (dropout, reshaping)."""

from __future__ import annotations

import math
from typing import Any

from ..array.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.creation.factories import zeros
from ..ops.network.convolution import as_tuple
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "Bilinear", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d", "Dropout", "Dropout1d", "Dropout2d", "Embedding",
    "EmbeddingBag", "Flatten", "Linear", "Unflatten",
]  # fmt: skip


def add_parameters(module: Module, device: Any, dtype: Any, **sizes: Any) -> None:
    """Give `module` an uninitialised parameter of each size in `sizes`, by name; None for a size of None."""
    for name, size in sizes.items():
        made = None if size is None else Parameter(zeros(size, dtype=dtype, device=device))
        module.register_parameter(name, made)


class Linear(Module):
    """A linear layer, x·weightᵀ + bias: from (…, in_features) to (…, out_features). `weight` is (out_features, in_features).

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Linear(3, 2)
    >>> layer(T.zeros(5, 3)).shape
    tinygrad_edu.Size([5, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        add_parameters(self, device, dtype, weight=(out_features, in_features), bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1·weight[o]·x2ᵀ + bias[o]: from (…, in1_features) and (…, in2_features) to (…, out_features).

    >>> import tinygrad_edu as T
    >>> T.nn.Bilinear(2, 3, 4)(T.ones(5, 2), T.ones(5, 3)).shape
    tinygrad_edu.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        weight = out_features, in1_features, in2_features
        add_parameters(self, device, dtype, weight=weight, bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class _ConvNd(Module):
    _dims = 1
    transposed = False
    _function: Any = None
    _padding_modes: tuple[str, ...] = ("zeros", "reflect", "replicate", "circular")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        n = self._dims
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride, self.dilation = (as_tuple(x, n) for x in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, n)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and self.stride != (1,) * n:
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in self._padding_modes:
            raise ValueError(
                f"padding_mode must be one of {self._padding_modes}, but got padding_mode={padding_mode!r}"
            )
        self.output_padding = as_tuple(output_padding, n)
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        weight = *channels, *self.kernel_size
        add_parameters(self, device, dtype, weight=weight, bias=out_channels if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with other weights and this layer's settings. Subclasses call it."""
        convolve = self._function or (F.conv1d if self._dims == 1 else F.conv2d)
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), mode=self.padding_mode), 0
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        return self._widths()

    def _widths(self) -> list[int]:
        """The padding before and after each dimension, the last dimension first."""
        sides = [(p, p) for p in self.padding] if isinstance(self.padding, tuple) else [(0, 0)] * self._dims
        if self.padding == "same":
            room = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            sides = [(r // 2, r - r // 2) for r in room]
        return [width for side in reversed(sides) for width in side]

    def extra_repr(self) -> str:
        n = self._dims
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        return shown if self.padding_mode == "zeros" else shown + f", padding_mode={self.padding_mode}"


class Conv1d(_ConvNd):
    """A convolution over sequences (N, in_channels, L).

    >>> import tinygrad_edu as T
    >>> T.nn.Conv1d(2, 4, kernel_size=3)(T.ones(1, 2, 10)).shape
    tinygrad_edu.Size([1, 4, 8])
    """


class Conv2d(_ConvNd):
    """A convolution over images (N, in_channels, H, W).

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Conv2d(3, 8, kernel_size=3, padding=1)
    >>> layer(T.ones(2, 3, 16, 16)).shape
    tinygrad_edu.Size([2, 8, 16, 16])
    >>> layer.weight.shape
    tinygrad_edu.Size([8, 3, 3, 3])
    """

    _dims = 2


class _ConvTransposeNd(_ConvNd):
    transposed = True
    _padding_modes = ("zeros",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
            output_padding=output_padding,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The result. `output_size` chooses its last sizes where several are possible."""
        spread = self._function or (F.conv_transpose1d if self._dims == 1 else F.conv_transpose2d)
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return spread(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        sizes, n = tuple(output_size), self._dims
        if len(sizes) == input.ndim:
            sizes = sizes[-n:]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {input.ndim} elements "
                f"(got {len(sizes)})"
            )
        settings = zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = tuple((size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in settings)
        rest = tuple(size - low for size, low in zip(sizes, least, strict=True))
        if any(not 0 <= r < s for r, s in zip(rest, self.stride, strict=True)):
            most = tuple(low + s - 1 for low, s in zip(least, self.stride, strict=True))
            raise ValueError(f"requested an output size of {sizes}, but valid sizes range from {least} to {most}")
        return rest


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d: turns sequences (N, in_channels, L) into longer ones.

    >>> import tinygrad_edu as T
    >>> T.nn.ConvTranspose1d(3, 2, kernel_size=4, stride=2)(T.zeros(1, 3, 5)).shape
    tinygrad_edu.Size([1, 2, 12])
    """


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d: turns images (N, in_channels, H, W) into larger ones.

    >>> import tinygrad_edu as T
    >>> T.nn.ConvTranspose2d(8, 3, kernel_size=2, stride=2)(T.ones(1, 8, 4, 4)).shape
    tinygrad_edu.Size([1, 3, 8, 8])
    """

    _dims = 2


def _rows_and_width(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, width = embeddings.shape
    return rows, width


def _make_rows(
    module: Embedding | EmbeddingBag,
    weight: Tensor | None,
    learns: bool,
    padding_idx: int | None,
    device: Any,
    dtype: Any,
) -> None:
    """Give `module` its rows, random or given. A negative padding index is converted to a positive one."""
    count, width = module.num_embeddings, module.embedding_dim
    if padding_idx is not None and not -count <= padding_idx < count:
        name = "Padding_idx" if isinstance(module, Embedding) else "padding_idx"
        raise AssertionError(f"{name} must be within num_embeddings")
    module.padding_idx = padding_idx + count if padding_idx is not None and padding_idx < 0 else padding_idx
    if weight is None:
        add_parameters(module, device, dtype, weight=(count, width))
        module.reset_parameters()
        return
    if list(weight.shape) != [count, width]:
        raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
    module.weight = Parameter(weight, requires_grad=learns)


def _draw_rows(module: Embedding | EmbeddingBag) -> None:
    init.normal_(module.weight)
    if module.padding_idx is not None:
        with no_grad():
            module.weight.select(0, module.padding_idx).fill_(0)


class Embedding(Module):
    """A lookup table with a row of `weight` (num_embeddings, embedding_dim) per class: indices (…) to (…, embedding_dim).

    >>> import tinygrad_edu as T
    >>> table = T.nn.Embedding(num_embeddings=10, embedding_dim=4)
    >>> table(T.tensor([[1, 2, 1]])).shape
    tinygrad_edu.Size([1, 3, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: Any = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise NotImplementedError(
                "Embedding with sparse=True is not built. Leave it out: the gradient is then a dense tensor."
            )
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            False,
        )
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        _make_rows(self, _weight, not _freeze, padding_idx, device, dtype)

    def reset_parameters(self) -> None:
        """Draw new random rows; the row of the padding is 0."""
        _draw_rows(self)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with the given rows, which are frozen by default."""
        rows, width = _rows_and_width(embeddings)
        return cls(
            rows,
            width,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                shown += f", {name}={getattr(self, name)}"
        return shown


class EmbeddingBag(Module):
    """The means, or sums, of the rows in each bag. Bags are the rows of (N, L), or one vector of indices with their offsets.

    The result has shape (N, embedding_dim).

    >>> import tinygrad_edu as T
    >>> T.nn.EmbeddingBag(10, 4)(T.tensor([[1, 2, 1], [3, 4, 5]])).shape
    tinygrad_edu.Size([2, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError("EmbeddingBag with max_norm, scale_grad_by_freq or sparse is not built.")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset = include_last_offset
        _make_rows(self, _weight, True, padding_idx, device, dtype)

    def reset_parameters(self) -> None:
        """Draw new random rows; the row of the padding is 0."""
        _draw_rows(self)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Bags over the given rows, which are frozen by default."""
        rows, width = _rows_and_width(embeddings)
        out = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        out.weight.requires_grad = not freeze
        return out

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
        return shown if self.padding_idx is None else shown + f", padding_idx={self.padding_idx}"


class _DropoutNd(Module):
    _function: Any = None

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, zeroes each element with probability p and divides the others by 1 - p.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Dropout(0.5)
    >>> sorted({*layer(T.ones(100)).tolist()})  # in training each element is zeroed or doubled
    [0.0, 2.0]
    >>> layer.eval()(T.ones(3))
    tensor([1., 1., 1.])
    """

    _function: Any = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels, for sequences (N, C, L).

    >>> import tinygrad_edu as T
    >>> T.nn.Dropout1d(p=0.5).eval()(T.ones(1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    _function: Any = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels, for images (N, C, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.Dropout2d(p=0.5).eval()(T.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    _function: Any = staticmethod(F.dropout2d)


class Flatten(Module):
    """Merges the dimensions from start_dim to end_dim into one. By default it keeps the first, the batch.

    >>> import tinygrad_edu as T
    >>> T.nn.Flatten()(T.ones(2, 3, 4)).shape
    tinygrad_edu.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into several of the sizes `unflattened_size`.

    >>> import tinygrad_edu as T
    >>> T.nn.Unflatten(1, (3, 4))(T.ones(2, 12)).shape
    tinygrad_edu.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
