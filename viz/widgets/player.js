// The player: shows one scene (a picture, and a patch for each step) and lets the reader step through it. It needs no kernel;
// the HTML export uses it too:
//
//     const player = mountPlayer(element, scene, { step: 3, view: "values", onChange: (state) => {} });
//     player.go(3); player.setView("grad_fn"); player.destroy();
import { Bench } from "./js/bench.js";
import { CodeList } from "./js/code.js";
import { h, newId } from "./js/dom.js";
import { limitLegend, newLegend } from "./js/legend.js";
import { LinkButton } from "./js/link.js";
import { widget } from "./js/model.js";
import { Numbers } from "./js/numbers.js";
import { unpacked } from "./js/pack.js";
import { Sheets } from "./js/sheets.js";
import { Stage } from "./js/stage.js";
import { Stepper } from "./js/stepper.js";

const ROWS = { ready: 1, inbox: 2, saved: 2 }; // of each list of the engine's bookkeeping that are in sight

/** The engine's internal state: a list whose space is reserved, so that nothing jumps. */
class Panel {
  constructor(title, name, hint, first, steps, make) {
    this.name = name;
    this.steps = steps;
    this.first = first; // said until there is something
    this.begins = steps.findIndex((step) => step[name]?.length);
    this.make = make;
    const rows = steps.reduce((most, step) => Math.max(most, step[name]?.length ?? 0), 1);
    this.body = h("div", { class: "tgv-panel-body", scrolls: `${title}, all` });
    this.body.style.height = `${Math.min(ROWS[name], rows) * 1.6}em`;
    this.element = h("div", { class: "tgv-panel", role: "group", "aria-label": title, title: hint },
      h("div", { class: "tgv-panel-title" }, title), this.body);
  }

  show(step) {
    const rows = step[this.name];
    const nothing = this.steps.indexOf(step) < this.begins ? this.first : "none";
    this.body.replaceChildren(...(rows?.length ? rows.map(this.make) : [h("span", { class: "tgv-none" }, nothing)]));
  }
}

/**
 * Show `scene` in `el`. Options: step (by default the first that shows something), view, speed, playing,
 * onChange({step, view, speed, playing}), keys (the target to listen to for keys: the document, if the player has the page to
 * itself), find({key, of, index}) (promises the numbers of an element, if the scene does not hold them; null: there are none),
 * link (of the program, for "copy link"), besides (pixels that it needs in addition to a player's, or fewer).
 * Returns {go, setView, setSpeed, play, pause, destroy, stage, state}.
 */
