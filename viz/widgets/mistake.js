// A common mistake: its program, one stage for the results of both engines, and buttons for what to try. At first nothing is
// tried. The results come from Python (mistake.py); a result that was shown once needs no kernel.
import { Bench } from "./js/bench.js";
import { CodeList } from "./js/code.js";
import { h } from "./js/dom.js";
import { Engines } from "./js/engines.js";
import { widget, wonder } from "./js/model.js";

const KINDS = { fixes: "fixes it", tells: "does not fix it, but it is no longer silent", wrong: "does not fix it" };
const MARKS = {
  "!": { class: "tgv-wrong-line", text: "→", label: "here: " },
  "+": { class: "tgv-new-line", text: "+", label: "new: " },
  "-": { class: "tgv-gone-line", text: "−", label: "gone: " },
};
const AS_WRITTEN = -1;

/** The rows of a table of what a fix changes. */
function changesOf(rows) {
  if (!rows.length) return h("p", { class: "tgv-unchanged" }, "Nothing changes: no value, no gradient, no error.");
  return h("table", { class: "tgv-table" },
    h("thead", {}, h("tr", {}, ...["what changes", "the mistake", "tried"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...rows.map(({ what, before, after }) =>
      h("tr", {}, h("th", { scope: "row" }, what), h("td", {}, before), h("td", {}, after)))));
}

/** The engines' own words: each error once, with PyTorch's words if they differ, and their warnings. */
function wordsOf({ errors, warned }, why) {
  const name = (engine) => (engine === "torch" ? "PyTorch" : engine);
  const told = errors.map(({ type, message, explanation, line, engines, pytorch }) =>
    h("div", { class: "tgv-error" },
      h("b", {}, `${engines.map(name).join(" and ")}: ${type}${line ? `, line ${line}` : ""}`),
      explanation && explanation !== why ? h("p", {}, explanation) : null,
      h("p", { class: "tgv-message" }, message),
      pytorch ? h("p", { class: "tgv-message" }, `PyTorch: ${pytorch}`) : null));
  return [...told, ...warned.map(({ engine, said }) =>
    h("p", { class: "tgv-missing tgv-warning" }, h("b", {}, `${engine} warns: `), said))];
}

function renderMistake({ model, el, set, listen }) {
  const lesson = model.get("lesson");
  const engines = new Engines({ view: model.get("view"), step: model.get("step"), split: model.get("split"),
    onView: (view) => set("view", view), onSplit: (split) => set("split", split), onStep: (step) => set("step", step) });
  const tried = new Set(); // only what has been tried tells whether it helps
  const way = (index, ...inside) => h("button", { type: "button", class: "tgv-text-button", onclick: () => set("fix", index) }, ...inside);
  const asWritten = way(AS_WRITTEN, "the mistake");
  const ways = lesson.fixes.map(({ label }, index) => way(index, h("span", { class: "tgv-sign" }, h("span", { "aria-hidden": "true" }, "?")), label));
  const program = h("div", { class: "tgv-mistake-program", scrolls: "The program" });
  const effect = h("p", { class: "tgv-effect", role: "status", "aria-live": "polite" });
  const words = h("div", { class: "tgv-words" });
  const happened = h("div", { class: "tgv-happened", scrolls: "What happens" }, effect, words);
  const partOf = (index) => model.get("parts")[String(index)];
  const bench = new Bench({ code: program, now: happened, stage: h("div", { class: "tgv-mistake-stage" }, engines.element), besides: 34, full: true,
    views: () => [] });
  bench.onArrange = (height) => { engines.element.style.height = `${height}px`; };
  const root = h("div", { class: "tgv tgv-mistake", role: "group", "aria-label": `Mistake: ${lesson.title}`, tabindex: "-1" },
    h("div", { class: "tgv-head" },
      h("div", { class: "tgv-title" }, lesson.title),
      lesson.silent ? h("span", { class: "tgv-silent" }, "silent") : null,
      h("span", { class: "tgv-spring" }), engines.views, engines.badge),
    h("div", { class: "tgv-ways", role: "group", "aria-label": "What to try" }, asWritten, h("span", { class: "tgv-label" }, "Try:"), ...ways),
    bench.element, engines.controls);
  el.replaceChildren(root);
  root.addEventListener("keydown", (event) => engines.key(event));

  /** List a program: [sign, text] for each line; removed lines are not part of it. */
  function drawCode(rows) {
    const steps = (partOf(model.get("fix"))?.sides ?? []).flatMap(({ scene }) => scene?.steps ?? []);
    const list = new CodeList(rows.filter(([sign]) => sign !== "-").map(([, text]) => text), "Program", engines.stepper, steps);
    let next = 0;
    for (const [sign, text] of rows) {
      const gone = sign === "-" ? h("div", { class: "tgv-line" }, h("span", { class: "tgv-lineno" }), h("code", {}, h("s", {}, text))) : null;
      const line = gone ?? list.lines[next++];
      if (gone) list.element.insertBefore(h("li", {}, gone), list.lines[next]?.parentElement ?? null);
      const mark = MARKS[sign];
      if (mark) line.classList.add(mark.class);
      line.querySelector("code").before(h("span", { class: "tgv-mark", role: mark ? "img" : null, "aria-label": mark?.label }, mark?.text ?? ""));
    }
    program.replaceChildren(list.element);
    engines.onHere = (line) => list.mark(line);
  }

  let slow = 0;
  let drawn = null;
  function draw() {
    const index = model.get("fix");
    const fix = lesson.fixes[index];
    asWritten.setAttribute("aria-pressed", String(index === AS_WRITTEN));
    ways.forEach((each, at) => each.setAttribute("aria-pressed", String(at === index)));
    const part = partOf(index);
    clearTimeout(slow);
    if (!part) { // Python is asked, and answers with a change of `parts`
      slow = wonder(model, (text) => { effect.textContent = text; }, "Running… If no kernel runs: run this cell again.");
      return;
    }
    if (drawn === index) return;
    drawn = index;
    if (fix) tried.add(index);
    ways.forEach((each, at) => {
      const { kind, sign } = lesson.fixes[at];
      if (!tried.has(at)) return;
      each.dataset.kind = kind;
      each.querySelector(".tgv-sign").replaceChildren(h("span", { role: "img", "aria-label": `${KINDS[kind]}:` }, sign));
    });
    effect.replaceChildren(...(fix ? [h("b", {}, `${fix.sign} ${KINDS[fix.kind]}. `), fix.why] : [h("b", {}, "Why: "), lesson.why]));
    effect.dataset.kind = fix?.kind ?? "mistake";
    words.replaceChildren(...(lesson.silent && !fix ? [h("p", { class: "tgv-quiet" }, "Neither engine raises an error.")] : []),
      ...wordsOf(part, lesson.why), ...(fix ? [changesOf(part.changes)] : []));
    happened.scrollTop = 0;
    drawCode(fix?.code ?? lesson.code);
    engines.show(part.sides, part.table, part.verdict);
  }

  draw();
  bench.arrange();
  listen({
    "change:fix": draw,
    "change:parts": draw,
    "change:view": () => engines.setView(model.get("view")),
    "change:split": () => engines.setSplit(model.get("split")),
    "change:step": () => engines.goTo(model.get("step")),
  });
  return () => {
    clearTimeout(slow);
    engines.destroy();
    bench.destroy();
  };
}

export default widget(renderMistake);
