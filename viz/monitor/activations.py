"""What comes out of each layer in a step's forward passes: mean, size, and how many units are dead or saturated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from viz.engines import Engine
from viz.monitor.layers import Layer, Layers
from viz.recording.saved import saved_tensors

# Activation functions with a flat part, by their node. A unit is dead if its relu is 0 for every sample. An output is
# saturated if it is so close to an end of its range that it lets hardly a hundredth of the gradient through.
DEAD = "Relu"
ENDS = {"Tanh": (-0.995, 0.995), "Sigmoid": (0.0025, 0.9975)}
FAR = 8  # nodes from an activation function back to its layer
LARGE = 1 << 18  # numbers of an output; of a larger one a part of the samples is read


@dataclass
class _Seen:
    """What the calls of one layer have shown since the last step: tensors of the engine, read once at the step."""

    calls: int = 0
    mean: Any = 0.0
    size: Any = 0.0
    alive: Any = None
    saturated: Any = None
    bent: int = 0  # calls of its tanh or sigmoid


class Activations:
    """Reads the outputs of layers. Only what is recorded for a backward pass counts: an evaluation is left out."""

    def __init__(self, engine: Engine, layers: Layers) -> None:
        self.engine = engine
        self.layers = layers
        self._seen: dict[int, _Seen] = {}
        self._made: dict[tuple[str, int], Layer] = {}  # the layer that made a node, by the node's name and number
        self._met: set[tuple[str, int]] = set()  # activation functions that were read

    def called(self, module: Any, inputs: Any, output: Any) -> None:
        """A forward hook for all modules."""
        torch = self.engine.module
        if not torch.is_grad_enabled():
            return
        with self.engine.quietly(), torch.no_grad():
            sides = (self.engine.tensors((side,)) for side in (inputs, output))
            given, outputs = ([tensor for tensor in side if not self.engine.why_unreadable(tensor)] for side in sides)
            for tensor in given:
                self._bent(tensor)
            layer = self.layers.by_module.get(id(module))
            if layer is not None and outputs and "float" in str(outputs[0].dtype):
                seen = self._seen.setdefault(layer.number, _Seen())
                read = self._part(outputs[0].detach())
                seen.calls += 1
                seen.mean = seen.mean + read.mean()
                seen.size = seen.size + read.abs().mean()
                for output in outputs:
                    if (node := _key(output.grad_fn)) is not None:
                        self._made[node] = layer
            elif layer is None:
                for tensor in outputs:
                    self._bent(tensor)

    def _part(self, tensor: Any) -> Any:
        tensor = tensor.float() if "16" in str(tensor.dtype) else tensor
        stride = -(-tensor.numel() // LARGE) if tensor.ndim else 1
        return tensor[:: min(stride, tensor.shape[0])] if stride > 1 else tensor

    def _bent(self, tensor: Any) -> None:
        """Read the activation function that a tensor went through, if its layer is known and it was not read before."""
        node, function, result = tensor.grad_fn, None, tensor
        for _ in range(FAR):
            key = _key(node)
            if key is None:
                return
            if function is not None and key in self._made:
                self._read(self._made[key], function, result)
                return
            kind = key[0].removesuffix("Backward0").removesuffix("Backward1")
            if function is None and (kind == DEAD or kind in ENDS):
                if key in self._met:
                    return
                self._met.add(key)
                if node is not tensor.grad_fn:  # a view or a dropout is in between
                    result = dict(saved_tensors(self.engine, node)).get("result")
                    if not self.engine.is_tensor(result) or self.engine.why_unreadable(result):  # a hook holds it
                        return
                function, result = kind, result.detach()
            elif key in self._made:
                return
            node = node.next_functions[0][0] if node.next_functions else None

    def _read(self, layer: Layer, function: str, result: Any) -> None:
        seen = self._seen.setdefault(layer.number, _Seen())
        if function in ENDS:
            low, high = ENDS[function]
            outside = ((result - (low + high) / 2).abs() > (high - low) / 2).float().mean()
            seen.saturated = outside if seen.saturated is None else seen.saturated + outside
            seen.bent += 1
            return
        unit = layer.unit_dimension % result.ndim if result.ndim else 0
        others = tuple(dim for dim in range(result.ndim) if dim != unit)
        alive = result.amax(dim=others) > 0 if others else result > 0
        seen.alive = alive if seen.alive is None or seen.alive.shape != alive.shape else seen.alive | alive

    def taken(self, layers: list[Layer]) -> list[tuple[Layer, dict[str, Any]]]:
        """What was seen of these layers since they were last taken: numbers, or tensors of one element."""
        entries = []
        for layer in layers:
            seen = self._seen.pop(layer.number, None)
            if seen is None or not seen.calls:
                continue
            told = {"mean": seen.mean / seen.calls, "activation": seen.size / seen.calls}
            if seen.alive is not None:
                told["dead"] = 1 - seen.alive.float().mean()
            if seen.bent:
                told["saturated"] = seen.saturated / seen.bent
            entries.append((layer, told))
        return entries

    def drop(self, layers: list[Layer]) -> None:
        """What was seen of these layers belongs to a step that is over."""
        for layer in layers:
            self._seen.pop(layer.number, None)

    def forget_nodes(self) -> None:
        """The graph is gone, and the numbers of its nodes with it."""
        self._made.clear()
        self._met.clear()


def _key(node: Any) -> tuple[str, int] | None:
    """What a node is known by. The node itself would keep its graph alive."""
    return None if node is None else (node.name(), node._sequence_nr())
