"""A program written for PyTorch finds its names and may pass its arguments by their names."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu as T

POINTWISE = """
    add sub mul div neg abs sign pow square sqrt rsqrt reciprocal exp expm1 log log2 log10 log1p sin cos tan asin acos
    atan atan2 sinh cosh tanh sigmoid logit erf relu clamp clamp_min clamp_max lerp addcmul addcdiv remainder fmod floor
    ceil round trunc nan_to_num masked_fill logical_and logical_or logical_xor logical_not
"""
INPLACE = f"""{POINTWISE} cumsum cumprod scatter scatter_add index_add index_copy index_fill index_put tril triu squeeze
    unsqueeze transpose addmm baddbmm uniform normal bernoulli exponential random fill zero copy
    detach requires_grad true_divide floor_divide bitwise_and bitwise_or bitwise_xor
"""
BOTH = f"""
    {POINTWISE} eq ne lt le gt ge prelu minimum maximum where isnan isinf isfinite isclose allclose equal
    sum mean prod amax amin max min var std norm logsumexp cumsum cumprod all any argmax argmin count_nonzero softmax
    log_softmax reshape flatten unflatten squeeze unsqueeze broadcast_to tile permute transpose t movedim flip roll
    split chunk unbind narrow select diagonal diag tril triu repeat_interleave index_select gather scatter scatter_add
    index_add take_along_dim masked_select nonzero sort argsort topk unique matmul mm mv bmm dot inner outer addmm trace
    clone detach multinomial bernoulli is_floating_point numel
"""
FUNCTIONS = """
    var_mean std_mean cat stack hstack vstack meshgrid einsum tensordot tensor as_tensor from_numpy zeros ones full
    empty eye arange linspace zeros_like ones_like full_like empty_like rand randn randint randperm normal rand_like
    randn_like manual_seed Generator is_tensor no_grad enable_grad set_grad_enabled inference_mode is_grad_enabled
    result_type promote_types get_default_dtype set_default_dtype set_printoptions
"""
METHODS = """
    view expand expand_as repeat unfold new_zeros new_ones new_full new_empty new_tensor item tolist numpy contiguous to
    type type_as cpu cuda double float half long int bool backward register_hook retain_grad dim size stride
    element_size data_ptr
"""
LINALG = "norm vector_norm inv det solve"
UTILS = "clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters"
PLACES: dict[str, tuple[Any, Any, list[str]]] = {
    "functions": (T, torch, f"{BOTH} {FUNCTIONS}".split()),
    "methods": (T.Tensor, torch.Tensor, [*f"{BOTH} {METHODS}".split(), *(f"{name}_" for name in INPLACE.split())]),
    "linalg": (T.linalg, torch.linalg, LINALG.split()),
    "nn": (T.nn, torch.nn, [name for name in vars(T.nn) if name[0].isupper()]),
    "nn.functional": (T.nn.functional, torch.nn.functional, [n for n in dir(T.nn.functional) if n[0].islower()]),
    "nn.init": (T.nn.init, torch.nn.init, [*T.nn.init.__all__, "_calculate_fan_in_and_fan_out"]),
    "nn.utils": (T.nn.utils, torch.nn.utils, UTILS.split()),
    "optim": (T.optim, torch.optim, ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Optimizer"]),
    "lr_scheduler": (T.optim.lr_scheduler, torch.optim.lr_scheduler, T.optim.lr_scheduler.__all__),
    "library": (T.library, torch.library, ["custom_op", "register_autograd"]),
    "Module": (T.nn.Module, torch.nn.Module, [n for n in vars(T.nn.Module) if not n.startswith("_")]),
    "Optimizer": (T.optim.Optimizer, torch.optim.Optimizer, [n for n in vars(T.optim.Optimizer) if n[0] != "_"]),
}

# Arguments of PyTorch that change nothing but speed or another device's work, or that ask for what is not built.
NOT_HERE = "foreach fused capturable differentiable out _weight _freeze _stacklevel always_call memo args"


def arguments(callable_: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters that Python can see; None for a function written in C."""
    try:
        made = callable_.__init__ if inspect.isclass(callable_) else callable_
        return dict(inspect.signature(made).parameters)
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("place", PLACES)
def test_a_name_exists_and_takes_the_arguments_of_pytorch_by_name(place: str) -> None:
    ours, theirs, names = PLACES[place]
    nameless = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name in names:
        here, there = arguments(getattr(ours, name)), arguments(getattr(theirs, name, None))
        if here is None or there is None or any(p.kind is p.VAR_KEYWORD for p in here.values()):
            continue
        wanted = {n for n, p in there.items() if p.kind not in nameless} - {"self", "input"}
        assert wanted - set(here) - set(NOT_HERE.split()) == set(), name


