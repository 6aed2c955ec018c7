"""Special functions under their names in `torch.special`."""

from __future__ import annotations

from typing import Any

from ...ops import functions
from ...ops.pointwise import special as pointwise

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


def __getattr__(name: str) -> Any:
    if name in ("i0e", "i1", "i1e"):
        return getattr(pointwise, name)
    known = _OTHER_NAMES.get(name, name if name in _SAME else "")
    if known in functions:
        return functions[known]
    raise AttributeError(
        f"special.{name} is not built here. Where no gradient is needed, use SciPy's scipy.special on t.numpy(); otherwise write it "
        "as a Function."
    )
