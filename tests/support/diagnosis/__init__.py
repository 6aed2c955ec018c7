"""Broken and healthy programs: what `viz.diagnose` is held to."""
