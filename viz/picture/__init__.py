"""A graph as a drawing: sizes, positions and markup. Steps are not known here."""
