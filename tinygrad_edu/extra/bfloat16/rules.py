"""The white list: which ops and functions accept bfloat16, and how PyTorch computes them on the CPU."""

from __future__ import annotations

import numpy as np

from ...array.dtypes import addend, rounded, wide
from ...ops.creation import copies, random
from ...ops.indexing import gather, index, masking
from ...ops.linalg import matmul
from ...ops.network import activation, cross_entropy, loss, normalization, rectifier, softmax
from ...ops.op import Op
from ...ops.pointwise import arithmetic, clamp, compare, division, exponential, powers, rounding, trigonometric
from ...ops.reductions import extremes, norms, reduce
from ...ops.shapes import joining, permute, shape, windows
from ..ops import (
    activations,
    angles,
    arrangement,
    attention,
    bags,
    bits,
    convolution,
    diagonal,
    distance,
    distinct,
    elementwise,
    error_function,
    group_norms,
    logarithms,
    losses,
    masks,
    medians,
    padding,
    parts,
    pooling,
    products,
    rectifiers,
    remainders,
    repetition,
    resampling,
    running,
    scatter,
    sorting,
    statistics,
    strides,
    weighted_sums,
)
from ..ops.linalg import decomposition
from . import companion as bfloat16s
from .companion import Way, meet

__all__ = ["meet"]


def _declare(way: Way, *ops: type[Op]) -> None:
    for op in ops:
        op.of_bfloat16 = way


_declare(
    Way(moves=True),
    copies.Clone, copies.ToCopy, copies.Copy, copies.Zero, copies.Fill, copies.FillTensor, index.Alias, index.Select,
    index.Slice, index.ScatterSlice, index.Take, index.Index, gather.Gather, scatter.IndexSelect, masks.MaskedSelect,
    permute.Permute, permute.Transpose, permute.T, permute.Flip, arrangement.Roll, arrangement.Rot90, joining.Cat, joining.Stack,
    joining.Split, parts.UnsafeSplit, joining.SplitWithSizes, joining.Unbind, shape.View, shape.ReshapeAlias,
    shape.UnsafeView, shape.Expand, shape.Unsqueeze, shape.Squeeze, shape.SqueezeDim, shape.SqueezeDims, repetition.Repeat,
    strides.Unfold, windows.AsStrided, diagonal.Diagonal, diagonal.DiagonalCopy, parts.DiagEmbed, diagonal.Tril,
    diagonal.Triu,
)  # fmt: skip

_declare(
    Way(full=True),
    arithmetic.Mul, arithmetic.MulNumber, arithmetic.DivNumber, division.Div,
)  # fmt: skip
_declare(
    Way(rounds="alpha other"),
    arithmetic.Add, arithmetic.Sub, arithmetic.Rsub, arithmetic.RsubTensor, arithmetic.AddNumber,
)  # fmt: skip

# The gradient in several ops, each of which rounds.
_declare(
    Way(),
    arithmetic.Neg, arithmetic.Abs, weighted_sums.Addcmul, weighted_sums.Lerp, weighted_sums.LerpTensor, division.DivRounded,
    remainders.FloorDivide, remainders.Fmod, remainders.FmodTensor, division.Reciprocal, remainders.Remainder,
    remainders.RemainderTensor, decomposition.Norm, norms.VectorNorm, powers.PowScalar, powers.PowTensor, powers.Sqrt,
    exponential.Exp, logarithms.Exp2, logarithms.Expm1, exponential.Log, logarithms.Log10, exponential.Log1p,
    logarithms.Log2, error_function.Erf, error_function.Erfc, angles.Acosh, angles.Asinh, angles.Atan,
    angles.Atanh, trigonometric.Cos, angles.Cosh, trigonometric.Sin, angles.Sinh, angles.Tan,
    rounding.Ceil, rounding.Floor, remainders.Frac, rounding.Round, rounding.RoundDecimals, rounding.Sgn, rounding.Sign,
    rounding.Trunc, clamp.Clamp, clamp.ClampMax, clamp.ClampMaxTensor, clamp.ClampMin, clamp.ClampMinTensor,
    clamp.ClampTensor, clamp.Maximum, clamp.Minimum, elementwise.NanToNum, compare.Eq, compare.Ge, compare.Gt, elementwise.Isclose,
    compare.Le, bits.LogicalAnd, compare.LogicalNot, bits.LogicalOr, bits.LogicalXor, compare.Lt, compare.Ne,
    compare._Test, reduce.Sum, reduce.SumDim, statistics.Nansum, reduce.Mean, reduce.MeanDim, reduce._Counted, extremes.Amax,
    extremes.Amin, extremes.Max, extremes.MaxDim, extremes.Min, extremes.MinDim, medians.Median, medians.MedianDim,
    medians.Kthvalue, extremes._Position, running.Cumsum, running.Cummax, running.Cummin, sorting.Sort,
    sorting.SortStable, sorting.Topk, distinct.Mode, shape.SumToSize, parts.Trace, diagonal.DiagonalScatter,
    padding.ConstantPadNd, arrangement.BlockDiag, masking.Where, masks.MaskedFill, masks.MaskedFillTensor,
    masks.MaskedPlace, scatter.MaskedScatter, scatter.MaskedGather, index.IndexPut, index.AccumulateAt, gather.PutAlong,
    scatter.AddSlices, scatter.IndexAdd, scatter.IndexCopy, scatter.IndexFill, scatter.IndexFillTensor, scatter.Scatter,
    scatter.ScatterAdd, scatter.ScatterValue, strides.Fold, matmul.Dot, matmul.Mv, matmul.Mm, matmul.Bmm, matmul.Addmm,
    products.Baddbmm, products.Addmv, softmax.Logsumexp,
)  # fmt: skip

