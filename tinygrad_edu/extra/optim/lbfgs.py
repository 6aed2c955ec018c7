"""`LBFGS`: a quasi-Newton method that estimates curvature from past gradients (Nocedal and Wright, chapters 3 and 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...array.tensor import Tensor, wrap
from ...autograd import grad_mode
from ...modes import bump_version
from ...optim.optimizer import Optimizer, checked

__all__ = ["LBFGS"]

# A point on the search line: the loss, the gradient, and the slope along the line.
Point = tuple[float, np.ndarray, Any]


class LBFGS(Optimizer):
    """Newton's method with the curvature estimated from the last `history_size` steps. `step` needs a closure.

    One step of the optimizer makes up to `max_iter` moves, and calls the closure up to `max_eval` times.

    Example:
        >>> import tinygrad_edu as T
        >>> w = T.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = T.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - T.tensor([1.0, 1.0])) ** 2 * T.tensor([1.0, 10.0])).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> w.round(decimals=4)
        tensor([1., 1.], grad_fn=<RoundBackward1>)
    """

    _accepts_complex = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        settings = checked(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
            line_search_fn=line_search_fn,
        )  # fmt: skip
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # --- all parameters as one vector ----------------------------------------------------------------------------------

    def _gradient(self) -> np.ndarray:
        parts = [p._data * 0 if p._grad is None else p._grad._data for p in self._params]
        return np.concatenate([part.reshape(-1) for part in parts])

    def _move(self, length: float, direction: np.ndarray) -> None:
        start = 0
        for p in self._params:
            p._data += length * direction[start : start + p._data.size].reshape(p._data.shape)
            bump_version(p)
            start += p._data.size

    def _put(self, values: list[np.ndarray]) -> None:
        for p, value in zip(self._params, values, strict=True):
            p._data[...] = value
            bump_version(p)

    # --- a step ----------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Make up to `max_iter` moves. `closure` resets the gradients, computes the loss and calls backward. Returns the first loss.

        Raises:
            RuntimeError: `line_search_fn` is neither None nor "strong_wolfe".
        """
        with grad_mode.no_grad():
            return self._minimise(closure)

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        rate, search = group["lr"], group["line_search_fn"]
        if isinstance(rate, Tensor):
            rate = rate.item()

        def evaluate() -> Any:
            with grad_mode.enable_grad():
                return closure()

        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluate()
        loss, grad, evaluations = _number(first), self._gradient(), 1
        state["func_evals"] += 1
        if np.abs(grad).max() <= group["tolerance_grad"]:
            return first

        memory = _Memory.of(state)
        for moves in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = memory.direction(grad, group["history_size"], state)
            memory.previous_gradient, before = grad.copy(), loss
            length: Any = min(1.0, 1.0 / np.abs(grad).sum()) * rate if state["n_iter"] == 1 else rate
            memory.length, memory.previous_loss = length, before
            slope = grad @ direction
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported: line_search_fn must be that or None")
                at = [p._data.copy() for p in self._params]

                def look(length: float, at: Any = at, direction: Any = direction) -> Point:
                    self._move(length, direction)
                    value, found = _number(evaluate()), self._gradient()
                    self._put(at)
                    return value, found, found @ direction

                left = group["max_eval"] - evaluations
                loss, grad, length, used = _strong_wolfe(look, length, direction, loss, grad, slope, left)
                memory.length = length
                self._move(length, direction)
            else:
                self._move(length, direction)
                if moves != group["max_iter"]:
                    loss, grad, used = _number(evaluate()), self._gradient(), 1
            evaluations += used
            state["func_evals"] += used
            if (
                moves == group["max_iter"]
                or evaluations >= group["max_eval"]
                or np.abs(grad).max() <= group["tolerance_grad"]
                or np.abs(direction * length).max() <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        memory.keep(state)
        return first


# Keys in an optimizer's state, and the attributes that hold their values.
_NAMES = {
    "d": "last", "t": "length", "old_dirs": "gradient_changes", "old_stps": "parameter_changes", "ro": "inverses",
    "H_diag": "scale", "prev_flat_grad": "previous_gradient", "prev_loss": "previous_loss",
}  # fmt: skip


class _Memory:
    """The last changes of the gradients (`old_dirs`) and of the parameters (`old_stps`), which estimate the curvature."""

    def __init__(self) -> None:
        self.last: Any = None
        self.length: Any = None
        self.gradient_changes: Any = None  # lists from the first move on
        self.parameter_changes: Any = None
        self.inverses: Any = None
        self.scale: Any = None
        self.previous_gradient: Any = None
        self.previous_loss: Any = None

    @classmethod
    def of(cls, state: dict[str, Any]) -> _Memory:
        memory = cls()
        for name, own in _NAMES.items():
            if state.get(name) is not None:
                setattr(memory, own, _arrays(state[name]))
        return memory

    def keep(self, state: dict[str, Any]) -> None:
        state.update({name: _tensors(getattr(self, own)) for name, own in _NAMES.items()})

    def direction(self, grad: np.ndarray, most: int, state: dict[str, Any]) -> np.ndarray:
        """The search direction: minus the gradient times the estimated inverse Hessian (the two-loop recursion)."""
        if state["n_iter"] == 1:
            self.gradient_changes, self.parameter_changes, self.inverses, self.scale = [], [], [], 1
            self.last = -grad
            return self.last
        y, s = grad - self.previous_gradient, self.last * self.length
        product = y @ s
        if product > 1e-10:
            for kept in (self.gradient_changes, self.parameter_changes, self.inverses):
                if len(kept) == most:
                    kept.pop(0)
            self.gradient_changes.append(y)
            self.parameter_changes.append(s)
            self.inverses.append(1 / product)
            self.scale = product / (y @ y)
        known = list(zip(self.gradient_changes, self.parameter_changes, self.inverses, strict=True))
        q, factors = -grad, []
        for y, s, inverse in reversed(known):
            factors.append((s @ q) * inverse)
            q = q - factors[-1] * y
        state.setdefault("al", [None] * most)[: len(factors)] = _tensors(factors[::-1])
        r = q * self.scale
        for (y, s, inverse), factor in zip(known, reversed(factors), strict=True):
            r = r + s * (factor - (y @ r) * inverse)
        self.last = r
        return r


def _number(loss: Any) -> float:
    return float(loss.item() if isinstance(loss, Tensor) else loss)


def _tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [_tensors(v) for v in value]
    return wrap(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [_arrays(v) for v in value]
    return getattr(value, "_data", value)


def _strong_wolfe(
    look: Callable[[Any], Point], t: Any, direction: np.ndarray, f: float, grad: np.ndarray, slope: Any, most: int
) -> tuple[float, np.ndarray, Any, int]:
    """Search along `direction` until the loss has decreased enough and the slope has flattened enough.

    Returns:
        The loss and the gradient there, the step length, and the number of evaluations.
    """
    fall, flatten, least = 1e-4, 0.9, 1e-9
    reach = np.abs(direction).max()
    low: tuple[Any, Point] = (0, (f, grad, slope))
    new: tuple[Any, Point] = (t, look(t))
    looks, rounds = 1, 0
    bracket = [low, new]
    done = False

    def too_high(at: Any, value: float) -> bool:
        return bool(value > f + fall * at * slope)

    while rounds < most:
        t, (f_new, _, slope_new) = new
        bracket = [low, new]
        if too_high(t, f_new) or (rounds > 1 and f_new >= low[1][0]):
            break
        if abs(slope_new) <= -flatten * slope:
            bracket, done = [new], True
            break
        if slope_new >= 0:
            break
        ahead = _lowest(low, new, (t + 0.01 * (t - low[0]), t * 10))
        low = new
        new = ahead, look(ahead)
        looks, rounds = looks + 1, rounds + 1
    else:
        bracket = [(0, (f, grad, slope)), new]

    stuck = False
    best, worst = (0, 1) if bracket[0][1][0] <= bracket[-1][1][0] else (1, 0)
    while not done and rounds < most:
        ends = bracket[0][0], bracket[1][0]
        if abs(ends[1] - ends[0]) * reach < least:
            break
        t = _lowest(bracket[0], bracket[1])
        # A point at the edge of the bracket gains little, so the second such point is moved inwards.
        margin = 0.1 * (max(ends) - min(ends))
        near_edge = min(max(ends) - t, t - min(ends)) < margin
        if near_edge and (stuck or t >= max(ends) or t <= min(ends)):
            t = max(ends) - margin if abs(t - max(ends)) < abs(t - min(ends)) else min(ends) + margin
            stuck = False
        else:
            stuck = bool(near_edge)
        new = t, look(t)
        looks, rounds = looks + 1, rounds + 1
        f_new, _, slope_new = new[1]
        if too_high(t, f_new) or f_new >= bracket[best][1][0]:
            bracket[worst] = new
            best, worst = (0, 1) if bracket[0][1][0] <= bracket[1][1][0] else (1, 0)
        else:
            if abs(slope_new) <= -flatten * slope:
                done = True
            elif slope_new * (bracket[worst][0] - bracket[best][0]) >= 0:
                bracket[worst] = bracket[best]
            bracket[best] = new
    t, (f_new, grad_new, _) = bracket[best if len(bracket) > 1 else 0]
    return f_new, grad_new, t, looks


def _lowest(a: tuple[Any, Point], b: tuple[Any, Point], bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic through two points with given slopes, within `bounds` or between the two."""
    (x1, (f1, _, g1)), (x2, (f2, _, g2)) = (a, b) if a[0] <= b[0] else (b, a)
    low, high = bounds or (x1, x2)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    found = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return min(max(found, low), high)
