"""A program written for PyTorch finds its names and may pass its arguments by their names."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

POINTWISE = """
    add sub mul div neg abs sign pow square sqrt rsqrt reciprocal exp expm1 log log2 log10 log1p sin cos tan asin acos atan
    atan2 sinh cosh tanh sigmoid logit erf relu clamp clamp_min clamp_max lerp addcmul addcdiv remainder fmod floor ceil
    round trunc nan_to_num masked_fill eq ne lt le gt ge logical_and logical_or logical_xor logical_not
"""
INPLACE = [
    *POINTWISE.split(), "cumsum", "cumprod", "scatter", "scatter_add", "index_add", "index_copy", "index_fill", "index_put",
    "tril", "triu", "squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims", "as_strided", "addmm", "addmv",
    "baddbmm", "uniform", "normal", "bernoulli", "exponential", "random", "log_normal", "geometric", "cauchy", "fill",
    "zero", "copy", "detach", "requires_grad", "true_divide", "floor_divide", "bitwise_and", "bitwise_or", "bitwise_xor",
]  # fmt: skip
BOTH = f"""
    {POINTWISE} prelu minimum maximum where isnan isinf isfinite isclose allclose equal
    sum mean prod amax amin max min var std norm logsumexp cumsum cumprod all any argmax argmin count_nonzero nansum softmax
    log_softmax reshape flatten unflatten squeeze unsqueeze broadcast_to tile permute transpose t movedim flip roll split
    chunk unbind narrow select diagonal diag tril triu repeat_interleave index_select gather scatter scatter_add index_add
    take_along_dim masked_select nonzero sort argsort topk unique matmul mm mv bmm dot inner outer addmm kron trace clone
    detach multinomial bernoulli is_floating_point is_complex numel
"""
FUNCTIONS = """
    var_mean std_mean cat stack hstack vstack meshgrid einsum tensordot tensor as_tensor from_numpy zeros ones full empty eye
    arange linspace zeros_like ones_like full_like empty_like rand randn randint randperm normal rand_like randn_like
    randint_like manual_seed Generator is_tensor no_grad enable_grad set_grad_enabled inference_mode is_grad_enabled
    result_type promote_types can_cast get_default_dtype set_default_dtype set_printoptions
"""
METHODS = """
    view expand expand_as repeat unfold new_zeros new_ones new_full new_empty new_tensor item tolist numpy contiguous to type
    type_as cpu cuda double float half long int bool backward register_hook retain_grad dim size stride element_size data_ptr
"""
PLACES: dict[str, tuple[Any, Any, Any]] = {
    "functions": (T, torch, [*BOTH.split(), *FUNCTIONS.split()]),
    "methods": (T.Tensor, torch.Tensor, [*BOTH.split(), *METHODS.split(), *(f"{name}_" for name in INPLACE)]),
    "linalg": (
        T.linalg, torch.linalg, ["norm", "vector_norm", "matrix_norm", "inv", "det", "slogdet", "solve", "cholesky", "matrix_power"],
    ),
    "nn": (T.nn, torch.nn, T.nn.__all__),
    "nn.functional": (T.nn.functional, torch.nn.functional, [n for n in dir(T.nn.functional) if n[0].islower()]),
    "nn.init": (T.nn.init, torch.nn.init, [*T.nn.init.__all__, "_calculate_fan_in_and_fan_out"]),
    "nn.utils": (
        T.nn.utils, torch.nn.utils,
        ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"],
    ),
    "optim": (T.optim, torch.optim, ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Optimizer"]),
    "lr_scheduler": (T.optim.lr_scheduler, torch.optim.lr_scheduler, T.optim.lr_scheduler.__all__),
    "library": (T.library, torch.library, ["custom_op", "register_autograd"]),
    "Module": (T.nn.Module, torch.nn.Module, [n for n in vars(T.nn.Module) if not n.startswith("_")]),
    "Optimizer": (T.optim.Optimizer, torch.optim.Optimizer, [n for n in vars(T.optim.Optimizer) if n[0] != "_"]),
}  # fmt: skip
NAMES = [pytest.param(place, name, id=f"{place}.{name}") for place, (_, _, names) in PLACES.items() for name in names]

# Arguments of PyTorch that change nothing but speed or another device's work, or that ask for what is not built.
NOT_HERE = {
    "foreach",
    "fused",
    "capturable",
    "differentiable",
    "out",
    "_weight",
    "_freeze",
    "_stacklevel",
    "always_call",
    "memo",
    "args",
}


def arguments(callable_: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters that Python can see; None for a function written in C."""
    try:
        made = callable_.__init__ if inspect.isclass(callable_) else callable_
        return dict(inspect.signature(made).parameters)
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize(("place", "name"), NAMES)
def test_a_name_exists_and_takes_the_arguments_of_pytorch_by_name(place: str, name: str) -> None:
    ours, theirs, _ = PLACES[place]
    mine = getattr(ours, name)
    if not hasattr(theirs, name):
        pytest.skip("a name of our own")
    here, there = arguments(mine), arguments(getattr(theirs, name))
    if here is None or there is None or any(p.kind is p.VAR_KEYWORD for p in here.values()):
        return
    nameless = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = {n for n, p in there.items() if p.kind not in nameless} - {"self", "input"}
    assert wanted - set(here) - NOT_HERE == set()


