"""The same seed gives the numbers that PyTorch draws, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

# Beyond these, the engines round a logarithm or a cosine differently.
ROUNDING = 1e-6


def drawn(E: Any, program: Callable[[Any], Any], seed: int = 7) -> list[np.ndarray]:
    """The numbers that a program draws from a seed, and the next ones, which show that it drew the right count."""
    E.manual_seed(seed)
    made = program(E)
    tensors = [*made] if isinstance(made, tuple | list) else [made]
    return [t.detach().numpy() for t in [*tensors, E.rand(2)]]


def assert_same(program: Callable[[Any], Any], seed: int = 7) -> None:
    ours, theirs = drawn(T, program, seed), drawn(torch, program, seed)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING)


def filled(name: str, *args: Any, shape: Any = (5, 7), dtype: str = "float32") -> Callable[[Any], Any]:
    def program(E: Any) -> Any:
        return getattr(E.empty(*shape, dtype=getattr(E, dtype)), name)(*args)

    return program


DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda E: E.rand(100),
    "rand in double precision": lambda E: E.rand(100, dtype=E.float64),
    "rand in half precision": lambda E: E.rand(100, dtype=E.float16),
    "randn of few": lambda E: (E.randn(3), E.randn(1), E.randn(20), E.randn(2, 2)),
    "randn of many": lambda E: E.randn(1003),
    "randn of many in double precision": lambda E: E.randn(1003, dtype=E.float64),
    "randint": lambda E: E.randint(-3, 9, (50,)),
    "randint of a wide range": lambda E: E.randint(0, 2**40, (50,)),
    "randint as floats": lambda E: E.randint(5, (50,), dtype=E.float32),
    "randperm": lambda E: E.randperm(1000),
    "randperm of one": lambda E: E.randperm(1),
    "rand_like": lambda E: E.rand_like(E.ones(2, 3)),
    "randn_like": lambda E: E.randn_like(E.ones(20, 3)),
    "randint_like": lambda E: E.randint_like(E.ones(20, 3), 5),
    "normal of numbers": lambda E: E.normal(-0.3, 0.7, (100,)),
    "normal of tensors": lambda E: E.normal(E.ones(3), E.ones(3) * 2),
    "bernoulli": lambda E: E.bernoulli(E.full((100,), 0.3)),
    "multinomial with replacement": lambda E: E.multinomial(E.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), 20, True),
    "uniform_": filled("uniform_", -0.3, 0.7),
    "normal_ of few": filled("normal_", -0.3, 0.7, shape=(3, 3)),
    "normal_ of many": filled("normal_", -0.3, 0.7),
    "bernoulli_ of a tensor": lambda E: E.empty(100).bernoulli_(E.full((100,), 0.3)),
    "log_normal_": filled("log_normal_", 1, 0.5),
    "geometric_": filled("geometric_", 0.3),
    "cauchy_": filled("cauchy_", 1, 2),
    "random_ below": filled("random_", 5),
    "random_ between": filled("random_", -3, 5),
    **{
        f"random_ of {d}": filled("random_", dtype=d) for d in ("float32", "float64", "int64", "int32", "uint8", "bool")
    },
}


@pytest.mark.parametrize("program", DRAWS.values(), ids=DRAWS)
def test_a_draw_gives_the_numbers_of_pytorch(program: Callable[[Any], Any]) -> None:
    assert_same(program)


@pytest.mark.parametrize("seed", [0, 1, 42, -5, 2**40 + 3])
def test_each_seed_begins_as_in_pytorch(seed: int) -> None:
    assert_same(lambda E: E.rand(3), seed)
    assert T.manual_seed(seed).initial_seed() == torch.manual_seed(seed).initial_seed()


def _pytorch_draws_chances_itself() -> bool:
    """On Intel's processors a library draws them for PyTorch, from its own generator."""
    torch.manual_seed(7)
    given = torch.empty(50).bernoulli_(0.5)
    torch.manual_seed(7)
    return bool(torch.equal(given, (torch.rand(50, dtype=torch.float64) < 0.5).float()))


CHANCES: dict[str, Callable[[Any], Any]] = {
    "bernoulli_": filled("bernoulli_", 0.3),
    "bernoulli_ of integers": filled("bernoulli_", 0.3, dtype="int64"),
    "exponential_": filled("exponential_", 2.0),
    "multinomial without replacement": lambda E: E.multinomial(E.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), 2),
    "multinomial of one": lambda E: E.multinomial(E.tensor([0.1, 0.2, 0.7]), 1, True),
    "dropout": lambda E: E.nn.functional.dropout(E.ones(100), 0.4),
    "dropout of all": lambda E: E.nn.functional.dropout(E.ones(100), 1.0),
    "dropout2d": lambda E: E.nn.functional.dropout2d(E.ones(10, 4, 3, 3), 0.4),
}


@pytest.mark.skipif(
    not _pytorch_draws_chances_itself(), reason="on this processor PyTorch draws them by another library"
)
@pytest.mark.parametrize("program", CHANCES.values(), ids=CHANCES)
def test_chances_fall_as_in_pytorch(program: Callable[[Any], Any]) -> None:
    assert_same(program)


INITS = {
    **dict.fromkeys(("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_"), ()),
    **dict.fromkeys(("kaiming_normal_", "orthogonal_", "trunc_normal_"), ()),
    "trunc_normal_ of a tail": (0.0, 1.0, 1.5, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize("shape", [(5, 7), (7, 5, 3)])
def test_an_init_gives_the_numbers_of_pytorch(name: str, shape: tuple[int, ...]) -> None:
    assert_same(lambda E: getattr(E.nn.init, name.partition(" ")[0])(E.empty(*shape), *INITS[name]))


LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(5, 7),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Conv1d": lambda nn: nn.Conv1d(3, 4, 3),
    "Conv2d": lambda nn: nn.Conv2d(4, 4, 3, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(3, 4, 3),
    "Embedding": lambda nn: nn.Embedding(5, 3, padding_idx=1),
    "RNN": lambda nn: nn.RNN(3, 4),
    "LSTM": lambda nn: nn.LSTM(4, 5, 2, bidirectional=True),
    "GRUCell": lambda nn: nn.GRUCell(2, 3),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "a network": lambda nn: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU(), nn.Linear(4, 2)),
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_a_layer_starts_from_the_weights_of_pytorch(layer: Callable[[Any], Any]) -> None:
    assert_same(lambda E: list(layer(E.nn).parameters()))


def test_a_generator_continues_from_a_saved_state() -> None:
    def program(E: Any) -> Any:
        g = E.Generator().manual_seed(3)
        first = E.randn(3, generator=g)
        state = g.get_state()
        on, g = E.randn(5, generator=g), E.Generator()
        g.set_state(state)
        again = E.randn(5, generator=g)
        assert E.equal(on, again)
        return first, on

    assert_same(program)
