"""Lesson 1, slopes and local derivatives: answers are functions of numbers."""

from ..exercise import Exercise
from ..running.helpers import function_of_x

central_difference = Exercise("central_difference", "central_difference(f, x, eps)", lesson=1)


@central_difference.right
def symmetric_interval(f, x, eps):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


@central_difference.right
def mean_of_two_slopes(f, x, eps):
    return ((f(x + eps) - f(x)) / eps + (f(x) - f(x - eps)) / eps) / 2


@central_difference.wrong(
    "This is the one-sided difference: it starts at x. A central difference looks equally far to the left and right of "
    "x, and its error shrinks with eps² instead of eps."
)
def one_sided(f, x, eps):
    return (f(x + eps) - f(x)) / eps


@central_difference.wrong(
    "This is the one-sided difference, to the left: it ends at x. A central difference also looks equally far to the "
    "right."
)
def one_sided_backward(f, x, eps):
    return (f(x) - f(x - eps)) / eps


@central_difference.wrong("You divided by eps; from x - eps to x + eps the interval is 2·eps wide.")
def divides_by_eps(f, x, eps):
    return (f(x + eps) - f(x - eps)) / eps


@central_difference.wrong(
    "The division binds tighter than you meant: `d / 2 * eps` multiplies by eps. Write `d / (2 * eps)`."
)
def missing_parentheses(f, x, eps):
    return (f(x + eps) - f(x - eps)) / 2 * eps


@central_difference.wrong("You divided only by 2. The interval is 2·eps wide, so eps is missing.")
def forgets_eps(f, x, eps):
    return (f(x + eps) - f(x - eps)) / 2


@central_difference.wrong("The sign is reversed: a slope is the value on the right minus the value on the left.")
def left_minus_right(f, x, eps):
    return (f(x - eps) - f(x + eps)) / (2 * eps)


@central_difference.wrong("You added the two values. A slope needs their difference.")
def plus_for_minus(f, x, eps):
    return (f(x + eps) + f(x - eps)) / (2 * eps)


@central_difference.wrong("Your points are half a step away from x, so the interval is eps wide instead of 2·eps.")
def half_steps(f, x, eps):
    return (f(x + eps / 2) - f(x - eps / 2)) / (2 * eps)


@central_difference.criterion(
    "The slope of a straight line is its factor, whatever eps is",
    points=1,
    cases=[("3 * x", 0.0, 0.5), ("-2 * x + 1", 1.0, 0.1)],
)
def line(answer, f, x, eps):
    return answer(function_of_x(f), x, eps)


@central_difference.criterion(
    "On a curve it is the slope of the chord from x - eps to x + eps",
    points=2,
    cases=[("x ** 2", 3.0, 0.5), ("x ** 3", 1.0, 0.5), ("abs(x)", 0.0, 0.25)],
    anything=["x"],
    random=lambda rng: ("sin(x)", round(rng.uniform(-2, 2), 2), round(rng.uniform(0.2, 0.8), 2)),
)
def curve(answer, f, x, eps):
    return answer(function_of_x(f), x, eps)


mul_backward = Exercise("mul_backward", "mul_backward(grad_output, a, b)", lesson=1)


@mul_backward.picture
def product(T, grad_output, a, b):
    a, b = T.tensor(a, requires_grad=True), T.tensor(b, requires_grad=True)
    return {"a": a, "b": b, "y": a * b}


@mul_backward.right
def other_factor(grad_output, a, b):
    return grad_output * b, grad_output * a


@mul_backward.right
def as_list(grad_output, a, b):
    da_db = [b, a]
    return [local * grad_output for local in da_db]


@mul_backward.wrong("The factors are swapped: the derivative of a·b with respect to a is b, and the one for b is a.")
def swapped(grad_output, a, b):
    return grad_output * a, grad_output * b


@mul_backward.wrong(
    "You returned only the local derivatives. Multiply each by grad_output, the gradient that arrives from above."
)
def ignores_grad_output(grad_output, a, b):
    return b, a


@mul_backward.wrong(
    "You returned grad_output itself: that is the rule of a + b. Multiplying scales it by the other factor."
)
def rule_of_addition(grad_output, a, b):
    return grad_output, grad_output


@mul_backward.wrong("You added grad_output to the local derivative. The chain rule multiplies them.")
def adds(grad_output, a, b):
    return grad_output + b, grad_output + a


@mul_backward.wrong("You multiplied by both factors. Seen from a, the slope of a·b is just b.")
def multiplies_by_both(grad_output, a, b):
    return grad_output * a * b, grad_output * a * b


@mul_backward.criterion(
    "With grad_output = 1 the gradients are the local derivatives",
    cases=[(1.0, 2.0, 3.0), (1.0, -1.5, 4.0)],
    anything=["a", "b"],
)
def local(answer, grad_output, a, b):
    return answer(grad_output, a, b)


@mul_backward.criterion(
    "The incoming gradient multiplies both",
    points=2,
    cases=[(2.0, 3.0, 5.0)],
    anything=["grad_output", "a", "b"],
    random=lambda rng: tuple(rng.uniform(-3, 3, size=3).round(2).tolist()),
)
def chained(answer, grad_output, a, b):
    return answer(grad_output, a, b)


relu_backward = Exercise("relu_backward", "relu_backward(grad_output, x)", lesson=1)


@relu_backward.picture
def relu(T, grad_output, x):
    x = T.tensor(x, requires_grad=True)
    return {"x": x, "y": x.relu()}


@relu_backward.right
def goes_through_or_not(grad_output, x):
    return grad_output if x > 0 else 0.0


@relu_backward.right
def masked(grad_output, x):
    return grad_output * (x > 0)


@relu_backward.wrong(
    "You tested the sign of grad_output. The sign of x, the input of the forward pass, decides: where x > 0 the "
    "gradient passes, whatever its sign."
)
def tests_grad_output(grad_output, x):
    return grad_output if grad_output > 0 else 0.0


@relu_backward.wrong(
    "You returned relu's derivative, 0 or 1, without the gradient that arrives from above. Multiply by grad_output."
)
def derivative_alone(grad_output, x):
    return 1.0 if x > 0 else 0.0


@relu_backward.wrong(
    "You multiplied grad_output by relu(x), the value. The factor is relu's derivative: 1 where x > 0, else 0."
)
def value_for_derivative(grad_output, x):
    return grad_output * max(x, 0.0)


@relu_backward.wrong("At x = 0 PyTorch uses the derivative 0: test x > 0, not x >= 0.")
def one_at_zero(grad_output, x):
    return grad_output if x >= 0 else 0.0


@relu_backward.wrong("This is the wrong way round: the gradient passes where x > 0, and stops everywhere else.")
def inverted(grad_output, x):
    return 0.0 if x > 0 else grad_output


@relu_backward.criterion(
    "Where x > 0 the gradient passes, and where x < 0 it stops",
    points=2,
    cases=[(2.0, 3.0), (2.0, -1.0), (-2.0, 3.0), (-2.0, -1.0), (3.0, 0.25), (3.0, -0.25), (2.0, 1.0), (2.0, 1e-4)],
    anything=["grad_output"],
    random=lambda rng: (round(rng.uniform(0.5, 3), 2) * int(rng.choice([-1, 1])), round(rng.uniform(-3, 3), 2)),
)
def sides(answer, grad_output, x):
    return answer(grad_output, x)


@relu_backward.criterion("At x = 0 the gradient is 0, as in PyTorch", cases=[(5.0, 0.0), (-1.0, 0.0)])
def corner(answer, grad_output, x):
    return answer(grad_output, x)
