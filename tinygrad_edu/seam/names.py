"""The table of the seam: which module has a name of `tinygrad_edu`, of one of its modules, or of Tensor, if it is imported later.

A name is found here when a program first uses it, and its module is imported then. A test compares this table with what the
modules define.
"""

from __future__ import annotations

__all__ = ["NAMES"]

# By the module that a program reads the name from ("" is the package itself): the module that has it, and the names.
NAMES: dict[str, dict[str, str]] = {
    "": {
        "extra.autocast.amp": (
            "GradScaler autocast clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled "
            "is_autocast_cpu_enabled is_autocast_enabled set_autocast_dtype set_autocast_enabled"
        ),
        "extra.compat.legacy": (
            "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor "
            "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ "
            "backends ceil_ channels_last channels_last_3d clamp_ clamp_max_ clamp_min_ clip_ contiguous_format cos_ "
            "cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ get_num_threads hardshrink "
            "index_put_ legacy_contiguous_format log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ "
            "preserve_format rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ set_num_threads sigmoid_ sin_ sinh_ "
            "sqrt_ square_ tan_ tanh_ trunc_ use_deterministic_algorithms xlogy_ zero_"
        ),
        "extra.compat.memory": "layout memory_format",
        "extra.compat.settings": (
            "are_deterministic_algorithms_enabled asarray compiled_with_cxx11_abi empty_permuted empty_strided "
            "frombuffer get_default_device get_deterministic_debug_mode get_float32_matmul_precision "
            "get_num_interop_threads is_deterministic_algorithms_warn_only_enabled is_distributed is_storage "
            "is_warn_always_enabled range scalar_tensor set_default_device set_default_tensor_type "
            "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads "
            "set_warn_always typename"
        ),
        "extra.compat.storage": "TypedStorage UntypedStorage",
        "extra.complex_numbers.parts": (
            "adjoint angle complex conj conj_physical imag is_conj is_neg isreal polar real resolve_conj resolve_neg "
            "vdot view_as_complex view_as_real"
        ),
        "extra.complex_numbers.short_time": "istft stft",
        "extra.distributions.draws": "binomial poisson",
        "extra.ops.activations": "celu selu",
        "extra.ops.angles": (
            "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cosh hypot "
            "sinh tan"
        ),
        "extra.ops.arrangement": (
            "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
            "column_stack dstack fliplr flipud logspace meshgrid moveaxis movedim ravel repeat_interleave roll rot90 "
            "swapaxes tile tril_indices triu_indices unflatten"
        ),
        "extra.ops.bags": "bilinear",
        "extra.ops.bits": (
            "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor logical_and logical_or "
            "logical_xor signbit"
        ),
        "extra.ops.convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "extra.ops.diagonal": "diagonal tril triu",
        "extra.ops.distance": "cdist cosine_similarity dist pairwise_distance triplet_margin_loss",
        "extra.ops.distinct": "bincount mode msort unique",
        "extra.ops.dropout": "alpha_dropout feature_alpha_dropout rrelu",
        "extra.ops.einsum": "einsum inner kron tensordot",
        "extra.ops.elementwise": (
            "copysign fmax fmin frexp gcd heaviside isclose isneginf isposinf lcm ldexp logaddexp2 nan_to_num nextafter"
        ),
        "extra.ops.error_function": "erf erfc",
        "extra.ops.fillings": "randint_like",
        "extra.ops.group_norms": "rms_norm",
        "extra.ops.integrals": "cumulative_trapezoid gradient histogram renorm trapezoid trapz",
        "extra.ops.linalg.decomposition": "cholesky det inverse matrix_power slogdet",
        "extra.ops.linalg.factors": (
            "chain_matmul cholesky_inverse cholesky_solve frobenius_norm lstsq matrix_exp nuclear_norm pca_lowrank "
            "pinverse qr svd svd_lowrank"
        ),
        "extra.ops.linalg.lu": "lu lu_solve lu_unpack",
        "extra.ops.logarithms": "exp2 expm1 log10 log2 logaddexp logit xlogy",
        "extra.ops.losses": (
            "cosine_embedding_loss ctc_loss hinge_embedding_loss margin_ranking_loss poisson_nll_loss"
        ),
        "extra.ops.masks": "masked_fill masked_select nonzero",
        "extra.ops.medians": "kthvalue median nanmedian",
        "extra.ops.order": "argwhere bucketize isin searchsorted",
        "extra.ops.outer_products": "addbmm addr combinations pdist vander",
        "extra.ops.parts": (
            "diag diag_embed diagflat diagonal_scatter dsplit hsplit hstack narrow_copy nonzero_static put row_stack "
            "select_scatter slice_scatter tensor_split trace unique_consecutive unravel_index unsafe_chunk "
            "unsafe_split unsafe_split_with_sizes vsplit vstack"
        ),
        "extra.ops.pooling": "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool2d max_pool3d",
        "extra.ops.products": "addmv baddbmm cross deg2rad float_power logdet positive rad2deg",
        "extra.ops.rectifiers": "prelu",
        "extra.ops.remainders": "floor_divide fmod frac remainder",
        "extra.ops.resampling": "channel_shuffle pixel_shuffle pixel_unshuffle",
        "extra.ops.running": "cummax cummin cumprod cumsum logcumsumexp",
        "extra.ops.scatter": (
            "index_add index_copy index_fill index_select masked_scatter scatter scatter_add take take_along_dim"
        ),
        "extra.ops.scatter_reduce": "index_reduce scatter_reduce",
        "extra.ops.sorting": "argsort sort topk",
        "extra.ops.special": "digamma erfinv i0 lgamma mvlgamma polygamma sinc",
        "extra.ops.statistics": (
            "corrcoef count_nonzero cov diff histc nanmean nanquantile nansum quantile std std_mean var var_mean"
        ),
        "extra.ops.weighted_sums": "addcdiv addcmul lerp",
        "extra.ops.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "extra.serialization": "load save",
        "extra.sparse": "sparse_coo sparse_coo_tensor",
        "ops.network.cross_entropy": "binary_cross_entropy_with_logits nll_loss",
        "ops.network.normalization": "dropout layer_norm",
        "ops.network.rectifier": "relu threshold",
        "ops.network.softmax": "log_softmax logsumexp softmax",
    },
    "Tensor": {
        "extra.compat.legacy": (
            "apply_ hardshrink histogram is_distributed is_ipu is_maia is_mkldnn is_mps is_mtia is_nested "
            "is_sparse_csr is_vulkan is_xla is_xpu new polygamma to_dense to_sparse unsafe_chunk unsafe_split "
            "unsafe_split_with_sizes"
        ),
        "extra.compat.storage": (
            "is_pinned is_set_to resize_ resize_as_ set_ share_memory_ storage storage_type untyped_storage"
        ),
        "extra.compat.subclasses": "as_subclass",
        "extra.complex_numbers.parts": (
            "H _as_parts _from_parts adjoint angle conj conj_physical conj_physical_ imag is_conj is_neg isreal mH "
            "real resolve_conj resolve_neg vdot"
        ),
        "extra.complex_numbers.short_time": "istft stft",
        "extra.ops.angles": (
            "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 "
            "arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ cosh "
            "cosh_ hypot hypot_ sinh sinh_ tan tan_"
        ),
        "extra.ops.arrangement": (
            "fliplr flipud moveaxis movedim ravel repeat_interleave reshape_as roll rot90 swapaxes tile unflatten"
        ),
        "extra.ops.bits": (
            "__and__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rand__ "
            "__rlshift__ __ror__ __rrshift__ __rshift__ __rxor__ __xor__ bitwise_and bitwise_and_ bitwise_left_shift "
            "bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift "
            "bitwise_right_shift_ bitwise_xor bitwise_xor_ logical_and logical_and_ logical_or logical_or_ logical_xor "
            "logical_xor_ signbit"
        ),
        "extra.ops.diagonal": "diagonal tril tril_ triu triu_",
        "extra.ops.distance": "dist",
        "extra.ops.distinct": "bincount mode msort unique",
        "extra.ops.einsum": "inner kron",
        "extra.ops.elementwise": (
            "copysign copysign_ fmax fmin frexp gcd gcd_ heaviside isclose isneginf isposinf lcm lcm_ ldexp ldexp_ logaddexp2 "
            "nan_to_num nan_to_num_ nextafter nextafter_"
        ),
        "extra.ops.error_function": "erf erf_ erfc erfc_",
        "extra.ops.fillings": "cauchy_ exponential_ geometric_ log_normal_ random_",
        "extra.ops.integrals": "renorm renorm_",
        "extra.ops.linalg.decomposition": "cholesky det inv inverse matrix_power slogdet",
        "extra.ops.linalg.factors": "cholesky_inverse cholesky_solve lstsq matrix_exp pinverse qr svd",
        "extra.ops.linalg.lu": "lu lu_solve",
        "extra.ops.logarithms": "exp2 exp2_ expm1 expm1_ log10 log10_ log2 log2_ logaddexp logit logit_ xlogy xlogy_",
        "extra.ops.masks": "masked_fill masked_fill_ masked_select nonzero",
        "extra.ops.medians": "kthvalue median nanmedian",
        "extra.ops.order": "argwhere",
        "extra.ops.outer_products": "addbmm addbmm_ addr addr_",
        "extra.ops.parts": (
            "diag diag_embed diagflat diagonal_scatter dsplit hsplit narrow_copy nonzero_static put put_ "
            "select_scatter slice_scatter tensor_split trace unique_consecutive vsplit"
        ),
        "extra.ops.products": (
            "addmv addmv_ baddbmm baddbmm_ cross deg2rad deg2rad_ float_power logdet positive rad2deg rad2deg_"
        ),
        "extra.ops.rectifiers": "prelu",
        "extra.ops.remainders": (
            "__floordiv__ __ifloordiv__ __imod__ __mod__ __rfloordiv__ __rmod__ floor_divide floor_divide_ fmod fmod_ "
            "frac frac_ remainder remainder_"
        ),
        "extra.ops.repetition": "repeat",
        "extra.ops.running": "cummax cummin cumprod cumprod_ cumsum cumsum_ logcumsumexp",
        "extra.ops.scatter": (
            "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_select masked_scatter "
            "masked_scatter_ scatter scatter_ scatter_add scatter_add_ take take_along_dim"
        ),
        "extra.ops.scatter_reduce": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
        "extra.ops.sorting": "argsort sort topk",
        "extra.ops.special": "digamma digamma_ erfinv erfinv_ i0 i0_ lgamma lgamma_ mvlgamma sinc sinc_",
        "extra.ops.statistics": "corrcoef count_nonzero cov diff histc nanmean nanquantile nansum quantile std var",
        "extra.ops.strides": "unfold",
        "extra.ops.weighted_sums": "addcdiv addcdiv_ addcmul addcmul_ lerp lerp_",
        "ops.network.rectifier": "relu relu_",
        "ops.network.softmax": "log_softmax logsumexp softmax",
    },
    "array.tensor": {
        "extra.compat.subclasses": "follow",
    },
    "autograd.functional": {
        "extra.autograd.functional": "hvp jvp vhp vjp",
    },
    "autograd.graph": {
        "extra.autograd.graph": (
            "allow_mutation_on_saved_tensors disable_saved_tensors_hooks increment_version register_multi_grad_hook "
            "save_on_cpu"
        ),
    },
    "fft": {
        "extra.complex_numbers.fourier": (
            "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft "
            "irfft2 irfftn rfft rfft2 rfftfreq rfftn"
        ),
    },
    "func": {
        "extra.func.batch": "vmap",
        "extra.func.derivatives": "debug_unwrap functionalize hessian jacfwd jacrev linearize",
        "extra.func.modules": "functional_call replace_all_batch_norm_modules_ stack_module_state",
    },
    "linalg": {
        "extra.ops.linalg.decomposition": (
            "LinAlgError cholesky det inv inverse matrix_norm matrix_power norm slogdet solve vector_norm"
        ),
        "extra.ops.linalg.factors": (
            "cholesky_ex cond diagonal eigh eigvalsh inv_ex lstsq matrix_exp matrix_rank pinv qr solve_ex "
            "solve_triangular svd svdvals tensorinv tensorsolve vander"
        ),
        "extra.ops.linalg.lu": "lu lu_factor lu_factor_ex lu_solve",
        "extra.ops.products": "cross multi_dot vecdot",
    },
    "nn": {
        "extra.compat.parallel": "DataParallel",
        "extra.nn.activations": (
            "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Mish PReLU ReLU6 SELU SiLU Softplus Softshrink "
            "Softsign Tanhshrink"
        ),
        "extra.nn.adaptive": "AdaptiveLogSoftmaxWithLoss",
        "extra.nn.attention": "MultiheadAttention NonDynamicallyQuantizableLinear",
        "extra.nn.cells": "GRUCell LSTMCell RNNCell RNNCellBase",
        "extra.nn.containers": "ModuleDict ParameterDict ParameterList",
        "extra.nn.convolution": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvNd _ConvTransposeNd",
        "extra.nn.embedding": "Embedding EmbeddingBag",
        "extra.nn.layers": (
            "AlphaDropout Bilinear CTCLoss CosineEmbeddingLoss CosineSimilarity Dropout1d Dropout2d Dropout3d "
            "FeatureAlphaDropout GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss LocalResponseNorm "
            "MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d "
            "PairwiseDistance PoissonNLLLoss RReLU SmoothL1Loss SoftMarginLoss Softmax2d SyncBatchNorm "
            "TripletMarginLoss TripletMarginWithDistanceLoss Unflatten"
        ),
        "extra.nn.lazy": (
            "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
            "LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
            "LazyLinear UninitializedParameter"
        ),
        "extra.nn.norms": "BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d RMSNorm _InstanceNorm",
        "extra.nn.padding": (
            "ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Fold "
            "PixelShuffle PixelUnshuffle ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d "
            "ReplicationPad2d ReplicationPad3d Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d "
            "ZeroPad2d ZeroPad3d"
        ),
        "extra.nn.pooling": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
            "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d "
            "LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d _AdaptiveAvgPoolNd "
            "_AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd"
        ),
        "extra.nn.recurrent": "GRU LSTM RNN RNNBase",
        "extra.nn.transformer": (
            "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
        ),
    },
    "nn.functional": {
        "extra.ops.activations": "celu celu_ elu elu_ gelu glu mish selu selu_ silu softplus softsign tanhshrink",
        "extra.ops.attention": "scaled_dot_product_attention",
        "extra.ops.bags": "bilinear embedding embedding_bag gumbel_softmax one_hot",
        "extra.ops.convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "extra.ops.distance": "cosine_similarity pairwise_distance triplet_margin_loss",
        "extra.ops.dropout": "alpha_dropout dropout3d feature_alpha_dropout rrelu rrelu_ rrelu_",
        "extra.ops.grids": "affine_grid grid_sample",
        "extra.ops.group_norms": "dropout1d dropout2d group_norm instance_norm local_response_norm normalize rms_norm",
        "extra.ops.losses": (
            "cosine_embedding_loss ctc_loss gaussian_nll_loss hinge_embedding_loss huber_loss kl_div "
            "margin_ranking_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
            "poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_with_distance_loss"
        ),
        "extra.ops.outer_products": "pdist",
        "extra.ops.padding": "pad",
        "extra.ops.pooling": (
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
            "adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d fractional_max_pool2d fractional_max_pool3d "
            "lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool2d max_pool3d max_pool3d_with_indices max_unpool1d "
            "max_unpool2d max_unpool3d"
        ),
        "extra.ops.rectifiers": "hardshrink hardsigmoid hardswish hardtanh hardtanh_ prelu relu6 softshrink",
        "extra.ops.resampling": (
            "channel_shuffle fold interpolate pixel_shuffle pixel_unshuffle unfold upsample upsample_bilinear "
            "upsample_nearest"
        ),
    },
    "nn.init": {
        "extra.nn.init": "dirac dirac_ eye eye_ orthogonal orthogonal_ sparse sparse_ trunc_normal_",
    },
    "nn.module": {
        "extra.compat.meta": "to_meta",
    },
    "nn.parameter": {
        "extra.nn.lazy": "UninitializedParameter",
    },
    "nn.utils": {
        "extra.nn.construction": "skip_init",
        "extra.nn.convert_parameters": "parameters_to_vector vector_to_parameters",
        "extra.nn.weights": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
    },
    "optim": {
        "extra.optim.adafactor": "Adafactor",
        "extra.optim.adaptive": "ASGD Adadelta Adagrad Adamax NAdam RAdam RMSprop Rprop",
        "extra.optim.lbfgs": "LBFGS",
        "extra.optim.muon": "Muon",
    },
    "optim.lr_scheduler": {
        "extra.optim.schedulers": (
            "ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LambdaLR "
            "LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR SequentialLR StepLR"
        ),
    },
    "utils.checkpoint": {
        "extra.utils.checkpoint": (
            "CheckpointPolicy checkpoint_sequential create_selective_checkpoint_contexts get_device_states "
            "set_device_states"
        ),
    },
    "utils.data": {
        "extra.utils.data": "DistributedSampler StackDataset SubsetRandomSampler WeightedRandomSampler",
    },
}
