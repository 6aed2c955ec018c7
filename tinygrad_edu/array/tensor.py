"""A Tensor as an array and as a leaf: its shape and elements, `data`, `grad`, `requires_grad_`, and copies.

The class itself is in `core/tensor.py`; what autograd keeps in it, in `core/graph.py`.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..core import tensor as core
from ..core.graph import Node, TensorBase
from ..modes import NOT_COUNTED, quiet, thread, warn_once
from . import dtypes
from .absent import met, refuse_tensors_of_pytorch
from .dtypes import dtype
from .memory import copy_of_storage

if TYPE_CHECKING:
    from ..tensor import Tensor  # the whole class; a module below it asks at run time for what it is built on

    def wrap(array: Any, node: Node | None = None, counter: list[int] | None = None, output_nr: int = 0) -> Tensor: ...

else:
    from ..core.graph import wrap
    from ..core.tensor import Tensor

__all__ = ["Size", "Tensor", "as_array", "check_device", "device", "own_attributes", "visit_end", "wrap"]


def visit_end(leaf: TensorBase) -> None:
    """Tell the engine to visit the end of each path to `leaf`, also one that exists already."""
    leaf._is_visited = True
    node = leaf._accumulator() if leaf._accumulator is not None else None
    if node is not None:
        node._visited = True


class Size(tuple):
    """The shape of a Tensor: a tuple of ints that knows its number of elements.

    >>> shape = T.zeros(2, 3).shape
    >>> shape, shape.numel()
    (tinygrad_edu.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __repr__(self) -> str:
        return f"tinygrad_edu.Size({list(self)})"


# The types of devices that PyTorch knows.
_KNOWN = """
cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone"""
_DEVICES = tuple(_KNOWN.split())


class device:
    """Where a Tensor lives: always `device("cpu")`. Others can be named and compared, as in PyTorch, but not used.

    >>> T.zeros(1).device, T.zeros(1).device == T.device("cpu")
    (device(type='cpu'), True)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if isinstance(type, int):
            _refuse(type)
        if name not in _DEVICES:
            raise RuntimeError(
                f"Expected one of {', '.join(_DEVICES)} device type at start of device string: {name}. Use 'cpu'."
            )
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")


def _refuse(where: Any) -> NoReturn:
    raise NotImplementedError(
        f"tinygrad_edu computes only on the CPU, so the device {str(where)!r} is not available. Leave the device out, "
        "or run the same program on PyTorch."
    )


def check_device(where: Any) -> None:
    """Raise NotImplementedError for every device but the CPU."""
    if where is not None and (where if isinstance(where, device) else device(where)).type != "cpu":
        _refuse(where)


class ArrayMethods(core.Tensor):
    """The methods of a Tensor as an array and as a leaf of the graph."""

    def __new__(cls, *data: Any, device: Any = None) -> Any:
        # The legacy constructor: Tensor([1., 2.]) copies data, Tensor(2, 3) allocates a shape. It is not in __init__,
        # because a subclass may replace that.
        if len(data) == 1 and isinstance(data[0], Tensor):
            # The new tensor shares that tensor's memory and dtype, and stays in its graph.
            new = data[0][...]
            new.__class__ = cls
            return new
        new = object.__new__(cls)
        kind = dtypes.get_default_dtype()
        if len(data) == 1 and isinstance(data[0], float):
            raise TypeError(
                "new(): data must be a sequence (got float): Tensor([1.5]) holds the number, and so does tensor(1.5)."
            )
        sizes = data[0] if len(data) == 1 and isinstance(data[0], Size) else data
        if all(isinstance(n, int | np.integer) for n in sizes):
            new._data = np.zeros(sizes if data else 0, dtype=kind.numpy)
        elif len(data) == 1:
            new._data = np.array(as_array(data[0]), dtype=kind.numpy)
        else:
            raise TypeError(
                "new() received an invalid combination of arguments - got "
                f"({', '.join(type(x).__name__ for x in data)}): a Tensor is made from data, or from the sizes of its "
                "shape. A subclass with more arguments must define __new__."
            )
        if thread.state.inference:
            new._counter = NOT_COUNTED
        return new

    def __init__(self, *data: Any, device: Any = None) -> None:
        pass

    # --- the array -----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self.value.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return dtypes.from_numpy_dtype(self.value.dtype)

    @property
    def device(self) -> device:
        """Always `device("cpu")`."""
        return CPU

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.value.ndim

    # What differs from these defaults is set when asked for. Hooks here are a leaf's; a result's live on its node.
    _hooks: Any = None
    _post_accumulate_hooks: Any = None
    # The tangent of forward-mode differentiation, and the level it belongs to.
    _tangent: Any = None
    # The historical flag, see autograd/variable.py.
    _volatile = False
    name = None

    is_cpu = True
    is_cuda = False
    is_sparse = False
    is_quantized = False
    is_meta = False

    def dim(self) -> int:
        """The number of dimensions."""
        return self.value.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension.

        >>> T.zeros(2, 3).size(), T.zeros(2, 3).size(1)
        (tinygrad_edu.Size([2, 3]), 3)
        """
        if dim is None:
            return self.shape
        try:
            return self.value.shape[dim]
        except IndexError:
            n = max(self.value.ndim, 1)
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
            ) from None

    def numel(self) -> int:
        """The number of elements."""
        return self.value.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self.value.itemsize

    itemsize = property(element_size)
    nbytes = property(lambda self: self.value.nbytes, doc="Bytes of all elements.")

    def stride(self, dim: int | None = None) -> Any:
        """How many elements to move in memory to reach the next one along each dimension (or along `dim`).

        >>> T.zeros(2, 3).stride(), T.zeros(2, 3).t().stride()
        ((3, 1), (1, 3))
        """
        strides = tuple(s // self.value.itemsize for s in self._data.strides)
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        """The position in the storage, in elements, where this tensor begins."""
        owner = self._view.base._data if self._view is not None else self._data
        return (self._data.ctypes.data - owner.ctypes.data) // self.value.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._data.ctypes.data

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """True if the elements lie in memory in row-major order, or in channels-last order if that format is given.

        >>> T.zeros(2, 3).t().is_contiguous()
        False
        """
        array = self._data
        if memory_format == "channels_last" and array.ndim == 4:
            array = array.transpose(0, 2, 3, 1)
        return array.flags.c_contiguous

    def is_floating_point(self) -> bool:
        """True for float64, float32 and float16."""
        return self.value.dtype.kind == "f"

    def is_complex(self) -> bool:
        """False: no tensor here holds complex numbers."""
        return False

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers (a number for a 0-d tensor).

        >>> T.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._data.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The data as a NumPy array that shares the tensor's memory.

        >>> w = T.ones(2, requires_grad=True)
        >>> w.detach().numpy()
        array([1., 1.], dtype=float32)
        """
        if not force and self.requires_grad and thread.state.grad_enabled:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead: the array is "
                "outside the graph, and detach() says that you mean it."
            )
        data = self._data
        # A 32-bit `l` is not the int32 that a program asks for: see `dtypes.of_outside`.
        return data.view(np.intc) if data.dtype.char == "l" and data.itemsize == 4 else data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
        # A NumPy function on a Tensor returns a Tensor again.
        return wrap(np.asarray(array))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # PyTorch calls this when one of its own functions receives our tensor.
        raise TypeError(met("tinygrad_edu", "torch"))

    # A NumPy array on the left of an operator leaves the work to the Tensor on the right.
    __array_priority__ = 1000

    def __len__(self) -> int:
        if self.value.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.value.shape[0]

    def __bool__(self) -> bool:
        if self.value.size != 1:
            what = "no values" if self.value.size == 0 else "more than one value"
            raise RuntimeError(
                f"Boolean value of Tensor with {what} is ambiguous. Use .any() or .all(), or compare a single element."
            )
        return bool(self.value.item())

    def __float__(self) -> float:
        if self.requires_grad:
            warn_of_number()
        return float(self._only_item())

    def __int__(self) -> int:
        return int(self._only_item())

    def _only_item(self) -> Any:
        if self.value.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars. Reduce it first, as in t.sum()."
            )
        return self.item()

    def __index__(self) -> int:
        if self.value.dtype.kind not in "iub" or self.value.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.value.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.value.ndim == 0 else object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)

    # --- autograd ------------------------------------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """The same storage as a tensor outside the graph, with its own version counter.

        Autograd's checks do not see writes to it. Prefer `detach()`: they do see writes to that.
        """
        out: Tensor = wrap(self._data)
        if self._counter is NOT_COUNTED:
            out._counter = NOT_COUNTED
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        refuse_tensors_of_pytorch((value,))
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value.value.dtype != self.value.dtype:
            if self._requires_grad and value.value.dtype.kind != "f":
                raise RuntimeError(
                    "data set to a tensor that requires gradients must be floating point or complex dtype, not "
                    f"{value.dtype}"
                )
            # From now on this leaf's gradient has another shape or dtype.
            self._accumulator = None
        self._data = value._data

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor; None for a leaf."""
        if self._view is not None:
            self._view.follow(self)
        return self._grad_fn

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to this tensor: a leaf that requires them, or a result computed from one."""
        return self._requires_grad or (self._view is not None and self._view.base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self.requires_grad_(value and self.is_leaf)  # of a non-leaf even True is refused here, unlike there

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Turn on (or off) gradients for this leaf of floating-point numbers, in place. Returns the tensor.

        >>> w = T.zeros(2).requires_grad_()
        >>> w.requires_grad, w.is_leaf
        (True, True)
        """
        if self._grad_fn is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if not isinstance(requires_grad, bool):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if requires_grad and self.value.dtype.kind != "f":
            raise RuntimeError(
                f"only Tensors of floating point dtype can require gradients, and this one holds {self.dtype}. "
                "Gradients need real numbers: make it float, as in tensor([1., 2.]) or t.float()."
            )
        if requires_grad and self.is_inference() and not self._requires_grad and not thread.state.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Clone it first: "
                "the clone is an ordinary tensor."
            )
        self._requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op computed this tensor: it requires no grad, or its gradient accumulates in `.grad`."""
        return self.grad_fn is None

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad()` was called on this intermediate result."""
        return self._retains_grad

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated here, or None before the first one arrives."""
        if self._grad is None and self._grad_fn is not None and not self._retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated for "
                "a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                "mistake, make sure you access the leaf Tensor instead.",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            refuse_tensors_of_pytorch((value,))
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value)}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.value.shape != self.value.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.value.shape)}' to a tensor of size "
                    f"'{list(self.value.shape)}'. A gradient has the shape of its tensor."
                )
            if value.value.dtype != self.value.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype "
                    f"'{self.dtype}'. The gradient must match the tensor's dtype."
                )
            if value._counter is NOT_COUNTED:
                visit_end(self)  # no gradient can be added to it outside inference mode
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of this tensor's gradients: its own. Another one cannot be set here."""
        return self.dtype

    @property
    def _version(self) -> int:
        """The number of in-place writes to this tensor's storage, through any view."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counter[0] if self._counter is not None else 0

    @property
    def _base(self) -> Tensor | None:
        """The tensor whose storage this view shares; None if it is not a view."""
        return self._view.base if self._view is not None else None

    def _is_view(self) -> bool:
        """True if this tensor is a differentiable view of another."""
        return self._view is not None

    def is_inference(self) -> bool:
        """True if the tensor was made in inference mode."""
        return self._counter is NOT_COUNTED

    def cpu(self) -> Any:
        """The tensor itself, which is already on the CPU."""
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: tinygrad_edu computes only on the CPU."""
        _refuse("cuda")
        return self

    # --- copies --------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment. Copy t.detach() instead, or t.clone() to stay in the graph."
            )
        if id(self) in memo:
            return memo[id(self)]
        new = object.__new__(type(self))
        memo[id(self)] = new
        new._data = copy_of_storage(self._data, memo)
        if thread.state.inference:
            new._counter = NOT_COUNTED
        new._requires_grad = self.requires_grad
        if self._grad is not None:
            new._grad = self._grad.__deepcopy__(memo)
        new.__dict__.update(copy.deepcopy(_user_attributes(self), memo))
        return new

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The graph cannot be pickled: a computed tensor comes back as a leaf, as in PyTorch.
        return _rebuild, (type(self), self._data, self.requires_grad, _user_attributes(self))


