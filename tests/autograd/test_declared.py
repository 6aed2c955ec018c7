"""What is bound to Tensor is declared for the type checker, so that it knows a wrong attribute."""

import re

from support.declare import STUB, names


def test_every_name_that_is_bound_to_tensor_is_declared() -> None:
    stub = STUB.read_text(encoding="utf-8")
    declared = set(re.findall(r"^    (?:def )?(\w+)[(:]", stub, flags=re.MULTILINE))
    assert set(names()) - declared == set(), "python tests/support/declare.py writes the stub anew"


def test_no_name_lets_every_attribute_pass() -> None:
    assert "__getattr__" not in STUB.read_text(encoding="utf-8")
