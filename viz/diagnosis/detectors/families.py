"""Families of ops by name, which several detectors use, and the walk past ops that leave the numbers unchanged."""

from __future__ import annotations

from viz.diagnosis.observation import Observation, Ran, Seen

RESHAPES = {
    "view", "reshape", "squeeze", "unsqueeze", "flatten", "transpose", "permute", "contiguous", "t", "T", "mT", "expand",
}  # fmt: skip
TURNS = RESHAPES | {"to", "float", "clone"}  # same numbers, in another shape or type
FAR = 6  # the most ops that the walk goes past


def source(seen: Observation, nr: int, past: set[str] = TURNS) -> tuple[Seen, Ran | None]:
    """A value and its maker, past ops that only change its shape or type."""
    value = seen.values[nr]
    maker = seen.maker(value)
    for _ in range(FAR):
        if maker is None or maker.name not in past or not maker.inputs:
            break
        value = seen.values[maker.inputs[0]]
        maker = seen.maker(value)
    return value, maker
