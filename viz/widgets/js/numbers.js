// The numbers behind a node: the tables of its value and of its gradient, coloured by size, and the sum of products that made one
// entry. Python computes all of it (`telling/numbers.py`); this file shows it and reports which entry is asked for.
import { h } from "./dom.js";

const NAMES = { value: "value", grad: "gradient" };

/** The colour of a number: `shade` is its size from −1 to 1; the sign is in the number itself as well. */
export const colourOf = (shade) => (shade ? `color-mix(in srgb, var(--tgv-${shade > 0 ? "blue" : "flow"}) ${Math.round(Math.abs(shade) * 55)}%, transparent)` : "");

export class Numbers {
  /**
   * `onAsk({key, of, index})` asks for the numbers of an element, or for another entry; `onStep(key)` goes to the step in which
   * it runs; `onClose()` is called after the reader has closed the sheet.
   *
   * @param {{onAsk: (what: {key: string, of?: string, index?: number[]}) => void, onStep: (key: string) => void, onClose: () => void}} options
   */
  constructor({ onAsk, onStep, onClose }) {
    this.onAsk = onAsk;
    this.onStep = onStep;
    this.onClose = onClose;
    this.key = null; // the element that was clicked
    this.element = h("div", { class: "tgv-numbers-sheet", role: "group", "aria-label": "Numbers", tabindex: "-1", hidden: true });
    this.element.addEventListener("keydown", (event) => {
      if (!this.#move(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Stand in `host`, where Escape closes it. */
  standIn(host) {
    host.append(this.element);
    host.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.isOpen) return;
      this.close();
      event.preventDefault();
      event.stopPropagation();
    }, true);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Ask for the numbers of the element `key`. */
  open(key) {
    this.key = key;
    this.onAsk({ key });
  }

  close() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.key = null;
    this.onClose();
  }

  /** Show what Python answers; null closes the sheet. */
  show(sheet) {
    if (!sheet) {
      this.element.hidden = true;
      return;
    }
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    const focused = this.element.contains(active) ? active?.dataset.at : undefined;
    const { key, title, shape, tables, without, sentence, made } = sheet;
    const step = h("button", { type: "button", class: "tgv-text-button", onclick: () => this.onStep(this.key ?? key) }, "its step");
    const close = h("button", { type: "button", class: "tgv-text-button", "aria-label": "Close the numbers", title: "Close (Escape)", onclick: () => this.close() }, "×");
    this.element.replaceChildren(
      h("div", { class: "tgv-numbers-head" }, h("b", {}, title), h("span", { class: "tgv-label" }, shape),
        h("span", { class: "tgv-spring" }), step, close),
      h("div", { class: "tgv-numbers-body" },
        ...Object.entries(tables).map(([of, table]) => this.#table(sheet, of, table)),
        h("div", { class: "tgv-made" },
          h("p", { class: "tgv-made-sentence", role: "status" }, sentence),
          ...made.map((part) => partOf(part, made.length > 1)),
          without ? h("p", { class: "tgv-missing" }, without) : null)));
    this.element.hidden = false;
    if (focused) this.element.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
  }

  #table(sheet, of, { heads, rows, shades, scalar }) {
    const cells = rows.map((row, r) => h("tr", {}, heads[r].length ? h("th", { scope: "row" }, heads[r].join(", ")) : null,
      ...row.map((text, c) => {
        const index = scalar ? [] : [...heads[r], c];
        const chosen = sheet.of === of && String(sheet.index) === String(index);
        const cell = h("button", { type: "button", "data-at": `${of}:${index}`, "aria-pressed": String(chosen), tabindex: chosen ? "0" : "-1",
          onclick: () => this.onAsk({ key: sheet.key, of, index }) }, text);
        cell.style.background = colourOf(shades[r][c]);
        return h("td", {}, cell);
      })));
    const first = cells[0]?.querySelector("button");
    if (sheet.of !== of && first) first.tabIndex = 0;
    const head = rows[0]?.length > 1 ? h("thead", {}, h("tr", {}, heads[0].length ? h("td", {}) : null,
      ...rows[0].map((_, c) => h("th", { scope: "col" }, String(c))))) : null;
    return h("div", { class: `tgv-cells tgv-cells-${of}` },
      h("table", {}, h("caption", {}, NAMES[of]), head, h("tbody", {}, ...cells)));
  }

  /** The arrow keys go from cell to cell. */
  #move({ key, target }) {
    const cell = target.closest?.("td");
    if (!cell || !key.startsWith("Arrow")) return false;
    const row = cell.parentElement;
    const next = { ArrowLeft: cell.previousElementSibling, ArrowRight: cell.nextElementSibling,
      ArrowUp: row.previousElementSibling?.children[cell.cellIndex], ArrowDown: row.nextElementSibling?.children[cell.cellIndex] }[key];
    const button = next?.querySelector("button");
    button?.focus();
    button?.click();
    return true;
  }
}

/** What one op gave: its terms, one below the other, and their sum. */
function partOf({ source, terms, more, formula, result }, several) {
  if (!terms.length && !several) return formula ? null : h("p", { class: "tgv-label" }, `by ${source}`);
  const rows = terms.map(({ numbers, labels, product }) => h("tr", {},
    h("td", { class: "tgv-term-labels" }, labels.filter(Boolean).join(" × ")),
    h("td", {}, numbers.join(" × ")), h("td", {}, numbers.length > 1 ? `= ${product}` : "")));
  return h("table", { class: "tgv-terms" }, h("caption", {}, `by ${source}`),
    h("tbody", {}, ...rows, more ? h("tr", {}, h("td", { colspan: "3" }, `and ${more} more`)) : null,
      terms.length === 1 && !several ? null : h("tr", { class: "tgv-sum" }, h("td", {}, "sum"), h("td", {}), h("td", {}, `= ${result}`))));
}
