"""Special functions under their names in `torch.special`."""

from __future__ import annotations

import math
from typing import Any

from ...array.tensor import Tensor
from ...ops import functions
from ...overrides import overridable
from ..ops import special as pointwise

_OTHER_NAMES = {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "multigammaln": "mvlgamma"}
_SAME = frozenset(
    [
        "digamma",
        "erf",
        "erfc",
        "erfinv",
        "exp2",
        "expm1",
        "i0",
        "log1p",
        "log_softmax",
        "logit",
        "logsumexp",
        "round",
        "sinc",
        "softmax",
        "xlogy",
        "polygamma",
        "entr",
        "ndtr",
        "xlog1py",
    ]
)


def entr(input: Any) -> Any:
    """-x·ln x, 0 at 0 and minus infinity below: what a probability adds to the entropy.

    >>> import tinygrad_edu as T
    >>> T.special.entr(T.tensor([0.0, 0.5, 0.9]))
    tensor([0.0000, 0.3466, 0.0948])
    """
    return pointwise.Entr.apply(input)


@overridable
def xlog1py(input: Any, other: Any) -> Any:
    """input·ln(1 + other), 0 where `input` is.

    >>> import tinygrad_edu as T
    >>> T.special.xlog1py(T.tensor([0.0, 2.0]), T.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    where, log1p = functions["where"], functions["log1p"]
    if not isinstance(other, Tensor):
        other = functions["full_like"](input, other)
    nothing = (input == 0) & (other <= -1)
    return where(nothing, 0.0, input * log1p(where(nothing, 0.0, other)))


@overridable
def ndtr(input: Any) -> Any:
    """How likely a standard normal number is below `input`.

    >>> import tinygrad_edu as T
    >>> T.special.ndtr(T.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])
    """
    return functions["erfc"](-input * math.sqrt(0.5)) * 0.5


@overridable
def log_ndtr(input: Any) -> Any:
    """ln `ndtr(input)`, exact also where that is 0 to the last digit.

    >>> import tinygrad_edu as T
    >>> T.special.log_ndtr(T.tensor([-50.0, 0.0]))
    tensor([-1.2548e+03, -6.9315e-01])
    """
    where = functions["where"]
    x = input.double()
    far, high = x < -30, x > 1
    near = where(far | high, 0.0, x)
    middle = (functions["erfc"](-near * math.sqrt(0.5)) * 0.5).log()
    upper = functions["log1p"](functions["erfc"](where(high, x, 1.0) * math.sqrt(0.5)) * -0.5)
    # The first terms of the asymptotic series of the tail.
    tail = where(far, x, -30.0)
    square = 1 / (tail * tail)
    series = 1 - square * (1 - square * (3 - square * (15 - square * 105)))
    lower = -0.5 * tail * tail - (-tail).log() - 0.5 * math.log(2 * math.pi) + series.log()
    return where(far, lower, where(high, upper, middle)).to(input.dtype)


def __getattr__(name: str) -> Any:
    if name in ("i0e", "i1", "i1e"):
        return overridable(getattr(pointwise, name))
    known = _OTHER_NAMES.get(name, name if name in _SAME else "")
    if known in functions:
        return functions[known]
    raise AttributeError(
        f"special.{name} is not built here. If you need no gradient, use SciPy's scipy.special on t.numpy(); otherwise write it "
        "as a Function."
    )
