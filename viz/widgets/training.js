// Training runs: the picture comes from Python (curves.py), each of its elements with the run and the step it belongs to;
// this file shows it up to a step. Looking needs no kernel; more steps and further runs are asked of Python.

import { h, ownTheKeys } from "./player.js";

function renderTraining({ model, el }) {
  const set = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  let sequence = 0;
  let slow = 0;
  const ask = (what) => {
    set("asked", { ...what, seq: `${Date.now()}-${(sequence += 1)}` });
    if (what.stop) return;
    clearTimeout(slow);
    slow = setTimeout(() => { note.textContent = "Running… If no kernel runs: run this cell again."; }, 700);
  };
  const runs = h("div", { class: "tgv-options", role: "group", "aria-label": "Training run" });
  const frame = h("div", { class: "tgv-curves" });
  const slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "step", oninput: () => set("step", Number(slider.value)) });
  const shown = h("output");
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
  el.classList.add("tgv", "tgv-training");
  el.replaceChildren(
    runs, frame,
    h("div", { class: "tgv-sliders" }, h("label", {}, h("span", {}, "step"), slider, shown)),
    sentence,
    h("div", { class: "tgv-settings", role: "group", "aria-label": "Go on" }, more, stop,
      fields.length ? h("span", { class: "tgv-label" }, "other settings:") : null,
      ...fields.map(({ label }) => label), fields.length ? beside : null),
    note);

  function drawStep() {
    const { runs: all } = model.get("state");
    const index = Math.min(model.get("run"), all.length - 1);
    const last = all[index].sentences.length - 1;
    const wanted = model.get("step");
    const step = wanted < 0 ? last : Math.min(wanted, last);
    slider.max = String(last);
    slider.value = String(step);
    shown.textContent = String(step);
    [...runs.children].forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === index)));
    sentence.textContent = all[index].sentences[step];
    const until = wanted < 0 ? Infinity : step;
    for (const part of frame.querySelectorAll("[data-step]")) {
      part.style.display = Number(part.dataset.step) > until ? "none" : "";
      part.style.opacity = Number(part.dataset.run) === index ? "" : "0.45";
    }
  }

  function draw() {
    const { svg, runs: all, running, said, more: count } = model.get("state");
    clearTimeout(slow);
    frame.innerHTML = svg;
    runs.replaceChildren(...all.map(({ label }, index) =>
      h("button", { type: "button", class: `tgv-option tgv-run${Math.min(index, 3)}`, onclick: () => set("run", index) }, label)));
    more.textContent = `${count} more steps`;
    more.setAttribute("aria-disabled", String(running));
    stop.setAttribute("aria-disabled", String(!running));
    note.textContent = said || (running ? "Running…" : "");
    drawStep();
  }

  const listeners = { "change:state": draw, "change:run": drawStep, "change:step": drawStep };
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  draw();
  const release = ownTheKeys(el);
  return () => {
    clearTimeout(slow);
    release();
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}

export default { render: renderTraining };
