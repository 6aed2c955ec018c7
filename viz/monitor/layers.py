"""The layers of watched models: the modules that have parameters of their own, by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from viz import engines

ALONG_FIRST = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm", "SyncBatchNorm")  # layers whose units are dimension 1
WRAPPERS = ("_orig_mod.", "module.")  # what torch.compile and DataParallel put before each path


@dataclass(eq=False)
class Layer:
    """One layer: its place in all lists of numbers, its path, and its parameters that are trained."""

    number: int
    name: str
    kind: str
    parameters: list[Any] = field(default_factory=list)
    frozen: bool = False

    @property
    def unit_dimension(self) -> int:
        """The dimension of its output that counts its units."""
        return 1 if self.kind.removeprefix("Lazy").startswith(ALONG_FIRST) else -1


class Layers:
    """The layers of `models`, in the order of `named_modules`. `learn` looks again: training may add or freeze some."""

    def __init__(self, models: Mapping[str, Any]) -> None:
        self.models = dict(models)
        self.all: list[Layer] = []
        self._known: dict[tuple[str, str], Layer] = {}
        self.by_module: dict[int, Layer] = {}
        self.by_parameter: dict[int, Layer] = {}
        self.learn()

    def learn(self) -> None:
        """Read the models anew."""
        self.by_module, self.by_parameter = {}, {}
        for title, root in self.models.items():
            wrapped = ""  # a wrapper's own part of the paths
            engine = engines.of(root)
            assert engine is not None
            for path, module in engine.modules(root):
                if path and f"{path}." == wrapped + next(
                    (wrapper for wrapper in WRAPPERS if f"{path}." == wrapped + wrapper), "-"
                ):
                    wrapped = f"{path}."
                own = [parameter for parameter in module._parameters.values() if parameter is not None]
                if own:
                    self._take(title, path.removeprefix(wrapped), module, own)

    def _take(self, title: str, path: str, module: Any, own: list[Any]) -> None:
        layer = self._known.get((title, path))
        if layer is None:
            name = ".".join(filter(None, (title if len(self.models) > 1 else "", path))) or type(module).__name__
            layer = self._known[title, path] = Layer(len(self.all), name, type(module).__name__)
            self.all.append(layer)
        layer.parameters = [parameter for parameter in own if parameter.requires_grad]
        layer.frozen = not layer.parameters
        self.by_module[id(module)] = layer
        for parameter in layer.parameters:
            self.by_parameter.setdefault(id(parameter), layer)

    def of(self, parameters: Iterator[Any]) -> list[Layer]:
        """The layers that some of these parameters belong to, in order."""
        layers = {id(layer): layer for p in parameters if (layer := self.by_parameter.get(id(p))) is not None}
        return sorted(layers.values(), key=lambda layer: layer.number)


def unseen(models: Mapping[str, Any]) -> str:
    """Why the activations of a model cannot be seen, in one sentence; empty if they can."""
    for root in models.values():
        engine = engines.of(root)
        for _, module in engine.modules(root) if engine is not None else ():
            if type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None:
                why = "The model is compiled: torch.compile runs no hooks inside it"
            elif type(module).__name__ == "DataParallel" and len(getattr(module, "device_ids", ())) > 1:
                why = "DataParallel runs copies of the model, one for each GPU"
            else:
                continue
            return f"{why}, so there are no activations here. Gradients, updates and the loss are seen as ever."
    return ""
