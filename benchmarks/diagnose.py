"""What a diagnosis costs, and how many causes it names beside other tools.

    python benchmarks/diagnose.py [--cost] [--causes] [--held-out] [--observe FILE] [--replay FILE]

Cost: one training step of a GPT of 10 million parameters and of a ResNet-18 on PyTorch's CPU, alone and under
observation, in turns within one process; the peak of memory, each in a process of its own. What we aim at: at most 3
times the step's own time and 1.5 times its memory.

Causes: the broken and the healthy programs of the tests, on PyTorch. viz names a cause when its first finding has the
kind and the line. The peers give no line: one is said to name a cause as soon as anything that it says holds a word of
that group of trouble (`WORDS`), which is generous. They watch a model: each gets all modules of a program as one, its
optimizer and its losses, and is told after each step. Peers that are not installed (`pip install torchdiag torch-audit
torchmortem`) are left out.

Held out: how far a report can be trusted, on programs that no rule was changed for. Observe: run all programs of the
tests once and keep what is seen. Replay: judge that again in seconds, by all rules and by all but each; what one
program alone needs can go.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import io
import pickle
import statistics
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import torch  # noqa: E402
from support.diagnosis import BROKEN, HEALTHY, USUAL, read  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402

import viz  # noqa: E402
from viz import engines  # noqa: E402
from viz.diagnosis.diagnose import Run  # noqa: E402
from viz.diagnosis.places import Places  # noqa: E402
from viz.diagnosis.ranking import rank  # noqa: E402
from viz.diagnosis.rules import RULES  # noqa: E402
from viz.interrupts import put_back_first  # noqa: E402
from viz.recording.source import Source  # noqa: E402
from viz.recording.state import as_before  # noqa: E402

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
    """A model, its optimizer and a step."""
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
    head = f"{'model':10}{'parameters':>12}{'step':>10}{'observed':>10}{'ratio':>8}"
    print(f"{head}{'memory':>10}{'observed':>10}{'ratio':>8}")
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


WORDS = {
    1: ("none", "disconnect", "no gradient", "missing grad", "unused", "frozen", "requires_grad"),
    2: ("dead", "zero", "saturat", "softmax", "identical"),
    3: ("nan", "infinit", "non-finite"),
    4: ("vanish", "explod"),
    5: (
        "optimizer",
        "eval",
        "zero_grad",
        "learning rate",
        "plateau",
        "diverg",
        "update ratio",
        "shape",
        "label",
        "dropout",
    ),
    6: ("memory", "leak", "retain", "detach"),
    7: ("backward", "custom", "sign of", "shared", "twice"),
}


def ours(program: str) -> tuple[str, int | None, bool]:
    """What viz says first: kind, line, and whether anything is called certain."""
    report = viz.diagnose(program, engine="torch")
    first = report.findings[0] if report.findings else None
    sure = any(finding.certain for finding in report.findings)
    return (first.kind, first.line, sure) if first else ("", None, sure)


class Training:
    """A program that is run while a peer looks at its modules, from the first step of its optimizer on."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.space: dict[str, Any] = {"__name__": "__main__", "T": torch}
        self.optimizer: Any = None
        self.loss = 0.0

    def model(self) -> nn.Module:
        """All modules of the program as one."""
        found = [thing for thing in self.space.values() if isinstance(thing, nn.Module)]
        return found[0] if len(found) == 1 else nn.ModuleList(found)

    def run(self, after: Callable[[Training], None]) -> None:
        """Run the program; `after` is called after each step."""
        backward = torch.Tensor.backward
        hook = register_optimizer_step_post_hook(lambda own, *rest: self._stepped(own, after))

        def noted(loss: torch.Tensor, *args: Any, **kwargs: Any) -> None:
            self.loss = float(loss.detach().sum())
            backward(loss, *args, **kwargs)

        torch.Tensor.backward = noted
        try:
            with torch.enable_grad(), contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(self.program, "<program>", "exec"), self.space)
        finally:
            torch.Tensor.backward = backward
            hook.remove()

    def _stepped(self, optimizer: Any, after: Callable[[Training], None]) -> None:
        self.optimizer = optimizer
        after(self)


def torchdiag(program: str) -> str:
    """What torchdiag says of the gradients at the end."""
    peer = importlib.import_module("torchdiag")

    training = Training(program)
    training.run(lambda training: None)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        peer.check_gradients(training.model())
    return "\n".join(
        line for line in said.getvalue().splitlines() if any(mark in line for mark in ("—", "⚠", "✗", "!"))
    )


def torchmortem(program: str) -> str:
    """What torchmortem finds."""
    peer = importlib.import_module("torchmortem")

    training = Training(program)
    watching: list[Any] = []

    def after(training: Training) -> None:
        if not watching:
            watching.append(peer.Autopsy(training.model(), optimizer=training.optimizer, sampling="thorough"))
            watching[0].attach()
        watching[0].step(loss=training.loss)

    training.run(after)
    if not watching:
        return ""
    watching[0].detach()
    report = watching[0].get_report()
    return "\n".join(f"{each.title} {each.summary}" for each in (report.findings if report else ()))


def torch_audit(program: str) -> str:
    """What torch-audit says of the model and its optimizer after the run, in each of its phases."""
    peer = importlib.import_module("torch_audit")

    training = Training(program)
    training.run(lambda training: None)
    said = []
    for phase in peer.Phase:
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            result = peer.audit(training.model(), phase=phase, optimizer=training.optimizer)
            said += [str(finding.message) for finding in result.findings]
    return "\n".join(said)


