"""Sparse matrices in coordinate format, as far as graph networks need them (PyTorch: `torch.sparse`).

A sparse tensor keeps the indices (2, n) and the values (n) of its elements. It can be transposed, scaled, added, summed,
made dense, and multiplied by a dense matrix; gradients pass to its values and to the dense matrix. Any other op raises
`NotImplementedError`: the tensor has no array that the op could read.
"""

# A sparse tensor takes fewer arguments than a dense one.
# mypy: disable-error-code="override, assignment, misc"

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import absent, dtypes, printing
from ..array.tensor import Size, Tensor, wrap
from ..ops import functions
from ..ops.arrays import add_rows
from ..ops.creation.factories import as_tensor, check_device
from ..ops.op import Op, linear
from ..ops.reductions.reduce import sum as _sum
from ..overrides import overridable

__all__ = ["addmm", "mm", "softmax", "sparse_coo_tensor", "sum"]


class _Coo:
    """The layout of a sparse tensor."""

    def __repr__(self) -> str:
        return "tinygrad_edu.sparse_coo"


sparse_coo = _Coo()


# --- ops of the values -----------------------------------------------------------------------------------------------


class SparseCooTensorWithDimsAndTensors(Op):
    """The values, as those of a sparse tensor."""

    def forward(self):
        return self.copy()

    def grad_self(grad):
        return grad

    jvp = linear


class Coalesce(Op):
    """Sum values at the same position; `place` is the number of each position."""

    def forward(self, *, place, count):
        return add_rows((count, 1), place, self.reshape(-1, 1)).reshape(-1)

    def grad_self(grad, place):
        return grad[place]

    jvp = linear


class Values(Op):
    """The values as an ordinary tensor."""

    def forward(self):
        return self

    def grad_self(grad):
        return grad

    jvp = linear


class ToDense(Op):
    """A dense tensor with the values, and 0 elsewhere."""

    def forward(self, *, at, size):
        out = np.zeros(size, self.dtype)
        np.add.at(out, at, self)
        return out

    def grad_self(grad, at):
        return grad[at]

    jvp = linear


class ToSparse(Op, name="ToSparseBackward1"):
    """The nonzero elements of a dense tensor."""

    def forward(self, *, at):
        return self[at]

    def grad_self(grad, self_sym_sizes, at):
        return ToDense.apply(grad, at=at, size=self_sym_sizes)

    jvp = linear


class _Product(Op):
    """The product of a sparse matrix, of values at `rows` and `columns`, and a dense matrix or vector."""


class SparseMm(_Product, name="MmBackward0"):
    def forward(self, mat2, *, rows, columns, height):
        return _times(self, mat2, rows, columns, height)

    def grad_self(grad, mat2, rows, columns):
        return _sum(grad[rows] * mat2[columns], 1)

    def grad_mat2(grad, self, mat2_sym_sizes, rows, columns):
        return SparseMm.apply(self, grad, rows=columns, columns=rows, height=mat2_sym_sizes[0])

    def jvp(tangent, mat2_tangent, self, mat2, rows, columns, height):
        at = {"rows": rows, "columns": columns, "height": height}
        return SparseMm.apply(tangent, mat2, **at) + SparseMm.apply(self, mat2_tangent, **at)


class SparseMv(_Product, name="MvBackward0"):
    def forward(self, vec, *, rows, columns, height):
        return _times(self, vec[:, None], rows, columns, height)[:, 0]

    def grad_self(grad, vec, rows, columns):
        return grad[rows] * vec[columns]

    def grad_vec(grad, self, vec_sym_sizes, rows, columns):
        return SparseMv.apply(self, grad, rows=columns, columns=rows, height=vec_sym_sizes[0])

    def jvp(tangent, vec_tangent, self, vec, rows, columns, height):
        at = {"rows": rows, "columns": columns, "height": height}
        return SparseMv.apply(tangent, vec, **at) + SparseMv.apply(self, vec_tangent, **at)


class SparseAddmm(_Product):
    """beta·self + alpha·(values · mat2)"""

    def forward(self, values, mat2, *, rows, columns, height, beta=1, alpha=1):
        product = _times(values, mat2, rows, columns, height)
        return alpha * product + (0 if self is None else beta * self)

    def grad_self(grad, beta):
        return grad * beta

    def grad_values(grad, mat2, rows, columns, alpha):
        return _sum(grad[rows] * mat2[columns], 1) * alpha

    def grad_mat2(grad, values, mat2_sym_sizes, rows, columns, alpha):
        return SparseMm.apply(values, grad, rows=columns, columns=rows, height=mat2_sym_sizes[0]) * alpha


