"""Ops that create tensors: from data, filled with a value, or as copies of another tensor."""
