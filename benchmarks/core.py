"""How fast the core is, beside its peers, in one run.

    python benchmarks/core.py

Each row is the median of several runs of one piece of work, on one thread, the peers in turn; the last column is the
ratio to the first peer of its group. Whole networks are in `benchmarks/ops.py --only training`. Peers: PyTorch on the
CPU, micrograd, HIPS autograd, and the same mathematics written by hand in NumPy. Needs `pip install torch micrograd
autograd` beside the project; a peer that is missing is left out, and said so.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tinygrad_edu

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None
try:
    import autograd as hips
    import autograd.numpy as hips_numpy
except ImportError:
    hips = None
try:
    from micrograd.engine import Value
except ImportError:
    Value = None


def interleaved_ms(cases: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """The median time of each case in milliseconds. Each round runs every case once: all share the same noise."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for work in cases.values():
        work()
    for _ in range(runs):
        for name, work in cases.items():
            gc.collect()
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(taken) for name, taken in times.items()}


def report(title: str, unit: str, scale: float, cases: dict[str, Callable[[], object]], runs: int) -> None:
    """Time every case and print a table; ratios are to the first case."""
    print(f"\n{title}")
    values = {name: ms * scale for name, ms in interleaved_ms(cases, runs).items()}
    reference = next(iter(values.values()))
    for name, value in values.items():
        print(f"  {name:<24} {value:>12.3f} {unit:<12} {value / reference:>8.2f} x")


# --- a chain of scalar ops -------------------------------------------------------------------------------------------