def _times(values, dense, rows, columns, height):
    return add_rows((height, dense.shape[1]), rows, values[:, None] * dense.take(columns, axis=0))


# --- the tensor ------------------------------------------------------------------------------------------------------


class SparseTensor(Tensor):
    """A sparse tensor. `_values()` is an ordinary tensor in the graph. Anything that reads an array of elements raises."""

    is_sparse = True
    layout: Any = sparse_coo

    def __new__(cls, *data: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, indices: np.ndarray, values: Tensor, size: tuple[int, ...], coalesced: bool = False) -> None:
        self.places, self.elements, self.sizes, self.coalesced = indices, values, tuple(size), coalesced

    @property
    def _data(self) -> Any:  # type: ignore[override]
        raise NotImplementedError(
            "this op is not built for sparse tensors: they can be multiplied by a dense matrix (A @ x), transposed, scaled, "
            "added and summed. Use A.to_dense()."
        )

    @property
    def grad_fn(self) -> Any:
        """The node behind the values."""
        return self.elements.grad_fn

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to the values."""
        return self.elements.requires_grad

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op computed the values."""
        return self.elements.is_leaf

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """A sparse tensor cannot be a leaf that requires a gradient.

        Raises:
            NotImplementedError: `requires_grad` is True; make it of values that require one.
        """
        if requires_grad:
            raise NotImplementedError(
                "not built for sparse tensors: a leaf that requires a gradient, which would be sparse. Use values that require a "
                "gradient, and make the sparse tensor of them: sparse_coo_tensor(indices, values, size)."
            )
        return self

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self.sizes)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.elements.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.sizes[dim]

    def numel(self) -> int:
        """The number of elements, including those that are 0."""
        return self.shape.numel()

    def __len__(self) -> int:
        return self.sizes[0]

    def is_floating_point(self) -> bool:
        """True if the values are floating-point numbers."""
        return self.elements.is_floating_point()

    def type(self, dtype: Any = None, *args: Any) -> Any:
        """The name of the type, or the tensor with values of another type."""
        if dtype is None:
            return f"torch.sparse.{self.dtype.legacy_name}Tensor"
        return self._with(self.elements.type(dtype))

    def sparse_dim(self) -> int:
        """The number of dimensions that indices address: all."""
        return len(self.sizes)

    def dense_dim(self) -> int:
        """0"""
        return 0

    def _nnz(self) -> int:
        return self.places.shape[1]

    def _indices(self) -> Tensor:
        return wrap(self.places.copy())

    def _values(self) -> Tensor:
        return self.elements.detach()

    def is_coalesced(self) -> bool:
        """True if the indices are sorted and unique, as after `coalesce()`."""
        return self.coalesced

    def indices(self) -> Tensor:
        """The indices (dimensions, n) of a coalesced tensor."""
        self._need_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        """The values (n) of a coalesced tensor."""
        self._need_coalesced("values")
        return Values.apply(self.elements)

    def _need_coalesced(self, what: str) -> None:
        if not self.coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def coalesce(self) -> SparseTensor:
        """The same tensor with sorted indices, and values at the same position summed."""
        if self.coalesced:
            return self
        order = np.ravel_multi_index(tuple(self.places), self.sizes) if self._nnz() else np.zeros(0, np.int64)
        kept, place = np.unique(order, return_inverse=True)
        elements = Coalesce.apply(self.elements, place=place.reshape(-1), count=len(kept))
        return SparseTensor(np.array(np.unravel_index(kept, self.sizes)), elements, self.sizes, True)

    def to_dense(self, dtype: Any = None) -> Tensor:
        """A dense tensor with the same elements."""
        out = ToDense.apply(self.elements, at=tuple(self.places), size=self.sizes)
        return out if dtype is None else out.to(dtype)

    def to_sparse(self, *args: Any) -> SparseTensor:
        """The tensor itself."""
        return self

    def _with(self, elements: Tensor) -> SparseTensor:
        """The same positions with other values."""
        return SparseTensor(self.places, elements, self.sizes, self.coalesced)

    def t(self) -> SparseTensor:
        """The transpose of a matrix."""
        self._need_matrix()
        return SparseTensor(self.places[::-1], self.elements, self.sizes[::-1])

    @property
    def T(self) -> SparseTensor:
        """The transpose of a matrix."""
        return self.t()

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """The matrix with two dimensions exchanged."""
        return self if dim0 % self.ndim == dim1 % self.ndim else self.t()

    def detach(self) -> SparseTensor:
        """The same tensor outside the graph."""
        return self._with(self.elements.detach())

    def clone(self) -> SparseTensor:
        """A copy, in the graph."""
        return self._with(self.elements.clone())

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """The tensor with values of another dtype; the tensor itself if it has that dtype."""
        elements = self.elements.to(*args, **kwargs)
        return self if elements is self.elements else self._with(elements)

    def float(self) -> SparseTensor:
        """With values of float32."""
        return self.to(dtypes.float32)

    def double(self) -> SparseTensor:
        """With values of float64."""
        return self.to(dtypes.float64)

    def cpu(self) -> SparseTensor:
        """The tensor itself."""
        return self

    def numpy(self, *, force: bool = False) -> Any:
        """Refused for sparse tensors.

        Raises:
            TypeError: always.
        """
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def sum(self, dim: Any = None, dtype: Any = None) -> Tensor:
        """The sum of all elements."""
        return sum(self, dim, dtype)

    def __mul__(self, other: Any) -> SparseTensor:
        if isinstance(other, Tensor) and other.ndim:
            raise NotImplementedError(
                "not built for sparse tensors: a product of elements with another tensor. Use A.to_dense()."
            )
        return self._with(self.elements * other)

    __rmul__ = mul = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        if isinstance(other, Tensor) and other.ndim:
            raise NotImplementedError(
                "not built for sparse tensors: a quotient of elements with another tensor. Use A.to_dense()."
            )
        return self._with(self.elements / other)

    div = __truediv__

    def __neg__(self) -> SparseTensor:
        return self._with(-self.elements)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Tensor) or other.shape != self.shape:
            raise NotImplementedError(
                "not built for sparse tensors: a sum with anything but a tensor of the same shape. Use A.to_dense()."
            )
        if not isinstance(other, SparseTensor):
            return other + self.to_dense()
        elements = functions["cat"]([self.elements, other.elements])
        return SparseTensor(np.concatenate([self.places, other.places], 1), elements, self.sizes).coalesce()

    __radd__ = add = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, Tensor):
            raise TypeError(f"matmul(): argument 'other' must be Tensor, not {type(other).__name__}")
        height, width = self._need_matrix()
        if other.ndim not in (1, 2):
            raise RuntimeError("mat2 must be a matrix")
        if other.shape[0] != width:
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {width}, got {other.shape[0]}: a matrix of {height}x{width} cannot "
                f"be multiplied by one of {'x'.join(map(str, other.shape))}."
            )
        if other.dtype != self.dtype:
            raise RuntimeError(
                f"expected scalar type {self.dtype.legacy_name} but found {other.dtype.legacy_name}. Convert one of the two: "
                f"t.to({self.dtype!r})."
            )
        if isinstance(other, SparseTensor):
            return of_dense(self.to_dense() @ other.to_dense())
        op = SparseMv if other.ndim == 1 else SparseMm
        return op.apply(self.elements, other, rows=self.places[0], columns=self.places[1], height=height)

    mm = matmul = spmm = mv = __matmul__

    def __rmatmul__(self, other: Any) -> Tensor:
        return (self.t() @ other.t()).t()

    def _need_matrix(self) -> tuple[int, int]:
        if len(self.sizes) != 2:
            raise NotImplementedError(
                f"this is built for sparse matrices, but the tensor has {len(self.sizes)} dimensions."
            )
        return self.sizes  # type: ignore[return-value]

    def __deepcopy__(self, memo: Any) -> SparseTensor:
        return self._with(self._values().clone())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return SparseTensor, (self.places, self._values(), self.sizes, self.coalesced)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        indent = len("tensor(")
        parts = []
        for name, array in (("indices", self.places), ("values", self.elements._data)):
            start = f"{name}=tensor("
            empty = "" if array.size else f", size={array.shape}"
            parts.append(start + printing.numbers(array, indent + len(start)) + empty + ")")
        text = "tensor(" + (",\n" + " " * indent).join(parts)
        node = self.grad_fn
        suffixes = [f"size={self.sizes}", f"nnz={self._nnz()}"]
        if self.dtype is not dtypes.get_default_dtype():
            suffixes.append(f"dtype={self.dtype!r}")
        suffixes += [f"layout={sparse_coo!r}", *([f"grad_fn=<{node.name()}>"] if node is not None else [])]
        text += ",\n" + " " * indent + suffixes[0]
        return printing.with_suffixes(text, suffixes[1:], indent)

    __str__ = __repr__


