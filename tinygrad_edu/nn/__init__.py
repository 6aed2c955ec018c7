"""Neural networks: modules, parameters, layers, losses, and the functions behind them (PyTorch: `torch.nn`)."""

from __future__ import annotations

from ..array.absent import answer
from . import functional, init, utils
from .activations import *
from .attention import *
from .containers import *
from .convolution import *
from .embedding import *
from .layers import *
from .lazy import *
from .losses import *
from .module import Module
from .norms import *
from .padding import *
from .parameter import Parameter
from .pooling import *
from .recurrent import *
from .transformer import *

__getattr__ = answer(__name__)
