"""Losses as modules."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "MSELoss", "MarginRankingLoss", "NLLLoss", "PairwiseDistance", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss",
]  # fmt: skip


class _Loss(Module):
    """A loss function, and the settings it is called with. Tensors among them are buffers."""

    _function: Any = None
    _settings: dict[str, Any]

    def forward(self, *tensors: Tensor) -> Tensor:
        return type(self)._function(*tensors, **{name: getattr(self, name) for name in self._settings})


def _loss(name: str, function: str, **defaults: Any) -> type[_Loss]:
    call = getattr(F, function)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}
        # PyTorch's older way to say which reduction.
        if given.pop("reduce", None) is False:
            given["reduction"] = "none"
        elif given.pop("size_average", None) is False:
            given["reduction"] = "sum"
        unknown = given.keys() - defaults.keys()
        if unknown:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{unknown.pop()}'")
        for key, value in given.items():
            if key in ("weight", "pos_weight"):
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    body = {"__init__": __init__, "_function": staticmethod(call), "_settings": defaults, "__module__": __name__}
    body["__doc__"] = f"`{function}` as a module. {(call.__doc__ or '').strip()}"
    return type(name, (_Loss,), body)


MSELoss = _loss("MSELoss", "mse_loss", reduction="mean")
L1Loss = _loss("L1Loss", "l1_loss", reduction="mean")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", reduction="mean", beta=1.0)
HuberLoss = _loss("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
NLLLoss = _loss("NLLLoss", "nll_loss", weight=None, ignore_index=-100, reduction="mean")
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", "cross_entropy", weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
)
BCELoss = _loss("BCELoss", "binary_cross_entropy", weight=None, reduction="mean")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", weight=None, reduction="mean", pos_weight=None
)
KLDivLoss = _loss("KLDivLoss", "kl_div", reduction="mean", log_target=False)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", reduction="mean")
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", margin=0.0, reduction="mean")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0, reduction="mean")
TripletMarginLoss = _loss(
    "TripletMarginLoss", "triplet_margin_loss", margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"
)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0.0, reduction="mean")
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", full=False, eps=1e-6, reduction="mean")
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss", log_input=True, full=False, eps=1e-8, reduction="mean")
CosineSimilarity = _loss("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
PairwiseDistance = _loss("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)
