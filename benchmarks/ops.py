"""Ops and training steps beside PyTorch on the CPU, one thread each, in one run: `python benchmarks/ops.py`.

Forward and backward together, the best of several repetitions, alternating between the engines so that both meet the
same noise.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import training_programs

import tinygrad_edu

ENGINES = (tinygrad_edu, torch)

# One op of each family, on a tensor of the given number of elements.
FAMILIES: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic: x * x + x": lambda T, x: x * x + x,
    "exponential: exp(x)": lambda T, x: x.exp(),
    "activation: relu(x)": lambda T, x: x.relu(),
    "activation: gelu(x)": lambda T, x: T.nn.functional.gelu(x),
    "reduce: sum(x)": lambda T, x: x.sum(),
    "reduce: softmax(x)": lambda T, x: x.softmax(0),
    "reduce: cumsum(x)": lambda T, x: x.cumsum(0),
    "shape: flip(x)": lambda T, x: x.flip(0),
    "join: cat(x, x)": lambda T, x: T.cat([x, x]),
    "index: x[::2]": lambda T, x: x[::2],
    "gather: x[i]": lambda T, x: x[T.arange(x.numel()).flip(0)],
    "gather: sort(x)": lambda T, x: x.sort()[0],
    "gather: topk(x)": lambda T, x: x.topk(1)[0],
    "masking: where(x > 0, x, -x)": lambda T, x: T.where(x > 0, x, -x),
    "powers: x ** 3": lambda T, x: x**3,
    "matmul: x @ x": lambda T, x: _square(x) @ _square(x),
    "convolution: conv2d(x)": lambda T, x: T.nn.functional.conv2d(_images(x), T.ones(8, 1, 3, 3), padding=1),
    "norm: layer_norm(x)": lambda T, x: T.nn.functional.layer_norm(x, tuple(x.shape)),
    "loss: mse(x, 0)": lambda T, x: T.nn.functional.mse_loss(x, T.zeros_like(x)),
    "loss: huber(x, 0)": lambda T, x: T.nn.functional.huber_loss(x, T.zeros_like(x)),
}


def _square(x: Any) -> Any:
    n = int(x.numel() ** 0.5)
    return x[: n * n].reshape(n, n)


def _images(x: Any) -> Any:
    """Images of 16 by 16, or as much of one as there is."""
    side = min(16, int(x.numel() ** 0.5))
    return x[: x.numel() // side**2 * side**2].reshape(-1, 1, side, side)


def _seconds(function: Callable[[], Any], budget: float) -> float:
    """The best time of one call within a budget of seconds."""
    function()
    best, end = float("inf"), time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def _op_step(T: Any, op: Callable[[Any, Any], Any], size: int) -> Callable[[], None]:
    x = T.tensor(np.random.default_rng(0).standard_normal(size).astype(np.float32), requires_grad=True)
    one = T.ones_like(op(T, x).detach())

    def step() -> None:
        x.grad = None
        op(T, x).backward(one)

    return step


def ops(budget: float) -> None:
    print(f"{'op, forward and backward':32}{'elements':>10}{'ours us':>12}{'torch us':>12}{'ratio':>8}")
    for name, op in FAMILIES.items():
        for size in (1, 1_000, 1_000_000):
            ours, theirs = (_seconds(_op_step(T, op, size), budget) for T in ENGINES)
            print(f"{name:32}{size:>10}{ours * 1e6:>12.1f}{theirs * 1e6:>12.1f}{ours / theirs:>8.2f}")


def training(repetitions: int) -> None:
    print(f"\n{'program, one training step':32}{'':>10}{'ours us':>12}{'torch us':>12}{'ratio':>8}")
    for train in training_programs.PROGRAMS:
        times: dict[Any, list[float]] = {T: [] for T in ENGINES}
        for T in ENGINES:
            train(T)
        for _ in range(repetitions):
            for T in ENGINES:
                times[T].append(_loop_seconds(T, train) / training_programs.STEPS)
        ours, theirs = (statistics.median(times[T]) for T in ENGINES)
        print(f"{train.__name__:42}{ours * 1e6:>12.1f}{theirs * 1e6:>12.1f}{ours / theirs:>8.2f}")


def _loop_seconds(T: Any, train: Callable[[Any], Any]) -> float:
    """The time of the training loop alone: a program measures it from its first step to its last."""
    started: list[float] = []
    original = T.optim.Optimizer.zero_grad

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not started:
            started.append(time.perf_counter())
        return original(self, *args, **kwargs)

    T.optim.Optimizer.zero_grad = first
    try:
        train(T)
        return time.perf_counter() - started[0]
    finally:
        T.optim.Optimizer.zero_grad = original


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds for each op, size and engine")
    parser.add_argument("--repetitions", type=int, default=7, help="runs of each training program")
    parser.add_argument("--only", choices=["ops", "training"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.only != "training":
        ops(arguments.budget)
    if arguments.only != "ops":
        training(arguments.repetitions)
