// Two engines beside each other: their pictures in step, and the table of every `.grad`.
// The explorer and the comparison are made of it.
import { h } from "./dom.js";
import { lessonCode } from "./lesson.js";
import { Stage } from "./stage.js";
import { Stepper } from "./stepper.js";
import { drawTable } from "./table.js";

/** Width and height that a picture asks for, in pixels. */
export function sizeOf(svg) {
  return ["width", "height"].map((name) => parseFloat(svg.match(new RegExp(`\\b${name}="([\\d.]+)`))?.[1] ?? 0));
}

export class Pair {
  /**
   * `step` is -1 for the last; `onStep(step)` is told when a reader goes elsewhere.
   *
   * @param {{view?: string, step?: number, onStep?: (step: number) => void}} options
   */
  constructor({ view = "values", step = -1, onStep = () => {} } = {}) {
    this.view = view;
    this.step = step;
    this.onStep = onStep;
    this.widest = {};
    this.table = h("table", { class: "tgv-table" });
    this.tableBox = h("div", { class: "tgv-table-box", tabindex: "0", role: "group", "aria-label": "Gradients" }, this.table);
    this.sides = [0, 1].map(() => this.#side());
    this.sidesBox = h("div", { class: "tgv-sides" }, ...this.sides.map((side) => side.box));
    this.stepLine = h("p", { class: "tgv-step-line", "aria-live": "polite" });
    this.stepper = new Stepper({ plays: false, label: "Step through both pictures", scrubberLabel: "Step of both pictures",
      onGo: (step) => this.goTo(step) });
    this.controls = this.stepper.element;
    this.width = 0;
    this.observer = new ResizeObserver(() => {
      this.width = this.sidesBox.clientWidth;
      this.arrange();
    });
    this.observer.observe(this.sidesBox);
  }

  #side() {
    const title = h("div", { class: "tgv-side-title" });
    const host = h("div", {});
    const note = h("div", {});
    const side = { title, host, note, box: h("div", { class: "tgv-side", role: "group" }, title, host, note), data: null };
    side.stage = new Stage(host, { label: "graph", onPick: (key) => this.#pick(side, key) });
    return side;
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.stepper.destroy();
    for (const side of this.sides) side.stage.destroy();
  }

  /** What both engines made of a program: `sides` as Python sends them, `table` a row for each tensor. */
  show(sides, table) {
    this.tableBox.hidden = !table.length;
    if (!sides.length) return; // nothing has run to its end yet
    const fresh = this.sides[0].data === null;
    sides.forEach((data, index) => { this.sides[index].data = data; });
    const [first, ...others] = this.sides;
    this.#drawSide(first);
    const drawOthers = () => others.forEach((side) => this.#drawSide(side));
    // To lay out a picture takes the browser a while: at first, one is on the screen before it turns to the other.
    if (fresh) this.frame = requestAnimationFrame(() => { this.frame = requestAnimationFrame(drawOthers); });
    else {
      cancelAnimationFrame(this.frame);
      drawOthers();
    }
    drawTable(this.table, sides.filter((side) => side.scene), table);
    this.arrange();
    this.goTo(this.step);
  }

  setView(view) {
    const at = this.step;
    this.view = view;
    for (const side of this.sides) if (side.data?.scene?.views[view]) side.stage.show(side.data.scene, view, this.#stepOf(side.data.scene));
    this.arrange();
    this.goTo(at);
  }

  /** A view of both scenes that comes later than the scenes: {engine: {views, details}}. */
  addViews(scenes) {
    for (const { data } of this.sides) {
      if (!data?.scene || !scenes[data.engine]) continue;
      Object.assign(data.scene.views, scenes[data.engine].views);
      Object.assign(data.scene.details, scenes[data.engine].details);
    }
    if (this.sides.some((side) => side.data?.scene && side.stage.shown !== this.view)) this.setView(this.view);
  }

  #drawSide(side) {
    const { data } = side;
    side.title.replaceChildren(data.title, data.about ? h("span", { class: "tgv-about" }, ` · ${data.about}`) : "");
    side.host.hidden = !data.scene;
    side.note.replaceChildren();
    if (data.missing) side.note.append(h("p", { class: "tgv-missing" }, data.missing));
    const svg = data.scene?.views[this.view]?.svg;
    if (svg) {
      side.stage.setHeight(Math.min(340, Math.max(180, Math.round(sizeOf(svg)[1]))));
      side.stage.show(data.scene, this.view, this.#stepOf(data.scene));
    }
    if (data.error) {
      const { type, message, explanation, line, mistake } = data.error;
      side.note.append(
        h("div", { class: "tgv-error", role: "alert" },
          h("b", {}, `${type}${line ? `, line ${line}` : ""}`),
          h("p", {}, explanation),
          mistake ? lessonCode(mistake) : null,
          h("p", { class: "tgv-message", tabindex: "0" }, message)));
    }
    for (const text of data.warnings ?? []) side.note.append(h("p", { class: "tgv-missing tgv-warning" }, text));
    if (data.stdout) side.note.append(h("pre", { class: "tgv-stdout", tabindex: "0", "aria-label": "Printed" }, data.stdout));
  }

  // --- both pictures, in step ---

  #scenes() {
    return this.sides.filter((side) => side.data?.scene).map((side) => side.data.scene);
  }

  last() {
    return Math.max(0, ...this.#scenes().map((scene) => scene.steps.length - 1));
  }

  /** The step shown, from 0. */
  at() {
    return this.step < 0 ? this.last() : Math.min(this.step, this.last());
  }

  #stepOf(scene) {
    const last = scene.steps.length - 1;
    return this.step < 0 ? last : Math.min(this.step, last);
  }

  goTo(wanted) {
    const target = wanted < 0 || wanted >= this.last() ? -1 : wanted;
    const moved = target !== this.step;
    this.step = target;
    const at = this.at();
    for (const side of this.sides) if (side.data?.scene && side.stage.svg) side.stage.go(Math.min(at, side.data.scene.steps.length - 1));
    const lead = this.#scenes().sort((a, b) => b.steps.length - a.steps.length)[0];
    this.stepLine.hidden = this.controls.hidden = !lead; // there is nothing to step through
    if (lead) {
      const { title, sentence, phase } = lead.steps[at];
      this.stepLine.replaceChildren(h("b", {}, title), " ", phase === "error" ? "" : sentence); // its text stands above
      this.stepper.setSteps(lead.steps);
      this.stepper.show(at);
    }
    if (moved) this.onStep(target);
  }

  #pick(side, key) {
    const steps = side.stage.stepsOf(key);
    if (steps.length) this.goTo(steps.find((step) => step > this.at()) ?? steps[0]);
  }

  /** The keys that step: for the widget's own listener. True if `event` was one of them. */
  key(event) {
    return this.stepper.key(event);
  }

  /** Side by side where both can be read so, one above the other where they are wide. */
  arrange() {
    const pictures = this.sides.map((side) => side.data?.scene?.views[this.view]?.svg).filter(Boolean);
    // The widest so far: a toggle that makes a picture smaller does not move it elsewhere.
    const widest = Math.max(this.widest[this.view] ?? 0, ...pictures.map((svg) => sizeOf(svg)[0]));
    this.widest[this.view] = widest;
    const stacked = widest * 0.72 > (this.width || this.sidesBox.clientWidth) / 2;
    if (this.sidesBox.classList.contains("tgv-stacked") === stacked) return;
    this.sidesBox.classList.toggle("tgv-stacked", stacked);
  }
}
