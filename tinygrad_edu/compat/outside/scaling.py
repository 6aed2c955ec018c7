"""`GradScaler`: a loss times a large number, so that small gradients of float16 do not vanish (PyTorch: `torch.amp`)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...autograd.grad_mode import no_grad
from ...ops import factories
from ...tensor import Tensor

__all__ = ["GradScaler"]

READY, UNSCALED, STEPPED = range(3)


class GradScaler:
    """Scales the loss, divides the gradients by the scale before a step, and leaves a step out that would hold inf or nan.

    On "cpu" it works as in PyTorch; on "cuda" it is disabled, as there is no GPU, and hands everything on.

    Example:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Raises:
        AssertionError: a factor on the wrong side of 1; a step or an update before the first `scale`.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cpu":
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_interval = init_scale, growth_interval
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._scale: Any = None  # made by the first `scale`
        self._steps = 0  # good ones since the scale last changed
        self._states: dict[int, tuple[int, bool]] = {}  # of each optimiser: how far it is, whether it met inf or nan

    def is_enabled(self) -> bool:
        """True if it scales: asked for on the CPU."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of several, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = factories.tensor(float(self._init_scale))
            scaled: Any = outputs
            return scaled * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)([self.scale(x) for x in outputs])
        try:
            return map(self.scale, outputs)
        except TypeError:
            raise ValueError("outputs must be a Tensor or an iterable of Tensors") from None

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimiser's parameters by the scale: before clipping them, say.

        Raises:
            RuntimeError: it was done already, or the step was taken.
            ValueError: a gradient is float16.
        """
        if not self._enabled:
            return
        self._begun("unscale_")
        stage, _ = self._states.get(id(optimizer), (READY, False))
        if stage == UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        assert self._scale is not None
        inverse = np.float32(1 / float(self._scale._data))
        bad = False
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if p.grad._data.dtype == np.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    bad = bad or not np.isfinite(p.grad._data).all()
                    p.grad.mul_(float(inverse))
        self._states[id(optimizer)] = UNSCALED, bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimiser's step, with gradients divided by the scale; none where a gradient is inf or nan.

        Raises:
            RuntimeError: the step was taken since the last update, or a closure is given.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        stage, _ = self._states.get(id(optimizer), (READY, False))
        if stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage == READY:
            self.unscale_(optimizer)
        _, bad = self._states[id(optimizer)]
        result = None if bad else optimizer.step(*args, **kwargs)
        self._states[id(optimizer)] = STEPPED, bad
        return result

    def update(self, new_scale: Tensor | float | None = None) -> None:
        """Halve the scale after a step that was left out; double it after `growth_interval` good ones; or set it."""
        if not self._enabled:
            return
        self._begun("update")
        assert self._scale is not None
        if new_scale is not None:
            self._scale._data[...] = getattr(new_scale, "_data", new_scale)
        elif not self._states:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(bad for _, bad in self._states.values()):
            self._scale._data[...] *= np.float32(self._backoff_factor)
            self._steps = 0
        else:
            self._steps += 1
            if self._steps == self._growth_interval:
                grown = self._scale._data * np.float32(self._growth_factor)
                if np.isfinite(grown):
                    self._scale._data[...] = grown
                self._steps = 0
        self._states = {}

    def _begun(self, what: str) -> None:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def get_scale(self) -> float:
        """The scale; 1 where the scaler is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Let the scale grow by `new_factor` from now on."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step that was left out."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Multiply the scale by `new_factor` after a step that was left out."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Let the scale grow after `new_interval` good steps."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; empty where the scaler is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._steps,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Raises:
            RuntimeError: it is empty, as that of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale._data[...] = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._steps = state_dict["growth_interval"], state_dict["_growth_tracker"]
