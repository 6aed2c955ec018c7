"""The heart runs alone: its folder, copied under another name, into a place where nothing else of this project is."""

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import printed
from support.functions import function

CORE = Path(__file__).resolve().parents[2] / "tinygrad_edu" / "core"
FILES = sorted(CORE.glob("*.py"))
LINES = 1400  # the core has at most so many


def leaf(heart: Any, *numbers: float) -> Any:
    return heart.Tensor(np.array(numbers if len(numbers) > 1 else numbers[0]), requires_grad=True)


def test_a_fresh_python_imports_it_with_numpy_alone(heart: Any, tmp_path: Path) -> None:
    code = "import sys, heart; print(sorted({n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)))"
    env = {**os.environ, "PYTHONPATH": str(Path(heart.__file__).parents[1])}
    loaded = ast.literal_eval(printed(code, cwd=tmp_path, env=env))
    assert {"heart", "numpy"} <= set(loaded) and "tinygrad_edu" not in loaded


def test_it_is_read_in_an_evening() -> None:
    assert len(FILES) <= 6
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= LINES


@pytest.mark.parametrize("write", ["c.sub_(1.0)", "c -= 1.0", "c.zero_()", "c.detach().sub_(1.0)"])
def test_a_write_between_forward_and_backward_is_noticed(heart: Any, write: str) -> None:
    w, c = leaf(heart, 3.0), heart.Tensor(np.array(2.0))
    y = w * c
    exec(write, {"c": c})
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_write_to_a_view_or_to_its_base_is_noticed_at_the_other(heart: Any) -> None:
    for written, kept in ((0, 1), (1, 0)):
        w, base = leaf(heart, 3.0, 4.0), heart.Tensor(np.array([[1.0, 2.0], [5.0, 6.0]]))
        tensors = (base, base[0])
        y = (w * tensors[kept]).sum()
        tensors[written].zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_a_write_to_what_the_backward_does_not_need_is_allowed(heart: Any) -> None:
    w, c = leaf(heart, 3.0), heart.Tensor(np.array(2.0))
    y = w + c
    c.zero_()
    y.backward()
    assert w.grad.item() == 1.0 and y.item() == 5.0


def test_nothing_is_recorded_under_no_grad_or_without_a_leaf_that_asks(heart: Any) -> None:
    w, c = leaf(heart, 3.0), heart.Tensor(2.0)
    with heart.no_grad():
        assert (w * w).grad_fn is None
    assert (c * c).grad_fn is None and (w * c).requires_grad


