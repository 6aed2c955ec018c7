"""Every public name of PyTorch exists here, or an error says what to do instead, both on access and on import."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
import torch

import tinygrad_edu

pytestmark = pytest.mark.outer(start=1)

PLACES = """
nn nn.functional nn.init nn.utils nn.utils.rnn optim optim.lr_scheduler linalg autograd autograd.functional
distributions utils utils.data utils.checkpoint func jit
"""
MODULES = """
autograd.function autograd.functional autograd.variable backends.cudnn distributions.categorical
distributions.kl distributions.normal func jit linalg nn nn.functional nn.init nn.modules
nn.modules.conv nn.modules.loss nn.modules.module nn.parameter nn.utils nn.utils.clip_grad nn.utils.rnn optim
optim.adam optim.lr_scheduler optim.optimizer optim.sgd overrides utils utils.checkpoint utils.data
utils.data.dataloader utils.data.dataset utils.data.sampler
"""
REFUSED = """
export quantization ao package nn.quantized masked nested _inductor _C _dynamo distributed.fsdp utils._pytree
"""


def _at(package: Any, path: str) -> Any:
    return importlib.import_module(f"{package.__name__}.{path}") if path else package


def _own(module: Any, name: str) -> bool:
    """True for what a module defines or names in `__all__`."""
    if name in getattr(module, "__all__", ()):
        return True
    home = getattr(getattr(module, name), "__module__", None) or ""
    return home == module.__name__ or home.startswith(f"{module.__name__}.")


def _says_what_to_do(text: str) -> bool:
    ways_out = "built|[Uu]se|rite|written|Compute|[Ll]eave|CPU|PyTorch|It has|See"
    return len(text) > 60 and re.search(ways_out, text) is not None


def _mute(ours: Any, names: list[str], *, may_raise: tuple[type[Exception], ...] = ()) -> dict[str, str]:
    """Which names are neither there nor refused by a sentence, and what is said instead."""
    mute = {}
    for name in names:
        try:
            getattr(ours, name)
        except AttributeError as error:
            if not _says_what_to_do(str(error)):
                mute[name] = str(error)
        except may_raise:
            pass
    return mute


@pytest.mark.parametrize("place", ["", *PLACES.split()])
def test_a_public_name_is_there_or_is_refused_by_a_sentence(place: str) -> None:
    theirs = _at(torch, place)
    # What a module of PyTorch itself imports is none of its names.
    names = [name for name in dir(theirs) if not name.startswith("_") and _own(theirs, name)]
    assert _mute(_at(tinygrad_edu, place), names) == {}


@pytest.mark.parametrize("make", [lambda T: T.ones(2, 2), lambda T: T.nn.Linear(1, 1)])
def test_a_method_is_there_or_is_refused_by_a_sentence(make: Any) -> None:
    machinery = ("index", "xpu", "profile_hook_step")  # PyTorch's own
    names = [name for name in dir(type(make(torch))) if not name.startswith("_") and name not in machinery]
    assert _mute(make(tinygrad_edu), names, may_raise=(RuntimeError, TypeError, NotImplementedError)) == {}


@pytest.mark.parametrize("name", MODULES.split())
def test_a_module_that_programs_import_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"tinygrad_edu.{name}") is not None


@pytest.mark.parametrize("name", REFUSED.split())
def test_an_import_of_what_is_not_built_says_what_to_do(name: str) -> None:
    with pytest.raises(ImportError) as refusal:
        importlib.import_module(f"tinygrad_edu.{name}")
    assert _says_what_to_do(str(refusal.value))


@pytest.mark.parametrize(
    "statement",
    [
        "from tinygrad_edu import vmap_of_something",
        "from tinygrad_edu.nn import NoSuchLayer",
        "import tinygrad_edu.export",
        "from tinygrad_edu.nn.functional import no_such_function",
        "from tinygrad_edu.optim import SparseAdam",
        "from tinygrad_edu.linalg import eig",
        "from tinygrad_edu.utils.data import DataPipe",
    ],
)
def test_a_name_that_is_imported_is_refused_with_the_same_sentence(statement: str) -> None:
    with pytest.raises(ImportError) as refusal:
        exec(statement)
    assert _says_what_to_do(str(refusal.value))
