// The code as it runs, for either engine, ready to copy.
import { copy, highlights } from "./js/code.js";
import { h } from "./js/dom.js";

export class CodeBox {
  constructor() {
    this.result = {};
    this.lines = h("pre", { class: "tgv-result-code", scrolls: "The code as it runs" });
    this.choice = h("select", { "aria-label": "Engine of the code", onchange: () => this.#draw() },
      h("option", { value: "T" }, "for viz (T)"),
      h("option", { value: "tinygrad_edu" }, "for tinygrad_edu"),
      h("option", { value: "torch" }, "for PyTorch"));
    this.button = h("button", { type: "button", class: "tgv-text-button", onclick: () => copy(this.text, this.lines, this.button) }, "copy");
    this.element = h("details", { class: "tgv-code-box", ontoggle: () => this.#draw() },
      h("summary", { title: "The code as it runs, for either engine" }, "copy code"),
      h("div", { class: "tgv-code-sheet" }, h("div", { class: "tgv-code-tools" }, this.choice, this.button), this.lines));
  }

  /** `source` is the original program: differences from it are marked. */
  show(result, source) {
    this.result = result;
    this.source = source;
    this.#draw();
  }

  #draw() {
    if (!this.element.open) return; // nobody looks
    const { before, lines } = this.result.codes?.[this.choice.value] ?? { before: [], lines: [] };
    const { origin, code } = this.result;
    const kind = (index) => {
      if (origin[index] === null) return "tgv-added";
      return code[index] === this.source[origin[index] - 1] ? "" : "tgv-edited";
    };
    const all = [...before, ...lines];
    const marked = highlights(all);
    this.lines.replaceChildren(...all.map((line, index) => // an empty line keeps its height
      h("code", { class: index < before.length ? "" : kind(index - before.length) }, line ? marked[index] : "\u200b")));
    this.text = all.map((line) => `${line}\n`).join("");
  }
}
