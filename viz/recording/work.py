"""Counts the multiplications of an op: those of matrix products and convolutions, as is usual for FLOPs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

_ADDED = ("addmm", "addmv", "baddbmm")  # products that are added to what is given first
_PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot", "__matmul__", "__rmatmul__", "tensordot", "inner", *_ADDED)


def products(name: str, args: Any, kwargs: dict[str, Any], result: Any) -> int:
    """The number of multiplications in one call of the function of this name; 0 for most functions.

    A FLOP count is twice that: each product is added to a sum.
    """
    arguments = [*args, *kwargs.values()]
    shapes: list[tuple[int, ...]] = [tuple(argument.shape) for argument in arguments if hasattr(argument, "shape")]
    size: int = math.prod(result.shape) if hasattr(result, "shape") else 0
    if name == "linear":
        return int(size * shapes[1][-1])
    if name in _PRODUCTS:
        left = shapes[1] if name in _ADDED else shapes[0]
        return size * left[-2 if name == "__rmatmul__" and len(left) > 1 else -1] if left else 0
    if name.startswith("conv_transpose"):
        return math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if name in ("conv1d", "conv2d", "conv3d"):
        return size * math.prod(shapes[1][1:])
    if name == "einsum":
        return _einsum(arguments)
    if name == "scaled_dot_product_attention":
        query, key, value = shapes[:3]
        return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    if name == "bilinear":
        return size * (shapes[2][1] * shapes[2][2] + shapes[2][2])
    return 0


def products_of(module: Any, shapes: list[tuple[int, ...]]) -> int:
    """The multiplications in one call of a recurrent module or an attention that was given tensors of these shapes."""
    if not hasattr(module, "embed_dim"):
        sizes: Iterator[int] = (math.prod(p.shape) for path, p in module._parameters.items() if "weight" in path)
        return math.prod(shapes[0][:-1]) * sum(sizes)
    query, key, value = shapes[:3]
    batched = len(query) == 3
    length, source = (query[1], key[1]) if batched and module.batch_first else (query[0], key[0])
    batch = (query[0] if module.batch_first else query[1]) if batched else 1
    width = module.embed_dim
    projections = length * width * (query[-1] + width) + source * width * (key[-1] + value[-1])
    return int(batch * (projections + 2 * length * source * width))


def _einsum(arguments: list[Any]) -> int:
    if not arguments or not isinstance(arguments[0], str) or "." in arguments[0]:
        return 0
    terms = arguments[0].replace(" ", "").split("->")[0].split(",")
    operands = arguments[1] if isinstance(arguments[1], (list, tuple)) else arguments[1:]
    sizes: dict[str, int] = {
        letter: size
        for term, operand in zip(terms, operands, strict=False)
        for letter, size in zip(term, operand.shape, strict=False)
    }
    return math.prod(sizes.values()) if len(terms) > 1 else 0
