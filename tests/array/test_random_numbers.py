"""The same seed gives the numbers that PyTorch draws, in the same order."""

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


DRAWS = [
    *"""E.rand(100); E.rand(100, dtype=E.float64); E.rand(100, dtype=E.float16); E.randn(1003);
    (E.randn(3), E.randn(1), E.randn(20), E.randn(2, 2)); E.randn(1003, dtype=E.float64); E.randint(-3, 9, (50,));
    E.randint(0, 2**40, (50,)); E.randint(5, (50,), dtype=E.float32); E.randperm(1000); E.randperm(1);
    E.rand_like(E.ones(2, 3)); E.randn_like(E.ones(20, 3)); E.normal(-0.3, 0.7, (100,));
    E.normal(E.ones(3), E.ones(3) * 2); E.bernoulli(E.full((100,), 0.3)); E.empty(100).bernoulli_(E.full((100,), 0.3));
    E.multinomial(E.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), 20, True)""".replace("\n   ", "").split("; "),
    *(
        f"E.empty(5, 7).{call}"
        for call in ("uniform_(-0.3, 0.7)", "normal_(-0.3, 0.7)", "random_(5)", "random_(-3, 5)")
    ),
    "E.empty(3, 3).normal_(-0.3, 0.7)",
    *(f"E.empty(5, 7, dtype=E.{d}).random_()" for d in ("float32", "float64", "int64", "int32", "uint8", "bool")),
]


@pytest.mark.parametrize("program", DRAWS)
def test_a_draw_gives_the_numbers_of_pytorch(program: Any) -> None:
    assert_same(lambda E: eval(program, {"E": E}))


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


CHANCES = ["E.empty(5, 7).bernoulli_(0.3)", "E.empty(5, 7, dtype=E.int64).bernoulli_(0.3)"]
CHANCES += ["E.empty(5, 7).exponential_(2.0)", "E.multinomial(E.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]), 2)"]
CHANCES += ["E.multinomial(E.tensor([0.1, 0.2, 0.7]), 1, True)", "E.nn.functional.dropout(E.ones(100), 0.4)"]
CHANCES += ["E.nn.functional.dropout(E.ones(100), 1.0)", "E.nn.functional.dropout2d(E.ones(10, 4, 3, 3), 0.4)"]


@pytest.mark.skipif(
    not _pytorch_draws_chances_itself(), reason="on this processor PyTorch draws them by another library"
)
@pytest.mark.parametrize("program", CHANCES)
def test_chances_fall_as_in_pytorch(program: str) -> None:
    assert_same(lambda E: eval(program, {"E": E}))


INITS = {
    **dict.fromkeys(("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_"), ()),
    **dict.fromkeys(("kaiming_normal_", "orthogonal_", "trunc_normal_"), ()),
    "trunc_normal_ of a tail": (0.0, 1.0, 1.5, 3.0),
}


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize("shape", [(5, 7), (7, 5, 3)])
def test_an_init_gives_the_numbers_of_pytorch(name: str, shape: tuple[int, ...]) -> None:
    assert_same(lambda E: getattr(E.nn.init, name.partition(" ")[0])(E.empty(*shape), *INITS[name]))


LAYERS = """nn.Linear(5, 7); nn.Conv1d(3, 4, 3); nn.Conv2d(4, 4, 3, groups=2); nn.ConvTranspose2d(3, 4, 3);
nn.Embedding(5, 3, padding_idx=1); nn.RNN(3, 4); nn.LSTM(4, 5, 2, bidirectional=True); nn.GRUCell(2, 3);
nn.MultiheadAttention(8, 2); nn.TransformerEncoderLayer(8, 2, 16);
nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU(), nn.Linear(4, 2))"""


@pytest.mark.parametrize("layer", LAYERS.replace("\n", " ").split("; "))
def test_a_layer_starts_from_the_weights_of_pytorch(layer: str) -> None:
    assert_same(lambda E: list(eval(layer, {"nn": E.nn}).parameters()))


@pytest.mark.parametrize("made", ["zeros", "ones", "empty", "rand", "randn", "normal", "ones(3).new_zeros"])
@pytest.mark.parametrize("E", [torch, T])
def test_a_tensor_without_a_size_is_refused(E: Any, made: str) -> None:
    with pytest.raises(TypeError, match=rf"{made.rpartition('.')[2]}\(\)"):
        eval(f"E.{made}()")


def test_a_generator_continues_from_a_saved_state() -> None:
    def program(E: Any) -> Any:
        g, other = E.Generator().manual_seed(3), E.Generator()
        first = E.randn(3, generator=g)
        other.set_state(g.get_state())
        on, again = E.randn(5, generator=g), E.randn(5, generator=other)
        assert E.equal(on, again)
        return first, on

    assert_same(program)
