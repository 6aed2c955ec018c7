"""The windows of signal processing."""

from __future__ import annotations

import numpy as np

from ...array import dtypes
from ...ops.binding import functions
from ...ops.creation.factories import plain
from ...overrides import overridable


def _window(name, numbers):
    def window(window_length, periodic=True, *args, dtype=None, device=None, requires_grad=False, **settings):
        n = window_length + 1 if periodic and window_length > 1 else window_length
        values = numbers(np.arange(n), max(n - 1, 1), *args, **settings)[:window_length] if window_length > 1 else [1.0]
        out = functions["tensor"](np.asarray(values, np.float64), dtype=dtype or dtypes.get_default_dtype())
        return out.requires_grad_() if requires_grad else out

    window.__name__ = name
    window.__doc__ = f"""The {name.partition("_")[0].title()} window: a periodic one for spectra, or a symmetric one for filters.

    >>> import tinygrad_edu as T
    >>> T.{name}(5, periodic=False).argmax()
    tensor(2)
    """
    functions[name] = overridable(plain(window))


def _hamming(k, n, alpha=0.54, beta=0.46):
    return alpha - beta * np.cos(2 * np.pi * k / n)


def _blackman(k, n):
    return 0.42 - 0.5 * np.cos(2 * np.pi * k / n) + 0.08 * np.cos(4 * np.pi * k / n)


_window("hann_window", lambda k, n: _hamming(k, n, 0.5, 0.5))
_window("hamming_window", _hamming)
_window("blackman_window", _blackman)
_window("bartlett_window", lambda k, n: 1 - np.abs(2 * k / n - 1))
_window("kaiser_window", lambda k, n, beta=12.0: np.i0(beta * np.sqrt(1 - (2 * k / n - 1) ** 2)) / np.i0(beta))
