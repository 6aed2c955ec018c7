"""The picture of a finding: the path from a parameter to the loss, with the place where the gradient ends marked."""

from __future__ import annotations

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation, Seen
from viz.draw import Picture
from viz.picture.svg import State
from viz.recording.graph import Graph, Op, Value

MOST = 4  # ops of a path that are shown; what lies between is counted


def picture(seen: Observation, finding: Finding) -> Picture | None:
    """The path as a picture; None where the finding has none."""
    path = [seen.values[nr] for nr in finding.path]
    if path and path[0].nr == finding.cut:  # the op that made it is what goes wrong: it is shown with one of its inputs
        given = [value for value in seen.inputs(path[0]) if value.floating]
        path = [*given[:1], *path]
    if len(path) < 2:
        return None
    cut = next((place for place, value in enumerate(path) if value.nr == finding.cut), None)
    graph = Graph()
    state: dict[str, State] = {}
    before = _add(seen, graph, path[0])
    for place in range(1, len(path)):
        if not _shown(place, cut, len(path)):
            if _shown(place - 1, cut, len(path)) or place == 1:
                before = _leave_out(graph, before, path, place, cut)
            continue
        value = path[place]
        key = f"o{len(graph.ops)}"
        made = seen.maker(value)
        linked = made is not None and path[place - 1].nr in made.inputs
        name = made.name if made is not None and linked else "as a Python number"
        recorded = made is not None and linked and made.recorded
        output = _add(seen, graph, value)
        graph.ops[key] = Op(
            key,
            (made.node if made is not None else "") or name,
            name,
            recorded,
            [before],
            [(None, 0)] if recorded else [],
            [output],
            line=made.line if made is not None else None,
        )
        graph.values[output].op = key
        if place == cut:
            state[key] = State("error")
        before = output
    return Picture(graph, title=f"{finding.kind}: the path in the graph", state=state, caption=_caption(finding))


def _shown(place: int, cut: int | None, length: int) -> bool:
    if length - 1 <= MOST or cut is None:
        return length - 1 <= MOST or place in (1, length - 1)
    return place in (cut - 1, cut) or (place == 1 and cut == 3) or (place == length - 1 and cut == length - 2)


def _leave_out(graph: Graph, before: str, path: list[Seen], place: int, cut: int | None) -> str:
    """One pill for the ops of a path that are not shown."""
    count = 1
    while place + count < len(path) and not _shown(place + count, cut, len(path)):
        count += 1
    key = f"o{len(graph.ops)}"
    last = path[place + count - 1]
    output = f"v{len(graph.values)}"
    graph.values[output] = Value(output, "value" if last.requires_grad else "result", last.name, shape=list(last.shape))
    graph.values[output].op = key
    graph.ops[key] = Op(key, f"{count} op{'s' if count > 1 else ''}", "…", last.requires_grad, [before], [], [output])
    return output


def _add(seen: Observation, graph: Graph, value: Seen) -> str:
    key = f"v{len(graph.values)}"
    leaf = seen.leaves[value.leaf] if value.leaf is not None else None
    name = (leaf.name if leaf is not None else "") or value.name
    kind = "leaf" if leaf is not None and value.requires_grad else "value" if value.requires_grad else "result"
    graph.values[key] = Value(
        key,
        kind,
        name,
        [name] if name else [],
        "" if name else f"line {value.line}",
        list(value.shape),
        value.dtype,
        requires_grad=value.requires_grad,
        accumulate=f"a{key[1:]}" if kind == "leaf" else None,
        line=value.line,
    )
    return key


def _caption(finding: Finding) -> str:
    return "Marked in red: where it goes wrong." if finding.cut is not None else ""
