"""What is read is what runs: what a program enters in the core alone, it also enters within the package."""

import ast
import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.functions import function

import tinygrad_edu
from tinygrad_edu import core

from .test_alone import EXPRESSIONS, LEAVES

CORE = Path(core.__file__).resolve().parent
MODULES = [path.stem for path in sorted(CORE.glob("*.py")) if path.stem != "__init__"]
Entered = set[tuple[str, str]]  # the functions of a core that were entered: the name of the file, and that in the file

# What a program may enter in the core alone and not within the package, besides `layers.py`, which asks what is around.
# The package's Tensor is a subclass. Its own constructor also makes a tensor of sizes; its shape and dtype are of
# PyTorch's classes; what it says of itself, and how NumPy reads it, is what PyTorch's does.
REFINED = {"Tensor.__init__", "Tensor.<lambda>", "Tensor.numpy", "Tensor.__array__", "Tensor.__repr__"}
REFINED |= {"TensorBase.<lambda>"}  # to set `.grad`: the package first looks whether what is given fits

# The methods of a Tensor that the package's subclass has in a form of its own. Views are the reason of the second line:
# what is written through one can change the `grad_fn` of another, and whether it requires grad. Of the `.grad` of a
# result, PyTorch warns.
REFINED_OF_A_TENSOR = {"__init__", "shape", "dtype", "ndim", "data", "numpy", "__array__", "__repr__"}
REFINED_OF_A_TENSOR |= {"grad_fn", "requires_grad", "is_leaf", "grad"}

# What no program below enters.
NOT_ENTERED = {"Tensor.__array__", "Tensor.__repr__", "Tensor.numpy"}  # refined: see above
NOT_ENTERED |= {"Node._step", "Node._release"}  # of a node that each kind of node has in its own form
NOT_ENTERED |= {"results_are"}  # runs when the core is imported
NOT_ENTERED |= {"Div.jvp", "Mm.jvp", "Zero.grad_self", "version_of"}  # for layers alone: forward mode, recorded writes
FILES = 4  # that a product and its backward enter


# --- programs: each is run twice with both. `make(array, requires_grad)` makes a tensor; results are compared. ---

V, U = np.array([0.5, 2.0, 1.5]), np.array([3.0, 0.25, 1.0])
PROGRAMS: list[Callable[[Any, Any], Any]] = []


