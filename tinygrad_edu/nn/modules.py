"""PyTorch's files of modules by their names, as in `from torch.nn.modules.module import Module`."""

from __future__ import annotations

import sys
from typing import Any

from .. import nn
from . import convolution, module, norms, recurrent

# Files whose names with an underscore programs import, too; the others have nothing that `nn` has not.
_HERE = {"batchnorm": norms, "conv": convolution, "module": module, "rnn": recurrent}
_HERE |= dict.fromkeys(("activation", "container", "dropout", "linear", "loss", "pooling", "sparse", "transformer"), nn)
__path__: list[str] = []  # a package, whose other files are answered as absent names
globals().update(_HERE)
sys.modules.update({f"{__name__}.{name}": file for name, file in _HERE.items()})


def __getattr__(name: str) -> Any:
    return getattr(nn, name)
