"""What PyTorch has and this package has not: one table by subject, and the sentence for a program that uses a name.

A missing name is answered, not built. The sentence says what it is, and that the line runs on PyTorch, as viz draws it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["NAMES", "SMALL", "Device", "answer", "met", "refuse_tensors_of_pytorch", "sentence"]

_PACKAGE = __name__.partition(".")[0]
# Each sentence has this part, by which the pictures know that a program runs on PyTorch alone.
SMALL = "tinygrad_edu is small on purpose"

# What a subject is, and after the colon its names.
_TABLE = """
complex numbers: complex64 complex128 complex32 chalf cfloat cdouble complex polar real imag conj conj_ conj_physical
    conj_physical_ resolve_conj resolve_neg is_conj is_neg view_as_complex view_as_real adjoint H mH angle vdot eig
    eigvals
Fourier transforms: fft stft istft hann_window hamming_window blackman_window bartlett_window kaiser_window
numbers in half the bits (use float16, or float32): bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz
    float8_e8m0fnu
unsigned integers beyond uint8: uint16 uint32 uint64
casts of mixed precision (leave autocast and GradScaler out): amp autocast GradScaler
sparse tensors (use dense ones, or scatter_add on the indices): sparse sparse_coo sparse_csr sparse_csc sparse_bsr
    sparse_bsc sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
    sparse_compressed_tensor to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask
    coalesce is_coalesced smm hspmm sspaddmm sparse_dim dense_dim ccol_indices col_indices crow_indices row_indices
    indices values sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ is_sparse_csr to_dense SparseAdam
quantized tensors (use float16, or round() by hand): qint8 quint8 qint32 quint4x2 quint2x4 quantize_per_tensor
    quantize_per_tensor_dynamic quantize_per_channel fake_quantize_per_tensor_affine fake_quantize_per_channel_affine
    dequantize int_repr q_scale q_zero_point q_per_channel_axis q_per_channel_scales q_per_channel_zero_points qscheme
    quantized quantizable quantization qat ao per_tensor_affine per_channel_affine
other devices than the CPU (leave the device out): mtia hpu ipu is_distributed is_ipu is_maia is_mkldnn is_mps is_mtia
    is_vulkan is_xla is_xpu xpu pin_memory record_stream to_mkldnn
trainings on several devices or in several processes (leave them out): DataParallel DistributedDataParallel distributed
    multiprocessing parallel
tools around a training (leave them out): tensorboard SummaryWriter profiler benchmark hub model_zoo onnx export fx
    package monitor futures testing
edges of the graph in the place of tensors (give the tensors): GradientEdge get_gradient_edge
compiling and PyTorch's own machinery: compiler _dynamo _inductor cpp_extension _C _pytree _VF _jit_internal _tensor
    _utils _functorch _prims _refs _subclasses
maps over a batch (write the loop, or a leading dimension): vmap
changes of a module's weights from outside: prune parametrize parametrizations weight_norm spectral_norm
    remove_weight_norm remove_spectral_norm
rare optimizers, schedules and averages of weights: LBFGS Muon Adafactor NAdam RAdam Adamax ASGD Rprop ConstantLR
    MultiplicativeLR swa_utils
decompositions (where no gradient is needed, use numpy.linalg on t.numpy()): svd svdvals svd_lowrank pca_lowrank lu
    lu_factor lu_solve lu_unpack lstsq pinv pinverse matrix_exp matrix_power matrix_norm qr eigh eigvalsh slogdet logdet
    ldl_factor ldl_solve geqrf ormqr orgqr householder_product lobpcg cholesky cholesky_ex cholesky_solve
    cholesky_inverse triangular_solve symeig
storages (the memory behind tensors): storage untyped_storage TypedStorage UntypedStorage set_ resize_ resize_as_ resize
    resize_as is_set_to share_memory_ is_pinned const_data_ptr data_ptr_ dim_order storage_type hash_tensor
tensors of tensors, and tensors with a mask: nested masked to_padded_tensor is_nested
rare functions of a number (write them with exp, log, sqrt and where): acosh acosh_ arccosh arccosh_ asinh asinh_
    arcsinh arcsinh_ atanh atanh_ arctanh arctanh_ copysign copysign_ deg2rad deg2rad_ rad2deg rad2deg_ digamma digamma_
    lgamma lgamma_ mvlgamma mvlgamma_ polygamma polygamma_ igamma igamma_ igammac igammac_ i0 i0_ erfc erfc_ erfinv
    erfinv_ exp2 exp2_ float_power float_power_ fix fix_ fmax fmin frexp ldexp ldexp_ gcd gcd_ lcm lcm_ heaviside
    heaviside_ hypot hypot_ nextafter nextafter_ hardshrink sgn sgn_ signbit sinc sinc_ logaddexp2 logcumsumexp isneginf
    isposinf isreal celu celu_ rsub special
shifts of bits (multiply or divide by a power of 2): bitwise_left_shift bitwise_left_shift_ bitwise_right_shift
    bitwise_right_shift_
comparisons in place (write `a = a > b`): eq_ ne_ lt_ le_ gt_ ge_ greater_ greater_equal_ less_ less_equal_ not_equal_
searches in a sorted row (use numpy.searchsorted on t.numpy()): searchsorted bucketize
rare statistics (sort, or mask the nan out, and use mean, sum and median): quantile nanquantile nanmean nanmedian nansum
    kthvalue mode msort cov corrcoef histc histogram histogramdd
reductions by index beyond sums (use scatter_add or index_add): scatter_reduce scatter_reduce_
rare random numbers: cauchy_ geometric_ log_normal_ randint_like LogNormal
layers that few networks have: Bilinear bilinear CELU EmbeddingBag MaxUnpool1d MaxUnpool2d MaxUnpool3d PixelShuffle
    PixelUnshuffle pixel_shuffle pixel_unshuffle Softmax2d Transformer TransformerDecoder TransformerDecoderLayer
