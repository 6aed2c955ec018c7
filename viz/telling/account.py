"""The effects of a change: the table of gradients, and one sentence that says what changed and why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from viz import engines
from viz.engines import CORE, TORCH
from viz.frames.scene import scene
from viz.picture.fit import ROOMS, Room
from viz.picture.kept import Kept
from viz.recording.distance import apart, coarsest, different
from viz.recording.graph import Array, array_of
from viz.recording.notation import number
from viz.recording.recording import Recording
from viz.telling.arithmetic import Arithmetic, numbers_of, place, signed
from viz.telling.common_mistakes import recognise
from viz.telling.explain import explain

NOTHING = "No line makes a tensor, so there is no graph. Start with one: w = T.tensor(3.0, requires_grad=True)"
NOT_YET = "It stops before it has made a tensor, so there is no graph."
PRINTED = 2000  # the last characters of a program's output
_TOLD = ("phase", "title", "sentence", "line")  # the entries of a step that are shown
_LONGEST = 6  # numbers written out; a longer array is described by its shape and norm


def numbers(value: Any) -> str:
    """A number or nested list as short text.

    >>> numbers([1.0, -0.25]), numbers(0.30000001)
    ('[1, −0.25]', '0.3')
    """
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(numbers(item) for item in value) + "]"
    return number(value) if isinstance(value, (int, float)) else str(value)


def array(data: dict[str, Any] | None) -> str:
    """An array of a recording as short text."""
    if data is None:
        return ""
    size = math.prod(data["shape"])
    if data["data"] is not None and size <= _LONGEST:
        return numbers(data["data"])
    shape = f"{size} numbers" if len(data["shape"]) == 1 else " × ".join(map(str, data["shape"]))
    return f"{shape}, norm {number(data['norm'])}"


def title(engine: str, device: str) -> str:
    """The heading of an engine's picture, such as `PyTorch 2.13.0, CPU`."""
    if engine != TORCH:
        return engine
    try:
        version = str(engines.load(TORCH).module.__version__).partition("+")[0]
    except ModuleNotFoundError:
        return "PyTorch"
    return f"PyTorch {version}, {'CPU' if device == 'cpu' else 'GPU'}"


def shown(recording: Recording, identity: str, views: tuple[str, ...], beside: Recording | None) -> dict[str, Any]:
    """What the browser needs to show one engine's side: its pictures, for all rooms, and what is said of its run.

    `beside` is the other engine's recording if the two differ: the pictures then carry both numbers.
    """
    side: dict[str, Any] = {}
    if recording.graph.values:
        side["scene"] = pictured(recording, identity, views, None, ROOMS, beside)
    return {**side, **said(recording)}


def pictured(
    recording: Recording,
    identity: str,
    views: tuple[str, ...],
    kept: Kept | None,
    rooms: tuple[Room, ...],
    beside: Recording | None,
) -> dict[str, Any]:
    """The pictures, details and steps of a scene, as far as a side shows them."""
    drawn = scene(recording, identity=identity, views=views, kept=kept, rooms=rooms, beside=beside)
    drawn["steps"] = [{name: step[name] for name in _TOLD} for step in drawn["steps"]]
    return {name: drawn[name] for name in ("views", "details", "steps")}


def end_of(printed: str) -> str:
    """The end of what a program printed, in whole lines if it can be, under a note of how much is hidden."""
    if len(printed) <= PRINTED:
        return printed
    kept = printed[-PRINTED:]
    kept = kept.partition("\n")[2] or kept
    return f"… {len(printed) - len(kept):,} characters printed before this are hidden\n{kept}"


def said(recording: Recording) -> dict[str, Any]:
    """What a side says without a picture: why there is none, the error with our sentence, the output."""
    side: dict[str, Any] = {"stdout": end_of(recording.stdout)}
    if not recording.graph.values:
        side["missing"] = NOTHING if recording.error is None else NOT_YET
    if recording.error is not None:
        known = recognise(recording.error["message"])
        if known is not None:  # there is a lesson about it
            side["error"] = {**recording.error, "explanation": known.why, "mistake": known.name}
        else:
            sentence = explain(recording.error["type"], recording.error["message"])
            side["error"] = {**recording.error, "explanation": sentence}
    return side


def not_built(recording: Recording, theirs: Recording | None) -> str:
    """Where and why a program runs on PyTorch alone; empty if tinygrad_edu has all it needs, or PyTorch lacks it too.

    `theirs` is None where PyTorch cannot run: then a name that is almost one of ours counts as misspelt.
    """
    error = recording.error
    if recording.engine != engines.CORE or error is None or not engines.not_built(error["message"]):
        return ""
    if theirs is None:
        stops = error["message"].startswith("Did you mean")
    else:
        their = theirs.error or {}
        stops = (their.get("type"), their.get("line")) == (error["type"], error["line"])
    if stops:
        return ""
    where = "" if error["line"] is None else f"Line {error['line']}: "
    return f"{where}{error['message']}"


