"""A small network that learns points of the plane: its settings, the program they produce, and runs of that program.

The program is text that anyone can run; a run executes that text and nothing else, one pass of its loop at a time.
"""

from __future__ import annotations

import ast
import copy
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from viz import engines
from viz.engines import CORE, NAMES
from viz.experiments.face import Face
from viz.picture.chart import short
from viz.recording.record import namespace_for, record
from viz.recording.recording import Recording
from viz.recording.source import Source
from viz.recording.teaching import TeachingRecorder

STEPS = 5000  # the number of steps in the program
DEEPEST, WIDEST, OWN = 20, 64, 300  # limits: hidden layers, units per layer, custom points
SHOWN = 8  # neurons of a layer that are drawn
GRID = 48  # grid positions per side at which the network is evaluated
REACH = 1.25  # the plane reaches from -REACH to REACH in both directions
KEPT = 200  # the number of past states of the network that are stored
Point = tuple[float, float, int]

_POLAR = "X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)"
DATA = {
    "circles": f"""
        y = np.arange(200) % 2
        inner, outer = 0.5 * np.sqrt(rng.random(200)), rng.uniform(0.7, 1, 200)
        radius = np.where(y == 0, inner, outer)
        angle = rng.uniform(0, 2 * np.pi, 200)
        {_POLAR}""",
    "moons": """
        y = np.arange(200) % 2
        angle = rng.uniform(0, np.pi, 200)
        side = np.where(y == 0, 1, -1)
        X = 0.6 * np.stack([side * (np.cos(angle) - 0.5), side * (np.sin(angle) - 0.25)], axis=1)
        X = X + rng.normal(0, 0.06, (200, 2))""",
    "spiral": f"""
        y = np.arange(200) % 2
        turn = np.sqrt(rng.uniform(0.02, 1, 200))
        angle, radius = 1.75 * 2 * np.pi * turn + np.pi * y, 1.1 * turn
        {_POLAR}""",
    "xor": """
        X = rng.uniform(-1, 1, (200, 2))
        X = X + 0.08 * np.sign(X)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)""",
    "line": """
        X = rng.uniform(-1, 1, (200, 2))
        y = (X[:, 0] + 0.5 * X[:, 1] > 0.1).astype(int)
        X = X + rng.normal(0, 0.05, (200, 2))""",
    "slope": """
        X = rng.uniform(-1, 1, (200, 2))
        y = (X[:, 0] + X[:, 1]) / 2""",
    "hills": """
        X = rng.uniform(-1, 1, (200, 2))
        tops = [(-0.5, 0.5, 1), (0.5, -0.5, 1), (0.6, 0.6, -1), (-0.6, -0.6, -1), (0, 0, -0.6)]
        y = sum(high * np.exp(-((X - (a, b)) ** 2).sum(1) / 0.15) for a, b, high in tops)""",
    "own": "",
}
NUMBERS = ("slope", "hills")  # data whose labels are numbers: regression
# Inputs of the network, and how the program computes them from x1, x2.
FEATURES = {
    "x1": "x1",
    "x2": "x2",
    "x1^2": "x1**2",
    "x2^2": "x2**2",
    "x1*x2": "x1 * x2",
    "sin(x1)": "T.sin(np.pi * x1)",
    "sin(x2)": "T.sin(np.pi * x2)",
}
PLAIN = "x1 x2"
FIRST_OWN: tuple[Point, ...] = ((-0.7, -0.4, 0), (-0.4, 0.5, 0), (0.1, -0.8, 0))
FIRST_OWN += ((0.3, 0.7, 1), (0.8, 0.1, 1), (0.5, -0.3, 1))
ACTIVATIONS = {"tanh": "nn.Tanh()", "relu": "nn.ReLU()", "sigmoid": "nn.Sigmoid()", "none": ""}
NORMS = {"none": "", "layer": "nn.LayerNorm({})", "batch": "nn.BatchNorm1d({})"}
INITS = {
    "default": "",
    "xavier": "nn.init.xavier_normal_(layer.weight)",
    "he": "nn.init.kaiming_normal_(layer.weight)",
    "small": "nn.init.normal_(layer.weight, std=0.01)",
    "large": "nn.init.normal_(layer.weight, std=3.0)",
    "zeros": "nn.init.zeros_(layer.weight)",
}
OPTIMIZERS = {"SGD": "SGD", "momentum": "SGD", "Adam": "Adam"}


