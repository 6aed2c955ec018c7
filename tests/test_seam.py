"""The seam's table says where each name of `extra/` is, and all that `extra/` defines is in it."""

from __future__ import annotations

import importlib
import inspect
import operator
import subprocess
import sys
from pathlib import Path

import pytest
from support.declare import load_all

import tinygrad_edu as T
from tinygrad_edu.ops import fft_functions, functions, linalg_functions, nn_functions
from tinygrad_edu.seam.later import names_of
from tinygrad_edu.seam.modules import _BELOW, _HOMES
from tinygrad_edu.seam.names import NAMES

TESTS = Path(__file__).parent
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


@pytest.mark.outer
def test_a_tensor_has_the_same_names_before_extra_is_imported_as_after() -> None:
    """Operators and forms in place are among them; a name that only a module of `extra/` binds would be missing before."""
    code = """
import tinygrad_edu as T
from support.declare import load_all
before = set(vars(T.Tensor))
load_all()
print(sorted(set(vars(T.Tensor)) - before - {"__torch_function__"}))
"""
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_a_folder_that_an_older_version_left_behind_hides_no_module(tmp_path: Path) -> None:
    """`git pull` leaves the folder of a moved package, with `__pycache__` in it: to Python it is a package without a file."""
    (tmp_path / "fft" / "__pycache__").mkdir(parents=True)
    code = f"import tinygrad_edu as T; T.__path__.append({str(tmp_path)!r}); import tinygrad_edu.fft as f; print(f.fft is T.fft.fft)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


def test_no_module_hides_behind_the_name_of_a_module_of_pytorch() -> None:
    root = Path(T.__file__).parent
    names = [f"{above}.{last}".strip(".") for above, lasts in [("", _HOMES), *_BELOW.items()] for last in lasts]
    assert [
        name
        for name in names
        if (path := root.joinpath(*name.split("."))).is_dir() or path.with_suffix(".py").is_file()
    ] == []


@pytest.mark.parametrize("name", ["nn.attention", "nn.utils.rnn", "fft", "nn", "func"])
def test_an_absent_name_is_told_under_pytorchs_name_of_the_module(name):
    with pytest.raises(AttributeError, match=rf"^tinygrad_edu\.{name} has no 'absent_name'"):
        getattr(importlib.import_module(f"tinygrad_edu.{name}"), "absent_name")  # noqa: B009
