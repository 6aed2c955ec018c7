"""Distributions to draw from, with the log-probability of a value (PyTorch: `torch.distributions`)."""

from __future__ import annotations

from ..array.absent import answer
from . import constraints
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .uniform import Uniform

__all__ = ["Bernoulli", "Categorical", "Distribution", "Independent", "Normal", "OneHotCategorical", "Uniform"]
__all__ += ["constraints", "kl_divergence", "register_kl"]

__getattr__ = answer(__name__)
