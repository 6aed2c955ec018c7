"""`GradScaler`: multiplies the loss, so that small float16 gradients do not underflow (PyTorch: `torch.amp`)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops import factories

__all__ = ["GradScaler"]

READY, UNSCALED, STEPPED = range(3)


class GradScaler:
    """Scales the loss, divides the gradients by the scale before a step, and skips steps with inf or nan gradients.

    On "cpu" it works as in PyTorch. On "cuda" it is disabled, because there is no GPU, and passes everything on unchanged.

    Example:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Raises:
        AssertionError: a factor on the wrong side of 1, or a step or an update before the first `scale`.
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
        self._steps = 0  # successful steps since the scale last changed
        self._states: dict[int, tuple[int, bool]] = {}  # per optimizer: its stage, and whether it found inf or nan

    def is_enabled(self) -> bool:
        """True if it scales: it is enabled, and on the CPU."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or each of several, by the scale."""
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
        """Divide the gradients of the optimizer's parameters by the scale, for example before clipping them.

        Raises:
            RuntimeError: they are already unscaled, or the step was already made.
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
        """Make the optimizer's step with unscaled gradients, or skip it if a gradient is inf or nan.

        Raises:
            RuntimeError: a step was already made since the last update, or a closure is given.
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
        """Update the scale: halve it after a skipped step, double it after `growth_interval` successful ones, or set it."""
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
        """The scale; 1 if the scaler is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor applied to the scale after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor applied to the scale after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many successful steps make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many successful steps make the scale grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The state for `load_state_dict`; empty if the scaler is disabled."""
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
        """Restore a state that `state_dict` returned.

        Raises:
            RuntimeError: the state is empty, because it came from a disabled scaler.
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
