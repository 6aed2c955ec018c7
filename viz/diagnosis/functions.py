"""Holds a custom Function's backward against what its own forward says by numbers, on copies of its own inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz.diagnosis.observation import FunctionCheck
from viz.diagnosis.places import Places
from viz.engines import Engine

MOST = 12  # numbers of an input that are moved
LARGEST = 1_000_000  # numbers of a call that is checked, in which at most MOST of each input are moved
STEP = 1e-6


def check_function(engine: Engine, kind: Any, args: Any, places: Places, call: int | None) -> FunctionCheck | None:
    """Run the Function again in float64 on copies of its inputs, and compare; None where it cannot be done."""
    T = engine.module
    try:
        given = [_copy(engine, item) for item in args]
    except (RuntimeError, TypeError, NotImplementedError):
        return None
    tensors = [item for item in given if engine.is_tensor(item) and item.requires_grad]
    if not tensors or sum(t.numel() for t in tensors) > LARGEST:
        return None
    with T.enable_grad(), engine.seeded(0):
        try:
            result = kind.apply(*given)
            outputs = [
                t
                for t in (result if isinstance(result, tuple) else (result,))
                if engine.is_tensor(t) and t.requires_grad
            ]
            if not outputs or any(not t.dtype.is_floating_point for t in outputs):
                return None
            rng = np.random.default_rng(0)
            weights = [T.tensor(rng.uniform(0.5, 1.5, tuple(t.shape)), dtype=t.dtype) for t in outputs]
            grads = T.autograd.grad(outputs, tensors, weights, allow_unused=True)
        except Exception:
            return None
        return _compare(engine, kind, given, tensors, grads, outputs, weights, places, call)


def _copy(engine: Engine, item: Any) -> Any:
    if not engine.is_tensor(item):
        return item
    T = engine.module
    new = item.detach().clone()
    if new.dtype.is_floating_point:
        new = new.to(T.float64)
    return new.requires_grad_() if item.requires_grad else new


def _compare(
    engine: Engine,
    kind: Any,
    given: Any,
    tensors: Any,
    grads: Any,
    outputs: Any,
    weights: Any,
    places: Places,
    call: int | None,
) -> FunctionCheck | None:
    T = engine.module

    def total() -> float:
        with T.no_grad():
            result = kind.forward(_Context(), *given) if _one_part(engine, kind) else kind.forward(*given)
        made = [t for t in (result if isinstance(result, tuple) else (result,)) if engine.is_tensor(t)]
        return float(
            sum(
                (t.double() if hasattr(t, "double") else t).mul(w).sum().item()
                for t, w in zip(made, weights, strict=False)
            )
        )

    worst, opposite, missing, flat, asked, text, wrong = 0.0, True, False, True, 0, "", 0
    ratios: list[set[float]] = [set() for _ in tensors]  # of what backward says to the measured slope
    rng = np.random.default_rng(0)
    try:
        base = total()
        for place, (tensor, gradient) in enumerate(zip(tensors, grads, strict=True)):
            numbers = engine.array(tensor).reshape(-1)
            told = np.zeros(numbers.size) if gradient is None else engine.array(gradient).reshape(-1)
            for nth, at in enumerate(rng.permutation(numbers.size)[: 5 * MOST]):
                if nth >= MOST and not flat:
                    break  # what was flat so far is asked in more places: a clamp is flat only outside its bounds
                before = float(numbers[at])
                step = STEP * max(1.0, abs(before))
                both = []
                for shift in (step, -step):
                    _put(engine, tensor, int(at), before + shift)
                    both.append(total())
                _put(engine, tensor, int(at), before)
                slope = (both[0] - both[1]) / (2 * step)
                one_sided = ((both[0] - base) / step, (base - both[1]) / step)
                if abs(one_sided[0] - one_sided[1]) > 1e-3 * max(1.0, abs(slope)):
                    continue  # a corner, such as relu's at 0
                if not math.isfinite(slope):
                    return None
                asked += 1
                ratios[place].add(round(float(told[at]) / slope, 3) if slope else 0.0)
                flat = flat and slope == 0
                far = abs(slope - told[at]) / max(abs(slope), abs(float(told[at])), 1e-3)
                opposite = opposite and abs(slope + told[at]) < 1e-3 * max(abs(slope), 1e-3) and slope != 0
                if far > worst:
                    worst = far
                    missing, wrong = gradient is None, place
                    text = (
                        f"for input {place} its backward gives {float(told[at]):.6g}; the measured slope is {slope:.6g}"
                    )
    except Exception:
        return None
    if not asked:
        return None
    first = outputs[0]
    identity = any(t.shape == first.shape and bool((engine.array(t) == engine.array(first)).all()) for t in tensors)
    arguments = [at for at, item in enumerate(given) if any(item is one for one in tensors)]
    varies = len(ratios[wrong]) > 1
    line = places.where_returned(kind.__name__, "backward", arguments[wrong], varies) or call
    return FunctionCheck(kind.__name__, line, call, worst, flat, identity, opposite, missing, text)


def _one_part(engine: Engine, kind: Any) -> bool:
    """Whether its forward takes ctx: there is no setup_context beside it."""
    return kind.setup_context is engine.function_type.setup_context  # type: ignore[attr-defined]


def _put(engine: Engine, tensor: Any, at: int, number: float) -> None:
    with engine.module.no_grad():
        tensor.detach().reshape(-1)[at] = number


class _Context:
    """Takes what a forward keeps, and keeps nothing."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 32

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None
