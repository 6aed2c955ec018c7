"""Less common layers: activations, dropout of channels, losses."""

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
from .by_dimension import by_dimension

__all__ = [
    "AlphaDropout", "Bilinear", "CTCLoss", "CosineEmbeddingLoss", "Dropout1d", "Dropout2d", "Dropout3d",
    "FeatureAlphaDropout", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "LocalResponseNorm",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss2d",
    "PoissonNLLLoss", "RReLU", "SmoothL1Loss", "SoftMarginLoss", "Softmax2d", "SyncBatchNorm",
    "TripletMarginWithDistanceLoss", "Unflatten",
]  # fmt: skip


Dropout1d, Dropout2d, Dropout3d = by_dimension(
    _DropoutNd,
    "Dropout{n}d",
    """Dropout of whole channels, for {what}.

    >>> import tinygrad_edu as T
    >>> T.nn.Dropout{n}d(0.5).eval()(T.ones(1, 1, {twos})).sum()
    tensor({count:.0f}.)
    """,
    function="dropout{n}d",
)


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
