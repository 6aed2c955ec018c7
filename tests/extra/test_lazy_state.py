"""A lazy module keeps what `load_state_dict` gave it; so do copies of it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from support.axes import not_alike

import tinygrad_edu as T

pytestmark = pytest.mark.outer

# Of each lazy module its arguments, the shape of its input, and what it becomes.
LAZY = {
    "Linear": ((4,), (2, 3)),
    **{f"Conv{n}d": ((4, 2), (2, 3, *(4,) * n)) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": ((4, 2), (2, 3, *(4,) * n)) for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": ((), (2, 3, *(4,) * n)) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": ((1e-5, 0.1, True, True), (2, 3, *(4,) * n)) for n in (1, 2, 3)},
}
BETWEEN = {
    "nothing": lambda T, m: m,
    "a copy": lambda T, m: copy.deepcopy(m),
    # PyTorch forgets the type of what has no shape yet.
    "pickle": lambda T, m: pickle.loads(pickle.dumps(m)).to(T.float64),
    "another type": lambda T, m: m.to(T.float64),
    "evaluation and training": lambda T, m: m.eval().train(),
    "evaluation": lambda T, m: m.eval(),
    "a call": lambda T, m: (m(T.zeros(INPUT, dtype=T.float64)), m)[1],
}
INPUT: tuple[int, ...] = ()


def program(T: Any, name: str, before: str, between: str) -> dict[str, Any]:
    global INPUT
    arguments, INPUT = LAZY[name]
    T.manual_seed(3)
    ordinary = getattr(T.nn, name)(INPUT[1], *arguments).double()
    x = T.linspace(-1, 1, int(T.zeros(INPUT).numel()), dtype=T.float64).reshape(INPUT)
    ordinary(x)
    with T.no_grad():
        for i, p in enumerate(ordinary.parameters()):
            p.fill_(0.1 + i)
    lazy = getattr(T.nn, f"Lazy{name}")(*arguments, dtype=T.float64)
    lazy = BETWEEN[before](T, lazy)
    loaded = lazy.load_state_dict(ordinary.state_dict())
    sized = [list(p.shape) for p in lazy.parameters()]
    lazy = BETWEEN[between](T, lazy)
    out = lazy(x)
    out.sum().backward()
    return {
        "loaded": str(loaded), "sized": sized, "out": out, "kind": type(lazy).__name__, "state": lazy.state_dict(),
        "grads": [p.grad for p in lazy.parameters()],
    }  # fmt: skip


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_module_keeps_what_it_has_loaded(name: str) -> None:
    cases = [(name, before, between) for before in BETWEEN for between in BETWEEN]
    assert not_alike(cases, program, ignored=(".version: ", ".is_view: ", ".base"), excused=works_here) == []


def works_here(case: Any, lines: list[str]) -> bool:
    """PyTorch raises for some lazy norms: see the page of differences. What they compute here is tested below."""
    return "Norm" in case[0] and any("PyTorch has ('ValueError'" in line for line in lines)


@pytest.mark.parametrize("name", [name for name in LAZY if "Norm" in name])
def test_a_lazy_norm_computes_what_the_ordinary_one_computes(name: str) -> None:
    arguments, shape = LAZY[name]
    T.manual_seed(3)
    ordinary, x = getattr(T.nn, name)(3, *arguments), T.randn(shape)
    ordinary(x + 1)
    lazy = copy.deepcopy(getattr(T.nn, f"Lazy{name}")(*arguments))
    lazy.load_state_dict(ordinary.state_dict())
    assert T.equal(lazy.eval()(x), ordinary.eval()(x))


def test_a_size_that_does_not_fit_the_input_is_an_error() -> None:
    def loaded(T: Any) -> Any:
        lazy = T.nn.LazyLinear(4)
        lazy.load_state_dict(T.nn.Linear(3, 4).state_dict())
        return lazy(T.zeros(2, 5))

    assert not_alike([()], loaded) == []


def test_a_lazy_layer_inside_a_network_keeps_what_it_has_loaded() -> None:
    def loaded(T: Any) -> Any:
        T.manual_seed(0)
        state = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4)).state_dict()
        lazy = T.nn.Sequential(T.nn.LazyLinear(4), T.nn.LazyBatchNorm1d())
        lazy.load_state_dict(state)
        return lazy(T.eye(3)), lazy.state_dict()

    assert not_alike([()], loaded, ignored=(".version: ", ".is_view: ", ".base")) == []
