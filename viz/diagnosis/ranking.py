"""Which finding comes first: the one place where causes are weighed against each other."""

from __future__ import annotations

from viz.diagnosis.finding import Finding
from viz.diagnosis.kinds import KINDS

# Of two that are equally sure, the one that the other follows from comes first.
_PLACE = {kind: place for place, kind in enumerate(KINDS)}

# What stands on the left explains what stands on the right: that is not told where the left was found.
EXPLAINS = {
    "unregistered": {"not-in-optimizer"},
    "stale-optimizer": {"not-in-optimizer", "unused"},
    "used-twice": {"unused"},
    "dead-relu": {"times-zero"},
    "equal-units": {"times-zero"},
    "exploding": {"not-finite", "overflow"},
    "unused-labels": {"zero"},
    "state-not-detached": {"second-backward", "retain-graph", "in-place"},
    "reversed": {"rate-too-large"},
    "made-anew": {"unseeded"},
    "wrong-loss": {"reversed", "rate-too-large"},
}


def rank(findings: list[Finding]) -> list[Finding]:
    """The findings with the most likely cause first; each cause once, and none that another explains."""
    once: dict[tuple[str, int | None], Finding] = {}
    for finding in findings:
        known = once.setdefault((finding.kind, finding.line), finding)
        if known is not finding:
            known.tensors = list(dict.fromkeys([*known.tensors, *finding.tensors]))
            known.share = max(known.share, finding.share)
            known.certain = known.certain or finding.certain
    explained = {follows for finding in once.values() for follows in EXPLAINS.get(finding.kind, ())}
    left = [finding for finding in once.values() if finding.kind not in explained]
    return sorted(left, key=_weight)


def _weight(finding: Finding) -> tuple[bool, bool, int, float]:
    place = _PLACE.get(finding.kind, len(KINDS))
    return not finding.explains_error, not finding.certain, place, -finding.share
