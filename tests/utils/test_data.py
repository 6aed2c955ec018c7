"""A loader gives the batches that PyTorch's gives, in the same order."""

import itertools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

Pair = namedtuple("Pair", "x y")


def plain(value: Any) -> Any:
    """Tensors as lists with their dtype: what both engines can be compared by."""
    if hasattr(value, "tolist"):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, tuple | list):
        return type(value).__name__, [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def numbers(E: Any) -> Any:
    return E.utils.data.TensorDataset(E.arange(11), E.arange(22.0).reshape(11, 2))


def squares(E: Any) -> Any:
    class Squares(E.utils.data.Dataset):
        def __len__(self) -> int:
            return 7

        def __getitem__(self, i: int) -> Any:
            return {"x": i, "y": (i * i / 2, [np.float32(i), str(i)]), "z": Pair(np.arange(i, i + 2), E.tensor(i))}

    return Squares()


PROGRAMS = """L(numbers, batch_size=4); L(numbers, batch_size=4, drop_last=True);
L(numbers, batch_size=3, shuffle=True); L(numbers, batch_size=None); L(squares, batch_size=3);
L(squares, batch_size=None, shuffle=True); L(numbers, batch_size=4, collate_fn=len);
L(numbers, batch_sampler=[[0, 3], [5]]); L(numbers, sampler=[4, 2, 0], batch_size=2);
L(numbers, batch_size=4, shuffle=True, generator=E.Generator().manual_seed(3));
[list(loader) for loader in [D.DataLoader(range(9), 2, shuffle=True)] * 2]; len(D.DataLoader(range(9), 2));
len(D.DataLoader(range(9), 2, drop_last=True)); len(D.DataLoader(range(9), None));
list(D.SubsetRandomSampler([5, 7, 9, 11])); list(D.RandomSampler(range(9), replacement=True, num_samples=70));
list(D.RandomSampler(range(9), num_samples=20)); list(D.WeightedRandomSampler([0.1, 0.9, 3.0], 12));
[list(part) for part in D.random_split(range(10), [3, 7])];
[list(part) for part in D.random_split(range(11), [0.3, 0.3, 0.4])]"""


@pytest.mark.parametrize("code", PROGRAMS.replace("\n", " ").split("; "))
def test_the_batches_and_their_order_are_those_of_pytorch(code: str) -> None:
    def outcome(E: Any) -> Any:
        E.manual_seed(7)
        D, scope = E.utils.data, {"numbers": numbers, "squares": squares}
        scope |= {"E": E, "D": D, "L": lambda data, **settings: list(D.DataLoader(data(E), **settings))}
        # And what is drawn after it: none was drawn too many or too few.
        return plain([eval(code, scope), E.rand(1)])

    assert outcome(T) == outcome(torch)


def test_settings_that_contradict_each_other_are_refused() -> None:
    contradictions: list[dict[str, Any]] = [{"sampler": [1], "shuffle": True}, {"batch_size": 0}]
    contradictions += [{"batch_sampler": [[1]], "batch_size": 2}]
    for E, settings in itertools.product((T, torch), contradictions):
        with pytest.raises(ValueError, match=r"option|positive"):
            E.utils.data.DataLoader(range(3), **settings)
    with pytest.raises(TypeError, match="collate_fn"):
        next(iter(T.utils.data.DataLoader([object()])))
