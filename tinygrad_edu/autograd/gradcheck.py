"""`gradcheck`: does a function's backward return the gradients that small steps of its inputs show?

The numerical Jacobian comes from central differences, the analytical one from the backward rules (or from forward
mode), row by row. Fast mode compares one random projection of both, `vᵀ·J·u`, which costs two runs of the function per
input instead of two per element.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..array.tensor import Tensor, wrap
from ..modes import quiet
from . import engine, forward_ad
from .function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise when the gradients differ."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of `func` with the slopes that small steps of its inputs show.

    Those of the `inputs` (a Tensor or a tuple) that require grad are checked, and should be float64. A difference of
    atol + rtol·|numerical| is allowed; two backward passes on one gradient may differ by `nondet_tol`. `fast_mode`
    compares one random projection of the Jacobians instead of every element.

    Raises:
        GradcheckError: they differ; the message shows both Jacobians. Without `raise_exception`, returns False.
        ValueError: no input requires grad.

    >>> x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
    >>> T.autograd.gradcheck(lambda x: x * x, (x,))
    True
    """
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    try:
        check.run(check_backward_ad, check_forward_ad, fast_mode, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Check the gradients of the gradients of `func`, just as `gradcheck` checks its gradients.

    `grad_outputs`, the gradients at the outputs, are checked as inputs, too; by default they are random in [-1, 1].

    >>> x = T.tensor([0.5, 1.5], dtype=T.float64, requires_grad=True)
    >>> T.autograd.gradgradcheck(lambda x: x**3, x)
    True
    """
    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    _require(
        check_rev_over_rev or not check_undefined_grad,
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
    )
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [o for o in _as_tuple(func(*arguments)) if o.requires_grad]
        directions = tuple(_random_gradient(o) for o in outputs)
    else:
        directions = _as_tuple(grad_outputs)
    return gradcheck(
        _gradients_of(func, arguments, directions),
        arguments + directions,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _gradients_of(func: Callable[..., Any], arguments: tuple[Any, ...], directions: tuple[Any, ...]) -> Any:
    """A function of both: the gradients of `func` at `arguments`, in their own graph, for gradients at its outputs."""
    # Forward mode passes in tensors that have lost the flag: it is set again inside.
    moving = [isinstance(x, Tensor) and x.requires_grad for x in arguments + directions]

    def gradients(*all_arguments: Any) -> tuple[Tensor, ...]:
        given = [x.requires_grad_() if m else x for x, m in zip(all_arguments, moving, strict=True)]
        xs, grads = given[: len(arguments)], given[len(arguments) :]
        outputs = [o for o in _as_tuple(func(*xs)) if o.requires_grad]
        wanted = [x for x, m in zip(xs, moving, strict=False) if m]
        results = engine.grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple(g for g in results if g is not None)

    return gradients


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _random_gradient(output: Tensor) -> Tensor:
    """Numbers in [-1, 1], drawn from the user's random state as PyTorch draws them."""
    return wrap(np.empty_like(output._data, order="C")).uniform_(-1, 1).requires_grad_()


class _UndefinedGrad(Function):
    """Passes a value on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


class _Check:
    """One run of gradcheck: the function, the point, the tolerances. Jacobians are arrays, inputs × outputs."""

    def __init__(
        self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float
    ) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self._check_inputs()
        self.moving = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.xs = [inputs[i] for i in self.moving]
        self.results = _as_tuple(func(*inputs))
        # The differentiable outputs, by their place among all.
        self.places = [j for j, o in enumerate(self.results) if o.requires_grad]
        self.outputs = [self.results[j] for j in self.places]

    def _check_inputs(self) -> None:
        moving = False
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue
            moving = True
            if x.value.dtype != np.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    f"will likely fail: steps of eps are lost in the rounding of {x.dtype}. Make it float64, as in "
                    "t.double().requires_grad_().",
                    UserWarning,
                    stacklevel=4,
                )
            if x.value.size and any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before."
                )
        if not moving:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )

    def run(self, backward: bool, forward: bool, fast: bool, undefined: bool) -> None:
        compare = self.compare_projections if fast else self.compare_jacobians
        if backward:
            compare(forward_mode=False)
        if forward:
            compare(forward_mode=True)
        if backward:
            self.check_zero_gradients()
            if undefined:
                self.check_undefined_gradients()

    # --- the numerical side -------------------------------------------------------------------------------------------

    def run_function(self) -> list[np.ndarray]:
        return [o._data.copy() for o in _as_tuple(self.func(*self.inputs))]

    def slope(self, array: np.ndarray, step: Any, at: Any = ...) -> list[np.ndarray]:
        """The central difference of every output when `array`, an input's memory, moves by ±step at the index `at`."""
        where = "" if at is ... else f"on index {at} "
        before = array[at].copy()
        array[at] = before - step
        low = self.run_function()
        array[at] = before + step
        high = self.run_function()
        array[at] = before
        for a, b in zip(low, high, strict=True):
            for what in ("shape", "dtype"):
                _require(
                    getattr(a, what) == getattr(b, what),
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                    f"{self.eps}, but got: {what}s {getattr(a, what)} and {getattr(b, what)}.",
                )
        return [wrap(b).sub(wrap(a))._data.reshape(-1) / (2 * self.eps) for a, b in zip(low, high, strict=True)]

    def numerical(self, i: int) -> list[np.ndarray]:
        """The Jacobians of all outputs with respect to input `i`, element by element."""
        array = self.inputs[i]._data
        rows = [self.slope(array, self.eps, at) for at in np.ndindex(array.shape)]
        outputs = enumerate(self.results)
        return [np.array([row[j] for row in rows]).reshape(array.size, o.value.size) for j, o in outputs]

    # --- the analytical side ------------------------------------------------------------------------------------------

    def vjp(self, output: Tensor, v: np.ndarray) -> list[np.ndarray]:
        """vᵀ·J of one output with respect to each input, flattened."""
        grads = engine.grad(
            output, self.xs, wrap(v.reshape(output.value.shape)), retain_graph=True, materialize_grads=True
        )
        return [g._data.reshape(-1).copy() for g in grads]

    def backward_twice(self, output: Tensor, directions: np.ndarray) -> list[np.ndarray]:
        """vᵀ·J for each row of `directions`, computed twice to see that both results are the same."""
        passes = []
        for _ in range(2):
            # A separate node above the output, so that a pass starts at a tensor that nobody else knows.
            copy = output.clone()
            rows = [self.vjp(copy, v) for v in directions]
            sizes = [x.value.size for x in self.xs]
            passes.append([np.array([row[k] for row in rows]).reshape(len(rows), n).T for k, n in enumerate(sizes)])
        for a, b in zip(*passes, strict=True):
            if a.size and _largest_difference(a, b) > self.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient. The tolerance "
                    f"for nondeterminism was {self.nondet_tol}. Does the rule draw random numbers, or keep state "
                    "between calls?"
                )
        return passes[0]

    def jvps(self, directions: Callable[[Tensor], Iterator[np.ndarray]]) -> list[list[list[np.ndarray]]]:
        """J·u by forward mode: for each input, each direction, each output."""
        found = []
        with forward_ad.dual_level():
            tangents = {i: forward_ad.zero_tangent(self.inputs[i]) for i in self.moving}
            duals = [
                forward_ad.make_dual(x.detach(), tangents[i]) if i in tangents else x for i, x in enumerate(self.inputs)
            ]
            for i in self.moving:
                live = forward_ad.tangent_of(duals[i])
                assert live is not None
                columns = []
                for u in directions(self.inputs[i]):
                    live._data[...] = u.reshape(live.value.shape)
                    columns.append([_tangent(o) for o in _as_tuple(self.func(*duals))])
                live._data[...] = 0
                found.append(columns)
        return found

    # --- comparing ----------------------------------------------------------------------------------------------------

    def compare_jacobians(self, forward_mode: bool) -> None:
        numerical = [self.numerical(i) for i in self.moving]
        if not self.outputs:
            floating = [j for j, o in enumerate(self.results) if o.is_floating_point()]
            if any(row[j].any() for row in numerical for j in floating):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        analytical = self.analytical(forward_mode)
        for j, place in enumerate(self.places):
            for k in range(len(self.moving)):
                a, n = analytical[j][k], numerical[k][place]
                if not self.close(a, n, self.atol):
                    raise GradcheckError(_mismatch(a, n, j, k, forward_mode))

    def analytical(self, forward_mode: bool) -> list[list[np.ndarray]]:
        """The Jacobian of each differentiable output with respect to each input."""
        if not forward_mode:
            return [self.backward_twice(o, np.eye(o.value.size, dtype=o.value.dtype)) for o in self.outputs]
        columns = self.jvps(lambda x: iter(np.eye(x.value.size)))
        sizes = [x.value.size for x in self.xs]
        return [
            [np.array([row[place] for row in columns[k]]).reshape(n, -1) for k, n in enumerate(sizes)]
            for place in self.places
        ]

    def compare_projections(self, forward_mode: bool) -> None:
        random = np.random.default_rng(0)
        us = [_unit(x, random) for x in self.xs]
        vs = [_unit(o, random) for o in self.outputs]
        slopes = [self.slope(x._data, self.eps * u.reshape(x.value.shape)) for x, u in zip(self.xs, us, strict=True)]
        if not self.outputs:
            if any((np.abs(s) > self.nondet_tol).any() for row in slopes for s in row):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if forward_mode:
            direction = {id(x): u for x, u in zip(self.xs, us, strict=True)}
            tangents = self.jvps(lambda x: iter([direction[id(x)]]))
        else:
            rows = [self.backward_twice(o, v[None]) for o, v in zip(self.outputs, vs, strict=True)]
        for k, u in enumerate(us):
            for j, (place, v) in enumerate(zip(self.places, vs, strict=True)):
                n: Any = slopes[k][place]
                if forward_mode:
                    a: Any = tangents[k][0][place]
                    atol = self.atol * float(u.sum())
                else:
                    a, n = rows[j][k][:, 0] @ u, v @ n
                    # Each element may be off by atol, so the projection by vᵀ·atol·u.
                    atol = self.atol * float(u.sum()) * float(v.sum())
                if not self.close(a, n, atol):
                    raise GradcheckError(_mismatch(a, n, j, k, forward_mode) + self.in_slow_mode(j, k, forward_mode))

    def in_slow_mode(self, j: int, k: int, forward_mode: bool) -> str:
        numerical = self.numerical(self.moving[k])[self.places[j]]
        analytical = self.analytical(forward_mode)[j][k]
        return (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode: each "
            "is a random projection of a Jacobian. Below, we recompute numerical and analytical jacobians in slow "
            f"mode:\n\nNumerical:\n {wrap(numerical)}\nAnalytical:\n{wrap(analytical)}\n\nThe max per-element "
            f"difference (slow mode) is: {_largest_difference(numerical, analytical)}.\n"
        )

    def close(self, a: Any, n: Any, atol: float) -> bool:
        return bool(np.allclose(a, n, rtol=self.rtol, atol=atol))

    # --- gradients that are zero, missing or undefined ----------------------------------------------------------------

    def check_zero_gradients(self) -> None:
        if not self.outputs:
            return
        zeros = [wrap(np.zeros_like(o._data)) for o in self.outputs]
        for grad in engine.grad(self.outputs, self.xs, zeros, allow_unused=True):
            if grad is not None and (grad._data != 0).any():
                raise GradcheckError(
                    "backward not multiplied by grad_output (it gave a gradient though the incoming one was zero)"
                )

    def check_undefined_gradients(self) -> None:
        """All outputs without a gradient, then each alone."""
        count = len(self.outputs)
        if not count:
            return
        for undefined in [set(range(count)), *({j} for j in range(count) if count > 1)]:
            outputs = [o for o in _as_tuple(self.func(*self.inputs)) if o.requires_grad]
            roots = [_UndefinedGrad.apply(o) if j in undefined else o for j, o in enumerate(outputs)]
            zeros = [wrap(np.zeros_like(o._data)) for o in roots]
            try:
                grads = engine.grad(roots, self.xs, zeros, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads. An output that nobody uses gets None "
                    "(or zeros, unless set_materialize_grads(False) was called); check_undefined_grad=False leaves "
                    "this out."
                ) from error
            if any(g is not None and (g._data != 0).any() for g in grads):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                    "check_undefined_grad=False leaves this out."
                )


def _tangent(output: Tensor) -> np.ndarray:
    tangent = forward_ad.tangent_of(output)
    return np.zeros(output.value.size) if tangent is None else tangent._data.reshape(-1).copy()


def _unit(t: Tensor, random: np.random.Generator) -> np.ndarray:
    """A random direction of length 1, flat, no element negative: so that nothing cancels in a projection."""
    u = random.random(t.value.size)
    return (u / (np.linalg.norm(u) or 1.0)).astype(t.value.dtype, copy=False)


def _largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    # NaN where both are infinite, without NumPy's warning.
    return float(np.abs(quiet(np.subtract, a, b)).max())


def _mismatch(a: Any, n: Any, output: int, input: int, forward_mode: bool) -> str:
    mode = "computed with forward mode " if forward_mode else ""
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
        f"numerical:{wrap(np.asarray(n))}\nanalytical:{wrap(np.asarray(a))}\n"
    )
