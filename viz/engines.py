"""The two engines behind one small interface. No other file of `viz` names either of them.

Both have PyTorch's public graph protocol, so the rest of `viz` reads tensors and nodes of either in one way.
This file holds the remaining differences: the engine's module, how to see every op, and how to read the raw numbers.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import random
import sys
import threading
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np

TORCH = "torch"
# What is written in C is the engine's own, and is no function that a program put in its place.
OF_C = types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType
CORE = "tinygrad_edu"
ACCUMULATE = "torch::autograd::AccumulateGrad"
PARTS_OF_FUNCTION = ("forward", "setup_context")  # the methods of a custom Function that run ops
_DYNAMO = "torch._dynamo.eval_frame"  # loaded when a program first compiles


class Engine(ABC):
    """One autograd engine: its module, its types, and what the protocol leaves open."""

    name: ClassVar[str]
    how_to_install: ClassVar[str]
    closed_nodes: ClassVar[tuple[str, ...]] = ()  # nodes whose backward is no program of ops
    given_by_backward: ClassVar[str] = ""  # a node that raises in autograd.grad()
    looks_up: ClassVar[bool] = False  # its functions by name: a mode may be given what a program put in their place
    # Of the function that lets two tensors change their places; it refuses one that is referred to weakly.
    swaps: CodeType | None = None

    def __init__(self, module: ModuleType, mode_type: type) -> None:
        self.module = module
        self.mode_type = mode_type  # sees every call of a function of the engine
        self.tensor_type: type = module.Tensor
        self.function_type: Any = module.autograd.Function
        self.module_type: Any = module.nn.Module

    def is_traced(self) -> bool:
        """Whether what runs now is traced into another program, in which our reading would be. Asked for each op."""
        return False

    def as_written(self, function: Any, frame: FrameType) -> Any:
        """The engine's own function, where a mode, called in `frame`, is given what the program put in its place."""
        return function

    def is_tensor(self, thing: Any) -> bool:
        """Whether `thing` is a tensor of this engine."""
        return isinstance(thing, self.tensor_type)

    def tensors(self, things: Any, most: int | None = None) -> list[Any]:
        """The tensors among `things`, also those in lists, tuples and dicts; of a long list among the first `most`."""
        tensors, stack = [], list(things)[::-1]
        while stack:
            thing = stack.pop()
            if isinstance(thing, self.tensor_type):
                tensors.append(thing)
            elif isinstance(thing, (list, tuple, dict)):
                stack += list(thing.values() if isinstance(thing, dict) else thing[:most])[::-1]
        return tensors

    def is_module(self, thing: Any) -> bool:
        """Whether `thing` is an `nn.Module` of this engine."""
        return isinstance(thing, self.module_type)

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """The numbers of `tensor` as a NumPy array on the CPU: a copy of PyTorch's, and of ours its own memory."""

    def why_unreadable(self, tensor: Any) -> str:
        """Why the numbers of `tensor` cannot be read unseen; empty if they can."""
        return ""

    def is_freed(self, tensor: Any) -> bool:
        """Whether the program has freed the memory of a tensor that it still has: to read it would end the process."""
        return False

    def plain(self, tensor: Any) -> Any:
        """The numbers of `tensor` beside the graph. Raises a ValueError with the reason where they cannot be read."""
        if reason := self.why_unreadable(tensor):
            raise ValueError(reason)
        return tensor.detach()

    def shape(self, tensor: Any) -> list[int] | None:
        """A shape as plain data; None for one that numbers do not tell, such as that of a nested tensor."""
        sizes = list(tensor.shape)
        return sizes if {*map(type, sizes)} <= {int} else None

    def dtype(self, tensor: Any) -> str:
        """The dtype's bare name, such as `float32`."""
        return _bare(tensor.dtype)

    def device(self, tensor: Any) -> str:
        """The device as text, such as `cpu` or `cuda:0`."""
        return str(getattr(tensor, "device", "cpu"))

    def storage(self, tensor: Any) -> int:
        """A number that is equal for two tensors that share memory; 0 if there is no memory to share."""
        try:
            return self._storage(tensor)
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return 0

    @abstractmethod
    def _storage(self, tensor: Any) -> int:
        """As `storage`, for a tensor that has memory."""

    @abstractmethod
    def quietly(self) -> AbstractContextManager[Any]:
        """A context in which reading a tensor is not seen as an op. Each end puts back what held when it began."""

    @abstractmethod
    def on_each_call(self, hook: Callable[[Any, Any, Any], None]) -> Any:
        """Call `hook(module, inputs, output)` after each forward of every module; returns the handle that ends it."""

    @abstractmethod
    def take_off(self, mode: Any) -> int:
        """Remove a function mode; returns how many modes are above its place, such as a default device. They stay."""

    @abstractmethod
    def put_on(self, mode: Any, above: int) -> None:
        """Put a function mode back below that many modes."""

    def written(self, module: Any) -> Any:
        """The module that was written, if this one stands for it, such as a compiled one."""
        return module

    def kind(self, module: Any) -> str:
        """The name of the class of a module, as it was written."""
        return type(self.written(module)).__name__

    def why_closed(self, module: Any) -> str:
        """Why no call can be seen inside a module; empty if the engine calls what is in it."""
        return ""

    def is_fused(self, module: Any, inputs: tuple[Any, ...]) -> bool:
        """Whether the engine may run a module by a function of its own for evaluation, which no function mode sees."""
        return False

    def closed_call(self, frame: FrameType) -> tuple[Any, str] | None:
        """The compiled function or module that runs in a frame of kind `closed`, and its name; None if neither does."""
        return None

    def compiles(self) -> bool:
        """Whether a program may have compiled functions."""
        return False

    def is_ready(self, tensor: Any) -> bool:
        """Whether a parameter or buffer has numbers; that of a lazy module has none before the first call."""
        return not type(tensor).__name__.startswith("Uninitialized")

    def modules(
        self, root: Any, prefix: str = "", again: bool = False, closed: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """A module and those inside it, with their paths: each once, or `again` at each path; `closed` ones stay so.

        `named_modules`, and what builds on it, may be the program's own method.
        """
        met, stack = set[int](), [(prefix, root, tuple[int, ...]())]
        while stack:
            path, module, above = stack.pop()
            if id(module) in (above if again else met):
                continue
            met.add(id(module))
            yield path, module
            inside = [] if closed and self.why_closed(module) else [*module._modules.items()]
            if inside:
                before, above = f"{path}." if path else "", (*above, id(module))
                stack += [(before + name, part, above) for name, part in reversed(inside) if part is not None]

    def held(
        self, root: Any, kind: str = "_parameters", prefix: str = "", again: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """The parameters or `_buffers` of a module and of those inside it, likewise."""
        met = set[int]()
        for path, module in self.modules(root, prefix, again):
            for name, thing in getattr(module, kind).items():
                if thing is not None and (again or id(thing) not in met):
                    met.add(id(thing))
                    yield f"{path}.{name}" if path else name, thing

    def parameters(self, root: Any) -> Iterator[Any]:
        """The parameters of a module and of those inside it."""
        return (held for _, held in self.held(root))

    @abstractmethod
    def _edge(self, tensor: Any) -> Any:
        """The node that the gradient of `tensor` goes to, and at which of its outputs."""

    @abstractmethod
    def set_version(self, tensor: Any, version: int) -> None:
        """Count the changes of `tensor` as if it had had this many."""

    def node(self, tensor: Any) -> Any:
        """The node that the gradient of `tensor` goes to: its `grad_fn`, a leaf's AccumulateGrad, or None."""
        try:
            return self._edge(tensor)[0] if tensor.requires_grad else None
        except RuntimeError:  # an in-place change made the view's history unreadable
            return None

    def entries(self) -> dict[CodeType, str]:
        """The engine's entry points, by code: `pass` starts a backward pass, `run` runs it, `apply` is a Function's."""
        autograd = self.module.autograd
        codes = {inspect.unwrap(function).__code__: "pass" for function in (autograd.backward, autograd.grad)}
        codes[self._run_backward().__code__] = "run"
        codes[self.function_type.apply.__func__.__code__] = "apply"
        return codes

    def whole_calls(self) -> dict[CodeType, str]:
        """Library functions that count as one op, by code: `step`, `clip`, `init`, `closed` or `made`."""
        optim, utils, init = self.module.optim, self.module.nn.utils, self.module.nn.init
        kinds: list[Any] = [getattr(optim, name) for name in dir(optim)]
        codes = {
            inspect.unwrap(kind.step).__code__: "step"  # type: ignore[attr-defined]
            for kind in kinds
            if isinstance(kind, type) and issubclass(kind, optim.Optimizer)
        }
        layers = [kind for kind in vars(self.module.nn).values() if hasattr(kind, "reset_parameters")]
        for fill in (self.module_type.load_state_dict, *(kind.reset_parameters for kind in layers)):
            codes[inspect.unwrap(fill).__code__] = "init"
        for home, kind in ((utils, "clip"), (init, "init")):
            for name in dir(home):
                function = inspect.unwrap(getattr(home, name))
                wanted = name.endswith("_") and name[0] != "_" and (kind == "init" or name.startswith("clip_grad"))
                if wanted and isinstance(function, FunctionType):
                    codes[function.__code__] = kind
        return codes

    def whole_modules(self) -> tuple[type, ...]:
        """The modules whose work is counted as a whole, because the engines divide it into different ops."""
        names = {"RNNBase", "RNNCellBase", "MultiheadAttention"}
        loaded: list[type] = self.module_type.__subclasses__()  # asking for one that is not would load it
        return tuple(
            k for k in loaded if k.__name__ in names and k.__module__.partition(".")[0] == self.module.__name__
        )

    def backwards(self) -> list[tuple[Any, str]]:
        """Where the functions stand that a backward pass goes through, as owner and name; it may go through several."""
        return [(self.tensor_type, "backward"), (self.module.autograd, "backward")]

    @abstractmethod
    def _run_backward(self) -> Callable[..., Any]:
        """The engine's own function, for a call that has been handled and runs without modes."""

    def function_of(self, code: CodeType) -> str | None:
        """`Double.forward` if this is the code of that custom Function's `forward` or `setup_context`, else None."""
        kinds = [self.function_type]
        for kind in kinds:  # which grows on the way
            own = vars(kind).get(code.co_name)
            if own is not None and getattr(inspect.unwrap(getattr(kind, code.co_name)), "__code__", None) is code:
                return f"{kind.__name__}.{code.co_name}"
            kinds += kind.__subclasses__()
        return None

    @contextmanager
    def on_one_thread(self) -> Iterator[None]:
        """A context for small work, where threads would cost more time than they save."""
        yield

    def import_the_rest(self) -> None:
        """Import now what the engine would import while a program runs."""
        return

    @abstractmethod
    def is_packed(self, node: Any, name: str) -> bool:
        """Whether a hook of the program holds what `node` saves under `name`: to read it would run that hook."""

    @contextmanager
    def default_dtype(self, name: str) -> Iterator[None]:
        """A context that sets the default dtype for tensors of floats."""
        before = self.module.get_default_dtype()
        self.module.set_default_dtype(getattr(self.module, name))
        try:
            yield
        finally:
            self.module.set_default_dtype(before)

    @contextmanager
    def seeded(self, seed: int, device: str = "cpu") -> Iterator[Callable[[], list[str]]]:
        """A context in which random numbers start from `seed`. Outside it they continue as if none had been drawn.

        This includes a GPU that is in use, or that `device` names. Nor does any setting of the program outlast it.
        Yields a function that returns which sources of random numbers were used: `random`, `numpy` or the engine.
        """
        with self.same_randomness(device) as sources:
            for name, source in sources.items():
                source.begin(seed)
                if (name, seed) not in _first_drawn:
                    _first_drawn[name, seed] = source.draw()
                    source.begin(seed)
            with self.unchanged():
                yield lambda: [name for name, source in sources.items() if source.draw() != _first_drawn[name, seed]]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """A context that restores settings of the engine, NumPy and Python, and what was patched in the engine."""
        module, options = self.module, self._print_options()
        anomaly = module.is_anomaly_enabled(), module.is_anomaly_check_nan_enabled()
        kept = [(holder, vars(holder).copy()) for holder in self._holders()]
        with ExitStack() as stack:
            for put_back, *before in (
                (module.set_default_dtype, module.get_default_dtype()),
                (module.set_default_device, self._default_device()),
                (module.set_grad_enabled, module.is_grad_enabled()),
                (module.use_deterministic_algorithms, module.are_deterministic_algorithms_enabled()),
                (module.autograd.set_detect_anomaly, *anomaly),
                (vars(options).update, dict(vars(options))),
                (sys.setrecursionlimit, sys.getrecursionlimit()),
            ):
                stack.callback(put_back, *before)
            stack.callback(functools.partial(np.set_printoptions, **np.get_printoptions()))
            stack.callback(functools.partial(np.seterr, **np.geterr()))
            try:
                yield
            finally:
                _put_back(kept)

    def _default_device(self) -> Any:
        """What `set_default_device` was given; None for nothing."""
        return None

    @abstractmethod
    def _print_options(self) -> Any:
        """The object whose attributes say how tensors print."""

    def _holders(self) -> list[Any]:
        """The loaded modules and classes of the engine in which a program might replace something."""
        names = ("", ".nn", ".nn.functional", ".optim", ".autograd")
        loaded = [sys.modules[self.name + name] for name in names if self.name + name in sys.modules]
        kinds = [self.tensor_type, self.function_type, self.module_type]
        kinds += [library.Optimizer for library in loaded if "Optimizer" in vars(library)]
        holders = []
        for kind in kinds:  # which grows on the way
            if kind.__module__.partition(".")[0] == self.name:
                holders.append(kind)
                kinds += type.__subclasses__(kind)
        return loaded + holders

    @contextmanager
    def same_randomness(self, device: str = "cpu") -> Iterator[dict[str, _Random]]:
        """A context that restores the random state at its end. Yields the sources from which a program may draw."""
        sources = self._random_sources(device)
        states = {name: source.get() for name, source in sources.items()}
        try:
            yield sources
        finally:
            for name, source in sources.items():
                source.put_back(states[name])

    def _random_sources(self, device: str) -> dict[str, _Random]:
        own = self.module.random.default_generator
        return {
            "random": _Random(random.getstate, random.setstate, random.seed, random.random),
            "numpy": _of_numpy(),
            self.name: _Random(own.get_state, own.set_state, own.manual_seed, lambda: self.module.rand(()).item()),
        }

    def devices(self) -> dict[str, str]:
        """Each device of interest, with the reason why it cannot be used here; an empty reason means that it can."""
        return {"cpu": "", "cuda": self._why_no_cuda()}

    @abstractmethod
    def _why_no_cuda(self) -> str:
        """Why there is no GPU to compute on; empty if there is one."""


class Torch(Engine):
    """PyTorch."""

    name = TORCH
    how_to_install = "pip install torch"
    closed_nodes = ("CompiledFunctionBackward",)
    looks_up = True
    given_by_backward = "CheckpointFunctionBackward"

    def __init__(self) -> None:
        module = importlib.import_module("torch")
        super().__init__(module, importlib.import_module("torch.overrides").TorchFunctionMode)
        self._dispatch = importlib.import_module("torch.utils._python_dispatch")
        inner = self._inner = module._C
        self._is_profiled, self._unseen = inner._autograd._profiler_enabled, threading.local()
        self._modes_below, self._transforms = inner._len_torch_dispatch_stack, inner._functorch.peek_interpreter_stack
        self.swaps, nn = module.utils.swap_tensors.__code__, module.nn
        self._fused = nn.MultiheadAttention, nn.TransformerEncoder, nn.TransformerEncoderLayer
        self._asks = module.overrides.handle_torch_function.__code__
        self._of_numpy = {module.float64, module.float32, module.float16}

    def is_traced(self) -> bool:
        return bool(self.module.compiler.is_compiling() or self.module._C._get_tracing_state())

    def as_written(self, function: Any, frame: FrameType) -> Any:
        home = getattr(function, "__globals__", {}).get("__name__") or type(function).__module__
        if home.partition(".")[0] in (TORCH, "builtins"):
            return function
        if frame.f_code is not self._asks or frame.f_back is None:  # PyTorch looked up its method, of C, by name
            base = self._inner.TensorBase
            names = [
                name for name, method in vars(self.tensor_type).items() if method is function and hasattr(base, name)
            ]
            return getattr(base, names[0]) if len(names) == 1 else function
        asks = frame.f_back  # a function, in Python, that looked itself up by name
        code, given = asks.f_code, asks.f_locals
        if getattr(function, "__code__", None) is code or code.co_freevars:
            return function
        count, own = code.co_argcount, code.co_varnames  # its own values stand for what this call leaves out
        found = FunctionType(code, asks.f_globals, code.co_name, tuple(given[name] for name in own[:count]))
        found.__kwdefaults__ = {name: given[name] for name in own[count : count + code.co_kwonlyargcount]}
        return found

    def why_unreadable(self, tensor: Any) -> str:
        kind, inner = type(tensor), self._inner
        own_code = kind.__torch_dispatch__ is not inner._disabled_torch_dispatch_impl
        if inner._has_storage(tensor) and not (own_code or tensor.is_meta or tensor.is_nested):
            return "" if inner._data_address(tensor) or not self.is_freed(tensor) else "its memory was freed"
        if tensor.is_meta or tensor.is_nested:
            return "a tensor on meta has no numbers" if tensor.is_meta else "a nested tensor has no shape of its own"
        if own_code:
            return f"the numbers of a {kind.__name__} are read by its own code alone"
        held = tensor.layout is not self.module.strided or tensor.device.type == "xla"
        return "" if held else "a tensor inside torch.func, or of a batch of gradients, has no numbers of its own"

    def is_freed(self, tensor: Any) -> bool:
        if not (self._inner._has_storage(tensor) and tensor.numel()):
            return False
        # Not by its storage: PyTorch adds to no gradient in place whose storage was asked for. Nor by `data_ptr()`: it
        # copies memory that is shared until somebody writes to it.
        return not (self._inner._data_address(tensor) or tensor.is_meta or tensor._is_zerotensor())

    def shape(self, tensor: Any) -> list[int] | None:
        return None if getattr(tensor, "is_nested", False) else super().shape(tensor)

    def array(self, tensor: Any) -> np.ndarray:
        plain = self.plain(tensor)
        if plain.layout is not self.module.strided:
            plain = plain.to_dense()
        if plain.is_quantized:
            plain = plain.dequantize()
        if plain.dtype.is_floating_point and plain.dtype not in self._of_numpy:
            plain = plain.float()
        # A copy, for PyTorch resizes no memory that an array shares. Also of lazy zeros and conjugates.
        return np.asarray(plain.to("cpu", copy=True).numpy(force=True))

    def _storage(self, tensor: Any) -> int:
        if self.why_unreadable(tensor):
            return 0
        shared_until_written = self._inner._is_cow_tensor(tensor)  # by two storages with one address
        return int((self._inner._storage_address if shared_until_written else self._inner._data_address)(tensor))

    def quietly(self) -> AbstractContextManager[Any]:
        if self._modes_below() or self._transforms() or self._is_profiled():
            return self._beside_modes()
        return self._inner.DisableTorchFunction()  # type: ignore[no-any-return]

    @contextmanager
    def _beside_modes(self) -> Iterator[None]:
        """As `quietly`, where modes of the program see ops below autograd, or it runs in torch.func or a profiler."""
        inner, recorded = self._inner, self._is_profiled() and not getattr(self._unseen, "by_profiler", False)
        with inner.DisableTorchFunction(), inner._DisableFuncTorch(), self._dispatch._disable_current_modes():
            if recorded:
                self._unseen.by_profiler = True
                inner._autograd._enable_record_function(False)
            try:
                yield
            finally:
                if recorded:
                    self._unseen.by_profiler = False
                    inner._autograd._enable_record_function(True)

    def on_each_call(self, hook: Callable[[Any, Any, Any], None]) -> Any:
        return self.module.nn.modules.module.register_module_forward_hook(hook)

    def take_off(self, mode: Any) -> int:
        overrides = self.module.overrides
        if not any(active is mode for active in overrides._get_current_function_mode_stack()):
            return 0
        innermost = overrides._pop_mode()
        above = self.take_off(mode)  # an interrupt may have left it there twice
        if innermost is mode:
            return 0
        overrides._push_mode(innermost)
        return above + 1

    def put_on(self, mode: Any, above: int) -> None:
        overrides = self.module.overrides
        if not above:
            overrides._push_mode(mode)
            return
        innermost = overrides._pop_mode()
        self.put_on(mode, above - 1)
        overrides._push_mode(innermost)

    def written(self, module: Any) -> Any:
        return getattr(module, "_orig_mod", module) if self.why_closed(module) else module

    def kind(self, module: Any) -> str:
        return str(module.original_name) if self._is_scripted(module) else super().kind(module)

    def _is_scripted(self, module: Any) -> bool:
        return isinstance(module, self.module.jit.ScriptModule)

    def is_fused(self, module: Any, inputs: tuple[Any, ...]) -> bool:
        own = next((kind.forward for kind in self._fused if isinstance(module, kind)), None)
        if own is None or type(module).forward is not own or module.training:
            return False
        learn = (*self.parameters(module), *self.tensors(inputs)) if self.module.is_grad_enabled() else ()
        return not any(parameter.requires_grad for parameter in learn)

    def why_closed(self, module: Any) -> str:
        if self._is_scripted(module):
            return "TorchScript runs it without Python"
        dynamo = sys.modules.get(_DYNAMO)
        compiled = dynamo is not None and isinstance(module, dynamo.OptimizedModule)
        return "torch.compile made one function of it" if compiled or module._compiled_call_impl is not None else ""

    def whole_calls(self) -> dict[CodeType, str]:
        calls = super().whole_calls() | {self.module_type._call_impl.__code__: "closed"}
        makers = (self.module.jit.trace, self.module.jit.trace_module, self.module.export.export)
        calls.update((inspect.unwrap(maker).__code__, "made") for maker in makers)  # they run a model to write it down
        if self.compiles():
            parts = sys.modules[_DYNAMO]._TorchDynamoContext.__call__.__code__.co_consts
            calls.update((part, "closed") for part in parts if getattr(part, "co_name", "") == "compile_wrapper")
        return calls

    def closed_call(self, frame: FrameType) -> tuple[Any, str] | None:
        function = frame.f_locals.get("fn")
        if function is None:
            module, *inputs = (frame.f_locals[name] for name in ("self", "args", "kwargs"))
            fused = self.is_fused(module, tuple(inputs))
            return (module, self.kind(module)) if self._is_scripted(module) or fused else None
        module = getattr(function, "__wrapped__", getattr(function, "__self__", None))
        return (module, self.kind(module)) if self.is_module(module) else (function, f"compiled {function.__name__}")

    def compiles(self) -> bool:
        return hasattr(sys.modules.get(_DYNAMO), "_TorchDynamoContext")  # not while it is being loaded

    def _edge(self, tensor: Any) -> Any:
        return self.module.autograd.graph.get_gradient_edge(tensor)

    def set_version(self, tensor: Any, version: int) -> None:
        self.module._C._autograd._unsafe_set_version_counter((tensor,), (version,))

    def backwards(self) -> list[tuple[Any, str]]:
        return [(self.module.autograd, "_engine_run_backward")]  # which no program names

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

    def import_the_rest(self) -> None:
        importlib.import_module("torch._dynamo")  # an optimizer's first step imports it, and it writes a file

    def _default_device(self) -> Any:
        return getattr(getattr(self.module._GLOBAL_DEVICE_CONTEXT, "device_context", None), "device", None)

    def _print_options(self) -> Any:
        return self.module._tensor_str.PRINT_OPTS

    def is_packed(self, node: Any, name: str) -> bool:
        raw = getattr(node, f"_raw_saved_{name}", ())
        return any(
            getattr(saved, "unpack_hook", None) is not None for saved in (raw if isinstance(raw, tuple) else (raw,))
        )

    def _random_sources(self, device: str) -> dict[str, _Random]:
        sources = super()._random_sources(device)
        gpu = self.module.cuda
        if device.startswith("cuda") and not self.devices()["cuda"]:
            gpu.init()  # its generators exist from now on
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


def not_built(message: str) -> bool:
    """Whether an error of tinygrad_edu says that it has not what the program asks for: PyTorch alone runs it then."""
    return importlib.import_module("tinygrad_edu.array.absent").SMALL in message


class _Quietly:
    """tinygrad_edu without function modes."""

    def __init__(self, state: Any) -> None:
        self._state, self._modes = state, state.modes

    def __enter__(self) -> None:
        if self._modes:
            self._state.modes = ()

    def __exit__(self, *error: object) -> None:
        if self._modes and not self._state.modes:  # else it has ended, and a program has entered a mode since
            self._state.modes = self._modes


class Core(Engine):
    """tinygrad_edu."""

    name = CORE
    how_to_install = "pip install tinygrad-edu"

    def __init__(self) -> None:
        module = importlib.import_module("tinygrad_edu")
        self._overrides = importlib.import_module("tinygrad_edu.overrides")
        super().__init__(module, self._overrides.FunctionMode)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor.detach().numpy())

    def _storage(self, tensor: Any) -> int:
        array = tensor._data
        while isinstance(array.base, np.ndarray):
            array = array.base
        return int(array.__array_interface__["data"][0])

    def quietly(self) -> AbstractContextManager[Any]:
        return _Quietly(self.module.modes.thread.state)

    def on_each_call(self, hook: Callable[[Any, Any, Any], None]) -> Any:
        return importlib.import_module("tinygrad_edu.nn.hooks").register_module_forward_hook(hook)

    def take_off(self, mode: Any) -> int:
        state = self.module.modes.thread.state
        above = len(state.modes) - 1 - state.modes.index(mode) if mode in state.modes else 0
        state.modes = tuple(active for active in state.modes if active is not mode)
        return above

    def put_on(self, mode: Any, above: int) -> None:
        state = self.module.modes.thread.state
        index = len(state.modes) - above
        state.modes = (*state.modes[:index], mode, *state.modes[index:])

    def _edge(self, tensor: Any) -> Any:
        return self.module.core.graph.gradient_edge(tensor)

    def set_version(self, tensor: Any, version: int) -> None:
        if tensor._counter is not None:
            tensor._counter[0] = version

    def _run_backward(self) -> Callable[..., Any]:
        return self.module.autograd.engine.run  # type: ignore[no-any-return]

    def _print_options(self) -> Any:
        return importlib.import_module("tinygrad_edu.printing").options

    def is_packed(self, node: Any, name: str) -> bool:
        kept = node._saved or ()
        if name != "tensors" and kept:
            kept = kept[node._plan.names.index(name)] if name in node._plan.names else ()
        return any(
            getattr(saved, "_unpack", None) is not None for saved in (kept if isinstance(kept, tuple) else (kept,))
        )

    def _random_sources(self, device: str) -> dict[str, _Random]:
        own = self.module.random.default_generator

        def state() -> Any:  # most programs draw nothing: then the seed is enough, and no Mersenne Twister is created
            return own.initial_seed() if own.is_fresh else own.get_state()

        def put_back(state: Any) -> None:
            (own.manual_seed if isinstance(state, int) else own.set_state)(state)

        return super()._random_sources(device) | {CORE: _Random(state, put_back, own.manual_seed, lambda: own.is_fresh)}

    def _why_no_cuda(self) -> str:
        return "tinygrad_edu computes with NumPy on the CPU; choose PyTorch for a GPU."


def _put_back(kept: list[tuple[Any, dict[str, Any]]]) -> None:
    """Undo a program's assignments to names of classes and modules. Names that a module got from loaded parts stay."""
    for holder, before in kept:
        now = vars(holder).copy()
        if [*now] == [*before] and all(map(operator.is_, now.values(), before.values())):
            continue
        for name, value in before.items():
            if now.get(name) is not value:
                setattr(holder, name, value)
        for name in now.keys() - before.keys() if isinstance(holder, type) else ():
            delattr(holder, name)


@dataclass(frozen=True)
class _Random:
    """A source of random numbers: how to read its state, how to seed it, and how to draw from it."""

    get: Callable[..., Any]
    put_back: Callable[..., Any]
    begin: Callable[..., Any]
    draw: Callable[..., Any]


def _of_numpy() -> _Random:
    return _Random(np.random.get_state, np.random.set_state, np.random.seed, np.random.random_sample)


_first_drawn: dict[tuple[str, int], Any] = {}  # by source and seed: shows whether anything was drawn


@functools.cache
def _bare(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


_ENGINES: dict[str, type[Torch] | type[Core]] = {engine.name: engine for engine in (Core, Torch)}
NAMES = tuple(_ENGINES)


@functools.cache
def _load(name: str) -> Engine:
    return _ENGINES[name]()


def load(name: str) -> Engine:
    """The engine called `name`, imported on first use.

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
