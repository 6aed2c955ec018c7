// Covers the cells after a question until the reader has answered it, because they contain the answer. A covered cell keeps its
// space, so nothing moves when it is shown. Cells are JupyterLab's, or those of a page of the site.
import { newId } from "./dom.js";

const CELL = ".jp-Cell, .cell";

/** The `count` cells after `cell`; on a page of the site, the text between two code cells counts as a cell. */
export function following(cell, count) {
  const found = [];
  let inText = false;
  for (let next = cell.nextElementSibling; next; next = next.nextElementSibling) {
    if (next.matches("section, script, style")) break; // another subject begins
    const isText = !next.matches(CELL);
    if (!(isText && inText)) count -= 1;
    if (count < 0) break;
    inText = isText;
    found.push(next);
  }
  return found;
}

/** Covers what follows the cell that contains `el`; `cover.show(true)` removes the cover. */
export class Cover {
  constructor(el, count) {
    this.el = el;
    this.count = count;
    this.id = newId();
    this.open = true;
    // Cells come and go: a notebook draws only visible ones, and the reader may insert others.
    this.observer = new MutationObserver(() => this.#lay());
  }

  show(open) {
    if (!this.count || open === this.open) return;
    this.open = open;
    // A widget is created before it is put into its cell.
    this.frame = requestAnimationFrame(() => {
      this.cell = this.el.closest(CELL);
      if (!this.cell) return;
      if (open) this.observer.disconnect();
      else this.observer.observe(this.cell.parentElement, { childList: true });
      this.#lay();
    });
  }

  #lay() {
    const covered = this.open || !this.cell?.isConnected ? [] : following(this.cell, this.count);
    for (const one of document.querySelectorAll(`[data-tgv-covered="${this.id}"]`)) {
      if (!covered.includes(one)) one.removeAttribute("data-tgv-covered");
    }
    for (const one of covered) one.setAttribute("data-tgv-covered", this.id);
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.open = true;
    this.#lay();
  }
}
