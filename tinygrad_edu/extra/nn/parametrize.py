"""Parameters that are computed from others at each access (PyTorch: `torch.nn.utils.parametrize`)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...array.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn.containers import ModuleList
from ...nn.module import Module
from ...nn.parameter import Parameter
from .containers import ModuleDict

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

# The values computed inside `cached`, by module and name.
_cached = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside `with`, compute each parameter only once and reuse it.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> with parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    """
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


class ParametrizationList(ModuleList):
    """How one parameter is computed: from `original`, or `original0`, `original1`, …, through a chain of modules.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                original.data = new.data
            _register(self, "original", original)
        else:
            for i, one in enumerate(new):
                if not isinstance(one, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(one).__name__}."
                    )
                if isinstance(original, Parameter):
                    one = Parameter(one, original.requires_grad)
                _register(self, f"original{i}", one.requires_grad_(original.requires_grad))
        if not unsafe:
            self._check(original, self())

    def _originals(self) -> list[Any]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @staticmethod
    def _check(before: Tensor, after: Any) -> None:
        if not isinstance(after, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
        for what in ("dtype", "shape"):
            if getattr(before, what) != getattr(after, what):
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                    f"unparametrized {what}: {getattr(before, what)}\nparametrized {what}: {getattr(after, what)}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the result is `value`, using each module's own `right_inverse`."""
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            for one, to in zip([new] if self.is_tensor else new, self._originals(), strict=True):
                to.data = one.data

    def forward(self) -> Any:  # type: ignore[override]
        first, *rest = list(self)
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _register(module: Module, name: str, tensor: Any) -> None:
    (module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer)(name, tensor)


def _copied(self: Module, memo: dict[int, Any]) -> Module:
    new = object.__new__(type(self))  # a copy has the class, which cannot be pickled
    memo[id(self)] = new
    new.__dict__.update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
    return new


def _own_class(module: Module) -> None:
    """Give `module` a class of its own, on which the computed parameters are properties."""

    def not_pickled(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Save that, and load it into a "
            "module made the same way."
        )

    kind = type(module)
    own: dict[str, Any] = {"__getstate__": not_pickled, "__module__": kind.__module__}
    if not hasattr(kind, "__deepcopy__"):
        own["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), own)


def _bind(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        rule = self.parametrizations[name]
        if not _cached:
            return rule()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = rule()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Compute the parameter or buffer `tensor_name` with the module `parametrization` at each access.

    Raises:
        ValueError: there is no such parameter, or its shape or dtype would change and `unsafe` is False.

    >>> import tinygrad_edu as T
    >>> class Symmetric(T.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = T.nn.utils.parametrize.register_parametrization(T.nn.Linear(3, 3), "weight", Symmetric())
    >>> T.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            after: Any = parametrization(before)
            held._check(before, after)
            if hasattr(parametrization, "right_inverse"):
                with suppress(NotImplementedError):
                    back: Any = parametrization.right_inverse(after)
                    if not isinstance(back, Tensor):
                        raise ValueError(
                            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
                        )
                    held._check(before, back)
        held.append(parametrization)
        held.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        rules = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _bind(module, tensor_name)
        module.parametrizations[tensor_name] = rules
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """True if a parametrization computes the parameter of that name, or any parameter, of `module`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    rules = module._modules.get("parametrizations")
    if rules is None:
        return False
    return len(rules) > 0 if tensor_name is None else tensor_name in rules


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make `tensor_name` an ordinary parameter again: with its current value, or the original if not `leave_parametrized`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> layer = parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    rules = module.parametrizations[tensor_name]
    value = getattr(module, tensor_name)
    if rules.is_tensor:
        original = rules.original
        if leave_parametrized:
            with no_grad():
                original.data = value.detach()
    elif leave_parametrized:
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of the module before it was parametrized.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> parametrize.type_before_parametrizations(layer) is T.nn.Linear
    True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Module:
    """Copy the parametrizations of one or all parameters of `from_module`, and their originals, to `to_module`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(T.nn.Linear(2, 1))
    >>> other = parametrize.transfer_parametrizations_and_params(layer, T.nn.Linear(2, 1))
    >>> T.equal(layer.weight, other.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        rules = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            _register(to_module, name, getattr(from_module, name).detach().clone())
        for rule in rules:
            register_parametrization(to_module, name, rule)
        for one, to in zip(rules._originals(), to_module.parametrizations[name]._originals(), strict=True):
            to.data = one.data.clone()
    return to_module
