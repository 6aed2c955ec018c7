"""Lesson 9, checking and second order: numbers against rules, and graphs of graphs."""

import numpy as np

import tinygrad_edu as T

from ..exercise import Exercise
from ..running.helpers import function_of_x

BOTH = ("tinygrad_edu", "torch")
Function = T.autograd.Function

# What becomes of x is a criterion of its own.
numerical_gradient = Exercise(
    "numerical_gradient", "numerical_gradient(f, x, eps=1e-6)", lesson=9, rtol=1e-3, may_change=("x",)
)


@numerical_gradient.right
def entry_by_entry(f, x, eps=1e-6):
    x = x.astype(np.float64)
    grad = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        old = x[i]
        x[i] = old + eps
        above = f(x)
        x[i] = old - eps
        below = f(x)
        x[i] = old
        grad[i] = (above - below) / (2 * eps)
    return grad


@numerical_gradient.right
def with_unit_vectors(f, x, eps=1e-6):
    x = np.array(x, dtype=float)
    slopes = []
    for unit in np.eye(x.size):
        step = eps * unit.reshape(x.shape)
        slopes.append((f(x + step) - f(x - step)) / (2 * eps))
    return np.array(slopes).reshape(x.shape)


@numerical_gradient.wrong(
    "float32 holds about 7 digits: with eps = 1e-6 the difference of two nearly equal values is noise. Compute in "
    "float64."
)
def in_float32(f, x, eps=1e-6):
    grad = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = eps
        grad[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return grad


@numerical_gradient.wrong("You moved only one entry. Every entry has its own slope: move each in turn.")
def one_entry(f, x, eps=1e-6):
    x = x.astype(np.float64)
    grad = np.zeros(x.shape)
    step = np.zeros(x.shape)
    step.flat[0] = eps
    grad.flat[0] = (f(x + step) - f(x - step)) / (2 * eps)
    return grad


@numerical_gradient.wrong(
    "You moved all entries at once: that is the slope along the diagonal, the sum of all partial derivatives. Move one "
    "at a time."
)
def all_at_once(f, x, eps=1e-6):
    x = x.astype(np.float64)
    return np.full(x.shape, (f(x + eps) - f(x - eps)) / (2 * eps))


@numerical_gradient.wrong(
    "You moved an entry and did not put it back: the next slopes are measured at another point, and the caller's x is "
    "changed. Work on a copy, and put each entry back."
)
def mutates_its_input(f, x, eps=1e-6):
    grad = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        x[i] += 1.0
        x[i] += eps - 1.0
        above = f(x)
        x[i] -= 2 * eps
        grad[i] = (above - f(x)) / (2 * eps)
    x += 0.125
    return grad


@numerical_gradient.wrong("You looked at one side only. From both sides the error shrinks with eps² instead of eps.")
def one_sided(f, x, eps=1e-6):
    x = x.astype(np.float64)
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + eps * unit) - f(x)) / eps for unit in units]).reshape(x.shape)


