"""Jacobians, Hessians and products: PyTorch's numbers, structure of tuples, graphs and errors."""

import itertools

import numpy as np
import pytest
import torch
from support.both import attempt, same_on_both, values_of
from support.parity import Raised, opens_alike

import tinygrad_edu as T


def plain(value):
    if isinstance(value, Raised):
        return value
    if isinstance(value, T.Tensor | torch.Tensor):
        return list(value.shape), np.round(value.detach().numpy(), 5).tolist(), value.requires_grad
    # PyTorch's forward-mode Jacobian comes in lists, though its documentation says tuples.
    return tuple(plain(v) for v in value) if isinstance(value, tuple | list) else value


def agree(program):
    ours, theirs = (plain(attempt(lambda E=E: program(E))) for E in (T, torch))
    if isinstance(theirs, Raised):
        assert (ours[0], opens_alike(theirs[1], ours[1])) == (theirs[0], True), (ours, theirs)
    else:
        assert ours == theirs
    return ours


def x(T, *shape, requires_grad=False):
    values = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    return T.tensor(values, dtype=T.float64, requires_grad=requires_grad)


FUNCTIONS = """a * a.exp(); a.reshape(-1, 1) @ a.reshape(1, -1); (a**3).sum(); (a**3).sum().reshape(1);
(a * 2, (a**3).sum()); (a.sin(),); (a * 3).sum(); T.ones(2, dtype=T.float64); a.detach() * 2;
T.ones((), dtype=T.float64); 3.0; (a, 3.0); a.reshape(-1)[:0]""".replace("\n", " ").split("; ")
INPUTS = ["x(T, 3)", "x(T, 3, requires_grad=True)", "x(T, 1).reshape(())", "(x(T, 3),)"]
INPUTS += ["x(T, 3, requires_grad=True) * 1", "3.0"]
OPTIONS = [{}, {"create_graph": True}]
VECTORS = """None; v; v.requires_grad_(); (v,); T.ones(2, dtype=T.float64);
(T.ones(3, dtype=T.float64), T.ones(3, dtype=T.float64)); T.tensor(2.0, dtype=T.float64);
3.0""".replace("\n", " ").split("; ")


def made(T, code):
    """What an entry of these tables stands for."""
    return eval(code, {"T": T, "x": x, "v": T.tensor([1.0, -2.0, 0.5], dtype=T.float64)})


def function_of(T, code):
    return lambda a: eval(code, {"T": T, "a": a})


@pytest.mark.outer
@pytest.mark.parametrize("code", FUNCTIONS)
@pytest.mark.parametrize("function", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_each_function_gives_pytorchs_numbers_structure_and_errors(function: str, code: str) -> None:
    whole = function in ("jacobian", "hessian")
    given = (INPUTS, ["None"]) if whole else (INPUTS[:4], VECTORS)
    for options, of, vector in itertools.product(OPTIONS, *given):
        if "3.0" in code and not whole and (of, vector) != (INPUTS[0], "v"):
            continue  # of two mistakes at once, either may be reported

        def program(T, options=options, of=of, vector=vector):
            arguments = () if whole else (made(T, vector),)
            return getattr(T.autograd.functional, function)(function_of(T, code), made(T, of), *arguments, **options)

        agree(program)


SEVERAL = ["(a @ b).tanh().sum()", "(a**3).sum()", "(a * a).sum() + b.sum()", "((a @ b), b * 2, a.sum())"]


@pytest.mark.parametrize("code", SEVERAL)
@pytest.mark.parametrize("function", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_several_inputs_give_tuples_by_outputs_then_by_inputs(function: str, code: str) -> None:
    def program(T, options):
        inputs = (x(T, 2, 3, requires_grad=True), x(T, 3))
        vectors = (x(T, 2, 3), T.ones(3, dtype=T.float64))
        arguments = {"jacobian": (), "hessian": ()}.get(function, (vectors,))
        if function == "vjp":
            two = T.tensor(2.0, dtype=T.float64)
            arguments = ((x(T, 2), T.ones(3, dtype=T.float64), two) if code == SEVERAL[-1] else two,)
        f = lambda a, b: eval(code, {"a": a, "b": b})  # noqa: E731
        return getattr(T.autograd.functional, function)(f, inputs, *arguments, **options)

    for options in OPTIONS:
        agree(lambda T, options=options: program(T, options))


def test_a_result_with_a_graph_can_be_differentiated_again() -> None:
    def program(T):
        a = x(T, 3, requires_grad=True)
        v = T.tensor([1.0, 2.0, 3.0], dtype=T.float64, requires_grad=True)
        results = []
        for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"):
            of_vector, whole = name in ("jacobian", "vjp", "jvp"), name in ("jacobian", "hessian")
            f = (lambda a: a.exp() * a) if of_vector else (lambda a: (a**4).sum() + a[0] * a[1] * a[2])
            result = getattr(T.autograd.functional, name)(f, a, *([] if whole else [v]), create_graph=True)
            last = result if whole else result[1]
            results.append(T.autograd.grad((last * last).sum(), [a, v], allow_unused=True, materialize_grads=True))
        return tuple(results)

    agree(program)


def test_no_grad_around_the_call_does_not_matter_and_the_inputs_keep_their_flags_and_get_no_gradient() -> None:
    def program(T):
        functional, a, v = T.autograd.functional, x(T, 3), T.ones(3, dtype=T.float64)
        leaf, still = x(T, 3, requires_grad=True), x(T, 3)
        functional.hessian(lambda a, b: (a * b * a).sum(), (leaf, still))
        flags = leaf.requires_grad, still.requires_grad, leaf.grad is None, still.grad is None
        with T.no_grad():
            return flags, (
                *(functional.jacobian(lambda a: a * a, a), functional.hessian(lambda a: (a**3).sum(), a)),
                *(functional.jvp(lambda a: a * a, a, v), functional.hvp(lambda a: (a**3).sum(), a, v)),
                functional.vjp(lambda a: a * a, a, v, create_graph=True),
            )

    agree(program)


def test_what_is_not_built_is_refused() -> None:
    for settings in ({"strict": True}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        with pytest.raises((NotImplementedError, TypeError), match=r"strict|vectorize"):
            T.autograd.functional.jacobian(lambda a: a * a, x(T, 2), **settings)


def test_all_products_agree_with_the_whole_matrices() -> None:
    """Independent of PyTorch: vᵀJ, Jv, vᵀH and Hv are what the matrices give."""
    functional, a, v = T.autograd.functional, x(T, 4), T.tensor([1.0, -1.0, 2.0, 0.5], dtype=T.float64)

    def f(a):
        return a.sin() * a.sum()

    def g(a):
        return (a.sin() * a.sum()).exp().sum()

    J, H = functional.jacobian(f, a).numpy(), functional.hessian(g, a).numpy()
    for name, expected in {"vjp": v.numpy() @ J, "jvp": J @ v.numpy()}.items():
        assert np.allclose(getattr(functional, name)(f, a, v)[1].numpy(), expected)
    for name, expected in {"vhp": v.numpy() @ H, "hvp": H @ v.numpy()}.items():
        assert np.allclose(getattr(functional, name)(g, a, v)[1].numpy(), expected)


@same_on_both
def test_the_rows_of_a_jacobian_are_stacked_in_the_graph_as_in_pytorch(T):
    a = x(T, 2, requires_grad=True)
    rows = T.autograd.functional.jacobian(lambda a: a**3, a, create_graph=True)
    (second,) = T.autograd.grad(rows.sum(), a, retain_graph=True)
    return rows.grad_fn.name(), rows.grad_fn.next_functions[0][0].name(), values_of(rows), values_of(second)
