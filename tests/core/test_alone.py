"""The heart runs alone: its folder, copied under another name, into a place where nothing else of this project is."""

import ast
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu

CORE = Path(__file__).resolve().parents[2] / "tinygrad_edu" / "core"
FILES = sorted(CORE.glob("*.py"))


@pytest.fixture(scope="module")
def heart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The core as a package called `heart`, without the package around it."""
    room = tmp_path_factory.mktemp("alone")
    shutil.copytree(CORE, room / "heart", ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str(room))
    try:
        yield importlib.import_module("heart")
    finally:
        sys.path.remove(str(room))
        for name in [name for name in sys.modules if name.partition(".")[0] == "heart"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def ops(heart: Any) -> Any:
    class Mul(heart.Op):
        def forward(self, other):
            return self * other

        def grad_self(grad, other):
            return grad * other

        def grad_other(grad, self):
            return grad * self

    class Exp(heart.Op):
        def forward(self):
            return np.exp(self)

        def grad_self(grad, result):
            return grad * result

    class Sum(heart.Op):
        def forward(self, *, scale=1.0):
            return self.sum() * scale

        def grad_self(grad, self, scale):
            return np.full(self.shape, grad * scale)

    class Both:
        mul, exp, sum = Mul.apply, Exp.apply, Sum.apply

    return Both


def leaf(heart: Any, *numbers: float) -> Any:
    return heart.Tensor(np.array(numbers if len(numbers) > 1 else numbers[0]), requires_grad=True)


def test_a_fresh_python_imports_it_with_numpy_alone(tmp_path: Path) -> None:
    shutil.copytree(CORE, tmp_path / "heart", ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys, heart; print(sorted({n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)))"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert {"heart", "numpy"} <= set(ast.literal_eval(done.stdout))
    assert "tinygrad_edu" not in done.stdout


def test_it_imports_numpy_the_standard_library_and_itself() -> None:
    found = set()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typing_only = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
            for inner in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node not in typing_only:
                assert node.level < 2, f"{path.name} imports from outside the core"
                found |= {(node.module or "").partition(".")[0]} if node.level == 0 else set()
    assert found <= {"numpy", *sys.stdlib_module_names}


def test_it_reads_no_attribute_that_it_does_not_define() -> None:
    """Every attribute that begins with an underscore is one of the core's own: no layer fills it in."""
    nodes = [node for path in FILES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    read = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    for node in nodes:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in [inner for t in targets for inner in ast.walk(t)]:
            defined |= {target.id} if isinstance(target, ast.Name) else set()
            defined |= {target.attr} if isinstance(target, ast.Attribute) else set()
    assert {name for name in read if name.startswith("_") and not name.startswith("__")} <= defined


def test_it_is_read_in_an_evening() -> None:
    assert len(FILES) <= 6
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= 450


def test_a_gradient_is_that_of_the_formula_and_summed_back_to_its_shape(heart: Any, ops: Any) -> None:
    w, x = leaf(heart, 2.0, 3.0), leaf(heart, 3.0)
    s = ops.sum(ops.mul(w, x))
    s.backward()
    assert type(w.grad) is type(x.grad) is heart.Tensor
    assert w.grad._data.tolist() == [3.0, 3.0] and x.grad._data == 5.0 and x.grad._data.shape == ()
    assert s.grad_fn.name() == "SumBackward0" and s.grad_fn.next_functions[0][0].name() == "MulBackward0"
    edges = s.grad_fn.next_functions[0][0].next_functions
    assert [node.variable for node, _ in edges] == [w, x]


def test_the_gradient_of_a_tensor_used_twice_is_the_sum_and_passes_add_up(heart: Any, ops: Any) -> None:
    w = leaf(heart, 3.0)
    for _ in range(2):
        ops.mul(w, w).backward()
    assert w.grad._data == 12.0


def test_what_was_freed_is_not_run_again_unless_it_is_retained(heart: Any, ops: Any) -> None:
    w = leaf(heart, 3.0)
    y = ops.exp(w)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph"):
        y.backward()


def test_a_write_between_forward_and_backward_is_noticed(heart: Any, ops: Any) -> None:
    from heart.tensor import bump_version

    w, c = leaf(heart, 3.0), heart.Tensor(np.array(2.0))
    y = ops.mul(w, c)
    c._data[...] = 5.0
    bump_version(c)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_nothing_is_recorded_under_no_grad_or_without_a_leaf_that_asks(heart: Any, ops: Any) -> None:
    w, c = leaf(heart, 3.0), heart.Tensor(2.0)
    with heart.no_grad():
        assert ops.mul(w, w).grad_fn is None
    assert ops.mul(c, c).grad_fn is None and ops.mul(w, c).requires_grad


def test_a_setting_is_kept_with_its_default(heart: Any, ops: Any) -> None:
    w = leaf(heart, 1.0, 2.0)
    ops.sum(w, scale=3.0).backward()
    ops.sum(w).backward()
    assert w.grad._data.tolist() == [4.0, 4.0]


def test_a_long_chain_needs_no_recursion(heart: Any, ops: Any) -> None:
    w = leaf(heart, 1.0)
    y = w
    for _ in range(20_000):
        y = ops.mul(y, 1.0)
    y.backward()
    assert w.grad._data == 1.0


def test_a_function_gets_tensors_in_both_halves(heart: Any, ops: Any) -> None:
    seen = []

    class Cube(heart.Function):
        @staticmethod
        def forward(ctx, x, scale):
            seen.append((type(x), ctx.needs_input_grad))
            ctx.save_for_backward(x)
            ctx.scale = scale
            return ops.mul(ops.mul(x, ops.mul(x, x)), scale)

        @staticmethod
        def backward(ctx, grad):
            seen.append(type(grad))
            (x,) = ctx.saved_tensors
            return ops.mul(grad, ops.mul(ops.mul(x, x), 3.0 * ctx.scale)), None

    x = leaf(heart, 2.0)
    y = Cube.apply(x, 10.0)
    assert y.grad_fn.name() == "CubeBackward" and y._data == 80.0
    y.backward()
    assert x.grad._data == 120.0
    assert seen == [(heart.Tensor, (True, False)), heart.Tensor]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_gradient_that_does_not_fit_is_refused(heart: Any) -> None:
    class Wrong(heart.Op):
        def forward(self):
            return self.sum()

        def grad_self(grad):
            return np.ones(3)

    w = leaf(heart, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        Wrong.apply(w).backward()


def test_a_result_that_is_no_scalar_wants_a_gradient_to_start_with(heart: Any, ops: Any) -> None:
    w = leaf(heart, 1.0, 2.0)
    y = ops.mul(w, w)
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward()
    y.backward(heart.Tensor(np.array([1.0, 10.0])))
    assert w.grad._data.tolist() == [2.0, 40.0]


def test_the_package_runs_the_backward_that_one_reads() -> None:
    assert tinygrad_edu.Tensor.backward.__code__.co_filename.endswith("core/engine.py")
