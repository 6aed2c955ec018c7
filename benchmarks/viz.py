"""How long a picture takes and how large it is, beside torchviz and torchview, in one run.

    python benchmarks/viz.py [--slow] [--player]

torchviz and torchview write DOT and leave the layout to a `dot` program; here the same Graphviz lays theirs out, the
one inside pygraphviz, in a process of its own that is ended after a minute. A dash means that a tool was ended, or
failed. `--slow` adds the graph of 100,000 ops, for viz alone. `--player` adds the player: how large a recording of 500
nodes and 1,500 steps is, and how long a browser takes for a step of it, layout included.

What we aim at: never slower than the fastest of them to SVG; 10,000 ops in under 1.5 s and 400 kB, 100,000 in under 15
s, a picture of 50 nodes in under 40 ms; a player of under 1.5 MB and a step in under 16 ms.

All runs in a thread with a deep stack: torchviz walks by recursion, and PyTorch 2.13 itself takes graphs of more than
about 50,000 ops apart by recursion once somebody has looked at their `next_functions`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# this file is called viz as well, and Python looks for modules beside a script first
sys.path = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import viz  # noqa: E402
from viz.picture import layout  # noqa: E402

LIMIT = 60
LAYOUT = """
import sys, pygraphviz
sys.stdout.buffer.write(pygraphviz.AGraph(string=sys.stdin.read()).draw(format="svg", prog="dot"))
"""


def mlp(layers: int) -> tuple[nn.Module, torch.Tensor]:
    """Linear and ReLU, `layers` times."""
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.Linear(8, 8), nn.ReLU()]
    return nn.Sequential(*parts), torch.randn(4, 8)


class Bottleneck(nn.Module):
    """The block of a ResNet-50."""

    def __init__(self, inside: int, middle: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, middle, 1, bias=False), nn.BatchNorm2d(middle)
        self.conv2, self.bn2 = nn.Conv2d(middle, middle, 3, stride, 1, bias=False), nn.BatchNorm2d(middle)
        self.conv3, self.bn3 = nn.Conv2d(middle, outside, 1, bias=False), nn.BatchNorm2d(outside)
        self.downsample: nn.Module | None = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """The structure of a ResNet-50 (3, 4, 6, 3 bottlenecks), a quarter as wide."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        width = 16
        for number, (middle, count) in enumerate(((16, 3), (32, 4), (64, 6), (128, 3)), 1):
            blocks = []
            for position in range(count):
                blocks.append(Bottleneck(width, middle, middle * 4, 2 if position == 0 and number > 1 else 1))
                width = middle * 4
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
        self.fc = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for number in range(1, 5):
            x = getattr(self, f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


class Chain(nn.Module):
    """`count` ops, one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for position in range(self.count):
            x = x * self.weight if position % 2 else x + 0.1
        return x


def gpt(blocks: int) -> tuple[nn.Module, torch.Tensor]:
    """A GPT as people write it, 48 wide."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from support.networks import gpt_model

    return gpt_model(torch, blocks, 48, 4, 65, 16), torch.randint(0, 65, (2, 16))


CASES: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "2-layer MLP": lambda: mlp(2),
    "50-layer MLP": lambda: mlp(50),
    "ResNet-50-like": lambda: (ResNet(), torch.randn(2, 3, 32, 32)),
    "GPT, 2 blocks": lambda: gpt(2),
    "GPT, 12 blocks": lambda: gpt(12),
    "chain of 1,000": lambda: (Chain(1_000), torch.ones(3)),
    "chain of 10,000": lambda: (Chain(10_000), torch.ones(3)),
}


Measured = tuple[float, float, int, float]


def side(picture: str) -> float:
    """The longer side of an SVG, in pixels."""
    found = re.findall(r'(?:width|height)="([\d.]+)(pt|px)?"', picture[:2000])[:2]
    return max(float(number) * (4 / 3 if unit == "pt" else 1) for number, unit in found)


