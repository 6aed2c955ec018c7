"""`watch`: sees a training that somebody else wrote, step by step, and changes no number of it."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from viz import engines
from viz.monitor.activations import Activations
from viz.monitor.health import Health, health
from viz.monitor.history import Column
from viz.monitor.hooks import has_closure, listening
from viz.monitor.layers import Layer, Layers, unseen
from viz.picture.chart import short
from viz.recording.unseen import is_ours

if TYPE_CHECKING:
    from pathlib import Path

ACCEPTED = (
    "viz.watch takes the model that is trained, or several: viz.watch(model), viz.watch({'G': generator, 'D': critic})"
)
EVERY_OTHER = 0.25  # seconds from one picture to the next, at least
SHARE = 0.05  # of the time, at most, goes into pictures
_NO_HOOK = SimpleNamespace(remove=lambda: None)  # a handle of none
_Copied = tuple[Layer, list[tuple[Any, Any]]]  # a layer's parameters, and how they were


@dataclass(eq=False)
class _Optimizer:
    """An optimizer that moves watched parameters, as its steps show it."""

    number: int
    what: Any
    name: str
    due: int = 1  # the step that is watched next
    last: int = 0  # its last step


class Watch:
    """The result of `viz.watch`; a context manager. `columns` has what was seen, `layers` the names of the rows.

    `report()` names layers in trouble, `save("run.html")` writes a page of it all, `diagnose(step)` looks for the line.
    `steps` counts the optimizer's steps, the watched and the others. `notes` says what could not be seen, and why.
    """

    save: Callable[..., Path]  # bound by `viz/show.py`, as the next
    _view: Callable[[], Any]

    def __init__(self, models: Mapping[str, Any], every: int, progress: bool) -> None:
        self.models = dict(models)
        self.every = every
        self.progress = progress
        self.engine = cast(engines.Engine, engines.of(next(iter(self.models.values()))))
        self.steps = 0
        self.columns: list[Column] = []
        self.ended = ""  # what ended the training, if it was an error
        self.notes: list[str] = [unseen(self.models)] if unseen(self.models) else []
        self.seconds = 0.0
        self._layers = Layers(self.models)
        self._seen = Activations(self.engine, self._layers)
        self._optimizers: dict[int, _Optimizer] = {}
        self._roots: list[Any] = []  # what backward was called on since the last step
        self._before: dict[int, tuple[_Optimizer, list[Any], list[_Copied]]] = {}
        self._hand: _ByHand | None = _ByHand(self)
        self._early: list[tuple[Layer, dict[str, Any]]] = []
        self._failed = False
        self._calls: Any = None  # the handle of the hook on all modules, while the next step is watched
        self._around: contextlib.ExitStack | None = None
        self._began = 0.0
        self._picture = 0.0, 0.0  # when the last one was made, and how long it took
        self._shown: Any = None

    @property
    def layers(self) -> list[str]:
        """The paths of the layers: the rows of every map."""
        return [layer.name for layer in self._layers.all]

    @property
    def optimizers(self) -> list[str]:
        """The names of the optimizers whose steps were seen, in the order of `Column.losses`."""
        return [optimizer.name for optimizer in self._optimizers.values()] or ["loss"]

    @property
    def running(self) -> bool:
        """Whether the training is inside the `with` block."""
        return self._around is not None

    # --- the context ---

    def __enter__(self) -> Watch:
        if self.running:
            raise RuntimeError("this watch runs already: a second one is made with viz.watch(model)")
        self._began, self.ended = time.monotonic(), ""
        self._around = contextlib.ExitStack()
        self._around.enter_context(listening(self.engine, self))
        self._hand = self._hand or (None if self._optimizers else _ByHand(self))
        self._layers.learn()
        self._arm()
        if self._shown is None and self.progress:
            self._shown = _shown(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        with self._harmless():
            if self._hand is not None and kind is None and not self._failed:
                self._hand.look()
        around, self._around = self._around, None
        self._disarm()
        if around is not None:
            around.close()
        self.seconds += time.monotonic() - self._began
        self._roots, self._before, self._hand = [], {}, None
        if kind is not None:
            said = f": {error}" if str(error) else ""
            self.ended = f"{kind.__name__} after step {self.steps}{said}"
        with self._harmless():
            if self._shown is not None:
                self._shown.end()

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        """A context whose errors end the watching, and never the training."""
        try:
            yield
        except Exception as error:
            if not is_ours(error):
                raise
            self._disarm()
            self.notes.append(f"Watching ended at step {self.steps}: {type(error).__name__}: {error}")
            self._failed = True

    def _arm(self) -> None:
        """Hang the hook on all modules if the next step may be a watched one, else take it off."""
        next_one = self.steps + 1
        known = self._optimizers.values()
        wanted = self.steps <= 1 or any(it.due <= next_one <= it.last + max(2 * self.every, 20) for it in known)
        if not wanted or self._failed:
            self._disarm()
        elif self._calls is None and self.running:
            self._layers.learn()
            self._calls = self.engine.on_each_call(self._called) if not unseen(self.models) else _NO_HOOK

    def _disarm(self) -> None:
        if self._calls is not None:
            self._calls.remove()
            self._calls = None
            self._seen.forget_nodes()

    # --- what the hooks tell ---

    def _called(self, module: Any, inputs: Any, output: Any) -> None:
        if self.engine.is_traced():
            return
        with self._harmless():
            self._seen.called(module, inputs, output)

    def pass_begins(self, roots: Any) -> None:
        """`backward` is called: what it starts from is the loss."""
        if self._failed:
            return
        with self._harmless():
            self._seen.forget_nodes()
            if self._hand is not None:
                self._hand.look()
            if self._calls is None:
                return
            with self.engine.quietly():
                for root in roots:
                    if self.engine.is_tensor(root) and root.numel() == 1 and not self.engine.why_unreadable(root):
                        self._roots.append(root.detach().reshape(()).clone())

    def pass_ended(self) -> None:
        """`backward` has returned: weights that move from here on without an optimizer are moved by hand."""
        if self._failed:
            return
        with self._harmless():
            if self._hand is not None:
                self._hand.keep()

    def step_begins(self, optimizer: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Keep the weights before a step that is watched, and the size of the gradients."""
        if self._failed:
            return
        with self._harmless():
            held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            layers = self._layers.of(iter(held))
            if not layers:
                return  # of another model
            if self._hand is not None:  # what it took of the first step is this optimizer's
                self._early, self._hand = self._hand.seen, None
            known = self._optimizers.get(id(optimizer))
            if known is None:
                name = type(optimizer).__name__
                known = _Optimizer(len(self._optimizers), optimizer, self._named(name, layers))
                self._optimizers[id(optimizer)] = known
            if known.last == self.steps:  # the first to step again begins the next round
                self.steps += 1
            known.last = self.steps
            if self.steps < known.due:
                return
            known.due = (self.steps // self.every + 1) * self.every
            with self.engine.quietly(), self.engine.module.no_grad():
                sizes = [] if has_closure(args, kwargs) else self._gradients(layers)
                self._before[id(optimizer)] = known, sizes, self._copied(layers)

    def step_ended(self, optimizer: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """A step is over: measure how far it went."""
        if self._failed:
            return
        with self._harmless():
            if id(optimizer) in self._before:
                known, sizes, before = self._before.pop(id(optimizer))
                with self.engine.quietly(), self.engine.module.no_grad():
                    layers = [layer for layer, _ in before]
                    roots = self._roots[-1:] if has_closure(args, kwargs) else self._roots
                    sizes = sizes or self._gradients(layers)
                    early = [(layer, told) for layer, told in self._early if any(layer is known for known in layers)]
                    self.take(known.number, sizes, before, self._seen.taken(layers) or early, roots)
                    self._early = []
            layers = self._layers.of(parameter for group in optimizer.param_groups for parameter in group["params"])
            if layers and self._hand is None:
                self._roots = []
                self._seen.drop(layers)
                self._arm()

    def _named(self, name: str, layers: list[Layer]) -> str:
        if len(self.models) > 1:
            titles = [title for title in self.models if any(layer.name.startswith(f"{title}.") for layer in layers)]
            return ", ".join(titles) or name
        return name

    # --- measuring ---

    def _gradients(self, layers: list[Layer]) -> list[tuple[Layer, Any]]:
        """The squares of the gradients' norms, by parameter, as tensors that are not read yet."""
        pairs = [
            (layer, parameter.grad) for layer in layers for parameter in layer.parameters if parameter.grad is not None
        ]
        return [(layer, _square(grad)) for layer, grad in pairs if not self.engine.is_freed(grad)]

    def _copied(self, layers: list[Layer]) -> list[_Copied]:
        """The parameters with a copy of each that has numbers: none on meta, of a lazy layer, or of freed memory."""
        return [(each, [(p, p.detach().clone()) for p in each.parameters if self._has(p)]) for each in layers]

    def _has(self, parameter: Any) -> bool:
        engine = self.engine
        return engine.is_ready(parameter) and not engine.is_freed(parameter) and engine.device(parameter) != "meta"

    def _since(self, before: list[_Copied]) -> list[tuple[Layer, Any, Any]]:
        """Each parameter as it is now, and as it was."""
        pairs = ((layer, now.detach(), old) for layer, copied in before for now, old in copied)
        return [each for each in pairs if not self.engine.is_freed(each[1])]

    def take(
        self,
        number: int,
        gradients: list[tuple[Layer, Any]],
        before: list[_Copied],
        seen: list[tuple[Layer, dict[str, Any]]],
        roots: list[Any],
    ) -> None:
        """Make a column of a step, or add to that of its round."""
        if not self.columns or self.columns[-1].step != self.steps:
            self.columns.append(Column(self.steps))
        column = self.columns[-1]
        moved = [(layer, _square(now - old), _square(old)) for layer, now, old in self._since(before)]
        numbers = iter(
            self._read(
                [gradient for _, gradient in gradients]
                + [tensor for _, *two in moved for tensor in two]
                + [tensor for _, told in seen for tensor in told.values()]
                + roots
            )
        )
        sums: dict[tuple[str, int], float] = {}
        for layer, _ in gradients:
            sums["gradient", layer.number] = sums.get(("gradient", layer.number), 0.0) + next(numbers)
        for layer, *_ in moved:
            for part in ("far", "large"):
                sums[part, layer.number] = sums.get((part, layer.number), 0.0) + next(numbers)
        for layer, told in seen:
            for measure in told:
                column.put(measure, layer.number, next(numbers))
        for (measure, row), square in sums.items():
            if measure == "gradient":
                column.put("gradient", row, math.sqrt(square))
            elif measure == "far" and (large := sums["large", row]):
                column.put("update", row, math.sqrt(square / large))
        if roots:
            column.losses[number] = sum(numbers)
        self._tell()

    def _read(self, tensors: list[Any]) -> list[float]:
        """Tensors of one element as numbers, all in one transfer if they are on one device."""
        if not tensors:
            return []
        module = self.engine.module
        places = {(self.engine.device(tensor), self.engine.dtype(tensor)) for tensor in tensors}
        if len(places) == 1:
            return cast(list[float], module.stack([tensor.reshape(()) for tensor in tensors]).tolist())
        return [float(tensor) for tensor in tensors]

    def _tell(self) -> None:
        """Show what is new, now and then: making a picture must not cost more than a small share of the time."""
        if self._shown is None:
            return
        last, cost = self._picture
        now = time.monotonic()
        if now - last < max(EVERY_OTHER, cost / SHARE):
            return
        began = time.thread_time()
        self._shown.show()
        self._picture = now, time.thread_time() - began

    # --- what it says ---

    def report(self) -> Health:
        """The layers in trouble, in words; the worst first. Its `diagnose(step)` looks for the line that causes it."""
        return health(self)

    def diagnose(self, step: Any, **options: Any) -> Any:
        """`viz.diagnose` of a training step, with this model and its optimizer: it names the line.

        Raises:
            RuntimeError: the watch still runs, and would count the steps that the diagnosis makes.
        """
        from viz.diagnosis.diagnose import diagnose

        if self.running:
            raise RuntimeError("the watch still runs: call diagnose after the with block")
        if callable(step) and len(self.models) == 1:
            options.setdefault("model", next(iter(self.models.values())))
            if len(self._optimizers) == 1:
                options.setdefault("optimizer", next(iter(self._optimizers.values())).what)
        return diagnose(step, **options)

    def sentence(self) -> str:
        """Where the training is, in one line."""
        if not self.columns:
            return f"Step {self.steps:,}: nothing has been measured yet."
        column = self.columns[-1]
        told = []
        for number, name in enumerate(self.optimizers):
            if number in column.losses:
                who = f" ({name})" if len(self.optimizers) > 1 else ""
                told.append(f"loss{who} {short(column.losses[number])}")
        gradients = [norm for norm in column.values["gradient"] if norm is not None]
        updates = [norm for norm in column.values["update"] if norm is not None]
        if gradients:
            told.append(f"gradient {short(math.sqrt(math.fsum(norm * norm for norm in gradients)))}")
        if updates:
            told.append(f"update/weight {short(max(updates))}")
        return f"Step {column.step:,}: {', '.join(told)}." + (f" Ended by {self.ended}." if self.ended else "")

    def __repr__(self) -> str:
        return f"<viz.watch, {self.sentence()}>"


class _ByHand:
    """Sees steps that no optimizer makes: `w -= lr * w.grad`. From one pass to the next, the weights have moved or not.

    Every such step is compared, watched or not; the first step of an optimizer ends this.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._before: list[_Copied] = []
        self._sizes: list[tuple[Layer, Any]] = []
        self.seen: list[tuple[Layer, dict[str, Any]]] = []

    def keep(self) -> None:
        """A pass is over: keep the weights, and the sizes of their gradients."""
        watch = self.watch
        with watch.engine.quietly(), watch.engine.module.no_grad():
            layers = [layer for layer in watch._layers.all if not layer.frozen]
            self._sizes = watch._gradients(layers)
            self._before = watch._copied(layers)
            self.seen = watch._seen.taken(watch._layers.all)

    def look(self) -> None:
        """Whether the weights have moved since: then that was a step."""
        watch = self.watch
        if not self._before:
            return
        with watch.engine.quietly(), watch.engine.module.no_grad():
            if not any(bool((now != old).any()) for _, now, old in watch._since(self._before)):
                return
            watch.steps += 1
            if watch.steps == 1 or watch.steps % watch.every == 0:
                watch.take(0, self._sizes, self._before, self.seen, watch._roots)
        watch._roots, self._before = [], []


class Line:
    """Where the training is, as one line of a terminal that is written anew."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._began = time.monotonic()
        self._wide = 0

    def show(self) -> None:
        """Write the line."""
        watch = self.watch
        rate = watch.steps / max(time.monotonic() - self._began, 1e-9)
        text = f"{watch.sentence()} {rate:.3g} steps a second"
        sys.stderr.write("\r" + text.ljust(self._wide))
        sys.stderr.flush()
        self._wide = len(text)

    def end(self) -> None:
        """The last line stays."""
        self.show()
        sys.stderr.write("\n")


def _shown(watch: Watch) -> Any:
    """What shows the watch as it runs: a widget in a notebook, a line in a terminal; None where nobody looks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return watch._view()
    return Line(watch) if sys.stderr is not None and sys.stderr.isatty() else None


def _square(tensor: Any) -> Any:
    """The sum of the squares, as a tensor of one element."""
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.coalesce().values()
    tensor = tensor.detach()
    if "complex" in str(tensor.dtype):
        tensor = tensor.abs()
    if "16" in str(tensor.dtype):
        tensor = tensor.float()
    flat = tensor.reshape(-1)
    return flat.dot(flat)


def watch(model: Any, every: int = 10, *, progress: bool = True) -> Watch:
    """Watch a training that is already written: `with viz.watch(model) as w:` around its loop, nothing else changes.

    For each layer and each watched step: the norm of the gradient that the optimizer used, the size of the update
    relative to the weights, the mean size of the activations, and the share of units that are dead (a ReLU that is 0
    for every sample) or outputs that are saturated (tanh, sigmoid). A step's loss is the sum of all that `backward`
    was called on since the last one. A step is any optimizer's, of several too, or weights that are moved by hand.

    The training computes the same numbers, to the last bit, and draws the same random ones. In a notebook the maps are
    shown while it runs, in a terminal a line. `torch.compile` and DataParallel hide activations; `w.notes` says so.

    Args:
        model: the module that is trained, of either engine; a tuple or a dict (with names) of several.
        every: one step in so many is watched, and the first; the others cost next to nothing.
        progress: whether something is shown while it runs.

    Raises:
        TypeError: `model` is no module.
        ValueError: `every` is not a whole number from 1, the models are of two engines, or they have no parameters.

    >>> import tinygrad_edu as T
    >>> from tinygrad_edu import nn
    >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    >>> with watch(model, every=1) as w:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         model(T.ones(8, 2)).square().mean().backward()
    ...         optimizer.step()
    >>> w.steps, w.layers
    (3, ['0', '2'])
    """
    models = _models(model)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every is a whole number from 1: one step in so many is watched, not {every!r}")
    behind = [(model, engine) for model in models.values() if (engine := engines.of(model)) is not None]
    names = {engine.name for _, engine in behind}
    if len(names) > 1:
        raise ValueError(f"all models must be of one engine, not of {' and '.join(sorted(names))}")
    if not any(True for part, engine in behind for _ in engine.parameters(part)):
        raise ValueError("the model has no parameters, so there is nothing that a training could move")
    return Watch(models, every, progress)


def _models(model: Any) -> dict[str, Any]:
    if isinstance(model, Mapping):
        named = {str(name): part for name, part in model.items()}
    else:
        named = {}
        for part in model if isinstance(model, (list, tuple)) else [model]:
            title = type(part).__name__
            named[title if title not in named else f"{title} {len(named) + 1}"] = part
    for part in named.values():
        engine = engines.of(part)
        if engine is None or not engine.is_module(part):
            raise TypeError(f"{ACCEPTED}; got {type(part).__name__}")
    if not named:
        raise TypeError(f"{ACCEPTED}; got none")
    return named
