"""Stands for pygraphviz: the same Graphviz, as WebAssembly. The worker registers it as the module `graphviz_in_javascript`."""

from __future__ import annotations


class AGraph:
    """A graph in the DOT language, to be laid out."""

    def __init__(self, string: str) -> None:
        self._source = string

    def draw(self, format: str, prog: str) -> bytes:
        """What Graphviz makes of it, such as its positions as `json0`.

        Raises:
            RuntimeError: Graphviz could not; the message is its own.
        """
        from graphviz_in_javascript import render

        return str(render(self._source, format, prog)).encode()

    def close(self) -> None:
        """Nothing is held."""
