// One stage for the results of two engines: the graph, PyTorch's agreement as a badge, and behind the badge PyTorch's own graph
// beside ours, the table of every `.grad`, and whatever else a widget adds.
import { h } from "./dom.js";
import { limitLegend, newLegend } from "./legend.js";
import { HALF, SPLIT, Stage } from "./stage.js";
import { Stepper } from "./stepper.js";
import { drawTable } from "./table.js";

const LOWEST = 220; // pixels: in less, one that is panned tells more than one that is folded

/** The views that a scene has or will have: some arrive later. */
const offersOf = (scene) => scene.offers ?? Object.keys(scene.views);

export class Engines {
  /**
   * `step` is -1 for the last. `onStep(step)` reports where the reader goes, `onView(view)` and `onSplit(split)` what was
   * pressed; `tools` are shown in the bar above the split stage.
   *
   * @param {{view?: string, step?: number, split?: boolean, onStep?: (step: number) => void, onView?: (view: string) => void,
   *   onSplit?: (split: boolean) => void, onRoom?: (width: number, height: number) => void,
   *   onPick?: (engine: string, key: string) => boolean, tools?: HTMLElement[]}} options
   */
  constructor({ view = "values", step = -1, split = false, onStep = () => {}, onView = () => {}, onSplit = () => {}, onRoom = () => {}, onPick = () => false, tools = [] } = {}) {
    this.view = view;
    this.onRoom = onRoom; // told how large the place of one graph is
    this.onPick = onPick; // asked what a click on an element does: true if it has done it
    this.step = step;
    this.onStep = onStep;
    /** @type {((line: number | null) => void) | null} */
    this.onHere = null; // told the line of the step that is shown
    this.sides = ["graph", "PyTorch's graph"].map((label) => this.#side(label));
    this.viewButtons = ["modules", "values", "grad_fn"].map((name) =>
      h("button", { type: "button", class: "tgv-choice", hidden: name === "modules", onclick: () => onView(name) }, name));
    this.views = h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...this.viewButtons);
    this.badge = h("button", { type: "button", class: "tgv-badge", "aria-expanded": "false", onclick: () => onSplit(!this.split) });
    this.drawerButton = h("button", { type: "button", class: "tgv-text-button", "aria-expanded": "false",
      onclick: () => this.setDrawer(this.drawer.hidden) }, "table of .grad");
    this.bar = h("div", { class: "tgv-split-bar", role: "group", "aria-label": "PyTorch", hidden: true }, ...tools,
      h("span", { class: "tgv-spring" }), this.drawerButton);
    this.panes = h("div", { class: "tgv-panes" }, ...this.sides.map((side) => side.box));
    this.differs = h("ul", { class: "tgv-differences" });
    this.table = h("table", { class: "tgv-table" });
    this.drawer = h("div", { class: "tgv-drawer tgv-table-box", scrolls: "Gradients", hidden: true },
      this.differs, this.table);
    this.theatre = h("div", { class: "tgv-theatre" }, this.panes, this.drawer);
    this.element = h("div", { class: "tgv-engines" }, this.bar, this.theatre);
    this.stepper = new Stepper({ label: "Step through the program", scrubberLabel: "Step", onGo: (to) => this.goTo(to) });
    this.caption = h("p", { class: "tgv-step-line", "aria-live": "polite", scrolls: "This step" });
    this.entries = newLegend();
    this.legend = h("details", { class: "tgv-legend-box", ontoggle: () => this.#showLegend() }, h("summary", {}, "legend"), h("div", { class: "tgv-legend-sheet" }, this.entries));
    this.controls = h("div", { class: "tgv-steps" }, this.stepper.element, this.caption, this.legend);
    this.observer = new ResizeObserver(() => this.#arrange());
    this.observer.observe(this.panes);
    this.setSplit(split);
    this.#showView();
  }

  #side(label) {
    const title = h("div", { class: "tgv-side-title", hidden: true });
    const host = h("div", {});
    const note = h("div", { class: "tgv-side-note", scrolls: "Notes on the run", hidden: true });
    const side = { title, host, note, box: h("div", { class: "tgv-side", role: "group" }, title, host, note), data: null };
    side.stage = new Stage(host, { label, onPicture: () => this.#showLegend(), onPick: (key) => {
      if (this.onPick(side.data.engine, key)) side.stage.hideTip(); // it would cover what opens
      else this.#pick(side, key);
    } });
    return side;
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.stepper.destroy();
    for (const side of this.sides) side.stage.destroy();
  }

  /** The results of both engines: `sides`, a row of `table` for each tensor, and the `verdict` on both. */
  show(sides, table, verdict) {
    this.#showVerdict(verdict);
    if (!sides.length) return; // nothing has run to its end yet
    sides.forEach((data, index) => { this.sides[index].data = data; });
    this.#showView();
    drawTable(this.table, sides.filter((side) => !side.missing), table);
    this.#drawSides();
    this.#showSteps();
  }

  #drawSides() {
    const [first, second] = this.sides;
    this.#drawSide(first);
    cancelAnimationFrame(this.frame);
    // Laying out a picture takes the browser a while: show ours before working on the other.
    if (this.split) this.frame = requestAnimationFrame(() => this.#drawSide(second));
    this.#arrange();
  }

  #drawSide(side) {
    const { data } = side;
    if (!data) return;
    side.title.replaceChildren(data.title, data.about ? h("span", { class: "tgv-about" }, ` · ${data.about}`) : "");
    side.title.title = data.about ? `${data.title} · ${data.about}` : data.title;
    side.host.hidden = !data.scene;
    const notes = [
      data.missing ? h("p", { class: "tgv-missing" }, data.missing) : null,
      data.alone ? h("p", { class: "tgv-missing" }, data.alone) : null,
      data.cut ? h("p", { class: "tgv-missing" }, data.cut) : null,
      ...(data.warnings ?? []).map((text) => h("p", { class: "tgv-missing tgv-warning" }, text)),
      data.stdout ? h("pre", { class: "tgv-stdout", scrolls: "Printed" }, data.stdout) : null,
    ].filter(Boolean);
    side.note.replaceChildren(...notes);
    side.note.hidden = !notes.length;
    side.box.classList.toggle("tgv-without", !data.scene);
    const view = this.#viewOf(data.scene);
    if (!view) return;
    side.stage.setHeight(this.#heightOf(side));
    side.stage.show(data.scene, view, this.#stepOf(data.scene));
    if (side === this.sides[0]) this.#showLegend();
  }

  /** The legend has what the shown picture uses, once it is open. */
  #showLegend() {
    const [{ data, stage }] = this.sides;
    if (!this.legend.open || !data?.scene || !stage.svg) return;
    limitLegend(this.entries, stage.svg, data.scene);
  }

  // --- the badge and what is behind it ---

  #showVerdict(verdict) {
    if (!verdict) return;
    const { agree, label, compared, differs, details = [] } = verdict;
    const mark = agree === null ? "" : agree ? "✓" : "≠";
    this.badge.dataset.agree = String(agree);
    this.badge.replaceChildren(h("b", {}, `${label} ${mark}`), h("span", { class: "tgv-compared" }, differs[0] ?? compared),
      h("span", { class: "tgv-caret", "aria-hidden": "true" }, "▾"));
    this.badge.title = differs.length ? differs.join("\n") : compared;
    this.badge.setAttribute("aria-label", `${label}; ${differs.length ? differs.join("; ") : compared}. PyTorch's own graph and the table of gradients`);
    this.differs.replaceChildren(...differs.map((text) => h("li", {}, text)),
      ...details.map((text) => h("li", { class: "tgv-detail" }, text)));
    this.differs.hidden = !this.differs.childElementCount;
  }

