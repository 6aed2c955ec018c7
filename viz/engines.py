"""The two engines behind one small face; the only file of `viz` that names either of them.

Both speak PyTorch's public graph protocol, so the rest of `viz` reads tensors and nodes without asking whose they are.
The remaining differences are here: where the module is, how to see every op, and how to read the raw numbers.
"""

from __future__ import annotations

import importlib
import inspect
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np

TORCH = "torch"
CORE = "tinygrad_edu"
ACCUMULATE = "torch::autograd::AccumulateGrad"


class Engine(ABC):
    """One autograd engine: its module, its types, and the few things that the protocol leaves open."""

    name: ClassVar[str]
    how_to_install: ClassVar[str]

    def __init__(self, module: ModuleType, mode_type: type) -> None:
        self.module = module
        self.mode_type = mode_type  # sees every call of a function of the engine
        self.tensor_type: type = module.Tensor
        self.function_type: type = module.autograd.Function
        self.module_type: type = module.nn.Module

    def is_tensor(self, thing: Any) -> bool:
        """Whether `thing` is a tensor of this engine."""
        return isinstance(thing, self.tensor_type)

    def is_module(self, thing: Any) -> bool:
        """Whether `thing` is an `nn.Module` of this engine."""
        return isinstance(thing, self.module_type)

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """The numbers of `tensor` as a NumPy array on the CPU, sharing memory where the engine allows it."""

    def dtype(self, tensor: Any) -> str:
        """The dtype's bare name, such as `float32`."""
        return _bare(tensor.dtype)

    def device(self, tensor: Any) -> str:
        """The device as text, such as `cpu` or `cuda:0`."""
        return str(getattr(tensor, "device", "cpu"))

    def storage(self, tensor: Any) -> int:
        """A number that two tensors share when they share memory, and 0 when there is none to share."""
        try:
            return self._storage(tensor)
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return 0

    @abstractmethod
    def _storage(self, tensor: Any) -> int:
        """As `storage`, for a tensor that has some."""

    @abstractmethod
    def quietly(self) -> AbstractContextManager[Any]:
        """A context in which reading a tensor is not itself seen as an op."""

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
        found[self._run_backward().__code__] = "run"
        return found

    def whole_calls(self) -> dict[CodeType, str]:
        """The code of library functions that a program thinks of as one thing: `step`, `clip` and `init` are the kinds."""
        optim, utils, init = self.module.optim, self.module.nn.utils, self.module.nn.init
        kinds: list[Any] = [getattr(optim, name) for name in dir(optim)]
        found = {
            inspect.unwrap(kind.step).__code__: "step"  # type: ignore[attr-defined]
            for kind in kinds
            if isinstance(kind, type) and issubclass(kind, optim.Optimizer)
        }
        found[inspect.unwrap(self.module_type.load_state_dict).__code__] = "init"  # type: ignore[attr-defined]
        for home, kind in ((utils, "clip"), (init, "init")):
            for name in dir(home):
                function = inspect.unwrap(getattr(home, name))
                wanted = name.endswith("_") and name[0] != "_" and (kind == "init" or name.startswith("clip_grad"))
                if wanted and isinstance(function, FunctionType):
                    found[function.__code__] = kind
        return found

    @abstractmethod
    def _run_backward(self) -> Callable[..., Any]:
        """The engine's own function, where the call itself has been dealt with and modes are off."""

    def apply_code(self) -> CodeType:
        """The code of `Function.apply`, below which a custom Function's own `forward` runs."""
        return self.function_type.apply.__func__.__code__  # type: ignore[attr-defined, no-any-return]

    @contextmanager
    def on_one_thread(self) -> Iterator[None]:
        """A context for work so small that sharing it among threads takes longer than doing it."""
        yield

    @abstractmethod
    def packs_saved_tensors(self) -> bool:
        """Whether `saved_tensors_hooks` are active now, so that looking at a saved tensor would run user code."""

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
        """A context in which random numbers start from `seed`; outside it they go on as if none had been drawn.

        This includes a GPU that is in use, or that `device` names. Yields a function that says which of `random`,
        `numpy` and the engine were asked for random numbers.
        """
        sources = self._random_sources(device)
        states = {name: source.get() for name, source in sources.items()}
        for name, source in sources.items():
            source.begin(seed)
            if (name, seed) not in _first_drawn:
                _first_drawn[name, seed] = source.draw()
                source.begin(seed)
        try:
            yield lambda: [name for name, source in sources.items() if source.draw() != _first_drawn[name, seed]]
        finally:
            for name, source in sources.items():
                source.put_back(states[name])

    @contextmanager
    def same_randomness(self) -> Iterator[None]:
        """A context after which random numbers go on as if none had been drawn in it; in it they go on from here."""
        sources = self._random_sources("cpu")
        states = {name: source.get() for name, source in sources.items()}
        try:
            yield
        finally:
            for name, source in sources.items():
                source.put_back(states[name])

    def _random_sources(self, device: str) -> dict[str, _Random]:
        """Where a program may draw random numbers from."""
        own = self.module.random.default_generator
        return {
            "random": _Random(random.getstate, random.setstate, random.seed, random.random),
            "numpy": _of_numpy(),
            self.name: _Random(own.get_state, own.set_state, own.manual_seed, lambda: self.module.rand(()).item()),
        }

    def devices(self) -> dict[str, str]:
        """Each device of interest and why it cannot be used here; an empty reason means that it can."""
        return {"cpu": "", "cuda": self._why_no_cuda()}

    @abstractmethod
    def _why_no_cuda(self) -> str:
        """Why there is no GPU to compute on; empty where there is one."""


