"""Hooks around the forward of one module, or of all modules (PyTorch: `torch.nn.modules.module`)."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..autograd.hooks import RemovableHandle, add_hook
from .backward_hooks import BackwardWatcher

__all__ = [
    "FLAGS", "call_with_hooks", "everywhere", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
]  # fmt: skip

# The ids of hooks registered with such an option. An id is never used again.
FLAGS: dict[str, set[int]] = {"with_kwargs": set(), "always_call": set()}

# The hooks of all modules, by the table of a module's hooks that they precede. Empty while there are none.
everywhere: OrderedDict[int, tuple[str, Any]] = OrderedDict()


def _hooks(module: Any, table: str) -> list[tuple[int, Any]]:
    of_all = [(key, hook) for key, (kind, hook) in everywhere.items() if kind == table]
    return of_all + list(module.__dict__[table].items())


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the module's forward with all hooks around it, in PyTorch's order."""
    called: set[int] = set()
    result: Any = None

    def run() -> Any:
        nonlocal result, args, kwargs
        for key, hook in _hooks(module, "_forward_pre_hooks"):
            with_kwargs = key in FLAGS["with_kwargs"]
            changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
            if changed is not None:
                if with_kwargs:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
                else:
                    args = changed if isinstance(changed, tuple) else (changed,)
        before = [hook for _, hook in _hooks(module, "_backward_pre_hooks")]
        after = [hook for _, hook in _hooks(module, "_backward_hooks")]
        watcher = BackwardWatcher(module, before, after) if before or after else None
        if watcher is not None:
            args = watcher.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook in _hooks(module, "_forward_hooks"):
            called.add(key)
            changed = _called(hook, key, module, args, kwargs, result)
            if changed is not None:
                result = changed
        return watcher.watch_outputs(result) if watcher is not None else result

    try:
        return run()
    except Exception:
        for key, hook in _hooks(module, "_forward_hooks"):
            if key in FLAGS["always_call"] and key not in called:
                try:
                    changed = _called(hook, key, module, args, kwargs, result)
                    result = result if changed is None else changed
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as another error "
                        f"was raised in forward: {error}",
                        stacklevel=2,
                    )
        raise


def _called(hook: Any, key: int, module: Any, args: Any, kwargs: Any, result: Any) -> Any:
    return hook(module, args, kwargs, result) if key in FLAGS["with_kwargs"] else hook(module, args, result)


def _register(table: str, hook: Callable[..., Any], **flags: bool) -> RemovableHandle:
    handle = add_hook(everywhere, (table, hook))
    for flag, value in flags.items():
        if value:
            FLAGS[flag].add(handle.id)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module. Its result, if not None, replaces the arguments."""
    return _register("_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module. Its result, if not None, replaces the output.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__)):
    ...     _ = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())(T.ones(1, 2))
    Linear
    ReLU
    Sequential
    """
    return _register("_forward_hooks", hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` for every module, once the gradients of its outputs are computed."""
    return _register("_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` for every module, once the gradients of its inputs are computed."""
    return _register("_backward_hooks", hook)