export function mountPlayer(el, scene, options = {}) {
  const uid = newId();
  const views = Object.keys(scene.views);
  const { steps } = scene;
  const last = steps.length - 1;
  const state = {
    step: Math.min(Math.max(options.step ?? 1, 0), last),
    view: views.includes(options.view) ? options.view : views[0],
    speed: options.speed ?? 1,
    playing: false,
  };
  const changed = () => options.onChange?.({ ...state });

  const viewButtons = views.map((view) =>
    h("button", { type: "button", class: "tgv-choice", "aria-pressed": "false", onclick: () => setView(view) }, view));
  const stageHost = h("div", {});
  const stepTitle = h("div", { class: "tgv-step-title" });
  const sentence = h("p", { class: "tgv-sentence" });
  const now = h("div", { class: "tgv-now", "aria-live": "polite", "aria-atomic": "true", scrolls: "This step" }, stepTitle, sentence);
  const stepper = new Stepper({ onGo: go, onChange: () => {
    Object.assign(state, { speed: stepper.speed, playing: stepper.playing });
    changed();
  } });
  stepper.setSteps(steps);
  const code = new CodeList(scene.source, "Source", stepper, steps);
  const panels = [
    new Panel("Ready", "ready", "Nodes whose gradients have all arrived; the first runs next", "nodes to run next", steps,
      (name, index) => h("span", { class: index ? "tgv-chip" : "tgv-chip tgv-next" }, name)),
    new Panel("Inboxes", "inbox", "Gradients that have arrived and wait to be summed", "gradients to add up", steps,
      ([name, text]) => h("span", { class: "tgv-row" }, h("b", {}, name), ` ${text}`)),
    new Panel("Saved", "saved", "Saved for backward: tensors that nodes keep until they have run", "kept for backward()", steps,
      ([name, fate]) => h("span", { class: `tgv-row tgv-${fate.split(" ")[0]}` }, h("b", {}, name), ` ${fate}`)),
  ].filter((panel) => panel.begins >= 0); // what stays empty to the end says nothing
  const legend = newLegend();
  const longest = ["title", "sentence"].map((name) => Math.max(...steps.map((step) => step[name].length)));
  const bench = new Bench({
    code: code.element, now, more: h("div", { class: "tgv-panels", scrolls: "The engine's bookkeeping" }, ...panels.map(({ element }) => element)), stage: stageHost,
    views: () => Object.values(scene.views), longest: () => longest, besides: options.besides,
  });
  const linkButton = options.link ? new LinkButton(() => linkButton.take(options.link)) : null;
  const root = h("div", { class: "tgv tgv-player", role: "group", "aria-labelledby": `${uid}-title`, tabindex: "-1" },
    h("div", { class: "tgv-head" },
      h("div", { class: "tgv-title", id: `${uid}-title` }, scene.title || "The flow of a program"), linkButton?.element ?? null, h("span", { class: "tgv-spring" }),
      views.length > 1 ? h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...viewButtons) : null),
    bench.element, stepper.element, legend);
  el.replaceChildren(root);
  const stage = new Stage(stageHost, {
    label: scene.title,
    onPicture: () => limitLegend(legend, stage.svg, scene),
    onPick: (key) => {
      if (!find || !stage.progressOf(key).there) return goToStepOf(key); // its numbers are still to come
      stage.hideTip(); // it would cover what opens
      numbers.open(key);
    },
  });
  const sheets = scene.sheets ? new Sheets(scene.sheets) : null;
  const find = sheets ? (what) => sheets.find(what) : options.find;
  let asked = null; // what the reader wants to see the numbers of
  let sheet = null;
  const numbers = new Numbers({
    onAsk: async (what) => {
      asked = what;
      const found = await find(what);
      if (asked !== what || numbers.key === null) return;
      if (!found) goToStepOf(numbers.key);
      sheet = found;
      showNumbers();
    },
    onStep: goToStepOf,
    onClose: () => stageHost.querySelector(".tgv-node[tabindex='0']")?.focus({ preventScroll: true }),
  });
  numbers.standIn(stageHost);
  bench.onArrange = (height) => {
    stage.setHeight(height);
    if (stage.svg) limitLegend(legend, stage.svg, scene);
  };

  function goToStepOf(key) {
    const at = stage.stepsOf(key);
    if (at.length) stepper.goToNext((step) => at.includes(step));
  }

  /** The numbers as far as they are there at this step. */
  function showNumbers() {
    if (!sheet || numbers.key === null) return numbers.show(null);
    const { there, graded } = stage.progressOf(numbers.key);
    const { value, grad } = sheet.tables;
    if (there && graded) return numbers.show(sheet);
    const early = { ...sheet, tables: there && value ? { value } : {}, without: there && grad ? "Its gradient is still to come." : "" };
    numbers.show(there && sheet.of === "value" ? early : { ...early, sentence: there ? "" : "It is still to come.", made: [] });
  }

  function draw() {
    const step = steps[state.step];
    stage.go(state.step);
    if (numbers.isOpen) showNumbers();
    stepTitle.textContent = step.title;
    sentence.textContent = step.sentence;
    now.dataset.phase = step.phase;
    now.scrollTop = 0;
    code.mark(step.line, step.phase === "error");
    for (const panel of panels) panel.show(step);
    stepper.show(state.step);
  }

  function go(step) {
    const target = Math.min(Math.max(step, 0), last);
    if (target === state.step) return;
    state.step = target;
    draw();
    changed();
  }

  function setView(view) {
    if (!scene.views[view]) return;
    const before = state.view;
    state.view = view;
    stage.show(scene, view, state.step);
    viewButtons.forEach((choice, index) => choice.setAttribute("aria-pressed", String(views[index] === view)));
    limitLegend(legend, stage.svg, scene);
    draw();
    if (before !== view) changed();
  }

  const onKey = (event) => {
    if (stepper.key(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      v: () => setView(views[(views.indexOf(state.view) + 1) % views.length]),
      ...(stage.open === null ? {} : { Escape: () => stage.closeFold() }),
    }[event.key];
    if (!action || event.target.matches?.("select, input")) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  };
  const keys = options.keys ?? root;
  keys.addEventListener("keydown", onKey);

  bench.arrange();
  if (options.speed) stepper.setSpeed(options.speed);
  setView(state.view);
  if (options.playing) stepper.play();

  return {
    go, setView, setSpeed: (rate) => stepper.setSpeed(rate), play: () => stepper.play(), pause: () => stepper.pause(), stage, state, steps,
    destroy() {
      stepper.destroy();
      bench.destroy();
      keys.removeEventListener("keydown", onKey);
      stage.destroy();
      el.replaceChildren();
    },
  };
}

/** The widget's view (anywidget): traits in, traits out, nothing else. */
async function render({ model, el, set, listen }) {
  let player = null;
  let gone = false;
  let question = 0;
  let answered = null; // told what Python answers to the last question
  const find = (what) => new Promise((resolve) => {
    answered = resolve;
    question += 1;
    set("asked", { ...what, n: question });
  });
  const traits = ["step", "view", "speed", "playing"];
  const tell = (state) => {
    for (const name of traits) if (model.get(name) !== state[name]) model.set(name, state[name]);
    model.save_changes();
  };
  const mount = async () => {
    const packed = model.get("scene");
    const scene = await unpacked(packed);
    if (gone || packed !== model.get("scene")) return; // another one is on its way
    player?.destroy();
    const options = Object.fromEntries(traits.map((name) => [name, model.get(name)]));
    player = mountPlayer(el, scene, { ...options, onChange: tell, link: Object.keys(model.get("link") ?? {}).length ? model.get("link") : null, find: model.widget_manager?.kernel ? find : undefined });
  };
  listen({
    "change:scene": mount,
    "change:numbers": () => {
      const sheet = model.get("numbers");
      if (sheet.n === question) answered?.(sheet.tables ? sheet : null);
    },
    "change:step": () => player?.go(model.get("step")),
    "change:view": () => player?.state.view === model.get("view") || player?.setView(model.get("view")),
    "change:speed": () => player?.setSpeed(model.get("speed")),
    "change:playing": () => (model.get("playing") ? player?.play() : player?.pause()),
  });
  await mount();
  return () => {
    gone = true;
    player?.destroy();
  };
}

export default widget(render);
