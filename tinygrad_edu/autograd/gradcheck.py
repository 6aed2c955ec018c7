"""`gradcheck`: does a function's backward return the gradients that small steps of its inputs show?

The numerical Jacobian comes from central differences, the analytical one from the backward rules (or from forward mode),
row by row. Fast mode compares one random projection of both, `vᵀ·J·u`, which costs two runs of the function per input
instead of two per element.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..array.companions import companions
from ..array.tensor import Tensor, wrap
from ..modes import quiet
from ..seam.later import later
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
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with the slopes that small steps of its inputs show.

    Args:
        func: takes the inputs, returns a Tensor or a tuple of Tensors.
        inputs: a Tensor or a tuple; those that require grad are checked, and should be float64.
        eps: the size of a step; the interval is 2·eps wide.
        atol, rtol: the largest difference allowed: atol + rtol·|numerical|.
        raise_exception: False: return False instead of raising a GradcheckError.
        nondet_tol: how far two backward passes on the same gradient may differ. check_undefined_grad: also check that
        outputs without a gradient count as zeros. check_forward_ad, check_backward_ad: which modes to check. fast_mode:
        compare one random projection of the Jacobians instead of every element. check_grad_dtypes: kept for PyTorch's
        signature; the engine brings every gradient to the dtype of its input. check_batched_grad: also compare a batch
        of gradients with each by itself. check_batched_forward_grad: kept for PyTorch's signature; here the tangents of
        a batch run one after the other. masked: refused, because it is not built.

    Returns:
        True if all agree.

    Raises:
        GradcheckError: they do not; the message shows both Jacobians.
        ValueError: no input requires grad.

    Example:
        >>> import tinygrad_edu as T
        >>> x = T.tensor([1.0, 2.0], dtype=T.float64, requires_grad=True)
        >>> T.autograd.gradcheck(lambda x: x * x, (x,))
        True
    """
    _require_a_mode(check_forward_ad, check_backward_ad, check_batched_grad, check_batched_forward_grad)
    _refuse_unbuilt(bool(masked))
    func, arguments = _in_reals(func, _as_tuple(inputs)) if companions else (func, _as_tuple(inputs))
    check = _Check(func, arguments, eps, atol, rtol, nondet_tol)
    try:
        check.run(check_backward_ad, check_forward_ad, fast_mode, check_undefined_grad)
        if check_batched_grad:
            check.check_batched_gradients()
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
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradients of the gradients of `func`, just as `gradcheck` checks its gradients.

    Args:
        grad_outputs: the gradients at the outputs, themselves checked as inputs; random ones in [-1, 1] by default.
        gen_non_contig_grad_outputs: make these random ones non-contiguous in memory.
        check_rev_over_rev, check_fwd_over_rev: differentiate the backward pass in reverse or in forward mode.

    The other arguments, the result and the errors are those of `gradcheck`.

    >>> import tinygrad_edu as T
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
    _require(
        check_rev_over_rev or not check_batched_grad,
        "Setting check_batched_grad=True requires check_rev_over_rev to be True",
    )
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [o for o in _as_tuple(func(*arguments)) if o.requires_grad]
        directions = tuple(_random_gradient(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        directions = _as_tuple(grad_outputs)
    return gradcheck(
        _gradients_of(func, arguments, directions),
        arguments + directions,
        eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _gradients_of(func: Callable[..., Any], arguments: tuple[Any, ...], directions: tuple[Any, ...]) -> Any:
    """A function of both: the gradients of `func` at `arguments`, in a graph of their own, for gradients at its outputs."""
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


def _require_a_mode(forward: bool, backward: bool, batched: bool, batched_forward: bool) -> None:
    _require(forward or backward, "Expected at least one of check_forward_ad or check_backward_ad to be True")
    _require(backward or not batched, "Setting check_batched_grad=True requires check_backward_ad to be True")
    _require(
        forward or not batched_forward, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _refuse_unbuilt(masked: bool) -> None:
    if masked:
        raise NotImplementedError(
            "masked=True is about the unspecified elements of sparse tensors, which are not built. Leave it out."
        )


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _random_gradient(output: Tensor, spread_out: bool) -> Tensor:
    """Numbers in [-1, 1], drawn from the user's random state as PyTorch draws them."""
    if output.is_complex():
        return wrap(_random_gradient(output._as_parts(), spread_out)._data)._from_parts().detach().requires_grad_()
    values = wrap(np.empty_like(output._data, order="C")).uniform_(-1, 1)._data
    if spread_out and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return wrap(values).requires_grad_()


def _in_reals(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The same check of real numbers alone: the real and the imaginary part of a complex number are two of them.

    The gradient of a complex tensor holds the derivatives by its real and its imaginary part, so nothing is lost.
    """
    complex_places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]
    parts = list(inputs)
    for i in complex_places:
        parts[i] = inputs[i]._as_parts().detach().requires_grad_(inputs[i].requires_grad)

    def of_parts(*values: Any) -> tuple[Any, ...]:
        given = list(values)
        for i in complex_places:
            given[i] = values[i]._from_parts()
        results = _as_tuple(func(*given))
        return tuple(r._as_parts() if isinstance(r, Tensor) and r.is_complex() else r for r in results)

    return of_parts, tuple(parts)


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
            if x._data.dtype != np.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    f"will likely fail if all the inputs are not of double precision floating point or complex. Steps of "
                    f"eps are lost in the rounding of {x.dtype}: make it float64, as in t.double().requires_grad_().",
                    UserWarning,
                    stacklevel=4,
                )
            if any(stride == 0 and n > 1 for stride, n in zip(x._data.strides, x._data.shape, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
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
            if undefined:
                self.check_missing_tangents()
        if backward:
            self.check_zero_gradients()
            if undefined:
                self.check_undefined_gradients()

    def check_batched_gradients(self) -> None:
        """Compare a batch of gradients, sent back at once, with each of them by itself."""
        random = np.random.default_rng(0)
        inputs = [self.inputs[i] for i in self.moving]
        results = _as_tuple(self.func(*self.inputs))
        for output in (results[j] for j in self.places):
            batch = wrap(random.uniform(-1, 1, (3, *output._data.shape)).astype(output._data.dtype))
            settings = {"retain_graph": True, "allow_unused": True}
            together = engine.grad(output, inputs, batch, is_grads_batched=True, **settings)
            for k in range(3):
                alone = engine.grad(output, inputs, wrap(batch._data[k]), **settings)
                for number, one, many in zip(self.moving, alone, together, strict=True):
                    if one is None or many is None:
                        continue
                    if not np.allclose(one._data, many._data[k], rtol=self.rtol, atol=self.atol, equal_nan=True):
                        raise GradcheckError(
                            f"While computing batched gradients for input {number}: a batch of gradients gives other values than "
                            "each by itself."
                        )

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
        return [
            np.array([row[j] for row in rows]).reshape(array.size, o._data.size) for j, o in enumerate(self.results)
        ]

    # --- the analytical side ------------------------------------------------------------------------------------------

    def vjp(self, output: Tensor, v: np.ndarray) -> list[np.ndarray]:
        """vᵀ·J of one output with respect to each input, flattened."""
        inputs = [self.inputs[i] for i in self.moving]
        grads = engine.grad(output, inputs, wrap(v.reshape(output._data.shape)), retain_graph=True, allow_unused=True)
        sizes = [x._data.size for x in inputs]
        return [np.zeros(n) if g is None else g._data.reshape(-1).copy() for g, n in zip(grads, sizes, strict=True)]

    def backward_twice(self, output: Tensor, directions: np.ndarray) -> list[np.ndarray]:
        """vᵀ·J for each row of `directions`, computed twice to see that both results are the same."""
        passes = []
        for _ in range(2):
            # A separate node above the output, so that a pass starts at a tensor that nobody else knows.
            copy = output.clone()
            rows = [self.vjp(copy, v) for v in directions]
            passes.append(
                [
                    np.array([row[k] for row in rows]).reshape(len(rows), self.inputs[i]._data.size).T
                    for k, i in enumerate(self.moving)
                ]
            )
        for a, b in zip(*passes, strict=True):
            if a.size and _largest_difference(a, b) > self.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient. The tolerance for "
                    f"nondeterminism was {self.nondet_tol}. If the backward rule draws random numbers, or keeps state "
                    "between calls, that is the cause; nondet_tol= allows small differences."
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
                    live._data[...] = u.reshape(live._data.shape)
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
            return [self.backward_twice(o, np.eye(o._data.size, dtype=o._data.dtype)) for o in self.outputs]
        columns = self.jvps(lambda x: iter(np.eye(x._data.size)))
        return [
            [
                np.array([row[place] for row in columns[k]]).reshape(self.inputs[i]._data.size, -1)
                for k, i in enumerate(self.moving)
            ]
            for place in self.places
        ]

    def compare_projections(self, forward_mode: bool) -> None:
        # A separate generator leaves the user's random state alone.
        random = np.random.default_rng(0)
        us = [_unit(self.inputs[i], random) for i in self.moving]
        vs = [_unit(o, random) for o in self.outputs]
        slopes = [
            self.slope(self.inputs[i]._data, self.eps * u.reshape(self.inputs[i]._data.shape))
            for i, u in zip(self.moving, us, strict=True)
        ]
        if not self.outputs:
            if any((np.abs(s) > self.nondet_tol).any() for row in slopes for s in row):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if forward_mode:
            direction = {id(self.inputs[i]): u for i, u in zip(self.moving, us, strict=True)}
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
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode: each is a "
            "random projection of a Jacobian. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {wrap(numerical)}\nAnalytical:\n{wrap(analytical)}\n\n"
            f"The max per-element difference (slow mode) is: {_largest_difference(numerical, analytical)}.\n"
        )
        if self.close(analytical, numerical, self.atol):
            text += (
                "\nFast gradcheck failed but element-wise differences are small. This means that the test might've passed "
                "in slow_mode! Call it with fast_mode=False."
            )
        return text

    def close(self, a: Any, n: Any, atol: float) -> bool:
        return bool(np.allclose(a, n, rtol=self.rtol, atol=atol))

    # --- gradients that are zero, missing or undefined ----------------------------------------------------------------

    def check_zero_gradients(self) -> None:
        if not self.outputs:
            return
        zeros = [wrap(np.zeros_like(o._data)) for o in self.outputs]
        inputs = [self.inputs[i] for i in self.moving]
        for grad in engine.grad(self.outputs, inputs, zeros, allow_unused=True):
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
            inputs = [self.inputs[i] for i in self.moving]
            try:
                grads = engine.grad(roots, inputs, zeros, allow_unused=True)
            except RuntimeError as error:
                _warn_of_undefined()
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads. An output that nobody uses gets None "
                    "(or zeros, unless set_materialize_grads(False) was called); check_undefined_grad=False leaves this out."
                ) from error
            if any(g is not None and (g._data != 0).any() for g in grads):
                _warn_of_undefined()
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                    "check_undefined_grad=False leaves this out."
                )

    def check_missing_tangents(self) -> None:
        """A tensor without a tangent must count as one whose tangent is zero."""
        random = np.random.default_rng(0)
        with forward_ad.dual_level():
            duals = list(self.inputs)
            for i in self.moving:
                x = self.inputs[i]
                u = _unit(x, random).reshape(x._data.shape).astype(x._data.dtype, copy=False)
                duals[i] = forward_ad.make_dual(x.detach(), wrap(u))
            for i in self.moving:
                x = self.inputs[i].detach()
                outcomes = []
                for still in (forward_ad.make_dual(x, forward_ad.zero_tangent(x)), self.inputs[i].detach()):
                    arguments = [still if k == i else d for k, d in enumerate(duals)]
                    outcomes.append([_tangent(o) for o in _as_tuple(self.func(*arguments))])
                for j, (zero, missing) in enumerate(zip(*outcomes, strict=True)):
                    if not np.allclose(zero, missing):
                        raise GradcheckError(
                            f"Mismatch in tangent values for output with index: {j} when input {i} has an undefined tangent "
                            f"value. Got: {wrap(missing)} but expected: {wrap(zero)}"
                        )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
        "existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        UserWarning,
        stacklevel=5,
    )


def _tangent(output: Tensor) -> np.ndarray:
    tangent = forward_ad.tangent_of(output)
    return np.zeros(output._data.size) if tangent is None else tangent._data.reshape(-1).copy()


def _unit(t: Tensor, random: np.random.Generator) -> np.ndarray:
    """A random direction of length 1, flat, no element negative: so that nothing cancels in a projection."""
    u = random.random(t._data.size)
    return (u / (np.linalg.norm(u) or 1.0)).astype(t._data.dtype, copy=False)


def _largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    # NaN where both are infinite, without NumPy's warning.
    return float(np.abs(quiet(np.subtract, a, b)).max())


def _mismatch(a: Any, n: Any, output: int, input: int, forward_mode: bool) -> str:
    mode = "computed with forward mode " if forward_mode else ""
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
        f"numerical:{wrap(np.asarray(n))}\nanalytical:{wrap(np.asarray(a))}\n"
    )


__getattr__ = later(__name__, "It has gradcheck and gradgradcheck.")