KEYWORDS = {
    "sum": lambda T, x: T.sum(input=x, dim=1, keepdim=True, dtype=T.float64),
    "sum axis": lambda T, x: x.sum(axis=1, keepdims=True),
    "max": lambda T, x: T.max(input=x, dim=0, keepdim=True).values,
    "var": lambda T, x: T.var(x, dim=(0, 1), correction=0, keepdim=True),
    "add": lambda T, x: T.add(input=x, other=x, alpha=2),
    "add_": lambda T, x: x.clone().add_(other=x, alpha=2),
    "div": lambda T, x: T.div(input=x, other=0.3, rounding_mode="floor"),
    "clamp": lambda T, x: x.clamp(min=0.0, max=0.5),
    "addcmul_": lambda T, x: x.clone().addcmul_(tensor1=x, tensor2=x, value=3),
    "lerp": lambda T, x: T.lerp(input=x, end=x + 1, weight=0.25),
    "where": lambda T, x: T.where(condition=x > 0, input=x, other=x * 2),
    "transpose": lambda T, x: T.transpose(input=x, dim0=0, dim1=1),
    "transpose_": lambda T, x: x.clone().transpose_(dim0=0, dim1=1),
    "flip": lambda T, x: T.flip(input=x, dims=(0, 1)),
    "permute": lambda T, x: T.permute(input=x, dims=(1, 0)),
    "permute method": lambda T, x: x.permute(dims=(1, 0)),
    "reshape": lambda T, x: T.reshape(input=x, shape=(3, 2)),
    "view": lambda T, x: x.view(size=(6,)),
    "expand": lambda T, x: x.unsqueeze(0).expand(size=(4, 2, 3)),
    "repeat": lambda T, x: x.repeat(repeats=(2, 1)),
    "tile": lambda T, x: T.tile(input=x, dims=(2,)),
    "broadcast_to": lambda T, x: T.broadcast_to(input=x, size=(4, 2, 3)),
    "squeeze": lambda T, x: T.squeeze(input=x.unsqueeze(1), dim=1),
    "flatten": lambda T, x: T.flatten(input=x, start_dim=0, end_dim=1),
    "roll": lambda T, x: T.roll(input=x, shifts=(1, 2), dims=(0, 1)),
    "cat": lambda T, x: T.cat(tensors=[x, x], dim=1),
    "stack": lambda T, x: T.stack(tensors=(x, x), dim=-1),
    "split": lambda T, x: T.split(tensor=x, split_size_or_sections=[1, 2], dim=1)[1],
    "split method": lambda T, x: x.split(split_size=2, dim=1)[0],
    "chunk": lambda T, x: T.chunk(input=x, chunks=2, dim=1)[0],
    "index_select": lambda T, x: T.index_select(input=x, dim=1, index=T.tensor([2, 0])),
    "gather": lambda T, x: T.gather(input=x, dim=1, index=T.tensor([[2], [0]])),
    "scatter": lambda T, x: x.scatter(dim=1, index=T.tensor([[2], [0]]), value=9.0),
    "sort": lambda T, x: T.sort(input=x, dim=0, descending=True, stable=True).indices,
    "topk": lambda T, x: T.topk(input=x, k=2, dim=1, largest=False, sorted=True).values,
    "cumsum": lambda T, x: T.cumsum(input=x, dim=1),
    "matmul": lambda T, x: T.matmul(input=x, other=x.t()),
    "addmm": lambda T, x: T.addmm(input=T.ones(2, 2), mat1=x, mat2=x.t(), beta=2, alpha=3),
    "tensordot": lambda T, x: T.tensordot(a=x, b=x, dims=([1], [1])),
    "norm": lambda T, x: T.norm(input=x, p=3, dim=1),
    "vector_norm": lambda T, x: T.linalg.vector_norm(x=x, ord=1, dim=1, keepdim=True),
    "softmax": lambda T, x: T.softmax(input=x, dim=1),
    "full": lambda T, x: T.full(size=(2, 3), fill_value=7.0, dtype=T.float64, requires_grad=False),
    "arange": lambda T, x: T.arange(start=1, end=9, step=3),
    "linspace": lambda T, x: T.linspace(start=0, end=1, steps=5),
    "eye": lambda T, x: T.eye(n=2, m=3),
    "zeros": lambda T, x: T.zeros(2, 3, dtype=T.int64, layout=T.strided, device="cpu", pin_memory=False),
    "meshgrid": lambda T, x: T.meshgrid(T.arange(2), T.arange(3), indexing="xy")[0],
    "copy_": lambda T, x: T.zeros(2, 3).copy_(other=x, non_blocking=True),
    "to": lambda T, x: x.to(device="cpu", dtype=T.float64, non_blocking=True, copy=True),
    "bernoulli": lambda T, x: T.bernoulli(input=x, p=1.0),
    "promote_types": lambda T, x: T.zeros(1, dtype=T.promote_types(T.int64, T.float16)),
    "logical_not_": lambda T, x: x.clone().logical_not_(),
    "logical_xor_": lambda T, x: x.clone().logical_xor_(other=x),
    "linear": lambda T, x: T.nn.functional.linear(input=x, weight=x, bias=None),
    "pad": lambda T, x: T.nn.functional.pad(input=x, pad=(1, 2), mode="constant", value=4.0),
    "cross_entropy": lambda T, x: T.nn.functional.cross_entropy(
        input=x, target=T.tensor([2, 0]), weight=T.ones(3), ignore_index=0, reduction="sum", label_smoothing=0.1
    ),
    "layer_norm": lambda T, x: T.nn.functional.layer_norm(
        input=x, normalized_shape=(3,), weight=T.ones(3), bias=T.zeros(3), eps=1e-3
    ),
    "embedding": lambda T, x: T.nn.functional.embedding(input=T.tensor([1, 0]), weight=x, padding_idx=0),
    "sdpa": lambda T, x: T.nn.functional.scaled_dot_product_attention(
        query=x, key=x, value=x, attn_mask=None, dropout_p=0.0, is_causal=True, scale=0.5
    ),
}


