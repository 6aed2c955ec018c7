"""A softmax for many classes of which only a few are frequent: `AdaptiveLogSoftmaxWithLoss`."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...array.tensor import Tensor
from ...nn import functional as F
from ...nn.containers import ModuleList, Sequential
from ...nn.layers import Linear
from ...nn.module import Module
from ...ops import functions

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The head classifies the frequent classes and the clusters; each cluster has a smaller tail that classifies its classes.

    Classes are numbered in order of decreasing frequency. Returns (output, loss): the log-probability of each target, and
    minus their mean.

    Args:
        in_features: the size of an input.
        n_classes: the number of classes.
        cutoffs: the first class of each cluster, in increasing order.
        div_value: each cluster's projection is smaller than the previous one by this factor.
        head_bias: True to give the head a bias.

    Source: Grave et al., "Efficient softmax approximation for GPUs" (2017), arXiv:1609.04309.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.AdaptiveLogSoftmaxWithLoss(in_features=16, n_classes=100, cutoffs=[10, 50])
    >>> output, loss = layer(T.randn(4, 16), T.tensor([0, 12, 60, 99]))
    >>> output.shape, loss.shape
    (tinygrad_edu.Size([4]), tinygrad_edu.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        begins = list(cutoffs)
        if not begins:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            begins != sorted(set(begins))
            or begins[0] <= 0
            or begins[-1] >= n_classes
            or any(int(c) != c for c in begins)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*begins, n_classes]
        self.shortlist_size, self.n_clusters = begins[0], len(begins)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            size = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, size, bias=False, device=device, dtype=dtype),
                    Linear(size, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new random weights."""
        self.head.reset_parameters()
        for one, two in self.tail:
            one.reset_parameters()
            two.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        """The log-probability of each target, and the loss."""
        if target_.ndim == 1 and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target_.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors, but found inputs with size "
                f"{input_.shape}"
            )
        alone = target_.ndim == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if alone else (input_, target_)
        output, places = input.new_zeros(target.shape[0]), target.new_zeros(target.shape[0])
        used = 0
        for i, (low, high) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            used += rows.numel()
            if not rows.numel():
                continue
            if i == 0:
                places.index_copy_(0, rows, target[mask])
            else:
                places.index_fill_(0, rows, self.shortlist_size + i - 1)
                scores = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                output.index_copy_(0, rows, scores.gather(1, (target[mask] - low).unsqueeze(1)).squeeze(1))
        if used != target.shape[0]:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        output += F.log_softmax(self.head(input), dim=1).gather(1, places.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if alone else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            chance = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(tail(input), dim=1) + chance)
        return functions["cat"](parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input."""
        best = self.head(input).argmax(1)
        rare = best >= self.shortlist_size
        if rare.any():
            best[rare] = self.log_prob(input[rare]).argmax(1)
        return best
