"""Five trainings that run without an error and do not learn: a student finds the line, and repairs it.

A program is text, so that a repair is data: the number of a line, and what should stand there. The sandbox runs the
repaired program as it runs any answer, and hands out predictions; what is right is known to the judge alone.
"""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["CAUSES", "Project", "predictions", "projects"]

CAUSES = {
    "shapes": "two shapes are broadcast against each other where they should be equal",
    "sees the answer": "the input contains what the model is asked for",
    "cut": "the graph is cut, so a gradient does not arrive",
    "not trained": "the optimizer does not hold some parameters",
    "sign": "the step goes the wrong way",
    "never zeroed": "gradients of earlier steps are added",
    "step too large": "the learning rate throws the weights about",
    "step too small": "the learning rate moves nothing",
    "vanishing": "the gradient gets too small on its way back",
}
"""What can be wrong with a training: a hand-in names one of these."""

CLASSIFIER = '''\
T.manual_seed(0)
model = T.nn.Sequential(T.nn.Linear(2, 16), T.nn.Tanh(), T.nn.Linear(16, 1), T.nn.Sigmoid())
optimizer = T.optim.Adam(model.parameters(), lr=0.1)


def train(x, y):
    """x: (80, 2), points of a plane; y: (80,), 1 inside a circle and 0 outside."""
    losses = []
    for step in range(60):
        p = model(x)
        loss = ((p - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "loss": loss}
'''

LANGUAGE = '''\
class Reader(T.nn.Module):
    """Scores of the letter that follows each letter: (texts, n, 6) to (texts, n, 6). It looks back by attention."""

    def __init__(self):
        super().__init__()
        self.query = T.nn.Linear(13, 8, bias=False)
        self.key = T.nn.Linear(13, 8, bias=False)
        self.value = T.nn.Linear(13, 32, bias=False)
        self.here = T.nn.Linear(13, 32)
        self.out = T.nn.Linear(32, 6)
        row, column = T.arange(7).unsqueeze(1), T.arange(7).unsqueeze(0)
        self.place = (row == column).float()
        self.seen = column <= row + 1

    def forward(self, x):
        n = x.shape[1]
        x = T.cat([self.place[:n].expand(len(x), n, 7), x], dim=2)
        fit = self.query(x) @ self.key(x).transpose(1, 2)
        fit = T.where(self.seen[:n, :n], fit, T.tensor(-1e9))
        read = T.softmax(fit, dim=2) @ self.value(x)
        return self.out(T.tanh(read + self.here(x)))


T.manual_seed(0)
model = Reader()
optimizer = T.optim.Adam(model.parameters(), lr=0.05)


def train(x):
    """x: (160, 8, 6), one-hot letters."""
    losses = []
    for step in range(70):
        scores = model(x[:, :-1])
        loss = -(T.log_softmax(scores, dim=2) * x[:, 1:]).sum(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "loss": loss}
'''

GAN = '''\
T.manual_seed(0)
generator = T.nn.Linear(1, 1)
critic = T.nn.Sequential(T.nn.Linear(1, 16), T.nn.Tanh(), T.nn.Linear(16, 1))
g_optimizer = T.optim.Adam(generator.parameters(), lr=0.08, betas=(0.5, 0.9))
c_optimizer = T.optim.Adam(critic.parameters(), lr=0.08, betas=(0.5, 0.9))


def train(real, noise):
    """real: (32, 1), numbers to imitate; noise: (160, 32, 1). The critic answers 1 to real ones, 0 to the others."""
    losses = []
    for z in noise:
        fake = generator(z).detach()
        c_loss = ((critic(real) - 1) ** 2).mean() + (critic(fake) ** 2).mean()
        c_optimizer.zero_grad()
        c_loss.backward()
        c_optimizer.step()

        g_loss = ((critic(fake) - 1) ** 2).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        losses.append(g_loss.item())
    return {"losses": losses, "loss": g_loss}
'''

