"""Lesson 4, tensors and broadcasting: backward rules on NumPy arrays."""

import numpy as np

from ..exercise import Exercise


def arrays(*shapes):
    """A case of random arrays. They hold small integers, so that the report is easy to read."""
    return lambda rng: tuple(rng.integers(-3, 4, size=shape).astype(float) for shape in shapes)


def counting(*shape):
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


unbroadcast = Exercise("unbroadcast", "unbroadcast(grad, shape)", lesson=4)


@unbroadcast.picture
def addition(T, grad, shape):
    x, other = T.zeros(shape, requires_grad=True), T.zeros(grad.shape)
    return {"x": x, "other": other, "y": x + other}


@unbroadcast.right
def sum_what_was_repeated(grad, shape):
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return grad.sum(axis=axes, keepdims=True)


@unbroadcast.right
def axis_by_axis(grad, shape):
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    for axis, n in enumerate(padded):
        if n == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad.reshape(shape)


@unbroadcast.wrong(
    "You returned grad unchanged, in the shape of the result. An element that was repeated receives a gradient from "
    "every copy: sum them."
)
def no_sum(grad, shape):
    return grad


@unbroadcast.wrong(
    "You took one of the copies. An element that was repeated receives a gradient from *every* copy: sum them."
)
def takes_the_first(grad, shape):
    while grad.ndim > len(shape):
        grad = grad[0]
    for axis, n in enumerate(shape):
        if n == 1:
            grad = grad.take([0], axis=axis)
    return grad


