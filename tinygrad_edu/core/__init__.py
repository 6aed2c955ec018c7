"""The engine of tinygrad_edu.

It runs alone, with NumPy as its only import, and it is what runs in the package: set a breakpoint in one of these
files, and it is hit. Read `graph.py` (a value, and the graph behind it), `op.py` (a run of an op becomes a node),
`engine.py` (the nodes run backward), `tensor.py` (operators, and their ops), `layers.py` (where a layer around it comes
in).
"""

from .engine import Pass
from .graph import AccumulateGrad, Node
from .layers import no_grad
from .op import Function, Op
from .tensor import Tensor

__all__ = ["AccumulateGrad", "Function", "Node", "Op", "Pass", "Tensor", "no_grad"]