def program(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS.append(f)
    return f


def of_expression(expression: str) -> Callable[[Any, Any], Any]:
    """Its value, and its gradients of three orders; y asks for none."""

    def f(make, engine):
        leaves = {name: make(array.copy(), name != "y") for name, array in LEAVES.items()}
        value = eval(expression, {}, leaves)
        found, seen = [], [value]
        for order in range(3):
            total = (value * value).sum() + sum((grad * grad).sum() for grad in found)
            total.backward(create_graph=order < 2)
            found = [leaf.grad for leaf in leaves.values() if leaf.grad is not None]
            seen.append(found)
            for leaf in leaves.values():
                leaf.grad = None
        return seen

    f.__name__ = expression
    return f


PROGRAMS += map(of_expression, EXPRESSIONS)


@program
def retain_grad(make, engine):
    w = make(V, True)
    middle = w * w
    middle.retain_grad()
    middle.retain_grad()
    y = (middle * middle[0]).sum()
    y.backward(retain_graph=True)
    y.backward()
    return middle.grad, w.grad


@program
def steps_of_descent(make, engine):
    w, moved = make(V.copy(), True), make(U.copy())
    losses = []
    for _ in range(3):
        loss = ((w - moved) ** 2).sum()
        loss.backward()
        losses.append(loss.item())
        with engine.no_grad():
            w -= 0.1 * w.grad
            w.sub_(w.grad)
            moved.sub_(0.5)
            w.grad.zero_()
    return w, moved, losses


@program
def a_function(make, engine):
    def cube(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    def slope(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x**2 * (3 * ctx.scale), None

    w = make(V, True)
    y = (function(engine, "Cube", cube, slope).apply(w * 2, 10.0) * w).sum()
    y.backward(create_graph=True)
    first, w.grad = w.grad, None
    first.sum().backward()
    return y, first, w.grad


@program
def a_function_of_two_outputs(make, engine):
    both = function(engine, "Both", lambda ctx, x: (x * 2, x * 3), lambda ctx, two, three: two * 2 + three * 3)
    w = make(V, True)
    _, three = both.apply(w)
    three.sum().backward()
    return w.grad


@program
def detached(make, engine):
    w = make(V.copy(), True)
    c = w.detach()
    y = (w * w.detach() + w.data * 2 + w[0].detach()).sum()
    y.backward()
    c.sub_(1.0)
    try:
        y = (w * c).sum()
        c.zero_()
        y.backward()
    except RuntimeError as error:
        return w, c, w.grad, "modified by an inplace operation" in str(error)


@program
def backward_twice(make, engine):
    w = make(V, True)
    y = (w * w.exp()).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return w.grad, str(error)


@program
def a_look_at_the_graph(make, engine):
    w = make(V, True)
    y = ((w * 3 + 1) ** 2).sum()
    seen = []
    node = y.grad_fn
    while node.next_functions:
        seen.append(node.name())
        node = node.next_functions[0][0]
    seen.append((node.name(), node.variable is w))
    shown = hasattr(y.grad_fn, "no_such_name"), "next_functions" in dir(y.grad_fn)
    return seen, shown, y.is_leaf, w.is_leaf, y.requires_grad, y.output_nr


@program
def an_op_of_its_own(make, engine):
    """One whose plan is made in each run, in which a node keeps a setting, an input, a result and a shape."""

    class ScaledSum(getattr(engine, "core", engine).Op):
        def forward(self, other, *, scale=2.0):
            return (self * other).sum() * scale

        def grad_self(grad, other, scale, self_sym_sizes):
            return grad * scale * other

        def grad_other(grad, self, result, scale):
            return grad * scale * self + 0 * result

    w, x = make(V, True), make(U, True)
    y = ScaledSum.apply(w, x) + ScaledSum.apply(w, x, scale=3.0)
    y.backward()
    return y, w.grad, x.grad


# --- how they are run -----------------------------------------------------------------------------------------------


def functions_entered(work: Callable[[], Any], home: Path) -> tuple[Any, Entered]:
    """The result of `work`, and the functions in the files of `home` that it enters."""
    entered: Entered = set()

    def note(frame: types.FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(home):
            entered.add((path.relative_to(home).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(before)
    return result, entered


def run_alone(heart: Any, f: Callable[[Any, Any], Any]) -> tuple[Any, Entered]:
    def make(array, requires_grad=False):
        return heart.Tensor(array, requires_grad)

    f(make, heart)  # once to warm up: what is made once, such as the plan of an op, is there
    return functions_entered(lambda: f(make, heart), Path(heart.__file__).parent)


def run_in_the_package(f: Callable[[Any, Any], Any]) -> tuple[Any, Entered]:
    def make(array, requires_grad=False):
        return tinygrad_edu.tensor(array, requires_grad=requires_grad)

    f(make, tinygrad_edu)
    return functions_entered(lambda: f(make, tinygrad_edu), CORE)


def plain(result: Any) -> Any:
    """A result to compare: tensors as lists of numbers."""
    if isinstance(result, tuple | list):
        return [plain(part) for part in result]
    return result.detach().numpy().tolist() if hasattr(result, "detach") else result


def agree(mine: Any, other: Any) -> None:
    assert type(mine) is type(other)
    if isinstance(mine, list):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            agree(a, b)
    else:
        assert mine == pytest.approx(other, rel=1e-12) if isinstance(mine, float) else mine == other


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_program_enters_and_computes_in_the_core_alone_it_does_in_the_package(heart: Any, f: Callable) -> None:
    (alone, entered), (within, also) = run_alone(heart, f), run_in_the_package(f)
    missing = {(file, name) for file, name in entered - also if file != "layers.py" and name not in REFINED}
    assert not missing, "\n".join(f"{file}: {name}" for file, name in sorted(missing))
    agree(plain(alone), plain(within))


def codes_of(value: Any) -> list[types.CodeType]:
    """The code of a function, also of one that is static or of a class, or of those of a property."""
    parts = [value.fget, value.fset, value.fdel] if isinstance(value, property) else [getattr(value, "__func__", value)]
    return [part.__code__ for part in parts if isinstance(part, types.FunctionType)]


def test_the_programs_enter_all_functions_of_the_core_but_a_few(heart: Any) -> None:
    """Else the tests above would say little."""
    entered = {name for f in PROGRAMS for _, name in run_alone(heart, f)[1]}
    written = set()
    for stem in MODULES:
        module = sys.modules[f"heart.{stem}"]
        for value in vars(module).values() if stem != "layers" else ():
            if getattr(value, "__module__", "") == module.__name__:
                values = vars(value).values() if isinstance(value, type) else [value]
                written |= {code.co_qualname for value in values for code in codes_of(value)}
    assert written - entered == NOT_ENTERED


# --- nothing is put in the place of what is written -----------------------------------------------------------------


@pytest.mark.parametrize("stem", MODULES)
def test_no_function_of_the_core_is_replaced(stem: str) -> None:
    """Each name has what the source of its module or class writes. The package may add other names."""
    module, path = importlib.import_module(f"tinygrad_edu.core.{stem}"), CORE / f"{stem}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    homes = [(vars(module), tree.body)]
    homes += [(vars(getattr(module, node.name)), node.body) for node in tree.body if isinstance(node, ast.ClassDef)]
    for found, body in homes:
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}  # the last, of a property
        assigned = {
            name.id
            for node in body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        for name, value in found.items():
            codes = codes_of(value)
            if name in functions:
                assert codes, f"{name} is {value}"
                lines = [code.co_firstlineno for code in codes]
                assert max(lines) <= functions[name].lineno <= max(lines) + 3, name  # an f with decorators begins there
            if name in functions or name in assigned:
                assert all(Path(code.co_filename) == path for code in codes), name


def test_what_the_package_refines_of_a_tensor_is_written_here() -> None:
    """Each other method of the package's Tensor is that of the core. Nothing that is read there is dead."""
    home = (core.Tensor, core.Tensor.__base__)
    names = {name for part in home for name, value in vars(part).items() if codes_of(value) or type(value) is property}
    refined = {
        name
        for name in names
        if next(vars(part)[name] for part in tinygrad_edu.Tensor.__mro__ if name in vars(part))
        is not next(vars(part)[name] for part in home if name in vars(part))
    }
    assert refined == REFINED_OF_A_TENSOR


def test_a_product_and_its_backward_enter_files_of_the_core_alone() -> None:
    w, x = tinygrad_edu.tensor(3.0, requires_grad=True), tinygrad_edu.tensor(2.0)

    def product() -> None:
        y = w * x
        y.backward()

    product()
    w.grad = None
    _, entered = functions_entered(product, CORE.parent)
    files = {file for file, _ in entered}
    assert w.grad.item() == 2.0 and ("core/tensor.py", "Tensor.backward") in entered
    assert {file.partition("/")[0] for file in files} == {"core"} and len(files) <= FILES, sorted(entered)
