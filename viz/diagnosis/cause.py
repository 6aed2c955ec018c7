"""The picture of a finding: the path from a parameter to the loss, with the place where the gradient ends marked."""

from __future__ import annotations

from viz.diagnosis.finding import Finding
from viz.diagnosis.observation import Observation


def picture(seen: Observation, finding: Finding) -> str:
    """The path as HTML; empty where the finding has none."""
    return ""
