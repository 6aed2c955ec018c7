"""In which order the elements of a result lie in memory, for operands that lie there in different orders.

The order decides whether `contiguous()`, `reshape` and `flatten` of a result are that result itself, which a write then
shows, or a copy. Of an elementwise op the order of its gradients is compared too.
"""

import itertools
import re
from typing import Any

import numpy as np
import pytest
from support.axes import not_alike, on_axis, steps
from support.op_table import _flat, seed
from support.samples import RANDOM, SAMPLES

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]


def in_order(T: Any, a: np.ndarray, axes: tuple[int, ...]) -> Any:
    return T.tensor(np.ascontiguousarray(a.transpose(axes))).permute(tuple(np.argsort(axes).tolist()))


LAYOUTS = {
    "row_major": lambda T, a: T.tensor(a),
    "transposed": lambda T, a: in_order(T, a, tuple(reversed(range(a.ndim)))),
    "permuted": lambda T, a: in_order(T, a, (*range(1, a.ndim), 0)),
    "expanded": lambda T, a: T.tensor(a[:1].copy()).expand(a.shape),
    "stepped": lambda T, a: T.tensor(a.repeat(2, -1))[..., ::2],
    "a row": lambda T, a: T.tensor(a[:1].copy()),  # which is broadcast
    "a column": lambda T, a: in_order(T, a[..., :1].copy(), tuple(reversed(range(a.ndim)))),
}
COMING_IN = ("row_major", "transposed", "permuted")


def operands(row: int, alike: bool) -> dict[str, np.ndarray]:
    """The inputs of a row of the table; or all of them in one shape, vectors as arrays of three dimensions."""
    arrays = SAMPLES[row].arrays()
    if not alike:
        return arrays
    shape = np.broadcast_shapes(*[a.shape for a in arrays.values()])
    shape = (2, 3, *(shape or (4,))) if len(shape) < 2 else shape
    return {name: np.broadcast_to(a, shape).copy() for name, a in arrays.items()}


def can_be_alike(row: int) -> bool:
    shapes = [a.shape for a in operands(row, False).values()]
    try:
        return len(np.broadcast_shapes(*shapes)) < 2 or len(set(shapes)) > 1
    except ValueError:
        return False


def program(T: Any, row: int, alike: bool, layouts: tuple[str, ...], grads: bool) -> Any:
    arrays, scope = operands(row, alike), {}
    for name, a in arrays.items():
        scope[name] = T.tensor(a)
    names = several(arrays)
    for name, layout in zip(names, layouts, strict=True):
        scope[name] = LAYOUTS[layout](T, arrays[name])
        if grads and arrays[name].dtype.kind == "f":
            scope[name].requires_grad_()
    seed(T)
    outputs = [t for t in _flat(eval(SAMPLES[row].code, {"T": T, "F": T.nn.functional, **scope})) if hasattr(t, "dim")]
    if not grads:
        return [steps(t) for t in outputs]
    wanted = [scope[name] for name in names if scope[name].requires_grad]
    results = [t for t in outputs if t.requires_grad and t.dim()]
    found = []
    for layout in COMING_IN if results else ():
        given = [LAYOUTS[layout](T, np.ones(tuple(t.shape))).to(t.dtype) for t in results]
        found += T.autograd.grad(results, wanted, given, retain_graph=True, allow_unused=True)
    return [None if g is None else steps(g) for g in found]


def several(arrays: dict[str, np.ndarray]) -> list[str]:
    return [name for name, a in arrays.items() if a.ndim > 1][:3]


DRAWS = {i for i, sample in enumerate(SAMPLES) if any(sample is s for s in RANDOM)}
# Factors of a matrix, products of matrices and places found: see the page of differences.
DECLARED = re.compile(
    r"T\.where\(a > 0, a, b\)"  # of an expanded operand
    r"|linalg|inverse|nonzero|argwhere|scaled_dot|einsum|bilinear|rms_norm|one_hot|a\[True\]"
    r"|dropout|max_pool3d|circular|smooth_l1_loss\(x, y.*none"
)
# Elementwise ops of which the gradients are compared too.
GRADIENTS = re.compile(
    r"^a [-+*/%] b$|lerp|addcmul|addcdiv|hypot|atan2|logaddexp\(|T\.(add|sub|mul|div|fmod|remainder)\(a, b"
    r"|a\.(exp|log|sin|cos|tanh|sqrt|sigmoid|abs|square|reciprocal|relu)\(\)$|leaky_relu|softplus|silu|F\.elu\(a"
)
CASES = [
    (row, alike, layouts, grads)
    for row, sample in enumerate(SAMPLES)
    if row not in DRAWS and sample.inputs and not DECLARED.search(sample.code)
    for alike in ((False, True) if can_be_alike(row) else (False,))
    for layouts in itertools.product(LAYOUTS, repeat=len(several(operands(row, alike))))
    for grads in ((False, True) if GRADIENTS.search(sample.code) else (False,))
    if layouts
]


@on_axis(CASES, one_in=40, named=lambda case: f"{SAMPLES[case[0]].code} {case}")
def test_results_lie_in_memory_in_the_order_of_the_operands_as_in_pytorch(cases: list[Any]) -> None:
    assert not_alike(cases, program, excused=only_raises) == []


def only_raises(case: Any, lines: list[str]) -> bool:
    """Operands that are broadcast do not suit every row: both engines say so."""
    return all(re.search("PyTorch raises|INTERNAL ASSERT", line) for line in lines)
