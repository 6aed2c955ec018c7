"""Stands in for pygraphviz: the same Graphviz, as WebAssembly. The worker registers it as `graphviz_in_javascript`."""

from __future__ import annotations


class AGraph:
    """A graph in the DOT language, ready for layout."""

    def __init__(self, string: str) -> None:
        self._source = string

    def draw(self, format: str, prog: str) -> bytes:
        """Graphviz's output in the given format, such as the positions as `json0`.

        Raises:
            RuntimeError: Graphviz failed; the message is Graphviz's own.
        """
        from graphviz_in_javascript import render

        return str(render(self._source, format, prog)).encode()

    def close(self) -> None:
        """Do nothing: no resource is held."""
