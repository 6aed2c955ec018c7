"""Function transforms: gradients, products with Jacobians, Jacobians and Hessians (PyTorch: `torch.func`).

They nest: `grad(grad(f))`. Each level differentiates with respect to its own tensors, and gradients of the caller's
tensors flow through them.
"""

from __future__ import annotations

from ..array.absent import answer
from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from .modules import functional_call

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

__getattr__ = answer(__name__)
