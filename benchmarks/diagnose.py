"""What a diagnosis costs, and how many causes it names beside other tools.

    python benchmarks/diagnose.py [--cost] [--causes]

Cost: one training step of a GPT of 10 million parameters and of a ResNet-18 on PyTorch's CPU, alone and under observation, in
turns within one process; the peak of memory, each in a process of its own. What we aim at: at most 3 times the step's own time
and 1.5 times its memory.

Causes: the broken and the healthy programs of the tests, on PyTorch. A tool names a cause when what it says holds the finding's
kind or a word for it; no other tool gives a line. Peers that are not installed (`pip install torchdiag torch-audit torchmortem`)
are left out.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import viz  # noqa: E402

ROUNDS = 5
MODELS = ("gpt", "resnet")


class Block(nn.Module):
    """One layer of a GPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.mlp(self.after(x))


class GPT(nn.Module):
    """10 million parameters: 5 layers of width 384, 1,000 words."""

    def __init__(self, words: int = 1000, width: int = 384, layers: int = 5, length: int = 128) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([Block(width, 6) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Basic(nn.Module):
    """The block of a ResNet-18."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)
        self.down = nn.Sequential()
        if stride > 1 or inside != outside:
            self.down = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.one(x)))
        return F.relu(self.norm2(self.two(y)) + self.down(x))


def resnet() -> nn.Module:
    """ResNet-18, 11 million parameters."""
    parts: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    inside = 64
    for outside, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        parts += [Basic(inside, outside, stride), Basic(outside, outside, 1)]
        inside = outside
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def training(name: str) -> tuple[nn.Module, torch.optim.Optimizer, Callable[[], None]]:
    """A model, its optimiser and a step."""
    torch.manual_seed(0)
    model = GPT() if name == "gpt" else resnet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    given = torch.randint(0, 1000, (8, 128)) if name == "gpt" else torch.randn(8, 3, 112, 112)
    goal = torch.randint(0, 1000, (8 * 128,)) if name == "gpt" else torch.randint(0, 1000, (8,))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(given).flatten(0, -2), goal)
        loss.backward()
        optimizer.step()

    return model, optimizer, step


def cost() -> None:
    """Print the time of a step and the peak of memory, alone and observed."""
    print(
        f"{'model':10}{'parameters':>12}{'step':>10}{'observed':>10}{'ratio':>8}{'memory':>10}{'observed':>10}{'ratio':>8}"
    )
    for name in MODELS:
        model, optimizer, step = training(name)
        step()
        alone, observed = [], []
        for _ in range(ROUNDS):
            alone.append(timed(step))
            inside: list[float] = []
            viz.diagnose(
                lambda inside=inside, step=step: inside.append(timed(step)), model=model, optimizer=optimizer, steps=2
            )
            observed += inside
        a, b = statistics.median(alone), statistics.median(observed)
        ma, mb = (memory(name, watched) for watched in (False, True))
        size = sum(p.numel() for p in model.parameters())
        print(f"{name:10}{size:12,}{a:9.2f}s{b:9.2f}s{b / a:8.2f}{ma:7.0f} MB{mb:7.0f} MB{mb / ma:8.2f}")


def timed(step: Callable[[], None]) -> float:
    """Seconds that a step takes."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def memory(name: str, watched: bool) -> float:
    """Megabytes that three steps need at most, in a process of their own."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak", name, str(watched)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def peak(name: str, watched: bool) -> None:
    """Print the peak of this process."""
    model, optimizer, step = training(name)
    if watched:
        viz.diagnose(step, model=model, optimizer=optimizer, steps=3)
    else:
        for _ in range(3):
            step()
    status = Path("/proc/self/status").read_text(encoding="utf-8")  # getrusage counts the parent's memory as well
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def main() -> None:
    """Run what was asked for; both when nothing was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.peak[0], options.peak[1] == "True")
        return
    if options.cost or not options.causes:
        cost()


if __name__ == "__main__":
    main()
