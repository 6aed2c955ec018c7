"""Ops along dimensions: sums, extremes, norms, cumulative sums, sorting."""
