"""Short-time Fourier transforms: a signal is cut into overlapping frames, and each frame has a spectrum."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array import dtypes
from ...array.tensor import Tensor, wrap
from ...ops.binding import nn_functions, public
from ...ops.creation.copies import clone
from ...ops.indexing.index import Slice
from ...ops.shapes.permute import transpose
from ...ops.shapes.shape import squeeze, unsqueeze
from ...ops.shapes.turning import squeeze_, transpose_
from ...ops.shapes.windows import as_strided
from ..ops.padding import ConstantPadNd
from ..ops.strides import Fold
from .fourier import FftC2C, FftC2R, FftR2C
from .parts import as_complex, is_complex, view_as_real

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied, which is known to cause spectral leakage. Give "
    "window=hann_window(n_fft), or window=ones(n_fft) if you mean the rectangular one."
)


def _checked(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(f"{name}(): expected {what}")


def _window(name: str, window: Tensor | None, n_fft: int, win_length: int, like: np.dtype) -> Tensor:
    """The window, padded with zeros on both sides to `n_fft` numbers."""
    if window is None:
        warnings.warn(_NO_WINDOW, UserWarning, stacklevel=4)
        window = wrap(np.ones(win_length, dtypes.real_of(like)))
    _checked(
        name,
        tuple(window.shape) == (win_length,),
        f"a 1D window tensor of size equal to win_length={win_length}, but got window with size {list(window.shape)}",
    )
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else ConstantPadNd.apply(window, pad=((left, n_fft - win_length - left),))


@public()
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:  # fmt: skip
    """The spectrum of each frame of a signal: (…, frequencies, frames).

    Args:
        input: a signal (L) or a batch of signals (B, L).
        n_fft: the size of a frame. hop_length: the distance from one frame to the next, n_fft // 4 by default.
        win_length: the length of `window`, n_fft by default. A shorter window is padded with zeros on both sides.
        center: pad the signal by `pad_mode`, so that the middle of frame t is at position t·hop_length.
        normalized: divide by √n_fft. onesided: return only the n_fft // 2 + 1 frequencies that determine the others.
        return_complex: required for a real signal. False returns the real and the imaginary part in a last dimension.

    >>> import tinygrad_edu as T
    >>> T.stft(T.ones(16), 8, window=T.hann_window(8), return_complex=True).shape
    tinygrad_edu.Size([5, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    kind = input._data.dtype
    any_complex = is_complex(input) or (window is not None and is_complex(window))
    if return_complex is None:
        if not any_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    _checked("stft", kind.kind in "fc", "a tensor of floating point or complex values")
    _checked("stft", input.ndim in (1, 2), "a 1D or 2D tensor")
    _checked("stft", hop > 0, f"hop_length > 0, but got hop_length={hop}")
    _checked("stft", 0 < win_length <= n_fft, f"0 < win_length <= n_fft, but got win_length={win_length}")
    if center:
        pad = n_fft // 2
        wide = nn_functions["pad"](input.view((1,) * (3 - input.ndim) + tuple(input.shape)), [pad, pad], pad_mode)
        input = wide.view(wide.shape[-input.ndim :])
    length = input.shape[-1]
    _checked("stft", 0 < n_fft <= length, f"0 < n_fft < {length}, but got n_fft={n_fft}")
    weights = _window("stft", window, n_fft, win_length, kind)
    onesided = not any_complex if onesided is None else onesided
    if onesided and any_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    dtypes.complex_of(kind)  # announces the complex result; refuses half precision
    batch = unsqueeze(input, 0) if input.ndim == 1 else input
    batch = batch if batch.is_contiguous() else clone(batch).contiguous()
    frames = 1 + (length - n_fft) // hop
    cut = as_strided(batch, (batch.shape[0], frames, n_fft), (length, hop, 1), batch.storage_offset())
    weighed = cut if window is None and win_length == n_fft else cut * weights
    if is_complex(weighed):
        spectrum = FftC2C.apply(weighed, dim=(2,), normalization=int(normalized), forward=True)
    else:
        spectrum = FftR2C.apply(weighed, dim=(2,), normalization=int(normalized), onesided=onesided)
    transpose_(spectrum, 1, 2)
    if input.ndim == 1:
        squeeze_(spectrum, 0)
    if return_complex:
        return spectrum
    warnings.warn(
        "stft with return_complex=False is deprecated. Note: you can still call view_as_real on the complex output to recover "
        "the old return format.",
        UserWarning,
        stacklevel=3,
    )
    return view_as_real(spectrum)


@public()
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The inverse of `stft`, with the same settings. Overlapping frames are added, then divided by the sum of squared windows.

    Raises:
        RuntimeError: at some position all windows are 0, so nothing is known of the signal there.

    >>> import tinygrad_edu as T
    >>> window = T.hann_window(8)
    >>> signal = T.arange(16.0)
    >>> spectrum = T.stft(signal, 8, window=window, return_complex=True)
    >>> T.allclose(T.istft(spectrum, 8, window=window), signal, atol=1e-4)
    True
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not is_complex(input):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    _checked("istft", input.ndim in (2, 3) and input.numel() > 0, "a tensor with 2 or 3 dimensions and some elements")
    _checked("istft", 0 < hop <= win_length, "0 < hop_length <= win_length")
    _checked("istft", 0 < win_length <= n_fft, "0 < win_length <= n_fft")
    sizes = input.shape[-2]
    onesided = sizes != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    _checked(
        "istft",
        sizes == expected,
        f"the frequency dimension (3rd to the last) of the input tensor to match {'n_fft / 2 + 1' if onesided else 'n_fft'} "
        f"when onesided={onesided}, but got {sizes}",
    )
    weights = _window("istft", window, n_fft, win_length, input._data.dtype)
    if return_complex:
        _checked("istft", not onesided, "onesided=False where return_complex=True")
    elif is_complex(weights):
        raise RuntimeError("istft: a complex window needs return_complex=True")
    parts = view_as_real(input)
    batch = unsqueeze(parts, 0) if input.ndim == 2 else parts
    frames = input.shape[-1]
    spectra = as_complex(transpose(batch, 1, 2))
    if return_complex:
        signals = FftC2C.apply(spectra, dim=(2,), normalization=1 if normalized else 2, forward=False)
    else:
        half = spectra if onesided else spectra[..., : n_fft // 2 + 1]
        signals = FftC2R.apply(half, dim=(2,), normalization=1 if normalized else 2, last_dim_size=n_fft)
    total = n_fft + hop * (frames - 1)
    settings: dict[str, Any] = {"dimension": 1, "window": n_fft, "step": hop}
    added = Fold.apply(signals * weights.view(1, 1, n_fft), size=(batch.shape[0], total), **settings)
    squares = weights.pow(2).expand(1, frames, n_fft)
    envelope = Fold.apply(squares, size=(1, total), **settings)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if length is None and center else total if length is None else start + length
    added, envelope = (Slice.apply(x, dim=1, start=start, end=end, step=1) for x in (added, envelope))
    if np.abs(envelope._data).min(initial=np.inf) < 1e-11:
        raise RuntimeError(
            "istft(): window overlap add min: 1. At some position of the signal all windows are 0: use center=True, another "
            "window, or a smaller hop_length."
        )
    signal = added / envelope
    signal = squeeze(signal, 0) if input.ndim == 2 else signal
    missing = 0 if length is None else length - signal.shape[-1]
    return nn_functions["pad"](signal, (0, missing)) if missing > 0 else signal