rare products (write them with @, einsum and +): addbmm addbmm_ addmv addmv_ addr addr_ ger kron cross
rare ways to split (use split, chunk or slices): tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk
    unsafe_split_with_sizes
views by strides (use slices, view and unfold): as_strided as_strided_ new_empty_strided slice_inverse
copies with a part written over (clone, then write into the part): as_strided_scatter diagonal_scatter select_scatter
    slice_scatter masked_scatter masked_scatter_ put put_ index_reduce index_reduce_
functions of Python on each number: apply_ map_ map2_
"""
SUBJECTS = dict(row.split(": ") for row in re.split(r"\n(?! )", _TABLE.strip()))
_SUBJECT_OF = {name: subject for subject, names in SUBJECTS.items() for name in names.split()}

# Methods of PyTorch's Tensor and Module that are rare, without a subject of their own.
_RARE_METHODS = (
    "as_subclass eye_ diagflat diff dist fliplr flipud get_device index is_nonzero is_same_size is_shared is_signed "
    "module_load narrow_copy nonzero_static positive reinforce renorm renorm_ rot90 solve swapaxes_ swapdims_ t_ take "
    "unique_consecutive unsafe_split call_super_init dump_patches get_extra_state register_load_state_dict_post_hook "
    "register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook set_extra_state "
    "set_submodule share_memory to_empty T_destination compile type"
)

NAMES = frozenset(_SUBJECT_OF) | frozenset(_RARE_METHODS.split())


def sentence(name: str, place: str = _PACKAGE) -> str:
    """What a program is told that uses `name`, such as "complex64" or "torch.to_sparse", which `place` lacks."""
    name = name.rpartition(".")[2]
    subject = _SUBJECT_OF.get(name)
    if subject is None:
        has, where = f"{place} has no {name!r}. {SMALL}.", "If PyTorch has it, this line runs there"
    else:
        has, where = f"{place} has no {name!r}: {subject} are not built. {SMALL}.", "This line runs on PyTorch"
    return f"{has} {where}, and viz draws it there just the same."


def answer(module: str, functions: Iterable[str] = ()) -> Callable[[str], NoReturn]:
    """The `__getattr__` of `module`: an AttributeError that says what the name is, or which name was meant."""

    # As in a package, `from module import name` then asks `_NotFound`; else Python says only that it cannot.
    vars(sys.modules[module]).setdefault("__path__", [])

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise AttributeError(_close(module, name) + sentence(name, module))

    return __getattr__


def _close(module: str, name: str) -> str:
    """A question about a name that is spelt almost like `name`; empty if there is none."""
    from difflib import get_close_matches  # only when a program is about to stop

    if name in _SUBJECT_OF:
        return ""
    here = vars(sys.modules[module])
    known = {
        each.lower(): each
        for each in dir(sys.modules[module])
        if not each.startswith("_") and not isinstance(here.get(each), ModuleType)
    }
    near = get_close_matches(name.lower(), known, 1, 0.8)
    return f"Did you mean {known[near[0]]}? " if near else ""


class _NotFound:
    """Stands behind Python's own finders: an import of a module that is not built raises the sentence."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != _PACKAGE or not name or name.rpartition(".")[2].startswith("__"):
            return None
        above, _, last = fullname.rpartition(".")
        known = next((part for part in reversed(name.split(".")) if part in _SUBJECT_OF), last)
        # No name, so that `from tinygrad_edu import …` does not replace this message by Python's own.
        raise ModuleNotFoundError(f"cannot import {last!r} from {above!r}: {sentence(known, above)}")


def explain_imports() -> None:
    """Answer imports of what this package does not have by a sentence."""
    if not any(isinstance(finder, _NotFound) for finder in sys.meta_path):
        sys.meta_path.append(_NotFound())


def refuse_tensors_of_pytorch(values: Iterable[Any]) -> None:
    """Raise if one of `values`, or of the lists among them, contains a PyTorch tensor: the engines cannot be mixed."""
    for value in values:
        for item in value if isinstance(value, tuple | list) else (value,):
            for kind in type(item).__mro__:
                if kind.__module__ == "torch" and kind.__name__ == "Tensor":
                    raise TypeError(met("torch", "tinygrad_edu")) from None


def met(found: str, expected: str) -> str:
    """The error sentence for a tensor of the engine `found` passed to the engine `expected`."""
    return (
        f"expected a {expected}.Tensor, but got a {found}.Tensor. PyTorch and tinygrad_edu cannot compute with each "
        "other's tensors: make all of them with one of the two, for example T.tensor(…) after `import tinygrad_edu as "
        f"T`. {expected}.from_numpy(t.detach().numpy()) copies the numbers, without their history."
    )


class Device(ModuleType):
    """A namespace such as `cuda`, for a device that does not exist here: `T.cuda.is_available()` is False."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{_PACKAGE}.{name}")
        self._name, self.__path__ = name, []  # as in a package: an import of `cuda.amp` is then told the sentence
        sys.modules[self.__name__] = self

    def is_available(self) -> bool:
        """False."""
        return False

    def device_count(self) -> int:
        """0."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """Has no effect, as in PyTorch without the device."""

    manual_seed_all = manual_seed

    def empty_cache(self) -> None:
        """Has no effect, as in PyTorch without the device."""

    def memory_allocated(self, device: Any = None) -> int:
        """0, as in PyTorch without the device."""
        return 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self._name}.{name}: tinygrad_edu computes only on the CPU, and {self._name}.is_available() is False. "
            "Leave the device out, or run the program on PyTorch."
        )