@unbroadcast.wrong("You averaged the gradients of the copies. The chain rule sums over all paths, without division.")
def mean_of_the_copies(grad, shape):
    grad = grad.mean(axis=tuple(range(grad.ndim - len(shape))))
    return grad.mean(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@unbroadcast.wrong(
    "You summed over the wrong axis. Broadcasting aligns shapes at their *last* axis; the missing axes are in front."
)
def aligned_at_the_first_axis(grad, shape):
    grad = grad.sum(axis=tuple(range(len(shape), grad.ndim)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return grad.sum(axis=axes, keepdims=True)


@unbroadcast.wrong(
    "You summed the axes in front. An axis of size 1 in `shape` was repeated, too: sum over it, and keep it."
)
def axes_in_front_alone(grad, shape):
    return grad.sum(axis=tuple(range(grad.ndim - len(shape))))


@unbroadcast.wrong(
    "You summed an axis of size 1 away. The gradient has the shape of the input: keep the axis with `keepdims=True`."
)
def axis_dropped(grad, shape):
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    return grad.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1))


@unbroadcast.wrong(
    "You summed an axis away, and so the axes behind it moved: the next index points to another axis, or to none. Keep "
    "it with `keepdims=True`."
)
def axes_that_move(grad, shape):
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    for axis, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(axis=axis)
    return grad


@unbroadcast.criterion(
    "Nothing was repeated: nothing is summed",
    cases=[(counting(2), (2,)), (counting(2, 3), (2, 3)), (counting(0), (0,))],
    anything=["grad"],
)
def nothing_repeated(answer, grad, shape):
    return answer(grad, shape)


@unbroadcast.criterion(
    "Axes that broadcasting put in front are summed",
    cases=[
        (counting(2), ()),
        (counting(2, 2), (2,)),
        (counting(2, 2, 2), (2, 2)),
        (counting(2, 3, 2), (2,)),
        (counting(2, 3), ()),
        (counting(0, 2), (2,)),
    ],
    anything=["grad"],
    random=lambda rng: (*arrays((3, 3))(rng), (3,)),
)
def axes_in_front(answer, grad, shape):
    return answer(grad, shape)


@unbroadcast.criterion(
    "Axes of size 1 that were stretched are summed and stay",
    points=2,
    cases=[
        (counting(2, 2), (2, 1)),
        (counting(2, 3), (1, 3)),
        (counting(2, 2, 2), (2, 1)),
        (counting(2, 3), (1, 1)),
        (counting(2, 2, 3), (1,)),
        (counting(2, 2, 2, 3), (1, 3)),
        (counting(3, 1), (1, 1)),
    ],
    anything=["grad"],
    random=lambda rng: (*arrays((2, 3, 2))(rng), (2, 1, 2)),
)
def stretched_axes(answer, grad, shape):
    return answer(grad, shape)


mean_backward = Exercise("mean_backward", "mean_backward(grad_output, shape)", lesson=4)


@mean_backward.picture
def mean(T, grad_output, shape):
    x = T.ones(shape, requires_grad=True)
    return {"x": x, "y": x.mean()}


@mean_backward.right
def spread(grad_output, shape):
    return np.full(shape, grad_output / np.prod(shape))


@mean_backward.right
def ones_times(grad_output, shape):
    ones = np.ones(shape)
    return ones * grad_output / ones.size


@mean_backward.wrong(
    "This is the gradient of the sum. The mean divides by n, so every element receives 1/n of grad_output."
)
def rule_of_sum(grad_output, shape):
    return np.full(shape, grad_output)


@mean_backward.wrong("n is the number of all elements, not the length of one axis.")
def one_axis(grad_output, shape):
    return np.full(shape, grad_output / shape[0])


@mean_backward.wrong("You left out grad_output, the gradient that arrives: multiply by it.")
def ignores_grad_output(grad_output, shape):
    return np.full(shape, 1 / np.prod(shape))


@mean_backward.wrong(
    "You returned one number. Every element of the input has a gradient: the result has the input's shape."
)
def one_number(grad_output, shape):
    return grad_output / np.prod(shape)


@mean_backward.wrong("`len(shape)` is the number of axes. n is the number of elements: the product of the shape.")
def number_of_axes(grad_output, shape):
    return np.full(shape, grad_output / len(shape))


@mean_backward.criterion(
    "Every element receives its share of grad_output",
    points=2,
    cases=[(1.0, (2,)), (6.0, (3,)), (1.0, (2, 3)), (6.0, (2, 2)), (-3.0, (1, 3, 2)), (2.0, (1,))],
    anything=["grad_output"],
)
def shares(answer, grad_output, shape):
    return answer(grad_output, shape)


matmul_backward = Exercise("matmul_backward", "matmul_backward(grad_output, a, b)", lesson=4)


@matmul_backward.picture
def matmul(T, grad_output, a, b):
    a, b = T.tensor(a, requires_grad=True), T.tensor(b, requires_grad=True)
    return {"a": a, "b": b, "c": a @ b}


@matmul_backward.right
def transposed(grad_output, a, b):
    return grad_output @ b.T, a.T @ grad_output


@matmul_backward.right
def by_einsum(grad_output, a, b):
    return np.einsum("ij,kj->ik", grad_output, b), np.einsum("ij,ik->jk", a, grad_output)


@matmul_backward.wrong(
    "A transpose is missing in each of the two products. Write down the shapes: the gradient of a has the shape of a, "
    "and the gradient of b has the shape of b."
)
def no_transpose(grad_output, a, b):
    return grad_output @ b, a @ grad_output


@matmul_backward.wrong(
    "You swapped the order of the factors, but matrices do not commute. The gradient of a has grad_output on the left, "
    "just as a is left of b."
)
def order_swapped(grad_output, a, b):
    return b.T @ grad_output, grad_output @ a.T


@matmul_backward.wrong(
    "You multiplied element by element. Every element of a takes part in a whole row of the result: use @."
)
def element_by_element(grad_output, a, b):
    return grad_output * b, grad_output * a


@matmul_backward.wrong("The two gradients are swapped: the first belongs to a.")
def exchanged(grad_output, a, b):
    return a.T @ grad_output, grad_output @ b.T


@matmul_backward.criterion(
    "Square matrices",
    cases=[(np.eye(2), counting(2, 2), counting(2, 2) + 4.0)],
    random=arrays((2, 2), (2, 2), (2, 2)),
    anything=["grad_output", "a", "b"],
)
def square(answer, grad_output, a, b):
    return answer(grad_output, a, b)


@matmul_backward.criterion(
    "The gradients have the shapes of a and b",
    points=2,
    cases=[(counting(1, 1), counting(1, 2), counting(2, 1))],
    random=arrays((2, 4), (2, 3), (3, 4)),
    anything=["grad_output", "a", "b"],
)
def rectangular(answer, grad_output, a, b):
    return answer(grad_output, a, b)


first_gradient = Exercise("first_gradient", "first_gradient(output, gradient=None)", lesson=4)


@first_gradient.right
def as_pytorch(output, gradient=None):
    if gradient is None:
        if output.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return np.ones_like(output)
    if gradient.shape != output.shape:
        raise RuntimeError("Mismatch in shape")
    return gradient


@first_gradient.right
def as_pytorch_in_another_order(output, gradient=None):
    if gradient is not None and np.shape(gradient) == output.shape:
        return gradient.copy()
    if gradient is None and output.size == 1:
        return np.ones(output.shape)
    raise RuntimeError("no gradient fits this output")


@first_gradient.wrong(
    "You silently took the sum of a vector: that is what starting with ones means. PyTorch raises a RuntimeError "
    "instead, because you must say which gradient you want."
)
def silently_summed(output, gradient=None):
    if gradient is None:
        return np.ones_like(output)
    return as_pytorch(output, gradient)


@first_gradient.wrong(
    "A tensor with one element counts as a scalar, however many axes it has: [1.0] needs no gradient either."
)
def refuses_one_element(output, gradient=None):
    if gradient is None and output.shape != ():
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return as_pytorch(output, gradient)


@first_gradient.wrong("A gradient of another shape slipped through: it must have the shape of the output.")
def any_shape(output, gradient=None):
    return as_pytorch(output) if gradient is None else gradient


@first_gradient.wrong(
    "You compared the number of elements. The *shapes* must be equal: a gradient of shape (4,) does not fit an output "
    "of shape (2, 2)."
)
def compares_sizes(output, gradient=None):
    return (
        as_pytorch(output) if gradient is None else as_pytorch(output.ravel(), gradient.ravel()).reshape(gradient.shape)
    )


@first_gradient.wrong("You returned ones although the user gave a gradient. Backward starts with that gradient.")
def ignores_the_gradient(output, gradient=None):
    return np.ones_like(as_pytorch(output, gradient))


@first_gradient.wrong("The seed of a scalar is dL/dL = 1, not the value of L.")
def seed_is_the_value(output, gradient=None):
    return as_pytorch(output, gradient) * output if gradient is None else as_pytorch(output, gradient)


@first_gradient.criterion(
    "A scalar starts with 1", cases=[(np.array(5.0),), (np.array([7.0]),), (np.array([[0.0]]),)], anything=["output"]
)
def scalar(answer, output):
    return answer(output)


@first_gradient.criterion(
    "More than one element needs a gradient", points=2, cases=[(counting(2),), (counting(2, 2),)], anything=["output"]
)
def vector(answer, output):
    return answer(output)


@first_gradient.criterion(
    "The gradient that the user gives must fit",
    cases=[
        (counting(2), np.array([0.5, 0.0])),
        (counting(2), np.array([0.0, 0.0])),
        (counting(2), np.array([-1.0, 3.0])),
        (np.array(5.0), np.array(2.0)),
        (np.array([5.0]), np.array([2.0])),
        (counting(2), np.array([1.0])),
        (counting(2, 2), counting(4)),
        (counting(2, 3), counting(3, 2)),
    ],
)
def given(answer, output, gradient):
    return answer(output, gradient)
