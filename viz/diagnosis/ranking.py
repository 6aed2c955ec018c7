"""Decides which finding comes first: causes are weighed against each other only here."""

from __future__ import annotations

from viz.diagnosis.finding import Finding
from viz.diagnosis.kinds import KINDS

# Of two equally certain findings, the one that the other follows from comes first.
_PLACE = {kind: place for place, kind in enumerate(KINDS)}

# The left explains the right: the right is not reported if the left was found.
EXPLAINS = {
    **{kind: {"rate-too-small"} for kind, what in KINDS.items() if what.group == 3},  # weights of nan move nowhere
    **{kind: {"wrong-loss"} for kind in ("item", "numpy", "new-tensor")},
    "unregistered": {"not-in-optimizer"},
    "stale-optimizer": {"not-in-optimizer", "unused"},
    "used-twice": {"unused"},
    "dead-relu": {"times-zero"},
    "equal-units": {"times-zero"},
    "exploding": {"not-finite", "overflow"},
    "state-not-detached": {"second-backward", "retain-graph", "in-place"},
    "reversed": {"rate-too-large"},
    "made-anew": {"unseeded"},
    "dropout-active": {"rate-too-large"},
    "non-leaf": {"state-not-detached"},
    "wrong-loss": {"reversed", "rate-too-large", "not-finite"},
    "unused": {"times-zero"},
}


ON_PURPOSE = {"requires-grad-off"}  # freezing is common: not reported beside a certain cause

_NO_NUMBERS = {
    "saturated", "vanishing", "exploding", "zero", "dead-relu", "clamp", "times-zero", "rate-too-small", "rate-too-large",
}  # fmt: skip

# The right may be only a consequence of the left: it is reported last, and briefly.
LEADS_TO = {
    **{name: _NO_NUMBERS for name, kind in KINDS.items() if kind.group == 3},
    "no-zero-grad": {"rate-too-large", "exploding"},
    "exploding": {"rate-too-large"},
    "vanishing": {"rate-too-small"},
    "saturated": {"vanishing", "rate-too-small"},
    "dead-relu": {"zero", "vanishing", "rate-too-small"},
    "times-zero": {"zero", "vanishing", "rate-too-small"},
    "equal-units": {"vanishing", "rate-too-small"},
}


def rank(findings: list[Finding]) -> list[Finding]:
    """The findings with the most likely cause first, what may follow from another last; each cause once, and none that another explains."""
    once: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        known = once.setdefault((finding.kind, finding.line), finding)
        if known is not finding:
            known.tensors = list(dict.fromkeys([*known.tensors, *finding.tensors]))
            known.share = max(known.share, finding.share)
            known.certain = known.certain or finding.certain
    explained = {follows for finding in once.values() for follows in EXPLAINS.get(finding.kind, ())}
    if any(finding.certain for finding in once.values()):
        explained |= {kind for kind in ON_PURPOSE if not any(one.certain and one.kind == kind for one in once.values())}
    left = [finding for finding in once.values() if finding.kind not in explained]
    left.sort(key=_weight)
    for place, finding in enumerate(left):
        causes = (one.kind for one in left[:place] if not one.follows and finding.kind in LEADS_TO.get(one.kind, ()))
        finding.follows = "" if finding.certain else next(causes, "")
    return sorted(left, key=lambda finding: bool(finding.follows))


def _weight(finding: Finding) -> tuple[bool, bool, int, float]:
    place = _PLACE.get(finding.kind, len(KINDS))
    return not finding.explains_error, not finding.certain, place, -finding.share
