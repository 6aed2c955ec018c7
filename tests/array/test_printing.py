"""A tensor prints as PyTorch's does, character by character, except the name of the library in a dtype."""

import re

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as T

DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_]
SHAPES = st.one_of(
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    st.sampled_from([(1001,), (2, 600), (40, 40), (8, 9, 15), (1200, 1), (7, 7, 7, 7)]),
)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(SHAPES)
    if int(np.prod(shape)) <= 64:
        kinds = draw(st.integers(0, 6))
        if dtype.kind != "f":
            return draw(hnp.arrays(dtype, shape))
        width = dtype.itemsize * 8
        special = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf")])
        near = st.floats(-8, 8, width=width).map(lambda v: v if abs(v) >= 2**-7 else 0.0)
        whole = st.integers(-2000, 2000).map(float)
        wide = st.floats(width=width, allow_subnormal=False)
        elements = [
            wide,
            near,
            whole,
            near | special,
            whole | special,
            special,
            st.floats(0, 2**-9, width=width, allow_subnormal=False),
        ][kinds]
        return draw(hnp.arrays(dtype, shape, elements=elements))
    # Large ones are summarised: their numbers come from a seed, at a scale that varies.
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1e-6, 1.0, 1e3]))
    values = rng.normal(size=shape) * scale
    return np.abs(values).astype(dtype) if dtype.kind in "u" else values.astype(dtype)


def as_torch_says(text: str) -> str:
    """Our text with PyTorch's name for a dtype. The names differ in length, so the suffix may stand on another line."""
    return re.sub(r",\s+dtype=(?:torch|tinygrad_edu)\.(\w+)", r", dtype=torch.\1", text)


@pytest.mark.outer
@settings(max_examples=400, deadline=None)
@given(arrays())
def test_any_array_prints_as_in_pytorch(array: np.ndarray) -> None:
    ours, theirs = repr(T.tensor(array)), repr(torch.tensor(array))
    if "dtype=" not in theirs:
        assert ours == theirs
    assert as_torch_says(ours) == as_torch_says(theirs)


@pytest.mark.outer
@settings(max_examples=150, deadline=None)
@given(
    arrays(),
    st.fixed_dictionaries(
        {},
        optional={
            "precision": st.integers(0, 8),
            "threshold": st.sampled_from([0, 5, 20, float("inf")]),
            "edgeitems": st.integers(0, 4),
            "linewidth": st.integers(20, 200),
            "profile": st.sampled_from(["default", "short", "full"]),
            "sci_mode": st.booleans(),
        },
    ),
)
def test_any_array_prints_as_in_pytorch_under_any_options(array: np.ndarray, chosen: dict) -> None:
    before = torch._tensor_str.get_printoptions()
    try:
        torch.set_printoptions(**chosen)
        with T.printing.printoptions(**chosen):
            ours, theirs = repr(T.tensor(array)), repr(torch.tensor(array))
    finally:
        torch.set_printoptions(**before)
    assert as_torch_says(ours) == as_torch_says(theirs)


def test_options_hold_until_the_block_ends_however_it_ends() -> None:
    before = T.printing.get_printoptions()
    with pytest.raises(ZeroDivisionError), T.printing.printoptions(precision=1):
        assert repr(T.tensor(1.25)) == "tensor(1.2)"
        _ = 1 / 0
    assert T.printing.get_printoptions() == before == torch._tensor_str.get_printoptions()


PROGRAMS = {
    "a leaf that requires grad": lambda T: T.ones(2, requires_grad=True),
    "an empty leaf": lambda T: T.zeros(0, 3, requires_grad=True),
    "a product": lambda T: T.ones(2, requires_grad=True) * 3,
    "a view": lambda T: T.ones(2, 3, requires_grad=True).t(),
    "a number minus": lambda T: 10 - T.tensor(3.0, requires_grad=True),
    "integers from a graph": lambda T: (T.ones(2, requires_grad=True) * 2).detach().long(),
    "a comparison": lambda T: T.ones(2, requires_grad=True) > 0,
    "a suffix that needs its own line": lambda T: T.arange(12.0).view(2, 6).requires_grad_() / 7,
    "long vectors wrap": lambda T: T.arange(40.0).requires_grad_() * 1.5,
    "a custom Function": lambda T: doubling(T).apply(T.ones(2, requires_grad=True)),
    "written in place": lambda T: T.ones(2, requires_grad=True).clone().add_(1),
    "written through a view": lambda T: written_through_a_view(T),
    "a view without history": lambda T: view_without_history(T),
    "float64 leaf": lambda T: T.ones(2, dtype=T.float64, requires_grad=True),
    "a subclass": lambda T: subclass(T)([1.0, 2.0]),
    "a wide subclass": lambda T: subclass(T)(list(range(40))),
}


def doubling(T):
    class Doubling(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 2

    return Doubling


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


def subclass(T):
    class Measurement(T.Tensor):
        pass

    return Measurement


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_autograd_knows_is_printed_behind_the_numbers(name: str) -> None:
    ours, theirs = repr(PROGRAMS[name](T)), repr(PROGRAMS[name](torch))
    assert as_torch_says(ours) == as_torch_says(theirs)


def test_a_dual_tensor_prints_its_tangent() -> None:
    def program(T):
        with T.autograd.forward_ad.dual_level():
            dual = T.autograd.forward_ad.make_dual(T.ones(2), T.tensor([3.0, 4.0]))
            return [repr(dual), repr(dual * 2)]

    assert program(T) == program(torch)


def test_the_default_dtype_decides_which_dtype_is_worth_printing() -> None:
    def program(T):
        T.set_default_dtype(T.float64)
        try:
            return [repr(T.tensor(1.5)), repr(T.tensor([])), as_torch_says(repr(T.tensor([1.5, 2], dtype=T.float32)))]
        finally:
            T.set_default_dtype(T.float32)

    assert program(T) == program(torch)


@pytest.mark.parametrize("spec", ["", ".2f", "e", "d"])
@pytest.mark.parametrize("make", [lambda T: T.tensor(3.14159), lambda T: T.ones(2), lambda T: T.tensor(3)])
def test_format_takes_a_number_out_of_a_single_element_and_refuses_more(spec: str, make) -> None:
    def program(T):
        try:
            return format(make(T), spec)
        except (TypeError, ValueError) as error:
            return type(error)

    assert program(T) == program(torch)
