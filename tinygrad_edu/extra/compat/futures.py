"""Results that come later (PyTorch: `torch.futures`), on Python's own futures."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that somebody sets later.

    Example:
        >>> import tinygrad_edu as T
        >>> later = T.futures.Future()
        >>> doubled = later.then(lambda f: 2 * f.value())
        >>> later.set_result(3)
        >>> doubled.wait()
        6
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def __class_getitem__(cls, result: Any) -> type[Future]:
        """The class itself: annotations name the type of the result."""
        return cls

    def done(self) -> bool:
        """True if there is a result or an exception."""
        return self._future.done()

    def wait(self) -> Any:
        """Wait for the result, and return it."""
        return self._future.result()

    def value(self) -> Any:
        """The result.

        Raises:
            RuntimeError: there is none yet.
        """
        if not self.done():
            raise RuntimeError("Future is not completed yet: call wait().")
        return self._future.result()

    def set_result(self, result: Any) -> None:
        """Give the result."""
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Give an exception, which `wait` raises."""
        self._future.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call `callback` with this future when there is a result."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what `callback` returns for this one."""
        after = Future()

        def run(done: Future) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future]) -> Future:
    """The future of all `futures`, done when each of them is."""
    every = Future()
    waiting = set(map(id, futures))

    def one_done(future: Future) -> None:
        waiting.discard(id(future))
        if not waiting and not every.done():
            every.set_result(futures)

    for future in futures:
        future.add_done_callback(one_done)
    if not futures:
        every.set_result(futures)
    return every


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all `futures`."""
    return [future.wait() for future in collect_all(futures).wait()]
