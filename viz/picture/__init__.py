"""A graph as a drawing: sizes, places, markup; nothing here knows of steps."""
