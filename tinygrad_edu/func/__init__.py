"""Function transforms: gradients, Jacobians, and batching with `vmap` (PyTorch: `torch.func`).

They nest: `grad(grad(f))`, `vmap(grad(f))`. Each level differentiates with respect to its own tensors, and gradients of
the caller's tensors flow through them. `vmap` is a loop over the batch: its values are PyTorch's, its speed is a loop's.
"""

from __future__ import annotations

from typing import Any

from ..seam.later import later
from .batch import vmap
from .derivatives import debug_unwrap, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def _vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """`vmap` by the name that `torch._vmap_internals` has for it."""
    return vmap(func, in_dims, out_dims)


__getattr__ = later(__name__, "It has grad, vjp, jvp, jacrev, jacfwd, hessian, vmap and functional_call.")
