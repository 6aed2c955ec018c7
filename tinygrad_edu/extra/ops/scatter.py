""""""

from __future__ import annotations

import math

import numpy as np

from ...array.tensor import Tensor, wrap
from ...autograd.inplace import refuse_shared_memory
from ...ops.arrays import add_slices, copied, flat_places
from ...ops.binding import public
from ...ops.creation.factories import fitted
from ...ops.indexing.gather import checked_index, gather, take_along
from ...ops.indexing.masking import where
from ...ops.op import Op, linear
from ...ops.operands import need_tensor
from ...ops.shapes.shape import axis_of, expand, reshape
from .masks import MaskedPlace


class Scatter(Op):
    """`self` with `src` written at `index` along `dim`."""

    apart = True
    without_gradient = ("index",)

    def forward(self, src, *, dim, index):
        out = copied(self)
        out.reshape(-1)[flat_places(index, dim, out.shape)] = src[tuple(slice(n) for n in index.shape)]
        return out

    def grad_self(grad, dim, index):
        return ScatterValue.apply(grad, dim=dim, index=index, value=0.0)

    def grad_src(grad, dim, index):
        return take_along(grad, dim, index)

    jvp = linear


class ScatterValue(Op, name="ScatterBackward1"):
    """As Scatter, with a number as the source."""

    apart = True
    without_gradient = ("index",)

    def forward(self, *, dim, index, value):
        out = copied(self)
        out.reshape(-1)[flat_places(index, dim, out.shape)] = fitted(value, self.dtype)
        return out

    def grad_self(grad, dim, index):
        return ScatterValue.apply(grad, dim=dim, index=index, value=0.0)

    def jvp(tangent, dim, index):
        return ScatterValue.apply(tangent, dim=dim, index=index, value=0.0)


class ScatterAdd(Op):
    """`self` with `src` added at `index` along `dim`."""

    apart = True
    without_gradient = ("index",)

    def forward(self, src, *, dim, index):
        out = copied(self)
        added = src[tuple(slice(n) for n in index.shape)]
        np.add.at(out.reshape(-1), flat_places(index, dim, out.shape).reshape(-1), added.reshape(-1))
        return out

    def grad_self(grad):
        return grad

    def grad_src(grad, dim, index):
        return take_along(grad, dim, index)

    jvp = linear


class IndexSelect(Op):
    """The slices of `self` at `index` along `dim`."""

    without_gradient = ("index",)

    def forward(self, *, dim, index):
        return np.take(self, index, axis=dim) if self.ndim else self.reshape(1)[index].reshape(())

    def grad_self(grad, self_sym_sizes, dim, index):
        return AddSlices.apply(grad, size=self_sym_sizes, dim=dim, index=index)

    jvp = linear


class AddSlices(Op, name="IndexAddBackward1"):
    """Zeros of shape `size` with the slices of `self` added at `index`: the transpose of IndexSelect."""

    without_gradient = ("index",)

    def forward(self, *, size, dim, index):
        out = np.zeros(size, self.dtype)
        add_slices(np.atleast_1d(out), dim, index, self)
        return out

    def grad_self(grad, dim, index):
        return IndexSelect.apply(grad, dim=dim, index=index)

    jvp = linear


class IndexAdd(Op):
    """`self` with alpha·source added to its slices `index` along `dim`."""

    apart = True
    without_gradient = ("index",)

    def forward(self, source, *, dim, index, alpha=1):
        out = copied(self)
        if not out.size:
            return out
        added = source if alpha == 1 else (np.asarray(alpha).astype(source.dtype) * source)
        add_slices(np.atleast_1d(out), dim, index, added)
        return out

    def grad_self(grad):
        return grad

    # `source` is not used. It is still saved, and so version-checked, as in PyTorch.
    def grad_source(grad, source, dim, index, alpha):
        chosen = IndexSelect.apply(grad, dim=dim, index=index)
        return chosen if alpha == 1 else chosen * alpha

    jvp = linear


