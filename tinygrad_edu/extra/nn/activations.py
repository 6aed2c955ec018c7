"""Smooth and hard activations, as modules."""

from __future__ import annotations

from typing import Any

from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn import functional as F
from ...nn.activations import _activation
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...ops import functions

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Mish", "PReLU", "ReLU6", "SiLU",
    "Softplus", "Softshrink", "Softsign", "Tanhshrink",
]  # fmt: skip


ELU = _activation("ELU", "elu", module=__name__, alpha=1.0, inplace=False)
GELU = _activation("GELU", "gelu", module=__name__, approximate="none")
SiLU = _activation("SiLU", "silu", module=__name__, inplace=False)
Softplus = _activation("Softplus", "softplus", module=__name__, beta=1.0, threshold=20.0)
SELU = _activation("SELU", "selu", module=__name__, inplace=False)
CELU = _activation("CELU", "celu", module=__name__, alpha=1.0, inplace=False)
Mish = _activation("Mish", "mish", module=__name__, inplace=False)
Hardtanh = _activation("Hardtanh", "hardtanh", module=__name__, min_val=-1.0, max_val=1.0, inplace=False)
ReLU6 = _activation("ReLU6", "relu6", module=__name__, inplace=False)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid", module=__name__, inplace=False)
Hardswish = _activation("Hardswish", "hardswish", module=__name__, inplace=False)
Softsign = _activation("Softsign", "softsign", module=__name__)
Tanhshrink = _activation("Tanhshrink", "tanhshrink", module=__name__)
Hardshrink = _activation("Hardshrink", "hardshrink", module=__name__, lambd=0.5)
Softshrink = _activation("Softshrink", "softshrink", module=__name__, lambd=0.5)
GLU = _activation("GLU", "glu", module=__name__, dim=-1)
Hardsigmoid._hides_inplace = Hardswish._hides_inplace = True


class PReLU(Module):
    """A ReLU with a learned slope below 0: one for all channels, or one per channel.

    >>> import tinygrad_edu as T
    >>> T.nn.PReLU()(T.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(functions["full"]((num_parameters,), init, dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Reset the slopes to `init`."""
        with no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
