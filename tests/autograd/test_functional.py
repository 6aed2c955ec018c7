"""Jacobians, Hessians and products: PyTorch's numbers, structure of tuples, graphs and errors."""

import itertools

import numpy as np
import pytest
import torch

import tinygrad_edu as T


def plain(value):
    if isinstance(value, T.Tensor | torch.Tensor):
        return list(value.shape), np.round(value.detach().numpy(), 5).tolist(), value.requires_grad
    if isinstance(value, tuple | list):
        # PyTorch's forward-mode Jacobian comes in lists, though its documentation says tuples.
        return tuple(plain(v) for v in value)
    return value


def run(program, T):
    try:
        return plain(program(T))
    except Exception as error:
        return type(error).__name__, " ".join(str(error).replace("torch.", "").split()[:4])


def agree(program):
    ours, theirs = run(program, T), run(program, torch)
    assert ours == theirs
    return ours


def x(T, *shape, requires_grad=False):
    values = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    return T.tensor(values, dtype=T.float64, requires_grad=requires_grad)


FUNCTIONS = {
    "elementwise": lambda T: lambda a: a * a.exp(),
    "a matrix": lambda T: lambda a: a.reshape(-1, 1) @ a.reshape(1, -1),
    "one number": lambda T: lambda a: (a**3).sum(),
    "one element": lambda T: lambda a: (a**3).sum().reshape(1),
    "two outputs": lambda T: lambda a: (a * 2, (a**3).sum()),
    "one output in a tuple": lambda T: lambda a: (a.sin(),),
    "linear": lambda T: lambda a: (a * 3).sum(),
    "independent": lambda T: lambda a: T.ones(2, dtype=T.float64),
    "detached": lambda T: lambda a: a.detach() * 2,
    "independent number": lambda T: lambda a: T.ones((), dtype=T.float64),
    "not a tensor": lambda T: lambda a: 3.0,
    "not a tensor in a tuple": lambda T: lambda a: (a, 3.0),
    "empty": lambda T: lambda a: a.reshape(-1)[:0],
}
INPUTS = {
    "a vector": lambda T: x(T, 3),
    "a vector that requires grad": lambda T: x(T, 3, requires_grad=True),
    "a computed vector": lambda T: x(T, 3, requires_grad=True) * 1,
    "a number": lambda T: x(T, 1).reshape(()),
    "a tuple of one": lambda T: (x(T, 3),),
    "no tensor": lambda T: 3.0,
}
OPTIONS = {
    "plain": {},
    "create_graph": {"create_graph": True},
    "strict": {"strict": True},
    "strict, create_graph": {"strict": True, "create_graph": True},
}


@pytest.mark.outer
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("whole", ["jacobian", "hessian"])
def test_jacobian_and_hessian_are_pytorchs(whole: str, name: str, given: str, options: str) -> None:
    agree(lambda T: getattr(T.autograd.functional, whole)(FUNCTIONS[name](T), INPUTS[given](T), **OPTIONS[options]))


VECTORS = {
    "none": lambda T: None,
    "of the shape of the input": lambda T: T.tensor([1.0, -2.0, 0.5], dtype=T.float64),
    "that requires grad": lambda T: T.tensor([1.0, -2.0, 0.5], dtype=T.float64, requires_grad=True),
    "in a tuple": lambda T: (T.tensor([1.0, -2.0, 0.5], dtype=T.float64),),
    "of another shape": lambda T: T.ones(2, dtype=T.float64),
    "too many": lambda T: (T.ones(3, dtype=T.float64), T.ones(3, dtype=T.float64)),
    "of one number": lambda T: T.tensor(2.0, dtype=T.float64),
    "no tensor": lambda T: 3.0,
}


@pytest.mark.outer
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("product", ["vjp", "jvp", "vhp", "hvp"])
def test_products_are_pytorchs(product: str, name: str, vector: str, options: str) -> None:
    for given in ("a vector", "a vector that requires grad", "a number", "a tuple of one"):
        agree(
            lambda T, given=given: getattr(T.autograd.functional, product)(
                FUNCTIONS[name](T), INPUTS[given](T), VECTORS[vector](T), **OPTIONS[options]
            )
        )


