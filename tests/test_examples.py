"""The examples in the docstrings of functions and classes run, and give the results that they show."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import warnings
from operator import attrgetter
from pathlib import Path

import pytest

import tinygrad_edu
import viz
from tinygrad_edu.seam.later import names_of

pytestmark = pytest.mark.outer

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

# The public functions and classes of these modules have an example, except the names that follow (and forms in place).
WITHOUT = {
    "tinygrad_edu": "Tensor bind_later later",  # the package opens with a Tensor; the others are no names of PyTorch
    "tinygrad_edu.autograd": "NestedIOFunction",  # refuses what it was for
    "tinygrad_edu.distributions": "",
    "tinygrad_edu.distributions.constraints": "",
    "tinygrad_edu.fft": "",
    "tinygrad_edu.func": "",
    "tinygrad_edu.linalg": "",
    "tinygrad_edu.nn": "",
    "tinygrad_edu.nn.functional": "",
    "tinygrad_edu.nn.init": "",
    "tinygrad_edu.nn.utils": "",
    "tinygrad_edu.nn.utils.parametrizations": "",
    "tinygrad_edu.nn.utils.parametrize": "",
    "tinygrad_edu.nn.utils.prune": "",
    "tinygrad_edu.nn.utils.rnn": "",
    "tinygrad_edu.optim": "",
    "tinygrad_edu.optim.lr_scheduler": "",
    "tinygrad_edu.optim.swa_utils": "",
    "tinygrad_edu.sparse": "",
    "tinygrad_edu.utils.data": "",
}


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


@pytest.mark.parametrize("module", WITHOUT)
def test_every_public_function_shows_how_it_is_called(module: str) -> None:
    here = importlib.import_module(module)
    # Names of `extra/` stay in a module once another test has used them.
    names = {*getattr(here, "__all__", vars(here))} - names_of(module.partition(".")[2]).keys()
    called = {
        name: getattr(here, name)
        for name in names
        if not name.startswith("_") and not (name.endswith("_") and name[:-1] in names)
    }
    without = {
        name
        for name, value in called.items()
        if callable(value) and getattr(value, "__module__", "").startswith("tinygrad_edu")
        if ">>> " not in (value.__doc__ or "")
    }
    assert without - set(WITHOUT[module].split()) == set(), "add an example to the docstring, or the name to WITHOUT"


@pytest.mark.parametrize(
    "name",
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "bartlett_window",
        "blackman_window",
        "dsplit",
        "hamming_window",
        "hann_window",
        "hsplit",
        "kaiser_window",
        "nn.functional.max_unpool1d",
        "nn.functional.max_unpool2d",
        "nn.functional.max_unpool3d",
        "resolve_conj",
        "resolve_neg",
        "tril_indices",
        "triu_indices",
        "vsplit",
    ],
)
def test_the_example_of_a_function_that_is_made_in_a_loop_gives_what_it_says(name: str) -> None:
    example = doctest.DocTestParser().get_doctest(attrgetter(name)(tinygrad_edu).__doc__ or "", {}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_packages_open_with_an_example() -> None:
    assert ">>> " in (tinygrad_edu.__doc__ or "")
    assert ">>> " in (viz.__doc__ or "")
