"""Ops that choose elements, and write to them: by position, by index tensor, by mask."""
