"""`Distribution`, the base class of all distributions."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ...array.tensor import Size, Tensor, wrap
from ...autograd.grad_mode import no_grad
from ...ops import functions as F
from ...ops.creation import random
from ...ops.creation.factories import as_tensor
from ..bfloat16 import companion as bfloat16s
from . import constraints

__all__ = ["Distribution", "even", "positive", "together"]


class Distribution:
    """The base class. Subclasses define `_drawn(shape)` and `log_prob`.

    >>> import tinygrad_edu as T
    >>> class Always(T.distributions.Distribution):
    ...     def __init__(self, value):
    ...         self.value = value
    ...         super().__init__(value.shape)
    ...     def _drawn(self, shape):
    ...         return self.value.expand(shape)
    >>> Always(T.tensor(3.0)).sample((2,))
    tensor([3., 3.])
    """

    has_rsample = has_enumerate_support = False
    arg_constraints: Any = {}  # noqa: RUF012 - replaced, never changed
    _parameters: tuple[str, ...] | None = None
    _each: Any = None
    _validate_args = __debug__

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        if bfloat16s.holds(vars(self).values()):
            bfloat16s.refuse(type(self).__name__)
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                self._check_parameter(name, constraint)

    def _check_parameter(self, name: str, constraint: Any) -> None:
        """Raise if a parameter violates its constraint."""
        value = self.__dict__.get(name, self.__dict__.get(f"_{name}"))
        if value is None or constraints.is_dependent(constraint) or constraint.check(value).all():
            return
        raise ValueError(
            f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
            f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
        )

    def _validate_sample(self, value: Any) -> None:
        """Raise if `value` cannot be a draw. `log_prob` of a subclass may call it first.

        Raises:
            ValueError: it is not a tensor, its shape does not fit, or it lies outside `support`.
        """
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.shape) - len(self.event_shape)
        if tuple(value.shape[start:]) != tuple(self.event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self.event_shape}."
            )
        for i, j in zip(reversed(value.shape), reversed(self.batch_shape + self.event_shape), strict=False):
            if i != j and 1 not in (i, j):
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{self.batch_shape + self.event_shape}."
                )
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: one distribution for each of its elements."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The object that `expand` fills: `_instance`, or a new one if the class has the `__init__` of `cls`."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    @property
    def support(self) -> Any:
        """The constraint that draws satisfy."""
        raise self._missing("support")

    def sample_n(self, n: int) -> Tensor:
        """`n` draws."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", FutureWarning, stacklevel=2)
        return self.sample((n,))

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of draws: `sample_shape`, then the batch shape, then the event shape."""
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the validation of parameters on or off for new distributions. Values are not validated."""
        Distribution._validate_args = value

    def __repr__(self) -> str:
        # Validate the parameters of the single trial too.
        own = {**vars(self), **(vars(self._each) if isinstance(self._each, Distribution) else {})}
        names = self._parameters
        if names is None:  # a class of a program: what it constrains
            names = tuple(name for name in self.arg_constraints if isinstance(own.get(name), Tensor))
        given = {name.lstrip("_"): value for name in names if (value := own[name]) is not None}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of shape `sample_shape` + `batch_shape` + `event_shape`, without gradients."""
        with no_grad():
            if type(self)._drawn is Distribution._drawn:
                return self.rsample(sample_shape)
            return self._drawn((*sample_shape, *self.batch_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws with gradients to the parameters (the reparametrization trick).

        Raises:
            NotImplementedError: the draws are not differentiable, as with classes.
        """
        if not self.has_rsample:
            raise NotImplementedError(f"{type(self).__name__} has no rsample: use log_prob, or F.gumbel_softmax.")
        return self._drawn((*sample_shape, *self.batch_shape))

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no {what} here: write it from the distribution's parameters, or use log_prob and sample."
        )

    @property
    def mean(self) -> Any:
        """The mean of draws."""
        raise self._missing("mean")

    @property
    def variance(self) -> Any:
        """The mean of the squared distance to the mean."""
        raise self._missing("variance")

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise self._missing("mode")

    def cdf(self, value: Any) -> Any:
        """The probability that a draw is at most `value`."""
        raise self._missing("cdf")

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`: the value that a draw does not exceed with this probability."""
        raise self._missing("icdf")

    def entropy(self) -> Any:
        """The mean of -ln p over draws."""
        raise self._missing("entropy")

    def perplexity(self) -> Any:
        """e to the power of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that a draw can have."""
        raise self._missing("enumerate_support")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to another batch shape."""
        if _instance is None and not str(type(self).__init__.__module__).startswith(__package__):
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {type(self).__mro__[1].__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        new, before = copy.copy(self) if _instance is None else _instance, len(self.batch_shape)
        new.__dict__.update(vars(self))
        new._batch_shape = Size(batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor | Distribution) and name != "temperature":
                shape = value.shape if isinstance(value, Tensor) else value.batch_shape
                new.__dict__[name] = value.expand((*new.batch_shape, *shape[before:]))
        return new

    def _values(self, count: int, dtype: Any, expand: bool) -> Any:
        values = F["arange"](count, dtype=dtype).view(-1, *(1 for _ in self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values

    @property
    def stddev(self) -> Any:
        """The standard deviation: the square root of the variance."""
        return self.variance.sqrt()


def together(*parameters: Any) -> Any:
    """Broadcast parameters to one shape; numbers take the dtype of the tensors."""
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    dtype = tensors[0].dtype if tensors else None
    return F["broadcast_tensors"](*(p if isinstance(p, Tensor) else as_tensor(float(p), dtype) for p in parameters))


def positive(name: str, **parameters: Tensor) -> None:
    """Raise ValueError if a parameter of the distribution `name` is not positive."""
    for key, value in parameters.items():
        if not (value._data > 0).all():
            raise ValueError(
                f"Expected parameter {key} of distribution {name} to satisfy the constraint GreaterThan(0)"
            )


def even(shape: Any, kind: Any) -> Any:
    """Uniform random numbers over (0, 1)."""
    return wrap(np.maximum(random.source(None).uniform(tuple(shape), kind), np.finfo(kind).tiny))
