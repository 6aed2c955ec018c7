"""The two engines behind one small face; the only file of `viz` that names either of them.

Both speak PyTorch's public graph protocol, so the rest of `viz` reads tensors and nodes without asking whose they are.
What remains different is kept here: where the module is, how to see every op, and how to get at raw numbers.
"""

from __future__ import annotations

import importlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np

TORCH = "torch"
CORE = "tinygrad_edu"
NAMES = (CORE, TORCH)
ACCUMULATE = "torch::autograd::AccumulateGrad"
HOW_TO_INSTALL = {TORCH: "pip install torch", CORE: "pip install tinygrad-edu"}


@dataclass(frozen=True)
class Engine:
    """One autograd engine: its module, its tensor type, and the few things its protocol leaves open."""

    name: str
    module: ModuleType
    tensor_type: type
    mode_type: type
    function_type: type
    module_type: type | None

    def is_tensor(self, thing: Any) -> bool:
        """Whether `thing` is a tensor of this engine."""
        return isinstance(thing, self.tensor_type)

    def is_module(self, thing: Any) -> bool:
        """Whether `thing` is an `nn.Module` of this engine."""
        return self.module_type is not None and isinstance(thing, self.module_type)

    def array(self, tensor: Any) -> np.ndarray:
        """The numbers of `tensor` as a NumPy array on the CPU, sharing memory where the engine allows it."""
        plain = tensor.detach()
        if self.name == TORCH:
            if plain.layout is not self.module.strided:
                plain = plain.to_dense()
            if plain.dtype is self.module.bfloat16:
                plain = plain.float()
            return plain.numpy(force=True)  # from wherever it is, also where it is only said to be zero or conjugate
        return plain.numpy()

    def dtype(self, tensor: Any) -> str:
        """The dtype's bare name, such as `float32`."""
        return _bare(tensor.dtype)

    def device(self, tensor: Any) -> str:
        """The device as text, such as `cpu` or `cuda:0`."""
        return str(getattr(tensor, "device", "cpu"))

    def storage(self, tensor: Any) -> int:
        """A number that two tensors share when they share memory, and 0 when there is none to share."""
        try:
            if self.name == TORCH:
                return int(tensor.untyped_storage().data_ptr())
            array = tensor.detach().numpy()
            while isinstance(array.base, np.ndarray):
                array = array.base
            return int(array.__array_interface__["data"][0])
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return 0

    def quietly(self) -> AbstractContextManager[Any]:
        """A context in which reading a tensor is not itself seen as an op."""
        return self.module._C.DisableTorchFunction() if self.name == TORCH else _NoModes()

    def node(self, tensor: Any) -> Any:
        """The node that the gradient of `tensor` goes to: its `grad_fn`, a leaf's AccumulateGrad, or None."""
        try:
            return self.module.autograd.graph.get_gradient_edge(tensor).node if tensor.requires_grad else None
        except RuntimeError:  # a view whose history an in-place change made unreadable
            return None

    def entries(self) -> dict[CodeType, str]:
        """The code of the functions that a backward pass goes through: `pass` starts one, `run` is the engine itself."""
        autograd = self.module.autograd
        found = {inspect.unwrap(function).__code__: "pass" for function in (autograd.backward, autograd.grad)}
        # Where the call itself has been dealt with, and modes are off.
        run = autograd.graph._engine_run_backward if self.name == TORCH else autograd.engine.run
        found[run.__code__] = "run"
        return found

    def apply_code(self) -> CodeType:
        """The code of `Function.apply`, below which a custom Function's own `forward` runs."""
        return self.function_type.apply.__func__.__code__  # type: ignore[attr-defined, no-any-return]

    def packs_saved_tensors(self) -> bool:
        """Whether `saved_tensors_hooks` are active now, so that looking at a saved tensor would run user code."""
        if self.name == TORCH:
            top = getattr(self.module._C._autograd, "_top_saved_tensors_default_hooks", None)
            return top is not None and top(True) is not None
        home = sys.modules[self.module.autograd.graph.saved_tensors_hooks.__module__]
        return bool(home.saved_state.hooks)

    @contextmanager
    def default_dtype(self, name: str) -> Iterator[None]:
        """A context in which tensors of floats are made in this dtype when a program names none."""
        before = self.module.get_default_dtype()
        self.module.set_default_dtype(getattr(self.module, name))
        try:
            yield
        finally:
            self.module.set_default_dtype(before)

    @contextmanager
    def seeded(self, seed: int, device: str = "cpu") -> Iterator[Callable[[], list[str]]]:
        """A context in which random numbers begin at `seed`; outside of it they go on as if none had been drawn.

        Those of a GPU do so where it is in use, and where `device` says that it will be. Gives a function that tells which
        of `random`, `numpy` and the engine have been asked for any.
        """
        own = self.module.random.default_generator
        sources: dict[str, tuple[Callable[..., Any], ...]] = {
            "random": (random.getstate, random.setstate, random.seed, random.random),
            "numpy": (np.random.get_state, np.random.set_state, np.random.seed, np.random.random_sample),
            self.name: (own.get_state, own.set_state, own.manual_seed, lambda: self.module.rand(()).item()),
        }
        if device.startswith("cuda") and not self.devices()["cuda"]:
            self.module.cuda.init()  # its generators are there from now on
        if self.name == TORCH and self.module.cuda.is_initialized():
            gpu = self.module.cuda
            draw = lambda: self.module.rand((), device="cuda").item()  # noqa: E731
            sources["torch.cuda"] = gpu.get_rng_state_all, gpu.set_rng_state_all, gpu.manual_seed_all, draw
        states = {name: get() for name, (get, _, _, _) in sources.items()}
        for name, (_, _, begin, draw) in sources.items():
            begin(seed)
            if (name, seed) not in _first_drawn:
                _first_drawn[name, seed] = draw()
                begin(seed)
        try:
            yield lambda: [name for name, (*_, draw) in sources.items() if draw() != _first_drawn[name, seed]]
        finally:
            for name, (_, put_back, _, _) in sources.items():
                put_back(states[name])

    def devices(self) -> dict[str, str]:
        """Each device of interest and why it cannot be used here; an empty reason means that it can."""
        reasons = {"cpu": "", "cuda": ""}
        if self.name == CORE:
            reasons["cuda"] = "tinygrad_edu computes with NumPy on the CPU; choose PyTorch for a GPU."
        elif not self.module.cuda.is_available():
            built = self.module.version.cuda is not None
            reasons["cuda"] = (
                "PyTorch finds no CUDA GPU on this machine." if built else "This PyTorch was built for the CPU alone."
            )
        return reasons


