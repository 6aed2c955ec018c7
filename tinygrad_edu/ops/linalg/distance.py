"""Similarities and distances of vectors, and the triplet loss."""

from __future__ import annotations

import numpy as np

from ...tensor import Tensor
from ..binding import functions, nn_functions, public
from ..network.loss import checked_reduction, reduce_loss
from ..pointwise.clamp import clamp_min, minimum
from ..reductions.norms import vector_norm
from ..reductions.reduce import sum
from ..shapes.shape import expand

_BOTH = (functions, nn_functions)


@public(where=_BOTH, method=False)
def cosine_similarity(x1, x2, dim=1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between two tensors along `dim`.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.cosine_similarity(T.tensor([1.0, 0.0]), T.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    sizes = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = (x if tuple(x.shape) == sizes else expand(x, sizes) for x in (x1, x2))
    return sum(_direction(x1, dim, eps) * _direction(x2, dim, eps), dim)


def _direction(x, dim, eps):
    length = vector_norm(x, 2, dim, True)
    # As in PyTorch, `eps` has no gradient.
    kept = length.clone()
    kept._data[...] = np.maximum(kept._data, eps)
    return x / kept


@public(where=_BOTH, method=False)
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The distance ‖x1 - x2 + eps‖ along the last dimension.

    >>> import tinygrad_edu as T
    >>> T.nn.functional.pairwise_distance(T.tensor([[0.0, 0.0]]), T.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@public(where=_BOTH, method=False)
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of max(0, ‖a - p‖ - ‖a - n‖ + margin).

    >>> import tinygrad_edu as T
    >>> anchor, near, far = T.zeros(1, 2), T.ones(1, 2), T.full((1, 2), 3.0)
    >>> T.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    reduction = checked_reduction(size_average, reduce, reduction)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss(clamp_min(margin + near - far, 0), reduction)
