// The comparison: one graph, a badge that says whether PyTorch agrees, and behind it PyTorch's own graph, every gradient and
// everything that was compared.
import { Bench } from "./js/bench.js";
import { CodeList } from "./js/code.js";
import { h } from "./js/dom.js";
import { Engines } from "./js/engines.js";
import { lessonCode } from "./js/lesson.js";
import { widget } from "./js/model.js";

/** Everything that was compared: values, gradients, names of nodes, order, errors. */
function comparedTable({ compared, more }) {
  const heads = ["what", "of", "tinygrad_edu", "PyTorch", "difference", "tolerance", "same"];
  const row = (one) => h("tr", {}, h("td", {}, one.what), h("th", { scope: "row" }, one.where), h("td", {}, one.ours), h("td", {}, one.theirs),
    h("td", {}, one.difference), h("td", {}, one.tolerance),
    h("td", { class: one.agree ? "tgv-same" : "tgv-differs" },
      h("span", { role: "img", "aria-label": one.agree ? "same" : "different" }, one.agree ? "✓" : "≠")));
  return h("details", { class: "tgv-code-box" },
    h("summary", {}, `Everything compared: ${compared.length + more} things`),
    h("div", { class: "tgv-table-box", scrolls: "Everything compared" },
      h("table", { class: "tgv-table" },
        h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...compared.map(row)))),
    more ? h("p", { class: "tgv-missing" }, `and ${more} more that agree`) : null);
}

/** The comparison in words: the verdict, the differences, and the errors of each engine. */
function verdictOf(result) {
  const { agree, differences, details, timing, sides } = result;
  const list = (texts) => h("ul", {}, ...texts.map((text) => h("li", {}, text)));
  return h("div", { class: "tgv-verdict", "data-agree": String(agree), scrolls: "Verdict", role: "status" },
    h("p", {}, agree === null ? result.verdict : `${agree ? "✓" : "≠"} ${result.verdict}`),
    differences.length ? list(differences) : null,
    details.counted ? h("details", {}, h("summary", {}, "Details of the graph, which change no number"), list(details.all)) : null,
    timing ? h("p", { class: "tgv-timing" }, timing) : null,
    ...sides.filter((side) => side.error).map(({ title, error }) =>
      h("div", {},
        h("p", {}, h("b", {}, `${title}: ${error.type}${error.line ? `, line ${error.line}` : ""} `), error.explanation || error.message),
        error.mistake ? lessonCode(error.mistake) : null)));
}

function renderComparison({ model, el, set, listen }) {
  const result = model.get("result");
  const { agree, sides, source } = result;
  const scenes = sides.filter((side) => side.scene).map(({ scene }) => scene);
  let split = agree === false && scenes.length > 1; // where they differ, both are to be seen, if both can be read
  const engines = new Engines({ view: model.get("view"), step: model.get("step"),
    split,
    onView: (view) => set("view", view), onStep: (step) => set("step", step),
    onSplit: (split) => engines.setSplit(split) });
  const code = new CodeList(source, "Source", engines.stepper, scenes.flatMap(({ steps }) => steps));
  const stageHost = h("div", { class: "tgv-compared-stage" }, engines.element);
  const bench = new Bench({ code: code.element, now: verdictOf(result), stage: stageHost, besides: 42,
    views: () => scenes.slice(0, 1).flatMap(({ views }) => Object.values(views)),
    sides: () => (split ? 2 : 1), // a stage that is split later keeps its place
    longest: () => [result.verdict.length + 2, result.differences.join(" ").length, result.details.counted ? 50 : 0] });
  bench.onArrange = (height) => {
    engines.element.style.height = `${height}px`;
    if (!split || bench.whole) return;
    split = false; // the numbers that differ stand on ours, too
    engines.setSplit(split);
    bench.arrange();
  };
  engines.onHere = (line) => code.mark(line);
  const root = h("div", { class: "tgv tgv-comparison", role: "group", "aria-label": "Comparison", tabindex: "-1" },
    h("div", { class: "tgv-head" }, h("div", { class: "tgv-title" }, "The same program on both engines"), h("span", { class: "tgv-spring" }),
      engines.badge, engines.views),
    bench.element, engines.controls, comparedTable(result));
  el.replaceChildren(root);
  root.addEventListener("keydown", (event) => engines.key(event));
  bench.arrange();
  engines.show(sides, result.table, result.badge);
  listen({
    "change:view": () => engines.setView(model.get("view")),
    "change:step": () => engines.goTo(model.get("step")),
  });
  return () => {
    engines.destroy();
    bench.destroy();
  };
}

export default widget(renderComparison);
