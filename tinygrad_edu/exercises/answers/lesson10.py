"""Lesson 10, deep networks: how large the first weights are, and what a shortcut does to the gradient."""

import math

import numpy as np

from ..exercise import Exercise

he_weight = Exercise("he_weight", "he_weight(noise)", lesson=10)


@he_weight.right
def by_the_root(noise):
    return noise * np.sqrt(2 / noise.shape[1])


@he_weight.right
def divided(noise):
    _, inputs = noise.shape
    return noise / (inputs / 2) ** 0.5


@he_weight.wrong("You counted the rows: those are the outputs. A row adds up its inputs, and those are the columns.")
def by_outputs(noise):
    return noise * np.sqrt(2 / noise.shape[0])


@he_weight.wrong(
    "This preserves the size through a layer without ReLU. The ReLU sets half of the values to 0, which halves their "
    "mean square. So the variance must be twice as large."
)
def without_relu(noise):
    return noise * np.sqrt(1 / noise.shape[1])


@he_weight.wrong(
    "2 / inputs is the variance that the weights should have. Multiply the noise by the standard deviation, which is "
    "its square root."
)
def by_the_variance(noise):
    return noise * (2 / noise.shape[1])


@he_weight.wrong(
    "This is Xavier's compromise between the forward and the backward pass. Here only the inputs and the ReLU count."
)
def xavier(noise):
    return noise * np.sqrt(2 / sum(noise.shape))


@he_weight.wrong("The more inputs a row adds up, the smaller each weight has to be; yours grow with their number.")
def grows(noise):
    return noise * np.sqrt(noise.shape[1] / 2)


@he_weight.wrong("You divided by the number of all weights. A row adds up only its own weights: one for each column.")
def by_all(noise):
    return noise * np.sqrt(2 / noise.size)


@he_weight.wrong("Take the root of the whole fraction 2 / inputs. You took it of the inputs only.")
def root_of_inputs(noise):
    return noise * (2 / np.sqrt(noise.shape[1]))


@he_weight.criterion(
    "Each weight is scaled by the number of its inputs",
    points=2,
    cases=[
        (np.array([[1.0, -1.0, 2.0, 0.0, 1.0, 1.0, -2.0, 3.0]]),),
        (np.arange(1.0, 25.0).reshape(3, 8),),
        (np.arange(1.0, 13.0).reshape(6, 2) - 6,),
        (np.array([[3.0]]),),
    ],
    anything=["noise"],
    random=lambda rng: (rng.normal(size=rng.integers(2, 7, size=2)).round(2),),
)
def scaled(answer, noise):
    return answer(noise)


@he_weight.criterion(
    "Through twenty such layers with a ReLU, the mean square stays about the same", cases=[(32,), (50,)]
)
def kept(answer, width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(width, 16))
    with np.errstate(all="ignore"):  # wrong answers may overflow or return nan
        for _ in range(20):
            x = np.maximum(np.asarray(answer(rng.normal(size=(width, width)))) @ x, 0)
        return float(np.mean(x**2))


residual_backward = Exercise("residual_backward", "residual_backward(grad_output, x, w)", lesson=10)


@residual_backward.picture
def block(T, grad_output, x, w):
    x, w = T.tensor(x, requires_grad=True), T.tensor(w, requires_grad=True)
    return {"x": x, "w": w, "y": x + (w * x).tanh()}


@residual_backward.right
def both_ways(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return grad_output * (1 + w * slope), grad_output * x * slope


@residual_backward.right
def step_by_step(grad_output, x, w):
    grad_shortcut = grad_output
    grad_product = grad_output / math.cosh(w * x) ** 2
    return grad_shortcut + grad_product * w, grad_product * x


@residual_backward.wrong(
    "You followed the path through tanh and left out the shortcut: x also goes straight into the sum. The gradients of "
    "both paths add up."
)
def without_the_shortcut(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return grad_output * w * slope, grad_output * x * slope


@residual_backward.wrong(
    "You followed only the shortcut: x also goes through w · x and tanh. The gradients of both paths add up."
)
def shortcut_alone(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return grad_output, grad_output * x * slope


@residual_backward.wrong(
    "You added the 1 of the shortcut unchanged. It is a slope like the other one: multiply it by the gradient that "
    "arrives."
)
def one_as_it_is(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return 1 + grad_output * w * slope, grad_output * x * slope


@residual_backward.wrong("The gradient that arrives, grad_output, is missing: these are only the local derivatives.")
def ignores_grad_output(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return 1 + w * slope, x * slope


@residual_backward.wrong("The slope of tanh is missing: 1 − tanh², at w · x.")
def without_the_slope(grad_output, x, w):
    return grad_output * (1 + w), grad_output * x


@residual_backward.wrong("You took the slope of tanh at x. The input of tanh is w · x, so take the slope there.")
def slope_at_x(grad_output, x, w):
    slope = 1 - math.tanh(x) ** 2
    return grad_output * (1 + w * slope), grad_output * x * slope


@residual_backward.wrong("The slope of tanh is 1 − tanh(w · x)²: square the output of tanh, not its input.")
def square_of_the_input(grad_output, x, w):
    slope = 1 - (w * x) ** 2
    return grad_output * (1 + w * slope), grad_output * x * slope


@residual_backward.wrong("The square is missing: the slope of tanh is 1 − tanh(w · x)².")
def without_the_square(grad_output, x, w):
    slope = 1 - math.tanh(w * x)
    return grad_output * (1 + w * slope), grad_output * x * slope


@residual_backward.wrong(
    "You squared y, which already contains x. The slope of tanh is 1 minus the square of tanh(w · x) only."
)
def square_of_the_output(grad_output, x, w):
    slope = 1 - (x + math.tanh(w * x)) ** 2
    return grad_output * (1 + w * slope), grad_output * x * slope


@residual_backward.wrong("Your w also gets a gradient from the shortcut. The shortcut adds x, and w is not part of it.")
def shortcut_for_w(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return grad_output * (1 + w * slope), grad_output * (1 + x * slope)


@residual_backward.wrong(
    "The factors are swapped: through w · x the gradient of x is multiplied by w, and that of w by x."
)
def swapped(grad_output, x, w):
    slope = 1 - math.tanh(w * x) ** 2
    return grad_output * (1 + x * slope), grad_output * w * slope


@residual_backward.criterion(
    "With grad_output = 1 the gradients are the local derivatives",
    cases=[(1.0, 0.5, 2.0), (1.0, -1.5, 0.25)],
    anything=["x", "w"],
)
def local(answer, grad_output, x, w):
    return answer(grad_output, x, w)


@residual_backward.criterion(
    "The gradient that arrives is multiplied by the sum of both paths",
    points=2,
    cases=[(2.0, 0.5, 1.5), (-3.0, 1.0, -0.5), (0.5, -0.25, 3.0), (2.0, 0.0, -1.0)],
    anything=["grad_output", "x", "w"],
    random=lambda rng: tuple(rng.uniform(-2, 2, size=3).round(2).tolist()),
)
def chained(answer, grad_output, x, w):
    return answer(grad_output, x, w)


@residual_backward.criterion(
    "Where tanh is flat, the gradient still comes through the shortcut", cases=[(2.0, 3.0, 10.0), (-1.0, 5.0, -8.0)]
)
def flat(answer, grad_output, x, w):
    return answer(grad_output, x, w)
