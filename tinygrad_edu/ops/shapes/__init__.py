"""Ops that change the shape, reorder elements, or join and split tensors."""