# --- functions -------------------------------------------------------------------------------------------------------


@overridable
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A sparse tensor with `values` (n) at `indices` (dimensions, n), and 0 elsewhere.

    Values that require a gradient get one.

    >>> import tinygrad_edu as T
    >>> A = T.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> A @ T.ones(2, 1)
    tensor([[2.],
            [3.]])
    """
    check_device(device)
    if values is None:
        at, size = np.zeros((len(indices), 0), np.int64), indices
        kept = functions["zeros"](0, dtype=dtype)
    else:
        at = np.array(as_tensor(indices)._data, dtype=np.int64)
        kept = as_tensor(values, dtype)
    if at.ndim == 1:
        at = at.reshape(1, -1) if at.size else at.reshape(0, 0)
    if kept.ndim != 1:
        raise NotImplementedError(
            "not built for sparse tensors: values with dimensions of their own. Use a number for each place."
        )
    if at.shape[1] != len(kept):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from values: {len(kept)}"
        )
    sizes = tuple(int(n) + 1 for n in at.max(1, initial=-1)) if size is None else tuple(int(n) for n in size)
    if len(sizes) != len(at):
        raise RuntimeError(f"number of dimensions must be sparse_dim ({len(at)}) + dense_dim (0), but got {len(sizes)}")
    if at.size and at.min() < 0:
        raise RuntimeError(f"found negative index {at.min()}")
    for d, (n, most) in enumerate(zip(sizes, at.max(1, initial=-1), strict=True)):
        if most >= n:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {n} but found index {most}")
    made = SparseCooTensorWithDimsAndTensors.apply(kept) if kept.requires_grad else kept.clone()
    return SparseTensor(at, made, sizes, bool(is_coalesced)).requires_grad_(requires_grad)


def of_dense(dense: Tensor) -> SparseTensor:
    """The nonzero elements of a dense tensor: `to_sparse()`."""
    at = np.nonzero(dense._data)
    return SparseTensor(np.array(at), ToSparse.apply(dense, at=at), tuple(dense.shape), True)


@overridable
def mm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one.

    >>> import tinygrad_edu as T
    >>> A = T.eye(2).to_sparse()
    >>> T.sparse.mm(A, T.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return _addmm(None, mat1, mat2)
    return mat1 @ mat2


@overridable
def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta·mat + alpha·(mat1 @ mat2), for a sparse `mat1`.

    >>> import tinygrad_edu as T
    >>> A = T.tensor([[0.0, 2.0]]).to_sparse()
    >>> T.sparse.addmm(T.ones(1, 1), A, T.tensor([[5.0], [7.0]]))
    tensor([[15.]])
    """
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _addmm(mat: Any, mat1: Any, mat2: Any, **settings: Any) -> Tensor:
    height, width = mat1._need_matrix()
    if mat2.ndim != 2 or mat2.shape[0] != width:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({height}x{width} and {'x'.join(map(str, mat2.shape))})"
        )
    at = {"rows": mat1.places[0], "columns": mat1.places[1], "height": height}
    return SparseAddmm.apply(mat, mat1.elements, mat2, **at, **settings)


