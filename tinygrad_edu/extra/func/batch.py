"""x"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from ...array.tensor import Tensor
from ...autograd.inplace import owner
from ...func.trees import Function, filled, leaves, mapped
from ...modes import NOT_COUNTED, thread
from ...ops import functions as F
from ...ops.creation import random

__all__ = ["vmap"]


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Function:
    """A function that runs `func` on each sample of a batch and stacks the results. It is a loop, and not faster than one.

    Args:
        in_dims: the batch dimension of each argument; None for an argument that all samples share.
        out_dims: where the batch dimension goes in the results; None for a result that all samples share.
        randomness: whether random numbers are refused ("error"), "different" for each sample, or the "same" for all.
        chunk_size: how many samples PyTorch would run at once. Here it affects only the order of random numbers.

    Raises:
        RuntimeError: `randomness` is "error", and `func` draws random numbers.
        ValueError: the dimensions do not fit the arguments or the results.

    >>> import tinygrad_edu as T
    >>> dots = T.func.vmap(T.dot, in_dims=(0, None))
    >>> dots(T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = _name(func)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        places, size = _places(name, in_dims, args)
        given = leaves(args)

        def sample(i: int) -> Any:
            return filled(args, [v if d is None else v.select(d, i) for v, d in zip(given, places, strict=True)])

        def nothing() -> Any:
            # An empty batch: run a sample of zeros to find the shapes of the results.
            return filled(
                args,
                [v if d is None else v.new_zeros(_without(v.shape, d)) for v, d in zip(given, places, strict=True)],
            )

        results = []
        for start in range(0, size, chunk_size or max(size, 1)):
            draws = _Draws(randomness, min(size - start, chunk_size or size))
            with _Writes() as writes:
                for index in range(draws.size):
                    with draws.of(index), _before_others(start + index + 1 < size):
                        results.append(func(*sample(start + index), **kwargs))
                    writes.next_sample()
        like = results[0] if results else func(*nothing(), **kwargs)
        outs = [leaves(r) for r in results]
        for leaf in leaves(like):
            if not isinstance(leaf, Tensor):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
                    "out_dims= to None for output?"
                )
        to = leaves(_spread(out_dims, like if isinstance(like, tuple) else (like,)))
        columns = zip(*outs, strict=True) if outs else ((leaf.new_zeros(0, *leaf.shape),) for leaf in leaves(like))
        stacked = [
            c[0] if d is None else F["stack"](list(c), d) if outs else c[0].movedim(0, d)
            for c, d in zip(columns, to, strict=True)
        ]
        return filled(like, stacked)

    return functools.wraps(func)(wrapper)


@contextmanager
def _before_others(more: bool) -> Iterator[None]:
    """Inside `with`: a pass keeps the graph that it finds, for the samples after this one. A batched run would pass once."""
    state = thread.state
    outer = state.more_samples
    state.more_samples = outer or more
    try:
        yield
    finally:
        state.more_samples = outer


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _without(shape: Any, dim: int) -> tuple[int, ...]:
    rest = list(shape)
    del rest[dim]
    return tuple(rest)


