// A watched training: the picture comes from Python (monitor/picture.py). This file shows it, and tells the numbers of a cell
// under the pointer or the keyboard's cursor. It needs no kernel: the same file is the saved page.
import { h, svg } from "./js/dom.js";
import { widget } from "./js/model.js";

/** A number for people: three digits, and few zeros. */
function told(number) {
  if (typeof number === "string") return number;
  const size = Math.abs(number);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? number.toExponential(1) : String(Number(number.toPrecision(3)));
}

/** Show `state` in `el`; returns a function that shows another one. */
export function mountWatched(el, first) {
  let state = first;
  let numbers = first.numbers; // of the last state that had them
  let at = null; // the cell: [column, row]
  const pictures = { wide: h("div", { class: "tgv-watched-wide" }), narrow: h("div", { class: "tgv-watched-narrow" }) };
  const maps = h("div", {
    class: "tgv-watched-maps", tabindex: "0", role: "application",
    "aria-label": "The maps. Arrows move through layers and steps; the line below tells the numbers",
    onpointermove: (event) => point(event), onpointerleave: () => move(null), onkeydown: (event) => key(event), onblur: () => move(null),
  }, pictures.wide, pictures.narrow);
  const where = h("span", { class: "tgv-watched-where" });
  const light = h("span", { class: "tgv-watched-light", "aria-hidden": "true" });
  const head = h("div", { class: "tgv-head" }, h("div", { class: "tgv-title" }, "Training"), light, where);
  const cell = h("p", { class: "tgv-watched-cell", "aria-live": "polite" });
  const troubles = h("ul", { class: "tgv-watched-troubles" });
  const root = h("div", { class: "tgv tgv-watched", role: "group", "aria-label": "A watched training" }, head, maps, cell, troubles);
  el.replaceChildren(root);

  const groups = () => [...root.querySelectorAll("g.map")];
  const box = (group) => group.dataset.box.split(" ").map(Number);

  function point(event) {
    if (!numbers?.steps.length) return;
    for (const group of groups()) {
      const frame = group.querySelector(".frame").getBoundingClientRect();
      const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
      if (x >= 0 && x < 1 && y >= 0 && y < 1) return move([Math.floor(x * numbers.steps.length), Math.floor(y * numbers.layers.length)]);
    }
    move(null);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !numbers?.steps.length) return;
    const by = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by] };
    const ends = { Home: 0, End: numbers.steps.length - 1 };
    const [column, row] = at ?? [numbers.steps.length - 1, 0];
    if (moves[event.key]) move(at ? [column + moves[event.key][0], row + moves[event.key][1]] : [column, row]);
    else if (event.key in ends) move([ends[event.key], row]);
    else if (event.key === "Escape") move(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function move(wanted) {
    at = wanted && numbers ? [Math.max(0, Math.min(numbers.steps.length - 1, wanted[0])), Math.max(0, Math.min(numbers.layers.length - 1, wanted[1]))] : null;
    drawCursor();
  }

  function drawCursor() {
    for (const old of root.querySelectorAll(".cursor")) old.remove();
    cell.textContent = at ? sentence(...at) : "Point at a cell, or move through the maps with the arrow keys: its numbers appear here.";
    cell.classList.toggle("tgv-watched-empty", !at);
    if (!at) return;
    for (const group of groups()) {
      const [x, y, wide, high] = box(group);
      const [across, down] = [wide / numbers.steps.length, high / numbers.layers.length];
      group.append(svg("rect", { class: "cursor", x: x + at[0] * across - 1, y: y + at[1] * down - 1, width: across + 2, height: down + 2 }));
    }
  }

  function sentence(column, row) {
    const [from, to] = numbers.steps[column];
    const parts = Object.entries(state.measures).map(([name, words]) => {
      const one = numbers.values[name][column][row];
      const text = one === null ? "none" : name === "dead" && typeof one === "number" ? `${Math.round(100 * one)} %` : told(one);
      const mean = name === "activation" ? numbers.values.mean[column][row] : null;
      return `${words}: ${text}${mean === null ? "" : ` (mean ${told(mean)})`}`;
    });
    const step = from === to ? `step ${from.toLocaleString("en")}` : `steps ${from.toLocaleString("en")} to ${to.toLocaleString("en")}, the largest`;
    return `${numbers.layers[row]}, ${step}. ${parts.join("; ")}.`;
  }

  function show(next) {
    state = next;
    numbers = next.numbers ?? numbers;
    for (const [name, part] of Object.entries(pictures)) part.innerHTML = state[name]; // made by viz, every text in it escaped
    where.textContent = state.sentence;
    light.classList.toggle("tgv-watched-runs", state.running);
    const said = [...state.troubles, ...(state.more ? [`${state.more} more: w.report()`] : []), ...state.notes];
    if (troubles.textContent !== said.join("")) troubles.replaceChildren(...said.map((text) => h("li", {}, text)));
    troubles.classList.toggle("tgv-watched-good", state.good);
    drawCursor();
  }

  show(first);
  return show;
}

function renderWatched({ model, el, listen }) {
  const show = mountWatched(el, model.get("state"));
  listen({ "change:state": () => show(model.get("state")) });
}

export default widget(renderWatched);
