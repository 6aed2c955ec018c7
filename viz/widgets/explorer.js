// The explorer: a program whose lines carry toggles, and what two engines make of it.
//
// A change of a toggle is one message to Python (`state`), the answer is one message back (`result`).
import { CodeBox } from "./code.js";
import { h, ownTheKeys } from "./js/dom.js";
import { listen, widget } from "./js/model.js";
import { Pair } from "./js/pair.js";
import { Toggles } from "./toggles.js";

const REMEMBERED = 50; // changes that can be undone
const SLOW = 700; // milliseconds after which somebody wonders

function renderExplorer({ model, el }) {
  const program = model.get("program");
  let state = {};
  let sequence = 0;
  let waiting = false; // one message under way at a time; what changes meanwhile goes with the next
  let dirty = false;
  let slow = null;
  let listed = null; // the history that the undo list shows
  let seen; // the number of the answer whose pictures are drawn
  let other = {}; // their other view: {seq, scenes}
  let frame = null; // in which an answer is about to be drawn

  // --- frame ---
  const choice = (label, onclick, more = {}) => h("button", { type: "button", class: "tgv-choice", onclick, ...more }, label);
  const command = (label, onclick, more = {}) => h("button", { type: "button", class: "tgv-text-button", onclick, ...more }, label);
  const choices = (label, buttons) => h("div", { class: "tgv-choices", role: "group", "aria-label": label }, ...buttons);
  const viewButtons = ["values", "grad_fn"].map((view) => choice(view, () => setView(view)));
  const undoButton = command("undo", () => goBack(1));
  const undoList = h("select", { "aria-label": "Go back to before a change", onchange: () => goBack(Number(undoList.value)) });
  const resetButton = command("reset", reset);
  const moreButton = command("more toggles", () => { toggles.more = !toggles.more; drawToggles(); }, { "aria-pressed": "false" });
  const deviceButtons = Object.entries(program.devices).map(([device, reason]) =>
    choice(device.toUpperCase(), () => reason || change(`PyTorch on ${device.toUpperCase()}`, (next) => { next.device = device; }), {
      "aria-disabled": String(Boolean(reason)), title: reason || null,
      "aria-label": `PyTorch on ${device.toUpperCase()}${reason ? `, not available: ${reason}` : ""}` }));
  const defaultDtype = h("select", { "aria-label": "Default dtype of PyTorch",
    onchange: () => change("default dtype of PyTorch", (next) => {
      next.default_dtype = defaultDtype.value === program.default_dtypes[0] ? undefined : defaultDtype.value;
    }) }, ...program.default_dtypes.map((name) => h("option", { value: name }, name)));
  const dtypeLabel = h("label", { class: "tgv-labelled" }, "PyTorch", defaultDtype);
  const pair = new Pair({ view: model.get("view"), step: model.get("step"), onStep: (step) => {
    model.set("step", step);
    if (!waiting) model.save_changes();
  }, onMistake: model.widget_manager && askForLesson });
  const toggles = new Toggles(program, change);
  const codeBox = new CodeBox();
  const account = h("p", { class: "tgv-account", role: "status", "aria-live": "polite" });
  const ways = h("div", { class: "tgv-ways", role: "group", "aria-label": "Ways to mend the error", hidden: true });

  const root = h("div", { class: "tgv tgv-explorer", role: "group", "aria-label": "Explorer", tabindex: "-1" },
    h("div", { class: "tgv-head" },
      h("div", { class: "tgv-title" }, "Change one thing"),
      moreButton, undoButton, undoList, resetButton,
      h("span", { class: "tgv-spring" }),
      dtypeLabel, choices("Device of PyTorch", deviceButtons), choices("View", viewButtons)),
    h("div", { class: "tgv-top" }, toggles.element, pair.tableBox),
    account, ways,
    pair.sidesBox, pair.stepLine, pair.controls,
    codeBox.element);
  const lesson = h("div", { class: "tgv-lesson", hidden: true }); // a widget of its own, with keys of its own
  el.replaceChildren(root, lesson);
  const releaseKeys = ownTheKeys(root);

  // --- state ---
  function change(label, edit, undoable = true) {
    const next = structuredClone(state);
    edit(next);
    if (undoable) model.set("history", [...model.get("history"), { label, state }].slice(-REMEMBERED));
    state = next;
    drawToggles();
    send();
  }

  function send() {
    if (waiting) {
      dirty = true;
      return;
    }
    waiting = true;
    dirty = false;
    root.setAttribute("aria-busy", "true");
    sequence += 1;
    model.set("state", { ...state, seq: sequence });
    model.save_changes();
    clearTimeout(slow);
    slow = setTimeout(() => {
      account.textContent = "Running… It waits for a cell that runs. If it never ends: Kernel > Interrupt. If no kernel runs: run this cell again.";
    }, SLOW);
  }

  /** Take the last `count` changes back. */
  function goBack(count) {
    const history = model.get("history");
    if (!count || !history.length) return;
    state = history.at(-count).state;
    model.set("history", history.slice(0, -count));
    drawToggles();
    send();
  }

  function become(label, wanted) {
    change(label, (next) => {
      Object.keys(next).forEach((key) => delete next[key]);
      Object.assign(next, structuredClone(wanted));
    });
  }

  function reset() {
    if (!isBare()) become("reset", {});
  }

  function mend(label, mended) {
    root.focus(); // the button pressed goes away with the error
    become(label, mended);
  }

  const isBare = () => Object.entries(state).every(([name, value]) =>
    (value ?? null) === null || value === Boolean(program.passes[name]) || value === 1 || value === "cpu"
    || (typeof value === "object" && !Object.keys(value).length));

  function drawHistory() {
    const history = model.get("history");
    if (history === listed) return; // as within the drag of a slider
    listed = history;
    undoButton.setAttribute("aria-disabled", String(!history.length));
    undoList.replaceChildren(h("option", { value: "0" }, `${history.length} change${history.length === 1 ? "" : "s"}`),
      ...history.map(({ label }, index) => h("option", { value: String(history.length - index) }, `before: ${label}`)).reverse());
    undoList.hidden = !history.length;
  }

  function drawToggles() {
    drawHistory();
    moreButton.setAttribute("aria-pressed", String(toggles.more));
    resetButton.setAttribute("aria-disabled", String(isBare()));
    deviceButtons.forEach((button, index) =>
      button.setAttribute("aria-pressed", String(Object.keys(program.devices)[index] === (state.device ?? "cpu"))));
    dtypeLabel.hidden = !toggles.more && !state.default_dtype;
    defaultDtype.value = state.default_dtype ?? program.default_dtypes[0];
    toggles.draw(state);
  }

  // --- result ---
  function takeResult() {
    const result = JSON.parse(model.get("result"));
    cancelAnimationFrame(frame);
    if (waiting && result.seq !== sequence) return drawResult(result); // what Python has set; our answer is to come
    clearTimeout(slow);
    waiting = false;
    if (!dirty) return drawResult(result);
    send(); // Python works at the next answer while this one is drawn
    frame = requestAnimationFrame(() => drawResult(result));
  }

  function drawResult(result) {
    if (!result.refused) seen = result.seq; // else the pictures of the answer before stay
    account.textContent = result.account || "Press a toggle beside a line: both engines run again, and the graphs answer.";
    account.classList.toggle("tgv-refused", Boolean(result.refused));
    ways.hidden = !result.mends?.length;
    ways.replaceChildren("Mend it: ", ...(result.mends ?? []).map(({ label, why, state: mended }) =>
      h("span", { class: "tgv-way" }, command(label, () => mend(label, mended)), ` ${why}`)));
    toggles.drawCode(result.code ?? [], result.origin ?? []);
    pair.show((result.sides ?? []).map(withPictures), result.table ?? []);
    addOther();
    codeBox.show(result, program.source);
    if (!waiting) root.removeAttribute("aria-busy");
  }

  /** A side with its pictures in it: they come apart from it, and only when they change. */
  function withPictures(side) {
    return side.scene ? { ...side, scene: { ...side.scene, views: drawn(side.engine, side.scene.views) } } : side;
  }

  function drawn(engine, views) {
    return Object.fromEntries(Object.entries(views).map(([view, picture]) =>
      [view, { ...picture, svg: model.get(`${view}_pictures`)[engine] }]));
  }

  function setView(view) {
    model.set("view", view);
    model.save_changes();
  }

  function drawViewButtons() {
    viewButtons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === model.get("view"))));
  }

  function drawView() {
    drawViewButtons();
    pair.setView(model.get("view"));
  }

  /** The view that nobody looked at when the answer came. */
  function takeOther() {
    other = JSON.parse(model.get("other"));
    addOther();
  }

  function addOther() {
    if (!other.scenes || other.seq !== seen) return;
    pair.addViews(Object.fromEntries(Object.entries(other.scenes).map(([engine, made]) =>
      [engine, { ...made, views: drawn(engine, made.views) }])));
  }

  function askForLesson(name) {
    if (name === model.get("mistake")) return showLesson(); // it is there
    lesson.hidden = false;
    lesson.replaceChildren(h("p", { class: "tgv-missing", role: "status" }, "The mistake and its mends are run…"));
    model.set("mistake", name);
    model.save_changes();
  }

  /** The lesson on a mistake, which Python has made, below the explorer. */
  async function showLesson() {
    const made = model.get("lesson");
    lesson.hidden = !made;
    if (!made) return lesson.replaceChildren();
    const manager = model.widget_manager;
    const view = await manager.create_view(await manager.get_model(made));
    if (made !== model.get("lesson")) return view.remove();
    const close = command("close this lesson", () => {
      model.set("mistake", "");
      model.save_changes();
      root.focus();
    });
    lesson.replaceChildren(close, view.el);
    close.focus();
  }

  root.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches("input:not([type=range])")) {
      goBack(1);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    pair.key(event);
  });

  const { seq = 0, ...initial } = model.get("state");
  state = initial;
  sequence = seq;
  drawToggles();
  drawViewButtons();
  drawResult(JSON.parse(model.get("result")));
  takeOther();
  const listeners = {
    "change:result": takeResult,
    "change:view": drawView,
    "change:other": takeOther,
    "change:step": () => pair.goTo(model.get("step")),
    "change:state": () => {
      const { seq: incoming, ...next } = model.get("state");
      if (waiting || incoming === sequence) return; // our own, or older than what we have asked for
      state = next;
      drawToggles();
    },
    "change:history": drawHistory,
    "change:lesson": showLesson,
  };
  const deaf = listen(model, listeners);
  return () => {
    deaf();
    clearTimeout(slow);
    cancelAnimationFrame(frame);
    releaseKeys();
    pair.destroy();
    el.replaceChildren();
  };
}

export default widget(renderExplorer);
