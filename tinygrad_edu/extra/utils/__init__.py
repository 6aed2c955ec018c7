"""Helpers that few programs use."""