@dataclass(frozen=True)
class Setting:
    """The settings of a network and of its training; a `batch` of 0 means all points at once.

    `noise` is the standard deviation of what is added to the points; `test` the share of them that tests.
    """

    engine: str = CORE
    layers: int = 2
    width: int = 8
    activation: str = "tanh"
    init: str = "default"
    norm: str = "none"
    residual: bool = False
    optimizer: str = "SGD"
    lr: float = 1.0
    batch: int = 0
    weight_decay: float = 0.0
    l1: float = 0.0
    zero_grad: bool = True
    features: str = PLAIN
    noise: float = 0.0
    test: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """How a setting is set: its label, what a page offers (labels by value, numbers, or a switch), what it can be.

    An error calls a number by its `spoken` name, and says that it is from `least` to `most`.
    """

    label: str
    offered: Mapping[Any, str] | Sequence[float] = ()
    spoken: str = ""
    least: int = 0
    most: float = math.inf

    @property
    def kind(self) -> str:
        """What it is on a page."""
        return "choice" if isinstance(self.offered, Mapping) else "count" if self.offered else "switch"


def _labels(values: Iterable[Any], **others: str) -> dict[Any, str]:
    return {value: others.get(value, str(value)) for value in values}


_RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_SMALL = _labels((0, 0.0001, 0.001, 0.01, 0.1))
_SHARES = {0: "none", 0.2: "20 %", 0.5: "50 %", 0.8: "80 %"}
ROWS = {
    "engine": Row("engine", _labels(NAMES, torch="PyTorch")),
    "layers": Row("hidden layers", (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20), "the number of hidden layers", 0, DEEPEST),
    "width": Row("width", (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64), "the width", 1, WIDEST),
    "activation": Row("activation", _labels(ACTIVATIONS, relu="ReLU", none="none (linear)")),
    "init": Row(
        "initialisation", _labels(INITS, xavier="Xavier", he="He (Kaiming)", small="small (0.01)", large="large (3)")
    ),
    "norm": Row("normalisation", _labels(NORMS, layer="LayerNorm", batch="BatchNorm")),
    "residual": Row("residual"),
    "optimizer": Row("optimizer", _labels(OPTIMIZERS, momentum="SGD + momentum")),
    "lr": Row("rate (lr)", _RATES, "the rate (lr)"),
    "batch": Row("batch", {0: "all points", 1: "1", 8: "8", 32: "32"}, "the batch", 0, 200),
    "weight_decay": Row("weight decay", _SMALL, "the weight decay"),
    "l1": Row("L1 penalty", _SMALL, "the L1 penalty"),
    "noise": Row("noise", _labels((0, 0.05, 0.1, 0.2, 0.4)), "the noise", 0, 0.5),
    "test": Row("test points", _SHARES, "the share of test points", 0, 0.8),
    "zero_grad": Row("zero_grad()"),
    "seed": Row("seed", range(100), "the seed", 0, 2**31 - 1),
}


def setting_of(given: Mapping[str, Any], base: Setting | None = None, own: Iterable[str] = ()) -> Setting:
    """`base` (or the defaults) with the given settings replaced, after checks; `own` are names of further engines.

    Raises:
        TypeError: there is no setting of that name; the message lists the settings.
        ValueError: a setting cannot have that value; the message says what it can have.
    """
    known = [field.name for field in fields(Setting)]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"there is no setting {name!r}; the settings are {', '.join(known)}")
        values[name] = value if name == "engine" and value in own else _checked(name, value)
    return replace(base or Setting(), **values)


