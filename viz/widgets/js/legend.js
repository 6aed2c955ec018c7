// The legend of a picture: what it uses, and nothing else. A kind is the class that its elements have.
import { h } from "./dom.js";

const LABELS = {
  leaf: "leaf that requires grad",
  input: "leaf that does not",
  value: "result of a recorded op",
  result: "result that is not recorded",
  op: "op, with its backward node",
  unrecorded: "op that ran but was not recorded",
  fold: "several ops, folded: a click opens it",
  accumulate: "AccumulateGrad, adds into a leaf's .grad",
  tab: "saved tensor (struck through: freed)",
  share: "shares memory with",
  forward: "value flowing forward",
  back: "gradient flowing back (.grad: what a tensor holds)",
};

/** A legend, as a list. */
export function newLegend() {
  return h("ul", { class: "tgv-legend", "aria-label": "Legend" }, ...Object.entries(LABELS).map(([kind, label]) =>
    h("li", { "data-kind": kind }, h("span", { class: `tgv-key tgv-key-${kind}`, "aria-hidden": "true" }), label)));
}

/** Show of a legend what the picture `svg` uses; ways back, only if a gradient goes them in one of the scene's steps. */
export function limitLegend(legend, svg, { steps }) {
  const flows = steps.some(({ phase }) => phase === "backward");
  for (const entry of legend.children) {
    const { kind } = entry.dataset;
    entry.hidden = !svg.querySelector(`g.${kind}`) || (kind === "back" && !flows);
  }
}
