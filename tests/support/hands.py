"""What a student does with an explorer, and sees: the tests of every explorer share it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect


class Hands:
    """An explorer that is worked by name. What it shows is given as locators, for `expect` to wait on."""

    def __init__(self, notebook: Any, number: int = 0):
        self.notebook = notebook
        self.page = notebook.page
        self.number = number
        self.root = notebook.page.locator(".tgv-explorer").nth(number)
        self.account = self.root.locator(".tgv-account")
        self.sides = self.root.locator(".tgv-side")
        self.errors = self.root.locator(".tgv-error")
        self.result_code = self.root.locator(".tgv-result-code")
        self.undo_list = self.root.get_by_label("Go back to before a change")

    # --- what is done ---

    def settled(self, timeout: float | None = None) -> None:
        """Wait until the answer to the last change is drawn: an explorer is busy from within the click."""
        self.page.wait_for_function(
            "number => document.querySelectorAll('.tgv-explorer')[number]?.getAttribute('aria-busy') !== 'true'",
            arg=self.number,
            timeout=timeout,
        )

    def press(self, line: int, toggle: str) -> None:
        self.line(line).get_by_role("button", name=toggle).click()
        self.settled()

    def button(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()
        self.settled()

    def write(self, label: str, text: str) -> None:
        """Fill a field, or set a slider."""
        field = self.root.get_by_label(label, exact=True)
        field.fill(text)
        field.dispatch_event("change")
        self.settled()

    def choose(self, label: str, value: str) -> None:
        self.root.get_by_label(label, exact=True).select_option(value)
        self.settled()

    def more(self, wanted: bool) -> None:
        """Show the rare toggles, or put them away."""
        button = self.root.get_by_role("button", name="more toggles")
        if button.get_attribute("aria-pressed") != str(wanted).lower():
            button.click()

    def code_box(self, opened: bool) -> None:
        """Open or close the code that the toggles stand for."""
        box = self.root.locator(".tgv-code-box")
        if (box.get_attribute("open") is not None) != opened:
            box.locator("summary").click()

    def start_over(self, more: bool = False) -> None:
        """All as it was at first, whatever an earlier test, or one that failed, has left."""
        self.settled()
        self.code_box(opened=False)
        self.more(more)
        self.root.press("End")
        reset = self.root.get_by_role("button", name="reset", exact=True)
        if reset.get_attribute("aria-disabled") == "false":
            self.button("reset")

    # --- what is seen ---

    def line(self, number: int) -> Any:
        """A line of the program, from 1, with its toggles."""
        return self.root.locator(".tgv-program > li").nth(number - 1)

    def code(self, number: int) -> Any:
        """The text of a line."""
        return self.line(number).locator("code")

    def row(self, name: str) -> Any:
        """The cells of a tensor behind its value: the gradients of both engines (one cell where they are one reason), the verdict."""
        return self.root.locator(".tgv-table tbody tr", has=self.page.locator(f'th:text-is("{name}")')).locator(
            "td ~ td"
        )

    def recorded(self, side: int) -> Any:
        """The ops that the picture of a side shows as recorded."""
        return self.sides.nth(side).locator("svg .node.op")

    def unrecorded(self, side: int) -> Any:
        return self.sides.nth(side).locator("svg .node.unrecorded")

    def agrees(self, name: str, *cells: str) -> None:
        """Assert what the row of a tensor says."""
        expect(self.row(name)).to_have_text(list(cells))

    def counts(self, recorded: int, unrecorded: int = 0) -> None:
        """Assert how many ops both pictures show as recorded, and how many as not."""
        for side in (0, 1):
            expect(self.recorded(side)).to_have_count(recorded)
            expect(self.unrecorded(side)).to_have_count(unrecorded)
