"""Function transforms: gradients, Jacobians, and batching with `vmap` (PyTorch: `torch.func`).

They nest: `grad(grad(f))`, `vmap(grad(f))`. Each level differentiates with respect to its own tensors, and gradients of
the caller's tensors flow through them. `vmap` is a loop over the batch: its values are PyTorch's, its speed is a loop's.
"""

from __future__ import annotations

from ..seam.later import later, names_of
from .derivatives import grad, grad_and_value, jvp, vjp

__all__ = ["grad", "grad_and_value", "jvp", "vjp", *names_of("func")]

__getattr__ = later(__name__, "It has grad, vjp, jvp, jacrev, jacfwd, hessian, vmap and functional_call.")
