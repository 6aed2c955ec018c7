"""Reads the finished graph of a loss: which parameters it reaches, and whether their gradients are finite."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from viz.diagnosis.finding import Finding, listed
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
RUN_IT = "Give the program itself, viz.diagnose(program): it names the op and its line."


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
    told = f"{len(reached)} leaves that the graph of the loss reaches; a program tells more"
    return Report(seen, rank(findings), looked_at=told)


def _leaves(engine: Engine, loss: Any) -> set[int]:
    found, met, stack = set(), {}, [engine.node(loss)]  # it keeps the nodes alive, so that no number is used twice
    while stack:
        node = stack.pop()
        if node is None or id(node) in met:
            continue
        met[id(node)] = node
        if node.name() == ACCUMULATE:
            found.add(id(node.variable))
        stack += [behind for behind, _ in node.next_functions]
    return found


def _read(engine: Engine, loss: Any, model: Any, optimizer: Any, reached: set[int]) -> Iterator[Finding]:
    named: list[tuple[str, Any]] = list(model.named_parameters()) if model is not None else []
    known = {id(tensor) for _, tensor in named}
    held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer is not None else []
    rest = [p for p in held if id(p) not in known]
    named += [(f"parameter {place} of the optimizer", tensor) for place, tensor in enumerate(rest)]
    holds = {id(p) for p in held} if held else known

    def one(kind: str, group: int, words: str, fix: str, hit: list[str], certain: bool = False) -> Iterator[Finding]:
        if hit:
            share = len(hit) / len(named)
            yield Finding(kind, None, certain, words.format(listed(hit)), fix, hit, group=group, share=share)

    value = float(loss.detach().sum().item())
    if not math.isfinite(value):
        yield Finding("not-finite", None, True, f"The loss is {value}.", RUN_IT, group=3, share=1.0)
    missing = [name for name, tensor in named if tensor.requires_grad and id(tensor) not in reached]
    unreached = [tensor for name, tensor in named if name in missing]
    words = "No path of the graph leads from the loss to {}: backward() leaves .grad there as it is, None at first."
    fix = "Give the program that makes the loss, viz.diagnose(program): it names the line that cut the path."
    yield from one("cut", 1, words, fix, missing, bool(missing) and _no_path(engine, loss, unreached))
    frozen = [name for name, tensor in named if not tensor.requires_grad]
    fix = "Switch it on for everything that should learn: p.requires_grad_(True)."
    yield from one("requires-grad-off", 1, "requires_grad is off for {}.", fix, frozen)
    peaks = {name: float(abs(engine.array(t.grad)).max()) for name, t in named if t.grad is not None and t.numel()}
    bad = [name for name, peak in peaks.items() if not math.isfinite(peak)]
    yield from one("not-finite", 3, ".grad is not finite for {}.", RUN_IT, bad)
    yield from one("zero", 2, ".grad is all zeros for {}.", RUN_IT, [name for name, peak in peaks.items() if not peak])
    lost = [name for name, t in named if t.requires_grad and id(t) in reached and id(t) not in holds]
    fix = "Make the optimizer from model.parameters(), after the model is complete."
    yield from one("not-in-optimizer", 5, "The loss reaches {}, but the optimizer does not hold it.", fix, lost)


def _no_path(engine: Engine, loss: Any, tensors: list[Any]) -> bool:
    """Whether the engine itself finds no way back to any of some tensors: asked for their gradients, it runs no node and gives None."""
    try:
        found = engine.module.autograd.grad(
            loss, tensors, engine.module.ones_like(loss), retain_graph=True, allow_unused=True
        )
    except RuntimeError:  # the graph was freed
        return False
    return all(one is None for one in found)