_declare(
    Way(fused=True),
    exponential.Sigmoid, logarithms.Logit, trigonometric.Tanh, softmax.Softmax, softmax.SafeSoftmax, activations.Celu,
    activations.Elu, activations.Gelu, activations.Glu, activation.LogSigmoid, activations.Mish, activations.Silu,
    activations.Softplus, rectifiers.Hardshrink, rectifiers.HardshrinkBackward, rectifiers.Hardsigmoid,
    rectifiers.HardsigmoidBackward, rectifiers.Hardswish, rectifiers.Hardtanh, rectifiers.HardtanhBackward, rectifier.LeakyRelu,
    rectifier.LeakyReluBackward, rectifiers.PreluKernel, rectifiers.PreluKernelBackward, rectifier.Relu, rectifiers.Softshrink,
    rectifiers.SoftshrinkBackward, rectifier.Threshold, rectifier.ThresholdBackward, bags.Embedding, bags.EmbeddingBack,
    attention.ScaledDotProductAttention, losses.HuberLoss, loss.MseLoss, losses.SmoothL1Loss, losses.SoftMarginLoss,
    cross_entropy.NllLoss, cross_entropy.NllLoss2D, cross_entropy.BinaryCrossEntropy,
    cross_entropy.BinaryCrossEntropyWithLogits, convolution.Convolution, convolution.ConvolutionTransposed,
    convolution.InputOfConvolution, convolution.WeightOfConvolution, powers.Rsqrt, angles.Hypot, logarithms.Logaddexp,
    statistics.Var, statistics.Std, statistics.VarMean, statistics.StdMean, distance.Dist, reduce.Prod, reduce.ProdDim, running.Cumprod,
    weighted_sums.Addcdiv, angles.Atan2, angles.Asin, angles.Acos, logarithms.Xlogy,
    group_norms.NativeGroupNorm, pooling.AvgPool2D, pooling.AvgPool2DBack, pooling.MaxPool2D,
    pooling.AdaptiveAvgPool2D, pooling.AdaptiveBack, resampling.PixelShuffle, resampling.PixelUnshuffle,
)  # fmt: skip


def _log_softmax(self, *, dim):
    """Along the last dimension PyTorch rounds the sum of the exponentials, and its logarithm."""
    self = wide(self)
    if not self.size or not self.ndim or dim != self.ndim - 1:
        return softmax.LogSoftmax.forward(self, dim=dim)
    shifted = self - self.max(axis=dim, keepdims=True)
    return shifted - rounded(np.log(rounded(np.exp(shifted).sum(axis=dim, keepdims=True))))


def _layer_norm(input, weight, bias, **settings):
    """The mean and the standard deviation that backward uses have the type of the weight, as in PyTorch."""
    alike = weight is None or weight.dtype == input.dtype
    out, *kept = normalization.NativeLayerNorm.forward(wide(input), wide(weight), wide(bias), **settings)
    return out, *(map(rounded, kept) if alike else kept)


def _batch_norm(input, weight, bias, *, running_mean, running_var, momentum, **settings):
    """The running statistics, which the op writes to, are rounded when they are complete."""
    running = [wide(running_mean), wide(running_var)]
    momentum = momentum if running_mean is None else addend(running_mean, momentum)
    result = normalization.NativeBatchNorm.forward(
        wide(input),
        wide(weight),
        wide(bias),
        running_mean=running[0],
        running_var=running[1],
        momentum=momentum,
        **settings,
    )
    for kept, new in zip((running_mean, running_var), running, strict=True):
        if kept is not None and new is not kept:
            kept[...] = new
    return result


def _pow(self, *, exponent):
    """PyTorch multiplies for an exponent of 3 or -2, and rounds each product."""
    self = wide(self)
    if exponent in (3, -2):
        square = rounded(self * self)
        return square * self if exponent == 3 else 1 / square
    return powers.Pow.forward(self, exponent=exponent)


_declare(Way(rounds="exponent", forward=_pow), powers.Pow)
_declare(Way(fused=True, forward=_log_softmax), softmax.LogSoftmax)
_declare(Way(fused=True, forward=_layer_norm), normalization.NativeLayerNorm)
_declare(Way(fused=True, forward=_batch_norm), normalization.NativeBatchNorm)

random._Filled.of_bfloat16 = Way(moves=True)

