"""State as an axis: every module in every order of building, loading, calling, copying, converting and training.

After each way the outputs, the gradients of all parameters, the entries of the state and their dtypes are PyTorch's;
and a write to the module that a copy came from changes the copy on neither engine.
"""

import copy
import io
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.axes import not_alike
from support.both import attempt

from .test_modules import MODULES

pytestmark = [pytest.mark.outer, pytest.mark.filterwarnings("ignore")]
CLASSES = np.array([0, 1, 3])
STATEFUL = {"nn.Conv3d(2, 3, 2)": [(2, 2, 3, 3, 3)], "nn.ConvTranspose1d(3, 2, 2)": [(2, 3, 4)]}
STATEFUL |= {"nn.ConvTranspose3d(2, 3, 2)": [(1, 2, 2, 2, 2)]}
STATEFUL |= {"nn.CrossEntropyLoss(weight=T.tensor([0.5, 2.0, 1.0, 3.0]))": [(3, 4), CLASSES]}
STATEFUL |= {"nn.NLLLoss(weight=T.tensor([0.5, 2.0, 1.0, 3.0]))": [(3, 4), CLASSES]}
STATEFUL |= {"nn.BCEWithLogitsLoss(pos_weight=T.tensor([0.5, 2.0, 1.0, 3.0]))": [(3, 4), (3, 4)]}
STATEFUL |= {"nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.0))": [(3, 4)]}
STATEFUL |= {"nn.Sequential(*[nn.Linear(4, 4)] * 2)": [(3, 4)], "nn.LazyLinear(3)": [(2, 4)]}
STATEFUL |= {"nn.LazyConv1d(3, 2)": [(2, 3, 4)], "nn.LazyConv2d(3, 2, bias=False)": [(2, 3, 4, 4)]}
STATEFUL |= {"nn.LazyConv3d(3, 2)": [(2, 2, 3, 3, 3)], "nn.LazyBatchNorm1d()": [(3, 4)]}
STATEFUL |= {"nn.LazyBatchNorm2d(affine=False)": [(3, 2, 4, 4)], "nn.LazyBatchNorm3d()": [(3, 2, 2, 2, 2)]}
STATEFUL |= {"nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))": [(2, 4)]}
ALL = {**MODULES, **STATEFUL}


class Case:
    """A module on an engine, and what it is called with."""

    def __init__(self, T: Any, code: str) -> None:
        self.T, self.code = T, code
        rng = np.random.default_rng(1)
        self.arrays = [rng.standard_normal(x) if isinstance(x, tuple) else x for x in ALL[code]]
        if "Gaussian" in code:
            self.arrays = [abs(a) for a in self.arrays]

    def fresh(self) -> Any:
        self.T.manual_seed(0)
        return eval(self.code, {"nn": self.T.nn, "T": self.T}).double()

    def made(self) -> Any:
        """The module with numbers of NumPy's; a lazy one is called before, so that it has any."""
        module, rng = self.fresh(), np.random.default_rng(0)
        if "Lazy" in self.code:
            self.call(module)
        with self.T.no_grad():
            for p in module.parameters():
                p.copy_(self.T.tensor(rng.standard_normal(tuple(p.shape)) / 2))
        module.zero_grad()
        return module

    def call(self, module: Any, kind: str = "float64") -> list[Any]:
        """The outputs, and the gradients of all parameters."""
        T = self.T
        inputs = [
            T.tensor(a).to(getattr(T, kind)).requires_grad_() if a.dtype.kind == "f" else T.tensor(a)
            for a in self.arrays
        ]
        T.manual_seed(1)
        outputs = [t for t in flat(module(*inputs)) if t.dtype.is_floating_point]
        if any(t.requires_grad for t in outputs):
            sum((t * T.arange(t.numel()).reshape(t.shape).cos()).sum() for t in outputs).backward()
        return [[t.detach() for t in outputs], [t.grad for t in inputs], self.gradients(module)]

    def gradients(self, module: Any) -> dict[str, Any]:
        return {name: None if p.grad is None else p.grad.clone() for name, p in module.named_parameters()}

    def state(self, module: Any) -> list[Any]:
        entries = {name: t.detach().clone() for name, t in module.state_dict().items() if hasattr(t, "detach")}
        return [entries, module.training, [name for name, p in module.named_parameters() if p.requires_grad]]


def flat(value: Any) -> list[Any]:
    parts = value if isinstance(value, tuple | list) else (value,)
    return [t for part in parts for t in ([part] if hasattr(part, "grad_fn") else flat(part))] if parts else []


def spoil(c: Case, module: Any) -> None:
    with c.T.no_grad():
        for t in itertools.chain(module.parameters(), module.buffers()):
            t.fill_(7)


def call_and_load(c: Case) -> Any:
    module, source = c.fresh(), c.made()
    c.call(module)
    return load(c, module, source)


def load_and_call(c: Case) -> Any:
    return load(c, c.fresh(), c.made())


def load(c: Case, module: Any, source: Any) -> Any:
    keys = module.load_state_dict(source.state_dict())
    spoil(c, source)
    return [str(keys), c.call(module), c.state(module)]


def load_by_assignment(c: Case) -> Any:
    module, source = c.fresh(), c.made()
    module.load_state_dict(source.state_dict(), assign=True)
    same = [p is q for p, q in zip(module.parameters(), source.parameters(), strict=True)]
    return [c.call(module), c.state(module), same]


