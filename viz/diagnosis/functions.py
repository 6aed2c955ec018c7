"""Compares a custom Function's backward with numerical derivatives of its forward, on copies of its inputs."""

from __future__ import annotations

import contextlib
import inspect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.diagnosis.observation import FunctionCheck
from viz.diagnosis.places import Places
from viz.engines import Engine

MOST = 12  # numbers of an input that are moved
LARGEST = 1_000_000  # numbers of a call that is checked, in which at most MOST of each input are moved
STEP = 1e-6
FAR = 1e-2  # of the gradient: a larger difference means that backward disagrees


def check_function(engine: Engine, kind: Any, args: Any, places: Places, call: int | None) -> FunctionCheck | None:
    """Run the Function again in float64 on copies of its inputs, and compare. Returns None if that is impossible."""
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
        return _Trial(engine, kind, given, tensors, grads, outputs, weights).judged(places, call)


def _copy(engine: Engine, item: Any) -> Any:
    if not engine.is_tensor(item):
        return item
    T = engine.module
    new = item.detach().clone()
    if new.dtype.is_floating_point:
        new = new.to(T.float64)
    return new.requires_grad_() if item.requires_grad else new


@dataclass
class Slope:
    """One number of an input: its gradient from backward, and the measured one."""

    place: int  # of the input among those that need a gradient
    at: int
    told: float
    measured: float

    @property
    def far(self) -> float:
        """The difference of the two, relative to the larger one."""
        return _far(self.told, self.measured)


def _far(told: float, measured: float) -> float:
    return abs(measured - told) / max(abs(measured), abs(told), 1e-3)