def _checked(name: str, value: Any) -> Any:
    if name == "features":
        return _features_of(value)
    row = ROWS[name]
    if row.kind == "switch":
        return bool(value)
    if not row.spoken:
        if value not in list(row.offered):
            raise ValueError(f"{name} is one of {', '.join(map(str, row.offered))}, not {value!r}")
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{row.spoken} must be a number, not {value!r}") from None
    whole = isinstance(getattr(Setting, name), int)
    if (
        row.least <= number <= row.most
        and math.isfinite(number)
        and (number == int(number) if whole else number or name != "lr")
    ):
        return int(number) if whole else number
    can = f"from {row.least} to {row.most}" if math.isfinite(row.most) else f"{row.least} or larger and finite"
    if name == "lr":
        why = " With a rate of 0 no parameter moves." if number == 0 else ""
        raise ValueError(f"{row.spoken} must be larger than 0 and finite, not {_written(number)}.{why}")
    raise ValueError(f"{row.spoken} must be {'a whole number ' * whole}{can}, not {_written(number)}")


def _features_of(value: Any) -> str:
    """Names of features, in their order, separated by spaces."""
    names = value.split() if isinstance(value, str) else [str(name) for name in value]
    unknown = [name for name in names if name not in FEATURES]
    if unknown or not names:
        known = ", ".join(FEATURES)
        raise ValueError(f"features is at least one of {known}, separated by spaces, not {value!r}")
    return " ".join(name for name in FEATURES if name in names)


def _written(number: float) -> str:
    return short(number) if math.isfinite(number) else str(number)


def points_of(rows: Iterable[Any]) -> tuple[Point, ...]:
    """Custom points, checked: each is `(x, y, class)` with class 0 or 1.

    Raises:
        ValueError: one of them is not such a point or lies outside the plane, or there are more than 300.
    """
    points = []
    for setting in rows:
        try:
            x, y, label = (float(part) for part in setting)
        except (TypeError, ValueError):
            raise ValueError(f"a point is (x, y, class), such as (0.5, -0.2, 1), not {setting!r}") from None
        if not (abs(x) <= REACH and abs(y) <= REACH and label in (0, 1)):
            raise ValueError(f"{setting!r}: x and y must be between -{REACH} and {REACH}, and the class must be 0 or 1")
        points.append((round(x, 3), round(y, 3), int(label)))
    if len(points) > OWN:
        raise ValueError(f"{len(points)} points are too many; {OWN} is the most that a picture can show well")
    return tuple(points)


# --- the program ---


def program(setting: Setting, data: str = "circles", points: Iterable[Point] = FIRST_OWN) -> str:
    """The training program for these settings: a complete script for one engine."""
    if data == "own":
        rows = [f"({x:g}, {y:g}, {label})" for x, y, label in points]
        listed = [", ".join(rows[i : i + 4]) for i in range(0, len(rows), 4)]
        array = "points = np.array([\n" + "".join(f"    {line},\n" for line in listed) + "])\n"
        array += "X, y = points[:, :2], points[:, 2].astype(int)"
    else:
        array = textwrap.dedent(DATA[data]).strip()
    drawn = data != "own" or setting.batch > 0 or setting.noise > 0
    numbers = data in NUMBERS
    head = [
        "import numpy as np",
        *_engine(setting.engine),
        "",
        *(["rng = np.random.default_rng(0)"] if drawn else []),
        array,
        *([f"X = X + rng.normal(0, {setting.noise:g}, X.shape)"] if setting.noise else []),
        # In a browser NumPy's whole numbers have 32 bits.
        f"X, y = T.tensor(X, dtype=T.float32), T.tensor(y, dtype=T.{'float32' if numbers else 'int64'})",
        *_features(setting),
        *_split(setting),
        "",
        *(_RESIDUAL if _is_residual(setting) else []),
        f"T.manual_seed({setting.seed})",
        *_network(setting, 1 if numbers else 2),
        *_start(setting),
        f"optimizer = T.optim.{OPTIMIZERS[setting.optimizer]}(model.parameters(), {_options(setting)})",
        f"loss_function = nn.{'MSELoss' if numbers else 'CrossEntropyLoss'}()",
        "",
        f"for step in range({STEPS}):",
    ]
    return "\n".join(head) + "\n" + textwrap.indent(_loop(setting, numbers), "    ")


