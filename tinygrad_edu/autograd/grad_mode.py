"""Grad modes: whether ops are recorded. Each thread has its own mode, and a block restores it, also after an error."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..modes import thread

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """True if ops that run now in this thread are recorded.

    >>> with T.no_grad():
    ...     print(T.is_grad_enabled())
    False
    """
    return thread.state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode` in this thread.

    >>> with T.inference_mode():
    ...     print(T.is_inference_mode_enabled())
    True
    """
    return thread.state.inference


class _Mode:
    """What all modes share: a context manager that is also a decorator of functions, generators and coroutines."""

    def clone(self) -> _Mode:
        """A mode with the same setting, for one call of a decorated function (calls may nest, or run in threads)."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self.clone():
                    return await function(*args, **kwargs)

            return cast(F, coroutine)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast(F, call)

    def _around_generator(self, function: F) -> F:
        """The mode holds while the generator's code runs, but not while its caller's code runs."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    value = generator.send(None)
                while True:
                    try:
                        request = yield value
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            value = generator.throw(error)
                    else:
                        with self.clone():
                            value = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return cast(F, call)


class _GradMode(_Mode):
    mode: bool

    def __enter__(self) -> None:
        self.previous = thread.state.grad_enabled
        thread.state.grad_enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        thread.state.grad_enabled = self.previous


class _FixedMode(_GradMode):
    def __new__(cls, orig_func: Any = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


class no_grad(_FixedMode):
    """Ops inside are computed but not recorded: their results do not require grad.

    A context manager and a decorator (with or without a call): `with no_grad(): …`, `@no_grad()`, `@no_grad`.

    >>> w = T.tensor(3.0, requires_grad=True)
    >>> with T.no_grad():
    ...     y = w * w
    >>> y.grad_fn is None, y.requires_grad
    (True, False)
    """

    mode = False


class enable_grad(_FixedMode):
    """Ops inside are recorded, also within a `no_grad` block. A context manager and a decorator, like `no_grad`.

    >>> w = T.tensor(3.0, requires_grad=True)
    >>> with T.no_grad(), T.enable_grad():
    ...     (w * w).requires_grad
    True
    """

    mode = True


class set_grad_enabled(_GradMode):
    """Switch recording by a flag: at once when called as a function, or until the end of a `with` block.

    >>> w = T.tensor(3.0, requires_grad=True)
    >>> with T.set_grad_enabled(False):
    ...     (w * w).requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.mode = mode
        self.previous = thread.state.grad_enabled
        thread.state.grad_enabled = mode

    def clone(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        thread.state.grad_enabled = self.mode

    def __call__(self, function: F) -> F:
        # As a decorator, the flag holds only inside the function.
        thread.state.grad_enabled = self.previous
        return super().__call__(function)


class inference_mode(_Mode):
    """Ops inside are not recorded and their results are *inference tensors*: no version counter, never part of a graph.

    `inference_mode(False)` switches it off inside an inference block. A context manager and a decorator.

    >>> w = T.tensor(3.0, requires_grad=True)
    >>> with T.inference_mode():
    ...     y = w * w
    >>> y.is_inference()
    True
    """

    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)

    def clone(self) -> _Mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.previous = thread.state.inference, thread.state.grad_enabled
        thread.state.inference = self.mode
        # Leaving inference mode inside it turns recording back on, as in PyTorch.
        thread.state.grad_enabled = not self.mode

    def __exit__(self, *exception: object) -> None:
        thread.state.inference, thread.state.grad_enabled = self.previous
