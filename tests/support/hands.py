"""What a student does with an explorer, and sees: the tests of every explorer share it."""

from typing import Any

from playwright.sync_api import expect


class Hands:
    """An explorer that tests operate by name. It shows locators, which `expect` can wait on."""

    def __init__(self, notebook: Any, number: int = 0):
        self.notebook = notebook
        self.page = notebook.page
        self.number = number
        self.root = notebook.page.locator(".tgv-explorer").nth(number)
        self.account = self.root.locator(".tgv-account")
        self.sides = self.root.locator(".tgv-side")
        self.errors = self.root.locator(".tgv-error")
        self.badge = self.root.locator(".tgv-badge")
        self.editor = self.root.get_by_role("textbox", name="The program")
        self.result_code = self.root.locator(".tgv-result-code")
        self.undo_list = self.root.get_by_label("Go back to before a change")

    # --- what is done ---

    def settled(self, timeout: float | None = None) -> None:
        """Wait until the answer to the last change is drawn: an explorer is busy from within the click."""
        rests = "number => document.querySelectorAll('.tgv-explorer')[number]?.getAttribute('aria-busy') !== 'true'"
        self.page.wait_for_function(rests, arg=self.number, timeout=timeout)

    def press(self, line: int, switch: str) -> None:
        """Press a switch of a line, beside it or in its menu."""
        self.put_away()
        beside = self.line(line).get_by_role("button", name=switch)
        if beside.count():
            beside.click()
        else:
            self.menu(line).get_by_role("button", name=switch).click()
        self.settled()

    def button(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()
        self.settled()

    def write(self, label: str, text: str) -> None:
        """Fill a field, or move a number, by its label; one in the menu of a line is found there."""
        field = self.field(label)
        field.fill(text)
        field.dispatch_event("change")
        self.settled()

    def choose(self, label: str, value: str) -> None:
        self.field(label).select_option(value)
        self.settled()

    def field(self, label: str) -> Any:
        """What has a label, in sight or in the menu of a line."""
        field = self.root.get_by_label(label, exact=True)
        lines = self.root.locator(".tgv-more")
        for number in range(lines.count()):
            if field.count():
                break
            self.put_away()
            lines.nth(number).click()
        return field

    def put_away(self) -> None:
        """Close the menu of a line that is open: it may lie over the next line."""
        if self.root.locator(".tgv-menu").count():
            self.root.locator(".tgv-menu").press("Escape")

    def menu(self, line: int) -> Any:
        """Open the menu of a line, and return it."""
        more = self.line(line).locator(".tgv-more")
        if more.get_attribute("aria-expanded") != "true":
            self.put_away()
        if more.get_attribute("aria-expanded") != "true":
            more.click()
        return self.root.locator(".tgv-menu")

    def split(self, wanted: bool) -> None:
        """Show or hide PyTorch's own graph and the table of gradients."""
        if self.badge.get_attribute("aria-expanded") != str(wanted).lower():
            self.badge.click()
        table = self.root.get_by_role("button", name="table of .grad")
        if wanted and table.get_attribute("aria-expanded") == "false":
            table.click()

    def code_box(self, opened: bool) -> None:
        """Open or close the code to copy."""
        box = self.root.locator(".tgv-code-box")
        if (box.get_attribute("open") is not None) != opened:
            box.locator("summary").click()

    def start_over(self) -> None:
        """Restore the initial state, with both graphs in sight, whatever an earlier or failed test left behind."""
        self.settled()
        self.put_away()
        self.code_box(opened=False)
        if self.editor.is_visible():
            self.editor.press("Escape")
        self.root.press("End")
        if self.root.get_by_role("button", name="reset", exact=True).get_attribute("aria-disabled") == "false":
            self.button("reset")
        self.split(True)

    # --- what is seen ---

    def line(self, number: int) -> Any:
        """A line of the program, from 1, with its switches."""
        return self.root.locator(f'.tgv-program > li[data-line="{number}"]')

    def code(self, number: int) -> Any:
        """The text of a line, with what switches have written at it."""
        return self.line(number).locator(".tgv-slot")

    def listed(self) -> str:
        """The whole listing, as the page shows it."""
        return "\n".join(self.root.locator(".tgv-program .tgv-slot > code").all_text_contents())

    def row(self, name: str) -> Any:
        """A tensor's cells behind its value: both engines' gradients (one cell if they are one reason), the verdict."""
        head = self.page.locator(f'th:text-is("{name}")')
        return self.root.locator(".tgv-table tbody tr", has=head).locator("td ~ td")

    def recorded(self, side: int) -> Any:
        """The ops that the picture of a side shows as recorded."""
        return self.sides.nth(side).locator("svg .node.op")

    def unrecorded(self, side: int) -> Any:
        return self.sides.nth(side).locator("svg .node.unrecorded")

    def agrees(self, name: str, *cells: str) -> None:
        """Assert what the row of a tensor says."""
        self.split(True)
        expect(self.row(name)).to_have_text(list(cells))

    def raises(self, *words: str) -> None:
        """Assert that both engines raise one error, told once, in which these words stand."""
        expect(self.errors).to_have_count(1)
        expect(self.badge).to_have_attribute("data-agree", "true")
        for word in words:
            expect(self.errors).to_contain_text(word)

    def counts(self, recorded: int, unrecorded: int = 0) -> None:
        """Assert how many ops both pictures show as recorded, and how many as not."""
        self.split(True)
        for side in (0, 1):
            expect(self.recorded(side)).to_have_count(recorded)
            expect(self.unrecorded(side)).to_have_count(unrecorded)