def _engine(name: str) -> list[str]:
    if name in NAMES:
        return [f"import {name} as T", f"from {name} import nn"]
    return [
        "from viz.experiments.face import Face",
        "",
        f"T = Face({name})  # my engine's ops, and layers over them",
        "nn = T.nn",
    ]


def _features(setting: Setting) -> list[str]:
    if setting.features == PLAIN:
        return []
    listed = ", ".join(FEATURES[name] for name in setting.features.split())
    return [
        "",
        "def features(X):",
        "    x1, x2 = X[:, 0], X[:, 1]",
        f"    return T.stack([{listed}], dim=1)",
        "",
        "places, X = X, features(X)",
    ]


def _split(setting: Setting) -> list[str]:
    if not setting.test:
        return []
    return [
        f"kept = round(len(X) * {setting.test:g})",
        "X, X_test = X[kept:], X[:kept]",
        "y, y_test = y[kept:], y[:kept]",
    ]


_RESIDUAL = [
    "class Residual(nn.Module):",
    "    def __init__(self, *inner):",
    "        super().__init__()",
    "        self.inner = nn.Sequential(*inner)",
    "",
    "    def forward(self, x):",
    "        return x + self.inner(x)",
    "",
]


def _is_residual(setting: Setting) -> bool:
    return setting.residual and setting.layers > 1  # the first layer changes the width


def _network(setting: Setting, outputs: int = 2) -> list[str]:
    width, first = setting.width, len(setting.features.split())
    extra = [part for part in (NORMS[setting.norm].format(width), ACTIVATIONS[setting.activation]) if part]

    def block(inputs: int) -> str:
        return ", ".join([f"nn.Linear({inputs}, {width})", *extra])

    again = f"Residual({block(width)})" if _is_residual(setting) else block(width)
    if setting.layers <= 3:
        hidden = [block(first), *[again] * (setting.layers - 1)][: setting.layers]
        inputs = width if setting.layers else first
        last = f"    nn.Linear({inputs}, {outputs}),"
        return ["model = nn.Sequential(", *(f"    {line}," for line in hidden), last, ")"]
    return [
        f"layers = [{block(first)}]",
        f"for _ in range({setting.layers - 1}):",
        f"    layers += [{again}]",
        f"model = nn.Sequential(*layers, nn.Linear({width}, {outputs}))",
    ]


def _start(setting: Setting) -> list[str]:
    if not INITS[setting.init]:
        return []
    return [
        "for layer in model.modules():",
        "    if isinstance(layer, nn.Linear):",
        f"        {INITS[setting.init]}",
        "        nn.init.zeros_(layer.bias)",
    ]


def _options(setting: Setting) -> str:
    momentum = ", momentum=0.9" if setting.optimizer == "momentum" else ""
    decay = f", weight_decay={setting.weight_decay:g}" if setting.weight_decay else ""
    return f"lr={setting.lr:g}{momentum}{decay}"


def _loop(setting: Setting, numbers: bool = False) -> str:
    batch, last = setting.batch, "[:, 0]" if numbers else ""
    chosen = "[batch]" if batch else ""
    lines = [
        *([f"batch = rng.permutation(len(X))[:{batch}]"] if batch else []),
        *(["optimizer.zero_grad()"] if setting.zero_grad else []),
        f"loss = loss_function(model(X{chosen}){last}, y{chosen})",
    ]
    if setting.l1:
        lines.append(f"penalty = {setting.l1:g} * sum(p.abs().sum() for p in model.parameters())")
    lines += ["(loss + penalty).backward()" if setting.l1 else "loss.backward()", "optimizer.step()"]
    if setting.test:
        modes = setting.norm == "batch"
        lines += [
            *(["model.eval()"] if modes else []),
            "with T.no_grad():",
            f"    test_loss = loss_function(model(X_test){last}, y_test)",
            *(["model.train()"] if modes else []),
        ]
    return "\n".join(lines) + "\n"


