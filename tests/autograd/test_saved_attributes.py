"""The saved values that a node shows, `_saved_…` and `_raw_saved_…`, have PyTorch's names and contents.

Every row of the table of ops is run on both engines. Names that hold `_sym_` are left out: sizes and strides that only
PyTorch's own rules read.
"""

import functools
from typing import Any

import numpy as np
import pytest
import torch
from support.both import attempt, leaf, noting, same_on_both
from support.op_table import DIFFERENTIABLE, Run

import tinygrad_edu

# (node, attribute) and why it differs. A node that is not listed with an attribute has what PyTorch's has.
NEEDED = "PyTorch's rule needs it, and ours does not"
WINDOWS = "one implementation of windows and of resampling, for any number of dimensions, keeps where each is"
GRANTED = "a setting with one value that is built"
EXCEPTIONS = {
    "DivBackward2": {"self": NEEDED, "other": NEEDED, "rounding_mode": "its gradient is 0 whatever was rounded"},
    "SqueezeBackward1": {"dim": NEEDED},
    "SqueezeBackward2": {"dim": NEEDED},
    "SqueezeBackward4": {"dim": NEEDED},
    "SumBackward1": {"dim": "of sum_to_size: the shape tells", "keepdim": "of sum_to_size: the shape tells"},
    "IndexAddBackward0": {"source_dim": NEEDED},
    "IndexCopyBackward0": {"source_dim": NEEDED},
    "GatherBackward0": {"sparse_grad": GRANTED},
    "EmbeddingBackward0": {"sparse": GRANTED},
    "ConvolutionBackward0": {
        **dict.fromkeys(("dilation", "geometry", "groups", "padding", "stride"), "of the transposed: in one setting"),
        "output_padding": NEEDED,
        "transposed": "ours are two ops of one name",
    },
    "LinalgDetBackward0": dict.fromkeys(("LU", "pivots", "result"), NEEDED),
    "LinalgSolveExBackward0": {"LU": NEEDED, "pivots": NEEDED},
    "NormBackward1": {"ord": "PyTorch's p", "p": "here ord"},
    "LogSigmoidBackward0": {"buffer": "what PyTorch's kernel keeps for its own gradient"},
    "NativeGroupNormBackward0": {
        **dict.fromkeys(("N", "C", "HxW"), "the shape of the input tells"),
        "result1": "with a last dimension of 1, as it is broadcast",
        "result2": "with a last dimension of 1, as it is broadcast",
    },
    "NativeLayerNormBackward0": {"bias": NEEDED, "eps": "our rule computes the deviation anew"},
    "NativeBatchNormBackward0": {
        "result1": "PyTorch's is empty where the running statistics are used",
        "result2": "PyTorch's is empty where the running statistics are used",
    },
    "NllLossBackward0": {"total_weight": "PyTorch leaves it 0 where nothing is reduced"},
    "ScaledDotProductFlashAttentionForCpuBackward0": {
        **dict.fromkeys(("attn_mask", "dropout_p", "logsumexp", "output"), "our rule computes the weights anew"),
        "scale": "the one that was used, also where none is given",
    },
    "BinaryCrossEntropyBackward0": {"weight": "before it is expanded"},
    "ConstantPadNdBackward0": {"pad": "a pair for each dimension, as NumPy has it"},
    "IndexBackward0": {"indices": "with the slices between them"},
    "SliceBackward0": {"end": "the end that was reached, where PyTorch keeps the largest number for an open one"},
    "StdBackward0": {"correction": "1 where none is given; PyTorch keeps that none was"},
    "VarBackward0": {"correction": "1 where none is given; PyTorch keeps that none was"},
    "MulBackward0": {"other": "of dropout: one number for each element, where PyTorch takes one for all"},
}
POOLED = "ceil_mode kernel_size padding stride"
SIZED = "output_size ways scales"
for nodes_, names_ in {
    "AdaptiveAvgPool2D AdaptiveAvgPool3D": "ways",
    "AdaptiveMaxPool2D AdaptiveMaxPool3D": "windows",
    "AvgPool2D AvgPool3D": f"{POOLED} count_include_pad divisor_override ways",
    "MaxPool2DWithIndices MaxPool3DWithIndices": f"{POOLED} dilation windows",
    "ReflectionPad1D ReflectionPad2D ReplicationPad1D ReplicationPad2D": "padding ways",
    "UpsampleNearest1D UpsampleNearestExact1D": SIZED,
    "UpsampleNearest2D UpsampleNearestExact2D": f"{SIZED}_h scales_w",
    "UpsampleNearest3D UpsampleNearestExact3D": f"{SIZED}_h scales_w scales_d",
    "UpsampleLinear1D": f"{SIZED} align_corners",
    "UpsampleTrilinear3D": f"{SIZED}_h scales_w scales_d align_corners",
}.items():
    EXCEPTIONS |= {f"{node}Backward0": dict.fromkeys(names_.split(), WINDOWS) for node in nodes_.split()}
# Memory that PyTorch takes and does not write: what stands there depends on what ran before. Its shape is compared.
UNWRITTEN = {("RreluWithNoiseBackward0", "noise")}  # it draws only while training
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def nodes(outputs: list[Any]) -> list[Any]:
    """The nodes behind some tensors, in the order of a walk."""
    seen: list[Any] = []
    stack = [o.grad_fn for o in reversed(outputs)]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.append(node)
            stack.extend(n for n, _ in reversed(node.next_functions))
    return seen


