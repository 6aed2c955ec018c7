"""Each row of the table of samples on operands that lie in memory in every way: the layout changes no number.

An operand is row-major, transposed, expanded, a slice with a step, empty, or one element. Values, types, versions, both
gradients, what is a view and what shares memory are PyTorch's; and `view` of the result succeeds where it does there.
"""

import itertools
import re
from typing import Any

import numpy as np
import pytest
from support.axes import not_alike, on_axis, steps
from support.both import attempt
from support.op_table import _flat, seed, weights
from support.samples import RANDOM, SAMPLES

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]


# An operand that has the values of `a`, and the leaf that it is a view of.
BASES = {"row_major": lambda a: a, "transposed": lambda a: np.ascontiguousarray(a.transpose())}
BASES |= {"expanded": lambda a: a[:1].copy() if a.ndim else a}
BASES |= {"stepped": lambda a: a.repeat(2, -1) if a.ndim else a[None].repeat(2)}
BASES |= {"inner": lambda a: np.stack([a, a]), "empty": lambda a: a[:0].copy() if a.ndim else a}
BASES |= {"one": lambda a: a[(slice(1),) * a.ndim].copy()}
VIEWS = {"transposed": lambda base, a: base.permute(tuple(reversed(range(a.ndim))))}
VIEWS |= {"expanded": lambda base, a: base.expand(a.shape)}
VIEWS |= {"stepped": lambda base, a: base[..., ::2] if a.ndim else base[1], "inner": lambda base, a: base[1]}
LAYOUTS = list(BASES)


def program(T: Any, row: int, layout: str) -> dict[str, Any]:
    sample = SAMPLES[row]
    bases, scope = {}, {}
    for name, a in sample.arrays().items():
        asks = a.dtype.kind == "f" and sample.inputs[name].grad
        bases[name] = T.tensor(BASES[layout](a), requires_grad=asks)
        scope[name] = VIEWS.get(layout, lambda base, a: base)(bases[name], a)
    seed(T)
    outputs = [t for t in _flat(eval(sample.code, {"T": T, "F": T.nn.functional, **scope})) if hasattr(t, "grad_fn")]
    seen: dict[str, Any] = {"of each": [facts(t, any(t is x for x in scope.values())) for t in outputs]}
    seen |= {"versions": [t._version for t in scope.values()]}
    leaves = [t for t in bases.values() if t.requires_grad]
    wanted = [t for t in outputs if t.requires_grad]
    if leaves and wanted:
        first = T.autograd.grad(wanted, leaves, weights(T, wanted), create_graph=sample.second, allow_unused=True)
        seen["gradients"] = [numbers(g, leaf) for g, leaf in zip(first, leaves, strict=True)]
        second = [None] * len(leaves)
        again = [g for g in first if g is not None and g.requires_grad]
        if sample.second and again:
            second = T.autograd.grad(again, leaves, weights(T, again, seed=2), allow_unused=True)
        seen["second gradients"] = [numbers(g, leaf) for g, leaf in zip(second, leaves, strict=True)]
    if row not in DRAWS:
        # What shares memory with an operand changes with it.
        with T.no_grad():
            for t in bases.values():
                attempt(lambda t=t: t.data.zero_())
        seen["after a write"] = [t.detach() for t in outputs]
    return seen


def facts(t: Any, written: bool) -> list[Any]:
    is_view, length = t._is_view(), attempt(lambda: t.detach().view(-1).shape[0])
    version, strides = t._version if written or is_view else None, steps(t) if is_view else None
    return [t.detach().clone(), t.requires_grad, t.is_leaf, version, is_view, strides, length]


def numbers(grad: Any, leaf: Any) -> Any:
    """No gradient and a gradient of zeros say the same."""
    return np.zeros(tuple(leaf.shape)) if grad is None else np.array(grad.detach().to(leaf.dtype).numpy(force=True))


DRAWS = {i for i, sample in enumerate(SAMPLES) if any(sample is s for s in RANDOM)}
CASES = list(itertools.product(range(len(SAMPLES)), LAYOUTS))
IGNORED = (".version: ", ".is_view: ", ".base", ".is_leaf", ".grad_fn", ".output_nr")


def excused(case: Any, lines: list[str]) -> bool:
    code = SAMPLES[case[0]].code
    if case[1] in ("empty", "one") and OF_NOTHING.search(code):
        return True
    forms = DECLARED + (OF_SEVERAL if case[1] not in ("row_major", "transposed") else ())
    forms += (OF_ORDER,) if case[1] != "transposed" or ORDERED.search(code) else ()
    return all(any(re.search(form, line) for form in forms) for line in lines)


# What the page of differences says.
DECLARED = (
    "NotImplementedError",
    r"\]\[[345]\]: PyTorch has (None|False), tinygrad_edu",  # a composed function ends in a view of its own result
    "_LinAlgError",
    "grad_input must be contiguous",
)
# A statement that is wrong in several ways: one of the errors.
OF_SEVERAL = (r"PyTorch raises \w+: .*; tinygrad_edu (Runtime|Index|Value)Error",)
# Operands without elements, or of one, of which the page says what PyTorch does.
OF_NOTHING = re.compile(r"einsum\('i[ij]|attn_mask=m|circular")
# The results of these lie in memory row by row, and those of operands in different orders as most of them do.
OF_ORDER = r"\]\[6\]: (PyTorch has \('RuntimeError', .view size|.*tinygrad_edu \('RuntimeError', .view size)"
ORDERED = re.compile(r"linalg|inverse|argwhere|scaled_dot_product|value=0.5|a\[True\]|adaptive_avg|rms_norm")


def matching(pattern: str) -> set[int]:
    return {row for row, sample in enumerate(SAMPLES) if re.search(pattern, sample.code)}


# Formulas in float16 round at other places on other layouts, here as in PyTorch.
HALF = matching(r"float16|\.half\(\)")
EXACT = [(row, each) for row, each in CASES if row not in HALF]
FILLED = [case for case in EXACT if case[1] not in ("empty", "one")]
OF_MEMORY = ("][3]: ", "][5]", "][6]: ")  # versions and strides of results, and whether `view` takes them


@on_axis(FILLED, one_in=24, named=lambda case: f"{SAMPLES[case[0]].code} {case}")
def test_the_layout_of_the_operands_changes_no_number(cases: list[Any]) -> None:
    assert not_alike(cases, program, IGNORED + OF_MEMORY, excused) == []


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_the_operands_decides_what_the_results_share_as_in_pytorch(layout: str) -> None:
    assert not_alike([case for case in EXACT if case[1] == layout], program, IGNORED, excused) == []
