"""`Tensor` with its operators and methods; above it the ops that they apply. The line beside a rule is its formula."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from . import layers
from .engine import Pass
from .graph import PLAIN, TensorBase, gradient_edge, results_are, wrap
from .layers import by_mask, elementwise, elsewhere, linear, thread
from .op import Op

NUMBERS = (float, int)


# fmt: off
class Add(Op):
    promotes, jvp = True, elementwise
    def forward(self, other, *, alpha=1): return self + (other if alpha == 1 else alpha * other)
    def grad_self(grad): return grad
    def grad_other(grad, alpha): return grad if alpha == 1 else grad * alpha

class Sub(Op):
    promotes, jvp = True, elementwise
    def forward(self, other, *, alpha=1): return self - (other if alpha == 1 else alpha * other)
    def grad_self(grad): return grad
    def grad_other(grad, alpha): return -grad if alpha == 1 else grad * -alpha

class Rsub(Op, name="RsubBackward1"):  # other - self, for a number `other`; an operator has no alpha but 1
    jvp = elementwise
    def forward(self, *, other, alpha=1): return other - self
    def grad_self(grad, alpha): return -grad

class Mul(Op):
    promotes, jvp = True, elementwise
    def forward(self, other): return self * other
    def grad_self(grad, other): return grad * other
    def grad_other(grad, self): return grad * self

class Div(Op):
    promotes, makes_float, lies = True, True, elementwise
    def forward(self, other): return self / other
    def grad_self(grad, other): return grad / other
    def grad_other(grad, self, other): return -grad * ((self / other) / other)  # d(s/o)/do = -s/o²
    def jvp(tangent, other_tangent, other, result):  # where the divisor is 0, adding both rules would compute inf - inf
        moved = None if other_tangent is None else -(other_tangent * result)
        return (tangent if moved is None else moved if tangent is None else tangent + moved) / other

class Neg(Op):
    jvp = linear
    def forward(self): return -self
    def grad_self(grad): return -grad

class Pow(Op):  # self ** exponent, for a number `exponent`; NumPy is quick with the square alone
    jvp, counts = elementwise, "exponent"
    quick = {  # noqa: RUF012
        3: lambda s: s * s * s, 2: lambda s: s * s, 1: lambda s: s.copy(), 0.5: np.sqrt,
        -0.5: lambda s: 1 / np.sqrt(s), -1: np.reciprocal, -2: lambda s: 1 / (s * s),
    }
    def forward(self, *, exponent): return Pow.quick[exponent](self) if exponent in Pow.quick else self**exponent
    def grad_self(grad, self, exponent):  # d sᵉ/ds = e·sᵉ⁻¹, and 0 for e = 0 whatever s is
        return zeros_like(grad) if exponent == 0 else grad * (Pow.apply(self, exponent=exponent - 1) * exponent)

class Mm(Op):  # C = A·B:  dA = dC·Bᵀ,  dB = Aᵀ·dC
    refuses = ("addmm_impl_cpu_", "b")
    def forward(self, mat2): return self @ mat2
    def grad_self(grad, mat2): return grad @ mat2.swapaxes(-2, -1)
    def grad_mat2(grad, self): return self.swapaxes(-2, -1) @ grad
    def jvp(tangent, mat2_tangent, self, mat2): return tangent @ mat2 + self @ mat2_tangent

class Exp(Op):
    makes_float, jvp = True, elementwise
    def forward(self): return np.exp(self)
    def grad_self(grad, result): return grad * result

class Log(Op):
    makes_float, jvp = True, elementwise
    def forward(self): return np.log(self)
    def grad_self(grad, self): return grad / self

class Tanh(Op):
    makes_float, jvp = True, elementwise
    def forward(self): return np.tanh(self)
    def grad_self(grad, result): return grad * (1 - result * result)

class Relu(Op):  # at the kink the gradient is 0, for nan it passes; in this order -0 stays -0, as in PyTorch
    refuses, jvp = ("relu", "b"), by_mask
    def forward(self): return np.maximum(0, self)
    def grad_self(grad, result): return ThresholdBackward.apply(grad, result, threshold=0)

class ThresholdBackward(Op):  # the gradient of relu: all bits of grad_output where it passes, none elsewhere
    jvp = elementwise
    def forward(grad_output, self, *, threshold):
        bits = f"i{grad_output.dtype.itemsize}"
        return (grad_output.view(bits) & np.subtract(self <= threshold, 1, dtype=bits)).view(grad_output.dtype)
    def grad_grad_output(grad, self, threshold): return ThresholdBackward.apply(grad, self, threshold=threshold)
    def grad_self(grad): return zeros_like(grad)

class Sum(Op):
    jvp = linear
    def forward(self, *, dtype=None): return self.sum(dtype=dtype or self.dtype)
    def grad_self(grad, self_sym_sizes): return Expand.apply(grad, size=self_sym_sizes)

class Mean(Op):
    jvp = linear
    def forward(self, *, dtype=None):
        kind = np.dtype(dtype or self.dtype)
        exact = np.dtype(np.float32) if kind == np.float16 else kind
        return (self.sum(dtype=exact) / exact.type(self.size)).astype(kind)
    def grad_self(grad, self_sym_numel, self_sym_sizes):
        return Expand.apply(grad / max(self_sym_numel, 1), size=self_sym_sizes)

class Expand(Op):  # a view in which elements are repeated, as in broadcasting
    on_arrays, view, jvp = True, True, linear
    def forward(self, *, size):
        shown = np.broadcast_to(self, size) if np.ndim(self) else np.ndarray(
            size, self.dtype, np.asarray(self), strides=(0,) * len(size))  # of one number: ten times faster
        shown.flags.writeable = getattr(self.flags, "writeable", True)  # a layer refuses writes to what is repeated
        return shown
    def grad_self(grad, self_sym_sizes): return SumToSize.apply(grad, size=self_sym_sizes)

class SumToSize(Op, name="SumBackward1"):  # the transpose of broadcasting: the sum over what it repeated
    on_arrays, jvp = True, linear
    def forward(self, *, size):
        leading = self.ndim - len(size)
        stretched = [leading + i for i, n in enumerate(size) if n == 1 and self.shape[leading + i] != 1]
        kind = None if self.dtype.kind == "f" else np.int64
        return self.sum(axis=(*range(leading), *stretched), keepdims=True, dtype=kind).reshape(size)
    def grad_self(grad, self_sym_sizes): return Expand.apply(grad, size=self_sym_sizes)

class Alias(Op):  # a view of the whole tensor
    on_arrays, view, jvp = True, True, linear
    def forward(self): return self.view()
    def grad_self(grad): return grad

class Permute(Op):
    on_arrays, view, jvp = True, True, linear
    def forward(self, *, dims): return self.transpose(dims)
    def grad_self(grad, dims):
        return Permute.apply(grad, dims=tuple(int(i) for i in np.argsort([d % len(dims) for d in dims])))

class Transpose(Op):
    on_arrays, view, jvp = True, True, linear
    def forward(self, *, dim0, dim1): return self.swapaxes(dim0, dim1) if self.ndim else self.view()
    def grad_self(grad, dim0, dim1): return Transpose.apply(grad, dim0=dim0, dim1=dim1)

class Select(Op):  # one position along one dimension; with an Ellipsis, NumPy returns a view even for a 0-d result
    on_arrays, view, jvp = True, True, linear
    def forward(self, *, dim, index): return self[(slice(None),) * dim + (index, ...)]
    def grad_self(grad, self_sym_sizes, dim, index):
        return ScatterSlice.apply(grad, size=self_sym_sizes, where=(slice(None),) * dim + (index, ...))

class Slice(Op):  # start, start + step, … along one dimension
    on_arrays, view, jvp = True, True, linear
    def forward(self, *, dim, start, end, step): return self[(slice(None),) * dim + (slice(start, end, step),)]
    def grad_self(grad, self_sym_sizes, dim, start, end, step):
        return ScatterSlice.apply(grad, size=self_sym_sizes, where=(slice(None),) * dim + (slice(start, end, step),))

# Zeros of shape `size` with `self` at `where`: the transpose of reading.
class ScatterSlice(Op, name="SliceScatterBackward0"):
    jvp = linear
    def forward(self, *, size, where):
        out = np.zeros(size, self.dtype)
        out[where] = self
        return out
    def grad_self(grad, where): return Take.apply(grad, where=where)

class Take(Op, name="IndexBackward1"):  # basic indexing that returns a copy instead of a view
    on_arrays, jvp = True, linear
    def forward(self, *, where): return self[where].copy()
    def grad_self(grad, self_sym_sizes, where): return ScatterSlice.apply(grad, size=self_sym_sizes, where=where)

class Zero(Op):  # the op of `zero_`
    idempotent, jvp = True, elementwise
    def forward(self): return np.zeros_like(self)
    def grad_self(grad): return zeros_like(grad)
# fmt: on


def is_basic(key: Any, n: int) -> bool:
    """Whether `key` is an index into a dimension of size `n`, or a slice that goes forward."""
    if type(key) is int:
        return -n <= key < n
    return type(key) is slice and (key.step is None or (type(key.step) is int and key.step > 0))


def zeros_like(x: Any) -> Any:
    """Zeros of the shape of a value or a Tensor."""
    return wrap(np.zeros_like(x.value)) if isinstance(x, TensorBase) else np.zeros_like(x)


class Tensor(TensorBase):
    """A value with operators. What the core's form does not take, and what a layer's mode must see, is `elsewhere`."""

    def __init__(self, data: Any = (), requires_grad: bool = False) -> None:
        self.value, self._requires_grad = np.asarray(data)[()], requires_grad

    def __add__(self, other: Any) -> Any:
        usual = type(other) in PLAIN and not thread.state.unusual
        return Add.apply(self, other) if usual else elsewhere("__add__", self, other)

    def __sub__(self, other: Any) -> Any:
        usual = type(other) in PLAIN and not thread.state.unusual
        return Sub.apply(self, other) if usual else elsewhere("__sub__", self, other)

    def __mul__(self, other: Any) -> Any:
        usual = type(other) in PLAIN and not thread.state.unusual
        return Mul.apply(self, other) if usual else elsewhere("__mul__", self, other)

    def __truediv__(self, other: Any) -> Any:
        usual = type(other) in PLAIN and not thread.state.unusual
        return Div.apply(self, other) if usual else elsewhere("__truediv__", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __rsub__(self, other: Any) -> Any:
        usual = type(other) in NUMBERS and self.value.dtype.kind == "f" and not thread.state.unusual
        return Rsub.apply(self, other=other) if usual else elsewhere("__rsub__", self, other)

    def __pow__(self, exponent: Any) -> Any:
        usual = type(exponent) in NUMBERS and not thread.state.unusual
        return Pow.apply(self, exponent=exponent) if usual else elsewhere("__pow__", self, exponent)

    def __neg__(self) -> Any:
        return elsewhere("__neg__", self) if thread.state.unusual else Neg.apply(self)

    def __matmul__(self, other: Any) -> Any:
        usual = type(other) in PLAIN and type(other) not in NUMBERS and not thread.state.unusual
        if usual:
            a, b = self.value, other.value
            usual = a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0] and a.dtype is b.dtype
        return Mm.apply(self, other) if usual else elsewhere("__matmul__", self, other)

    def __getitem__(self, key: Any) -> Any:
        out, dim, keys = self, 0, key if type(key) is tuple else (key,)
        usual = 0 < len(keys) <= self.value.ndim and all(map(is_basic, keys, self.value.shape))
        if not usual or thread.state.unusual:
            return elsewhere("__getitem__", self, key)
        for k in keys:
            n = out.value.shape[dim]
            if type(k) is int:
                out = Select.apply(out, dim=dim, index=k % n)
                continue
            start, end, step = k.indices(n)
            if (start, end, step) != (0, n, 1) or key is k:  # a full slice that stands alone is also an op
                out = Slice.apply(out, dim=dim, start=start, end=max(start, end), step=step)
            dim += 1
        return Alias.apply(out) if out is self else out

    def exp(self) -> Any:
        """e to the power of each element."""
        return elsewhere("exp", self) if thread.state.unusual else Exp.apply(self)

    def log(self) -> Any:
        """The natural logarithm of each element."""
        return elsewhere("log", self) if thread.state.unusual else Log.apply(self)

    def tanh(self) -> Any:
        """The hyperbolic tangent of each element."""
        return elsewhere("tanh", self) if thread.state.unusual else Tanh.apply(self)

    def relu(self) -> Any:
        """Each element, or 0 where it is negative."""
        return elsewhere("relu", self) if thread.state.unusual else Relu.apply(self)

    def sum(self, *args: Any, **settings: Any) -> Any:
        """The sum of all elements."""
        usual = self.value.dtype.kind == "f" and not (args or settings or thread.state.unusual)
        return Sum.apply(self) if usual else elsewhere("sum", self, *args, **settings)

    def mean(self, *args: Any, **settings: Any) -> Any:
        """The mean of all elements."""
        usual = self.value.dtype.kind == "f" and not (args or settings or thread.state.unusual)
        return Mean.apply(self) if usual else elsewhere("mean", self, *args, **settings)

    def sum_to_size(self, *size: Any) -> Any:
        """The sum over what broadcasting repeated: it has the shape `size`."""
        usual = len(size) == 1 and type(size[0]) is tuple and size[0] != self.value.shape and not thread.state.unusual
        return SumToSize.apply(self, size=size[0]) if usual else elsewhere("sum_to_size", self, *size)

    def swapaxes(self, dim0: int, dim1: int) -> Any:
        """A view with two dimensions exchanged."""
        n, usual = self.value.ndim, type(dim0) is type(dim1) is int and not thread.state.unusual
        usual = usual and -n <= dim0 < n and -n <= dim1 < n
        return Transpose.apply(self, dim0=dim0, dim1=dim1) if usual else elsewhere("swapaxes", self, dim0, dim1)

    __array_priority__ = 1000  # a number or an array of NumPy's on the left leaves the operator to the tensor
    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    is_leaf = property(lambda self: self.grad_fn is None)
    data = property(lambda self: wrap(self._data))  # the same storage, outside the graph; writes to it are not counted

    def numpy(self) -> np.ndarray:
        """The value as an array on the same storage."""
        return self._data

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self.value.item() if self.value.size == 1 and not thread.state.unusual else elsewhere("item", self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        made_by = f", grad_fn=<{self.grad_fn.name()}>" if self.grad_fn else ", requires_grad=True" * self.requires_grad
        return f"tensor({self.value}{made_by})"

    @property
    def T(self) -> Any:
        """A view of a matrix with its dimensions exchanged."""
        usual = self.value.ndim == 2
        return Permute.apply(self, dims=(1, 0)) if usual else elsewhere("T", self)

    def detach(self) -> Any:
        """The same storage as a tensor outside the graph. Both count a write to either, so that backward notices."""
        if thread.state.unusual or self._view is not None:
            return elsewhere("detach", self)
        self._counter = self._counter or [0]
        return wrap(self._data, None, self._counter)

    def sub_(self, other: Any, *args: Any, **settings: Any) -> Any:
        """Subtract in place."""
        usual = type(other) in PLAIN and self.value.dtype.kind == "f" and not (args or settings or thread.state.unusual)
        return Sub.apply_(self, other) if usual else elsewhere("sub_", self, other, *args, **settings)

    def zero_(self) -> Any:
        """Fill with zeros."""
        return elsewhere("zero_", self) if thread.state.unusual else Zero.apply_(self)

    __isub__ = sub_

    def retain_grad(self) -> None:
        """Keep the gradient of this intermediate result in its `.grad` after backward. Leaves keep theirs anyway."""
        elsewhere("retain_grad", self) if thread.state.unusual else self._retain_grad()

    def _retain_grad(self) -> None:
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False: no gradient will arrive here")
        node = self._grad_fn and self.grad_fn
        if node is not None and not self._retains_grad:
            node._surround().retaining[self.output_nr] = weakref.ref(self)
            self._retains_grad = True

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Compute the gradient of this tensor with respect to the leaves of its graph, and add it to their `.grad`."""
        node, value, state = self._grad_fn, self.value, thread.state
        more = gradient is not None or create_graph or inputs is not None or value.ndim or value.dtype.kind != "f"
        if more or node is None or self._view is not None or state.unusual or state.task is not None:
            layers.around.backward(Pass, gradient_edge, self, gradient, retain_graph, create_graph, inputs)
        else:  # 1 of the loss's own type begins the pass
            (Pass.kind or Pass)((node,), (self.output_nr,), bool(retain_graph)).run((value.dtype.type(1),))


results_are(Tensor)
