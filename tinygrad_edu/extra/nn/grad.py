"""The gradients of convolutions as separate functions (PyTorch: `torch.nn.grad`)."""

from __future__ import annotations

from typing import Any

from ...autograd.engine import grad as _grad
from ...autograd.grad_mode import enable_grad, is_grad_enabled
from ...nn import functional as F
from ...ops import functions

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(convolve: Any, of: int, given: list[Any], size: Any, grad_output: Any, *settings: Any) -> Any:
    """The gradient of a convolution with respect to its input (0) or its weight (1), which is given only by its size."""
    # A convolution is linear in each of the two, so the gradient does not depend on the value of that one.
    place = functions["zeros"](size, dtype=grad_output.dtype, requires_grad=True)
    given.insert(of, place)
    keep = is_grad_enabled() and any(t.requires_grad for t in (*given[1 - of : 2 - of], grad_output))
    with enable_grad():
        (found,) = _grad(convolve(*given, None, *settings), place, grad_output, create_graph=keep)
    return found


_DOC = """The gradient of `{name}` with respect to its {of}, from the gradient of its output.

>>> import tinygrad_edu as T
>>> from tinygrad_edu.nn.grad import {name}_{of}
>>> size = {size}
>>> three, two = T.full(size, 3.0), T.full(size, 2.0)
>>> {name}_{of}({given}).item()
6.0
"""


def _pair(name: str) -> tuple[Any, Any]:
    convolve = getattr(F, name)

    def input(
        input_size: Any,
        weight: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return _gradient(convolve, 0, [weight], input_size, grad_output, stride, padding, dilation, groups)

    def weight(
        input: Any,
        weight_size: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return _gradient(convolve, 1, [input], weight_size, grad_output, stride, padding, dilation, groups)

    for function, of in ((input, "input"), (weight, "weight")):
        function.__name__ = function.__qualname__ = f"{name}_{of}"
        given = "size, three, two" if of == "input" else "three, size, two"
        function.__doc__ = _DOC.format(name=name, of=of, given=given, size=(1,) * (int(name[4]) + 2))
    return input, weight


conv1d_input, conv1d_weight = _pair("conv1d")
conv2d_input, conv2d_weight = _pair("conv2d")
conv3d_input, conv3d_weight = _pair("conv3d")