def test_a_gradient_that_does_not_fit_is_refused(heart: Any) -> None:
    class Wrong(heart.Op):
        def forward(self):
            return self.sum()

        def grad_self(grad):
            return np.ones(3)

    w = leaf(heart, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        Wrong.apply(w).backward()


def test_a_result_that_is_no_scalar_wants_a_gradient_to_start_with(heart: Any) -> None:
    w = leaf(heart, 1.0, 2.0)
    y = w * w
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward()
    y.backward(heart.Tensor(np.array([1.0, 10.0])))
    assert w.grad._data.tolist() == [2.0, 40.0]


# --- the operators and methods of its Tensor ------------------------------------------------------------------------


RNG = np.random.default_rng(7)
# The leaves of the expressions below: vectors, matrices, a column and a number. All are positive, for logarithms.
SIZES: dict[str, Any] = {"x": 4, "y": 4, "m": (3, 4), "n": (4, 2), "c": (3, 1), "s": ()}
LEAVES = {name: RNG.uniform(0.5, 2.0, shape) for name, shape in SIZES.items()}
EXPRESSIONS = [
    *("x + y", "x - y", "x * y", "x / y", "m @ n", "-x"),
    *("x + x", "x * x", "x - x", "x / x"),
    *("x + 2", "x - 2", "x * 2", "x / 2", "2 + x", "2 - x", "2 * x", "0.5 - s", "s * 3"),
    *("m + x", "m - x", "m * x", "m / x", "x / m", "m + c", "c - x", "c * x", "c / x", "m * s", "s / m", "s + s"),
    *("x ** 3", "x ** 2", "x ** 1", "x ** 0", "x ** 0.5", "x ** -0.5", "x ** -1", "x ** -2", "x ** 2.5", "s ** 2"),
    *("x.exp()", "x.log()", "x.tanh()", "(x - 1).relu()", "x.sum()", "m.sum()", "x.mean()", "m.mean()"),
    *("s.exp()", "s.log()", "s.tanh()", "s.relu()", "s.sum()", "s.mean()", "m.tanh()", "(m.T - x[0]).relu()"),
    *("m.T", "m.T @ m", "n.T @ m.T", "m.T * s", "m.T[1]", "(m @ n).T"),
    *("x[1]", "x[-1]", "x[:]", "x[1:]", "x[::2]", "x[1:3]", "x[-2:]", "x[2:2]", "x[3:1]"),
    *("m[0]", "m[-1]", "m[1, 2]", "m[-1, -2]", "m[:, 1]", "m[1:, ::2]", "m[1, 1:]", "m[1:][0]", "m[:, :]"),
    *("x * x.detach()", "x * x.data", "x * y.sum().item()", "x[1] * x[2] - x[3]"),
    "((0.2 * m @ n + y[:2]).tanh() @ n.T).relu().mean() / s + (x.exp() - x.log()).sum() ** 2",
]


def evaluated(expression: str, make: Any) -> tuple[Any, dict[str, Any]]:
    leaves = {name: make(array.copy()) for name, array in LEAVES.items()}
    return eval(expression, {}, leaves), leaves


def of_heart(heart: Any) -> Any:
    return lambda array: heart.Tensor(array, requires_grad=True)


def of_torch(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, requires_grad=True)


def agree(ours: Any, theirs: Any) -> None:
    """The same shape, type and numbers, up to rounding; or both None."""
    assert (ours is None) == (theirs is None)
    if ours is not None:
        mine, other = ours.numpy(), theirs.detach().numpy()
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape == tuple(ours.shape)
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_value_and_its_gradients_are_those_of_pytorch(heart: Any, expression: str) -> None:
    (ours, mine), (theirs, others) = evaluated(expression, of_heart(heart)), evaluated(expression, of_torch)
    agree(ours, theirs)
    assert ours.requires_grad and not ours.is_leaf
    start = RNG.standard_normal(theirs.shape)
    for _ in range(2):  # twice: gradients add up
        ours.backward(heart.Tensor(start), retain_graph=True)
        theirs.backward(torch.tensor(start), retain_graph=True)
    for name in LEAVES:
        agree(mine[name].grad, others[name].grad)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_gradient_of_a_gradient_is_that_of_pytorch(heart: Any, expression: str) -> None:
    (ours, mine), (theirs, others) = evaluated(expression, of_heart(heart)), evaluated(expression, of_torch)
    ours, theirs = (ours**2).sum(), (theirs**2).sum()
    for order in range(3):
        ours.backward(create_graph=order < 2)
        theirs.backward(create_graph=order < 2)
        ours, theirs = heart.Tensor(0.0), torch.tensor(0.0, dtype=torch.float64)
        for name in LEAVES:
            agree(mine[name].grad, others[name].grad)
            if mine[name].grad is not None:
                ours = ours + (mine[name].grad * mine[name].grad).sum()
                theirs = theirs + (others[name].grad * others[name].grad).sum()
            mine[name].grad = others[name].grad = None
        if not theirs.requires_grad:  # such as for x - x
            break
        assert ours.requires_grad


def test_numbers_of_single_precision_stay_so(heart: Any) -> None:
    w = heart.Tensor(np.array([0.5, 2.0], np.float32), requires_grad=True)
    y = (2 - (w * 3 + 1) ** 2 / 7).exp().mean()
    y.backward()
    assert y.dtype == w.grad.dtype == np.float32
    v = torch.tensor([0.5, 2.0], requires_grad=True)
    (2 - (v * 3 + 1) ** 2 / 7).exp().mean().backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), rtol=1e-5)


def test_a_tensor_says_what_it_holds(heart: Any) -> None:
    w = leaf(heart, 2.0, 3.0)
    assert w.shape == (2,) and w.ndim == 1 and w.dtype == np.float64 and w.is_leaf and w.requires_grad
    assert w[0].item() == 2.0 and type(w[0].item()) is float
    assert np.asarray(w).tolist() == [2.0, 3.0]
    assert not w.data.requires_grad and not w.detach().requires_grad
    assert "requires_grad=True" in repr(w) and "MulBackward0" in repr(w * 2)


def test_detach_and_data_and_a_view_show_one_storage(heart: Any) -> None:
    w = leaf(heart, 2.0, 3.0)
    for shown in (w.detach(), w.data, w[:].detach()):
        shown.sub_(1.0)
    assert w.numpy().tolist() == [-1.0, 0.0]


def test_a_write_that_a_graph_would_have_to_record_is_refused(heart: Any) -> None:
    w = leaf(heart, 2.0, 3.0)
    for write in (w.zero_, lambda: w.sub_(1.0), lambda: (w * 2).sub_(1.0), lambda: heart.Tensor(1.0).sub_(w[0])):
        with pytest.raises(RuntimeError, match="in-place"):
            write()
    assert w.numpy().tolist() == [2.0, 3.0]


def test_no_grad_ends_with_its_block_also_if_that_raises(heart: Any) -> None:
    w = leaf(heart, 2.0)
    with pytest.raises(ZeroDivisionError), heart.no_grad():
        assert not (w * w).requires_grad
        raise ZeroDivisionError
    assert (w * w).requires_grad


def test_a_function_notices_a_write_to_what_it_keeps(heart: Any) -> None:
    def scaled(ctx, x, c):
        ctx.save_for_backward(c)
        return x * c

    scale = function(heart, "Scale", scaled, lambda ctx, grad: (grad * ctx.saved_tensors[0], None))
    w, c = leaf(heart, 2.0, 3.0), heart.Tensor(4.0)
    scale.apply(w, c).sum().backward()
    assert w.grad.numpy().tolist() == [4.0, 4.0]
    y = scale.apply(w, c).sum()
    c.sub_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