@cache
def _bare(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


_first_drawn: dict[tuple[str, int], float] = {}  # by source and seed: what comes again where nothing has been drawn


class _NoModes:
    """Sets the function modes of tinygrad_edu aside for a moment."""

    def __enter__(self) -> None:
        self._modes = sys.modules["tinygrad_edu.overrides"].modes  # type: ignore[attr-defined]
        self._stack, self._modes.stack = self._modes.stack, []

    def __exit__(self, *exception: object) -> None:
        self._modes.stack = self._stack


@cache
def _load(name: str) -> Engine:
    if name == TORCH:
        module = importlib.import_module("torch")
        overrides = importlib.import_module("torch.overrides")
        return Engine(
            name,
            module,
            module.Tensor,
            overrides.TorchFunctionMode,
            module.autograd.Function,
            module.nn.Module,
        )
    module = importlib.import_module("tinygrad_edu")
    overrides = importlib.import_module("tinygrad_edu.overrides")
    nn = getattr(module, "nn", None)
    return Engine(
        name,
        module,
        module.Tensor,
        overrides.FunctionMode,
        module.autograd.Function,
        getattr(nn, "Module", None),
    )


def load(name: str) -> Engine:
    """The engine called `name`, imported when it is first asked for.

    Raises:
        ValueError: `name` is neither `tinygrad_edu` nor `torch`.
        ModuleNotFoundError: the engine is not installed; the message says how to install it.

    >>> load("torch").name
    'torch'
    """
    if name not in NAMES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, NAMES))}, not {name!r}")
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"No module named {name!r}. This side of the comparison needs it: {HOW_TO_INSTALL[name]}", name=name
        ) from None


def of(thing: Any) -> Engine | None:
    """The engine whose tensor or module `thing` is, or None; imports nothing that is not imported already."""
    for name in NAMES:
        if name not in sys.modules:
            continue
        try:
            engine = _load(name)
        except (ImportError, AttributeError):
            continue
        if engine.is_tensor(thing) or engine.is_module(thing):
            return engine
    return None
