"""Which ops only serve another: the calls of a program add them, and a network shows them in the box of that op.

`q @ k` of three dimensions runs `expand` and `view` on both, and `view` on the product; a `Linear` transposes its
weight; an `LSTMCell` splits its gates. What the program itself calls keeps its box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz.recording import notation
from viz.recording.graph import Graph, Op

# Ops that only arrange what an op is given, or what it made.
ARRANGING = {
    *("t", "transpose", "permute", "view", "unsafe_view", "reshape_alias", "alias", "as_strided", "expand", "clone"),
    *("squeeze", "unsqueeze", "split", "unsafe_split", "split_with_sizes", "chunk", "unsafe_chunk", "unbind"),
}
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot"}


def served(graph: Graph, ops: Sequence[Op], levels: Mapping[str, object]) -> dict[str, list[Op]]:
    """By the key of an op, those that serve it.

    An op serves its only user, else its maker, if one call made both at the same level; without calls, a matmul.
    """
    by_key = {op.key: op for op in ops}
    users = graph.users()
    kept = {value.op for value in graph.values.values() if value.retains_grad}
    serving = [op for op in ops if notation.base_name(op) in ARRANGING and op.key not in kept and not is_cut(graph, op)]
    hosts: dict[str, str] = {}

    def serve(op: Op, others: set[str | None]) -> None:
        other = others.pop() if len(others) == 1 else None
        host = by_key.get(hosts.get(other or "", other or ""))
        if host is None or host is op or is_cut(graph, host) or levels[host.key] != levels[op.key]:
            return
        if (host.recorded, host.during, host.loops) != (op.recorded, op.during, op.loops):
            return
        if host.call == op.call if op.call else notation.base_name(host) in PRODUCTS and not _transposes(graph, op):
            hosts[op.key] = host.key

    for op in reversed(serving):
        serve(op, {user for key in op.outputs for user in users.get(key, ())})
    for op in serving:
        if op.key not in hosts:
            serve(op, {graph.values[key].op for key in op.inputs if key is not None})
    by_host: dict[str, list[Op]] = {}
    for op in serving:
        if host := hosts.get(op.key):
            by_host.setdefault(hosts.get(host, host), []).append(op)
    return by_host


def _transposes(graph: Graph, op: Op) -> bool:
    """Whether an op transposes a result; a parameter is transposed by its layer."""
    turns = notation.base_name(op) in ("t", "transpose", "permute")
    return turns and any(key is not None and graph.values[key].op for key in op.inputs)


def is_cut(graph: Graph, op: Op) -> bool:
    """Whether an op ends a path of a gradient: `detach`, or an op on what requires grad under `no_grad`."""
    if op.recorded or op.whole or op.name.endswith("_like") or op.name.startswith("new_"):  # no number goes on there
        return False
    floating = any(graph.values[key].dtype.startswith(("float", "bfloat")) for key in op.outputs)
    return floating and any(key is not None and graph.values[key].requires_grad for key in op.inputs)
