"""Hooks around the forward of one module, or after that of all modules (PyTorch: `torch.nn.modules.module`)."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..autograd.hooks import RemovableHandle, add_hook
from .backward_hooks import BackwardWatcher

__all__ = ["FLAGS", "add_module_hook", "call_with_hooks", "everywhere", "register_module_forward_hook"]

# The ids of hooks registered with such an option. An id is never used again.
FLAGS: dict[str, set[int]] = {"with_kwargs": set(), "always_call": set()}

# The forward hooks of all modules, which precede a module's own. Empty while there are none.
everywhere: OrderedDict[int, Any] = OrderedDict()


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the module's forward with all hooks around it, in PyTorch's order."""
    called: set[int] = set()
    result: Any = None

    def call(key: int, hook: Any) -> None:
        nonlocal result
        called.add(key)
        inputs = (args, kwargs) if key in FLAGS["with_kwargs"] else (args,)
        changed = hook(module, *inputs, result)
        result = result if changed is None else changed

    try:
        for key, hook in list(module._forward_pre_hooks.items()):
            args, kwargs = _called_before(hook, key, module, args, kwargs)
        before, after = list(module._backward_pre_hooks.values()), list(module._backward_hooks.values())
        watcher = BackwardWatcher(module, before, after) if before or after else None
        if watcher is not None:
            args = watcher.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook in (*everywhere.items(), *module._forward_hooks.items()):
            call(key, hook)
        return watcher.watch_outputs(result) if watcher is not None else result
    except Exception:
        for key, hook in (*everywhere.items(), *module._forward_hooks.items()):
            if key in FLAGS["always_call"] and key not in called:
                try:
                    call(key, hook)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=2,
                    )
        raise


def _called_before(hook: Any, key: int, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments that a hook before forward leaves."""
    if key not in FLAGS["with_kwargs"]:
        changed = hook(module, args)
        return args if changed is None else changed if isinstance(changed, tuple) else (changed,), kwargs
    changed = hook(module, args, kwargs)
    if changed is None:
        return args, kwargs
    if not (isinstance(changed, tuple) and len(changed) == 2):
        raise RuntimeError(
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
        )
    return changed


def add_module_hook(hooks: Any, hook: Callable[..., Any], prepend: bool = False, **flags: bool) -> RemovableHandle:
    """Add a hook to the end of a table, or to its beginning, with the options that are True."""
    handle = add_hook(hooks, hook)
    for flag, value in flags.items():
        if value:
            FLAGS[flag].add(handle.id)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward. Its result, if not None, replaces the output.

    >>> from tinygrad_edu.nn.hooks import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__)):
    ...     _ = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU())(T.ones(1, 2))
    Linear
    ReLU
    Sequential
    """
    return add_module_hook(everywhere, hook, with_kwargs=with_kwargs, always_call=always_call)
