"""Optimizers and averages that few programs use."""
