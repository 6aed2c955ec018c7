// The listing as editable text: a plain text area over its own highlighted copy, so that screen readers, input methods and the
// browser's editing keys work as usual. It runs when the writer pauses; Escape or "done" closes it.
import { highlights } from "./js/code.js";
import { h } from "./js/dom.js";

const PAUSE = 500; // milliseconds without a key after which what was written runs

export class Editor {
  /** `onWrite(text)` receives the text to run, `onClose()` is called when the writer is done. */
  constructor({ onWrite, onClose }) {
    this.onWrite = onWrite;
    this.onClose = onClose;
    this.ran = ""; // the text that was last told
    this.draft = null; // what could not run yet when the editor was left
    this.area = h("textarea", { class: "tgv-area", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off",
      "aria-label": "The program; it runs when you pause, Escape leaves" });
    this.copy = h("pre", { class: "tgv-copy", "aria-hidden": "true" });
    this.numbers = h("pre", { class: "tgv-numbers", "aria-hidden": "true" });
    this.sheet = h("div", { class: "tgv-sheet" }, this.copy, this.area);
    this.element = h("div", { class: "tgv-editor", hidden: true }, this.numbers, this.sheet);
    this.area.addEventListener("input", () => this.#typed());
    this.area.addEventListener("scroll", () => this.#follow());
    this.area.addEventListener("keydown", (event) => this.#key(event));
  }

  destroy() {
    clearTimeout(this.timer);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Whether there is text that has not run yet: then the browser's own undo applies. */
  get isAhead() {
    return this.isOpen && this.area.value !== this.ran;
  }

  /** Let the reader edit, starting at `line` of the listing. */
  open(code, line = 1) {
    this.ran = code.join("\n");
    this.element.hidden = false;
    this.#put(this.draft ?? this.ran);
    this.draft = null;
    const at = this.area.value.split("\n").slice(0, line).join("\n").length;
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(at, at);
  }

  close() {
    if (!this.isOpen) return;
    this.#tell();
    this.element.hidden = true;
    this.markError(null);
    this.onClose();
  }

  /** The listing changed elsewhere, by undo or a switch. Text that is being written stays. */
  show(code) {
    const text = code.join("\n");
    if (!this.isOpen || this.isAhead || text === this.area.value) return;
    this.ran = text;
    this.#put(text);
  }

  /** The text could not run: keep it, also for the next time. `line` counts from 1; null if nothing is wrong. */
  markError(line) {
    this.failed = line;
    if (!this.isOpen && line) this.draft = this.area.value;
    this.#draw();
  }

  #put(text) {
    const { selectionStart } = this.area;
    this.area.value = text;
    this.area.setSelectionRange(selectionStart, selectionStart);
    this.#draw();
  }

  #typed() {
    this.failed = null;
    this.#draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#tell(), PAUSE);
  }

  #tell() {
    clearTimeout(this.timer);
    if (this.area.value === this.ran) return;
    this.ran = this.area.value;
    this.onWrite(this.ran);
  }

  #draw() {
    const lines = this.area.value.split("\n");
    const shown = highlights(lines);
    this.copy.replaceChildren(...lines.map((line, index) =>
      h("code", { class: index + 1 === this.failed ? "tgv-failed" : "" }, line ? shown[index] : "\u200b")));
    this.numbers.replaceChildren(...lines.map((_, index) =>
      h("span", { class: index + 1 === this.failed ? "tgv-failed" : "" }, String(index + 1))));
    this.#follow();
  }

  #follow() {
    this.copy.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.altKey) this.#newLine();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** A new line with the indent of the previous one; deeper after a colon. */
  #newLine() {
    const { selectionStart, value } = this.area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const indent = line.match(/^\s*/)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
    // Unlike setting the value, this is known to the browser's own undo.
    if (!document.execCommand?.("insertText", false, `\n${indent}`)) this.area.setRangeText(`\n${indent}`, selectionStart, this.area.selectionEnd, "end");
    this.#typed();
  }
}