def missing(message: str) -> str:
    """What takes the place of an engine that cannot run."""
    return f"{message} {explain('', message)}".strip()


def gradient(tensor: dict[str, Any]) -> str:
    """`.grad` of a tensor, or why there is none."""
    if tensor["grad"] is not None:
        return array(tensor["grad"])
    if tensor["requires_grad"] is False:
        return "None: requires no grad"
    if tensor["is_leaf"]:
        return "None: no gradient has arrived"
    if tensor["retains_grad"]:
        return "None: kept, but none has arrived"
    return "None: not a leaf, no retain_grad()"


def table(recordings: dict[str, Recording], shaken: Recording | None = None) -> list[dict[str, Any]]:
    """A row for each named tensor: its value, and `.grad` on each engine; `agree` is None with only one engine.

    `shaken` is a run on PyTorch that shows what rounding does: what moves as far there, agrees.
    """
    names: dict[str, None] = {}
    for recording in recordings.values():
        names.update(dict.fromkeys(recording.tensors))
    rows = []
    both = len(recordings) == 2
    rounded = coarsest(*recordings.values()) if both else 0.0
    for name in names:
        sides = {engine: recording.tensors.get(name) for engine, recording in recordings.items()}
        first = next(side for side in sides.values() if side is not None)
        moved = shaken.tensors.get(name) if shaken is not None else None
        differs = _differs(sides[CORE], sides[TORCH], rounded, moved) if both else ""
        rows.append(
            {
                "name": name,
                "value": array(first["value"]),
                "leaf": first["is_leaf"],
                "requires_grad": first["requires_grad"],
                "grad_fn": first["grad_fn"],
                "grad": {engine: "not reached" if side is None else gradient(side) for engine, side in sides.items()},
                "agree": not differs if both else None,
                "differs": differs,
            }
        )
    return rows


def _differs(
    ours: dict[str, Any] | None, theirs: dict[str, Any] | None, rounded: float, moved: dict[str, Any] | None
) -> str:
    """How a tensor differs between two engines, in words; empty if it does not."""
    if ours is None or theirs is None:
        return "" if ours is theirs else "only one engine got so far"
    numbers = ("value", "grad")
    differing = apart(ours, theirs, rounded, moved)
    return "; ".join(name if name in numbers else f"{name}: {ours[name]} and {theirs[name]}" for name in differing)


