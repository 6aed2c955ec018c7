"""Ops that select elements or write to them: by position, by index tensors, by masks."""