# --- a run of it ---


@dataclass(frozen=True)
class Inside:
    """What goes on inside a network: at most `SHOWN` neurons of each layer.

    `field` is the output over the plane; `maps` have, for each hidden layer, a picture of each neuron; `weights` and
    `gradients`, for each linear layer, a matrix with a row for each neuron that it leads to (None for no gradient).
    """

    field: np.ndarray
    maps: list[np.ndarray]
    weights: list[np.ndarray]
    gradients: list[np.ndarray | None]


@dataclass
class Learner:
    """A network in training: a run of `program(setting, data, points)`, one pass at a time.

    `losses` has the loss of each pass, `test_losses` that of the test points, if there are some. `sizes` has the root
    mean square of the gradient of each layer's weight (None if there is none). `ended` says why the run cannot go on.
    `own` is the engine, if it is neither of the two (docs/engines.md).

    Raises:
        ModuleNotFoundError: the engine is not installed; the message says how to install it.
        TypeError: an engine of one's own lacks a part.
        ValueError: there are no points, or an engine of one's own cannot take a step with these settings.
    """

    setting: Setting
    data: str = "circles"
    points: tuple[Point, ...] = FIRST_OWN
    losses: list[float] = field(default_factory=list)
    test_losses: list[float] = field(default_factory=list)
    sizes: list[list[float | None]] = field(default_factory=list)
    ended: str = ""
    own: Any = None

    def __post_init__(self) -> None:
        if self.data == "own" and not self.points:
            raise ValueError("There are no points to learn yet. Click in the plane to add some.")
        self.text = program(self.setting, self.data, self.points)
        tree = ast.parse(self.text)
        loop = cast(ast.For, tree.body.pop())
        self._head = compile(tree, "<the playground's program>", "exec")
        self._pass = compile(ast.Module(loop.body, []), "<the playground's loop>", "exec")
        self.engine = engines.load(self.setting.engine) if self.own is None else Face(self.own)
        if self.own is not None:
            self._try()
        self._names = self._begun()
        self.module = self._names["T"]
        self.layers = [module for module in self._names["model"].modules() if isinstance(module, self.module.nn.Linear)]
        self._inputs, self._labels = self._points("X", "y")
        self._tested = self._points("X_test", "y_test") if self.setting.test else (self._inputs[:0], self._labels[:0])
        # A network of the same shape, to evaluate any of its states.
        self._asked = copy.deepcopy(self._names["model"]).eval()
        self._states: dict[int, Any] = {}
        self._gradients: dict[int, list[np.ndarray | None]] = {}
        self._stride = 1
        self._keep()

    def _begun(self) -> dict[str, Any]:
        """The program's variables at the start of its loop."""
        names: dict[str, Any] = {self.setting.engine: self.own}
        if isinstance(self.engine, engines.Engine):
            names = namespace_for(self.engine, {})
        with self.engine.same_randomness(), self.engine.default_dtype("float32"), np.errstate(all="ignore"):
            exec(self._head, names)
        return names

    def _try(self) -> None:
        """Take one step aside, to learn whether an engine of one's own can."""
        try:
            self._run_pass(self._begun(), 0)
        except Exception as error:
            raise ValueError(f"{self.setting.engine} cannot take a step with these settings: {error}") from error

    def _points(self, inputs: str, labels: str) -> tuple[np.ndarray, np.ndarray]:
        """What the network is given, and the labels."""
        array = self.engine.array
        return np.asarray(array(self._names[inputs])), np.asarray(array(self._names[labels]))

    @property
    def numbers(self) -> bool:
        """Whether the labels are numbers, and the network's output is one number: regression."""
        return self.data in NUMBERS

    @property
    def taken(self) -> int:
        """The number of passes of the loop so far."""
        return len(self.losses)

    @property
    def kept(self) -> list[int]:
        """The passes after which a state of the network is stored; the current one is last."""
        return sorted(self._states)

    def nearest(self, at: int) -> int:
        """The last entry of `kept` that is not after `at`."""
        return max(step for step in self._states if step <= at)

    def step(self) -> None:
        """Run one pass of the program's loop."""
        if self.ended:
            return
        try:
            self._run_pass(self._names, self.taken)
        except Exception as error:
            self.ended = f"Step {self.taken + 1} raises {type(error).__name__}: {error}"
            return
        array = self.engine.array
        self.losses.append(float(array(self._names["loss"])))
        if self.setting.test:
            self.test_losses.append(float(array(self._names["test_loss"])))
        self.sizes.append(
            [None if layer.weight.grad is None else _rms(array(layer.weight.grad)) for layer in self.layers]
        )
        self._keep()
        if not math.isfinite(self.losses[-1]):
            self.ended = f"At step {self.taken} the loss is {self.losses[-1]}: {self._why()}"
        elif self.taken == STEPS:
            self.ended = f"All {STEPS:,} steps are taken"

    def _why(self) -> str:
        """An explanation of why the loss is not finite."""
        said = "the numbers have grown beyond what float32 can hold, so learning cannot go on."
        if not self.setting.zero_grad:
            return f"{said} Without zero_grad the gradients of all steps add up: switch it on."
        if self.setting.init == "large":
            return f"{said} Start with smaller weights, or use a smaller rate than {short(self.setting.lr)}."
        return f"{said} A rate of {short(self.setting.lr)} is too large here: use a smaller one."

    def _run_pass(self, names: dict[str, Any], number: int) -> None:
        names["step"] = number
        with self.engine.on_one_thread(), np.errstate(all="ignore"):
            exec(self._pass, names)

    def _keep(self) -> None:
        """Store the network's state, and drop some earlier ones if there are too many."""
        self._states[self.taken] = copy.deepcopy(self._names["model"].state_dict())
        self._gradients[self.taken] = [
            None if layer.weight.grad is None else self.engine.array(layer.weight.grad)[:SHOWN, :SHOWN].copy()
            for layer in self.layers
        ]
        while len(self._states) > KEPT:
            self._stride *= 2
            self._states = {at: kept for at, kept in self._states.items() if at % self._stride == 0 or at == self.taken}
        if (self.taken - 1) % self._stride and self.taken:
            self._states.pop(self.taken - 1, None)
        self._gradients = {at: kept for at, kept in self._gradients.items() if at in self._states}

    # --- what the network predicts ---

    def _asks(self, at: int, inputs: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """The outputs after `at` passes (one of `kept`) for these inputs, and those of each hidden layer on the way."""
        self._asked.load_state_dict(self._states[at])
        module, nn = self.module, self.module.nn
        hidden = []
        with module.no_grad(), self.engine.on_one_thread(), np.errstate(all="ignore"):
            x = module.tensor(inputs, dtype=module.float32)
            for number, part in enumerate(self._asked.children()):
                if number and (isinstance(part, nn.Linear) or type(part).__name__ == "Residual"):
                    hidden.append(self.engine.array(x).astype(np.float64))
                x = part(x)
            return self.engine.array(x).astype(np.float64), hidden

    def _given(self, places: np.ndarray) -> Any:
        """Places of the plane as inputs of the network: the program's features of them."""
        if "features" not in self._names:
            return places
        module = self.module
        return self.engine.array(self._names["features"](module.tensor(places, dtype=module.float32)))

    def places_features(self) -> np.ndarray:
        """What the network is given, over the plane: a picture for each input."""
        inputs = np.asarray(self._given(_PLACES))
        return inputs.T.reshape(-1, GRID, GRID)[:, ::2, ::2]

    def margins(self, at: int, places: np.ndarray) -> np.ndarray:
        """The score of class 1 minus that of class 0 at each of `places`, after `at` passes (one of `kept`)."""
        return self._margin(self._asks(at, self._given(places))[0])

    def _margin(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(outputs[:, 0] if self.numbers else outputs[:, 1] - outputs[:, 0])

    def field(self, at: int) -> np.ndarray:
        """As `margins`, over the whole plane: row 0 is the upper edge; NaN if the network gives no number."""
        return self.margins(at, _PLACES).reshape(GRID, GRID)

    def inside(self, at: int) -> Inside:
        """What each neuron computes over the plane after `at` passes (one of `kept`), and the weights between them."""
        outputs, hidden = self._asks(at, self._given(_PLACES))
        shown = [layer[:, :SHOWN].T.reshape(-1, GRID, GRID)[:, ::2, ::2] for layer in hidden]
        state = self._states[at]
        arrays = [self.engine.array(tensor) for name, tensor in state.items() if name.endswith("weight")]
        weights = [array[:SHOWN, :SHOWN].astype(np.float64) for array in arrays if array.ndim == 2]
        gradients = list(self._gradients.get(at, [None] * len(weights)))
        if not self.numbers:  # two scores, of which the difference counts
            weights[-1] = weights[-1][1:] - weights[-1][:1]
            last = gradients[-1]
            gradients[-1] = None if last is None else (last[1:] - last[:1]) / 2
        return Inside(self._margin(outputs).reshape(GRID, GRID), shown, weights, gradients)

    def right(self, at: int) -> float:
        """The fraction of all points that were classified correctly after `at` passes.

        For numbers it is the share of their variance that is explained (R squared), 0 at least.
        """
        margin = self._margin(self._asks(at, self._inputs)[0])
        if self.numbers:
            with np.errstate(all="ignore"):
                left = np.mean((margin - self._labels) ** 2) / np.var(self._labels)
            return max(0.0, float(1 - left)) if np.isfinite(left) else 0.0
        return float(np.mean((margin > 0) == self._labels))

    def everything(self, test: bool = False) -> list[tuple[float, float, float]]:
        """The training points, or the test points: x, y, and the label."""
        inputs, labels = self._tested if test else (self._inputs, self._labels)
        places = self._places(inputs)
        return [(float(x), float(y), float(label)) for (x, y), label in zip(places, labels, strict=True)]

    def _places(self, inputs: np.ndarray) -> np.ndarray:
        """Where the points of these inputs are in the plane: the test points come first."""
        if "places" not in self._names:
            return inputs
        whole = np.asarray(self.engine.array(self._names["places"]))
        return whole[: len(inputs)] if inputs is self._tested[0] else whole[len(whole) - len(inputs) :]

    def recording(self, number: int) -> Recording:
        """Record pass `number` of the loop (from 1), with all that autograd did in it.

        The program runs again up to that pass, so the recording shows what happened and changes nothing.

        Raises:
            IndexError: that pass has not been made.
        """
        if not 1 <= number <= self.taken:
            raise IndexError(f"step {number} has not run yet; {self.taken} steps have")
        names = self._begun()
        for each in range(number - 1):
            self._run_pass(names, each)
        used = ("model", "optimizer", "loss_function", "X", "y", "X_test", "y_test", "rng")
        outer = {name: names[name] for name in used if name in names}
        outer["step"] = number - 1
        loop = _loop(self.setting, self.numbers)
        if self.own is None:
            return record(loop, self.setting.engine, inputs=outer)
        leaves = {id(parameter): f"model.{name}" for name, parameter in names["model"].named_parameters()}
        return TeachingRecorder(self.own, Source(loop), leaves).run({**outer, "T": names["T"]})


_ACROSS = (np.arange(GRID) + 0.5) / GRID * 2 * REACH - REACH
_PLACES = np.stack(np.meshgrid(_ACROSS, -_ACROSS), axis=-1).reshape(-1, 2)


def _rms(array: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array.astype(np.float64)))))
