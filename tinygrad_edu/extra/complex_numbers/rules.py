"""The list of ops and functions that accept complex numbers, and the rules that they use.

For most ops one of two declarations gives the rule:

- `_holomorphic`: f has a complex derivative f'. The gradient of a real loss is grad·conj(f'), but the op's rule computes
  grad·f'. So the rule receives the conjugate of grad, and its result is conjugated. A tangent is multiplied by f' itself, as
  in the op.
- `_linear_in_reals`: a sum, a selection, or another shape, with real coefficients only. The rule is right as it is.

Ops with other rules, such as `abs`, are in `parts.py`. All ops that are not listed here refuse complex numbers.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from ...ops.creation import copies, random
from ...ops.indexing import gather, index, masking
from ...ops.linalg import matmul
from ...ops.op import Op
from ...ops.pointwise import arithmetic, compare, division, exponential, powers, trigonometric
from ...ops.reductions import reduce
from ...ops.shapes import joining, permute, shape, windows
from ..ops import (
    angles,
    arrangement,
    diagonal,
    logarithms,
    masks,
    padding,
    parts,
    products,
    repetition,
    running,
    scatter,
    strides,
    weighted_sums,
)
from . import companion as complexes
from .companion import meet
from .parts import conj, is_complex

__all__ = ["meet"]


def _conjugated(value: Any) -> Any:
    """The conjugate of `value`, or of each of several values. None and real values stay as they are."""
    if isinstance(value, list | tuple):
        return [_conjugated(v) for v in value]
    return conj(value) if value is not None and is_complex(value) else value


def _with_conjugates(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def conjugated(grad: Any, *kept: Any) -> Any:
        return _conjugated(rule(_conjugated(grad), *kept))

    return conjugated


def _declare(op: type[Op], **rules: Any) -> None:
    """Let `op` accept complex numbers, with its own rules except where `rules` replaces them."""
    body = {"forward": staticmethod(op.forward), "__doc__": op.__doc__, "__module__": op.__module__, **rules}
    variant: Any = types.new_class(op.__name__, (op,), {"name": op._name}, lambda space: space.update(body))
    op.of_complex = variant.of_complex = variant
    variant.tangents_by = op


def _linear_in_reals(*ops: type[Op]) -> None:
    for op in ops:
        op.of_complex = op


def _holomorphic(*ops: type[Op]) -> None:
    for op in ops:
        names = ["gradients"] if op._joint else [f"grad_{name}" for name in op._inputs]
        _declare(op, **{name: _with_conjugates(getattr(op, name)) for name in names if hasattr(op, name)})


_linear_in_reals(
    copies.Clone, copies.ToCopy, copies.Copy, copies.Zero, copies.Fill, copies.FillTensor,
    index.Alias, index.Select, index.Slice, index.ScatterSlice, index.Take, index.Index, index.AccumulateAt, index.IndexPut,
    gather.Gather, gather.PutAlong, scatter.IndexSelect, scatter.AddSlices, scatter.IndexAdd, scatter.ScatterAdd,
    masking.Where, masks.MaskedFill, masks.MaskedFillTensor, masks.MaskedSelect, masks.MaskedPlace,
    arithmetic.Neg,
    reduce.Sum, reduce.SumDim, reduce.Mean, reduce.MeanDim, running.Cumsum,
    permute.Permute, permute.Transpose, permute.T, permute.Flip, arrangement.Roll, arrangement.Rot90,
    joining.Cat, joining.Stack, joining.Split, parts.UnsafeSplit, joining.SplitWithSizes, joining.Unbind, padding.ConstantPadNd,
    shape.View, shape.ReshapeAlias, shape.UnsafeView, shape.Expand, shape.SumToSize, shape.Unsqueeze, shape.Squeeze,
    shape.SqueezeDim, shape.SqueezeDims,
    repetition.Repeat, strides.Unfold, strides.Fold, windows.AsStrided,
    diagonal.Diagonal, diagonal.DiagonalCopy, diagonal.DiagonalScatter, parts.DiagEmbed, diagonal.Tril, diagonal.Triu,
    parts.Trace,
    random.Uniform, random.Normal, compare.Eq, compare.Ne, compare.LogicalNot, compare._Test, reduce._Counted, arrangement.BlockDiag,
)  # fmt: skip

_holomorphic(
    arithmetic.Add, arithmetic.Sub, arithmetic.Rsub, arithmetic.RsubTensor,
    arithmetic.Mul, weighted_sums.Lerp, weighted_sums.Addcmul, weighted_sums.Addcdiv,
    division.Div, division.Reciprocal,
    powers.Pow, powers.Sqrt, powers.Rsqrt,
    exponential.Exp, logarithms.Exp2, logarithms.Expm1, exponential.Log, logarithms.Log2, logarithms.Log10,
    exponential.Log1p, exponential.Sigmoid, reduce.Prod, reduce.ProdDim,
    trigonometric.Sin, trigonometric.Cos, angles.Tan, angles.Sinh, angles.Cosh, trigonometric.Tanh,
    matmul.Dot, matmul.Mv, matmul.Mm, matmul.Bmm, matmul.Addmm, products.Baddbmm, products.Addmv,
)  # fmt: skip

# The functions and methods that use only these ops, or that do not compare numbers.
complexes.accept(
    # made of
    "tensor as_tensor from_numpy full full_like zeros_like ones_like empty_like eye clone detach detach_ to type type_as contiguous "
    "cfloat cdouble float double half copy_ fill_ zero_ fill_diagonal_ new_tensor new_full rand_like randn_like "
    # parts
    "real imag conj conj_physical conj_physical_ resolve_conj resolve_neg is_conj is_neg view_as_real view_as_complex complex polar "
    "abs absolute angle sgn isreal "
    # arithmetic
    "add add_ sub sub_ subtract subtract_ rsub __rsub__ mul mul_ multiply multiply_ div div_ divide divide_ true_divide true_divide_ "
    "__rtruediv__ __rdiv__ reciprocal reciprocal_ neg neg_ negative negative_ pow pow_ square square_ sqrt sqrt_ exp exp_ log log_ exp2 exp2_ expm1 expm1_ log2 log2_ log10 log10_ log1p log1p_ sigmoid sigmoid_ rsqrt rsqrt_ sin "
    "sin_ cos cos_ tan tan_ sinh sinh_ cosh cosh_ tanh tanh_ addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ "
    # sums and products
    "sum mean prod cumsum cumsum_ trace norm vector_norm dot vdot mv mm bmm matmul __rmatmul__ addmm addmm_ addmv addmv_ baddbmm "
    "baddbmm_ outer ger inner tensordot einsum kron linear matrix_norm "
    # shapes
    "view reshape reshape_as view_as flatten unflatten ravel expand expand_as broadcast_to sum_to_size unsqueeze unsqueeze_ squeeze "
    "squeeze_ permute transpose transpose_ swapaxes swapdims t t_ movedim moveaxis adjoint flip fliplr flipud roll rot90 cat concat "
    "concatenate stack hstack vstack dstack split split_with_sizes chunk unbind tensor_split narrow select repeat tile "
    "repeat_interleave pad constant_pad_nd unfold as_strided diagonal diag diag_embed diagflat tril triu tril_ triu_ atleast_1d "
    "atleast_2d atleast_3d broadcast_tensors meshgrid block_diag "
    # indices
    "__getitem__ __setitem__ index_select gather take_along_dim scatter_add scatter_add_ index_add index_add_ index_put index_put_ where "
    "masked_fill masked_fill_ masked_select "
    # asked
    "eq __eq__ not_equal ne equal isnan isfinite isinf allclose isclose count_nonzero all any logical_not is_same_size is_nonzero is_signed __contains__ "
    "__reversed__ ndimension __len__ __array__ __bool__ __float__ __int__ __complex__ __format__ __iter__ __repr__ item numpy tolist size "
    # Fourier
    "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn fftshift ifftshift stft "
    "istft "
    # gradients
    "uniform_ normal_ backward grad requires_grad_ register_hook retain_grad retain_grads gradcheck gradgradcheck "
)