POLICY = '''\
T.manual_seed(0)
model = T.nn.Sequential(T.nn.Linear(4, 16), T.nn.Tanh(), T.nn.Linear(16, 3))
optimizer = T.optim.Adam(model.parameters(), lr=0.05)


def train(states, reward, dice):
    """states: (32, 4), one-hot; reward: (32, 3), of each action; dice: (60, 32, 3), Gumbel noise."""
    losses, rewards = [], []
    for die in dice:
        log_p = T.log_softmax(model(states), dim=1)
        action = (log_p.detach() + die).argmax(1).unsqueeze(1)
        got = reward.gather(1, action).squeeze(1)
        better = got - got.mean()
        loss = (log_p.gather(1, action).squeeze(1) * better).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        rewards.append(got.mean().item())
    return {"losses": losses, "loss": loss, "rewards": rewards}
'''

AUTOENCODER = '''\
class Autoencoder(T.nn.Module):
    """Eight numbers through two, and back: (n, 8) to (n, 8)."""

    def __init__(self):
        super().__init__()
        self.encoder = T.nn.Linear(8, 2)
        self.decoder = [T.nn.Linear(2, 16), T.nn.Linear(16, 8)]

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder[1](T.tanh(self.decoder[0](code)))


T.manual_seed(0)
model = Autoencoder()
optimizer = T.optim.Adam(model.parameters(), lr=0.02)


def train(x):
    """x: (64, 8)."""
    losses = []
    for step in range(120):
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "loss": loss}
'''

Arrays = tuple[np.ndarray, ...]


def _circle(rng: np.random.Generator) -> tuple[Arrays, Arrays, np.ndarray]:
    x, new = rng.uniform(-2, 2, (80, 2)), rng.uniform(-2, 2, (60, 2))
    inside = [np.hypot(*points.T) < 1.6 for points in (x, new)]
    return (x, inside[0].astype(float)), (new,), inside[1]


def _repeated(rng: np.random.Generator) -> tuple[Arrays, Arrays, np.ndarray]:
    """Four letters of six, and the same four again: the last four can be known, the first four cannot."""
    x, new = (rng.integers(0, 6, (n, 4)) for n in (160, 20))
    x, new = (np.eye(6)[np.concatenate([four, four], axis=1)] for four in (x, new))
    return (x,), tuple(new[:, :seen] for seen in (4, 5, 6, 7)), new[:, 4:].argmax(2).T


def _around_three(rng: np.random.Generator) -> tuple[Arrays, Arrays, np.ndarray]:
    return (rng.normal(3, 0.5, (32, 1)), rng.normal(size=(160, 32, 1))), (rng.normal(size=(60, 1)),), np.array(3.0)


def _bandits(rng: np.random.Generator) -> tuple[Arrays, Arrays, np.ndarray]:
    best = rng.permutation(4) % 3
    reward = np.eye(3)[best].repeat(8, axis=0)
    return (np.eye(4).repeat(8, axis=0), reward, rng.gumbel(size=(60, 32, 3))), (np.eye(4),), best


def _in_a_plane(rng: np.random.Generator) -> tuple[Arrays, Arrays, np.ndarray]:
    plane = rng.normal(size=(2, 8))
    x, new = rng.normal(size=(64, 2)) @ plane, rng.normal(size=(20, 2)) @ plane
    return (x,), (new,), new


