"""Layers, losses and an optimizer over an engine of somebody's own, so that it can train what the playground offers.

Data are NumPy arrays, as they need no gradient. What is computed from a weight is a tensor of the engine, by the
engine's own ops and backward pass. tinygrad_edu draws the first weights, so every engine starts with the same ones.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from viz import engines
from viz.engines import CORE
from viz.recording.teaching import check, name_of


class Names(SimpleNamespace):
    """What there is under `nn` or `optim`; for another name a sentence."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no {name} over an engine of your own")


class Module:
    """A part of a network. Its attributes that are modules are its children."""

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def forward(self, x: Any) -> Any:
        raise NotImplementedError

    def _named(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield from value._named(f"{prefix}{name}.")

    def children(self) -> list[Module]:
        return [value for value in vars(self).values() if isinstance(value, Module)]

    def modules(self) -> list[Module]:
        return [child for _, child in self._named()]

    def named_parameters(self) -> list[tuple[str, Any]]:
        linear = [(prefix, child) for prefix, child in self._named() if isinstance(child, Linear)]
        return [(f"{prefix}{name}", getattr(layer, name)) for prefix, layer in linear for name in ("weight", "bias")]

    def parameters(self) -> list[Any]:
        return [parameter for _, parameter in self.named_parameters()]

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of each parameter's numbers."""
        face = next(module.face for module in self.modules() if isinstance(module, Linear))
        return {name: np.array(face.array(parameter)) for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        for prefix, child in self._named():
            if isinstance(child, Linear):
                child.weight, child.bias = (child.face.leaf(state[f"{prefix}{name}"]) for name in ("weight", "bias"))

    def eval(self) -> Module:
        return self


class Linear(Module):
    face: Face

    def __init__(self, inputs: int, outputs: int) -> None:
        drawn = self.face.core.module.nn.Linear(inputs, outputs)
        self.weight, self.bias = (self.face.leaf(self.face.core.array(array)) for array in (drawn.weight, drawn.bias))

    def forward(self, x: Any) -> Any:
        x = x if isinstance(x, self.face.own.tensor_type) else self.face.T.tensor(x)
        return x @ self.face.op("t", self.weight) + self.bias


class Sequential(Module):
    def __init__(self, *parts: Module) -> None:
        vars(self).update((str(index), part) for index, part in enumerate(parts))

    def forward(self, x: Any) -> Any:
        for child in self.children():
            x = child(x)
        return x


class Activation(Module):
    def __init__(self, face: Face, name: str) -> None:
        self.face, self.name = face, name

    def forward(self, x: Any) -> Any:
        return self.face.op(self.name, x)


class SGD:
    def __init__(
        self, face: Face, parameters: Iterable[Any], lr: float, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        self.face, self.parameters, self.lr = face, list(parameters), lr
        self.momentum, self.weight_decay = momentum, weight_decay
        self.before: list[Any] = [0.0] * len(self.parameters)

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        for index, parameter in enumerate(self.parameters):
            grad = self.face.array(parameter.grad) + self.weight_decay * self.face.array(parameter)
            self.before[index] = grad = self.momentum * self.before[index] + grad
            self.face.subtract(parameter, self.lr * grad)


class Face:
    """What a program of the playground calls `T`, over an engine of one's own.

    Its own `T` has `tensor(data, requires_grad)`, `no_grad()` and PyTorch's names for its ops: docs/engines.md.

    Raises:
        TypeError: the engine lacks a part.
    """

    float32, int64 = np.float32, np.int64
    sin, stack = staticmethod(np.sin), staticmethod(lambda columns, dim: np.stack(columns, axis=dim))

    def __init__(self, engine: Any) -> None:
        check(engine)
        self.own, self.T, self.core = engine, getattr(engine, "T", engine), engines.load(CORE)
        self.same_randomness, self.default_dtype = self.core.same_randomness, self.core.default_dtype
        self.manual_seed = self.core.module.manual_seed
        self.nn = Names(
            Module=Module,
            Sequential=Sequential,
            Linear=type("Linear", (Linear,), {"face": self}),
            Tanh=partial(Activation, self, "tanh"),
            ReLU=partial(Activation, self, "relu"),
            Sigmoid=partial(Activation, self, "sigmoid"),
            CrossEntropyLoss=lambda: self.cross_entropy,
            MSELoss=lambda: lambda found, wanted: self.op("mean", (found - wanted) * (found - wanted)),
            init=_Init(self),
        )
        self.optim = Names(SGD=partial(SGD, self))

    def __deepcopy__(self, memo: Any) -> Face:  # a copy of a network is one over the same engine
        return self

    def tensor(self, data: Any, dtype: Any = None) -> np.ndarray:
        """Data: an array."""
        return np.asarray(data, dtype=dtype)

    def no_grad(self) -> AbstractContextManager[Any]:
        return self.T.no_grad()  # type: ignore[no-any-return]

    def on_one_thread(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def array(self, thing: Any) -> np.ndarray:
        """The numbers of a tensor of the engine, or of data."""
        return np.asarray(self.own.value(thing) if isinstance(thing, self.own.tensor_type) else thing)

    def leaf(self, numbers: np.ndarray) -> Any:
        return self.T.tensor(numbers, requires_grad=True)

    def op(self, name: str, x: Any, *inputs: Any, **settings: Any) -> Any:
        """An op that the engine has as a method of its tensors, or as a function."""
        if hasattr(x, name):
            return getattr(x, name)(*inputs, **settings)
        if not hasattr(self.T, name):
            raise NotImplementedError(f"{name_of(self.own)} has no {name}")
        return getattr(self.T, name)(x, *inputs, **settings)

    def cross_entropy(self, scores: Any, labels: Any) -> Any:
        scores = scores - self.array(scores).max(1, keepdims=True)  # no exponent is large
        right = np.eye(scores.shape[1])[self.array(labels).astype(int)]
        whole = self.op("log", self.op("sum", self.op("exp", scores), 1, keepdim=True))
        return self.op("mean", whole - self.op("sum", scores * right, 1, keepdim=True))

    def subtract(self, parameter: Any, numbers: np.ndarray) -> None:
        """Write to a parameter, with the engine's own `-=`."""
        with self.no_grad():
            if operator.isub(parameter, self.T.tensor(numbers)) is not parameter:
                raise NotImplementedError(f"{name_of(self.own)} has no -= that writes in place")


class _Init:
    """`nn.init`: what tinygrad_edu draws for a parameter of this shape is written to it."""

    def __init__(self, face: Face) -> None:
        self.face = face

    def __getattr__(self, name: str) -> Any:
        def fill(parameter: Any, **settings: Any) -> None:
            core, before = self.face.core.module, self.face.array(parameter)
            drawn = getattr(core.nn.init, name)(core.empty(before.shape, dtype=core.float32), **settings)
            self.face.subtract(parameter, before - self.face.core.array(drawn))

        return fill