# The functions and methods that end in these ops alone, or ask for no number.
bfloat16s.accept(
    "__array__ __bool__ __complex__ __contains__ __eq__ __float__ __floordiv__ __format__ __getitem__ __int__ __iter__ "
    "__len__ __mod__ __rdiv__ __repr__ __reversed__ __rfloordiv__ __rmatmul__ __rmod__ __rpow__ __rsub__ __rtruediv__ "
    "__setitem__ abs abs_ absolute absolute_ acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_avg_pool2d add add_ "
    "addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ adjoint all allclose alpha_dropout amax amin aminmax any "
    "arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh "
    "arctanh_ argmax argmin argsort argwhere as_tensor asin asin_ asinh asinh_ assert_close atan atan2 atan2_ atan_ atanh "
    "atanh_ atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d backward baddbmm baddbmm_ batch_norm bernoulli "
    "bernoulli_ bfloat16 binary_cross_entropy binary_cross_entropy_with_logits block_diag bmm bool broadcast_tensors "
    "broadcast_to bucketize byte can_cast cartesian_prod cat ceil ceil_ celu channel_shuffle char chunk clamp clamp_ "
    "clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone column_stack combinations concat concatenate conj "
    "conj_physical conj_physical_ constant_pad_nd contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d copy_ copysign copysign_ cos cos_ cosh cosh_ cosine_embedding_loss cosine_similarity count_nonzero "
    "cross_entropy cummax cummin cumsum cumsum_ cumulative_trapezoid data_ptr detach detach_ diag diag_embed diagflat "
    "diagonal diagonal_scatter diff dist div div_ divide divide_ dot double dropout dropout1d dropout2d dropout3d "
    "dropout_ dsplit dstack einsum element_size elu elu_ embedding empty empty_like entr eq eq_ equal erf erf_ erfc erfc_ "
    "exp exp2 exp2_ exp_ expand expand_as expit expm1 expm1_ eye fftshift fill fill_ fill_diagonal_ fix fix_ flatten flip "
    "fliplr flipud float float_power floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp full "
    "full_like gather gaussian_nll_loss ge ge_ gelu ger glu grad greater greater_ greater_equal greater_equal_ group_norm "
    "gt gt_ half hardshrink hardsigmoid hardswish hardtanh hardtanh_ heaviside hinge_embedding_loss histc hsplit hstack "
    "huber_loss ifftshift index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ "
    "index_select inner instance_norm int is_complex is_floating_point is_nonzero is_same_size is_signed is_tensor "
    "isclose isfinite isin isinf isnan isneginf isposinf isreal item kl_div kron kthvalue l1_loss layer_norm le le_ "
    "leaky_relu leaky_relu_ lerp lerp_ less less_ less_equal less_equal_ linear linspace local_response_norm log log10 "
    "log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logical_and logical_and_ logical_not logical_not_ "
    "logical_or logical_or_ logical_xor logical_xor_ logit logit_ logsigmoid logspace logsumexp long lt lt_ "
    "margin_ranking_loss masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_norm max "
    "max_pool1d max_pool2d max_unpool1d max_unpool2d max_unpool3d maximum mean median meshgrid min minimum mish mm "
    "moveaxis movedim mse_loss msort mul mul_ multi_dot multi_head_attention_forward multilabel_soft_margin_loss "
    "multinomial multiply multiply_ mv nan_to_num nan_to_num_ nanmean nanmedian nansum narrow narrow_copy ndimension ne "
    "ne_ neg neg_ negative negative_ new_empty new_full new_ones new_tensor new_zeros nll_loss nonzero nonzero_static "
    "norm normal_ normalize not_equal not_equal_ numel numpy one_hot ones ones_like outer pad pairwise_distance permute "
    "pixel_shuffle pixel_unshuffle positive pow pow_ prelu prod promote_types rand rand_like randn randn_like ravel real "
    "reciprocal reciprocal_ register_hook relu relu6 relu_ remainder remainder_ repeat repeat_interleave requires_grad_ "
    "reshape reshape_as resolve_conj resolve_neg result_type retain_grad retain_grads rms_norm roll rot90 round round_ "
    "row_stack rsqrt rsqrt_ rsub scalar_tensor scaled_dot_product_attention scatter scatter_ scatter_add scatter_add_ "
    "searchsorted select select_scatter selu sgn sgn_ short sigmoid sigmoid_ sign sign_ signbit silu silu_ sin sin_ sinh "
    "sinh_ size slice_scatter smooth_l1_loss soft_margin_loss softmax softmax_ softmin softplus softshrink softsign sort "
    "split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ stack std sub sub_ subtract subtract_ sum "
    "sum_to_size swapaxes swapaxes_ swapdims swapdims_ t t_ take_along_dim tan tan_ tanh tanh_ tanhshrink tensor "
    "tensor_split tensordot threshold threshold_ tile to tolist topk trace transpose transpose_ trapezoid trapz tril "
    "tril_ triplet_margin_loss triu triu_ true_divide true_divide_ trunc trunc_ type type_as unbind unflatten uniform_ "
    "unsafe_chunk unsafe_split unsqueeze unsqueeze_ var var_mean vdot vecdot vector_norm view view_as vsplit vstack where "
    "xlog1py xlogy xlogy_ zero_ zeros zeros_like "
)