KEYWORDS = """T.sum(input=x, dim=1, keepdim=True, dtype=T.float64); x.sum(axis=1, keepdims=True);
T.max(input=x, dim=0, keepdim=True).values; T.var(x, dim=(0, 1), correction=0, keepdim=True);
T.add(input=x, other=x, alpha=2); x.clone().add_(other=x, alpha=2); T.div(input=x, other=0.3, rounding_mode="floor");
x.clamp(min=0.0, max=0.5); x.clone().addcmul_(tensor1=x, tensor2=x, value=3); T.lerp(input=x, end=x + 1, weight=0.25);
T.where(condition=x > 0, input=x, other=x * 2); T.transpose(input=x, dim0=0, dim1=1);
x.clone().transpose_(dim0=0, dim1=1); T.flip(input=x, dims=(0, 1)); T.permute(input=x, dims=(1, 0));
x.permute(dims=(1, 0)); T.reshape(input=x, shape=(3, 2)); x.view(size=(6,)); x.unsqueeze(0).expand(size=(4, 2, 3));
x.repeat(repeats=(2, 1)); T.tile(input=x, dims=(2,)); T.broadcast_to(input=x, size=(4, 2, 3));
T.squeeze(input=x.unsqueeze(1), dim=1); T.flatten(input=x, start_dim=0, end_dim=1);
T.roll(input=x, shifts=(1, 2), dims=(0, 1)); T.cat(tensors=[x, x], dim=1); T.stack(tensors=(x, x), dim=-1);
T.split(tensor=x, split_size_or_sections=[1, 2], dim=1)[1]; x.split(split_size=2, dim=1)[0];
T.chunk(input=x, chunks=2, dim=1)[0]; T.index_select(input=x, dim=1, index=T.tensor([2, 0]));
T.gather(input=x, dim=1, index=T.tensor([[2], [0]])); x.scatter(dim=1, index=T.tensor([[2], [0]]), value=9.0);
T.sort(input=x, dim=0, descending=True, stable=True).indices;
T.topk(input=x, k=2, dim=1, largest=False, sorted=True).values; T.cumsum(input=x, dim=1);
T.matmul(input=x, other=x.t()); T.addmm(input=T.ones(2, 2), mat1=x, mat2=x.t(), beta=2, alpha=3);
T.tensordot(a=x, b=x, dims=([1], [1])); T.norm(input=x, p=3, dim=1);
T.linalg.vector_norm(x=x, ord=1, dim=1, keepdim=True); T.softmax(input=x, dim=1);
T.full(size=(2, 3), fill_value=7.0, dtype=T.float64, requires_grad=False); T.arange(start=1, end=9, step=3);
T.linspace(start=0, end=1, steps=5); T.eye(n=2, m=3);
T.zeros(2, 3, dtype=T.int64, layout=T.strided, device="cpu", pin_memory=False);
T.meshgrid(T.arange(2), T.arange(3), indexing="xy")[0]; T.zeros(2, 3).copy_(other=x, non_blocking=True);
x.to(device="cpu", dtype=T.float64, non_blocking=True, copy=True); T.bernoulli(input=x, p=1.0);
T.zeros(1, dtype=T.promote_types(T.int64, T.float16)); x.clone().logical_not_(); x.clone().logical_xor_(other=x);
F.linear(input=x, weight=x, bias=None); F.pad(input=x, pad=(1, 2), mode="constant", value=4.0);
F.cross_entropy(input=x, target=T.arange(2), weight=T.ones(3), ignore_index=0, reduction="sum", label_smoothing=0.1);
F.layer_norm(input=x, normalized_shape=(3,), weight=T.ones(3), bias=T.zeros(3), eps=1e-3);
F.embedding(input=T.tensor([1, 0]), weight=x, padding_idx=0);
F.scaled_dot_product_attention(query=x, key=x, value=x, attn_mask=None, dropout_p=0.0, is_causal=True, scale=0.5)"""


def test_a_call_by_keywords_gives_what_pytorch_gives() -> None:
    values = np.array([[0.5, -1.0, 2.0], [0.25, 3.0, -0.125]], np.float32)
    for code in KEYWORDS.replace("\n", " ").split("; "):
        ours, theirs = (eval(code, {"T": E, "F": E.nn.functional, "x": E.tensor(values)}) for E in (T, torch))
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2], code
        assert tuple(ours.shape) == tuple(theirs.shape), code
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, err_msg=code)