class Torch(Engine):
    """PyTorch."""

    name = TORCH
    how_to_install = "pip install torch"

    def __init__(self) -> None:
        module = importlib.import_module("torch")
        super().__init__(module, importlib.import_module("torch.overrides").TorchFunctionMode)

    def array(self, tensor: Any) -> np.ndarray:
        plain = tensor.detach()
        if plain.layout is not self.module.strided:
            plain = plain.to_dense()
        if plain.dtype is self.module.bfloat16:
            plain = plain.float()
        return plain.numpy(force=True)  # from wherever it is, also where it is only said to be zero or conjugate

    def _storage(self, tensor: Any) -> int:
        return int(tensor.untyped_storage().data_ptr())

    def quietly(self) -> AbstractContextManager[Any]:
        return self.module._C.DisableTorchFunction()  # type: ignore[no-any-return]

    def _run_backward(self) -> Callable[..., Any]:
        return self.module.autograd.graph._engine_run_backward  # type: ignore[no-any-return]

    @contextmanager
    def on_one_thread(self) -> Iterator[None]:
        threads = self.module.get_num_threads()
        self.module.set_num_threads(1)
        try:
            yield
        finally:
            self.module.set_num_threads(threads)

    def packs_saved_tensors(self) -> bool:
        top = getattr(self.module._C._autograd, "_top_saved_tensors_default_hooks", None)
        return top is not None and top(True) is not None

    def _random_sources(self, device: str) -> dict[str, _Random]:
        sources = super()._random_sources(device)
        gpu = self.module.cuda
        if device.startswith("cuda") and not self.devices()["cuda"]:
            gpu.init()  # its generators are there from now on
        if gpu.is_initialized():
            draw = lambda: self.module.rand((), device="cuda").item()  # noqa: E731
            sources["torch.cuda"] = _Random(gpu.get_rng_state_all, gpu.set_rng_state_all, gpu.manual_seed_all, draw)
        return sources

    def _why_no_cuda(self) -> str:
        if self.module.cuda.is_available():
            return ""
        if self.module.version.cuda is None:
            return "This PyTorch was built for the CPU only."
        return "PyTorch finds no CUDA GPU on this machine."


class Core(Engine):
    """tinygrad_edu."""

    name = CORE
    how_to_install = "pip install tinygrad-edu"

    def __init__(self) -> None:
        module = importlib.import_module("tinygrad_edu")
        self._overrides = importlib.import_module("tinygrad_edu.overrides")
        super().__init__(module, self._overrides.FunctionMode)

    def array(self, tensor: Any) -> np.ndarray:
        return tensor.detach().numpy()  # type: ignore[no-any-return]

    def _storage(self, tensor: Any) -> int:
        array = tensor.detach().numpy()
        while isinstance(array.base, np.ndarray):
            array = array.base
        return int(array.__array_interface__["data"][0])

    @contextmanager
    def quietly(self) -> Iterator[None]:
        state = self.module.core.state.thread.state
        modes, state.modes = state.modes, []
        try:
            yield
        finally:
            state.modes = modes

    def _run_backward(self) -> Callable[..., Any]:
        return self.module.autograd.engine.run  # type: ignore[no-any-return]

    def packs_saved_tensors(self) -> bool:
        return bool(self.module.core.state.thread.state.saved_hooks)

    def _random_sources(self, device: str) -> dict[str, _Random]:
        own = self.module.random.default_generator

        def state() -> Any:  # most programs draw nothing: then a seed says it all, and no twister has to be made
            return own.initial_seed() if own.is_fresh else own.get_state()

        def put_back(state: Any) -> None:
            (own.manual_seed if isinstance(state, int) else own.set_state)(state)

        return super()._random_sources(device) | {CORE: _Random(state, put_back, own.manual_seed, lambda: own.is_fresh)}

    def _why_no_cuda(self) -> str:
        return "tinygrad_edu computes with NumPy on the CPU; choose PyTorch for a GPU."


@dataclass(frozen=True)
class _Random:
    """A source of random numbers: its state, how to begin anew, one number from it."""

    get: Callable[..., Any]
    put_back: Callable[..., Any]
    begin: Callable[..., Any]
    draw: Callable[..., Any]


def _of_numpy() -> _Random:
    return _Random(np.random.get_state, np.random.set_state, np.random.seed, np.random.random_sample)


_first_drawn: dict[tuple[str, int], Any] = {}  # by source and seed: what comes again where nothing has been drawn


@cache
def _bare(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


_ENGINES: dict[str, type[Torch] | type[Core]] = {engine.name: engine for engine in (Core, Torch)}
NAMES = tuple(_ENGINES)


@cache
def _load(name: str) -> Engine:
    return _ENGINES[name]()


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
            f"No module named {name!r}. This side of the comparison needs it: {_ENGINES[name].how_to_install}",
            name=name,
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