@pytest.mark.parametrize("call", KEYWORDS.values(), ids=KEYWORDS)
def test_a_call_by_keywords_gives_what_pytorch_gives(call: Any) -> None:
    values = np.array([[0.5, -1.0, 2.0], [0.25, 3.0, -0.125]], np.float32)
    ours, theirs = (call(E, E.tensor(values)) for E in (T, torch))
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "args"), [("log_normal_", (0.5, 0.25)), ("geometric_", (0.25,)), ("cauchy_", (3.0, 0.5))]
)
def test_the_numbers_of_a_distribution_have_its_median(name: str, args: tuple[float, ...]) -> None:
    T.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = (getattr(E.zeros(20_000), name)(*args).median().item() for E in (T, torch))
    assert ours == pytest.approx(theirs, rel=0.03)


def test_no_gradient_goes_back_through_new_random_numbers() -> None:
    def program(E: Any) -> Any:
        a = E.ones(3, requires_grad=True)
        nodes = []
        for fill in (lambda t: t.log_normal_(), lambda t: t.geometric_(0.5), lambda t: t.cauchy_()):
            x = a * 2
            fill(x)
            x.sum().backward()
            nodes.append(x.grad_fn.name())
        return nodes, a.grad.tolist()

    assert program(T) == program(torch)
