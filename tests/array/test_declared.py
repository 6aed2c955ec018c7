"""Names bound to Tensor are declared for the type checker, so that it finds wrong attributes and knows what methods return."""

import inspect
import re

import pytest
from support.declare import STUB, names, results

import tinygrad_edu


def test_every_name_that_is_bound_to_tensor_is_declared() -> None:
    stub = STUB.read_text(encoding="utf-8")
    declared = set(re.findall(r"^    (?:def )?(\w+)[(:]", stub, flags=re.MULTILINE))
    assert set(names()) - declared == set(), "python tests/support/declare.py writes the stub anew"


def test_no_name_lets_every_attribute_pass() -> None:
    assert "def __getattr__" not in STUB.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["__add__", "__mul__", "__matmul__", "__mod__"])
def test_an_operator_is_declared(name: str) -> None:
    assert f"    def {name}(" in STUB.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["exp", "add", "sum", "reshape", "mul_", "detach"])
def test_a_method_is_declared_with_the_result_and_the_parameters_that_it_has(name: str) -> None:
    declared = re.search(rf"    def {name}\((.*)\) -> (.*): \.\.\.", STUB.read_text(encoding="utf-8"))
    assert declared is not None and declared[2] == "Tensor" == results()[name]
    own = list(inspect.signature(getattr(tinygrad_edu.Tensor, name)).parameters)[1:]
    assert re.findall(r"(\w+): Any", declared[1])[: len(own)] == own