def chain(T, n: int) -> object:
    """n operations on a scalar, products and sums in turn, forward and backward."""
    w, c, d = (T.tensor(number, dtype=T.float64) for number in (1.0001, 0.9999, 0.0001))
    y = w.requires_grad_()
    for _ in range(n // 2):
        y = y * c
        y = y + d
    y.backward()
    return w.grad


def chain_micrograd(n: int) -> None:
    """In pieces of 200: micrograd sorts by recursion, and a longer chain is past Python's limit."""
    for _ in range(n // 200):
        w, c, d = Value(1.0001), Value(0.9999), Value(0.0001)
        y = w
        for _ in range(100):
            y = y * c
            y = y + d
        y.backward()


def chain_hips(n: int) -> float:
    def f(w: float) -> float:
        for _ in range(n // 2):
            w = w * 0.9999
            w = w + 0.0001
        return w

    return hips.grad(f)(1.0001)


# --- a step of a small network ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.standard_normal((64, 784)).astype(np.float32)
Y = np.eye(10, dtype=np.float32)[RNG.integers(0, 10, 64)]
W1 = (RNG.standard_normal((784, 256)) / 28).astype(np.float32)
W2 = (RNG.standard_normal((256, 10)) / 16).astype(np.float32)
B1, B2 = np.zeros(256, np.float32), np.zeros(10, np.float32)


def mlp(T) -> Callable[[], object]:
    """Forward and backward of a 784-256-10 network with squared loss at batch 64."""
    x, y = T.tensor(X), T.tensor(Y)
    w1, b1, w2, b2 = (T.tensor(p, requires_grad=True) for p in (W1, B1, W2, B2))

    def step() -> None:
        for p in (w1, b1, w2, b2):
            p.grad = None
        loss = (((x @ w1 + b1).relu() @ w2 + b2 - y) ** 2).mean()
        loss.backward()

    return step


def mlp_numpy() -> None:
    """The same by hand."""
    h = X @ W1 + B1
    a = np.maximum(h, 0)
    d = a @ W2 + B2 - Y
    _ = (d**2).mean()
    g = d * np.float32(2 / d.size)
    _w2, _b2 = a.T @ g, g.sum(0)
    g = (g @ W2.T) * (h > 0)
    _w1, _b1 = X.T @ g, g.sum(0)


def mlp_hips() -> Callable[[], object]:
    def loss(w1, b1, w2, b2):
        d = hips_numpy.dot(hips_numpy.maximum(hips_numpy.dot(X, w1) + b1, 0), w2) + b2 - Y
        return hips_numpy.mean(d**2)

    gradient = hips.grad(loss, (0, 1, 2, 3))
    return lambda: gradient(W1, B1, W2, B2)


# --- memory -----------------------------------------------------------------------------------------------------------


def bytes_per_op(n: int = 10_000) -> float:
    """Memory that the graph of one scalar op takes, its value and result included."""
    c = tinygrad_edu.tensor(0.9999)
    y = tinygrad_edu.tensor(1.0, requires_grad=True)
    gc.collect()
    tracemalloc.start()
    for _ in range(n):
        y = y * c
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used / n


# --- what a reader passes ---------------------------------------------------------------------------------------------


def passed() -> tuple[int, int, int]:
    """Files, functions and lines of the package that `y = w * x; y.backward()` runs, from its second run on."""
    home = os.path.dirname(tinygrad_edu.__file__)
    w, x = tinygrad_edu.tensor(3.0, requires_grad=True), tinygrad_edu.tensor(2.0)
    functions: set[tuple[str, str]] = set()
    lines: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        code = frame.f_code
        if not code.co_filename.startswith(home):
            return None
        functions.add((code.co_filename, code.co_qualname))
        if event == "line":
            lines.add((code.co_filename, frame.f_lineno))
        return trace

    for tracer in (None, trace):
        w.grad = None
        sys.settrace(tracer)
        y = w * x
        y.backward()
        sys.settrace(None)
    return len({file for file, _ in functions}), len(functions), len(lines)


# --- import -----------------------------------------------------------------------------------------------------------


def import_seconds(module: str, runs: int = 9) -> float:
    """Median processor time of `import module` in a fresh Python that has NumPy loaded and keeps compiled modules."""
    code = f"import time, numpy; start = time.process_time(); import {module}; print(time.process_time() - start)"
    times = []
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(runs + 1):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
            times.append(float(done.stdout))
    return statistics.median(times[1:])


def peers(ours: Callable[[], object], others: list[tuple[str, object, Callable[[], object]]]) -> dict:
    cases = {name: work for name, library, work in others if library is not None}
    for name, library, _ in others:
        if library is None:
            print(f"  ({name} is not installed: left out)")
    return {**cases, "tinygrad_edu": ours}


def main() -> None:
    """Print every table."""
    n = 1000
    report(
        f"A chain of {n} products and sums of float64 scalars, forward and backward, per op",
        "µs/op",
        1e3 / n,
        peers(
            lambda: chain(tinygrad_edu, n),
            [
                ("torch", torch, lambda: chain(torch, n)),
                ("micrograd", Value, lambda: chain_micrograd(n)),
                ("HIPS autograd", hips, lambda: chain_hips(n)),
            ],
        ),
        runs=15,
    )
    report(
        "One step of a 784-256-10 network, batch 64, float32",
        "ms",
        1.0,
        peers(
            mlp(tinygrad_edu),
            [
                ("NumPy by hand", np, mlp_numpy),
                ("torch", torch, mlp(torch) if torch else lambda: None),
                ("HIPS autograd", hips, mlp_hips() if hips else lambda: None),
            ],
        ),
        runs=50,
    )
    report(
        "A chain of 1,000,000 products and sums, forward, backward and destruction",
        "s",
        1e-3,
        peers(lambda: chain(tinygrad_edu, 1_000_000), [("torch", torch, lambda: chain(torch, 1_000_000))]),
        runs=1,
    )
    print(f"\nMemory of the graph of a scalar op: {bytes_per_op():.0f} bytes, its result included")
    print("What `y = w * x; y.backward()` runs: {} files, {} functions, {} lines".format(*passed()))
    print("\nImport, beyond NumPy's own")
    for module in ["tinygrad_edu", *(["torch"] if torch is not None else [])]:
        print(f"  {module:<24} {import_seconds(module):>12.3f} s")


if __name__ == "__main__":
    main()
