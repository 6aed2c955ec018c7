"""Error sentences for what PyTorch has and this package does not, with what to use instead.

Most kinds of sparse tensors, quantized tensors, and devices other than the CPU are not part of the story of autograd. Their
names are still known, so a program that uses one gets an explanation.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

__all__ = ["NAMES", "Device", "Switches", "met", "refuse_tensors_of_pytorch", "sentence"]

SPARSE = (
    "only sparse tensors in coordinate format are built, for products with dense matrices. Use sparse_coo_tensor and "
    "sparse.mm, a dense tensor, or gather and scatter_add on the indices"
)
_SUBJECTS = {
    "complex": "the only complex types here are complex64 and complex128. Use complex64",
    "eigen": "it returns complex numbers, and is not built here. Use linalg.eigh for a symmetric matrix",
    "sparse": SPARSE,
    "quantized": "quantized tensors are not built here. Use float16, or round() by hand",
    "dtype": "the only floating-point types here are float64, float32, float16 and bfloat16, and the only unsigned type is uint8. Use one",
    "machinery": "compiling, profiling, exporting and sharing work among processes are not built here. Leave it out",
    "decomposition": "this decomposition is not built. If you need no gradient, use numpy.linalg on t.numpy()",
    "rare": "it is rarely used, and not built here. If you need no gradient, use NumPy on t.numpy()",
    "private": (
        "these are private parts of PyTorch, in C++ for the most part. Use the public name, such as tinygrad_edu.Size or "
        "tinygrad_edu.Generator; put an import for annotations below `if TYPE_CHECKING:`"
    ),
    "device": "tinygrad_edu computes only on the CPU. Leave the device out",
}

_NAMES = {
    "complex": "complex32 chalf",
    "eigen": "eig eigvals",
    "sparse": (
        "sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc sparse_csr_tensor "
        "sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor to_sparse_coo "
        "to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask coalesce is_coalesced smm hspmm "
        "SparseAdam"
    ),
    "quantized": (
        "qint8 quint8 qint32 quint4x2 quint2x4 quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel "
        "fake_quantize_per_tensor_affine fake_quantize_per_channel_affine dequantize int_repr q_scale q_zero_point "
        "qscheme quantized quantizable quantization qat ao per_tensor_affine per_channel_affine"
    ),
    "dtype": "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu uint16 uint32 uint64",
    "machinery": "export fx futures package monitor nested masked _dynamo _inductor cpp_extension",
    "decomposition": "ldl_factor ldl_solve geqrf ormqr orgqr householder_product lobpcg",
    "rare": (
        "as_strided_scatter const_data_ptr dim_order float_power_ hash_tensor heaviside_ igamma igamma_ igammac igammac_ "
        "map2_ map_ module_load mvlgamma_ new_empty_strided polygamma_ record_stream reinforce renorm_ "
        "index resize resize_as resize_as_sparse_ slice_inverse solve symeig sparse_dim dense_dim ccol_indices col_indices crow_indices "
        "row_indices indices values sparse_resize_ sparse_resize_and_clear_ sspaddmm to_mkldnn to_padded_tensor triangular_solve "
        "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points profile_hook_step T_destination"
    ),
    "private": "_C _pytree _VF _jit_internal _tensor _utils _functorch _prims _refs _subclasses",
    "device": "mtia xpu xpu_ hpu ipu pin_memory DistributedDataParallel",
}
_SUBJECT_OF = {name: subject for subject, names in _NAMES.items() for name in names.split()}

NAMES = frozenset(_SUBJECT_OF)


def sentence(name: str) -> str | None:
    """The error sentence for `name`, such as "complex64" or "torch.to_sparse"; None for an unknown name."""
    name = name.rpartition(".")[2]
    subject = _SUBJECT_OF.get(name)
    return None if subject is None else f"{name}: {_SUBJECTS[subject]}, or run the program on PyTorch."


def refuse_tensors_of_pytorch(values: Iterable[Any]) -> None:
    """Raise if one of `values`, or of the lists among them, contains a PyTorch tensor: the engines cannot be mixed."""
    for value in values:
        for item in value if isinstance(value, tuple | list) else (value,):
            if any(kind.__module__ == "torch" and kind.__name__ == "Tensor" for kind in type(item).__mro__):
                raise TypeError(met("torch", "tinygrad_edu")) from None


def met(found: str, expected: str) -> str:
    """The error sentence for a tensor of the engine `found` passed to the engine `expected`."""
    return (
        f"expected a {expected}.Tensor, but got a {found}.Tensor. PyTorch and tinygrad_edu cannot compute with each other's "
        "tensors: make all of them with one of the two, for example T.tensor(…) after `import tinygrad_edu as T`. "
        f"{expected}.from_numpy(t.detach().numpy()) copies the numbers, without their history."
    )


class Switches:
    """A namespace of settings such as `backends.cudnn`. Programs may set them; nothing here depends on them.

    >>> import tinygrad_edu as T
    >>> T.backends.cudnn.is_available()
    False
    """

    # This allows importing names below it.
    __path__: list[str] = []  # noqa: RUF012
    __spec__ = None

    def __init__(self, **known: Any) -> None:
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value: Any = (lambda *args: False) if name.startswith("is_") else Switches()
        setattr(self, name, value)
        return value

    def __bool__(self) -> bool:
        return False

    def __call__(self, *args: object, **kwargs: object) -> Switches:
        """A setting that is a function or a context, such as `cuda.sdp_kernel(…)`: it is off."""
        return self

    def __enter__(self) -> Switches:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to restore."""


class Device:
    """A namespace such as `cuda`, for a device that does not exist here: `T.cuda.is_available()` is False."""

    _initialized = False

    def __init__(self, name: str) -> None:
        self._name = name

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

    reset_peak_memory_stats = reset_max_memory_allocated = ipc_collect = empty_cache

    def memory_allocated(self, device: Any = None) -> int:
        """0, as in PyTorch without the device."""
        return 0

    max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated

    def is_initialized(self) -> bool:
        """False."""
        return False

    is_bf16_supported = is_initialized

    @property
    def random(self) -> Any:
        """PyTorch's `cuda.random`: seeding has no effect."""
        return Switches(manual_seed=self.manual_seed, manual_seed_all=self.manual_seed, initial_seed=lambda: 0)

    @property
    def amp(self) -> Any:
        """PyTorch's `cuda.amp`."""
        return importlib.import_module(f"{__name__.partition('.')[0]}.amp")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{self._name}.{name}: {_SUBJECTS['device']}, or run the program on PyTorch. Here {self._name}.is_available() "
            "is False."
        )
