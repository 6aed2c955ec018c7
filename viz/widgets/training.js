// Training runs: the picture comes from Python (curves.py), and each of its elements knows its run and its step. This file
// shows it up to a step. Looking needs no kernel; more steps and further runs are requests to Python.

import { h } from "./js/dom.js";
import { widget, wonder } from "./js/model.js";

function renderTraining({ model, el, set, listen }) {
  let sequence = 0;
  let slow = 0;
  const ask = (what) => {
    set("asked", { ...what, seq: `${Date.now()}-${(sequence += 1)}` });
    if (what.stop) return;
    clearTimeout(slow);
    slow = wonder(model, (text) => { note.textContent = text; });
  };
  const runs = h("div", { class: "tgv-options", role: "group", "aria-label": "Training run" });
  const frame = h("div", { class: "tgv-curves" });
  // At its end the slider follows the runs: -1 is the last step.
  const go = () => set("step", slider.value === slider.max ? -1 : looked().at[Number(slider.value)]);
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "step", oninput: go });
  const shown = h("output", { "aria-live": "off" }); // the slider and the sentence say it
  const sentence = h("p", { class: "tgv-numbers", "aria-live": "polite" });
  const note = h("p", { class: "tgv-note", role: "status" });
  const more = h("button", { type: "button", class: "tgv-text-button", onclick: () => ask({ steps: model.get("state").more }) });
  const stop = h("button", { type: "button", class: "tgv-text-button", onclick: () => ask({ stop: true }) }, "stop");
  const fields = model.get("state").settings.map(({ name, value }) => {
    const field = typeof value === "boolean"
      ? h("input", { type: "checkbox", checked: value })
      : h("input", { type: "number", step: "any", value: String(value) });
    return { name, value, field, label: h("label", {}, `${name} `, field) };
  });
  const beside = h("button", { type: "button", class: "tgv-text-button", onclick: () => {
    const settings = {};
    for (const { name, value, field } of fields) {
      const read = typeof value === "boolean" ? field.checked : field.value === "" ? value : Number(field.value);
      settings[name] = read;
    }
    ask({ settings });
  } }, "run it beside");
  const bar = h("progress", { class: "tgv-bar", "aria-label": "steps taken" });
  const counted = h("span", { class: "tgv-counted", "aria-hidden": "true" }); // the bar says it, too
  el.classList.add("tgv", "tgv-training");
  el.replaceChildren(
    runs, frame,
    h("div", { class: "tgv-sliders" }, h("label", {}, h("span", {}, "step"), slider, shown)),
    sentence,
    h("div", { class: "tgv-settings", role: "group", "aria-label": "Go on" }, more, stop, bar, counted,
      fields.length ? h("span", { class: "tgv-label" }, "other settings:") : null,
      ...fields.map(({ label }) => label), fields.length ? beside : null),
    note);

  /** The selected run, its index, and the index of its step among those that can be selected. */
  function looked() {
    const { runs: all } = model.get("state");
    const index = Math.min(model.get("run"), all.length - 1);
    const { at, sentences } = all[index];
    const wanted = model.get("step");
    const place = wanted < 0 ? at.length - 1 : Math.max(0, at.findLastIndex((step) => step <= wanted));
    return { index, at, place, said: sentences[place] ?? "No step has been taken yet." };
  }

  function drawStep() {
    const { index, at, place, said } = looked();
    slider.max = String(Math.max(0, at.length - 1));
    slider.value = String(Math.max(0, place));
    shown.textContent = String(at[place] ?? "");
    slider.setAttribute("aria-valuetext", shown.textContent);
    [...runs.children].forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === index)));
    sentence.textContent = said;
    const until = model.get("step") < 0 ? Infinity : at[place];
    for (const part of frame.querySelectorAll("[data-step]")) part.style.display = Number(part.dataset.step) > until ? "none" : "";
    for (const part of frame.querySelectorAll("[data-run]")) part.style.opacity = Number(part.dataset.run) === index ? "" : "0.6";
    for (const plane of frame.querySelectorAll("[data-last]")) { // its lines end where it ends
      const [x, y, wide, high] = plane.dataset.whole.split(" ").map(Number);
      const seen = wide * Math.min(1, until / Number(plane.dataset.last));
      plane.setAttribute("width", seen);
      plane.setAttribute("viewBox", `${x} ${y} ${seen} ${high}`);
    }
  }

  function draw() {
    const { svg, runs: all, done, said, more: count, looks } = model.get("state");
    clearTimeout(slow);
    frame.innerHTML = svg; // made by viz, every text in it escaped
    for (const plane of frame.querySelectorAll("[data-last]")) plane.dataset.whole = plane.getAttribute("viewBox");
    const focused = [...runs.children].indexOf(document.activeElement);
    runs.replaceChildren(...all.map(({ label }, index) => {
      const choice = h("button", { type: "button", class: "tgv-option", onclick: () => set("run", index) });
      choice.innerHTML = `<svg class="tgc" width="26" height="8" aria-hidden="true"><path class="path run${index % looks}" d="M0 4H26"/></svg>`;
      choice.append(label);
      return choice;
    }));
    if (focused >= 0) runs.children[focused].focus({ preventScroll: true });
    more.textContent = `${count} more steps`;
    more.setAttribute("aria-disabled", String(Boolean(done)));
    beside.setAttribute("aria-disabled", String(Boolean(done)));
    stop.setAttribute("aria-disabled", String(!done));
    bar.hidden = !done;
    [bar.value, bar.max] = done ?? [0, 1];
    counted.textContent = done ? `${done[0]} of ${done[1]}` : "";
    sentence.setAttribute("aria-live", done ? "off" : "polite"); // nobody wants to hear every picture on the way
    const news = said || (done ? "Running…" : "");
    if (note.textContent !== news) note.textContent = news;
    drawStep();
  }

  listen({ "change:state": draw, "change:run": drawStep, "change:step": drawStep });
  draw();
  return () => clearTimeout(slow);
}

export default widget(renderTraining);
