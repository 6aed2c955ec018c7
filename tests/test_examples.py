"""The examples in the docstrings of functions and classes run, and give the results that they show."""

import contextlib
import doctest
import importlib
import io
import warnings
from pathlib import Path

import pytest

import tinygrad_edu
import viz

pytestmark = pytest.mark.outer
ROOT = Path(__file__).resolve().parents[1]
IN_A_BROWSER = ROOT / "tinygrad_edu" / "course" / "site" / "live" / "python"  # no modules of this installation
SOURCES = [path for package in ("tinygrad_edu", "viz") for path in sorted((ROOT / package).rglob("*.py"))]
WITH_EXAMPLES = [
    path for path in SOURCES if ">>> " in path.read_text(encoding="utf-8") and not path.is_relative_to(IN_A_BROWSER)
]
# What a lesson, an author or an instructor calls by name: each shows how.
CALLED = {
    "viz": "compare diagnose draw explore load mistake mistakes record train",
    "tinygrad_edu.exercises": "check get",
    "tinygrad_edu.autograd": (
        "Function backward detect_anomaly enable_grad grad gradcheck gradgradcheck inference_mode no_grad "
        "set_grad_enabled"
    ),
    "tinygrad_edu.autograd.functional": "hessian hvp jacobian jvp vhp vjp",
    "tinygrad_edu.autograd.graph": "saved_tensors_hooks",
    "tinygrad_edu.utils.checkpoint": "checkpoint",
    "tinygrad_edu.library": "custom_op",
    "tinygrad_edu.nn": (
        "BCEWithLogitsLoss BatchNorm1d Conv2d CrossEntropyLoss Dropout Embedding Flatten GELU GRU LSTM LayerNorm "
        "Linear MSELoss MaxPool2d Module ModuleList MultiheadAttention NLLLoss RNN ReLU Sequential Sigmoid Softmax "
        "Tanh TransformerEncoderLayer"
    ),
    "tinygrad_edu.optim": "Adam AdamW RMSprop SGD",
    "tinygrad_edu.optim.lr_scheduler": "StepLR",
    "tinygrad_edu": "arange cat clamp exp gather log matmul mean permute reshape sigmoid stack sum tensor where zeros",
}

# The public functions and classes of these modules have a docstring.
DESCRIBED = """
autograd distributions func linalg nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler utils.data
"""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=_module)
@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_a_module_give_what_they_say(path: Path) -> None:
    module = importlib.import_module(_module(path))
    told = io.StringIO()
    with contextlib.redirect_stdout(told), warnings.catch_warnings():
        outcome = doctest.testmod(module, extraglobs={"T": tinygrad_edu}, optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0, told.getvalue()


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in CALLED for name in CALLED[module].split()])
def test_what_is_called_by_name_shows_how(module: str, name: str) -> None:
    assert ">>> " in (getattr(importlib.import_module(module), name).__doc__ or "")


@pytest.mark.parametrize("module", ["tinygrad_edu", *(f"tinygrad_edu.{name}" for name in DESCRIBED.split())])
def test_every_public_function_says_what_it_does(module: str) -> None:
    here = importlib.import_module(module)
    names = {name for name in getattr(here, "__all__", vars(here)) if not name.startswith("_")}
    called = {name: value for name in names if callable(value := getattr(here, name))}
    own = {name: v for name, v in called.items() if getattr(v, "__module__", "").startswith("tinygrad_edu")}
    assert {name for name, value in own.items() if not value.__doc__} == set(), "say it in a docstring"


def test_the_packages_open_with_an_example() -> None:
    assert ">>> " in (tinygrad_edu.__doc__ or "")
    assert ">>> " in (viz.__doc__ or "")
