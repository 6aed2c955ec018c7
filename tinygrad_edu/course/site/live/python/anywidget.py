"""Stands in for anywidget outside Jupyter: the worker's messages keep a widget's traits in step with the page."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import kernel
import later
import traitlets

_told: set[str] = set()  # the page already has their code and style, which can be as large as the rest of a lesson


class AnyWidget(traitlets.HasTraits):
    """Like `anywidget.AnyWidget`: the page's model has the traits tagged `sync=True`; `_esm` and `_css` show it."""

    comm: str | None = None
    _esm: Any
    _css: Any

    def __init__(self, model_id: str | None = None, **traits: Any) -> None:
        super().__init__(**traits)
        self.model_id = model_id or uuid.uuid4().hex
        self._held = 0
        self._waiting: set[str] = set()
        self._from_page: dict[str, Any] = {}
        self.open()

    def open(self) -> None:
        """Tell the page of this widget, and send its whole state."""
        if self.comm is not None:
            return
        self.comm = self.model_id
        kernel.widgets[self.model_id] = self
        kernel.touched = self.model_id
        texts = {"module": str(self._esm), "style": str(self._css)}
        code = f"{type(self).__module__}.{type(self).__qualname__} {hash(tuple(texts.values()))}"
        message = {"type": "open", "model": self.model_id, "code": code, "state": self._state(self._synced())}
        kernel.send(message if code in _told else {**message, **texts})
        _told.add(code)
        self.observe(self._changed, self._synced())

    def close(self) -> None:
        """Remove it from the page. Later changes are sent nowhere."""
        if self.comm is not None:
            self.comm = None
            self.unobserve_all()
            kernel.widgets.pop(self.model_id, None)
            kernel.send({"type": "close", "model": self.model_id})

    def send_state(self, names: Any = None) -> None:
        """Send the named traits, or all of them if none are named."""
        wanted = [names] if isinstance(names, str) else list(names or self._synced())
        kernel.send({"type": "change", "model": self.model_id, "state": self._state(wanted)})

    @contextlib.contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send all changes made in this context in one message, at its end."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if not self._held and self._waiting:
                names, self._waiting = self._waiting, set()
                self.send_state(names)

    def receive(self, changes: dict[str, Any]) -> None:
        """Take over what the page changed.

        Raises:
            NotHere: a pack is on its way; the widget is as it was before.
        """
        before = {**vars(self), "_trait_values": dict(self._trait_values)}
        values = {}
        for name, value in changes.items():
            read = self.trait_metadata(name, "from_json")
            values[name] = read(value, self) if read is not None else value
        self._from_page = values
        try:
            with self.hold_sync(), self.hold_trait_notifications():
                for name, value in values.items():
                    self.set_trait(name, value)
        except later.NotHere:
            vars(self).update(before)
            raise
        finally:
            self._from_page = {}

    def _changed(self, change: Any) -> None:
        if change.name in self._from_page and self._from_page[change.name] == change.new:
            return  # the page already has it
        self._waiting.add(change.name)
        if not self._held:
            names, self._waiting = self._waiting, set()
            self.send_state(names)

    def _synced(self) -> list[str]:
        return [name for name in self.trait_names(sync=True)]

    def _state(self, names: Any) -> dict[str, Any]:
        state = {}
        for name in names:
            write = self.trait_metadata(name, "to_json")
            value = getattr(self, name)
            state[name] = write(value, self) if write is not None else value
        return state

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"application/vnd.jupyter.widget-view+json": {"model_id": self.model_id}}, {}