  /** The code in sight has not run: nothing is known of it. */
  doubt() {
    this.#showVerdict({ agree: null, label: "not run yet", compared: "the code in sight has not run", differs: [] });
  }

  /** Show PyTorch's graph beside ours, or hide it. */
  setSplit(split) {
    const changed = this.split !== split;
    this.split = split;
    this.badge.setAttribute("aria-expanded", String(split));
    this.bar.hidden = !split;
    this.element.classList.toggle("tgv-split", split);
    for (const side of this.sides) side.title.hidden = !split;
    this.sides[1].box.hidden = !split;
    if (!split) this.setDrawer(false);
    if (changed && this.sides[0].data) this.#drawSides();
  }

  /** Show the table of tensors over the lower part of the stage. */
  setDrawer(open) {
    this.drawer.hidden = !open;
    this.drawerButton.setAttribute("aria-expanded", String(open));
  }

  // --- the view ---

  setView(view) {
    this.view = view;
    this.#showView();
    for (const side of this.sides) {
      if (this.#viewOf(side.data?.scene) && (side === this.sides[0] || this.split)) this.#drawSide(side);
    }
    this.#showSteps();
  }

  #showView() {
    const offered = new Set(this.#scenes().flatMap(offersOf));
    if (offered.size) this.viewButtons[0].hidden = !offered.has("modules");
    const shown = offered.size && !offered.has(this.view) ? "values" : this.view;
    for (const each of this.viewButtons) each.setAttribute("aria-pressed", String(each.textContent === shown));
  }

  /** The view of a scene to show: another one if the program has lost its modules; null if it has not arrived yet. */
  #viewOf(scene) {
    if (!scene) return null;
    const view = offersOf(scene).includes(this.view) ? this.view : "values";
    return scene.views[view] ? view : null;
  }