SEVERAL = {
    "both used": lambda T: lambda a, b: (a @ b).tanh().sum(),
    "one unused": lambda T: lambda a, b: (a**3).sum(),
    "linear in one": lambda T: lambda a, b: (a * a).sum() + b.sum(),
    "several outputs": lambda T: lambda a, b: ((a @ b), b * 2, a.sum()),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("function", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_several_inputs_give_tuples_by_outputs_then_by_inputs(function: str, name: str, options: str) -> None:
    def program(T):
        inputs = (x(T, 2, 3, requires_grad=True), x(T, 3))
        vectors = (x(T, 2, 3), T.ones(3, dtype=T.float64))
        arguments = {"jacobian": (), "hessian": ()}.get(function, (vectors,))
        if function == "vjp":
            one = {"several outputs": (x(T, 2), T.ones(3, dtype=T.float64), T.tensor(2.0, dtype=T.float64))}
            arguments = (one.get(name, T.tensor(2.0, dtype=T.float64)),)
        return getattr(T.autograd.functional, function)(SEVERAL[name](T), inputs, *arguments, **OPTIONS[options])

    agree(program)


def test_a_result_with_a_graph_can_be_differentiated_again() -> None:
    def program(T):
        a = x(T, 3, requires_grad=True)
        v = T.tensor([1.0, 2.0, 3.0], dtype=T.float64, requires_grad=True)
        functional, results = T.autograd.functional, []
        for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"):
            f = {"jacobian": lambda a: a.exp() * a, "vjp": lambda a: a.exp() * a, "jvp": lambda a: a.exp() * a}
            arguments = () if name in ("jacobian", "hessian") else (v,)
            result = getattr(functional, name)(
                f.get(name, lambda a: (a**4).sum() + a[0] * a[1] * a[2]), a, *arguments, create_graph=True
            )
            last = result if not arguments else result[1]
            results.append(T.autograd.grad((last * last).sum(), [a, v], allow_unused=True, materialize_grads=True))
        return tuple(results)

    agree(program)


def test_no_grad_around_the_call_does_not_matter() -> None:
    def program(T):
        functional, a, v = T.autograd.functional, x(T, 3), T.ones(3, dtype=T.float64)
        with T.no_grad():
            return (
                functional.jacobian(lambda a: a * a, a),
                functional.hessian(lambda a: (a**3).sum(), a),
                functional.jvp(lambda a: a * a, a, v),
                functional.hvp(lambda a: (a**3).sum(), a, v),
                functional.vjp(lambda a: a * a, a, v, create_graph=True),
            )

    agree(program)


def test_the_inputs_keep_their_flags_and_get_no_gradient() -> None:
    def program(T):
        leaf, still = x(T, 3, requires_grad=True), x(T, 3)
        T.autograd.functional.hessian(lambda a, b: (a * b * a).sum(), (leaf, still))
        return leaf.requires_grad, still.requires_grad, leaf.grad is None, still.grad is None

    agree(program)


@pytest.mark.parametrize("inputs", ["one", "two"])
@pytest.mark.parametrize("name", ["elementwise", "a matrix", "two outputs", "independent", "one number", "empty"])
def test_forward_mode_gives_the_jacobian_column_by_column(name: str, inputs: str) -> None:
    def program(T):
        f = FUNCTIONS[name](T)
        if inputs == "two":
            return T.autograd.functional.jacobian(
                lambda a, b: f(a * b.sum()), (x(T, 3), x(T, 2)), vectorize=True, strategy="forward-mode"
            )
        return T.autograd.functional.jacobian(f, x(T, 3), vectorize=True, strategy="forward-mode")

    agree(program)


def test_the_hessian_by_forward_over_reverse_is_the_same() -> None:
    def program(T):
        def g(a, b):
            return (a**3 * b.sum()).sum() + (b.exp() * a[0]).sum()

        rows = T.autograd.functional.hessian(
            g, (x(T, 3), x(T, 2)), vectorize=True, outer_jacobian_strategy="forward-mode"
        )
        # PyTorch leaves its rows in the graph.
        return [[block.detach() for block in row] for row in rows]

    agree(program)
    one = T.autograd.functional.hessian(
        lambda a: (a**3).sum(), x(T, 2), vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    assert one.tolist() == T.autograd.functional.hessian(lambda a: (a**3).sum(), x(T, 2)).tolist()


REFUSED = [
    {"strategy": "sideways"},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "create_graph": True},
    {"strategy": "forward-mode", "strict": True},
    {"strategy": "forward-mode", "strict": True, "vectorize": True},
    {"strict": True, "vectorize": True},
]


@pytest.mark.parametrize("options", REFUSED)
def test_combinations_that_pytorch_refuses_are_refused(options: dict) -> None:
    result = agree(lambda T: T.autograd.functional.jacobian(lambda a: a * a, x(T, 2), **options))
    assert isinstance(result[0], str)


def test_an_unknown_outer_strategy_is_refused() -> None:
    agree(lambda T: T.autograd.functional.hessian(lambda a: a.sum(), x(T, 2), outer_jacobian_strategy="sideways"))


@pytest.mark.parametrize("function", ["jacobian", "hessian"])
def test_vectorize_in_reverse_mode_changes_nothing(function: str) -> None:
    derive = getattr(T.autograd.functional, function)
    plain, vectorized = (derive(lambda a: (a**3).sum(), x(T, 2), vectorize=v) for v in (False, True))
    theirs = getattr(torch.autograd.functional, function)(lambda a: (a**3).sum(), x(torch, 2), vectorize=True)
    assert plain.tolist() == vectorized.tolist() == theirs.tolist()


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


def test_every_name_is_there_with_pytorchs_arguments() -> None:
    import inspect

    for module, name in itertools.product(["functional"], T.autograd.functional.__all__):
        ours, theirs = (getattr(getattr(engine.autograd, module), name) for engine in (T, torch))
        assert [(p.name, p.default) for p in inspect.signature(ours).parameters.values()] == [
            (p.name, p.default) for p in inspect.signature(theirs).parameters.values()
        ]


def test_the_rows_of_a_jacobian_are_stacked_in_the_graph_as_in_pytorch() -> None:
    seen = []
    for engine in (torch, T):
        x = engine.tensor([1.0, 2.0], dtype=engine.float64, requires_grad=True)
        rows = engine.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True)
        (second,) = engine.autograd.grad(rows.sum(), x)
        seen.append((rows.grad_fn.name(), rows.grad_fn.next_functions[0][0].name(), rows.tolist(), second.tolist()))
    assert seen[0] == seen[1]
