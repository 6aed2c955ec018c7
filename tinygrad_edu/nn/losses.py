"""Losses as modules: each wraps a function of `nn.functional` with its settings."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ..array.tensor import Tensor
from ..ops.network.loss import checked_reduction
from . import functional as F
from .module import Module

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss"]
__all__ += ["HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "NLLLoss"]
__all__ += ["PoissonNLLLoss", "SmoothL1Loss", "TripletMarginLoss"]


def _settings(*names: str, **defaults: Any) -> inspect.Signature:
    """The arguments of a loss that a program derives from one of the two classes below."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = {**dict.fromkeys(names), **defaults}
    return inspect.Signature([inspect.Parameter(name, kind, default=value) for name, value in given.items()])


class _Loss(Module):
    """A loss function with its settings. Tensors among them are buffers."""

    _function: Any = None
    _signature = _settings("size_average", "reduce", reduction="mean")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        settings = given.arguments
        size_average, reduce = (settings.pop(name, None) for name in ("size_average", "reduce"))
        if size_average is not None or reduce is not None:
            settings["reduction"] = checked_reduction(size_average, reduce, "mean")
            warnings.warn(
                "size_average and reduce args will be deprecated, please use "
                f"reduction='{settings['reduction']}' instead.",
                stacklevel=2,
            )
        self._settings = tuple(settings)
        for name, value in settings.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *tensors: Tensor, **named: Tensor) -> Tensor:
        return type(self)._function(*tensors, **named, **{name: getattr(self, name) for name in self._settings})


def _loss(name: str, function: str, without: str = "") -> type[_Loss]:
    """The class `name`. Its arguments are those of the function that have a default, except `without`."""
    call = getattr(F, function)
    settings = [
        p for p in inspect.signature(call).parameters.values() if p.default is not p.empty and p.name != without
    ]
    body = {"_function": staticmethod(call), "_signature": inspect.Signature(settings), "__module__": __name__}
    body["__doc__"] = f"`{function}` as a module. {(call.__doc__ or '').strip()}"
    return type(name, (_Loss,), body)


MSELoss = _loss("MSELoss", "mse_loss", without="weight")
L1Loss = _loss("L1Loss", "l1_loss", without="weight")
NLLLoss = _loss("NLLLoss", "nll_loss")
CrossEntropyLoss = _loss("CrossEntropyLoss", "cross_entropy")
BCELoss = _loss("BCELoss", "binary_cross_entropy")
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss")
HuberLoss = _loss("HuberLoss", "huber_loss", without="weight")
KLDivLoss = _loss("KLDivLoss", "kl_div")
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss")
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss")
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss")
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss")
TripletMarginLoss = _loss("TripletMarginLoss", "triplet_margin_loss")
