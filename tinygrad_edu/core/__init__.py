"""The heart of tinygrad_edu, which runs alone, with NumPy as its only import. Read it in this order:

1. `tensor.py`: an array and what is kept beside it; a node for each op, edges between them; the leaf at the end of a path.
2. `op.py`: an op is a short class: how it computes, and a rule for each input. A run of it becomes a node.
3. `function.py`: an op that a user writes on Tensors, with `ctx`.
4. `engine.py`: a backward pass counts, takes the node that is ready, runs it, delivers what comes out.
5. `layers.py`: `no_grad`, and the places where a layer around the core comes in. Nothing else is known of any layer.
"""

from .engine import Pass
from .function import Function
from .layers import no_grad
from .op import Op
from .tensor import AccumulateGrad, Node, Tensor

__all__ = ["AccumulateGrad", "Function", "Node", "Op", "Pass", "Tensor", "no_grad"]
