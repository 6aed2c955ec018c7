"""What `autocast` does to a call: the precision of its arguments is chosen by PyTorch's lists for the CPU.

A function of `_LOWER` runs in bfloat16 (or float16), one of `_FLOAT32` in float32, one of `_WIDEST` in the widest type among
its arguments. Every other function computes in the types that come in. A cast is an op like any other: the graph shows it.

Nothing looks for this before the first `autocast` is entered: `enter` then sets the flag that public functions read anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...array import dtypes
from ...array.companions import GO_ON, Companion, companions
from ...core.tensor import Tensor
from ...modes import thread

__all__ = ["Region", "applies", "local", "run", "seen", "switch"]

_LOWER = {
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "bmm", "mm", "baddbmm",
    "addmm", "addbmm", "linear", "matmul", "__rmatmul__", "vecdot", "prelu", "scaled_dot_product_attention", "tensordot",
}  # fmt: skip
_FLOAT32 = {
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "max_pool3d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cdist", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "grid_sample",
    "hinge_embedding_loss", "huber_loss", "inverse", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss", "prod", "quantile", "nanquantile",
    "smooth_l1_loss", "soft_margin_loss", "trace", "triplet_margin_loss", "view_as_complex", "polar", "stft",
    "max_unpool2d", "max_unpool3d", "max_unpool1d", "svd", "qr", "cholesky", "cholesky_ex", "cholesky_inverse",
    "cholesky_solve", "inv", "inv_ex", "solve", "lu_solve", "eigh", "eigvalsh", "lstsq", "matrix_rank", "cond", "svdvals",
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
}  # fmt: skip
_WIDEST = {
    "cat", "stack", "index_copy",
}  # fmt: skip
# In PyTorch some step inside of these runs in lower precision.
_REFUSED = {
    "matrix_power", "pinv", "pinverse", "svd_lowrank", "pca_lowrank", "cov", "corrcoef", "multi_dot", "chain_matmul",
    "lstm_layer",
}  # fmt: skip


class _Seen:
    """Whether some thread has entered `autocast`."""

    __slots__ = ("one",)

    def __init__(self) -> None:
        self.one = False


class _Local(threading.local):
    """The state of a thread: whether autocast is on, in which dtype, and the casts of leaves that are kept until it ends."""

    def __init__(self) -> None:
        self.dtype: Any = dtypes.bfloat16
        self.keeps_casts, self.depth = True, 0
        self.casts: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def enabled(self) -> bool:
        return thread.state.autocast  # type: ignore[no-any-return]

    @enabled.setter
    def enabled(self, value: bool) -> None:
        thread.state.autocast = value


seen, local = _Seen(), _Local()


class Region:
    """`with Region(…)`: autocast is on (or off) in this thread. The outermost one forgets the casts that were kept."""

    def __init__(self, enabled: bool, dtype: Any, keeps_casts: bool) -> None:
        self.asked = enabled, dtype, keeps_casts
        self.before: list[tuple[Any, ...]] = []  # one may be entered again inside itself

    def __enter__(self) -> Region:
        self.before.append((local.enabled, local.dtype, local.keeps_casts))
        enabled, local.dtype, local.keeps_casts = self.asked
        switch(enabled)
        local.depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        local.depth -= 1
        if not local.depth:
            local.casts.clear()
        local.enabled, local.dtype, local.keeps_casts = self.before.pop()


def switch(enabled: bool) -> None:
    """Turn autocast on or off in this thread."""
    if enabled and not seen.one:
        seen.one = True
        companions.insert(0, _Autocast())
    local.enabled = enabled


class _Autocast(Companion):
    def call(self, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return run(call, name, args, kwargs) if applies(name, kwargs) else GO_ON

    def as_now(self) -> Region:
        return Region(local.enabled, local.dtype, local.keeps_casts)

    def lowered(self, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """In lower precision if autocast is on."""
        return tuple([_cast(x, local.dtype) for x in reversed(tensors)])[::-1] if local.enabled else tensors


def applies(name: str, kwargs: dict[str, Any]) -> bool:
    """True if a call of the public function `name` has to go through `run`."""
    return (
        seen.one
        and local.enabled
        and (name in _LOWER or name in _FLOAT32 or name in _WIDEST or name in _REFUSED or name == "pad")
        and kwargs.get("out") is None
    )


def run(call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of `call`, with its tensors in the precision that autocast chooses for it, and autocast off inside."""
    if name in _REFUSED:
        raise NotImplementedError(
            f"{name} is not built inside autocast. Compute it under autocast('cpu', enabled=False)."
        )
    if name in _LOWER:
        target: Any = local.dtype
    elif name in _WIDEST:
        target = _widest((args, *kwargs.values()))
    else:
        target = dtypes.float32
    if name != "pad" or {*args[2:3], kwargs.get("mode")} & {"reflect", "replicate"}:
        # The last one first, as PyTorch's compiler does: the order of the nodes shows it.
        kwargs = {key: _cast(x, target) for key, x in reversed(kwargs.items())}
        args = tuple([_cast(x, target) for x in reversed(args)])[::-1]
    local.enabled = False
    try:
        return call(*args, **kwargs)
    finally:
        local.enabled = True


def _is_eligible(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and x.dtype is not dtypes.float64


def _cast(x: Any, target: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(_cast(item, target) for item in x) if any(map(_is_eligible, x)) else x
    if not _is_eligible(x) or x.dtype is target:
        return x
    if not (
        local.keeps_casts
        and x.requires_grad
        and x.is_leaf
        and x._view is None
        and target is local.dtype
        and thread.state.grad_enabled
    ):
        return x.to(target)
    # A weight is cast once for the whole region, and its gradient comes back through one cast.
    if id(x) not in local.casts:
        local.casts[id(x)] = x, x.to(target)
    return local.casts[id(x)][1]


def _widest(values: Any) -> Any:
    """The widest of the types of all tensors among `values`, and in the lists among them."""
    flat = [item for x in values for item in (x if isinstance(x, list | tuple) else (x,))]
    flat = [item for x in flat for item in (x if isinstance(x, list | tuple) else (x,))]
    kinds = {x.dtype for x in flat if _is_eligible(x)}
    return local.dtype if kinds <= {local.dtype} else dtypes.float32
