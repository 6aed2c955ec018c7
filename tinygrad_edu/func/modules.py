"""A module called with other tensors in the place of its parameters."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from ..array.tensor import Tensor
from ..nn.module import Module

__all__ = ["functional_call"]


def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None) -> Any:
    """Call `module` with other tensors as its parameters and buffers, given by their paths. The module does not change.

    A parameter that stands in several places is replaced in all of them.

    >>> layer = T.nn.Linear(1, 1)
    >>> T.func.functional_call(layer, {"weight": T.tensor([[2.0]]), "bias": T.tensor([1.0])}, T.tensor([3.0]))
    tensor([7.])
    """
    dicts = parameter_and_buffer_dicts
    given: Any = dicts if isinstance(dicts, dict) else ChainMap(*dicts)
    known = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    for path, value in given.items():
        module.get_submodule(path.rpartition(".")[0])  # which must exist; the parameter need not
        if not isinstance(value, Tensor):
            raise TypeError(f"{value!r} is not an instance of torch.Tensor")
    replaced = {id(known[path]): value for path, value in given.items() if path in known}
    undo: list[tuple[Any, str, Any]] = []
    try:
        for path, old in known.items():
            if id(old) in replaced:
                above, _, name = path.rpartition(".")
                owner = module.get_submodule(above)
                table: Any = owner._parameters if name in owner._parameters else owner._buffers
                undo.append((table, name, table[name]))
                table[name] = given.get(path, replaced[id(old)])
        arguments = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for table, name, old in reversed(undo):
            table[name] = old