def load_a_part(c: Case) -> Any:
    module, source = c.fresh(), c.made().state_dict()
    part = {name: t for name, t in source.items() if name not in list(source)[:1]}
    keys = module.load_state_dict({**part, "more": 1}, strict=False)
    return [list(keys.missing_keys), list(keys.unexpected_keys), c.call(module), c.state(module)]


def through_a_file(c: Case) -> Any:
    """A state, and a whole module pickled."""
    module, source, file = c.fresh(), c.made(), io.BytesIO()
    c.T.save(source.state_dict(), file)
    other = pickle.loads(pickle.dumps(source))
    spoil(c, source)
    module.load_state_dict(c.T.load(io.BytesIO(file.getvalue())))
    return [c.call(module), c.state(module), c.call(other), c.state(other)]


def deepcopy(c: Case) -> Any:
    """Of a module that was not called yet, and of one that was."""
    early, source = c.fresh(), c.made()
    results = [(c.call(module), c.state(module)) for module in (copy.deepcopy(early), early)]
    c.call(source)
    module = copy.deepcopy(source)
    spoil(c, source)
    return [results, c.gradients(module), c.call(module), c.state(module), c.state(source)]


def to_single_and_back(c: Case) -> Any:
    module = c.made()
    c.call(module)
    single = module.to(c.T.float32) is module
    return [single, c.call(module, "float32"), c.state(module), c.call(module.double()), c.state(module)]


def train_and_eval(c: Case) -> Any:
    module = c.made()
    seen = [c.call(module), c.call(module.eval()), c.state(module), c.call(module.train()), c.state(module)]
    return [*seen, c.call(module.eval())]


def trained(c: Case) -> Any:
    """Three steps of an optimizer, which is saved and loaded after the second."""
    module = c.made()
    parameters = list(module.parameters()) or [c.T.nn.Parameter(c.T.ones(1))]
    first, second = (c.T.optim.SGD(parameters, 0.01, momentum=0.9) for _ in range(2))
    for step in range(3):
        if step == 2:
            second.load_state_dict(first.state_dict())
        c.call(module)
        (first if step < 2 else second).step()
        module.zero_grad()
    return [c.state(module), c.call(module)]


def frozen(c: Case) -> Any:
    module = c.made().requires_grad_(False)
    return [c.call(module), c.state(module), c.call(module.requires_grad_(True))]


def state_shows_the_module(c: Case) -> Any:
    module = c.made()
    entries = module.state_dict()
    before = [t._version for t in module.parameters()]
    spoil(c, module)
    written = [t._version - n for t, n in zip(module.parameters(), before, strict=True)]
    return [{name: t for name, t in entries.items() if hasattr(t, "detach")}, written]


def swapped(c: Case) -> Any:
    """Called with other parameters, which leaves its own as they were."""
    module = c.made()
    others = {name: p.detach() * 2 for name, p in module.named_parameters()}
    inputs = tuple(c.T.tensor(a) for a in c.arrays)
    c.T.manual_seed(1)
    return [[t.detach() for t in flat(c.T.func.functional_call(module, others, inputs))], c.state(module)]


WAYS: dict[str, Callable[[Case], Any]] = {
    way.__name__: way
    for way in (
        *(load_and_call, call_and_load, load_by_assignment, load_a_part, through_a_file, deepcopy),
        *(to_single_and_back, train_and_eval, trained, frozen, state_shows_the_module, swapped),
    )
}
IGNORED = (".version: ", ".is_view: ", ".base", ".is_leaf", ".output_nr", ".grad_fn")


@pytest.mark.parametrize("way", WAYS)
def test_a_module_has_its_state_after_every_way_that_it_has_in_pytorch(way: str) -> None:
    def program(T: Any, code: str) -> Any:
        return in_single(WAYS[way](Case(T, code)))

    def excused(case: Any, lines: list[str]) -> bool:
        if way == "swapped" and "* 2" in case[0]:
            return True  # PyTorch leaves the other parameters in a module that occurs twice
        return "Lazy" in case[0] and ("deepcopy" in way or "part" in way)

    assert not_alike([(code,) for code in ALL], program, IGNORED, excused) == []


def in_single(value: Any) -> Any:
    """Numbers in single precision, in which weights are drawn, and their own dtype."""
    if hasattr(value, "detach"):
        kind = str(value.dtype).partition(".")[2]
        return [kind, value.requires_grad, np.array(value.detach().numpy(force=True), np.float32)]
    if isinstance(value, dict):
        return {name: in_single(part) for name, part in value.items()}
    return [in_single(part) for part in value] if isinstance(value, tuple | list) else value


def test_extra_state_is_missed_or_unexpected_by_the_method_that_would_take_it() -> None:
    def program(T: Any) -> Any:
        get, put = ("get_extra_state", lambda self: 5), ("set_extra_state", lambda self, state: None)
        kinds = [type("M", (T.nn.Module,), dict(methods)) for methods in ([], [get], [put], [get, put])]
        pairs = itertools.product(kinds, repeat=2)
        return [attempt(lambda a=a, b=b: str(a().load_state_dict(b().state_dict()))) for a, b in pairs]

    assert not_alike([()], program, IGNORED) == []