class IndexCopy(Op):
    """`self` with its slices `index` along `dim` replaced by `source`."""

    apart = True
    without_gradient = ("index",)

    def forward(self, source, *, dim, index):
        out = copied(self)
        if out.size:
            np.atleast_1d(out)[(slice(None),) * dim + (index,)] = source
        return out

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    # `source` is not used. It is still saved, and so version-checked, as in PyTorch.
    def grad_source(grad, source, dim, index):
        selected = IndexSelect.apply(grad, dim=dim, index=index)
        return selected if selected.ndim == source.ndim else selected.reshape(source.shape)  # one of the two is 0-d

    jvp = linear


class IndexFill(Op):
    """`self` with its slices `index` along `dim` filled with a number."""

    without_gradient = ("index",)

    def forward(self, *, dim, index, value):
        out = copied(self, "K")
        if out.size:
            np.atleast_1d(out)[(slice(None),) * dim + (index,)] = fitted(value, self.dtype)
        return out

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    def jvp(tangent, dim, index):
        return IndexFill.apply(tangent, dim=dim, index=index, value=0.0)


class IndexFillTensor(Op, name="IndexFillBackward1"):
    """As IndexFill, with a 0-d tensor as the value, which may need a gradient."""

    without_gradient = ("index",)

    mixes = True

    def forward(self, value, *, dim, index):
        return IndexFill.forward(self, dim=dim, index=index, value=value)

    def grad_self(grad, dim, index):
        return IndexFill.apply(grad, dim=dim, index=index, value=0.0)

    def grad_value(grad, dim, index):
        # An index that occurs twice is filled only once.
        once = np.unique(getattr(index, "_data", index))
        return IndexSelect.apply(grad, dim=dim, index=once).sum()

    def jvp(tangent, value_tangent, dim, index):
        return IndexFillTensor.apply(tangent, value_tangent, dim=dim, index=index)


class TakeFlat(Op, name="TakeBackward0"):
    """Elements by their position in row-major order."""

    without_gradient = ("index",)

    def forward(self, *, index):
        return self.reshape(-1)[index]

    # Only its shape is used. It is still saved, and so version-checked, as in PyTorch.
    def grad_self(grad, self, index):
        return PutFlat.apply(grad, size=tuple(self.shape), index=index)

    jvp = linear


class PutFlat(Op, name="PutBackward1"):
    without_gradient = ("index",)

    def forward(self, *, size, index):
        out = np.zeros(size, self.dtype)
        np.add.at(out.reshape(-1), index, self)
        return out

    def grad_self(grad, index):
        return TakeFlat.apply(grad, index=index)

    jvp = linear