def with_viz(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Measured:
    """Seconds to DOT, seconds to SVG, bytes of SVG, its longer side in pixels."""
    layout.bundled.cache_clear()  # it remembers the pictures of the run before
    start = time.perf_counter()
    _ = viz.draw(y, module=model).source
    dot = time.perf_counter() - start
    start = time.perf_counter()
    svg = viz.draw(y, module=model).svg
    return dot, time.perf_counter() - start, len(svg.encode()), side(svg)


def with_torchviz(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Measured:
    """As `with_viz`; torchviz walks by recursion, so it needs a deep stack."""
    import torchviz

    start = time.perf_counter()
    source = torchviz.make_dot(y, params=dict(model.named_parameters())).source
    dot = time.perf_counter() - start
    took, picture = laid_out(source)
    return dot, dot + took, len(picture), side(picture.decode())


def with_torchview(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Measured:
    """As `with_viz`; torchview runs the model once more to see it."""
    import torchview

    start = time.perf_counter()
    source = torchview.draw_graph(model, input_data=x, depth=100).visual_graph.source
    dot = time.perf_counter() - start
    took, picture = laid_out(source)
    return dot, dot + took, len(picture), side(picture.decode())


FIFTY = """
w = T.tensor([1.0, 2.0], requires_grad=True)
y = w
for i in range(24):
    y = y * 1.01 if i % 2 else y + w
L = y.sum()
"""
LONG = """
weights = [T.tensor(1.0 + i / 1000, requires_grad=True) for i in range(500)]
y = T.tensor(1.0)
for i in range(500):
    y = y * weights[i] if i % 2 else y + weights[i]
y.backward()
"""
STEPS = """player => {
    const times = [];
    const press = key => player.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (let round = 0; round < 3; round++) {
        press("Home");
        for (let k = 0; k < 200; k++) {
            const start = performance.now();
            press("ArrowRight");
            player.getBoundingClientRect(); // layout belongs to the step
            times.push(performance.now() - start);
        }
    }
    return times;
}"""


def player() -> None:
    """The player's numbers, one a line."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from support.harness import start_browser

    names: dict[str, Any] = {"T": torch}
    exec(FIFTY, names)
    times = []
    for _ in range(20):
        layout.bundled.cache_clear()
        start = time.perf_counter()
        picture = viz.draw(names["L"])
        _ = picture.svg
        times.append(time.perf_counter() - start)
    boxes = len(picture.layout.spots)
    print(f"a picture of {boxes} nodes: {statistics.median(times) * 1e3:.1f} ms (median of {len(times)})")
    recording = viz.record(LONG)
    start = time.perf_counter()
    scene = recording.scene()
    took = time.perf_counter() - start
    size = len(json.dumps(scene, ensure_ascii=False, separators=(",", ":")).encode())
    print(f"{len(recording.graph.ops)} ops, {len(scene['steps'])} steps: {size / 1e6:.2f} MB, made in {took:.1f} s")
    with tempfile.TemporaryDirectory() as folder, start_browser() as browser:
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(recording.save(Path(folder) / "long.html").as_uri())
        for where in ("folded", "with a fold open"):
            steps = page.locator(".tgv-player").evaluate(STEPS)
            worst = sorted(steps)[int(len(steps) * 0.99)]
            print(f"a step, {where}: median {statistics.median(steps):.2f} ms, 99 of 100 under {worst:.2f} ms")
            if where == "folded":
                page.locator(".tgv-opens").first.click()
                page.locator(".tgv-path").wait_for()


def laid_out(source: str) -> tuple[float, bytes]:
    """Seconds that Graphviz takes for `source`, the start of its process taken off, and the SVG."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", LAYOUT], input=source.encode(), capture_output=True, timeout=LIMIT, check=True
    )
    return max(0.0, time.perf_counter() - start - empty_process()), done.stdout


def empty_process(found: list[float] = []) -> float:  # noqa: B006
    """Seconds that a process takes which only imports pygraphviz; measured once."""
    if not found:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import pygraphviz"], check=True)
            times.append(time.perf_counter() - start)
        found.append(min(times))
    return found[0]


TOOLS: dict[str, Callable[..., Measured]] = {"viz": with_viz, "torchviz": with_torchviz, "torchview": with_torchview}


def measure(tool: str, case: str, times: int) -> str:
    """One line of the table: medians of `times` runs."""
    if tool != "viz" and importlib.util.find_spec(tool) is None:
        return f"{case:18} {tool:10} not installed"
    torch.manual_seed(0)
    model, x = CASES[case]()
    y = model(x).sum()
    try:
        TOOLS[tool](*small)  # imports and caches
        runs = [TOOLS[tool](model, x, y) for _ in range(times)]
    except Exception as error:
        return f"{case:18} {tool:10} - ({type(error).__name__})"
    dot, svg, size, pixels = (statistics.median(column) for column in zip(*runs, strict=True))
    return f"{case:18} {tool:10} {dot * 1e3:10.1f} {svg * 1e3:10.1f} {size / 1e3:10.1f} {pixels:10,.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--slow", action="store_true", help="also draw 100,000 ops")
    parser.add_argument("--player", action="store_true", help="also measure the player, in a real browser")
    parser.add_argument("--times", type=int, default=3, help="runs of which the median counts")
    given: Any = parser.parse_args()
    print(f"{'graph':18} {'tool':10} {'DOT ms':>10} {'SVG ms':>10} {'SVG kB':>10} {'px':>10}")
    for case in CASES:
        for tool in TOOLS:
            print(measure(tool, case, given.times if "10,000" not in case else 1), flush=True)
    if given.player:
        player()
    if given.slow:
        CASES["chain of 100,000"] = lambda: (Chain(100_000), torch.ones(3))
        print(measure("viz", "chain of 100,000", 1))


model, data = mlp(2)
small = (model, data, model(data).sum())

if __name__ == "__main__":
    sys.setrecursionlimit(200_000)
    threading.stack_size(1 << 30)
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
