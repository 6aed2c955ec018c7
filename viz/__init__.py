"""Pictures of autograd, PyTorch's or `tinygrad_edu`'s: the graph behind any tensor, every step of a backward pass.

>>> import viz
>>> viz.draw(loss)                 # the graph behind a tensor of either engine
>>> viz.record(program).play()     # step forward and backward through a program
"""

from viz.draw import Picture, draw
from viz.record import Recording, load, record

__all__ = ["Picture", "Recording", "draw", "load", "record"]
