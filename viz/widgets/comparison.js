// The comparison: both engines' pictures in step, what differs, and every gradient.
import { highlight } from "./js/code.js";
import { h, ownTheKeys } from "./js/dom.js";
import { listen, widget } from "./js/model.js";
import { Pair } from "./js/pair.js";

/** Everything that was compared: values, gradients, names of nodes, order, errors. */
function comparedTable({ compared, more }) {
  const heads = ["what", "of", "tinygrad_edu", "PyTorch", "difference", "tolerance", "same"];
  const row = (one) => h("tr", {}, h("td", {}, one.what), h("th", { scope: "row" }, one.where), h("td", {}, one.ours), h("td", {}, one.theirs),
    h("td", {}, one.difference), h("td", {}, one.tolerance),
    h("td", { class: one.agree ? "tgv-same" : "tgv-differs" },
      h("span", { role: "img", "aria-label": one.agree ? "same" : "different" }, one.agree ? "✓" : "≠")));
  return h("details", { class: "tgv-code-box" },
    h("summary", {}, `Everything compared: ${compared.length + more} things`),
    h("div", { class: "tgv-table-box", tabindex: "0", role: "group", "aria-label": "Everything compared" },
      h("table", { class: "tgv-table" },
        h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...compared.map(row)))),
    more ? h("p", { class: "tgv-missing" }, `and ${more} more that agree`) : null);
}

function renderComparison({ model, el }) {
  const result = model.get("result");
  const pair = new Pair({ view: model.get("view"), step: model.get("step"), onStep: (step) => {
    model.set("step", step);
    model.save_changes();
  } });
  const viewButtons = ["values", "grad_fn"].map((view) =>
    h("button", { type: "button", class: "tgv-choice", onclick: () => { model.set("view", view); model.save_changes(); } }, view));
  const code = h("ol", { class: "tgv-code", "aria-label": "Source" }, ...result.source.map((line, index) =>
    h("li", {}, h("div", { class: "tgv-line" },
      h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(index + 1)), h("code", {}, highlight(line))))));
  const verdict = h("div", { class: "tgv-verdict", "data-agree": String(result.agree), role: "status" },
    h("p", {}, `${result.agree ? "✓" : "≠"} ${result.verdict}`),
    result.differences.length ? h("ul", {}, ...result.differences.map((text) => h("li", {}, text))) : null,
    result.details.counted ? h("details", {}, h("summary", {}, "Details of the graph, which change no number"),
      h("ul", {}, ...result.details.all.map((text) => h("li", {}, text)))) : null,
    result.timing ? h("p", { class: "tgv-timing" }, result.timing) : null);
  const root = h("div", { class: "tgv tgv-comparison", role: "group", "aria-label": "Comparison", tabindex: "-1" },
    h("div", { class: "tgv-head" }, h("div", { class: "tgv-title" }, "The same program on both engines"), h("span", { class: "tgv-spring" }),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...viewButtons)),
    verdict,
    h("div", { class: "tgv-compared" }, code, pair.tableBox),
    pair.sidesBox, pair.stepLine, pair.controls, comparedTable(result));
  el.replaceChildren(root);
  const releaseKeys = ownTheKeys(root);
  root.addEventListener("keydown", (event) => pair.key(event));
  pair.show(result.sides, result.table);
  const drawView = () => {
    viewButtons.forEach((choice) => choice.setAttribute("aria-pressed", String(choice.textContent === model.get("view"))));
    pair.setView(model.get("view"));
  };
  drawView();
  const deaf = listen(model, { "change:view": drawView, "change:step": () => pair.goTo(model.get("step")) });
  return () => {
    deaf();
    releaseKeys();
    pair.destroy();
    el.replaceChildren();
  };
}

export default widget(renderComparison);
