"""Attention under every kind of mask, in training and in inference, beside PyTorch's."""

import contextlib
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tinygrad_edu

pytestmark = pytest.mark.outer
ROW = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0]], bool)  # the second query may see nothing
LATER = np.triu(np.ones((3, 3), bool), 1)
HEADS = np.zeros((4, 3, 3), bool)
HEADS[1, 2] = HEADS[2, 0, 0] = True
PADDING = [np.array(rows, bool) for rows in ([[0, 0, 1], [1, 1, 1]], [[0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 0]])]


def with_numbers(*masks: Any) -> list[Any]:
    """Each mask, and what it adds to the scores."""
    return [None, *masks, *(np.where(m, -np.inf, 0.0).astype(np.float32) for m in masks)]


MASKS = [*with_numbers(ROW, LATER, HEADS), np.float32(0.3) * LATER, ROW.astype(np.int64)]
PADDINGS = [*with_numbers(*PADDING), PADDING[1].astype(np.int64)]
LAYERS = "(4, 2, 8, 0.0, batch_first={batch_first})"
MODULES = {
    "nn.MultiheadAttention(4, 2, batch_first={batch_first})": {"need_weights": [True, False]},
    f"nn.TransformerEncoderLayer{LAYERS}": {},
    f"nn.TransformerEncoderLayer{LAYERS[:-1]}, norm_first=True)": {},
    f"nn.TransformerEncoder(nn.TransformerEncoderLayer{LAYERS}, 2, enable_nested_tensor=False)": {},
}

NAMES = {  # of the two masks, and of the switch for a causal one
    "Multihead": ("attn_mask", "key_padding_mask", "is_causal"),
    "EncoderLayer": ("src_mask", "src_key_padding_mask", "is_causal"),
    "Encoder(": ("mask", "src_key_padding_mask", "is_causal"),
}


def called(engine: Any, code: str, training: bool, grad: bool, options: dict[str, Any]) -> Any:
    """The outputs of a module and the gradients behind them, or the type of the error."""
    engine.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = eval(code, {"nn": engine.nn}).train(training)
    x = engine.randn(2, 3, 4) if "first=True" in code else engine.randn(3, 2, 4)
    given = {name: engine.tensor(m) if isinstance(m, np.ndarray) else m for name, m in options.items()}
    attention = "Multihead" in code
    names = NAMES["Encoder(" if "Encoder(" in code else next(name for name in NAMES if name in code)]
    named = dict(zip(names, (given.pop(n) for n in ("mask", "padding", "causal")), strict=True))
    with warnings.catch_warnings(), contextlib.nullcontext() if grad else engine.no_grad():
        warnings.simplefilter("ignore")
        try:
            found = module(*[x] * (3 if attention else 1), **given, **named)
        except (AssertionError, RuntimeError) as error:
            return type(error).__name__
    found = [t for t in (found if attention else [found]) if t is not None]
    if grad:
        (found[0] * engine.arange(24).view(found[0].shape)).sum().backward()
        found += [p.grad for p in module.parameters() if p.grad is not None]
    return [t.detach().numpy() for t in found]


@pytest.fixture
def no_fast_path() -> Any:
    """PyTorch's kernel for inference forgets `is_causal` without a mask. Who sees nothing gets numbers of its own."""
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.usefixtures("no_fast_path")
@pytest.mark.parametrize("code", MODULES)
@pytest.mark.parametrize("training, grad", [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("batch_first", [True, False])
def test_every_mask_gives_what_it_gives_in_pytorch(code: str, training: bool, grad: bool, batch_first: bool) -> None:
    given = {"mask": MASKS, "padding": PADDINGS, "causal": [False, True], **MODULES[code]}
    code = code.format(batch_first=batch_first)
    for values in itertools.product(*given.values()):
        options = dict(zip(given, values, strict=True))
        theirs, mine = (called(engine, code, training, grad, options) for engine in (torch, tinygrad_edu))
        assert isinstance(theirs, str) == isinstance(mine, str) and len(theirs) == len(mine), (options, theirs, mine)
        if isinstance(theirs, str):
            assert theirs == mine, options
            continue
        for a, b in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(b, a, 1e-3, 1e-4, err_msg=str(options))
