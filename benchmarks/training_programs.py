"""Six programs of the kind that teach, each written once: `train(T)` runs on either engine and returns its losses.

All start from the same numbers, which NumPy draws, so both engines are to give the same losses.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

STEPS = 20

TEXT = (
    "the derivative of a sum is the sum of the derivatives, the derivative of a product is not the product of the "
    "derivatives, and the derivative of a chain is the product of the derivatives along the chain. "
)


def same_start(T: Any, model: Any, seed: int = 0) -> None:
    """Give all parameters of a model values that NumPy draws."""
    rng = np.random.default_rng(seed)
    with T.no_grad():
        for p in model.parameters():
            p.copy_(T.tensor(rng.normal(0, 0.2, tuple(p.shape)).astype(np.float32)))


def run(T: Any, model: Any, optimizer: Any, batches: Any, loss_of: Any) -> list[float]:
    """The training loop: forward, backward, step."""
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@cache
def _images() -> Any:
    """Handwritten digits; scikit-learn takes a second to import, in every process that reads the tests."""
    from sklearn.datasets import load_digits

    return load_digits()


def _digits(T: Any, shape: tuple[int, ...], size: int = 64) -> list[Any]:
    data = _images()
    x = (data.data / 16).astype(np.float32).reshape(-1, *shape)
    return [
        (T.tensor(x[i * size : (i + 1) * size]), T.tensor(data.target[i * size : (i + 1) * size].astype(np.int64)))
        for i in range(STEPS)
    ]


def logistic_regression(T: Any) -> list[float]:
    batches = [(x, (y > 4).float()) for x, y in _digits(T, (64,))]
    model = T.nn.Linear(64, 1)
    same_start(T, model)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    return run(
        T, model, optimizer, batches, lambda z, y: T.nn.functional.binary_cross_entropy_with_logits(z.squeeze(1), y)
    )


def mlp(T: Any) -> list[float]:
    nn = T.nn
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    same_start(T, model)
    optimizer = T.optim.Adam(model.parameters(), lr=1e-2)
    return run(T, model, optimizer, _digits(T, (64,)), nn.CrossEntropyLoss())


def cnn(T: Any) -> list[float]:
    nn = T.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
            self.norm = nn.BatchNorm2d(8)
            self.conv2 = nn.Conv2d(8, 16, 3)
            self.pool = nn.MaxPool2d(2)
            self.head = nn.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            x = self.pool(T.relu(self.norm(self.conv1(x))))
            x = nn.functional.avg_pool2d(T.relu(self.conv2(x)), 2)
            return self.head(x.flatten(1))

    model = Net()
    same_start(T, model)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    return run(T, model, optimizer, _digits(T, (1, 8, 8)), nn.CrossEntropyLoss())


def _characters(T: Any, length: int, batch: int) -> tuple[int, list[Any]]:
    alphabet = sorted(set(TEXT))
    codes = np.array([alphabet.index(c) for c in TEXT * 20], dtype=np.int64)
    batches = []
    for step in range(STEPS):
        starts = (np.arange(batch) * 37 + step * 101) % (len(codes) - length - 1)
        x = np.stack([codes[s : s + length] for s in starts])
        y = np.stack([codes[s + 1 : s + length + 1] for s in starts])
        batches.append((T.tensor(x), T.tensor(y)))
    return len(alphabet), batches


def lstm(T: Any) -> list[float]:
    nn = T.nn
    classes, batches = _characters(T, 16, 8)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(classes, 16)
            self.lstm = nn.LSTM(16, 32, num_layers=2, batch_first=True)
            self.head = nn.Linear(32, classes)

        def forward(self, x: Any) -> Any:
            out, _ = self.lstm(self.embedding(x))
            return self.head(out)

    model = Net()
    same_start(T, model)
    optimizer = T.optim.RMSprop(model.parameters(), lr=1e-3)

    def loss_of(scores: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(scores.reshape(-1, classes), y.reshape(-1))

    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def transformer(T: Any) -> list[float]:
    nn = T.nn
    length, width = 16, 32
    classes, batches = _characters(T, length, 8)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            q, k, v = (z.view(n, t, 4, width // 4).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(width, dim=2))
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(n, t, width))
            return x + self.feed(self.norm2(x))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(classes, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, classes, bias=False)

        def forward(self, x: Any) -> Any:
            h = self.token(x) + self.place(T.arange(length))
            for block in self.blocks:
                h = block(h)
            return self.head(self.norm(h))

    model = Net()
    same_start(T, model)
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-3)
    return run(
        T, model, optimizer, batches, lambda z, y: nn.functional.cross_entropy(z.reshape(-1, classes), y.reshape(-1))
    )


def custom_function(T: Any) -> list[float]:
    nn = T.nn

    class Affine(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
            ctx.save_for_backward(x, weight)
            return x @ weight.t() + bias

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            x, weight = ctx.saved_tensors
            return grad_output @ weight, grad_output.t() @ x, grad_output.sum(0)

    class Layer(nn.Module):
        def __init__(self, inside: int, outside: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(T.zeros(outside, inside))
            self.bias = nn.Parameter(T.zeros(outside))

        def forward(self, x: Any) -> Any:
            return Affine.apply(x, self.weight, self.bias)

    model = nn.Sequential(Layer(64, 32), nn.Sigmoid(), Layer(32, 10))
    same_start(T, model)
    optimizer = T.optim.Adagrad(model.parameters(), lr=0.05)
    return run(T, model, optimizer, _digits(T, (64,)), nn.CrossEntropyLoss())


PROGRAMS = [logistic_regression, mlp, cnn, lstm, transformer, custom_function]