@overridable
def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements of a sparse tensor, or, dense, that along a dimension of a sparse matrix.

    >>> import tinygrad_edu as T
    >>> T.sparse.sum(T.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse())
    tensor(5.)
    """
    elements = input.elements if dtype is None else input.elements.to(dtype)
    if dim is None:
        return elements.sum()
    raise NotImplementedError(
        "not built for sparse tensors: the sum along a dimension, which is sparse in PyTorch. Use A.to_dense().sum(dim)."
    )


@overridable
def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The softmax along `dim` of the stored elements; missing elements count as minus infinity.

    >>> import tinygrad_edu as T
    >>> T.sparse.softmax(T.tensor([[0.0, 2.0], [1.0, 1.0]]).to_sparse(), 1).to_dense()
    tensor([[0.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    input._need_matrix()
    input = (input if dtype is None else input.to(dtype)).coalesce()
    axis = dim % 2
    groups, count = input.places[1 - axis], input.sizes[1 - axis]
    largest = np.full(count, -np.inf, input.elements._data.dtype)
    np.maximum.at(largest, groups, input.elements._data)
    powers = (input.elements - wrap(largest[groups])).exp()
    total = Coalesce.apply(powers, place=groups, count=count)
    return input._with(powers / total[wrap(groups)])


class _Legacy:
    """The older constructors, as `sparse.FloatTensor(indices, values, size)`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, *data: Any) -> Any:
        return sparse_coo_tensor(*data, dtype=self.dtype)


FloatTensor, DoubleTensor, LongTensor = _Legacy(dtypes.float32), _Legacy(dtypes.float64), _Legacy(dtypes.int64)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"sparse.{name}: {absent.SPARSE}, or run the program on PyTorch.")
