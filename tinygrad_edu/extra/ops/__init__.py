"""Ops that few programs use, by subject."""