def item(self: Tensor) -> Any:
    """The tensor's only element, as a Python number.

    >>> T.tensor([2.0, 3.0]).sum().item()
    5.0
    """
    if self.value.size != 1:
        raise RuntimeError(
            f"a Tensor with {self.value.size} elements cannot be converted to Scalar. Reduce it first, for instance "
            "with .sum() or .mean(), or use .tolist()."
        )
    return self.value.item()


def share_storage(out: Tensor, source: Tensor) -> None:
    """Let `out` show the storage of `source`, outside its graph. Both count a write to either: backward notices."""
    out._data = source._data
    if source._counter is None:
        source._counter = [0]
    out._counter = source._counter


def _user_attributes(t: core.Tensor) -> dict[str, Any]:
    return {k: v for k, v in t.__dict__.items() if k not in own_attributes}


def _rebuild(cls: type, data: np.ndarray, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    out: Any = object.__new__(cls)
    out._data = data
    out._requires_grad = requires_grad
    out.__dict__.update(attributes)
    return out


# What is no attribute of the user's.
own_attributes = {"_is_visited", "_hooks", "_post_accumulate_hooks", "_retains_grad", "_tangent", "name"}
own_attributes |= {*TensorBase.__annotations__}


def as_array(data: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """The array for `tensor(data)`, in `dtype` if one is given; otherwise Python floats get the default dtype."""
    if dtype is not None:
        # Convert the numbers directly: going through the default dtype would round them first.
        array = _array_of(data)
        return array if array.dtype == dtype else quiet(array.astype, dtype)
    if isinstance(data, Tensor):
        return data._data
    if isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        dtypes.from_numpy_dtype(array.dtype)
        kind = array.dtype
    else:
        kinds: set[Any] = set()
        array = _array_of(data, kinds)
        kind = dtypes.common([*kinds]) if kinds and array.size else array.dtype
        if not array.size or (kind.kind == "f" and not kinds - {int, float, bool}):
            kind = dtypes.get_default_dtype().numpy
    kind = dtypes.of_outside(kind)
    return array if array.dtype == kind else quiet(array.astype, kind)


def _array_of(data: Any, kinds: set[Any] | None = None) -> np.ndarray:
    """An array of numbers or booleans, in the dtype that NumPy chooses; adds the types of its elements to `kinds`."""
    if isinstance(data, Tensor):
        return data._data
    unwrapped = _unwrapped(data, set() if kinds is None else kinds)
    try:
        array = np.asarray(unwrapped)
    except ValueError as error:
        raise _ragged(data, error) from None
    if array.dtype == np.uint64 or (isinstance(_first(data), int) and array.dtype.kind == "O"):
        raise ValueError("Overflow when unpacking long long: an integer does not fit into int64.")
    if array.dtype.kind not in "fiubc" or array.dtype.names:
        name, hint = type(_first(data)).__name__, "A tensor holds numbers or booleans, in nested lists of equal length."
        if name == "str":
            raise TypeError(f"new(): invalid data type {name!r}. {hint}")
        raise RuntimeError(f"Could not infer dtype of {name}. {hint}")
    return array


def _unwrapped(data: Any, kinds: set[Any]) -> Any:
    """Nested lists, with one-element tensors replaced by numbers. The types of the numbers, and the dtypes of tensors
    and arrays, are added to `kinds`. The recursion is as deep as the tensor's rank."""
    if isinstance(data, list | tuple | range):
        if data and isinstance(data[0], np.ndarray):
            warnings.warn(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                "list to a single numpy.ndarray with numpy.array() before converting to a tensor.",
                stacklevel=2,
            )
        return [_unwrapped(item, kinds) for item in data]
    if isinstance(data, Tensor):
        if data.value.size != 1:
            hint = "a list of longer tensors is made a tensor by stack(…)."
            if data.value.dtype.kind == "f":
                raise ValueError(f"only one element tensors can be converted to Python scalars: {hint}")
            raise TypeError(f"only integer tensors of a single element can be converted to an index: {hint}")
        if data.requires_grad:
            warn_of_number()
        kinds.add(data.value.dtype)
        return data.value.item()
    if isinstance(data, np.ndarray | np.generic):
        kinds.add(data.dtype)
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        # Any other sequence, such as a deque.
        return _unwrapped(list(data), kinds)
    else:
        kinds.add(type(data))
    return data


def _ragged(data: Any, error: Exception) -> Exception:
    """The error for rows of different lengths: PyTorch's sentence, with the first row that differs."""
    sizes, first = [], data
    while isinstance(first, list | tuple | range):
        sizes.append(len(first))
        first = first[0] if first else None
    level = [data]
    for dim, size in enumerate(sizes):
        for item in level:
            if not isinstance(item, list | tuple | range):
                return TypeError(
                    f"not a sequence: row {item!r} at dim {dim}. A tensor is rectangular: pad the short rows."
                )
            if len(item) != size:
                return ValueError(
                    f"expected sequence of length {size} at dim {dim} (got {len(item)}). A tensor is rectangular: pad "
                    "the short rows."
                )
        level = [inner for item in level for inner in item]
    for item in level:
        if isinstance(item, list | tuple | range):
            number = "object cannot be interpreted as an integer" if isinstance(first, int) else "is no real number"
            return TypeError(
                f"'{type(item).__name__}' {number}. A tensor is rectangular: either all rows are lists or none is."
            )
    return ValueError(f"expected sequence of equal lengths at every level: {error}.")


def warn_of_number() -> None:
    """Warn that a number made from a tensor is outside the graph."""
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. Consider using "
        "tensor.detach() first.",
        stacklevel=3,
    )


def _first(data: Any) -> Any:
    while isinstance(data, list | tuple | range) and data:
        data = data[0]
    return data
