"""Probability distributions: sampling and log-probabilities (PyTorch: `torch.distributions`).

`basic` holds those that the lessons use. The others are imported on first use.
"""

from __future__ import annotations

from ...seam.later import later
from . import constraints
from .basic import Bernoulli, Categorical, Normal, Uniform
from .distribution import Distribution

_LATER = {
    name: module
    for module, names in {
        "combined": ("Independent", "MixtureSameFamily", "Pareto", "TransformedDistribution", "Weibull"),
        "continuous": (
            "Beta", "Cauchy", "Chi2", "Dirichlet", "Exponential", "Gamma", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace",
            "LogNormal", "MultivariateNormal", "StudentT",
        ),
        "discrete": (
            "Binomial", "Geometric", "Multinomial", "NegativeBinomial", "OneHotCategorical",
            "OneHotCategoricalStraightThrough", "Poisson",
        ),
        "kl": ("kl_divergence", "register_kl"),
        "relaxed": ("RelaxedBernoulli", "RelaxedOneHotCategorical"),
        "constraint_registry": ("biject_to", "transform_to"),
        "transforms": (
            "LowerCholeskyTransform", "PositiveDefiniteTransform", "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform", "PowerTransform",
            "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform",
            "TanhTransform", "Transform", "identity_transform",
        ),
    }.items()
    for name in names
}  # fmt: skip

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "constraints"]
__all__ += sorted(_LATER)
# Modules of PyTorch: three that are here, and others that are found in this one.
_LATER |= {name: name for name in ("transforms", "kl", "normal", "categorical")}

__getattr__ = later(__name__, "Write your own Distribution, or transform one that exists.", homes=_LATER)
