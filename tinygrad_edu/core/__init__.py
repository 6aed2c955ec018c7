"""The heart of tinygrad_edu, which runs alone, with NumPy as its only import. Read `tensor.py` (an array, and the graph behind
it), `op.py` (a run of an op becomes a node), `engine.py` (it runs backward), `layers.py` (where a layer around it comes in)."""

from .engine import Pass
from .layers import no_grad
from .op import Function, Op
from .tensor import AccumulateGrad, Node, Tensor

__all__ = ["AccumulateGrad", "Function", "Node", "Op", "Pass", "Tensor", "no_grad"]
