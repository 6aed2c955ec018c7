// Builds a graph by clicks. A click becomes a step; Python runs the program of all steps, and answers with its code, its
// values and its picture (builder.py). This file shows them.

import { highlights } from "./js/code.js";
import { h } from "./js/dom.js";
import { widget, wonder } from "./js/model.js";

function renderBuilder({ model, el, set, listen }) {
  let chosen = []; // names, the oldest first, at most two
  const said = h("p", { class: "tgv-built-said", "aria-live": "polite" });
  const chips = h("div", { class: "tgv-chips", role: "group", "aria-label": "Values" });
  const leaves = h("div", { class: "tgv-chips", role: "group", "aria-label": "requires_grad" });
  const code = h("pre", { class: "tgv-built-code", scrolls: "The code so far" });
  const picture = h("div", { class: "tgv-built", scrolls: "The graph", role: "img" });

  let slow = 0;
  const send = (name, value) => {
    el.setAttribute("aria-busy", "true");
    clearTimeout(slow);
    slow = wonder(model, (text) => { said.textContent = text; });
    set(name, value);
  };
  /** The steps to continue from: the next click removes a step that raised. */
  const sofar = () => (model.get("result").error ? model.get("steps").slice(0, -1) : model.get("steps"));
  const choose = (name) => {
    chosen = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name].slice(-2);
    drawChips();
  };
  const apply = ({ name, label, takes }) => {
    if (!chosen.length) {
      said.textContent = `${label} of what? Choose ${takes === 1 ? "a value" : "two values"} first.`;
      return;
    }
    // One value chosen for an op of two operands: it is both, as in x * x.
    const given = takes === 1 ? [chosen.at(-1)] : chosen.length === 1 ? [chosen[0], chosen[0]] : chosen;
    chosen = [];
    send("steps", [...sofar(), [name, ...given]]);
  };
  const ops = model.get("ops").map((op) => h("button", { type: "button", class: "tgv-op", "data-op": op.name, onclick: () => apply(op) }, op.label));
  const act = (text, onclick) => h("button", { type: "button", class: "tgv-act", onclick }, text);
  const backward = act("backward()", () => send("steps", [...sofar(), ["backward"]]));
  const undo = act("undo", () => model.get("steps").length && send("steps", model.get("steps").slice(0, -1)));
  const clear = act("clear", () => model.get("steps").length && send("steps", []));
  const views = ["values", "grad_fn"].map((view) =>
    h("button", { type: "button", class: "tgv-choice", onclick: () => set("view", view) }, view));

  /** Replace buttons and keep the focus on the one with the same name. */
  function refill(group, made) {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = group.contains(active) ? active.dataset.name : null;
    group.replaceChildren(...made);
    if (focused) made.find((each) => each.dataset.name === focused)?.focus({ preventScroll: true });
  }

  function drawChips() {
    refill(chips, model.get("result").values.map(({ name, text, grad }) => {
      const order = chosen.indexOf(name);
      return h(
        "button",
        { type: "button", class: "tgv-built-value", "data-name": name, "aria-pressed": String(order >= 0), onclick: () => choose(name) },
        h("b", {}, name), ` = ${text}`,
        grad ? h("span", { class: "tgv-built-grad" }, ` grad ${grad}`) : null,
        order >= 0 && chosen.length === 2 ? h("small", {}, order ? " 2nd" : " 1st") : null,
      );
    }));
  }

  function update() {
    const { code: lines, sentence, error, full, svgs } = model.get("result");
    const known = model.get("result").values.map(({ name }) => name);
    chosen = chosen.filter((name) => known.includes(name));
    clearTimeout(slow);
    el.removeAttribute("aria-busy");
    drawChips();
    refill(leaves, model.get("start").map((each, place) =>
      h(
        "button",
        {
          type: "button", class: "tgv-leaf", "data-name": each.name, "aria-pressed": String(each.requires_grad),
          onclick: () => send("start", model.get("start").map((other, i) => (i === place ? { ...other, requires_grad: !other.requires_grad } : other))),
        },
        `${each.name} requires_grad`,
      )));
    for (const op of ops) op.disabled = full;
    const steps = model.get("steps").length;
    undo.setAttribute("aria-disabled", String(!steps));
    clear.setAttribute("aria-disabled", String(!steps));
    views.forEach((each) => each.setAttribute("aria-pressed", String(each.textContent === model.get("view"))));
    said.textContent = sentence;
    said.classList.toggle("tgv-built-wrong", error);
    code.replaceChildren(...highlights(lines).flatMap((line, i) => [i ? "\n" : "", line]));
    picture.innerHTML = svgs[model.get("view")]; // made by viz, every text in it escaped
    picture.setAttribute("aria-label", `The graph of: ${lines.join("; ")}. ${sentence}`);
  }

  el.classList.add("tgv", "tgv-builder");
  el.replaceChildren(
    h("div", { class: "tgv-built-head" }, h("b", {}, "Build a graph"), h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...views)),
    h("div", { class: "tgv-built-row" }, h("span", { class: "tgv-built-label" }, "1. choose"), chips),
    h("div", { class: "tgv-built-row" }, h("span", { class: "tgv-built-label" }, "2. apply"), h("div", { class: "tgv-chips", role: "group", "aria-label": "Operations" }, ...ops)),
    h("div", { class: "tgv-built-row" }, h("span", { class: "tgv-built-label" }, "then"), h("div", { class: "tgv-chips" }, backward, undo, clear), leaves),
    said,
    h("div", { class: "tgv-built-both" }, code, picture),
  );
  listen({ "change:result": update, "change:view": update });
  update();
  return () => clearTimeout(slow);
}

export default widget(renderBuilder);
