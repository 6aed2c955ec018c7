"""A tensor prints as PyTorch's does, character by character, except the name of the library in a dtype."""

import itertools
import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as T

DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_]
SHAPES = st.sampled_from([(1001,), (2, 600), (40, 40), (8, 9, 15), (1200, 1), (7, 7, 7, 7)])
SHAPES |= hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(SHAPES)
    if int(np.prod(shape)) <= 64:
        if dtype.kind != "f":
            return draw(hnp.arrays(dtype, shape))
        width = dtype.itemsize * 8
        special = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf")])
        near = st.floats(-8, 8, width=width).map(lambda v: v if abs(v) >= 2**-7 else 0.0)
        whole = st.integers(-2000, 2000).map(float)
        wide, tiny = (st.floats(*ends, width=width, allow_subnormal=False) for ends in ((), (0, 2**-9)))
        kinds = [wide, near, whole, near | special, whole | special, special, tiny]
        return draw(hnp.arrays(dtype, shape, elements=kinds[draw(st.integers(0, 6))]))
    # Large ones are summarised: their numbers come from a seed, at a scale that varies.
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.normal(size=shape) * draw(st.sampled_from([1e-6, 1.0, 1e3]))
    return np.abs(values).astype(dtype) if dtype.kind in "u" else values.astype(dtype)


def as_torch_says(text: str) -> str:
    """Our text with PyTorch's name for a dtype. The names differ in length, so the suffix may stand on another line."""
    return re.sub(r",\s+dtype=(?:torch|tinygrad_edu)\.(\w+)", r", dtype=torch.\1", text)


OPTIONS = {"precision": st.integers(0, 8), "threshold": st.sampled_from([0, 5, 20, float("inf")])}
OPTIONS |= {"edgeitems": st.integers(1, 4), "linewidth": st.integers(20, 200)}
OPTIONS |= {"profile": st.sampled_from(["default", "short", "full"]), "sci_mode": st.booleans()}


@pytest.mark.outer
@settings(max_examples=400, deadline=None)
@given(arrays(), st.just({}) | st.fixed_dictionaries({}, optional=OPTIONS))
def test_any_array_prints_as_in_pytorch_under_any_options(array: np.ndarray, chosen: dict) -> None:
    before = torch._tensor_str.get_printoptions()
    try:
        torch.set_printoptions(**chosen)
        T.set_printoptions(**chosen)
        ours, theirs = repr(T.tensor(array)), repr(torch.tensor(array))
    finally:
        T.set_printoptions(profile="default")
        torch.set_printoptions(**before)
    if "dtype=" not in theirs:
        assert ours == theirs
    assert as_torch_says(ours) == as_torch_says(theirs)


def custom(T):
    rules = {"forward": staticmethod(lambda ctx, x: x * 2)}
    return type("Doubling", (T.autograd.Function,), rules).apply(T.ones(2, requires_grad=True))


def written_through_a_view(T):
    x = T.ones(3, requires_grad=True).clone()
    x[0].mul_(5)
    return x


def view_without_history(T):
    x = T.ones(3, requires_grad=True).clone()
    with T.no_grad():
        view = x[0]
    x.mul_(2)
    return view


def in_float64(T):
    T.set_default_dtype(T.float64)
    try:
        return [T.tensor(1.5), T.tensor([]), as_torch_says(repr(T.tensor([1.5, 2], dtype=T.float32)))]
    finally:
        T.set_default_dtype(T.float32)


def with_a_tangent(T):
    with T.autograd.forward_ad.dual_level():
        dual = T.autograd.forward_ad.make_dual(T.ones(2), T.tensor([3.0, 4.0]))
        return [repr(dual), repr(dual * 2)]


PROGRAMS = """w; T.zeros(0, 3, requires_grad=True); w * 3; T.ones(2, 3, requires_grad=True).t();
10 - T.tensor(3.0, requires_grad=True); (w * 2).detach().long(); w > 0; T.arange(12.0).view(2, 6).requires_grad_() / 7;
T.arange(40.0).requires_grad_() * 1.5; w.clone().add_(1); T.ones(2, dtype=T.float64, requires_grad=True); custom(T);
written_through_a_view(T); view_without_history(T); in_float64(T); with_a_tangent(T)""".replace("\n", " ").split("; ")


@pytest.mark.parametrize("code", PROGRAMS)
def test_what_autograd_knows_is_printed_behind_the_numbers(code: str) -> None:
    ours, theirs = (repr(eval(code, {**globals(), "T": E, "w": E.ones(2, requires_grad=True)})) for E in (T, torch))
    assert as_torch_says(ours) == as_torch_says(theirs)


def test_format_takes_a_number_out_of_a_single_element_and_refuses_more() -> None:
    def program(E, code, spec):
        try:
            return format(eval(code, {"E": E}), spec)
        except (TypeError, ValueError) as error:
            return type(error)

    for case in itertools.product(("E.tensor(3.14159)", "E.ones(2)", "E.tensor(3)"), ("", ".2f", "e", "d")):
        assert program(T, *case) == program(torch, *case)