@dataclass(frozen=True, eq=False)
class Project:
    """A broken program. It shows itself as a listing whose lines have numbers."""

    name: str
    about: str
    source: str
    _draw: Callable[[np.random.Generator], tuple[Arrays, Arrays, np.ndarray]]

    def __repr__(self) -> str:
        return "\n".join(f"{n:3}  {line}" for n, line in enumerate(self.source.splitlines(), start=1))

    def _repr_html_(self) -> str:
        style = (
            "margin:0;padding:6px 10px;line-height:1.35;white-space:pre-wrap;"
            "color:var(--jp-content-font-color1,inherit);background:none"
        )
        rows = "".join(
            f'<span style="opacity:.6;user-select:none">{n:3}  </span>{html.escape(line)}\n'
            for n, line in enumerate(self.source.splitlines(), start=1)
        )
        return f'<pre style="{style}">{rows}</pre>'

    def data(self, T: Any, seed: int = 0) -> list[Any]:
        """What `train` takes, as tensors of the engine `T`."""
        return [_tensor(T, array) for array in self._draw(np.random.default_rng(seed))[0]]

    def new(self, T: Any, seed: int = 0) -> list[Any]:
        """What nobody has trained on."""
        return [_tensor(T, array) for array in self._draw(np.random.default_rng(seed))[1]]

    def truth(self, seed: int) -> np.ndarray:
        """What is right for `new`: for the judge."""
        return self._draw(np.random.default_rng(seed))[2]

    def repaired(self, repair: Mapping[int, str] | None = None) -> str:
        """The program with other lines: `repair` has the new text of each, by number. It may be several lines, or "".

        A text without indentation gets that of its line. Raises `ValueError` for what is no repair.

        >>> print(projects["gan"].repaired({2: "generator = T.nn.Linear(1, 2)"}).splitlines()[1])
        generator = T.nn.Linear(1, 2)
        """
        lines = self.source.splitlines()
        whole = isinstance(repair, dict | None) and all(
            type(n) is int and 0 < n <= len(lines) and isinstance(text, str) for n, text in (repair or {}).items()
        )
        if not whole:
            raise ValueError(
                f'a repair is {{number of a line: "its new text"}}, and {self.name} has the lines 1 to {len(lines)}'
            )
        for n, text in (repair or {}).items():
            old = lines[n - 1]
            indent = "" if text[:1] in (" ", "\t") else old[: len(old) - len(old.lstrip())]
            lines[n - 1] = "\n".join(indent + part for part in text.splitlines())
        return "\n".join(lines) + "\n"

    def run(self, T: Any, repair: Mapping[int, str] | str | None = None) -> SimpleNamespace:
        """The program's names on the engine `T`, repaired or as it is; `models` has its networks, for `viz.watch`."""
        names: dict[str, Any] = {"T": T, "__name__": self.name}
        source = repair if isinstance(repair, str) else self.repaired(repair)
        exec(compile(source, f"<answer: {self.name}>", "exec", dont_inherit=True), names)
        names["models"] = {name: thing for name, thing in names.items() if isinstance(thing, T.nn.Module)}
        return SimpleNamespace(**names)


def _tensor(T: Any, array: np.ndarray) -> Any:
    return T.tensor(array.astype(np.float32))


projects = {
    project.name: project
    for project in (
        Project("classifier", "a classifier of points, inside a circle or outside", CLASSIFIER, _circle),
        Project("language", "a small language model, for texts that repeat themselves", LANGUAGE, _repeated),
        Project("gan", "a GAN, which imitates numbers around 3", GAN, _around_three),
        Project("policy", "a policy gradient, for four slot machines with three levers each", POLICY, _bandits),
        Project("autoencoder", "an autoencoder, of eight numbers that hold only two", AUTOENCODER, _in_a_plane),
    )
}
"""The five, by name."""


def predictions(T: Any, name: str, repair: Mapping[int, str] | None, seed: int) -> list[Any]:
    """What the repaired program says of data that it did not see, and its last loss. It runs where the answer runs."""
    return _predicted(T, name, projects[name].repaired(repair), seed)


@functools.lru_cache(maxsize=64)  # a text that seeds its random numbers says the same again
def _predicted(T: Any, name: str, source: str, seed: int) -> list[Any]:
    project = projects[name]
    program = project.run(T, source)
    result = program.train(*project.data(T, seed))
    model = getattr(program, "generator", None) or program.model
    return [*(np.asarray(model(new).tolist()) for new in project.new(T, seed)), float(result["losses"][-1])]


