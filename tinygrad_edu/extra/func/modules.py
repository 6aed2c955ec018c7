"""x"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from ...array.tensor import Tensor
from ...nn.module import Module
from ...nn.norms import _BatchNorm
from ...ops import functions as F

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """Call `module` with other tensors as its parameters and buffers, given by their paths. The module does not change.

    >>> import tinygrad_edu as T
    >>> layer = T.nn.Linear(1, 1)
    >>> T.func.functional_call(layer, {"weight": T.tensor([[2.0]]), "bias": T.tensor([1.0])}, T.tensor([3.0]))
    tensor([7.])
    """
    one = isinstance(parameter_and_buffer_dicts, dict)
    dicts = (parameter_and_buffer_dicts,) if one else parameter_and_buffer_dicts
    if not isinstance(dicts, tuple | list) or not all(isinstance(values, dict) for values in dicts):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    counts = Counter(name for values in dicts for name in values)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    given: dict[str, Any] = {name: value for values in dicts for name, value in values.items()}
    known = dict(
        itertools.chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
    )
    unexpected, missing = [n for n in given if n not in known], [n for n in known if n not in given]
    if tie_weights:
        tied = {id(known[n]) for n in given if n in known}
        missing = [n for n in missing if id(known[n]) not in tied]
    if strict and (unexpected or missing):
        lines = [f"{what} key(s): {', '.join(map(repr, sorted(names)))}." for what, names in
                 (("Unexpected", unexpected), ("Missing", missing)) if names]  # fmt: skip
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(lines))
    for value in given.values():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value!r} is not an instance of torch.Tensor")
    swapped: dict[int, Tensor] = {}
    if tie_weights:
        by: dict[int, list[str]] = {}
        for name in given:
            if name in known:
                by.setdefault(id(known[name]), []).append(name)
        for names in by.values():
            if any(given[name] is not given[names[0]] for name in names):
                raise ValueError(
                    f"functional_call got multiple values for keys {names}, which are tied. Consider using tie_weights=False"
                )
        swapped = {key: given[names[0]] for key, names in by.items()}
    undo: list[tuple[dict[str, Any], str, Any]] = []
    attributes: list[tuple[Module, str, Any]] = []  # what is no parameter, as what a parametrization computes
    try:
        for path in unexpected:
            above, _, name = path.rpartition(".")
            owner = module.get_submodule(above)
            attributes.append((owner, name, getattr(owner, name, None)))
            setattr(owner, name, given[path])
        for path, old in known.items():
            new = given.get(path, swapped.get(id(old)))
            if new is not None:
                above, _, name = path.rpartition(".")
                owner = module.get_submodule(above)
                table = owner._parameters if name in owner._parameters else owner._buffers
                undo.append((table, name, table[name]))  # type: ignore[arg-type]
                table[name] = new  # type: ignore[assignment]
        arguments = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for table, name, old in reversed(undo):
            table[name] = old
        for owner, name, old in attributes:
            delattr(owner, name) if old is None else setattr(owner, name, old)


def stack_module_state(models: list[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one kind, stacked for `functional_call` under `vmap`.

    >>> import tinygrad_edu as T
    >>> parameters, buffers = T.func.stack_module_state([T.nn.Linear(3, 2) for _ in range(4)])
    >>> parameters["weight"].shape
    tinygrad_edu.Size([4, 2, 3])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    tables = []
    for named in ("named_parameters", "named_buffers"):
        each = [dict(getattr(m, named)()) for m in models]
        stacked = {name: F["stack"]([e[name].detach() for e in each]) for name in each[0]}
        if named == "named_parameters":
            stacked = {n: t.requires_grad_(each[0][n].requires_grad) for n, t in stacked.items()}
        tables.append(stacked)
    return tables[0], tables[1]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics of the batch norms in `root`, which `vmap` cannot write to. Returns `root`.

    >>> import tinygrad_edu as T
    >>> T.func.replace_all_batch_norm_modules_(T.nn.BatchNorm1d(3)).running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
