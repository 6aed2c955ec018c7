// A common mistake beside a fix of it: both programs, what the engines say to each, both pictures in step, and what the
// fix changes. What is shown was run in Python (mistake.py); a fix that was looked at once needs no kernel.
import { highlight } from "./js/code.js";
import { h, ownTheKeys } from "./js/dom.js";
import { listen, widget } from "./js/model.js";
import { Pair } from "./js/pair.js";

const KINDS = { fixes: "fixes it", tells: "does not fix it, but it is no longer silent", wrong: "does not fix it" };

function renderMistake({ model, el }) {
  const lesson = model.get("lesson");
  const set = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const pair = new Pair({ view: model.get("view"), step: model.get("step"), onStep: (step) => set("step", step) });
  const choice = (label, name, value) =>
    h("button", { type: "button", class: "tgv-choice", "data-value": value, onclick: () => set(name, value) }, label);
  const engines = Object.entries(lesson.engines).map(([engine, title]) => choice(title, "engine", engine));
  const views = ["values", "grad_fn"].map((view) => choice(view, "view", view));
  const ways = lesson.fixes.map(({ label, sign, kind }, index) =>
    h("button", { type: "button", class: "tgv-text-button", "data-kind": kind, onclick: () => set("fix", index) },
      h("span", { class: "tgv-sign", role: "img", "aria-label": `${KINDS[kind]}:` }, sign), ` ${label}`));
  const effect = h("p", { class: "tgv-account", role: "status", "aria-live": "polite" });
  const columns = ["The mistake", "What is tried"].map((label) => {
    const code = h("ol", { class: "tgv-code tgv-mistake-code", "aria-label": label });
    const said = h("div", { class: "tgv-said" });
    return { code, said, box: h("div", { class: "tgv-column", role: "group", "aria-label": label }, code, said) };
  });
  const changes = h("table", { class: "tgv-table" });
  const root = h("div", { class: "tgv tgv-mistake", role: "group", "aria-label": `Mistake: ${lesson.title}`, tabindex: "-1" },
    h("div", { class: "tgv-head" },
      h("div", { class: "tgv-title" }, lesson.title),
      lesson.silent ? h("span", { class: "tgv-silent" }, "silent") : null,
      h("span", { class: "tgv-spring" }),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "Engine" }, ...engines),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...views)),
    h("p", { class: "tgv-why" }, h("b", {}, "Why: "), lesson.why),
    h("div", { class: "tgv-ways", role: "group", "aria-label": "What to try" }, h("span", {}, "Try: "), ...ways),
    effect,
    h("div", { class: "tgv-columns" }, ...columns.map(({ box }) => box)),
    pair.sidesBox, pair.stepLine, pair.controls,
    h("div", { class: "tgv-table-box", tabindex: "0", role: "group", "aria-label": "What that changes" }, changes));
  el.replaceChildren(root);
  const releaseKeys = ownTheKeys(root);
  root.addEventListener("keydown", (event) => pair.key(event));

  function drawCode(list, lines, marked, sign) {
    list.replaceChildren(...lines.map((line, index) => {
      const here = marked.includes(index);
      return h("li", {}, h("div", { class: here ? `tgv-line ${sign.class}` : "tgv-line" },
        h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(index + 1)),
        h("span", { class: "tgv-mark", role: here ? "img" : null, "aria-label": here ? sign.label : null }, here ? sign.text : ""),
        h("code", {}, highlight(line))));
    }));
  }

  function drawSaid(box, said) {
    box.replaceChildren(...said.map((one) =>
      h("div", { class: one.quiet ? "tgv-quiet" : "tgv-error" },
        h("b", {}, one.place ? `${one.engine}, ${one.place}` : one.engine),
        h("p", { class: "tgv-message", tabindex: one.quiet ? null : "0" }, one.quiet ? "raises nothing" : one.said))));
  }

  function side(part, engine) {
    return { engine, title: part.title ?? "", scene: part.scene, missing: part.missing, stdout: part.stdout };
  }

  function drawChanges(rows) {
    if (!rows.length) {
      changes.replaceChildren(h("tbody", {}, h("tr", {}, h("td", {}, "Nothing changes: no value, no gradient, no error."))));
      return;
    }
    changes.replaceChildren(
      h("thead", {}, h("tr", {}, ...["what changes", "the mistake", "tried"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map(({ what, before, after }) =>
        h("tr", {}, h("th", { scope: "row" }, what), h("td", {}, before), h("td", {}, after)))));
  }

  let slow = 0;
  let drawn = "";
  function draw() {
    const [index, engine, view] = [model.get("fix"), model.get("engine"), model.get("view")];
    const fix = lesson.fixes[index];
    ways.forEach((way, i) => way.setAttribute("aria-pressed", String(i === index)));
    engines.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.value === engine)));
    views.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.value === view)));
    const [before, after] = [-1, index].map((position) => model.get("parts")[`${engine} ${position}`]);
    clearTimeout(slow);
    if (!before || !after) { // Python is asked, and answers with a change of `parts`
      slow = setTimeout(() => { effect.textContent = "Running… If no kernel runs: run this cell again."; }, 700);
      return;
    }
    effect.replaceChildren(h("b", {}, `${fix.sign} ${fix.label} ${KINDS[fix.kind]}. `), fix.why);
    effect.dataset.kind = fix.kind;
    if (drawn === `${engine} ${index}`) return;
    drawn = `${engine} ${index}`;
    drawCode(columns[0].code, lesson.code, [lesson.line - 1], { class: "tgv-wrong-line", text: "→", label: "here:" });
    drawCode(columns[1].code, fix.code, fix.changed, { class: "tgv-new-line", text: "+", label: "changed:" });
    drawSaid(columns[0].said, before.said);
    drawSaid(columns[1].said, after.said);
    drawChanges(after.changes);
    pair.show([side(before, "before"), side(after, "after")], []);
  }

  const listeners = {
    "change:fix": draw,
    "change:engine": draw,
    "change:parts": draw,
    "change:view": () => {
      draw();
      pair.setView(model.get("view"));
    },
    "change:step": () => pair.goTo(model.get("step")),
  };
  draw();
  pair.setView(model.get("view"));
  const deaf = listen(model, listeners);
  return () => {
    deaf();
    clearTimeout(slow);
    releaseKeys();
    pair.destroy();
    el.replaceChildren();
  };
}

export default widget(renderMistake);
