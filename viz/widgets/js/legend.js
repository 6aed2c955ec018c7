// The legend of a scene: what its picture uses, and nothing else.
import { h } from "./dom.js";

/** The entries of a scene's legend, as a list. */
export function legendOf(scene) {
  return h("ul", { class: "tgv-legend", "aria-label": "Legend" },
    ...(scene.legend ?? []).map(({ kind, label, view }) =>
      h("li", { "data-view": view, "data-kind": kind }, h("span", { class: `tgv-key tgv-key-${kind}`, "aria-hidden": "true" }), label)));
}

/** Show of a legend what `view` uses; folds only if the picture `svg` has some. */
export function limitLegend(legend, view, svg) {
  const folds = svg.querySelector(".fold") !== null;
  for (const entry of legend.children) {
    entry.hidden = (entry.dataset.view ?? view) !== view || (entry.dataset.kind === "fold" && !folds);
  }
}
