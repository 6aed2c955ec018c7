"""Pruning: each pruned weight is the product of the original and a mask (PyTorch: `torch.nn.utils.prune`)."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ...array.tensor import Tensor
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...nn.utils import parameters_to_vector
from ...ops import functions as ops

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured",
    "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured",
    "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """The base class, and the hook that computes the weight before each forward. Subclasses define `compute_mask`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> class Negative(prune.BasePruningMethod):
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> Negative().prune(T.tensor([1.0, -2.0]))
    tensor([1., -0.])
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for `t`: 0 where `default_mask` is 0, and where this method prunes."""

    def apply_mask(self, module: Module) -> Any:
        """The weight multiplied by the mask."""
        mask, weight = getattr(module, f"{self._tensor_name}_mask"), getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=weight.dtype) * weight

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the parameter `name`, in addition to earlier pruning. `importance_scores` replace the weights' magnitudes."""
        earlier = [(key, hook) for key, hook in module._forward_pre_hooks.items() if _is_for(hook, name)]
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        weight = getattr(module, name)
        if not earlier and not isinstance(weight, Parameter):
            raise TypeError(
                f"cannot assign '{type(weight).__name__}' object to parameter '{name}_orig' (torch.nn.Parameter or None "
                "required): only a parameter can be pruned, not what a parametrization computes."
            )
        scores = weight if importance_scores is None else importance_scores
        if scores.shape != weight.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter                 {name} of {module}"
            )
        if earlier:
            key, hook = earlier[0]
            del module._forward_pre_hooks[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method, default = container, getattr(module, f"{name}_mask").detach().clone()
        else:
            default = ops["ones_like"](weight)
        mask = method.compute_mask(scores, default)
        if not earlier:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", weight)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Any:
        """A copy of `t`, pruned by this method."""
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, ops["ones_like"](t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter with its current value."""
        name, weight = self._tensor_name, self.apply_mask(module)
        kept = module._parameters.pop(f"{name}_orig")
        assert kept is not None
        kept.data = weight.data
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        setattr(module, name, kept)


def _is_for(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several methods in sequence. The mask of the last one builds on that of the others.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = T.nn.Linear(4, 1)
    >>> _ = prune.l1_unstructured(layer, "weight", amount=1)
    >>> method = prune.L1Unstructured.apply(layer, "weight", amount=1)
    >>> type(method).__name__, len(method), int((layer.weight == 0).sum())
    ('PruningContainer', 2, 2)
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods: Any = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add `method` at the end."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, place: Any) -> Any:
        return self._pruning_methods[place]

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask of the last method, which sees only what is left."""
        method: Any = self._pruning_methods[-1]
        mask: Any = default_mask.to(dtype=t.dtype)
        left: Any
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            others = [d for d in range(mask.ndim) if d != method.dim % mask.ndim]
            left = [slice(None)] * mask.ndim
            left[method.dim] = mask.sum(dim=others) != 0
            left = tuple(left)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * mask.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        new: Any = mask.clone()
        new[left] = method.compute_mask(t[left], default_mask=mask[left])
        return new


class Identity(BasePruningMethod):
    """Prunes nothing, but creates the mask.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.Identity().prune(T.tensor([3.0, 4.0]))
    tensor([3., 4.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`"""
        return default_mask


class _ByAmount(BasePruningMethod):
    amount: Any

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if (isinstance(amount, numbers.Integral) and amount < 0) or (
            not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
        ):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def count(self, size: int) -> int:
        """How many of `size` elements to prune."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        if int(self.amount) > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return int(self.amount)


class _Single(_ByAmount):
    """Prunes single weights: the first ones in an order that the subclass defines."""

    def lowest(self, t: Any, count: int) -> Any:
        """The positions to prune, in the flattened tensor."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Any) -> Tensor:
        """A mask with 0 at the pruned weights."""
        count, mask = self.count(t.numel()), default_mask.clone()
        if count:
            mask.view(-1)[self.lowest(t, count)] = 0
        return mask


class RandomUnstructured(_Single):
    """Prunes an `amount` of single weights at random: a fraction below 1, or a number of weights.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.RandomUnstructured(amount=0.5).prune(T.ones(4)).sum()
    tensor(2.)
    """

    def lowest(self, t: Any, count: int) -> Any:
        """Random positions."""
        return ops["rand_like"](t).view(-1).topk(count).indices


class L1Unstructured(_Single):
    """Prunes the `amount` of single weights with the smallest magnitudes.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.L1Unstructured(amount=1).prune(T.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 2.])
    """

    def lowest(self, t: Any, count: int) -> Any:
        """The positions of the smallest magnitudes."""
        return t.abs().view(-1).topk(count, largest=False).indices


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def keep(self, t: Any, count: int) -> Any:
        """A mask or an index of the channels that stay when `count` are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """A mask with 0 at all weights of the pruned channels."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self.count(t.shape[self.dim])
        if not count:
            return default_mask
        place: list[Any] = [slice(None)] * t.ndim
        place[self.dim] = self.keep(t, count)
        mask = ops["zeros_like"](t).detach()
        mask[tuple(place)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes an `amount` of whole channels along `dim` at random.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.RandomStructured(amount=1, dim=0).prune(T.ones(2, 3)).sum()
    tensor(3.)
    """

    def keep(self, t: Any, count: int) -> Any:
        """Random channels."""
        chance = ops["rand"](t.shape[self.dim])
        return chance > chance.kthvalue(count).values


class LnStructured(_Structured):
    """Prunes the `amount` of whole channels along `dim` with the smallest norm of order `n`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.LnStructured(amount=1, n=2, dim=0).prune(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[0., 0.],
            [3., 4.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def keep(self, t: Any, count: int) -> Any:
        """The channels with the largest norms."""
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        return ops["norm"](t, self.n, others).topk(t.shape[self.dim] - count).indices


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.CustomFromMask(T.tensor([1, 0])).prune(T.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Any) -> Tensor:
        """The product of `mask` and `default_mask`."""
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Create the mask of the parameter `name`, but prune nothing.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> prune.identity(T.nn.Linear(2, 1), "weight").weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune an `amount` of the weights in `name` at random: a fraction below 1, or a number of weights.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = prune.random_unstructured(T.nn.Linear(4, 3), "weight", amount=5)
    >>> int((layer.weight == 0).sum()), [name for name, _ in layer.named_parameters()]
    (5, ['bias', 'weight_orig'])
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the `amount` of weights in `name` with the smallest magnitudes.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = T.nn.Linear(3, 1)
    >>> layer.weight.data = T.tensor([[3.0, -1.0, 2.0]])
    >>> prune.l1_unstructured(layer, "weight", amount=1).weight.detach()
    tensor([[3., -0., 2.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune an `amount` of whole channels of `name` along `dim` at random.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = prune.random_structured(T.nn.Linear(3, 2), "weight", amount=1, dim=1)
    >>> int((layer.weight == 0).sum())
    2
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the `amount` of whole channels of `name` along `dim` with the smallest norm of order `n`.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = T.nn.Linear(2, 2)
    >>> layer.weight.data = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.detach()
    tensor([[0., 0.],
            [3., 4.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune `name` where `mask` is 0.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = prune.custom_from_mask(T.nn.Linear(2, 1), "weight", T.tensor([[0, 1]]))
    >>> layer.weight == 0
    tensor([[ True, False]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Callable[..., BasePruningMethod], importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune an amount of all `parameters` together, given as pairs of a module and a name.

    Raises:
        TypeError: the method prunes whole channels.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> model = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Linear(2, 2))
    >>> pairs = [(layer, "weight") for layer in model]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=3)
    >>> sum(int((layer.weight == 0).sum()) for layer in model)
    3
    """
    pairs, scores = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    relevant = parameters_to_vector([scores.get((m, n), getattr(m, n)) for m, n in pairs])
    default = parameters_to_vector(
        [getattr(m, f"{n}_mask") if hasattr(m, f"{n}_mask") else ops["ones_like"](getattr(m, n)) for m, n in pairs]
    )
    method._tensor_name = "temp"
    mask: Any = PruningContainer(method).compute_mask(relevant, default)
    start = 0
    for module, name in pairs:
        size = getattr(module, name).numel()
        custom_from_mask(module, name, mask[start : start + size].view_as(getattr(module, name)))
        start += size


def remove(module: Module, name: str) -> Module:
    """Make the pruned weight `name` an ordinary parameter.

    Raises:
        ValueError: it is not pruned.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = prune.l1_unstructured(T.nn.Linear(4, 1), "weight", amount=2)
    >>> sorted(name for name, _ in prune.remove(layer, "weight").named_parameters())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if _is_for(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """True if a weight of the module, or of one inside it, is pruned.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu.nn.utils import prune
    >>> layer = T.nn.Linear(2, 1)
    >>> prune.is_pruned(layer), prune.is_pruned(prune.identity(layer, "weight"))
    (False, True)
    """
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
