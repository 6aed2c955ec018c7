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
    return np.asarray(answer(function_of_x(f), x.copy()), dtype=np.float64)


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
    "The gradient of the gradient is 6x, and it is linear in grad_output",
    points=2,
    cases=[(1.0,), (2.0,), (-0.5,)],
)
def second_order(answer, T, x):
    x, weight = T.tensor(x, requires_grad=True), T.tensor(1.0, requires_grad=True)
    (first,) = T.autograd.grad(answer.apply(x), x, weight, create_graph=True)
    if not first.requires_grad:
        return None, None
    return T.autograd.grad(first, (x, weight), allow_unused=True)


hvp = Exercise("hvp", "hvp(T, f, x, v)", lesson=9, engines=BOTH, seconds=5.0, may_change=("x.grad",))


@hvp.right
def grad_of_dot(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x, create_graph=True)
    return T.autograd.grad((grad * v).sum(), x)[0]


@hvp.right
def with_grad_outputs(T, f, x, v):
    first = T.autograd.grad(f(x), x, create_graph=True)
    return T.autograd.grad(first, x, grad_outputs=v)[0]


@hvp.wrong(
    "You differentiate something that has no graph behind it. A gradient has a graph only with `create_graph=True`, "
    "and only if you do not detach it."
)
def no_create_graph(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x)
    return T.autograd.grad((grad * v).sum(), x)[0]


@hvp.wrong("You left out v: this is the sum of the Hessian's rows. Multiply by v before the second gradient.")
def without_v(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x, create_graph=True)
    return T.autograd.grad(grad.sum(), x)[0]


@hvp.wrong(
    "This is the gradient times v, element by element. You differentiated once. The Hessian needs a second pass."
)
def first_order_only(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x)
    return grad * v


@hvp.wrong("This is the slope along v, a number: gradient · v. Return its gradient with respect to x.")
def directional_derivative(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x)
    return (grad * v).sum()


@hvp.criterion(
    "H v for f(x) = Σ xᵢ³ + x₀ x₁",
    points=3,
    cases=[([1.0, 2.0], [1.0, 0.0]), ([1.0, 2.0], [0.0, 1.0]), ([0.5, -1.0], [2.0, 3.0])],
    anything=["x", "v"],
    random=lambda rng: (*rng.integers(-3, 4, size=(2, 2)).astype(float).tolist(),),
)
def hessian_times_v(answer, T, x, v):
    x = T.tensor(x, requires_grad=True)
    return answer(T, lambda x: (x * x * x).sum() + x[0] * x[1], x, T.tensor(v)).detach()


safe_sqrt = Exercise("safe_sqrt", "safe_sqrt(T, x)", lesson=9, engines=BOTH)


@safe_sqrt.picture
def root(T, x):
    x = T.tensor(x, requires_grad=True)
    return {"x": x, "y": T.sqrt(x)}


@safe_sqrt.right
def masks_the_input(T, x):
    inside = T.where(x > 0, x, T.ones_like(x))
    return T.where(x > 0, T.sqrt(inside), T.zeros_like(x))


@safe_sqrt.right
def masks_with_a_factor(T, x):
    positive = x.detach() > 0
    one = T.ones_like(x)
    return T.where(positive, T.where(positive, x, one) ** 0.5, x * 0.0)


@safe_sqrt.wrong(
    "Only the output is masked: sqrt still runs at 0, where its slope is infinite, and where's backward multiplies "
    "infinity by 0: NaN. Mask what goes *into* sqrt as well."
)
def masks_only_the_output(T, x):
    return T.where(x > 0, T.sqrt(x), T.zeros_like(x))


@safe_sqrt.wrong("A small number added to x changes every value, and leaves a huge slope at 0. Mask the input instead.")
def adds_epsilon(T, x):
    return T.sqrt(T.where(x > 0, x, T.zeros_like(x)) + 1e-2)


@safe_sqrt.wrong(
    "sqrt runs on every element: it is NaN below 0, and its slope is infinite at 0. Choose before you compute."
)
def plain_sqrt(T, x):
    return T.sqrt(x)


@safe_sqrt.wrong(
    "The gradient at 0 is infinite, because a root of 0 is still computed, and the root has no slope there. Where x is 0 or less, "
    "give the root a safe number, such as 1, and choose 0 afterwards."
)
def clamped(T, x):
    return T.sqrt(T.clamp(x, min=0.0))


@safe_sqrt.wrong(
    "The input of the root is safe now, but the value there is the root of the replacement number: choose 0 afterwards."
)
def masks_the_input_alone(T, x):
    return T.sqrt(T.where(x > 0, x, T.ones_like(x)))


@safe_sqrt.criterion(
    "√x where x > 0, and 0 elsewhere", cases=[([4.0],), ([0.0],), ([-1.0, 9.0],), ([1e-6],)], anything=["x"]
)
def root_value(answer, T, x):
    return answer(T, T.tensor(x, requires_grad=True)).detach()


@safe_sqrt.criterion(
    "The gradient is finite everywhere, and 0 where x ≤ 0",
    points=2,
    cases=[([4.0],), ([0.0],), ([0.0, 1.0, -1.0],), ([1e-6],)],
    anything=["x"],
)
def root_gradient(answer, T, x):
    x = T.tensor(x, requires_grad=True)
    answer(T, x).sum().backward()
    return x.grad