def errors_of(sides: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errors of the engines, each once. If both raise the same in the same line, PyTorch's words are added."""
    told: list[dict[str, Any]] = []
    for side in sides:
        error = side.get("error")
        if error is None:
            continue
        first = told[0] if told else None
        if first is not None and (first["type"], first["line"]) == (error["type"], error["line"]):
            first["engines"].append(side["engine"])
            if error["message"] != first["message"]:
                first["pytorch"] = error["message"]
        else:
            told.append({**error, "engines": [side["engine"]]})
    return told


def beside(recordings: dict[str, Recording], engine: str, agree: bool | None) -> Recording | None:
    """The other engine's recording if the two do not agree, to show its numbers beside these."""
    return None if agree is not False else next(recording for name, recording in recordings.items() if name != engine)


def verdict(
    recordings: dict[str, Recording], rows: list[dict[str, Any]], sides: list[dict[str, Any]]
) -> dict[str, Any]:
    """Whether the engines agree, and on how much: `agree` is None if PyTorch has not run, `differs` says where.

    The names of the nodes are `details`, as in `viz.compare`: they change no value, no gradient and no error.
    """
    full = next((side["title"] for side in sides if side["engine"] == TORCH), "PyTorch").partition(",")[0]
    name = re.sub(r"(\d+\.\d+)\S*", r"\1", full)  # PyTorch 2.13
    if len(recordings) < 2:
        away = next((side["missing"] for side in sides if "missing" in side), "")
        label = f"{name} alone" if TORCH in recordings else f"{name} has not run"
        return {"agree": None, "label": label, "compared": away, "differs": [], "details": []}
    ours, theirs = recordings[CORE], recordings[TORCH]
    differs = [f"{row['name']}: {row['differs']}" for row in rows if not row["agree"]]
    nodes = _recorded(ours), _recorded(theirs)
    only = [(_minus(nodes[0], nodes[1]), ours.engine), (_minus(nodes[1], nodes[0]), "PyTorch")]
    details = [f"{_list(names)} in {engine} alone" for names, engine in only if names]
    stops = [
        (recording.error["type"], recording.error["line"]) if recording.error is not None else None
        for recording in (ours, theirs)
    ]
    if stops[0] != stops[1]:
        said = ["runs to its end" if stop is None else f"stops in line {stop[1]} with {stop[0]}" for stop in stops]
        differs.append(f"{ours.engine} {said[0]}, PyTorch {said[1]}")
    grads = sum(any(not grad.startswith("None") for grad in row["grad"].values()) for row in rows)
    counts = [(len(nodes[1]), "node"), (len(rows), "tensor"), (grads, "gradient")]
    compared = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
    if stops[0] is not None and stops[0] == stops[1]:
        compared += f", {stops[0][0]}"
    label = f"{name} {'agrees' if not differs else 'differs'}"
    return {"agree": not differs, "label": label, "compared": compared, "differs": differs, "details": details}


_NUMBER = re.compile(r"(?<![\w.])\d[\d_.]*(?:e[+-]?\d+)?")


_FEW = 3  # new lines that are still an edit, whatever stands beside them
ANOTHER = "This is another program, so nothing is compared with the one before."


def is_another(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a text has more new lines than old ones: then it is no edit of the listing before."""
    old = {line.strip() for line in before}
    lines = [line.strip() for line in after if line.strip()]
    new = [line for line in lines if line not in old]
    return len(new) > max(_FEW, len(lines) // 2)


def rewritten(old: Sequence[str], new: Sequence[str], owner: Sequence[int]) -> str:
    """How a listing was edited by hand, as the start of a sentence; empty if it was not.

    `owner` holds, for each line of `new`, the line of the program that it is shown at.

    >>> rewritten(["a = x * 2"], ["a = x * 3"], [1]), rewritten(["a = 1"], ["a = 1", "b = a"], [1, 2])
    ('Line 1 has 3 instead of 2', 'Line 2 is new')
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    first = owner[start] if start < len(owner) else start + 1
    if not gone and not come:
        return ""
    if not gone or not come:
        lines = come or gone
        place = f"Lines {first} to {first + len(lines) - 1} are" if len(lines) > 1 else f"Line {first} is"
        return f"{place} {'new' if come else 'gone'}"
    if len(gone) == len(come) == 1:
        numbers = [_NUMBER.findall(line[0]) for line in (gone, come)]
        changed = [pair for pair in zip(*numbers, strict=False) if pair[0] != pair[1]]
        if len(changed) == 1 and _NUMBER.sub("0", gone[0]) == _NUMBER.sub("0", come[0]):
            return f"Line {first} has {changed[0][1]} instead of {changed[0][0]}"
        return f"Line {first} is rewritten"
    return f"The program is rewritten from line {first} on"


def account(cause: str, before: Recording | None, after: Recording | None, unfelt: str) -> str:
    """One sentence: a change, and its effect on the graph, on the gradients or on an error; `unfelt` if it has none."""
    if not cause or before is None or after is None:
        return cause + "." if cause else ""
    effects = _effects(before, after)
    return f"{cause}: {'; '.join(effects)}." if effects else f"{cause}: {unfelt}"


def sizes(value: Any) -> tuple[int, ...]:
    """The shape of a number or nested list.

    >>> sizes([[1.0, 2.0, 3.0]]), sizes(2.0)
    ((1, 3), ())
    """
    sizes = []
    while isinstance(value, (list, tuple)):
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes)


def _effects(before: Recording, after: Recording) -> list[str]:
    told = []
    if after.error is not None and (before.error is None or before.error["message"] != after.error["message"]):
        where = f"line {after.error['line']}" if after.error["line"] else "the program"
        told.append(f"{where} now raises {after.error['type']}")
    if before.error is not None and after.error is None:
        told.append("the error is gone")
    told += _graph_effects(before, after)
    if after.error is not None and before.error is None:
        return told  # that already says that no gradient came
    told += _pass_effects(before, after)
    arithmetic = Arithmetic(after)
    of_value = _value_effects(before, after, arithmetic)
    return told + of_value + _gradient_effects(before, after, arithmetic, 2 if of_value else 3)


def _recorded(recording: Recording, during: str = "forward") -> list[str]:
    return [op.name for op in recording.graph.ops.values() if op.recorded and op.during == during]


def _pass_effects(before: Recording, after: Recording) -> list[str]:
    old, new = len(_recorded(before, "backward")), len(_recorded(after, "backward"))
    if old == new:
        return []
    left = f"has left {new} new node{'' if new == 1 else 's'}, and can be differentiated again"
    return [f"the pass {left}" if new else "the pass has left no nodes"]


def _graph_effects(before: Recording, after: Recording) -> list[str]:
    old, new = _recorded(before), _recorded(after)
    gone, come = _minus(old, new), _minus(new, old)
    if gone and not new:
        return ["no op is recorded any more, so there is no graph to go back through"]
    told = []
    if gone:
        told.append(f"{_list(gone)} {'is' if len(gone) == 1 else 'are'} no longer recorded")
    if come:
        told.append(f"{_list(come)} {'is' if len(come) == 1 else 'are'} recorded")
    return told


def _value_effects(before: Recording, after: Recording, arithmetic: Arithmetic) -> list[str]:
    """What became of the value that the program ends with: its loss, or else the last result with a name."""
    root = next(
        (event.values[0] for event in reversed(after.events) if event.kind == "backward" and event.values), None
    )
    named = [name for name, tensor in after.tensors.items() if tensor["key"] == root]
    last = [name for name, tensor in after.tensors.items() if after.graph.values[tensor["key"]].op is not None]
    name = (named or last or [""])[-1]
    if name not in before.tensors:
        return []
    old, new = array_of(before.tensors[name]["value"]), array_of(after.tensors[name]["value"])
    if not different(old, new):
        return []
    key = after.tensors[name]["key"]
    index = _most_changed(old, new)
    if index is None:
        return [f"{name} is {array(after.tensors[name]['value'])} (was {array(before.tensors[name]['value'])})"]
    computed = arithmetic.value(key, index)
    return [_changed(name, index, computed.written(3) if computed is not None else "", old, new)]


def _gradient_effects(before: Recording, after: Recording, arithmetic: Arithmetic, most: int) -> list[str]:
    told: list[str] = []
    count = 0
    stopped = [
        name for name in after.tensors if name in before.tensors and _stopped(before.tensors[name], after.tensors[name])
    ]
    if len(stopped) > most:
        told.append(f"{stopped[0]}.grad and {len(stopped) - 1} more are None: they require no grad")
    for name in after.tensors:
        if name not in before.tensors or (len(stopped) > most and name in stopped):
            continue
        old, new = (array_of(run.tensors[name]["grad"]) for run in (before, after))
        if not different(old, new):
            continue
        count += 1
        if count > most:
            continue
        if new is None:
            told.append(f"{name}.grad is {gradient(after.tensors[name])} (was {array(before.tensors[name]['grad'])})")
            continue
        index = _most_changed(old, new)
        if index is None:
            was = array(before.tensors[name]["grad"]) or "None"
            told.append(f"{name}.grad is {array(after.tensors[name]['grad'])} (was {was})")
            continue
        told.append(
            _changed(f"{name}.grad", index, _reason(arithmetic, after.tensors[name]["key"], index, new), old, new)
        )
    if count > most:
        told.append(f"{count - most} more gradient{'s' if count > most + 1 else ''} changed")
    return told


def _stopped(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a tensor had a gradient, and has none because it requires none any more."""
    return was["grad"] is not None and now["grad"] is None and not now["requires_grad"]


def _most_changed(old: Array | None, new: Array | None) -> tuple[int, ...] | None:
    """The entry that changed most; None where the numbers are not all recorded."""
    now, was = numbers_of(new), numbers_of(old)
    if now is None or not now.size or (old is not None and was is None):
        return None
    gap = np.abs(now - was) if was is not None and was.shape == now.shape else np.abs(now)
    gap = np.where(np.isnan(gap), np.inf, gap)
    return tuple(int(i) for i in np.unravel_index(int(gap.argmax()), now.shape))


def _changed(title: str, index: tuple[int, ...], why: str, old: Array | None, new: Array | None) -> str:
    """An entry as arithmetic, and what it was: `w.grad = 3 × 11.2 = 33.6 (was 12)`."""
    now, was = numbers_of(new), numbers_of(old)
    assert now is not None
    result = number(now[index])
    there = was is not None and was.shape == now.shape
    before = number(was[index]) if there and was is not None else "None" if was is None else f"of shape {was.shape}"
    told = f"{why} = {result}" if why and why != result else result
    return f"{place(title, index)} = {told} (was {before})"


def _reason(arithmetic: Arithmetic, key: str, index: tuple[int, ...], total: Array) -> str:
    """How an entry of a `.grad` arose, as arithmetic: a product, what met in its inbox, or what was there before."""
    parts, inbox = arithmetic.gradient(key, index), arithmetic.arrived(key)
    whole = numbers_of(total)
    if inbox is None or whole is None or inbox.shape != whole.shape or not parts:
        return ""
    came, now = float(inbox[index]), float(whole[index])
    if not math.isclose(came, now, rel_tol=1e-4, abs_tol=1e-12):
        return f"{number(now - came)} + {signed(came)}"
    met = sum(part.result for part in parts)
    if not math.isclose(met, came, rel_tol=1e-3, abs_tol=1e-9):
        return f"hook({number(met)})"
    if len(parts) == 1:
        return parts[0].written(3) if parts[0].terms else ""
    return " + ".join(signed(part.result) if at else number(part.result) for at, part in enumerate(parts))


def _minus(these: list[str], those: list[str]) -> list[str]:
    left = list(those)
    kept = []
    for name in these:
        if name in left:
            left.remove(name)
        else:
            kept.append(name)
    return kept


def _list(names: list[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
