"""Decides which finding comes first: causes are weighed against each other only here."""

from __future__ import annotations

from typing import Any

from viz.diagnosis.finding import Finding
from viz.diagnosis.kinds import KINDS, TELLS

# Of two equally certain findings, the one that the other follows from comes first.
_PLACE = {kind: rank for rank, kind in enumerate(KINDS)}

# The left explains the right: the right is not reported if the left was found.
EXPLAINS = {
    "unregistered": {"not-in-optimizer"},
    "stale-optimizer": {"not-in-optimizer", "unused"},
    "used-twice": {"unused"},
    "dead-relu": {"times-zero"},
    "exploding": {"not-finite", "overflow"},
    "state-not-detached": {"second-backward", "retain-graph", "in-place"},
    "non-leaf": {"state-not-detached"},
    "unused": {"times-zero"},
}
ON_PURPOSE = "requires-grad-off"  # freezing is common: not reported beside a certain cause


def rank(findings: list[Finding]) -> list[Finding]:
    """The findings with the most likely cause first; each cause once, and none that another explains."""
    # Of several for one cause and line the first that is certain, or the first.
    ordered = sorted(findings, key=lambda finding: finding.certain, reverse=True)
    once = {(finding.kind, finding.line): finding for finding in reversed(ordered)}
    explained = {kind for finding in once.values() for kind in EXPLAINS.get(finding.kind, ())}
    certain = {finding.kind for finding in once.values() if finding.certain}
    if certain and ON_PURPOSE not in certain:
        explained.add(ON_PURPOSE)
    left = [finding for finding in findings if finding in once.values() and finding.kind not in explained]

    def turn(cause: Finding) -> tuple[Any, ...]:
        meant = cause.kind in TELLS and not cause.explains_error  # nobody means what raises
        return not cause.explains_error, not cause.certain, meant, _PLACE[cause.kind], -cause.share

    return sorted(left, key=turn)
