"""Ops along dimensions: sums, extremes, norms, running totals, order."""
