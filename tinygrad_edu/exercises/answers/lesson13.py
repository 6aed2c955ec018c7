"""Lesson 13, second derivatives: the Hessian times a vector, and a slope that is not a number."""

import tinygrad_edu as T

from ..exercise import Exercise

BOTH = ("tinygrad_edu", "torch")
Function = T.autograd.Function

hvp = Exercise("hvp", "hvp(T, f, x, v)", lesson=13, engines=BOTH, seconds=5.0, may_change=("x.grad",))


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


safe_sqrt = Exercise("safe_sqrt", "safe_sqrt(T, x)", lesson=13, engines=BOTH)


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
    "Only the output is masked: sqrt still runs at 0, where its slope is infinite. The mask sends back 0, and 0 times "
    "infinity is NaN. Mask what goes *into* sqrt as well."
)
def masks_only_the_output(T, x):
    return T.where(x > 0, T.sqrt(x), T.zeros_like(x))


@safe_sqrt.wrong("A small number added to x changes every value, and leaves a huge slope at 0. Mask the input instead.")
def adds_epsilon(T, x):
    return T.sqrt(x + 1e-8)


@safe_sqrt.wrong(
    "sqrt runs on every element: it is NaN below 0, and its slope is infinite at 0. Choose before you compute."
)
def plain_sqrt(T, x):
    return T.sqrt(x)


@safe_sqrt.wrong(
    "The gradient at 0 is infinite, because a root of 0 is still computed, and the root has no slope there. Where x is "
    "0 or less, give the root a safe number, such as 1, and choose 0 afterwards."
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