def causes() -> None:
    """Print how many causes each tool names, by group of trouble, and what it says of healthy programs."""
    rows: dict[str, list[int]] = {"viz": [0] * 8}
    for case in BROKEN:
        kind, line, _ = ours(case.program)
        rows["viz"][case.group] += kind in case.kinds and line in case.lines
    rows["viz"][0] = sum(ours(each.program)[2] for each in HEALTHY)
    for peer in (torchdiag, torch_audit, torchmortem):
        if importlib.util.find_spec(peer.__name__) is None:
            continue
        row = rows[peer.__name__] = [0] * 8
        for case in BROKEN:
            said = peer(case.program).lower()
            row[case.group] += any(word in said for word in WORDS[case.group])
        row[0] = sum(bool(peer(each.program)) for each in HEALTHY)
    counts = [sum(case.group == group for case in BROKEN) for group in range(1, 8)]
    print(
        f"{'':14}"
        + "".join(f"{f'group {group}':>10}" for group in range(1, 8))
        + f"{'all':>10}{'line':>8}{'alarms':>8}"
    )
    print(f"{'programs':14}" + "".join(f"{count:10}" for count in counts) + f"{len(BROKEN):10}{'':8}{len(HEALTHY):8}")
    for name, row in rows.items():
        line = "yes" if name == "viz" else "no"
        print(f"{name:14}" + "".join(f"{count:10}" for count in row[1:]) + f"{sum(row[1:]):10}{line:>8}{row[0]:8}")
    print("alarms: healthy programs of which viz calls anything certain, or of which a peer says anything")


def held_out() -> None:
    """Print the rates on the programs that are held out."""
    cases = read("held_out")
    broken, healthy = [case for case in cases if case.kinds], [case for case in cases if not case.kinds]
    reports = [viz.diagnose(case.program, engine="torch").findings for case in broken]
    quiet = [viz.diagnose(case.program, engine="torch").findings for case in healthy]
    right = wrong = shown = certain = 0
    for case, findings in zip(broken, reports, strict=True):
        hit = bool(findings) and findings[0].kind in case.kinds and findings[0].line in case.lines
        right += hit
        certain += hit and findings[0].certain
        wrong += bool(findings) and findings[0].certain and not hit
        shown += bool(findings) and bool(findings[0].changes)
        told = f"{findings[0].kind}, line {findings[0].line}" if findings else "nothing"
        print(f"{'' if hit else 'missed: '}{case.name}: {told}")
    for case, findings in zip(healthy, quiet, strict=True):
        for one in findings:
            print(f"false {'certain' if one.certain else 'likely'}: {case.name}: {one.kind}, line {one.line}")
    print(
        f"first finding right in kind and line: {right} of {len(broken)}, {certain} of them certain; {wrong} wrong "
        f"ones certain; {shown} with a fix that ran and cured"
    )
    print(f"nothing said of a healthy program: {sum(not one for one in quiet)} of {len(healthy)}")
    print(f"called certain on a healthy one: {sum(any(each.certain for each in one) for one in quiet)}")


def observe(path: Path) -> None:
    """Run all programs of the sets once, and keep what was seen: rules can then be judged again in seconds."""
    engine = engines.load("torch")
    kept = []
    for name, cases in (("broken", BROKEN), ("healthy", HEALTHY), ("usual", USUAL)):
        for case in cases:
            run = Run(engine, Source(case.program))
            with put_back_first(), as_before(engine, []), contextlib.redirect_stdout(io.StringIO()):
                seen = run.observe([])
            seen.places = None
            kept.append((name, case, seen))
    path.write_bytes(pickle.dumps(kept))
    print(f"what was seen of {len(kept)} programs is in {path}")


def replay(path: Path) -> None:
    """Judge what was seen of the sets by the rules as they are now, and by all rules but each."""
    lost: Counter[str] = Counter()
    every: Counter[str] = Counter()
    right = 0
    for name, case, seen in pickle.loads(path.read_bytes()):
        seen.places = Places(Source(case.program))
        found = [
            (f"{rule.pattern.__module__.rpartition('.')[2]}.{rule.pattern.__name__}", one)
            for rule in RULES
            for one in rule.findings(seen)
        ]
        if name != "broken":
            for _, one in found if name == "usual" else [pair for pair in found if pair[1].certain]:
                print(f"{name}: {case.name}: {one.kind}, line {one.line}")
            continue
        hit = _right(case, [one for _, one in found])
        right += hit
        if not hit:
            print(f"missed: {case.name}")
        for rule in {rule for rule, _ in found} if hit else ():
            every[rule] += 1
            lost[rule] += not _right(case, [one for other, one in found if other != rule])
    print(f"first finding right in kind and line: {right} of {len(BROKEN)}")
    for rule in sorted(every, key=lambda rule: (-lost[rule], rule)):
        print(f"{lost[rule]:5} lost without it, of {every[rule]:5} programs that it speaks of  {rule}")


def _right(case: Any, findings: list[Any]) -> bool:
    first = next(iter(rank(copy.deepcopy(findings))), None)
    return first is not None and first.kind in case.kinds and first.line in case.lines


def main() -> None:
    """Run what was asked for; both when nothing was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--observe", type=Path, metavar="FILE", help="keep what is seen of the programs of the tests")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="judge that by the rules, and by all rules but each"
    )
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.peak[0], options.peak[1] == "True")
        return
    warnings.simplefilter("ignore")
    if options.observe or options.replay:
        observe(options.observe) if options.observe else replay(options.replay)
        return
    chosen = [
        run for run, wanted in ((cost, options.cost), (causes, options.causes), (held_out, options.held_out)) if wanted
    ]
    for run in chosen or (cost, causes):
        run()


if __name__ == "__main__":
    main()