def _places(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], int]:
    """The batch dimension of each tensor in `args`, and the size of the batch."""
    opening = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{opening}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not leaves(args):
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    try:
        places = leaves(_spread(in_dims, args))
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{opening}in_dims is not compatible with the structure of `inputs`. Pass one dimension, or None, for each of the "
            f"{len(args)} arguments."
        ) from None
    sizes = []
    for leaf, place in zip(leaves(args), places, strict=True):
        if place is None:
            continue
        if not isinstance(place, int):
            raise ValueError(
                f"{opening}Got in_dim={place} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{opening}Got in_dim={place} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= place < leaf.ndim:
            raise ValueError(
                f"{opening}Got in_dim={place} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so "
                f"expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        sizes.append(leaf.shape[place])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return places, sizes[0]


def _spread(dims: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """One dimension for each leaf, in the structure of `args`."""
    each = tuple(dims) if isinstance(dims, tuple | list) else (dims,) * len(args)
    if len(each) != len(args):
        raise ValueError(
            f"in_dims is not compatible with the structure of inputs: {len(each)} for {len(args)} arguments"
        )
    return tuple(_over(d, arg) for d, arg in zip(each, args, strict=True))


def _over(dim: Any, arg: Any) -> Any:
    if isinstance(dim, tuple | list):
        return tuple(_over(d, a) for d, a in zip(dim, arg, strict=True))
    if isinstance(dim, dict):
        return {key: _over(dim[key], value) for key, value in arg.items()}
    # A dimension given once holds for all tensors below it; values that are not tensors are shared.
    return mapped(lambda leaf: dim, arg)


class _Writes:
    """What the samples write to. Each sample finds what the first one found, so that a captured tensor is written to once.

    Raises:
        RuntimeError: at the end, if two samples wrote different numbers to one storage.
    """

    def __enter__(self) -> Self:
        # By storage: the array, what it held before, its version counter, and what each sample left there.
        self._now: dict[int, tuple[np.ndarray, np.ndarray, Any, int]] = {}
        self._left: dict[int, list[tuple[np.ndarray, np.ndarray, Any, int]]] = {}
        self._outer = thread.state.keep_versions
        thread.state.keep_versions = self
        return self

    def track(self, saved: Any) -> None:
        if self._outer is not None:
            self._outer.track(saved)

    def before_write(self, t: Tensor) -> None:
        if self._outer is not None:
            self._outer.before_write(t)
        array = owner(t._data)
        t._counter = [0] if t._counter is None else t._counter
        if id(array) not in self._now:
            self._now[id(array)] = array, array.copy(), t._counter, _count(t._counter)

    def next_sample(self) -> None:
        for array, before, counter, version in self._now.values():
            self._left.setdefault(id(array), []).append((array, array.copy(), counter, _count(counter)))
            _put_back(array, before, counter, version)
        self._now.clear()

    def __exit__(self, kind: Any, *exception: object) -> None:
        thread.state.keep_versions = self._outer
        others = False
        for left in self._left.values():
            differ = any(not np.array_equal(left[0][1], later[1], equal_nan=True) for later in left[1:])
            if not differ:  # else it stays as it was before the first sample
                _put_back(*left[0])
            others = others or differ
        if kind is None and others:
            raise RuntimeError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`: the samples write different numbers to a tensor that "
                "they share. Return the numbers instead, or use the out-of-place op."
            )


def _count(counter: Any) -> int:
    return 0 if counter is NOT_COUNTED else counter[0]


def _put_back(array: np.ndarray, numbers: np.ndarray, counter: Any, version: Any) -> None:
    array[...] = numbers
    if counter is not NOT_COUNTED:
        counter[0] = version


class _Draws:
    """The random numbers of one run over `size` samples, drawn at the first sample as a batched run draws them for all."""

    def __init__(self, randomness: str, size: int) -> None:
        self.randomness, self.size = randomness, size
        self._kept: list[tuple[Any, np.ndarray]] = []

    @contextmanager
    def of(self, index: int) -> Iterator[None]:
        """Inside `with`: the draws of one sample, from the first one on."""
        outer = random.standing.instead

        def instead(generator: Any) -> Any:
            return _Source(self, generator if outer is None else outer(generator))

        self._index, self._number = index, 0
        random.standing.instead = instead
        try:
            yield
        finally:
            random.standing.instead = outer

    def draw(self, generator: Any, what: str, args: tuple[Any, ...]) -> np.ndarray:
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                "randomness flags on vmap or perform the randomness operation out of vmap"
            )
        key, number = (what, args), self._number
        self._number += 1
        if number == len(self._kept):
            drawn = (
                getattr(generator, what)(*args) if self.randomness == "same" else self._of_all(generator, what, args)
            )
            self._kept.append((key, drawn))
        if self._kept[number][0] != key:
            # This sample draws something other than the first one.
            return getattr(generator, what)(*args)
        kept = self._kept[number][1]
        return (kept if self.randomness == "same" else kept[self._index]).copy()

    def _of_all(self, generator: Any, what: str, args: tuple[Any, ...]) -> np.ndarray:
        method = getattr(generator, what)
        if what == "permutation":
            return np.stack([method(*args) for _ in range(self.size)])
        if what == "integers":
            return method(*args[:2], (self.size, *args[2]))
        if what in ("uniform", "normal"):
            return method((self.size, *args[0]), *args[1:])
        return method(self.size * args[0], *args[1:]).reshape(self.size, args[0])


class _Source:
    """Replaces a generator while `vmap` runs."""

    def __init__(self, draws: _Draws, generator: Any) -> None:
        self._draws, self._generator = draws, generator

    def __getattr__(self, what: str) -> Any:
        if what not in ("uniform", "normal", "integers", "each_normal", "permutation", "words"):
            return getattr(self._generator, what)
        return lambda *args: self._draws.draw(self._generator, what, args)
