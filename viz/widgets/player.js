// The player: shows one scene (a picture, and a patch for each step) and lets a reader walk through it. Needs no kernel; the
// HTML export is made of it too:
//
//     const player = mountPlayer(element, scene, { step: 0, view: "values", onChange: (state) => {} });
//     player.go(3); player.setView("grad_fn"); player.destroy();
import { highlight } from "./js/code.js";
import { h, newId, ownTheKeys } from "./js/dom.js";
import { listen, widget } from "./js/model.js";
import { Stage } from "./js/stage.js";
import { Stepper } from "./js/stepper.js";

/** The largest number of rows that any step shows in panel `name`: room is kept, so that nothing jumps. */
function rowsKept(steps, name) {
  return Math.min(5, steps.reduce((most, step) => Math.max(most, step[name]?.length ?? 0), 1));
}

/**
 * Show `scene` in `el`. Options: step, view, speed, playing, maxHeight, onChange({step, view, speed, playing}),
 * keys (what is listened to for keys: the document, where the player has the page to itself).
 * Returns {go, setView, setSpeed, play, pause, destroy, stage, state}.
 */
export function mountPlayer(el, scene, options = {}) {
  const uid = newId();
  const views = Object.keys(scene.views);
  const steps = scene.steps;
  const last = steps.length - 1;
  const state = {
    step: Math.min(Math.max(options.step ?? 0, 0), last),
    view: views.includes(options.view) ? options.view : views[0],
    speed: options.speed ?? 1,
    playing: false,
  };
  const changed = () => options.onChange?.({ ...state });

  // --- what there is to see ---
  const heading = h("div", { class: "tgv-title", id: `${uid}-title` }, scene.title || "The flow of a program");
  const viewButtons = views.map((view) =>
    h("button", { type: "button", class: "tgv-choice", "aria-pressed": "false", onclick: () => setView(view) },
      view === "values" ? "values" : view),
  );
  const code = h("ol", { class: "tgv-code", "aria-label": "Source, a line is a button that jumps to it" });
  const lines = scene.source.map((text, index) => {
    const occurs = steps.some((step) => step.line === index + 1);
    const row = h(occurs ? "button" : "div", { class: "tgv-line", type: occurs ? "button" : null,
      "aria-label": occurs ? `Line ${index + 1}: ${text}` : null });
    row.append(h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(index + 1)), h("code", {}, highlight(text)));
    if (occurs) row.addEventListener("click", () => stepper.goToNext((step) => steps[step].line === index + 1));
    code.append(h("li", {}, row));
    return row;
  });
  const stageHost = h("div", { class: "tgv-stage" });
  const stepTitle = h("div", { class: "tgv-step-title" });
  const sentence = h("p", { class: "tgv-sentence" });
  const live = h("div", { class: "tgv-now", "aria-live": "polite", "aria-atomic": "true" }, stepTitle, sentence);

  // --- what there is to do ---
  const stepper = new Stepper({ onGo: go, onChange: () => {
    Object.assign(state, { speed: stepper.speed, playing: stepper.playing });
    changed();
  } });
  stepper.setSteps(steps);

  // --- the engine's own bookkeeping ---
  const panel = (title, name, hint) => {
    const body = h("div", { class: "tgv-panel-body" });
    body.style.minHeight = `${rowsKept(steps, name) * 1.6}em`;
    return [h("div", { class: "tgv-panel", role: "group", "aria-label": title, title: hint }, h("div", { class: "tgv-panel-title" }, title), body), body];
  };
  const [readyPanel, readyBody] = panel("Ready queue", "ready", "Nodes whose gradients have all arrived; the first runs next");
  const [inboxPanel, inboxBody] = panel("Inboxes", "inbox", "Gradients that have arrived and wait to be summed");
  const [savedPanel, savedBody] = panel("Saved for backward", "saved", "Tensors that nodes keep until they have run");
  const legend = h("ul", { class: "tgv-legend", "aria-label": "Legend" },
    ...(scene.legend ?? []).map(({ kind, label, view }) => h("li", { "data-view": view }, h("span", { class: `tgv-key tgv-key-${kind}`, "aria-hidden": "true" }), label)));

  const body = h("div", { class: "tgv-body" }, code, stageHost);
  const root = h("div", { class: "tgv tgv-player", role: "group", "aria-labelledby": `${uid}-title`, tabindex: "-1" },
    h("div", { class: "tgv-head" }, heading, h("span", { class: "tgv-spring" }),
      views.length > 1 ? h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...viewButtons) : null),
    body, live, stepper.element, h("div", { class: "tgv-panels" }, readyPanel, inboxPanel, savedPanel), legend);
  el.replaceChildren(root);
  const releaseKeys = ownTheKeys(root);
  const stage = new Stage(stageHost, {
    maxHeight: options.maxHeight, label: scene.title, onPicture: () => arrange(),
    onPick: (key) => { const at = stage.stepsOf(key); if (at.length) stepper.goToNext((step) => at.includes(step)); },
  });

  /** Code beside the picture where both can be read so, above it where the picture is wide. */
  function arrange() {
    const wide = stage.box.w / stage.unit;
    // What the picture leaves, and the buttons beside a narrow one.
    body.style.setProperty("--tgv-room", `${Math.max(0, root.clientWidth - Math.max(wide, 360))}px`);
    const beside = root.clientWidth - Math.min(code.scrollWidth, root.clientWidth * 0.38) >= wide * 0.85;
    if (body.classList.contains("tgv-beside") !== beside) {
      body.classList.toggle("tgv-beside", beside);
      stage.fit();
    }
  }
  const observer = new ResizeObserver(arrange);
  observer.observe(root);

  function chips(body, rows, make) {
    body.replaceChildren(...(rows?.length ? rows.map(make) : [h("span", { class: "tgv-none" }, "none")]));
  }

  function draw() {
    const step = steps[state.step];
    stage.go(state.step);
    stepTitle.textContent = step.title;
    sentence.textContent = step.sentence;
    live.dataset.phase = step.phase;
    lines.forEach((line, index) => {
      const here = index + 1 === step.line;
      line.classList.toggle("tgv-here", here);
      if (here) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    const here = lines[step.line - 1];
    if (here && code.scrollHeight > code.clientHeight) {
      // Only the list is scrolled: scrollIntoView would move the notebook too.
      const top = here.offsetTop - code.offsetTop;
      if (top < code.scrollTop || top + here.offsetHeight > code.scrollTop + code.clientHeight) code.scrollTop = top - 40;
    }
    chips(readyBody, step.ready, (name, index) => h("span", { class: index ? "tgv-chip" : "tgv-chip tgv-next" }, name));
    chips(inboxBody, step.inbox, ([name, text]) => h("span", { class: "tgv-row" }, h("b", {}, name), ` ${text}`));
    chips(savedBody, step.saved, ([name, fate]) =>
      h("span", { class: `tgv-row tgv-${fate.split(" ")[0]}` }, h("b", {}, name), ` ${fate}`));
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
    stage.show(scene, view);
    arrange();
    viewButtons.forEach((choice, index) => choice.setAttribute("aria-pressed", String(views[index] === view)));
    for (const entry of legend.children) entry.hidden = (entry.dataset.view ?? view) !== view;
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

  if (options.speed) stepper.setSpeed(options.speed);
  setView(state.view);
  if (options.playing) stepper.play();

  return {
    go, setView, setSpeed: (rate) => stepper.setSpeed(rate), play: () => stepper.play(), pause: () => stepper.pause(), stage, state, steps,
    destroy() {
      stepper.destroy();
      observer.disconnect();
      releaseKeys();
      keys.removeEventListener("keydown", onKey);
      stage.destroy();
      el.replaceChildren();
    },
  };
}

/** The widget's view (anywidget): traits in, traits out, nothing else. */
function render({ model, el }) {
  let player = null;
  const traits = ["step", "view", "speed", "playing"];
  const tell = (state) => {
    for (const name of traits) if (model.get(name) !== state[name]) model.set(name, state[name]);
    model.save_changes();
  };
  const mount = () => {
    player?.destroy();
    const options = Object.fromEntries(traits.map((name) => [name, model.get(name)]));
    player = mountPlayer(el, model.get("scene"), { ...options, onChange: tell });
  };
  const listeners = {
    "change:scene": mount,
    "change:step": () => player.go(model.get("step")),
    "change:view": () => player.state.view === model.get("view") || player.setView(model.get("view")),
    "change:speed": () => player.setSpeed(model.get("speed")),
    "change:playing": () => (model.get("playing") ? player.play() : player.pause()),
  };
  mount();
  const deaf = listen(model, listeners);
  return () => {
    deaf();
    player.destroy();
  };
}

export default widget(render);
