"""`Distribution`, the base class of all distributions."""

from __future__ import annotations

import copy
from typing import Any

from ..array.tensor import Size, Tensor
from ..autograd.grad_mode import no_grad
from ..ops import functions as F
from ..ops.creation.factories import as_tensor

__all__ = ["Distribution", "broadcast_all"]


class Distribution:
    """The base class. Subclasses define `rsample` or `sample`, and `log_prob`.

    `batch_shape` is the shape of the parameters, one distribution for each element; `event_shape` is that of one draw
    of one distribution. A draw has the shape `sample_shape` + `batch_shape` + `event_shape`.

    >>> class Always(T.distributions.Distribution):
    ...     def __init__(self, value):
    ...         self.value = value
    ...         super().__init__(value.shape)
    ...     def sample(self, sample_shape=()):
    ...         return self.value.expand(self._extended_shape(sample_shape))
    >>> Always(T.tensor(3.0)).sample((2,))
    tensor([3., 3.])
    """

    has_rsample = False
    arg_constraints: Any = {}  # noqa: RUF012 - replaced, never changed
    _validate_args = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if self._validate_args if validate_args is None else validate_args:
            for name, constraint in self.arg_constraints.items():
                value = self.__dict__.get(name, self.__dict__.get(f"_{name}"))
                if value is not None and not constraint.check(value).all():
                    raise ValueError(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                        f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                        f"values:\n{value}"
                    )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the validation of parameters on or off for new distributions. Values are not validated."""
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def _tensors(self) -> dict[str, Tensor]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def __repr__(self) -> str:
        given = {name.lstrip("_"): value for name, value in self._tensors().items()}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws without a gradient."""
        with no_grad():
            return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws with gradients to the parameters (the reparametrization trick)."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: use log_prob, or F.gumbel_softmax.")

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability (density) of `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob.")

    def entropy(self) -> Tensor:
        """The mean of -ln p over draws."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy here.")

    @property
    def mean(self) -> Tensor:
        """The mean of draws."""
        raise NotImplementedError(f"{type(self).__name__} has no mean here.")

    @property
    def variance(self) -> Tensor:
        """The mean of the squared distance to the mean."""
        raise NotImplementedError(f"{type(self).__name__} has no variance here.")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any) -> Any:
        """The distribution with its parameters expanded to another batch shape."""
        new, before = copy.copy(self), len(self.batch_shape)
        new._batch_shape = Size(batch_shape)
        for name, value in self._tensors().items():
            setattr(new, name, value.expand((*new.batch_shape, *value.shape[before:])))
        return new


def broadcast_all(*parameters: Any) -> Any:
    """Parameters broadcast to one shape; numbers take the dtype of the tensors."""
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    dtype = tensors[0].dtype if tensors else None
    return F["broadcast_tensors"](*(p if isinstance(p, Tensor) else as_tensor(float(p), dtype) for p in parameters))