def saved(node: Any) -> dict[str, Any]:
    names = [name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")]
    return {name: plain(getattr(node, f"_saved_{name}")) for name in names if "_sym_" not in name}


def raw(node: Any) -> dict[str, Any]:
    """What is behind each `_raw_saved_…`: the tensor that is kept, or one for each of several."""
    names = [name.removeprefix("_raw_saved_") for name in dir(node) if name.startswith("_raw_saved_")]
    found = {name: getattr(node, f"_raw_saved_{name}") for name in names}
    behind = {
        name: list(map(kept_by, kept)) if isinstance(kept, tuple) else kept_by(kept) for name, kept in found.items()
    }
    return {name: plain(kept) for name, kept in behind.items()}


def kept_by(saved: Any) -> Any:
    """The tensor as it is kept: PyTorch's cannot be unpacked where the output is gone."""
    return saved.data if hasattr(saved, "data") else saved.unpack()


def plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().numpy(force=True)
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, int) and value > 2**63:
        return value - 2**64  # PyTorch shows a negative number as an unsigned one
    return value


def same(theirs: Any, ours: Any, name: str) -> bool:
    if isinstance(theirs, np.ndarray) or isinstance(ours, np.ndarray):
        return np.shape(theirs) == np.shape(ours) and np.allclose(theirs, ours, rtol=1e-9, equal_nan=True)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(same, theirs, ours, [name] * len(ours)))
    if name == "reduction":
        return REDUCTIONS[ours] == theirs
    if name.startswith(("dim", "index")) and isinstance(theirs, int) and (theirs < 0) != (ours < 0):
        return True  # counted from the end, or from the start
    return theirs == ours or str(theirs).removeprefix("torch.") == str(ours).removeprefix("tinygrad_edu.")


ROWS = [sample for sample in DIFFERENTIABLE if sample.names and "bilinear" not in sample.code]


@functools.cache
def differences(row: int) -> dict[tuple[str, str], str]:
    """For each attribute that differs in a row: the node, its name, and the difference."""
    found = {}
    both = (nodes(Run(engine, ROWS[row]).differentiable()) for engine in (torch, tinygrad_edu))
    for theirs, ours in zip(*both, strict=True):
        for shown in (saved, raw):
            kept, mine = shown(theirs), shown(ours)
            for name in kept.keys() | mine.keys():
                a, b = (each.get(name, "nothing") for each in (kept, mine))
                unwritten = (theirs.name(), name) in UNWRITTEN and np.shape(a) == np.shape(b)
                if not unwritten and ((name in kept) != (name in mine) or not same(a, b, name)):
                    found[theirs.name(), name] = f"PyTorch has {shown.__name__} {a}, here it is {b}"
    return found


@pytest.mark.outer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", range(len(ROWS)), ids=[f"{row}-{sample.code}" for row, sample in enumerate(ROWS)])
def test_a_node_shows_what_pytorchs_shows_also_raw_or_it_is_said_why_not(row: int) -> None:
    assert not {key: what for key, what in differences(row).items() if key[1] not in EXCEPTIONS.get(key[0], {})}


@same_on_both
def test_hooks_on_what_a_node_saved_work_whatever_was_saved(T):
    def hooked(y, name):
        log = []
        kept = getattr(y.grad_fn, f"_raw_saved_{name}")
        for each in kept if isinstance(kept, tuple) else (kept,):
            each.register_hooks(noting(log, "pack", lambda t: t), noting(log, "unpack", lambda t: t))
        y.sum().backward(retain_graph=True)
        again = attempt(lambda: each.register_hooks(lambda t: t, lambda t: t))
        y.sum().backward()
        return log, again

    x, mask, at = leaf(T), T.tensor([True, False, True]), T.tensor([2, 0])
    ways = [(x * x, "self"), (x.exp(), "result"), (T.where(mask, x, x * 2), "condition"), (x[at], "indices")]
    ways += [(x.gather(0, at), "index"), (x * T.ones(3, dtype=T.float64), "self")]
    return [attempt(lambda way=way: hooked(*way)) for way in ways], hooked(x / 2, "other")[1:], x.grad


@same_on_both
def test_a_raw_saved_tensor_gives_what_is_kept(T):
    x = leaf(T)
    ys = [x * x for _ in range(3)]
    hooked, changed, freed = (y.grad_fn._raw_saved_self for y in ys)
    seen = hooked.unpack() is x
    hooked.register_hooks(lambda t: ("packed", t), lambda packed: packed[1])
    ys[2].sum().backward()
    with T.no_grad():
        x.add_(1)
    return seen, [attempt(saved.unpack) for saved in (hooked, changed)], attempt(freed.unpack)[0]


@same_on_both
def test_what_was_not_saved_is_there_as_none(T):
    # In PyTorch a raw saved tensor is good only as long as its node.
    y = leaf(T) * T.ones(3)
    return attempt(y.grad_fn._raw_saved_self.unpack)


@pytest.mark.filterwarnings("ignore")
def test_every_exception_is_one() -> None:
    """A fixed difference must be removed from the list."""
    found = {key for row in range(len(ROWS)) for key in differences(row)}
    assert {(node, name) for node, names in EXCEPTIONS.items() for name in names} <= found


def test_an_index_shows_its_tensors_and_nothing_for_its_slices() -> None:
    for T in (tinygrad_edu, torch):
        nothing, index = T.ones(2, 3, requires_grad=True)[:, T.tensor([0, 2])].grad_fn._saved_indices
        assert nothing is None
        assert index.tolist() == [0, 2]
