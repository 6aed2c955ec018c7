"""Compares a custom Function's backward with numerical derivatives of its forward, on copies of its inputs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinygrad_edu.sandbox.fork import Outside
from viz.diagnosis.observation import FunctionCheck
from viz.diagnosis.places import Places
from viz.diagnosis.trial import beside, possible
from viz.engines import Engine
from viz.recording.printed import Printed

LONGEST = 5.0  # seconds for one check
MOST = 12  # numbers of an input that are moved
MOST_TWICE = 64  # numbers of a call whose second derivatives are measured
LARGEST = 1_000_000  # numbers of a call that is checked, in which at most MOST of each input are moved
STEP = 1e-6
FAR = 1e-2  # of the gradient: a larger difference means that backward disagrees


class _Measured(NamedTuple):
    """Copied inputs of a call, places of those that learn, outputs, gradients; slopes by place, told and measured."""

    given: list[Any]
    learns: list[int]
    outputs: list[Any]
    grads: Any
    slopes: dict[int, np.ndarray]


def check_function(engine: Engine, kind: Any, args: Any, places: Places, call: int | None) -> FunctionCheck | None:
    """Run the Function again in float64 on copies of its inputs, and compare. Returns None if that is impossible.

    It runs in a fork, so its side effects, such as counting its calls, do not happen. Within a
    trial, which is a fork already, and where no fork is possible, only random numbers and output are put back.
    """
    check = functools.partial(_check, engine, kind, args, places, call)
    if not possible(engine):
        with contextlib.suppress(Outside):  # raised in a trial, which may not fork
            try:
                checked: FunctionCheck | None = beside(engine, check, LONGEST)
            except (TimeoutError, EOFError):
                return None
            return checked
    with contextlib.redirect_stdout(Printed()):
        return check()


def _check(engine: Engine, kind: Any, args: Any, places: Places, call: int | None) -> FunctionCheck | None:
    found = _measured(engine, kind.apply, args)
    if found is None:
        return None
    inputs, learns, outputs, grads, slopes = found
    tensors = [inputs[at] for at in learns]
    told, measured, _ = np.concatenate(list(slopes.values()), axis=1)
    if not measured.size or not np.isfinite(measured).all():
        return None
    opposite = bool(((measured != 0) & (abs(measured + told) < 1e-3 * np.maximum(abs(measured), 1e-3))).all())
    argument = max(slopes, key=lambda at: _far(slopes[at]).max(initial=0.0))
    (told, measured, _), far = slopes[argument], _far(slopes[argument])
    worst = far.argmax()
    result = engine.array(outputs[0])
    identity = any(t.shape == outputs[0].shape and bool((engine.array(t) == result).all()) for t in tensors)
    ratios = {round(float(a / b), 3) if b else 0.0 for a, b in zip(told, measured, strict=True)}
    scale = ratios.copy().pop() if identity and len(ratios) == 1 else None
    given_to = [
        at for at, (own, *_) in slopes.items() if own.shape == measured.shape and np.allclose(own, measured, 1e-3, 1e-6)
    ]
    made = places.where_returns(kind.__name__, "backward") if given_to else None
    line = made or places.where_returned(kind.__name__, argument, len(ratios) > 1) or call
    text = _evidence(engine, kind.apply, inputs, argument, slopes[argument][:, worst]) if far[worst] >= FAR else ""
    text += f", which it gives for its {_nth(given_to[0])} input" if given_to else ""
    missing = grads[learns.index(argument)] is None
    # What the forward does not depend on may be handed on alone, as the parameters of an ODE's own function.
    flat = not measured.any()
    second = bool(far[worst] < FAR) and _second_is_wrong(engine, kind.apply, inputs, learns)
    return FunctionCheck(
        kind.__name__, line, call, float(far[worst]), flat, identity, opposite, missing, second, scale, text
    )


def _evidence(engine: Engine, apply: Callable[..., Any], args: Any, argument: int, seen: np.ndarray) -> str:
    """What a reader can check: one number of an input, with a grad_output of ones if backward is wrong there too."""
    number, shape = int(seen[2]), args[argument].shape
    again = _measured(engine, apply, args, (argument, number))
    plain = again is not None and bool((_far(again.slopes[argument]) >= FAR).any())
    told, measured, _ = again.slopes[argument][:, 0] if again is not None and plain else seen
    where = f"element {[int(at) for at in np.unravel_index(number, shape)]} of " if shape else ""
    return (
        f"for {where}its {_nth(argument)} input, which is {float(args[argument].reshape(-1)[number]):.6g}, and a "
        f"grad_output of {'ones' if plain else 'random numbers'}, its backward gives {told:.6g}, and the measured "
        f"slope is {measured:.6g}"
    )


def _nth(argument: int) -> str:
    return ("first", "second", "third")[argument] if argument < 3 else f"{argument + 1}th"


def _measured(engine: Engine, apply: Callable[..., Any], args: Any, only: tuple[int, ...] = ()) -> _Measured | None:
    """Run a function again on copies of its inputs, and measure; None if that is impossible.

    With `only`, an input and one number of it, just that is moved, and the results are not weighted at random.
    """
    T = engine.module
    with T.enable_grad(), engine.same_randomness():
        try:
            copies = [_copy(engine, item) for item in args]
            learns = [at for at, item in enumerate(copies) if engine.is_tensor(item) and item.requires_grad]
            tensors = [copies[at] for at in learns]
            if not tensors or sum(t.numel() for t in tensors) > LARGEST:
                return None
            outputs = [t for t in _run(engine, apply, copies) if t.requires_grad]
            if not outputs or any(not t.dtype.is_floating_point for t in outputs):
                return None
            rng, low = np.random.default_rng(0), 1.0 if only else 0.5
            weights = [T.tensor(rng.uniform(low, 2 - low, tuple(t.shape)), dtype=t.dtype) for t in outputs]
            grads = T.autograd.grad(_weighted(outputs, weights), tensors, allow_unused=True)
            slopes = {}  # by argument: what backward tells, what was measured, and for which number
            for at, gradient in ((at, grads[nth]) for nth, at in enumerate(learns) if at in (only[:1] or learns)):
                told = np.zeros(copies[at].numel()) if gradient is None else engine.array(gradient).reshape(-1)
                order = only[1:] or np.random.default_rng(0).permutation(len(told))
                slopes[at] = _slopes(engine, apply, copies, at, told, order, weights)
        except Exception:
            return None
    return _Measured(copies, learns, outputs, grads, slopes)


def _second_is_wrong(engine: Engine, apply: Callable[..., Any], inputs: list[Any], learns: list[int]) -> bool:
    """Whether a backward cannot be differentiated again, as it uses what forward made and kept; False if unknown."""
    if sum(item.numel() for item in inputs if engine.is_tensor(item)) > MOST_TWICE:
        return False
    T = engine.module

    def gradients(*moved: Any) -> tuple[Any, ...]:
        """The gradients, as a function of the inputs and of what comes to the outputs."""
        with T.enable_grad():
            outputs = [t for t in _run(engine, apply, moved[: len(inputs)]) if t.requires_grad]
            total = _weighted(outputs, moved[len(inputs) :])
            return tuple(T.autograd.grad(total, [moved[at] for at in learns], create_graph=True, allow_unused=True))

    weights = [T.ones_like(t).requires_grad_() for t in _run(engine, apply, inputs) if t.requires_grad]
    measured = _measured(engine, gradients, [*inputs, *weights])
    return measured is not None and any(_far(each).max(initial=0.0) >= FAR for each in measured.slopes.values())


def _weighted(outputs: list[Any], weights: Any) -> Any:
    return sum((t.double() * w).sum() for t, w in zip(outputs, weights, strict=False))


def _far(slopes: np.ndarray) -> np.ndarray:
    """The difference of what backward tells and what was measured, relative to the larger one."""
    told, measured, _ = slopes
    return np.asarray(abs(measured - told) / np.maximum(np.maximum(abs(measured), abs(told)), 1e-3))


def _copy(engine: Engine, item: Any) -> Any:
    if not engine.is_tensor(item):
        return item
    new = item.detach().clone()
    if new.dtype.is_floating_point:
        new = new.to(engine.module.float64)
    return new.requires_grad_() if item.requires_grad else new


def _run(engine: Engine, apply: Callable[..., Any], inputs: Any) -> list[Any]:
    result = apply(*inputs)
    return [t for t in (result if isinstance(result, tuple) else (result,)) if engine.is_tensor(t)]


def _slopes(
    engine: Engine, apply: Callable[..., Any], inputs: list[Any], argument: int, told: Any, order: Any, weights: Any
) -> np.ndarray:
    """Slopes, told and measured, of a few numbers of an input, moved a little; not at a corner, such as relu's at 0."""
    numbers = inputs[argument].detach().reshape(-1)
    slopes: list[tuple[float, float, int]] = []

    def total() -> float:
        """The weighted sum of all results of the forward, as one number."""
        with engine.module.no_grad():
            return float(_weighted([t for t in _run(engine, apply, inputs) if t.dtype.is_floating_point], weights))

    for nth, at in enumerate(order[: 5 * MOST]):
        if nth >= MOST and any(measured for _, measured, _ in slopes):
            break  # what was flat so far is asked in more places: a clamp is flat only outside its bounds
        before = float(engine.array(numbers)[at])
        step = STEP * max(1.0, abs(before))
        sums = []
        for moved in (before + step, before - step, before):
            with engine.module.no_grad():
                numbers[int(at)] = moved
            sums.append(total())
        above, below, base = sums
        slope = (above - below) / (2 * step)
        if abs((above - base) - (base - below)) <= 1e-3 * max(1.0, abs(slope)) * step:
            slopes.append((float(told[at]), slope, at))
    return np.array(slopes).reshape(-1, 3).T
