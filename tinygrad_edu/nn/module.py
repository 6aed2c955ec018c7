"""`Module`: holds parameters, buffers and other modules as attributes, and finds them by their names."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..array import absent, dtypes
from ..array.memory import cast
from ..array.tensor import Tensor, wrap
from ..autograd.hooks import RemovableHandle
from ..ops.creation.methods import target_of
from .hooks import add_module_hook, call_with_hooks, everywhere
from .parameter import Parameter, clear_gradient
from .state import IncompatibleKeys, load, load_part

__all__ = ["Module"]

# Where a module holds what: the attribute, what a message calls its values, and their type.
_TABLES = (
    ("_parameters", "parameter", "torch.nn.Parameter"),
    ("_modules", "child module", "torch.nn.Module"),
    ("_buffers", "buffer", "torch.nn.Buffer, torch.Tensor"),
)


class Module:
    """The base class of layers and networks. Write `__init__` (call `super().__init__()` first) and `forward`.

    >>> class Net(T.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = T.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.layer(x).relu()
    >>> [name for name, p in Net().named_parameters()]
    ['layer.weight', 'layer.bias']
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            _forward_hooks=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _backward_pre_hooks=OrderedDict(),
        )

    _version = 1
    _is_full_backward_hook: bool | None = None  # which kind of backward hooks it has; None: it has had none

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output. Subclasses define it; to run it, call the module itself."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # --- attributes ------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter | Module) and "_parameters" not in own:
            _ = self._parameters if isinstance(value, Parameter) else self._modules  # says so
        if isinstance(value, Parameter):
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
            return
        if isinstance(value, Module) and name not in own["_parameters"]:
            self._forget(name, keep="_modules")
            self._modules[name] = value
            return
        for table, kind, wanted in _TABLES:
            if name in own.get(table, ()):
                if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                    advice = " Wrap it: nn.Parameter(…)." if table == "_parameters" else ""
                    raise TypeError(
                        f"cannot assign '{_kind(value)}' as {kind} '{name}' ({wanted} or None expected).{advice}"
                    )
                own[table][name] = value
                return
        object.__setattr__(self, name, value)

    def _forget(self, name: str, keep: str) -> None:
        self.__dict__.pop(name, None)
        for table, *_ in _TABLES:
            if table != keep:
                self.__dict__[table].pop(name, None)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table, kind, _ in _TABLES:
            if name == table:
                raise AttributeError(
                    f"cannot assign {kind} before Module.__init__() call. Start __init__ with super().__init__()."
                )
            if name in own.get(table, ()):
                return own[table][name]
        answer = f" {absent.sentence(name, 'Module')}" if name in absent.NAMES else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{'.' if answer else ''}{answer}")

    def __delattr__(self, name: str) -> None:
        for table, *_ in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None reserves the name without a parameter."""
        if name not in self._parameters:
            self._check_name("parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (torch.nn.Parameter or None "
                "required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained. It is moved and (if `persistent`) saved with the module."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)"
            )
        if name not in self._buffers:
            self._check_name("buffer", name)
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        if name not in self._modules:
            self._check_name("module", name)
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, kind: str, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name or not name:
            raise KeyError(f'{kind} name can\'t contain "." and can\'t be empty string "", got: {name}')

    # --- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            return call_with_hooks(self, args, kwargs)
        return call_with_hooks(self, args, kwargs) if everywhere else self.forward(*args, **kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward. Its result, if not None, replaces the output."""
        return add_module_hook(self._forward_hooks, hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward. Its result, if not None, replaces the arguments."""
        return add_module_hook(self._forward_pre_hooks, hook, prepend, with_kwargs=with_kwargs)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older `register_full_backward_hook`: it sees only the gradients of the last node that forward created."""

        def attach(module: Module, args: Any, result: Any) -> None:
            while not isinstance(result, Tensor):
                held = result.values() if isinstance(result, dict) else result
                result = next(v for v in held if isinstance(v, Tensor | tuple | list | dict))
            if result.grad_fn is not None:
                result.grad_fn.register_hook(functools.partial(hook, module))

        self._use_backward_hooks(full=False)
        return self.register_forward_hook(attach)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once the gradients of the inputs are computed."""
        self._use_backward_hooks(full=True)
        return add_module_hook(self._backward_hooks, hook, prepend)

    def _use_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` once the gradients of the outputs are computed."""
        return add_module_hook(self._backward_pre_hooks, hook, prepend)

    # --- walking ---------------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all modules inside it, each once, with their paths."""
        seen: set[int] = set() if memo is None else {id(m) for m in memo}
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if remove_duplicate and id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            children = [(f"{path}.{n}" if path else n, m) for n, m in module._modules.items() if m is not None]
            stack.extend(reversed(children))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all modules inside it, each once."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside this one, with their names."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        return (module for _, module in self.named_children())

    def _named(self, table: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else iter([(prefix, self)])
        )
        for path, module in owners:
            for name, value in module.__dict__[table].items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths, such as `layer.weight`."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, for example to pass to an optimizer."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their paths."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as `encoder.layers.0`."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not isinstance(getattr(module, name, None), Module):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
        return module

    def _get(self, target: str, table: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path).__dict__[table].get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not {kind}")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as `layer.weight`."""
        return self._get(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as `norm.running_mean`."""
        return self._get(target, "_buffers", "a buffer")

    # --- saving ----------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by path: detached, but sharing memory with the module."""
        given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
        destination, prefix, keep_vars = given
        out: Any = destination
        if destination is None:
            out = OrderedDict()
            out._metadata = OrderedDict()
        if hasattr(out, "_metadata"):
            out._metadata[prefix[:-1]] = {"version": self._version}
        self._save_to_state_dict(out, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=out, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return out

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Add the module's own entries; subclasses extend it."""
        for name, value in self._saved_entries():
            destination[f"{prefix}{name}"] = value if keep_vars else value.detach()
        if hasattr(self, "get_extra_state"):
            destination[f"{prefix}_extra_state"] = self.get_extra_state()

    def _load_from_state_dict(self, *args: Any) -> None:
        """Load the module's own entries; subclasses extend it, for example to convert those of an older version."""
        load_part(self, *args)

    def _saved_entries(self) -> Iterator[tuple[str, Tensor]]:
        for name, p in self._parameters.items():
            if p is not None:
                yield name, p
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent_buffers_set:
                yield name, b

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values into the parameters and buffers by path. They may be Tensors, arrays, another engine's tensors.

        Raises:
            RuntimeError: a shape differs, or (if `strict`) a key is missing or unexpected.
        """
        return load(self, state_dict, strict, assign)

    # --- changing all at once ----------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Set training mode for this module and all inside it: dropout is active, batch norm measures statistics."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)  # a subclass may extend this, to keep its norms in evaluation mode
        return self

    def eval(self) -> Module:
        """Set evaluation mode: the opposite of `train()`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Turn gradients of all parameters on or off. Use it to freeze layers."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or to zeros."""
        for p in self.parameters():
            clear_gradient(p, set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call `fn` on each module inside, inner ones first, then on this one. Use it to initialise weights."""
        order, stack = [], [self]
        while stack:
            module = stack.pop()
            order.append(module)
            stack.extend(module.children())
        for module in reversed(order):
            fn(module)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replace each parameter, gradient and buffer by the result of `fn`; subclasses add their other tensors."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for p in self._parameters.values():
            if p is not None:
                p._data, p._accumulator = fn(p.detach())._data, None
                if p._grad is not None:
                    p._grad._data = fn(p._grad.detach())._data
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert(self, kind: np.dtype, of: str = "fV") -> Module:
        def converted(t: Tensor) -> Tensor:
            return wrap(cast(t._data, kind)) if t.value.dtype.kind in of and t.value.dtype != kind else t

        return self._apply(converted)

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Module:
        """Convert all floating-point parameters and buffers to another dtype. The only device is the CPU."""
        dtype, _ = target_of(args, dtype, device)
        if dtype is None:
            return self
        kind = dtypes.to_numpy_dtype(dtype)
        if kind.kind != "f":
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._convert(kind)

    def double(self) -> Module:
        """Convert all floating-point parameters and buffers to float64."""
        return self._convert(np.dtype(np.float64))

    def float(self) -> Module:
        """Convert all floating-point parameters and buffers to float32."""
        return self._convert(np.dtype(np.float32))

    def half(self) -> Module:
        """Convert all floating-point parameters and buffers to float16."""
        return self._convert(np.dtype(np.float16))

    def cpu(self) -> Module:
        """Return the module unchanged: it is already on the CPU."""
        return self

    def cuda(self, device: Any = None) -> Module:
        """Refused: tinygrad_edu computes only on the CPU."""
        return self.to("cuda")

    # --- showing ---------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text inside the brackets of the printed module."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        # The recursion is as deep as the modules that somebody has nested.
        lines = self.extra_repr().split("\n") if self.extra_repr() else []
        children = []
        for name, module in self._modules.items():
            shown = repr(module).split("\n")
            children.append(f"({name}): " + "\n".join([shown[0], *("  " + line for line in shown[1:])]))
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _kind(value: Any) -> str:
    """The type of a value, as PyTorch's messages give it; for a tensor, its legacy type name."""
    return f"torch.{value.dtype.legacy_name}Tensor" if isinstance(value, Tensor) else type(value).__name__
