"""Stands in for `IPython.core`, as far as `viz.magic` uses it."""
