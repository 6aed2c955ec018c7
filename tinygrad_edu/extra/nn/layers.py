"""Less common layers: 3-d layers, activations, pooling and losses."""

from __future__ import annotations

import math
from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn import init
from ...nn.layers import _DropoutNd, add_parameters
from ...nn.losses import _loss
from ...nn.module import Module
from ...nn.norms import _BatchNorm
from ..ops.convolution import as_tuple
from .convolution import _ConvNd, _ConvTransposeNd
from .pooling import AvgPool2d, _AdaptiveAvgPoolNd, _AdaptivePool, _AvgPoolNd, _MaxPoolNd

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool3d",
    "Bilinear",
    "CTCLoss",
    "Conv3d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LocalResponseNorm",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "RReLU",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax2d",
    "SyncBatchNorm",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
]  # fmt: skip


class Conv3d(_ConvNd):
    """A convolution over volumes (N, in_channels, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.Conv3d(1, 2, kernel_size=3)(T.zeros(1, 1, 5, 5, 5)).shape
    tinygrad_edu.Size([1, 2, 3, 3, 3])
    """

    _dims = 3
    _function = staticmethod(F.conv3d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d: turns volumes (N, in_channels, D, H, W) into larger ones.

    >>> import tinygrad_edu as T
    >>> T.nn.ConvTranspose3d(2, 1, kernel_size=2, stride=2)(T.zeros(1, 2, 3, 3, 3)).shape
    tinygrad_edu.Size([1, 1, 6, 6, 6])
    """

    _dims = 3
    _function = staticmethod(F.conv_transpose3d)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of volumes (N, C, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.MaxPool3d(2)(T.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    _function: Any = staticmethod(F.max_pool3d)


class AvgPool3d(AvgPool2d):
    """The mean of each window of volumes (N, C, D, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool3d(2)(T.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[3.5000]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Averages over as many windows as requested, for volumes.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveAvgPool3d(1)(T.ones(1, 2, 4, 4, 4)).shape
    tinygrad_edu.Size([1, 2, 1, 1, 1])
    """

    _function: Any = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(_AdaptivePool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as requested, for sequences.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveMaxPool1d(2)(T.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[3., 7.]])
    """

    _function: Any = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as requested, for images.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveMaxPool2d(1)(T.arange(4.0).reshape(1, 2, 2))
    tensor([[[3.]]])
    """

    _function: Any = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as requested, for volumes.

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveMaxPool3d(1)(T.arange(8.0).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    _function: Any = staticmethod(F.adaptive_max_pool3d)


class _LPPoolNd(Module):
    _function: Any = None

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of sequences.

    >>> import tinygrad_edu as T
    >>> T.nn.LPPool1d(2, kernel_size=2)(T.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _function: Any = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of images.

    >>> import tinygrad_edu as T
    >>> T.nn.LPPool2d(2, kernel_size=2)(T.tensor([[[3.0, 0.0], [0.0, 4.0]]]))
    tensor([[[5.]]])
    """

    _function: Any = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of volumes.

    >>> import tinygrad_edu as T
    >>> T.nn.LPPool3d(2, kernel_size=2)(T.ones(1, 2, 2, 2))  # √8
    tensor([[[[2.8284]]]])
    """

    _function: Any = staticmethod(F.lp_pool3d)


class _FractionalMaxPool(Module):
    _dims = 2
    _function: Any = None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        name, dims = type(self).__name__, self._dims
        self.kernel_size = as_tuple(kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else as_tuple(output_size, dims)
        one = isinstance(output_ratio, int | float)
        self.output_ratio = (output_ratio,) * dims if one else output_ratio
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Max pooling of images with random strides (Graham 2014).

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.FractionalMaxPool2d(2, output_size=3)(T.rand(1, 1, 5, 5)).shape
    tinygrad_edu.Size([1, 1, 3, 3])
    """

    _function: Any = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Max pooling of volumes with random strides (Graham 2014).

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.FractionalMaxPool3d(2, output_size=2)(T.rand(1, 1, 4, 4, 4)).shape
    tinygrad_edu.Size([1, 1, 2, 2, 2])
    """

    _dims = 3
    _function: Any = staticmethod(F.fractional_max_pool3d)


class _MaxUnpool(Module):
    _dims = 1
    _function: Any = None

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = as_tuple(kernel_size, self._dims)
        self.stride = as_tuple(kernel_size if stride is None else stride, self._dims)
        self.padding = as_tuple(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool: Any = type(self)._function
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts the elements back where MaxPool1d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> values, indices = T.nn.MaxPool1d(2, return_indices=True)(T.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> T.nn.MaxUnpool1d(2)(values, indices)
    tensor([[[0., 3., 2., 0.]]])
    """

    _dims = 1
    _function: Any = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Puts the elements back where MaxPool2d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> values, indices = T.nn.MaxPool2d(2, return_indices=True)(T.tensor([[[1.0, 2.0], [3.0, 6.0]]]))
    >>> T.nn.MaxUnpool2d(2)(values, indices)
    tensor([[[0., 0.],
             [0., 6.]]])
    """

    _dims = 2
    _function: Any = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Puts the elements back where MaxPool3d took them from, with zeros elsewhere.

    >>> import tinygrad_edu as T
    >>> x = T.arange(8.0).reshape(1, 2, 2, 2)
    >>> values, indices = T.nn.MaxPool3d(2, return_indices=True)(x)
    >>> T.nn.MaxUnpool3d(2)(values, indices)
    tensor([[[[0., 0.],
              [0., 0.]],
    <BLANKLINE>
             [[0., 0.],
              [0., 7.]]]])
    """

    _dims = 3
    _function: Any = staticmethod(F.max_unpool3d)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels, for volumes (N, C, D, H, W).

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Dropout3d(0.5).eval()
    >>> layer(T.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """

    _function: Any = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout for SELU: it preserves mean and variance.

    >>> import tinygrad_edu as T
    >>> T.nn.AlphaDropout(0.5).eval()(T.ones(3))
    tensor([1., 1., 1.])
    """

    _function: Any = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.FeatureAlphaDropout(0.5).eval()
    >>> layer(T.ones(1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    _function: Any = staticmethod(F.feature_alpha_dropout)


class LocalResponseNorm(Module):
    """Divides each element by a function of its neighbours among the channels (Krizhevsky et al. 2012).

    >>> import tinygrad_edu as T
    >>> T.nn.LocalResponseNorm(2)(T.ones(1, 4, 2, 2)).shape
    tinygrad_edu.Size([1, 4, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class Softmax2d(Module):
    """Softmax over the channels of images (N, C, H, W).

    >>> import tinygrad_edu as T
    >>> T.nn.Softmax2d()(T.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class RReLU(Module):
    """A leaky ReLU whose slope below 0 is random in training.

    >>> import tinygrad_edu as T
    >>> T.nn.RReLU(0.1, 0.3).eval()(T.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


TripletMarginLoss = _loss("TripletMarginLoss", "triplet_margin_loss", module=__name__)
CosineSimilarity = _loss("CosineSimilarity", "cosine_similarity", module=__name__)
PairwiseDistance = _loss("PairwiseDistance", "pairwise_distance", module=__name__)
CTCLoss = _loss("CTCLoss", "ctc_loss", module=__name__)
MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", module=__name__)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss", module=__name__)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", module=__name__)
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", module=__name__
)
NLLLoss2d = _loss("NLLLoss2d", "nll_loss", module=__name__)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of several processes. In a single process, as here, it is BatchNorm.

    >>> import tinygrad_edu as T
    >>> model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3))
    >>> type(T.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if not input.shape[1]:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each BatchNorm in `module` by a SyncBatchNorm with the same parameters."""
        made: Any = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            for name, buffer in module._buffers.items():
                made._buffers[name] = buffer
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


KLDivLoss = _loss("KLDivLoss", "kl_div", module=__name__)
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", module=__name__)
HuberLoss = _loss("HuberLoss", "huber_loss", without="weight", module=__name__)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", module=__name__)
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", module=__name__)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", module=__name__)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", module=__name__)
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", module=__name__)
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss", module=__name__)


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


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of sequences (N, C, L).

    >>> import tinygrad_edu as T
    >>> T.nn.MaxPool1d(2)(T.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    _function: Any = staticmethod(F.max_pool1d)


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of sequences (N, C, L).

    >>> import tinygrad_edu as T
    >>> T.nn.AvgPool1d(2)(T.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = (
            as_tuple(x, 1) for x in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Averages over as many windows as requested: (N, C, L) to (N, C, output_size).

    >>> import tinygrad_edu as T
    >>> T.nn.AdaptiveAvgPool1d(2)(T.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    _function: Any = staticmethod(F.adaptive_avg_pool1d)
