"""The examples that stand beside functions and classes run, and give what they say."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import warnings
from pathlib import Path

import pytest

import tinygrad_edu
import viz

ROOT = Path(__file__).resolve().parents[1]
IN_A_BROWSER = ROOT / "tinygrad_edu" / "course" / "site" / "live" / "python"  # no modules of this installation
WITH_EXAMPLES = [
    path
    for package in ("tinygrad_edu", "viz")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8") and not path.is_relative_to(IN_A_BROWSER)
]
# What a lesson, an author or an instructor calls by name: each shows how.
CALLED = {
    "viz": ["compare", "diagnose", "draw", "explore", "load", "mistake", "mistakes", "record", "train"],
    "tinygrad_edu.exercises": ["check", "get"],
    "tinygrad_edu.autograd": [
        "Function", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode",
        "no_grad", "set_grad_enabled",
    ],
    "tinygrad_edu.autograd.functional": ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"],
    "tinygrad_edu.autograd.graph": [
        "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
        "register_multi_grad_hook", "saved_tensors_hooks",
    ],
    "tinygrad_edu.utils.checkpoint": ["checkpoint", "checkpoint_sequential"],
    "tinygrad_edu.library": ["custom_op"],
    "tinygrad_edu.nn": [
        "BCEWithLogitsLoss", "BatchNorm1d", "Conv2d", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GELU", "GRU",
        "LSTM", "LayerNorm", "Linear", "MSELoss", "MaxPool2d", "Module", "ModuleList", "MultiheadAttention", "NLLLoss",
        "RNN", "ReLU", "Sequential", "Sigmoid", "Softmax", "Tanh", "TransformerEncoderLayer",
    ],
    "tinygrad_edu.optim": ["Adam", "AdamW", "RMSprop", "SGD"],
    "tinygrad_edu.optim.lr_scheduler": ["CosineAnnealingLR", "LambdaLR", "OneCycleLR", "StepLR"],
    "tinygrad_edu": [
        "arange", "cat", "clamp", "exp", "gather", "log", "matmul", "mean", "permute", "reshape", "sigmoid", "stack", "sum",
        "tensor", "where", "zeros",
    ],
}  # fmt: skip


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=_module)
@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_a_module_give_what_they_say(path: Path) -> None:
    module = importlib.import_module(_module(path))
    told = io.StringIO()
    with contextlib.redirect_stdout(told), warnings.catch_warnings():
        outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0, told.getvalue()


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in CALLED.items() for name in names])
def test_what_is_called_by_name_shows_how(module: str, name: str) -> None:
    assert ">>> " in (getattr(importlib.import_module(module), name).__doc__ or "")


def test_the_packages_open_with_an_example() -> None:
    assert ">>> " in (tinygrad_edu.__doc__ or "")
    assert ">>> " in (viz.__doc__ or "")