def _quality(name: str, seen: list[np.ndarray], seed: int) -> float:
    """How good predictions are, up to 1: the share that is right, of the variance found, or of the way to the mean."""
    right = projects[name].truth(seed)
    if name == "classifier":
        return float((right == (seen[0].reshape(len(right), -1)[:, 0] > 0.5)).mean())
    if name == "language":
        return min(float((row == out[:, -1].argmax(1)).mean()) for row, out in zip(right, seen, strict=True))
    if name == "policy":
        return float((right == seen[0].argmax(1)).mean())
    if name == "gan":
        return 1 - abs(float(seen[0].mean()) - 3) / 3
    return 1 - float(((seen[0] - right) ** 2).mean() / right.var())


ENOUGH = {"classifier": 0.85, "language": 0.95, "gan": 2 / 3, "policy": 1.0, "autoencoder": 0.9}
HONEST = 3 / 7 * math.log(6)  # three of the seven letters asked for are new, one of six
ALIKE = 0.15  # two programs whose quality differs by less behave alike


def judged(observed: list[Any], name: str, seed: int) -> str:
    """What predictions and the last loss show: that it learns, or whether it fails as it did before. For the judge."""
    *seen, loss = observed
    seen = [np.asarray(out) for out in seen]
    reached = _quality(name, seen, seed)
    if reached >= ENOUGH[name] and (name != "language" or loss > HONEST / 2):
        return "it learns"
    if name == "language":  # how well it cheats is chance
        before = loss < HONEST / 2
    elif name == "classifier":
        before = float(np.std(seen[0])) < ALIKE / 3
    else:
        before = abs(reached - _before(name, seed)) < ALIKE
    return (
        "it does what it did before the repair" if before else "it does something else than before, and does not learn"
    )


@functools.cache
def _before(name: str, seed: int) -> float:
    """The quality of the program as it is handed out."""
    import tinygrad_edu as T

    return _quality(name, predictions(T, name, {}, seed)[:-1], seed)


def blamed(line: Any, lines: tuple[int, ...]) -> str:
    """Whether a line is one of those at fault. For the judge."""
    return "a line at fault" if type(line) is int and line in lines else f"line {line}, which does what it should"


def named(cause: Any, right: str) -> str:
    """Whether a cause is the right one. For the judge."""
    if cause == right:
        return "the cause"
    return (
        f"{cause!r}, which is not the cause here"
        if cause in [*CAUSES]
        else "no cause of the list: print(CAUSES) has it"
    )


def weighed(given: Any, name: str) -> dict[str, Any]:
    """For each number of the evidence, whether it is that of the broken program, or how it differs. For the judge."""
    given = given if isinstance(given, dict) else {}
    told: dict[str, Any] = {}
    near = 0.25 if name == "gan" else 0.05  # two networks that play each other end elsewhere on each machine
    for what, number in evidence(name).items():
        mine, is_count = given.get(what), number == int(number) > 1
        if isinstance(mine, bool) or not isinstance(mine, int | float):
            told[what] = "no number"
        elif abs(mine - number) <= (0 if is_count else near * abs(number) + 0.005):
            told[what] = True
        else:
            told[what] = "too large" if mine > number else "too small"
    return told


@functools.cache
def evidence(name: str) -> dict[str, float]:
    """What is seen of the broken program on the data of the lesson, computed by running it. For the judge."""
    import tinygrad_edu as T

    project = projects[name]
    program = project.run(T)
    before = {path: np.array(p.tolist()) for m in program.models.values() for path, p in m.named_parameters()}
    result = program.train(*project.data(T))
    losses = result["losses"]
    if name == "classifier":
        return {"last loss": losses[-1], "numbers in the difference": 80.0 * 80}
    if name == "language":
        return {"last loss": losses[-1], "least honest loss": 3 / 7 * math.log(6)}
    if name == "gan":
        moved = [abs(np.array(p.tolist()) - before[path]).max() for path, p in program.generator.named_parameters()]
        return {"last loss": losses[-1], "the generator moved by": float(max(moved))}
    if name == "policy":
        return {"first reward": result["rewards"][0], "last reward": result["rewards"][-1]}
    held = sum(p.numel() for p in program.model.parameters())
    decoder = sum(p.numel() for layer in program.model.decoder for p in layer.parameters())
    return {"numbers in the optimizer": float(held), "numbers in the network": float(held + decoder)}
