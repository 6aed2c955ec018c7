"""Common parametrizations: orthogonal weights, weight norm, spectral norm (PyTorch: `torch.nn.utils.parametrizations`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.dtypes import finfo
from ...array.tensor import Tensor, wrap
from ...autograd.grad_mode import no_grad
from ...nn.module import Module
from ...ops import functions as ops
from ...ops import linalg_functions, nn_functions
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _right_angled(A: Any) -> Any:
    """The Q of the QR decomposition of A whose R has a positive diagonal."""
    Q, R = linalg_functions["qr"](A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def _reflections(A: Any, tau: Any) -> Any:
    """The first columns of the product of the Householder reflections I - tauᵢ·v·vᵀ, where v is a column below the diagonal."""
    rows, columns = A.shape[-2:]
    Q = ops["eye"](rows, columns, dtype=A.dtype).expand(A.shape)
    v = A.tril(-1) + ops["eye"](rows, columns, dtype=A.dtype)
    for i in reversed(range(columns)):
        one = v[..., i : i + 1]
        Q = Q - tau[..., i : i + 1].unsqueeze(-1) * (one @ (one.mT @ Q))
    return Q


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    @property
    def _trivial(self) -> bool:
        return "base" in self._buffers

    def forward(self, X: Any) -> Any:
        n, k = X.shape[-2:]
        wide = n < k
        if wide:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            Q = _reflections(A, 2.0 / (1.0 + (A * A).sum(-2)))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = ops["cat"]([X, X.new_zeros((*X.shape[:-1], n - k))], -1)
            A = X - X.mT
            if self.orthogonal_map == "matrix_exp":
                Q = linalg_functions["matrix_exp"](A)
            else:
                one = ops["eye"](n, dtype=A.dtype)
                Q = linalg_functions["solve"](one - 0.5 * A, one + 0.5 * A)
            Q = Q[..., :k]
        if self._trivial:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given, (n, k) = Q, Q.shape[-2:]
        if n < k:
            Q, n, k = Q.mT, k, n
        if not self._trivial:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            vectors, tau = np.linalg.qr(Q._data, mode="raw")
            A = np.swapaxes(vectors, -1, -2).copy()
            diagonal = np.einsum("...ii->...i", A[..., :k, :])
            diagonal[...] = np.sign(diagonal) * np.where(tau == 0, -1, 1)
            return wrap(A).mT if Q is not given else wrap(A)
        if n == k:
            self.base = Q.clone() if _is_orthogonal(Q) else _right_angled(Q)
        else:
            more = ops["randn"](*Q.shape[:-2], n, n - k, dtype=Q.dtype)
            self.base = _right_angled(ops["cat"]([Q, more], -1))
        neutral = ops["zeros_like"](given)
        neutral.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return neutral


def _is_orthogonal(Q: Any) -> bool:
    n = Q.shape[-1]
    eps = 10.0 * n * finfo(Q.dtype).eps
    return bool(ops["allclose"](Q.mT @ Q, ops["eye"](n, dtype=Q.dtype).expand(*Q.shape[:-2], n, n), atol=eps))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal during training (Lezcano-Casado 2019). `orthogonal_map` chooses the method.

    Args:
        orthogonal_map: "matrix_exp" (the default for square weights), "cayley" or "householder".

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.parametrizations import orthogonal
    >>> w = orthogonal(T.nn.Linear(3, 3)).weight
    >>> T.allclose(w @ w.T, T.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _length(self, v: Any) -> Any:
        if self.dim == -1:
            return ops["norm"](v)
        others = tuple(d for d in range(v.ndim) if d != self.dim)
        return v.norm(2, others, True) if others else v.abs()

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_v * (weight_g / self._length(weight_v))

    def right_inverse(self, weight: Any) -> Any:
        return self._length(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its norms along `dim`, `original0`, and its direction, `original1` (Salimans and Kingma 2016).

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.parametrizations import weight_norm
    >>> layer = weight_norm(T.nn.Linear(2, 3))
    >>> [(name, tuple(p.shape)) for name, p in layer.parametrizations.weight.named_parameters()]
    [('original0', (3, 1)), ('original1', (3, 2))]
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older_names(_: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module.register_load_state_dict_pre_hook(from_older_names)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if dim >= weight.ndim or dim < -weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, self._normalize(matrix.new_empty(size).normal_(0, 1)))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        moved = weight.movedim(self.dim, 0) if self.dim else weight
        return moved.flatten(1)

    def _normalize(self, vector: Any) -> Any:
        return nn_functions["normalize"](vector, dim=0, eps=self.eps)

    @no_grad()
    def _iterate(self, matrix: Any, times: int) -> None:
        for _ in range(times):
            # In place: they may be shared, or given by `functional_call`.
            self._u.copy_(self._normalize(matrix @ self._v))
            self._v.copy_(self._normalize(matrix.mT @ self._u))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return self._normalize(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / ops["dot"](u, matrix @ v)

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value at each access (Miyato et al. 2018).

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils.parametrizations import spectral_norm
    >>> _ = T.manual_seed(0)
    >>> layer = spectral_norm(T.nn.Linear(3, 3), n_power_iterations=50)
    >>> T.allclose(T.linalg.matrix_norm(layer.weight, 2), T.tensor(1.0), atol=1e-3)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
