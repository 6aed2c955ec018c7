"""NaN and infinity flow without a word, as in PyTorch: what ops compute, NumPy computes with its warnings off."""

from __future__ import annotations

import contextvars
import threading

import numpy as np

__all__ = ["quiet"]


class _Quiet(threading.local):
    """`quiet.run(function, *args, **kwargs)` calls a function that is not to meet NumPy's warnings.

    NumPy keeps its error state in a context variable. One context a thread, in which they are off, is entered for a
    fifteenth of what `np.errstate` costs: a scalar op does not notice. It is not entered twice, so a `function` that
    may call back here, or run a user's code, has no place in it.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


quiet = _Quiet()
