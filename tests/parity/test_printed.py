"""Whole programs as people write them print the same on both engines: tables, modules, losses, tensors."""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import tinygrad_edu

pytestmark = pytest.mark.outer(start=1)

PROGRAMS = sorted((Path(__file__).parents[1] / "support" / "printed").glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_what_it_prints_on_pytorch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = (told(printed(path, name, monkeypatch)) for name in ("torch", "tinygrad_edu"))
    assert NUMBER.sub("#", ours).split() == NUMBER.sub("#", theirs).split()
    expected, found = ([float(n) for n in NUMBER.findall(text)] for text in (theirs, ours))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def printed(path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> str:
    # PyTorch's own tests, of which others of ours take samples, forbid a program to set its global switches.
    monkeypatch.setattr(torch.backends.m, "__allow_nonbracketed_mutation_flag", True)
    source = re.sub(r"^import torch$", f"import {engine} as torch", path.read_text(), flags=re.M)
    source = re.sub(r"^import torch\.([\w.]+)$", rf"import {engine}.\1", source, flags=re.M)
    source = re.sub(
        r"^(import|from) torch\b(?=\.[\w.]+ as | import |\.[\w.]+ import)", rf"\1 {engine}", source, flags=re.M
    )
    module = types.ModuleType(f"printed_{path.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    random.seed(0)
    np.random.seed(0)
    for one in (torch, tinygrad_edu):
        one.manual_seed(0)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributions_are_left_as_they_were():
            exec(compile(source, path, "exec"), vars(module))
    return out.getvalue()


@contextlib.contextmanager
def distributions_are_left_as_they_were() -> Iterator[None]:
    """A program may give these classes methods of its own, which another test would meet."""
    kinds = [
        kind for one in (torch, tinygrad_edu) for kind in vars(one.distributions).values() if isinstance(kind, type)
    ]
    before = {kind: dict(vars(kind)) for kind in kinds}
    try:
        yield
    finally:
        for kind, own in before.items():
            for name in vars(kind).keys() - own.keys():
                delattr(kind, name)
            for name, value in own.items():
                if vars(kind)[name] is not value:
                    setattr(kind, name, value)


def told(text: str) -> str:
    """Without names of nodes and addresses: which ops a function is made of is compared elsewhere."""
    text = re.sub(r",\s+grad_fn=<\w+>", "", text.replace("tinygrad_edu", "torch"))
    text = re.sub(r"<\w+ object at 0x\w+>|0x[0-9a-f]+", "#", text)
    # A number may take one place more or less, and with it a space.
    return re.sub(r"([\[(,=])\s+", r"\1 ", text)
