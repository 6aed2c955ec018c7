"""Activations, layers and losses as functions, with weights as arguments (PyTorch: `torch.nn.functional`)."""

from __future__ import annotations

import functools

from ..array.absent import answer
from ..ops import functions, nn_functions
from ..ops.linalg import distance as _distance
from ..ops.network import activation as _activation
from ..ops.network import attention as _attention
from ..ops.network import convolution as _convolution
from ..ops.network import cross_entropy as _cross_entropy
from ..ops.network import dropout as _dropout
from ..ops.network import embedding as _embedding
from ..ops.network import layers as _layers
from ..ops.network import loss as _loss
from ..ops.network import normalization as _normalization
from ..ops.network import padding as _padding
from ..ops.network import pooling as _pooling
from ..ops.network import rectifier as _rectifier
from ..ops.network import recurrent as _recurrent
from ..ops.network import resampling as _resampling
from ..ops.network import softmax as _softmax

# Each of these modules puts its functions into the table.
_FAMILIES = [_activation, _attention, _convolution, _cross_entropy, _distance, _dropout, _embedding, _layers, _loss]
_FAMILIES += [_normalization, _padding, _pooling, _rectifier, _recurrent, _resampling, _softmax]

globals().update(nn_functions)
globals().update({name: functions[name] for name in ("sigmoid", "tanh")})
globals().update({f"{name}_": functools.partial(nn_functions[name], inplace=True) for name in ("relu", "leaky_relu")})

__all__ = sorted([*nn_functions, "sigmoid", "tanh"])

__getattr__ = answer(__name__)
