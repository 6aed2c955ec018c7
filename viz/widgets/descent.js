// The loss over two parameters as a map, and the paths of training runs on it. Every number was computed in Python
// (descent.py); this file draws them. Needs no kernel.

import { h, ownTheKeys } from "./player.js";

const SIDE = { width: 560, height: 380, left: 52, right: 14, top: 12, bottom: 42 };

function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function renderDescent({ model, el }) {
  const { cells, columns, rows, window: range, names, ticks, runs } = model.get("map");
  const [left, right, bottom, top] = range;
  const wide = SIDE.width - SIDE.left - SIDE.right;
  const high = SIDE.height - SIDE.top - SIDE.bottom;
  const toX = (x) => SIDE.left + ((x - left) / (right - left)) * wide;
  const toY = (y) => SIDE.top + ((top - y) / (top - bottom)) * high;

  const svg = shape("svg", { viewBox: `0 0 ${SIDE.width} ${SIDE.height}`, role: "img", class: "tgv-curve tgv-map" });
  const box = { x: SIDE.left, y: SIDE.top, width: wide, height: high };
  const plane = shape("svg", { ...box, viewBox: `${box.x} ${box.y} ${wide} ${high}` });
  cells.forEach((level, i) => {
    const x = SIDE.left + (wide * (i % columns)) / columns;
    const y = SIDE.top + (high * Math.floor(i / columns)) / rows;
    const size = { width: wide / columns, height: high / rows };
    plane.append(shape("rect", { x, y, ...size, class: "cell", "fill-opacity": level }));
  });
  const path = shape("path", { class: "path" });
  const dots = shape("g");
  const here = shape("circle", { r: 6, class: "end" });
  plane.append(path, dots, here);
  svg.append(plane);
  for (const tick of ticks.x) {
    svg.append(shape("text", { x: toX(tick), y: SIDE.height - 24, "text-anchor": "middle", class: "tick" }, String(tick).replace("-", "−")));
  }
  for (const tick of ticks.y) {
    svg.append(shape("text", { x: SIDE.left - 7, y: toY(tick) + 4, "text-anchor": "end", class: "tick" }, String(tick).replace("-", "−")));
  }
  svg.append(shape("text", { x: SIDE.left + wide / 2, y: SIDE.height - 6, "text-anchor": "middle", class: "tick" }, names[0]));
  svg.append(shape("text", { x: 12, y: SIDE.top + high / 2, "text-anchor": "middle", class: "tick" }, names[1]));

  const choices = runs.map(({ label }, index) => {
    const onclick = () => {
      model.set("run", index);
      model.save_changes();
    };
    return h("button", { type: "button", class: "tgv-option", onclick }, label);
  });
  const oninput = () => {
    model.set("step", Number(slider.value));
    model.save_changes();
  };
  const slider = h("input", { type: "range", min: 0, max: 1, step: 1, "aria-label": "step", oninput });
  const shown = h("output");
  const sentence = h("p", { class: "tgv-numbers", "aria-live": "polite" });

  function update() {
    const { points, sentences, label } = runs[model.get("run")];
    const step = Math.min(model.get("step"), points.length - 1);
    choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === model.get("run"))));
    slider.max = points.length - 1;
    slider.value = step;
    shown.textContent = String(step);
    const seen = points.slice(0, step + 1).map(([x, y]) => [toX(x), toY(y)]);
    path.setAttribute("d", seen.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""));
    dots.replaceChildren(...seen.map(([cx, cy]) => shape("circle", { cx, cy, r: 2.5, class: "dot" })));
    here.setAttribute("cx", seen.at(-1)[0]);
    here.setAttribute("cy", seen.at(-1)[1]);
    sentence.textContent = sentences[step];
    svg.setAttribute("aria-label", `The loss over ${names[0]} and ${names[1]}; training run: ${label}. ${sentences[step]}`);
  }

  el.classList.add("tgv", "tgv-slope", "tgv-descent");
  el.replaceChildren(
    h("div", { class: "tgv-options", role: "group", "aria-label": "Training run" }, ...choices),
    h("div", { class: "tgv-sliders" }, h("label", {}, h("span", {}, "step"), slider, shown)),
    svg,
    sentence,
  );
  model.on("change:run", update);
  model.on("change:step", update);
  update();
  const release = ownTheKeys(el);
  return () => {
    release();
    model.off("change:run", update);
    model.off("change:step", update);
  };
}

export default { render: renderDescent };
