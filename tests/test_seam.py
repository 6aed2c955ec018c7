"""The seam's table says where each name of `extra/` is, and all that `extra/` defines is in it."""

from __future__ import annotations

import importlib
import inspect
import operator

import pytest
from support.declare import load_all

import tinygrad_edu as T
from tinygrad_edu.ops import fft_functions, functions, linalg_functions, nn_functions
from tinygrad_edu.seam.later import names_of
from tinygrad_edu.seam.names import NAMES

TABLES = {"": functions, "linalg": linalg_functions, "fft": fft_functions, "nn.functional": nn_functions}
# Asked for by `borrowed`, and not found under this name by a program.
BORROWED = {("array.tensor", "follow"), ("nn.module", "to_meta")}


@pytest.mark.parametrize("host", NAMES)
def test_each_name_of_the_table_is_found_where_programs_look_for_it(host: str) -> None:
    for name, module in names_of(host).items():
        if (host, name) in BORROWED:
            assert callable(getattr(importlib.import_module(f"tinygrad_edu.{module}"), name))
        else:
            place = operator.attrgetter(host)(T) if host else T
            assert hasattr(type(T.tensor([1j])) if host == "Tensor" else place, name), (host, name)


def _home(value: object) -> str:
    return getattr(inspect.unwrap(value), "__module__", "") if callable(value) else ""


def test_each_function_that_extra_defines_is_in_the_table() -> None:
    load_all()
    for host, table in TABLES.items():
        found = {name for name, value in table.items() if _home(value).startswith("tinygrad_edu.extra.")}
        assert sorted(found - names_of(host).keys()) == []


def test_each_method_that_extra_gives_a_tensor_is_in_the_table() -> None:
    load_all()
    known = names_of("Tensor").keys()
    found = {name for name, value in vars(T.Tensor).items() if _home(value).startswith("tinygrad_edu.extra.")}
    assert sorted(found - known - {"__torch_function__"}) == []
