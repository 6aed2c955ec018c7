"""Reads the finished graph of a loss: which parameters it reaches, and where it ends in zeros or nan."""

from __future__ import annotations

import math
from typing import Any

from viz.diagnosis.finding import Finding, listed, number
from viz.diagnosis.observation import Observation
from viz.diagnosis.places import Places
from viz.diagnosis.ranking import rank
from viz.diagnosis.report import Report
from viz.engines import ACCUMULATE, Engine
from viz.recording.source import Source

NO_GRAPH = (
    "this tensor has no graph: it requires no grad. Give the loss itself, before item() or detach(); or give the "
    "program that makes it: viz.diagnose(program) watches it from its first line and can name the line that cut the "
    "graph"
)


def diagnose_loss(engine: Engine, loss: Any, model: Any, optimizer: Any) -> Report:
    """Read the finished graph behind `loss`; nothing is run.

    Raises:
        ValueError: there is no graph behind it.
        TypeError: `model` is not a module of the loss's engine.
    """
    if not loss.requires_grad:
        raise ValueError(NO_GRAPH)
    if model is not None and not engine.is_module(model):
        raise TypeError(f"model must be a module of {engine.name}, as the loss is, not {type(model).__name__}")
    with engine.quietly():
        reached = _leaves(engine, loss)
        findings = list(_read(engine, loss, model, optimizer, reached))
    seen = Observation(engine.name, Places(Source("")))
    return Report(
        seen, rank(findings), "", 0, f"{len(reached)} leaves that the graph of the loss reaches; a program tells more"
    )


def _leaves(engine: Engine, loss: Any) -> dict[int, Any]:
    found: dict[int, Any] = {}
    met, stack = set(), [engine.node(loss)]
    held = []  # keeps the nodes alive, so that no number is used twice
    while stack:
        node = stack.pop()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        held.append(node)
        if node.name() == ACCUMULATE:
            found[id(node.variable)] = node.variable
        stack += [behind for behind, _ in node.next_functions]
    return found


def _read(engine: Engine, loss: Any, model: Any, optimizer: Any, reached: dict[int, Any]) -> Any:
    named: list[tuple[str, Any]] = list(model.named_parameters()) if model is not None else []
    known = {id(tensor) for _, tensor in named}
    if optimizer is not None:
        rest = [p for group in optimizer.param_groups for p in group["params"] if id(p) not in known]
        named += [(f"parameter {place} of the optimizer", tensor) for place, tensor in enumerate(rest)]
    value = float(loss.detach().sum().item())
    if not math.isfinite(value):
        yield Finding(
            "not-finite", None, True, f"The loss is {value}.",
            "Give the program itself: the report then names the first op that caused this, with "
            "its line.", group=3, share=1.0,
        )  # fmt: skip
    missing = [name for name, tensor in named if tensor.requires_grad and id(tensor) not in reached]
    if missing:
        yield Finding(
            "cut", None, _no_path(engine, loss, [tensor for name, tensor in named if name in missing]),
            f"No path of the graph leads from the loss to {listed(missing)}: backward() will leave "
            f"{'its' if len(missing) == 1 else 'their'} .grad unchanged, which is None at first.",
            "Give the program that makes the loss, viz.diagnose(program): it names the line that cut the path.",
            missing, group=1, share=len(missing) / len(named),
        )  # fmt: skip
    frozen = [name for name, tensor in named if not tensor.requires_grad]
    if frozen:
        yield Finding(
            "requires-grad-off", None, False, f"requires_grad is off for {listed(frozen)}.",
            "Switch it on for everything that should learn: "
            "p.requires_grad_(True).", frozen, group=1, share=len(frozen) / len(named),
        )  # fmt: skip
    for kind, group, fits, text in (
        ("not-finite", 3, lambda peak: not math.isfinite(peak), "is not finite"),
        ("zero", 2, lambda peak: peak == 0, "is all zeros"),
    ):
        hit = [name for name, tensor in named if tensor.grad is not None and fits(_peak(engine, tensor.grad))]
        if hit:
            yield Finding(
                kind, None, False, f".grad {text} for {listed(hit)}.",
                "Give the program itself, viz.diagnose(program): it names the op and its line.", hit, group=group,
                share=len(hit) / len(named),
            )  # fmt: skip
    if optimizer is not None and model is not None:
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        lost = [
            name for name, tensor in named if tensor.requires_grad and id(tensor) in reached and id(tensor) not in held
        ]
        if lost:
            yield Finding(
                "not-in-optimizer", None, False, f"The loss reaches {listed(lost)}, but the optimizer does not hold it.",
                "Make the optimizer from model.parameters(), after the model is complete.", lost, group=5,
                share=len(lost) / len(named),
            )  # fmt: skip
    sizes = [(name, _peak(engine, tensor.grad)) for name, tensor in named if tensor.grad is not None]
    small = [size for _, size in sizes if 0 < size < math.inf]
    if len(small) > 3 and max(small) / min(small) > 1e6:
        low = min(sizes, key=lambda each: each[1] or math.inf)
        high = max(sizes, key=lambda each: each[1])
        yield Finding(
            "vanishing", None, False,
            f"The gradient of {low[0]} is at most {number(low[1])}, and that of {high[0]} is {number(high[1])}.",
            "Give the program itself, viz.diagnose(program): it names the line where it falls.", [low[0]], group=4,
        )  # fmt: skip


def _no_path(engine: Engine, loss: Any, tensors: list[Any]) -> bool:
    """Whether the engine itself finds no way back to any of some tensors: asked for their gradients, it runs no node and gives None."""
    try:
        found = engine.module.autograd.grad(
            loss, tensors, engine.module.ones_like(loss), retain_graph=True, allow_unused=True
        )
    except RuntimeError:  # the graph was freed
        return False
    return all(one is None for one in found)


def _peak(engine: Engine, tensor: Any) -> float:
    numbers = engine.array(tensor)
    return float(abs(numbers).max()) if numbers.size else 0.0
