// A curve with a point that a slider moves, its tangent, and the chord between x - h and x + h. Every number was computed
// in Python (slope.py); this file looks them up and draws lines. Needs no kernel.

import { h, svg as make } from "./js/dom.js";
import { widget } from "./js/model.js";

const WIDTH = 560;
const HEIGHT = 340;
const MARGIN = { left: 46, right: 14, top: 12, bottom: 30 };

function renderSlope({ model, el, set, listen }) {
  const { label, at, curve, steps, window: range } = model.get("table");
  const [left, right, bottom, top] = range;
  const toX = (x) => MARGIN.left + ((x - left) / (right - left)) * (WIDTH - MARGIN.left - MARGIN.right);
  const toY = (y) => HEIGHT - MARGIN.bottom - ((y - bottom) / (top - bottom)) * (HEIGHT - MARGIN.top - MARGIN.bottom);

  const place = (line, x1, y1, x2, y2) => {
    line.setAttribute("x1", toX(x1));
    line.setAttribute("y1", toY(y1));
    line.setAttribute("x2", toX(x2));
    line.setAttribute("y2", toY(y2));
  };
  const straight = (line, x, y, slope) => place(line, left, y - slope * (x - left), right, y + slope * (right - x));

  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "tgv-curve" });
  const box = { x: MARGIN.left, y: MARGIN.top, width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  svg.append(make("rect", { ...box, class: "plane" }));
  for (const [axis, ticks] of Object.entries(model.get("table").ticks)) {
    for (const tick of ticks) {
      const line = make("line", { class: tick === 0 ? "axis" : "grid" });
      const text = make("text", { class: "tick" }, String(tick).replace("-", "−"));
      if (axis === "x") {
        place(line, tick, bottom, tick, top);
        text.setAttribute("x", toX(tick));
        text.setAttribute("y", HEIGHT - MARGIN.bottom + 18);
        text.setAttribute("text-anchor", "middle");
      } else {
        place(line, left, tick, right, tick);
        text.setAttribute("x", MARGIN.left - 7);
        text.setAttribute("y", toY(tick) + 4);
        text.setAttribute("text-anchor", "end");
      }
      svg.append(line, text);
    }
  }
  const path = curve.map(([x, y], i) => `${i ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("");
  const tangent = make("line", { class: "tangent" });
  const chord = make("line", { class: "chord" });
  const ends = [make("circle", { r: 4, class: "end" }), make("circle", { r: 4, class: "end" })];
  const point = make("circle", { r: 5.5, class: "point" });
  // An inner svg clips what leaves the plane, with no url(#…) that breaks once JupyterLab scrolls its target away.
  const plane = make("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` });
  plane.append(make("path", { d: path, class: "line" }));
  if (steps.length) plane.append(chord);
  plane.append(tangent, ...(steps.length ? ends : []), point);
  svg.append(plane);

  const slider = (name, text, last) => {
    const input = h("input", { type: "range", min: 0, max: last, step: 1, "aria-label": text, oninput: () => set(name, Number(input.value)) });
    const shown = h("output");
    return { name, input, shown, row: h("label", {}, h("span", {}, text), input, shown) };
  };
  const sliders = [slider("index", "x", at.length - 1)];
  if (steps.length) sliders.push(slider("step", "h", steps.length - 1));
  const sentence = h("p", { class: "tgv-numbers", "aria-live": "polite" });

  function update() {
    const { x, x_text, y, slope, sentence: text, chords } = at[model.get("index")];
    for (const { name, input, shown } of sliders) {
      input.value = model.get(name);
      shown.textContent = name === "index" ? x_text : steps[model.get("step")];
      input.setAttribute("aria-valuetext", shown.textContent);
    }
    point.setAttribute("cx", toX(x));
    point.setAttribute("cy", toY(y));
    straight(tangent, x, y, slope);
    const rows = [text];
    if (steps.length) {
      const { before, after, slope: chordSlope, sentence: said } = chords[model.get("step")];
      straight(chord, before[0], before[1], chordSlope);
      [before, after].forEach(([cx, cy], i) => {
        ends[i].setAttribute("cx", toX(cx));
        ends[i].setAttribute("cy", toY(cy));
      });
      rows.push(said);
    }
    sentence.replaceChildren(...rows.flatMap((row, i) => [h("span", { class: i ? "of-chord" : "of-tangent" }, row), " "]));
    svg.setAttribute("aria-label", `The curve of ${label}. ${rows.join(" ")}`);
  }

  el.classList.add("tgv", "tgv-slope");
  el.replaceChildren(h("div", { class: "tgv-sliders" }, ...sliders.map(({ row }) => row)), svg, sentence);
  listen({ "change:index": update, "change:step": update });
  update();
}

export default widget(renderSlope);
