"""Bags of embeddings, and samples of a categorical distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...ops.binding import linalg_functions, nn_functions, public
from ...ops.network.layers import EmbeddingBag, shorten
from ...ops.network.softmax import softmax
from ...ops.shapes.shape import reshape

_NN, _LINALG = (nn_functions,), (linalg_functions,)


@public(where=_NN, method=False)
def gumbel_softmax(logits, tau=1, hard: bool = False, eps: float = 1e-10, dim=-1) -> Tensor:
    """A differentiable random choice of a class: the softmax of `logits` with Gumbel noise. `hard` returns zeros and a 1.

    >>> import tinygrad_edu as T
    >>> _ = T.manual_seed(0)
    >>> T.nn.functional.gumbel_softmax(T.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    noise = -wrap(np.zeros(logits.shape, logits._data.dtype)).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = np.zeros_like(soft._data)
    np.put_along_axis(chosen, soft._data.argmax(axis=dim, keepdims=True), 1.0, dim)
    return wrap(chosen) - soft.detach() + soft


@public(where=_NN, method=False)
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights=None,
    include_last_offset: bool = False,
    padding_idx=None,
) -> Any:
    """The sum, mean or maximum of the embeddings in each bag. Bags are the rows of `input`, or start at `offsets`.

    With `include_last_offset` the last offset is the end of the last bag. Entries equal to `padding_idx` are ignored.

    >>> import tinygrad_edu as T
    >>> table = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> T.nn.functional.embedding_bag(T.tensor([[0, 1]]), table)
    tensor([[2., 3.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub: multiply the rows of an embedding by hand."
        )
    places = input._data.reshape(-1)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences."
            )
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    else:
        starts = offsets._data[:-1] if include_last_offset else offsets._data
    if sparse:
        raise NotImplementedError(
            "embedding_bag with sparse=True is not built: leave it out, the gradient is a dense tensor."
        )
    if scale_grad_by_freq:
        raise NotImplementedError("embedding_bag with scale_grad_by_freq=True is not built: use nn.Embedding with it.")
    if places.size and not (places.min() >= 0 and places.max() < weight._data.shape[0]):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        shorten(weight, np.unique(places), max_norm, norm_type)
    return EmbeddingBag.apply(
        weight,
        per_sample_weights if input.ndim == 1 or per_sample_weights is None else reshape(per_sample_weights, (-1,)),
        indices=reshape(input, (-1,)),
        offsets=wrap(starts),
        mode=("sum", "mean", "max").index(mode),
        padding_idx=-1 if padding_idx is None else padding_idx % weight.shape[0],
    )[0]
