"""Attention under every kind of mask, in training and in inference, beside PyTorch's."""

from __future__ import annotations

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
PADDING = {
    "a sequence of padding": np.array([[0, 0, 1], [1, 1, 1]], bool),
    "at the end": np.array([[0, 0, 1], [0, 0, 0]], bool),
    "at the start": np.array([[1, 0, 0], [0, 1, 0]], bool),
}


def with_numbers(masks: dict[str, Any]) -> list[Any]:
    """Each mask, and what it adds to the scores."""
    return [None, *masks.values(), *(np.where(m, -np.inf, 0.0).astype(np.float32) for m in masks.values())]


MASKS = [*with_numbers({"row": ROW, "later": LATER, "heads": HEADS}), np.float32(0.3) * LATER, ROW.astype(np.int64)]
PADDINGS = [*with_numbers(PADDING), PADDING["at the end"].astype(np.int64)]
MODULES = {
    "nn.MultiheadAttention(4, 2, batch_first={batch_first})": {"need_weights": [True, False]},
    "nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first={batch_first})": {},
    "nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first={batch_first}, norm_first=True)": {},
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first={batch_first}), 2)": {},
    "nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first={batch_first})": {},
}


def called(engine: Any, code: str, training: bool, grad: bool, options: dict[str, Any]) -> Any:
    """The outputs of a module and the gradients behind them, or the type of the error."""
    engine.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = eval(code, {"nn": engine.nn}).train(training)
    x = engine.randn(2, 3, 4) if "first=True" in code else engine.randn(3, 2, 4)
    given = {name: engine.tensor(m) if isinstance(m, np.ndarray) else m for name, m in options.items()}
    attention, decoder = "Multihead" in code, "Decoder" in code
    names = (
        ("attn_mask", "key_padding_mask", "is_causal")
        if attention
        else ("src_mask", "src_key_padding_mask", "is_causal")
    )
    if decoder:
        names = "tgt_mask", "tgt_key_padding_mask", "tgt_is_causal"
    elif "Encoder(" in code:
        names = "mask", "src_key_padding_mask", "is_causal"
    named = dict(zip(names, (given.pop(n) for n in ("mask", "padding", "causal")), strict=True))
    with warnings.catch_warnings(), contextlib.nullcontext() if grad else engine.no_grad():
        warnings.simplefilter("ignore")
        try:
            found = module(*[x] * (3 if attention else 2 if decoder else 1), **given, **named)
        except (AssertionError, RuntimeError) as error:
            return type(error).__name__
    found = [t for t in (found if attention else [found]) if t is not None]
    if grad:
        (found[0] * engine.arange(24).view(found[0].shape)).sum().backward()
        found += [p.grad for p in module.parameters() if p.grad is not None]
    return [t.detach().numpy() for t in found]


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


@pytest.mark.parametrize("scale", [None, 2.0, -1.0])
@pytest.mark.parametrize("mask", [None, ~ROW, np.where(ROW, -np.inf, 0.0).astype(np.float32), ROW & False])
def test_a_query_that_may_see_nothing_gives_zeros(mask: Any, scale: Any) -> None:
    outcomes = []
    for engine in (torch, tinygrad_edu):
        engine.manual_seed(0)
        x = engine.randn(2, 3, 4).requires_grad_()
        seen = None if mask is None else engine.tensor(mask)
        out = engine.nn.functional.scaled_dot_product_attention(x, x * 2, x * 3, seen, scale=scale)
        (out * engine.arange(24).view(2, 3, 4)).sum().backward()
        outcomes.append([out.detach().numpy(), x.grad.numpy()])
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_allclose(b, a, 1e-4, 1e-5)
