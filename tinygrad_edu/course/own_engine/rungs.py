"""The rungs of the ladder: programs from a product to a GPT block, for a student's engine and PyTorch alike.

Each takes the engine as `T` and returns tensors by name. Values and gradients are compared, or the error and its line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MOON_STEPS = 60

Program = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Rung:
    """One rung: what it asks of the engine, and the program."""

    name: str
    asks: str
    program: Program


def product(T):
    w = T.tensor(3.0, requires_grad=True)
    x = T.tensor(2.0)
    with T.no_grad():
        frozen = x * w
    y = frozen * w
    y.backward()
    return {"y": y, "w": w, "x": x, "frozen": frozen}


def neuron(T):
    w = T.tensor(3.0, requires_grad=True)
    b = T.tensor(-1.0, requires_grad=True)
    y = T.relu(w * 2.0 + b)
    off = T.relu(b * 2.0)
    loss = y + off
    loss.backward()
    return {"y": y, "w": w, "b": b}


def diamond(T):
    x = T.tensor(3.0, requires_grad=True)
    a = x * 2.0
    y = a * x + a
    y.backward()
    return {"y": y, "x": x}


def late(T):
    x = T.tensor(2.0, requires_grad=True)
    a = x * 3.0
    b = a * a
    c = b * a
    loss = a + c
    loss.backward()
    return {"loss": loss, "x": x}


def broadcasting(T):
    x = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    row = T.tensor([1.0, -1.0, 0.5], requires_grad=True)
    column = T.tensor([[2.0], [-3.0]], requires_grad=True)
    loss = ((x + row) * column).mean()
    loss.backward()
    return {"loss": loss, "x": x, "row": row, "column": column}


def layer(T):
    x = T.tensor([[1.0, -1.0], [2.0, 0.5], [1.0, 3.0]])
    w = T.tensor([[1.0, 2.0, -1.0], [3.0, -4.0, 0.5]], requires_grad=True)
    b = T.tensor([0.5, -9.0, 1.0], requires_grad=True)
    loss = T.relu(x @ w + b).mean()
    loss.backward()
    return {"loss": loss, "w": w, "b": b}


def seed(T):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = w * w
    y.backward(T.tensor([1.0, 10.0]))
    z = w * 3.0
    z.backward()
    return {"w": w}


def accumulation(T):
    w = T.tensor(3.0, requires_grad=True)
    first = w * 2.0
    first.backward()
    second = w * 5.0
    second.backward()
    return {"w": w}


def second_pass(T):
    w = T.tensor(3.0, requires_grad=True)
    y = w * w
    y.backward()
    y.backward()
    return {"w": w}


def retained(T):
    w = T.tensor(3.0, requires_grad=True)
    y = w * w
    y.backward(retain_graph=True)
    y.backward()
    return {"w": w}


def written(T):
    w = T.tensor(3.0, requires_grad=True)
    a = w * 2.0
    y = a * a
    a += 1.0
    y.backward()
    return {"w": w}


def deep(T):
    w = T.tensor(1.0, requires_grad=True)
    y = w
    for _ in range(5000):
        y = y + 0.001
    y.backward()
    return {"y": y, "w": w}


def function(T):
    base = getattr(T, "autograd", T).Function

    class Cube(base):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3.0 * x * x

    x = T.tensor(2.0, requires_grad=True)
    y = Cube.apply(x) * 2.0
    y.backward()
    return {"y": y, "x": x}


def _train(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            loss = ((w * x - y) * (w * x - y)).mean()
            loss.backward()
            with T.no_grad():
                w -= lr * w.grad
            w.grad = None
    return w


def line(T):
    w = T.tensor(0.0, requires_grad=True)
    batches = [(T.tensor([1.0, 2.0]), T.tensor([3.0, 6.0])), (T.tensor([3.0, -1.0]), T.tensor([9.0, -3.0]))]
    w = getattr(T, "train", lambda *given: _train(T, *given))(
        *((T,) if hasattr(T, "train") else ()), w, batches, 0.05, 4
    )
    return {"w": w}


def moons(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two moons that lie in each other: points of shape (count, 2) and labels of shape (count, 1), 0 or 1."""
    angle = np.linspace(0.0, np.pi, count // 2)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1.0 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    noise = np.random.default_rng(0).normal(0.0, 0.08, (count, 2))
    return np.concatenate([upper, lower]) + noise, np.repeat([[0.0], [1.0]], count // 2, axis=0)


def _weights(T, *shapes):
    draw = np.random.default_rng(1)
    return [
        T.tensor((draw.standard_normal(shape) / np.sqrt(shape[0])).tolist(), requires_grad=True) for shape in shapes
    ]


def two_moons(T):
    points, labels = moons()
    x, y = T.tensor(points.tolist()), T.tensor(labels.tolist())
    w1, b1, w2, b2 = parameters = _weights(T, (2, 8), (1, 8), (8, 1), (1, 1))
    for _ in range(MOON_STEPS):
        out = T.tanh(x @ w1 + b1) @ w2 + b2
        loss = ((out - y) * (out - y)).mean()
        for one in parameters:
            one.grad = None
        loss.backward()
        with T.no_grad():
            for one in parameters:
                one -= 0.1 * one.grad
    return {"loss": loss, "w1": w1, "b2": b2}


def gpt_block(T):
    table, wq, wk, wv, up, down, head = parameters = _weights(
        T, (5, 8), (8, 8), (8, 8), (8, 8), (8, 16), (16, 8), (8, 5)
    )
    text = [0, 3, 1, 4, 2, 2]
    mask = T.tensor(np.triu(np.full((5, 5), -1e9), 1).tolist())

    def norm(x):
        x = x - x.sum(1, keepdim=True) / 8.0
        return x / ((x * x).sum(1, keepdim=True) / 8.0 + 1e-5) ** 0.5

    def softmax(x):
        grown = T.exp(x)
        return grown / grown.sum(1, keepdim=True)

    x = table[text[:-1]]
    n = norm(x)
    attention = softmax((n @ wq) @ (n @ wk).t() / 8.0**0.5 + mask)
    x = x + attention @ (n @ wv)
    x = x + T.relu(norm(x) @ up) @ down
    chosen = softmax(x @ head)[[0, 1, 2, 3, 4], text[1:]]
    loss = -T.log(chosen).mean()
    loss.backward()
    return {"loss": loss, **{f"parameter {place}": one for place, one in enumerate(parameters)}}


RUNGS = (
    Rung("a product", "its rule, its parents, and that nothing is recorded where nothing requires a gradient", product),
    Rung("a neuron", "the rule of relu, on both of its sides", neuron),
    Rung("a diamond", "gradients of two ways that meet are added", diamond),
    Rung("a late arrival", "a node waits until all gradients for it have come", late),
    Rung("broadcasting", "a stretched operand gets its gradient summed back to its shape", broadcasting),
    Rung("a layer", "matmul, mean and relu of arrays", layer),
    Rung("the first gradient", "a seed for a vector, and an error without one", seed),
    Rung("two losses", "a leaf keeps the sum of the gradients of all passes", accumulation),
    Rung("a second pass", "saved values are freed, and the second pass says so", second_pass),
    Rung("retain_graph", "saved values are kept when asked to", retained),
    Rung("a write in place", "a saved value that was written to is found out", written),
    Rung("5,000 ops in a row", "the order is found without recursion", deep),
    Rung("a Function", "an op with a forward and a backward of its own", function),
    Rung("a line", "your training loop: a step along the gradient, which is then cleared", line),
    Rung("two moons", "a network learns", two_moons),
    Rung("a GPT block", "attention, normalisation, a loss: with further ops of the course", gpt_block),
)
