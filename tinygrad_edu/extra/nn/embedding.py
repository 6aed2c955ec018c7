"""Rows of a table, by their numbers, as modules."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn import functional as F
from ...nn import init
from ...nn.layers import add_parameters
from ...nn.module import Module
from ...nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


def _rows_and_width(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, width = embeddings.shape
    return rows, width


def _make_rows(
    module: Embedding | EmbeddingBag,
    weight: Tensor | None,
    learns: bool,
    padding_idx: int | None,
    device: Any,
    dtype: Any,
) -> None:
    """Give `module` its rows, random or given. A negative padding index is converted to a positive one."""
    count, width = module.num_embeddings, module.embedding_dim
    if padding_idx is not None and not -count <= padding_idx < count:
        name = "Padding_idx" if isinstance(module, Embedding) else "padding_idx"
        raise AssertionError(f"{name} must be within num_embeddings")
    module.padding_idx = padding_idx + count if padding_idx is not None and padding_idx < 0 else padding_idx
    if weight is None:
        add_parameters(module, device, dtype, weight=(count, width))
        module.reset_parameters()
        return
    if list(weight.shape) != [count, width]:
        raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
    module.weight = Parameter(weight, requires_grad=learns)


def _draw_rows(module: Embedding | EmbeddingBag) -> None:
    init.normal_(module.weight)
    if module.padding_idx is not None:
        with no_grad():
            module.weight.select(0, module.padding_idx).fill_(0)


class Embedding(Module):
    """A lookup table with a row of `weight` (num_embeddings, embedding_dim) per class: indices (…) to (…, embedding_dim).

    >>> import tinygrad_edu as T
    >>> table = T.nn.Embedding(num_embeddings=10, embedding_dim=4)
    >>> table(T.tensor([[1, 2, 1]])).shape
    tinygrad_edu.Size([1, 3, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: Any = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise NotImplementedError(
                "Embedding with sparse=True is not built. Leave it out: the gradient is then a dense tensor."
            )
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            False,
        )
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        _make_rows(self, _weight, not _freeze, padding_idx, device, dtype)

    def reset_parameters(self) -> None:
        """Draw new random rows; the row of the padding is 0."""
        _draw_rows(self)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with the given rows, which are frozen by default."""
        rows, width = _rows_and_width(embeddings)
        return cls(
            rows,
            width,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                shown += f", {name}={getattr(self, name)}"
        return shown


class EmbeddingBag(Module):
    """The means, or sums, of the rows in each bag. Bags are the rows of (N, L), or one vector of indices with their offsets.

    The result has shape (N, embedding_dim).

    >>> import tinygrad_edu as T
    >>> T.nn.EmbeddingBag(10, 4)(T.tensor([[1, 2, 1], [3, 4, 5]])).shape
    tinygrad_edu.Size([2, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError("EmbeddingBag with max_norm, scale_grad_by_freq or sparse is not built.")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset = include_last_offset
        _make_rows(self, _weight, True, padding_idx, device, dtype)

    def reset_parameters(self) -> None:
        """Draw new random rows; the row of the padding is 0."""
        _draw_rows(self)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Bags over the given rows, which are frozen by default."""
        rows, width = _rows_and_width(embeddings)
        out = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        out.weight.requires_grad = not freeze
        return out

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
        return shown if self.padding_idx is None else shown + f", padding_idx={self.padding_idx}"