class _Trial:
    """A Function, its inputs in float64, and the gradients that its backward returned."""

    def __init__(
        self,
        engine: Engine,
        kind: Any,
        given: list[Any],
        tensors: list[Any],
        grads: Any,
        outputs: list[Any],
        weights: Any,
    ) -> None:
        self.engine, self.kind, self.given, self.tensors = engine, kind, given, tensors
        self.outputs, self.weights = outputs, weights
        self.missing = [gradient is None for gradient in grads]
        self.told = [
            np.zeros(tensor.numel()) if gradient is None else engine.array(gradient).reshape(-1)
            for tensor, gradient in zip(tensors, grads, strict=True)
        ]

    def judged(self, places: Places, call: int | None) -> FunctionCheck | None:
        """The comparison of backward with the measurement; None if nothing could be measured."""
        try:
            slopes = self.slopes()
        except Exception:
            return None
        if not slopes:
            return None
        engine, name = self.engine, self.kind.__name__
        worst = max(slopes, key=lambda one: one.far)
        # What the forward does not depend on may be handed on alone, as the parameters of an ODE's own function.
        flat = all(one.measured == 0 for one in slopes if one.place == worst.place)
        opposite = all(
            one.measured != 0 and abs(one.measured + one.told) < 1e-3 * max(abs(one.measured), 1e-3) for one in slopes
        )
        identity = any(
            t.shape == self.outputs[0].shape and bool((engine.array(t) == engine.array(self.outputs[0])).all())
            for t in self.tensors
        )
        argument = next(at for at, item in enumerate(self.given) if item is self.tensors[worst.place])
        ratios = {
            round(one.told / one.measured, 3) if one.measured else 0.0 for one in slopes if one.place == worst.place
        }
        line = places.where_returned(name, "backward", argument, len(ratios) > 1) or call
        text = (
            f"for its {_ordinal(argument)} input{self._named(argument)}, its backward gives {worst.told:.6g}, and the measured slope is "
            f"{worst.measured:.6g}"
        )
        missing = self.missing[worst.place]
        if worst.far >= FAR and not (flat or identity or missing or opposite):
            with contextlib.suppress(Exception):
                if (kept := self._saved_wrongly(slopes)) is not None:
                    line, text = places.where_saved(name) or line, f"{text}. {kept}"
                else:
                    text += self._why([one for one in slopes if one.place == worst.place], slopes)
        return FunctionCheck(name, line, call, worst.far, flat, identity, opposite, missing, text)

    def slopes(self) -> list[Slope]:
        """A few numbers of each input, moved a little. Skips those at a corner, such as relu's at 0."""
        found: list[Slope] = []
        rng = np.random.default_rng(0)
        base = self._total()
        for place, tensor in enumerate(self.tensors):
            numbers = self.engine.array(tensor).reshape(-1)
            for nth, at in enumerate(rng.permutation(numbers.size)[: 5 * MOST]):
                if nth >= MOST and any(one.measured for one in found):
                    break  # what was flat so far is asked in more places: a clamp is flat only outside its bounds
                before = float(numbers[at])
                step = STEP * max(1.0, abs(before))
                both = []
                for shift in (step, -step):
                    _put(self.engine, tensor, int(at), before + shift)
                    both.append(self._total())
                _put(self.engine, tensor, int(at), before)
                slope = (both[0] - both[1]) / (2 * step)
                one_sided = ((both[0] - base) / step, (base - both[1]) / step)
                if abs(one_sided[0] - one_sided[1]) > 1e-3 * max(1.0, abs(slope)):
                    continue
                if not math.isfinite(slope):
                    return []
                found.append(Slope(place, int(at), float(self.told[place][at]), slope))
        return found

    def _total(self) -> float:
        """The weighted sum of all results of the forward, as one number."""
        with self.engine.module.no_grad():
            result, _ = self._forward(_Context())
        made = [t for t in (result if isinstance(result, tuple) else (result,)) if self.engine.is_tensor(t)]
        weighed = zip(made, self.weights, strict=False)
        return float(sum((t.double() if hasattr(t, "double") else t).mul(w).sum().item() for t, w in weighed))

    def _forward(self, context: Any) -> tuple[Any, Any]:
        """Run only the forward; `context` receives what it keeps."""
        if self._one_part:
            return self.kind.forward(context, *self.given), context
        return self.kind.forward(*self.given), context

    @property
    def _one_part(self) -> bool:
        """Whether its forward takes ctx: there is no setup_context beside it."""
        return self.kind.setup_context is self.engine.function_type.setup_context  # type: ignore[attr-defined, no-any-return]

    def _named(self, argument: int) -> str:
        """The name of an input in its forward."""
        names = list(inspect.signature(self.kind.forward).parameters.values())[self._one_part :]
        plain = argument < len(names) and names[argument].kind is not inspect.Parameter.VAR_POSITIONAL
        return f", {names[argument].name}" if plain else ""

    def _saved_wrongly(self, slopes: list[Slope]) -> str | None:
        """What the forward saved in place of what backward needs: with the other tensor in its place, backward is right."""
        with self.engine.module.no_grad():
            context = _Keeping(len(self.given))
            result, _ = self._forward(context)
            if not self._one_part:
                self.kind.setup_context(context, tuple(self.given), result)
            saved = context.saved_tensors
            others = {
                f"its input{self._named(at)}": one for at, one in enumerate(self.given) if self.engine.is_tensor(one)
            }
            made = result if isinstance(result, tuple) else (result,)
            others |= {
                "its result" if len(made) == 1 else f"its {_ordinal(at)} result": one for at, one in enumerate(made)
            }
            for slot, one in enumerate(saved):
                for name, other in others.items():
                    if other is one or other.shape != one.shape:
                        continue
                    context.saved_tensors = (*saved[:slot], other, *saved[slot + 1 :])
                    if self._fits(self.kind.backward(context, *self.weights), slopes):
                        was = next((own for own, thing in others.items() if thing is one), "another tensor")
                        return f"Its backward is right if forward saves {name} in place of {was}"
        return None

    def _fits(self, result: Any, slopes: list[Slope]) -> bool:
        """True if the gradients that backward returned agree with all measurements."""
        gradients = result if isinstance(result, tuple) else (result,)
        arguments = [next(at for at, item in enumerate(self.given) if item is tensor) for tensor in self.tensors]
        told = [gradients[at] if at < len(gradients) else None for at in arguments]
        if any(one is None or one.numel() != tensor.numel() for one, tensor in zip(told, self.tensors, strict=True)):
            return False
        numbers = [self.engine.array(one).reshape(-1) for one in told]
        return all(_far(float(numbers[one.place][one.at]), one.measured) < FAR for one in slopes)

    def _why(self, own: list[Slope], slopes: list[Slope]) -> str:
        """What is wrong with the gradient of one input, where that can be told; `own` are its slopes."""
        tensor = self.tensors[own[0].place]
        for place, other in enumerate(self.told):
            mine, theirs = own[0].place, [one for one in slopes if one.place == place]
            if place == mine or self.tensors[place].shape != tensor.shape:
                continue
            pairs = [(other[one.at], one) for one in own] + [(self.told[mine][one.at], one) for one in theirs]
            if all(_far(float(told), one.measured) < FAR for told, one in pairs):
                return ". Two of the gradients are returned in each other's place"
        if len(tensor.shape) == 2 and tensor.shape[0] == tensor.shape[1]:
            turned = self.told[own[0].place].reshape(tuple(tensor.shape)).T.reshape(-1)
            if all(_far(float(turned[one.at]), one.measured) < FAR for one in own):
                return ". It is the transpose of what it should be"
        if any(not one.told for one in own) or len(own) < 2:
            return ""
        missing = [one.measured / one.told for one in own]
        if max(missing) - min(missing) < FAR * abs(missing[0]):
            numbers = (
                at
                for at, item in enumerate(self.given)
                if isinstance(item, (int, float)) and _far(item, missing[0]) < FAR
            )
            known = next(numbers, None)
            return f". Everywhere it lacks the factor {missing[0]:.4g}" + (
                self._named(known) if known is not None else ""
            )
        for name, one in [
            *((self._named(at)[2:], one) for at, one in enumerate(self.given)),
            ("its result", self.outputs[0]),
        ]:
            if name and self.engine.is_tensor(one) and one.shape == tensor.shape:
                written = self.engine.array(one).reshape(-1)
                if all(_far(float(written[a.at]), factor) < FAR for a, factor in zip(own, missing, strict=True)):
                    return f". It lacks the factor {name}"
        return ""


def _ordinal(place: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
    return words[place] if place < len(words) else f"{place + 1}th"


def _put(engine: Engine, tensor: Any, at: int, number: float) -> None:
    with engine.module.no_grad():
        tensor.detach().reshape(-1)[at] = number


class _Context:
    """Accepts what a forward saves, and saves nothing."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 32

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class _Keeping:
    """Saves what a forward saves, for a backward that is called by hand."""

    def __init__(self, inputs: int) -> None:
        self.saved_tensors: tuple[Any, ...] = ()
        self.needs_input_grad = (True,) * inputs

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Nothing is recorded here."""

    def set_materialize_grads(self, value: bool) -> None:
        """Every gradient is given."""
