"""Handwritten digits, which a student's engine learns to read, beside ours and PyTorch.

The data are 800 images of 8 x 8 pixels from "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak
(1998), of the UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, under CC BY 4.0; they are the first 800
of its test part.
"""

from __future__ import annotations

import html
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...exercises.judging.report import BAD, GOOD
from .ladder import other_engine

STEPS = 60
TRAINED = 600  # the others are read afterwards


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """The images, of shape (800, 8, 8) with numbers from 0 to 1, and what they show, 0 to 9."""
    with np.load(Path(__file__).parent / "digits.npz") as kept:
        return kept["images"].reshape(-1, 8, 8) / 16.0, kept["labels"].astype(int)


def learn(T: Any, steps: int = STEPS, times: list[float] | None = None) -> np.ndarray:
    """Train 24 hidden units on the first images by an engine's ops; read the others. `times` gets seconds per step."""
    images, labels = digits()
    pixels = images.reshape(len(images), 64)
    draw = np.random.default_rng(0)
    x, right = T.tensor(pixels[:TRAINED]), T.tensor(np.eye(10)[labels[:TRAINED]])
    w1, b1, w2, b2 = weights = [
        T.tensor(draw.standard_normal(shape) / shape[0] ** 0.5, requires_grad=True)
        for shape in ((64, 24), (1, 24), (24, 10), (1, 10))
    ]
    for _ in range(steps):
        start = time.perf_counter()
        grown = T.exp(T.tanh(x @ w1 + b1) @ w2 + b2)
        shares = grown / grown.sum(1, keepdim=True)
        loss = -T.log((shares * right).sum(1)).mean()
        for weight in weights:
            weight.grad = None
        loss.backward()
        with T.no_grad():
            for weight in weights:
                weight -= 0.7 * weight.grad
        if times is not None:
            times.append(time.perf_counter() - start)
    new = T.tensor(pixels[TRAINED:])
    with T.no_grad():
        scores = T.tanh(new @ w1 + b1) @ w2 + b2
    return np.asarray(scores.data if isinstance(scores.data, np.ndarray) else scores.detach().numpy()).argmax(1)


@dataclass(frozen=True, repr=False)
class Reading:
    """What an engine read after its training, and how long a step took on it and on others, in milliseconds."""

    read: np.ndarray
    speeds: dict[str, float]

    @property
    def share(self) -> float:
        """The share of images that it read rightly."""
        return float((self.read == digits()[1][TRAINED:]).mean())

    @property
    def verdict(self) -> str:
        """How well it reads, and how fast it learned, in two sentences."""
        told = ", ".join(f"{name} {speed:.1f} ms" for name, speed in self.speeds.items())
        return f"Your engine reads {self.share:.0%} of {len(self.read)} digits that it never saw. A step takes {told}."

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        images, labels = digits()
        cells = []
        wrong = [i for i in range(len(self.read)) if self.read[i] != labels[TRAINED + i]]
        fine = [i for i in range(len(self.read)) if i not in wrong]
        for i in [*fine[:16], *wrong[:8]]:
            squares = "".join(
                f'<rect x="{x}" y="{y}" width="1.02" height="1.02" fill-opacity="{images[TRAINED + i, y, x]:.2f}"/>'
                for y in range(8)
                for x in range(8)
                if images[TRAINED + i, y, x]
            )
            right = self.read[i] == labels[TRAINED + i]
            colour, sign = (GOOD, "") if right else (BAD, f"not {labels[TRAINED + i]}")
            cells.append(
                f'<span style="display:inline-block;width:50px;margin:3px 1px;white-space:nowrap;text-align:center">'
                f'<svg viewBox="0 0 8 8" width="40" height="40" fill="currentColor" role="img" '
                f'aria-label="a {labels[TRAINED + i]}">{squares}</svg>'
                f'<br><b style="color:{colour}">{self.read[i]}</b> <small>{sign}</small></span>'
            )
        verdict = f"<b>{html.escape(self.verdict)}</b>"
        return f'<div style="color:var(--jp-ui-font-color1,inherit)">{verdict}<div>{"".join(cells)}</div></div>'


def read_digits(T: Any, steps: int = STEPS) -> Reading:
    """Let a student's engine learn the digits; time a step of it, of ours and of PyTorch, if it is installed."""
    import tinygrad_edu

    read = learn(T, steps)  # the least of several steps is told: another program makes some of them longer
    engines = {"yours": T, "tinygrad_edu": tinygrad_edu}
    other, name = other_engine()
    if other is not tinygrad_edu:
        engines[name] = other
    speeds = {}
    for name, engine in engines.items():
        times: list[float] = []
        learn(engine, 12, times)
        speeds[name] = min(times) * 1000
    return Reading(read, speeds)