  /** What arrives after the scenes: further views, and the scene of an engine that is not in sight. {engine: scene or a part of one} */
  addViews(scenes) {
    let drawn = false;
    for (const side of this.sides) {
      const more = side.data && scenes[side.data.engine];
      if (!more) continue;
      if (!side.data.scene && more.steps) {
        side.data.scene = more;
        drawn = this.split;
      } else if (side.data.scene) {
        Object.assign(side.data.scene.views, more.views);
        Object.assign(side.data.scene.details, more.details);
      }
    }
    if (drawn || this.sides.some((side) => side.data?.scene && side.stage.svg && side.stage.shown !== this.view)) this.setView(this.view);
  }

  // --- both pictures, in step ---

  #scenes() {
    return this.sides.filter((side) => side.data?.scene).map((side) => side.data.scene);
  }

  /** The scene whose steps are described: the one in sight; of two, the one that gets further. */
  #lead() {
    if (!this.split) return this.#scenes()[0] ?? null;
    return this.#scenes().reduce((best, scene) => (scene.steps.length > (best?.steps.length ?? 0) ? scene : best), null);
  }

  last() {
    return Math.max(0, (this.#lead()?.steps.length ?? 1) - 1);
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
    for (const side of this.sides) {
      if (side.data?.scene && side.stage.svg && !side.box.hidden) side.stage.go(this.#stepOf(side.data.scene));
    }
    this.#showSteps();
    if (moved) this.onStep(target);
  }

  #showSteps() {
    const lead = this.#lead();
    this.controls.classList.toggle("tgv-no-steps", !lead); // there is nothing to step through, and its place is kept
    if (!lead) return this.onHere?.(null);
    const { title, sentence, phase, line } = lead.steps[this.at()];
    this.stepper.setSteps(lead.steps);
    this.stepper.show(this.at());
    // What an error says stands elsewhere, once.
    this.caption.replaceChildren(...(phase === "error" ? ["Here it stops."] : [h("b", {}, title), " ", sentence]));
    this.onHere?.(line);
  }

  /** Go to the next step in which an element of an engine's graph runs. */
  goToElement(engine, key) {
    const side = this.sides.find(({ data }) => data?.engine === engine);
    if (side) this.#pick(side, key);
  }

  #pick(side, key) {
    const steps = side.stage.stepsOf(key);
    if (steps.length) this.goTo(steps.find((step) => step > this.at()) ?? steps[0]);
  }

  /** Handle the keys that step; for the widget's own listener. True if `event` was one of them. */
  key(event) {
    return this.stepper.key(event);
  }

  /** Beside each other if the stage is wide, otherwise one above the other. */
  #arrange() {
    const { clientWidth, clientHeight } = this.panes;
    this.panes.classList.toggle("tgv-stacked", this.split && (clientWidth < clientHeight * 1.1 || clientWidth < 2 * HALF));
    for (const side of this.sides) {
      if (side.box.hidden || !side.stage.svg || !side.host.clientHeight) continue;
      side.stage.setHeight(this.#heightOf(side));
    }
    const [{ host }] = this.sides;
    if (host.clientWidth && host.clientHeight) this.onRoom(host.clientWidth, Math.max(LOWEST, this.#heightOf(this.sides[0])));
  }

  /** The height available to a picture; on a split stage its title is above it. */
  #heightOf({ host }) {
    return Math.max(120, host.clientHeight - (this.split ? SPLIT.title : 0));
  }
}