@public()
def take_along_dim(input, indices, dim=None) -> Tensor:
    """As gather, but `indices` and `input` are first broadcast against each other along the other dimensions.

    >>> import tinygrad_edu as T
    >>> T.take_along_dim(T.tensor([[3, 1], [2, 4]]), T.tensor([[1, 0], [0, 1]]), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if dim is None:
        input, indices, dim = reshape(input, (-1,)), indices.reshape(-1), 0
    axis = axis_of(dim, input.ndim)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if indices._data.dtype.kind != "i":
        kind = indices.dtype.legacy_name
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {kind}")
    # As in PyTorch, an index past one end wraps around to the other.
    indices = wrap(np.mod(indices._data, input.shape[axis] or 1))
    sizes = [
        1 if d == axis else np.broadcast_shapes((a,), (b,))[0]
        for d, (a, b) in enumerate(zip(input.shape, indices.shape, strict=True))
    ]
    mine = tuple(input.shape[axis] if d == axis else n for d, n in enumerate(sizes))
    theirs = tuple(indices.shape[axis] if d == axis else n for d, n in enumerate(sizes))
    return gather(expand(input, mine), axis, expand(indices, theirs))


def scatter_axis(input, dim, index, src=None):
    """The dimension of a scatter, after checking that the index fits into the tensor and into the source, if that is a tensor."""
    axis = axis_of(dim, input.ndim)
    array = checked_index("scatter", index)
    if src is not None and src._data.dtype != input._data.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype. Convert src first, with .to(…).")
    if not array.size:
        return axis
    picks = array.shape or (1,)
    if max(input.ndim, 1) != len(picks):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    fits = all(d == axis or n <= m for d, (n, m) in enumerate(zip(picks, input.shape or (1,), strict=True)))
    if src is not None:
        # A dimension that the source does not have is an error of its own.
        theirs = (src.shape[axis_of(d, src.ndim)] if src.ndim else 1 for d in range(len(picks)))
        fits = fits and all(n <= m for n, m in zip(picks, theirs, strict=True))
        if max(src.ndim, 1) != len(picks):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if not fits:
        and_src = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(
            f"Expected index {list(array.shape)} to be no larger than self {list(input.shape)} apart from dimension {axis}{and_src}"
        )
    checked_index("scatter", index, None, input.shape[axis] if input.ndim else 1, axis)
    return axis


def source_for(index, src):
    """The source of a scatter with as many dimensions as its index."""
    if not index.numel():
        return reshape(reshape(src, (-1,))[:0], tuple(index.shape))
    if src.ndim == index.ndim:
        return src
    return reshape(src, (1,)) if index.ndim else reshape(src, (-1,))[0]  # one of both is a single number


def _scatter(form, input, dim, index, src, value, reduce):
    if reduce is not None:
        raise NotImplementedError("scatter with reduce=… is not built: use scatter_add for sums.")
    src = value if src is None else src
    axis = scatter_axis(input, dim, index, src if isinstance(src, Tensor) else None)
    if isinstance(src, Tensor):
        src = source_for(index, src)
        return getattr(Scatter, form)(input, src, dim=axis, index=index)
    return getattr(ScatterValue, form)(input, dim=axis, index=index, value=src)


def _scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    return _scatter("apply_", self, dim, index, src, value, reduce)


@public(inplace=_scatter_)
def scatter(input, dim, index, src=None, *, value=None, reduce=None) -> Tensor:
    """A copy of `input` with elements of `src` written at `index`: for dim = 1, result[i][index[i][j]] = src[i][j].

    >>> import tinygrad_edu as T
    >>> T.scatter(T.zeros(3), 0, T.tensor([2, 0]), T.tensor([1.0, 5.0]))
    tensor([5., 0., 1.])
    """
    return _scatter("apply", input, dim, index, src, value, reduce)


def _scatter_add(form, input, dim, index, src):
    axis = scatter_axis(input, dim, index, need_tensor("scatter_add", src))
    src = source_for(index, src)
    return getattr(ScatterAdd, form)(input, src, dim=axis, index=index)


def _scatter_add_(self, dim, index, src):
    return _scatter_add("apply_", self, dim, index, src)


@public(inplace=_scatter_add_)
def scatter_add(input, dim, index, src) -> Tensor:
    """A copy of `input` with elements of `src` added at `index`: for dim = 1, result[i][index[i][j]] += src[i][j].

    >>> import tinygrad_edu as T
    >>> T.scatter_add(T.zeros(3), 0, T.tensor([2, 0, 2]), T.tensor([1.0, 5.0, 2.0]))
    tensor([5., 0., 3.])
    """
    return _scatter_add("apply", input, dim, index, src)


def _slices(name, input, dim, index, from_end=False):
    axis = axis_of(dim, input.ndim)
    array = checked_index(name, index)
    if array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    size = input.shape[axis] if input.ndim else 1
    outside = array[(array < (-size if from_end else 0)) | (array >= size)]
    # A fill asks only where there is something to fill; a selection of several empty slices has words of its own.
    if outside.size and (not from_end or math.prod(n for d, n in enumerate(input.shape) if d != axis)):
        if input.numel() or (input.ndim < 2 and not from_end):
            raise IndexError("index out of range in self")
        told = f"INDICES element is out of DATA bounds, id={outside.flat[0]} axis_dim={size}"
        raise RuntimeError(told if size else f"{name}(): self indexing axis dim should be positive")
    if not input.ndim and array.size != 1 and not from_end:
        raise RuntimeError(f"{name}(): Index to scalar can have only 1 value, got {array.size} value(s)")
    return axis, index if index.ndim else reshape(index, (-1,))


@public()
def index_select(input, dim, index) -> Tensor:
    """A copy of the slices of `input` along `dim` whose numbers are in the vector `index`.

    >>> import tinygrad_edu as T
    >>> T.index_select(T.arange(4) * 10, 0, T.tensor([3, 0]))
    tensor([30,  0])
    """
    axis, index = _slices("index_select", input, dim, index)
    return IndexSelect.apply(input, dim=axis, index=index)


def _with_source(op, form, name, input, dim, index, source, **settings):
    """IndexAdd or IndexCopy, after checking that `source` has one slice for each entry of `index`."""
    axis = axis_of(dim, input.ndim)
    if checked_index(name, index).ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    kinds = input.dtype.legacy_name, source.dtype.legacy_name
    if op is IndexAdd:
        if kinds[0] != kinds[1]:
            raise RuntimeError(
                f"index_add_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type. Convert the source "
                "first, with .to(…)."
            )
        _check_added(tuple(input.shape), tuple(source.shape), axis, index.numel())
    else:
        if form == "apply_":
            refuse_shared_memory(input, (source, index), apart=True)
        _check_copied(tuple(input.shape), tuple(source.shape), axis, index.numel(), kinds)
    size = input.shape[axis] if input.ndim else 1
    outside = index._data[(index._data < 0) | (index._data >= size)]
    if outside.size and op is IndexAdd and input.ndim < 2:
        raise IndexError("index out of range in self")
    if outside.size and (input.numel() or not (size or op is IndexAdd)):
        where = f"index {outside.flat[0]} is out of bounds for dimension {axis} with size {size}"
        raise RuntimeError(where) if op is IndexAdd else IndexError(f"index_copy_(): {where}")
    index = index if index.ndim else reshape(index, (-1,))
    return getattr(op, form)(input, source, dim=axis, index=index, **settings)


def _check_added(shape, given, axis, count):
    if axis >= max(len(given), 1):
        raise RuntimeError(
            f"index_add_(): Indexing dim {axis} is out of bounds of the source tensor with dim {len(given)}"
        )
    if count != (given[axis] if given else 1):
        raise RuntimeError(
            f"index_add_(): Number of indices ({count}) should be equal to source.size(dim): ({given[axis] if given else 1}), "
            f"for dim: {axis}"
        )
    # A single number is accepted as one slice with one element.
    if given != (*shape[:axis], count, *shape[axis + 1 :])[: len(shape)] and (given or shape):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(given)}"
        )


def _check_copied(shape, given, axis, count, kinds):
    if not given and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if given and shape and len(given) != len(shape):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({len(given)}), destination dimensionality ({len(shape)})"
        )
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{kinds[0]} and (source) {kinds[1]}. Convert the source first, with .to(…)."
        )
    mine, theirs = ([n for d, n in enumerate(sizes) if d != axis] for sizes in (shape, given))
    if mine != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {axis} and source slice shape: {' '.join(map(str, theirs))}."
        )
    if given and count != given[axis]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({given[axis]})"
        )


def _index_add_(self, dim, index, source, *, alpha=1):
    return _with_source(IndexAdd, "apply_", "index_add", self, dim, index, source, alpha=alpha)


@public(inplace=_index_add_)
def index_add(input, dim, index, source, *, alpha=1) -> Tensor:
    """A copy of `input` with alpha * source added to its slices `index` along `dim`.

    >>> import tinygrad_edu as T
    >>> T.index_add(T.zeros(3), 0, T.tensor([0, 2, 0]), T.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    return _with_source(IndexAdd, "apply", "index_add", input, dim, index, source, alpha=alpha)


def _index_copy_(self, dim, index, source):
    return _with_source(IndexCopy, "apply_", "index_copy", self, dim, index, source)


@public(inplace=_index_copy_)
def index_copy(input, dim, index, source) -> Tensor:
    """A copy of `input` with its slices `index` along `dim` replaced by `source`.

    >>> import tinygrad_edu as T
    >>> T.index_copy(T.zeros(3), 0, T.tensor([2]), T.tensor([5.0]))
    tensor([0., 0., 5.])
    """
    return _with_source(IndexCopy, "apply", "index_copy", input, dim, index, source)


def _index_fill(form, input, dim, index, value):
    axis, index = _slices("index_fill", input, dim, index, from_end=True)
    if not isinstance(value, Tensor):
        return getattr(IndexFill, form)(input, dim=axis, index=index, value=value)
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return getattr(IndexFillTensor, form)(input, value, dim=axis, index=index)


def _index_fill_(self, dim, index, value):
    return _index_fill("apply_", self, dim, index, value)


@public(inplace=_index_fill_)
def index_fill(input, dim, index, value) -> Tensor:
    """A copy of `input` with its slices `index` along `dim` filled with a number or a 0-d tensor.

    >>> import tinygrad_edu as T
    >>> T.index_fill(T.zeros(3), 0, T.tensor([0, 2]), 1.0)
    tensor([1., 0., 1.])
    """
    return _index_fill("apply", input, dim, index, value)


@public()
def take(input, index) -> Tensor:
    """The elements at the positions `index`, counted in row-major order; negative positions count from the end.

    >>> import tinygrad_edu as T
    >>> T.take(T.tensor([[1, 2], [3, 4]]), T.tensor([0, 3]))
    tensor([1, 4])
    """
    places, n = checked_index("take", index), input.numel()
    outside = places[(places < -n) | (places >= n)]
    if places.size and not n:
        raise IndexError("take(): tried to take from an empty tensor. It has no element at any position.")
    if outside.size:
        raise IndexError(f"out of range: tried to access index {outside.flat[0]} on a tensor of {n} elements.")
    return TakeFlat.apply(input, index=index)


class MaskedScatter(Op):
    """The elements of `source`, in order, where `mask` is True; self elsewhere."""

    without_gradient = ("mask",)

    def forward(self, source, *, mask):
        out = copied(np.broadcast_to(self, np.broadcast_shapes(self.shape, mask.shape)))
        where = np.broadcast_to(mask, out.shape)
        out[where] = source.reshape(-1)[: np.count_nonzero(where)]
        return out

    def grad_self(grad, mask):
        return where(mask, 0.0, grad)

    def grad_source(grad, mask, source_sym_sizes):
        return MaskedGather.apply(grad, size=source_sym_sizes, mask=mask)

    jvp = linear


class MaskedGather(Op, name="MaskedScatterBackwardBackward0"):
    """The transpose of MaskedScatter: the elements where the mask is True, in order, padded with zeros to `size`."""

    without_gradient = ("mask",)

    def forward(self, *, size, mask):
        chosen = self[np.broadcast_to(mask, self.shape)]
        out = np.zeros(math.prod(size), self.dtype)
        out[: chosen.size] = chosen
        return out.reshape(size)

    def grad_self(grad, self_sym_sizes, mask):
        count = np.count_nonzero(np.broadcast_to(getattr(mask, "_data", mask), self_sym_sizes))
        return MaskedPlace.apply(grad.reshape(-1)[:count], size=self_sym_sizes, mask=mask)

    jvp = linear


def _masked_scatter_(self, mask, source):
    _check_types(self, mask, source)
    if mask.ndim > self.ndim:
        raise RuntimeError(
            f"expand(CPU{mask.dtype.legacy_name}Type{{{list(mask.shape)}}}, size={list(self.shape)}): the number of sizes provided "
            f"({self.ndim}) must be greater or equal to the number of dimensions in the tensor ({mask.ndim}). The mask has to fit "
            "the tensor."
        )
    _check_source(self, expand(mask, self.shape), source)
    return MaskedScatter.apply_(self, source, mask=mask)


def _check_types(input, mask, source):
    if mask._data.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")
    if source._data.dtype != input._data.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{input.dtype.legacy_name} and {source.dtype.legacy_name}"
        )


def _check_source(input, mask, source):
    _check_types(input, mask, source)
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    if source.numel() < np.count_nonzero(np.broadcast_to(mask._data, shape)):
        raise RuntimeError("Number of elements of source < number of ones in mask")


@public(inplace=_masked_scatter_)
def masked_scatter(input, mask, source) -> Tensor:
    """A copy of `input` with the elements of `source`, in order, where `mask` is True.

    >>> import tinygrad_edu as T
    >>> T.masked_scatter(T.zeros(3), T.tensor([True, False, True]), T.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    _check_source(input, mask, source)
    return MaskedScatter.apply(input, source, mask=mask)