@numerical_gradient.wrong("x may have several axes: move each of its entries, `for i in np.ndindex(x.shape)`.")
def one_axis(f, x, eps=1e-6):
    x = x.astype(np.float64)
    grad = np.zeros(len(x))
    for i in range(len(x)):
        step = np.zeros(x.shape)
        step[i] = eps
        grad[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return grad


@numerical_gradient.criterion(
    "Every entry has its slope",
    points=2,
    cases=[
        ("(x ** 2).sum()", np.array([1.0, 3.0]), 1e-6),
        ("(x ** 2).sum()", np.array([1.0]), 1e-6),
        ("(x ** 3).sum()", np.array([1.0, -2.0]), 1e-6),
        ("(x ** 3).sum()", np.array([1.0, -2.0]), 0.5),
        ("x[0] * x[1]", np.array([3.0, 5.0]), 1e-6),
        ("x[0] * x[1] ** 2", np.array([3.0, 5.0]), 0.5),
        ("x[0] * x[1] * x[2]", np.array([1.0, 2.0, 4.0]), 0.5),
        ("(x ** 3).sum()", np.array([2.0]), None),
        ("(x ** 2).sum()", np.array([[1.0, 2.0], [3.0, 4.0]]), 1e-6),
    ],
    anything=["x"],
)
def slopes(answer, f, x, eps):
    return answer(function_of_x(f), x) if eps is None else answer(function_of_x(f), x, eps)


@numerical_gradient.criterion(
    "float32 input is measured as accurately as float64",
    cases=[("(x ** 2).sum()", np.array([1.0, 3.0], dtype=np.float32))],
)
def from_float32(answer, f, x):
    return np.float64(1) * np.asarray(answer(function_of_x(f), x.copy()))  # of a None, this raises


@numerical_gradient.criterion(
    "x is unchanged",
    cases=[
        ("(x ** 2).sum()", np.array([1.0, 2.0]), 1e-6),
        ("x[0] * x[1]", np.array([1.0, 2.0]), 0.5),
        ("(x ** 2).sum()", np.array([1.0, 2.0], dtype=np.float32), 1e-6),
    ],
)
def untouched(answer, f, x, eps):
    before = x.copy()
    something = answer(function_of_x(f), x, eps)
    off = float(np.abs(x - before).max())
    return None if something is None else "as it was" if off < 1e-9 else f"off by {off:.1g}"


cube = Exercise(
    "cube", "class Cube(T.autograd.Function): forward(ctx, x), backward(ctx, grad_output)", lesson=9, name="Cube"
)


@cube.picture
def product(T, x, grad_output=None):
    x = T.tensor(x, requires_grad=True)
    return {"x": x, "y": x * x * x}


@cube.right
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3.0 * x * x * grad_output


@cube.right
class CubeByPower(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x**2) * 3


@cube.wrong(
    "The first gradient is right, but the second finds no way back to x. Either backward took numbers out of the graph "
    "(`.item()`, `.detach()`, `.data`), or it used something that forward computed, such as a saved x². forward is not "
    "recorded, so that is a constant. Save x, and compute x² in backward."
)
class TakesNumbersOut(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3.0 * x.detach() * x.detach() * grad_output


@cube.wrong(
    "You saved x², an intermediate of forward. forward is not recorded, so backward sees it as a constant: gradcheck "
    "passes, gradgradcheck fails. Save the input and compute x² in backward."
)
class SavesAnIntermediate(Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(x, square)
        return square * x

    @staticmethod
    def backward(ctx, grad_output):
        x, square = ctx.saved_tensors
        return 2.0 * square * grad_output + x * x.detach() * grad_output


@cube.wrong("The factor is wrong: the derivative of x³ is 3x², not x².")
class ForgetsTheThree(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x * x * grad_output


@cube.wrong(
    "You detached `grad_output` in backward. The gradient is linear in it, and if the graph goes on after the cube, "
    "the second gradient flows through it. Use it unchanged."
)
class DetachesGradOutput(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3.0 * x * x * grad_output.detach()


@cube.wrong("You left out grad_output, the gradient that arrives: multiply by it.")
class IgnoresGradOutput(Cube):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3.0 * x * x


@cube.criterion(
    "The value is x³ and the gradient 3x² · grad_output",
    cases=[(1.0, 1.0), (2.0, 0.5), (2.0, 2.0), (-1.0, 2.0), (-3.0, 1.0)],
    anything=["grad_output"],  # not x: a rule by y / x is right but for x = 0
)
def first_order(answer, T, x, grad_output):
    x = T.tensor(x, requires_grad=True)
    y = answer.apply(x)
    return y.detach(), T.autograd.grad(y, x, T.tensor(grad_output))[0]


@cube.criterion(
    "The gradient of the gradient is 6x, and it is linear in grad_output", points=2, cases=[(1.0,), (2.0,), (-0.5,)]
)
def second_order(answer, T, x):
    x, weight = T.tensor(x, requires_grad=True), T.tensor(1.0, requires_grad=True)
    (first,) = T.autograd.grad(answer.apply(x), x, weight, create_graph=True)
    if not first.requires_grad:
        return None, None
    return T.autograd.grad(first, (x, weight), allow_unused=True)
