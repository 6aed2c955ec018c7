"""The table of the seam: which module of `extra/` has a name of `tinygrad_edu`, of one of its modules, or of Tensor.

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
        "extra.compat.futures": "Future",
        "extra.compat.kernels": (
            "adjoint batch_norm celu_ constant_pad_nd dropout_ embedding fill group_norm instance_norm selu_ threshold_"
        ),
        "extra.compat.legacy": (
            "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor "
            "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ "
            "backends ceil_ channels_last channels_last_3d clamp_ clamp_max_ clamp_min_ clip_ contiguous_format cos_ "
            "cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ get_num_threads hardshrink index_put_ "
            "legacy_contiguous_format log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ preserve_format "
            "rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ set_num_threads sigmoid_ sin_ sinh_ sqrt_ square_ "
            "tan_ tanh_ trunc_ use_deterministic_algorithms xlogy_ zero_"
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
            "angle complex conj conj_physical imag is_conj is_neg isreal polar real resolve_conj resolve_neg vdot "
            "view_as_complex view_as_real"
        ),
        "extra.complex_numbers.short_time": "istft stft",
        "extra.distributions.draws": "binomial poisson",
        "extra.ops.arrangement": (
            "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod "
            "column_stack dstack logspace ravel rot90 tril_indices triu_indices"
        ),
        "extra.ops.distance": "cdist cosine_similarity dist pairwise_distance triplet_margin_loss",
        "extra.ops.dropout": "alpha_dropout feature_alpha_dropout rrelu",
        "extra.ops.elementwise": (
            "copysign fmax fmin frexp gcd heaviside isneginf isposinf lcm ldexp logaddexp2 nextafter"
        ),
        "extra.ops.integrals": "cumulative_trapezoid gradient histogram renorm trapezoid trapz",
        "extra.ops.linalg.decomposition": "cholesky det inverse matrix_power slogdet",
        "extra.ops.linalg.factors": (
            "chain_matmul cholesky_inverse cholesky_solve frobenius_norm lstsq matrix_exp nuclear_norm pca_lowrank "
            "pinverse qr svd svd_lowrank"
        ),
        "extra.ops.linalg.lu": "lu lu_solve lu_unpack",
        "extra.ops.losses": "ctc_loss",
        "extra.ops.order": "argwhere bucketize isin searchsorted",
        "extra.ops.outer_products": "addbmm addr combinations pdist vander",
        "extra.ops.parts": (
            "diagflat diagonal_scatter dsplit hsplit narrow_copy nonzero_static put select_scatter slice_scatter "
            "tensor_split unique_consecutive unravel_index unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit"
        ),
        "extra.ops.pooling": "conv3d conv_transpose3d",
        "extra.ops.products": "cross deg2rad float_power logdet positive rad2deg",
        "extra.ops.resampling": "channel_shuffle pixel_shuffle pixel_unshuffle",
        "extra.ops.scatter_reduce": "index_reduce scatter_reduce",
        "extra.ops.special": "digamma erfinv i0 lgamma mvlgamma polygamma sinc",
        "extra.ops.statistics": "corrcoef cov diff histc nanmean nanquantile quantile",
        "extra.ops.volumes": "adaptive_max_pool1d max_pool3d",
        "extra.ops.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
        "extra.serialization": "load save",
        "extra.sparse": "sparse_coo sparse_coo_tensor",
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
        "extra.ops.arrangement": "ravel rot90",
        "extra.ops.distance": "dist",
        "extra.ops.elementwise": (
            "copysign copysign_ fmax fmin frexp gcd gcd_ heaviside isneginf isposinf lcm lcm_ ldexp ldexp_ logaddexp2 "
            "nextafter nextafter_"
        ),
        "extra.ops.integrals": "renorm renorm_",
        "extra.ops.linalg.decomposition": "cholesky det inv inverse matrix_power slogdet",
        "extra.ops.linalg.factors": "cholesky_inverse cholesky_solve lstsq matrix_exp pinverse qr svd",
        "extra.ops.linalg.lu": "lu lu_solve",
        "extra.ops.order": "argwhere",
        "extra.ops.outer_products": "addbmm addbmm_ addr addr_",
        "extra.ops.parts": (
            "diagflat diagonal_scatter dsplit hsplit narrow_copy nonzero_static put put_ select_scatter slice_scatter "
            "tensor_split unique_consecutive vsplit"
        ),
        "extra.ops.products": "cross deg2rad deg2rad_ float_power logdet positive rad2deg rad2deg_",
        "extra.ops.scatter_reduce": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
        "extra.ops.special": "digamma digamma_ erfinv erfinv_ i0 i0_ lgamma lgamma_ mvlgamma sinc sinc_",
        "extra.ops.statistics": "corrcoef cov diff histc nanmean nanquantile quantile",
    },
    "array.tensor": {
        "extra.compat.subclasses": "follow",
    },
    "fft": {
        "extra.complex_numbers.fourier": (
            "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft "
            "irfft2 irfftn rfft rfft2 rfftfreq rfftn"
        ),
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
        "extra.nn.adaptive": "AdaptiveLogSoftmaxWithLoss",
        "extra.nn.layers": (
            "AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool3d CTCLoss "
            "Conv3d ConvTranspose3d CosineSimilarity Dropout3d FeatureAlphaDropout FractionalMaxPool2d "
            "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d LocalResponseNorm MaxPool3d MaxUnpool1d MaxUnpool2d "
            "MaxUnpool3d MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d PairwiseDistance "
            "RReLU Softmax2d SyncBatchNorm TripletMarginLoss TripletMarginWithDistanceLoss _AdaptiveMaxPoolNd "
            "_LPPoolNd"
        ),
        "extra.nn.lazy": (
            "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
            "LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
            "LazyLinear UninitializedParameter"
        ),
    },
    "nn.functional": {
        "extra.ops.bags": "embedding_bag gumbel_softmax",
        "extra.ops.distance": "cosine_similarity pairwise_distance triplet_margin_loss",
        "extra.ops.dropout": "alpha_dropout dropout3d feature_alpha_dropout rrelu rrelu_ rrelu_",
        "extra.ops.grids": "affine_grid grid_sample",
        "extra.ops.losses": (
            "ctc_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
            "triplet_margin_with_distance_loss"
        ),
        "extra.ops.outer_products": "pdist",
        "extra.ops.pooling": (
            "conv3d conv_transpose3d local_response_norm lp_pool1d lp_pool2d max_unpool1d max_unpool2d max_unpool3d"
        ),
        "extra.ops.resampling": (
            "channel_shuffle fold interpolate pixel_shuffle pixel_unshuffle unfold upsample upsample_bilinear "
            "upsample_nearest"
        ),
        "extra.ops.volumes": (
            "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool3d "
            "fractional_max_pool2d fractional_max_pool3d lp_pool3d max_pool3d max_pool3d_with_indices"
        ),
    },
    "nn.module": {
        "extra.compat.meta": "to_meta",
    },
    "nn.parameter": {
        "extra.nn.lazy": "UninitializedParameter",
    },
    "nn.utils": {
        "extra.nn.construction": "skip_init",
        "extra.nn.fusion": ("fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"),
        "extra.nn.weights": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
    },
    "optim": {
        "extra.optim.adadelta": "Adadelta",
        "extra.optim.adafactor": "Adafactor",
        "extra.optim.adamax": "Adamax",
        "extra.optim.asgd": "ASGD",
        "extra.optim.lbfgs": "LBFGS",
        "extra.optim.muon": "Muon",
        "extra.optim.nadam": "NAdam",
        "extra.optim.radam": "RAdam",
        "extra.optim.rprop": "Rprop",
    },
}
