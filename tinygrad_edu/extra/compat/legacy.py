"""Older constructors, and settings for hardware and speed: programs use them out of habit, and the settings have no effect."""

from __future__ import annotations

import sys
from typing import Any

from ...array import absent
from ...array.dtypes import LEGACY, bool_, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from ...array.tensor import Size, Tensor, bind
from ...ops import functions, nn_functions
from ...ops.creation.factories import tensor, zeros
from ...overrides import overridable
from . import storage, subclasses

__all__ = [
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "backends", "contiguous_format", "get_num_threads",
    "preserve_format", "set_num_threads", "use_deterministic_algorithms",
]  # fmt: skip

# The initial values of PyTorch's settings, which programs may print.
backends = absent.Switches(
    cudnn=absent.Switches(enabled=True, benchmark=False, deterministic=False, allow_tf32=True, version=lambda: None),
    mkldnn=absent.Switches(enabled=True, is_available=lambda: True),
    cuda=absent.Switches(matmul=absent.Switches(allow_tf32=False)),
    **{name: absent.Switches(is_available=lambda: True) for name in ("mkl", "openmp")},
)
# This allows `import tinygrad_edu.backends.cudnn as cudnn`.
sys.modules["tinygrad_edu.backends"] = backends  # type: ignore[assignment]
sys.modules["tinygrad_edu.backends.cudnn"] = backends.cudnn


class memory_format(str):
    """The order of elements in memory, as in `zeros_like(p, memory_format=T.preserve_format)`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"tinygrad_edu.{self}"


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
legacy_contiguous_format = contiguous_format


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has no effect: everything is already computed in the same order each time.

    >>> import tinygrad_edu as T
    >>> T.use_deterministic_algorithms(True)
    """


def set_num_threads(num: int) -> None:
    """Has no effect: NumPy's matrix products use their own threads (set OMP_NUM_THREADS in the environment).

    >>> import tinygrad_edu as T
    >>> T.set_num_threads(4)
    >>> T.get_num_threads()
    1
    """


def get_num_threads() -> int:
    """1.

    >>> import tinygrad_edu as T
    >>> T.get_num_threads()
    1
    """
    return 1


def _made(data: tuple[Any, ...], kind: dtype) -> Tensor:
    if not data or isinstance(data[0], int | Size):
        return zeros(*(data or (0,)), dtype=kind)
    if isinstance(data[0], Tensor):
        if data[0].dtype is not kind:
            raise TypeError(
                f"expected TensorOptions(dtype={kind.name}) (got TensorOptions(dtype={data[0].dtype.name})): the tensor is not "
                "converted. Write t.to(dtype)."
            )
        return data[0][...]
    return tensor(data[0], dtype=kind)


class _LegacyType(type):
    """The metaclass of `FloatTensor` and others. Calling one makes a tensor; tensors of its dtype are instances."""

    dtype: dtype

    def __call__(cls, *data: Any) -> Tensor:
        return _made(data, cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_DOC = """A tensor of {kind}, made from data, as in `([1, 2])`, or from a shape, as in `(2, 3)`.

>>> import tinygrad_edu as T
>>> T.{name}([1, 0]).dtype, T.{name}(2, 3).shape
(tinygrad_edu.{kind}, tinygrad_edu.Size([2, 3]))
"""


def _legacy(kind: dtype) -> Any:
    doc = _DOC.format(kind=kind.name, name=f"{kind.legacy_name}Tensor")
    return _LegacyType(f"{kind.legacy_name}Tensor", (), {"dtype": kind, "__doc__": doc, "__module__": __name__})


FloatTensor, DoubleTensor, HalfTensor = _legacy(float32), _legacy(float64), _legacy(float16)
LongTensor, IntTensor, ShortTensor = _legacy(int64), _legacy(int32), _legacy(int16)
CharTensor, ByteTensor, BoolTensor = _legacy(int8), _legacy(uint8), _legacy(bool_)
TYPES = (
    FloatTensor, DoubleTensor, HalfTensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor,
)  # fmt: skip
for _kind in TYPES:
    # For `t.type("torch.FloatTensor")` and `t.type(T.FloatTensor)`.
    LEGACY[f"torch.{_kind.__name__}"] = LEGACY[_kind] = _kind.dtype


def new(self: Tensor, *data: Any) -> Tensor:
    """A tensor made from data, or from a shape, in the dtype of this one."""
    return _made(data, self.dtype)


bind("new", new)
# These modules bind further methods: the memory of a tensor, and tensor subclasses.
_ = storage, subclasses

functions["hardshrink"] = nn_functions["hardshrink"]
# The in-place forms as functions: `sin_(x)`.
for _name in [
    "abs",
    "acos",
    "acosh",
    "addmv",
    "alpha_dropout",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "celu",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "detach",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fill",
    "fix",
    "floor",
    "frac",
    "index_put",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "nan_to_num",
    "neg",
    "negative",
    "rad2deg",
    "reciprocal",
    "relu",
    "resize_as",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "xlogy",
    "zero",
]:
    if hasattr(Tensor, f"{_name}_"):
        functions[f"{_name}_"] = getattr(Tensor, f"{_name}_")

# Questions that have only one answer here, and methods that are functions as well.
for _name in ("ipu", "maia", "mkldnn", "mps", "mtia", "nested", "sparse_csr", "vulkan", "xla", "xpu"):
    bind(f"is_{_name}", False)
for _name, _answer in {"is_distributed": False}.items():
    bind(_name, lambda self, _answer=_answer: _answer)
for _name in ("hardshrink", "histogram", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"):
    bind(_name, functions[_name])
bind("polygamma", lambda self, n: functions["polygamma"](n, self))


def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by the result of a Python function. It is slow, and autograd does not record it."""
    flat = [callable(value) for value in self.reshape(-1).tolist()]
    return self.copy_(tensor(flat, dtype=self.dtype).reshape(self.shape))


bind("apply_", apply_)


def to_sparse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The elements that are not 0, as a sparse tensor in coordinate format."""
    from .. import sparse

    if args or kwargs:
        raise NotImplementedError(f"to_sparse with arguments is not built: {absent.SPARSE}.")
    return sparse.of_dense(self)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, or in another dtype: it is dense already."""
    return self if dtype is None else self.to(dtype)


for _function in (to_sparse, to_dense):
    bind(_function.__name__, overridable(_function))
