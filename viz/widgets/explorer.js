// The explorer: a program that can be changed by switches, by dragging its numbers, or by hand, and the results of two engines.
import { CodeBox } from "./code.js";
import { Editor } from "./editor.js";
import { h, withCode } from "./js/dom.js";
import { Engines } from "./js/engines.js";
import { LinkButton } from "./js/link.js";
import { GONE, widget } from "./js/model.js";
import { Numbers } from "./js/numbers.js";
import { Sheets } from "./js/sheets.js";
import { Listing } from "./listing.js";
import { State } from "./state.js";

const [NARROW, WIDE] = [720, 1200]; // pixels of an explorer: below, all stands in one column; from there, the code takes less
const ABOVE = 128; // pixels of the code above the stage, as in the style sheet
const [LOW, HIGH] = [264, 620]; // pixels of a stage in one column with the code: where that is enough, and at most
const STEPS = 60; // pixels of the buttons below a stage
const MUCH = 0.1; // of a stage's width or height: it is worth another picture
const LITTLE = 10; // pixels of height that a picture may lack, such as those that printed text takes
const BEGIN = "Press a switch beside a line, drag a number, or edit the code: it runs again, and the graph changes.";
const RUNNING = "Running… It waits for a cell that runs. If it never ends: press stop, or Kernel > Interrupt.";

function renderExplorer({ model, el, set, listen }) {
  let program = null; // what the listing is made of now
  let listed = null; // the history that the undo list shows
  let seen; // the number of the answer whose pictures are drawn
  let other = {}; // their other view: {seq, scenes}
  let changes = null; // by engine, what the answer shown has changed
  const before = {}; // by engine, what was counted for a page without a kernel
  let counted = {}; // the numbers that were asked for last: {engine, key, of, index, n}
  let taught = ""; // the id of the lesson on a mistake
  let failed = null; // the line of the listing that raised
  let measured = null; // a report of the stage's room, about to be made
  let opened = false; // whether the place of the stage is settled

  // --- frame ---
  const choice = (label, onclick, more = {}) => h("button", { type: "button", class: "tgv-choice", onclick, ...more }, label);
  const command = (label, onclick, more = {}) => h("button", { type: "button", class: "tgv-text-button", onclick, ...more }, label);
  const { devices, default_dtypes: dtypes } = model.get("program");
  const undoButton = command("undo", () => state.move(-1), { title: "Undo the last change (Ctrl+Z)" });
  const redoButton = command("redo", () => state.move(1), { title: "Redo the last undone change (Ctrl+Shift+Z)" });
  const undoList = h("select", { "aria-label": "Go back to before a change", onchange: () => state.move(-undoList.value) });
  const resetButton = command("reset", reset, { title: "The program as it was written" });
  const editButton = command("edit", () => (editor.isOpen ? editor.close() : openEditor()), { "aria-pressed": "false", title: "Edit the program" });
  const deviceButtons = Object.entries(devices).map(([device, reason]) =>
    choice(device.toUpperCase(), () => reason || state.change(`PyTorch on ${device.toUpperCase()}`, (next) => { next.device = device; }), {
      "aria-disabled": String(Boolean(reason)), title: reason || null,
      "aria-label": `PyTorch on ${device.toUpperCase()}${reason ? `, not available: ${reason}` : ""}` }));
  const defaultDtype = h("select", { "aria-label": "Default dtype of PyTorch",
    onchange: () => state.change("default dtype of PyTorch", (next) => {
      next.default_dtype = defaultDtype.value === dtypes[0] ? undefined : defaultDtype.value;
    }) }, ...dtypes.map((name) => h("option", { value: name }, name)));
  const engines = new Engines({ view: model.get("view"), step: model.get("step"), split: model.get("split"),
    onView: (view) => set("view", view), onSplit: (split) => set("split", split), onRoom: reportRoom, onPick: openNumbers,
    onStep: (step) => {
      model.set("step", step);
      if (!state.waiting) model.save_changes();
    },
    tools: [h("span", { class: "tgv-label" }, "PyTorch on"),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "Device of PyTorch" }, ...deviceButtons),
      h("label", { class: "tgv-labelled" }, "in", defaultDtype)] });
  const numbers = new Numbers({ onAsk: askForNumbers, onStep: (key) => engines.goToElement(counted.engine, key),
    onClose: () => engines.element.querySelector(".tgv-node[tabindex='0']")?.focus({ preventScroll: true }) });
  numbers.standIn(engines.theatre);
  const listing = new Listing({ change: (label, edit, drag) => state.change(label, edit, drag),
    write: (label, text, drag) => state.write(label, text, drag), open: openEditor });
  const editor = new Editor({ onWrite: (text) => state.write("edit by hand", text), onClose: () => {
    editButton.setAttribute("aria-pressed", "false");
    editButton.textContent = "edit";
    listing.list.inert = false;
    editButton.focus({ preventScroll: true });
  } });
  engines.onHere = (line) => listing.showHere(line, failed);
  const codeBox = new CodeBox();
  const linkButton = new LinkButton(() => ask("link"), "link");
  const account = h("p", { class: "tgv-account", role: "status", "aria-live": "polite" });
  const errors = h("div", { class: "tgv-errors" });
  const ways = h("div", { class: "tgv-ways", role: "group", "aria-label": "Ways to fix the error" });
  /** @type {string[]} */
  let slots = []; // the labels of the ways, in the order of their places
  const happened = h("div", { class: "tgv-happened", role: "group", "aria-label": "What happened" },
    h("div", { class: "tgv-told", scrolls: "What the change did" }, account, errors), ways);

  const main = h("div", { class: "tgv-main" },
    h("div", { class: "tgv-left" }, h("div", { class: "tgv-text" }, listing.element, editor.element), happened),
    engines.element);
  const root = h("div", { class: "tgv tgv-explorer", role: "group", "aria-label": "Explorer", tabindex: "-1" },
    h("div", { class: "tgv-head" }, undoButton, redoButton, undoList, resetButton, editButton, codeBox.element, linkButton.element,
      h("span", { class: "tgv-spring" }), engines.views, engines.badge),
    main,
    engines.controls);
  const lesson = h("div", { class: "tgv-lesson", hidden: true }); // a widget of its own, with keys of its own
  const high = Math.min(HIGH, Math.max(LOW, window.innerHeight - STEPS));
  root.style.setProperty("--tgv-high", `${high}px`);
  el.replaceChildren(root, lesson);

  /** Python draws for the available room; tell it when that differs much from the room it drew for. */
  function reportRoom(width, height) {
    clearTimeout(measured);
    measured = setTimeout(() => {
      if (!opened && openAt(main.clientWidth, main.clientHeight)) return;
      const known = model.get("room");
      if (differs([width, height], known) || height < known[1] - LITTLE) set("room", [Math.round(width), Math.round(height)]);
    }, 120);
  }

  const differs = (one, other) => one.some((size, axis) => Math.abs(size - other[axis]) >= other[axis] * MUCH);

  /** Once, when the explorer opens: tell Python how large the stage would be in each place. True if that makes it choose again. */
  function openAt(width, height) {
    opened = true;
    const narrow = width < NARROW; // there "below" is only higher
    if (!narrow && model.get("history").at) return false;
    const beside = width * (width < WIDE ? 0.6 : 0.62) - 1;
    const sizes = narrow ? { beside: [width, LOW - 1], below: [width, high - 1] } : { beside: [beside, height], below: [width, height - ABOVE] };
    const known = model.get("sizes");
    if (!Object.keys(sizes).some((place) => differs(sizes[place], known[place]))) return false;
    set("sizes", Object.fromEntries(Object.entries(sizes).map(([place, size]) => [place, size.map(Math.round)])));
    return true;
  }

  // --- state ---
  const first = JSON.parse(model.get("result"));
  const state = new State(model, first.state, {
    changed: drawSwitches, answered: drawResult, asked: () => root.setAttribute("aria-busy", "true"),
    slow: () => {
      engines.doubt();
      account.textContent = model.widget_manager?.kernel?.why?.() ?? RUNNING; // a page without Jupyter knows why
      errors.replaceChildren();
      ways.replaceChildren(command("stop", stop, { title: "Stop the program that runs" }));
    },
    gone: () => {
      root.removeAttribute("aria-busy");
      account.textContent = GONE;
    },
  });

  /** Interrupt the kernel: the program that runs may never end. */
  function stop() {
    model.widget_manager?.kernel?.interrupt?.();
  }

  function reset() {
    if (state.overdue) stop(); // what runs now may never answer
    if (!state.isBare) state.become("reset", {}, "The program is as it was written");
  }

  function openEditor(line = 1) {
    listing.closeMenu();
    listing.list.inert = true; // what lies under the editor is out of reach
    editButton.setAttribute("aria-pressed", "true");
    editButton.textContent = "done";
    editor.open(listing.code, line);
  }

  function drawHistory() {
    const history = model.get("history");
    if (history === listed) return; // as within a drag
    listed = history;
    const { labels, at } = history;
    redoButton.setAttribute("aria-disabled", String(at === labels.length));
    undoButton.setAttribute("aria-disabled", String(!at));
    undoList.replaceChildren(h("option", { value: "0" }, `${at} change${at === 1 ? "" : "s"}`),
      ...labels.slice(0, at).map((label, index) => h("option", { value: String(at - index) }, `before: ${label}`)).reverse());
    undoList.style.visibility = at ? "visible" : "hidden"; // its place is kept
  }

  function drawSwitches() {
    drawHistory();
    resetButton.setAttribute("aria-disabled", String(state.isBare));
    deviceButtons.forEach((button, index) =>
      button.setAttribute("aria-pressed", String(Object.keys(devices)[index] === (state.now.device ?? "cpu"))));
    defaultDtype.value = state.now.default_dtype ?? dtypes[0];
    listing.draw(state.now);
  }

  // --- result ---
  function drawResult(result, asked = null) {
    root.dataset.place = result.place ?? "";
    if (!result.refused) seen = result.seq; // else the pictures of the answer before stay
    if (model.get("program") !== program) {
      program = model.get("program");
      listing.setProgram(program);
    }
    const told = result.refused ? [] : result.errors ?? [];
    account.textContent = result.account || (told.length ? "" : BEGIN);
    account.classList.toggle("tgv-refused", Boolean(result.refused));
    const cause = !result.refused && result.cause ? h("p", {}, h("b", {}, "Cause: "), ...withCode(result.cause)) : null;
    errors.replaceChildren(...(cause ? [h("div", { class: "tgv-error" }, cause)] : []), ...told.map((error) => cause ? errorBox({ ...error, explanation: "" }, told.length > 1, true) : errorBox(error, told.length > 1)));
    const mistake = model.widget_manager && told.find((error) => error.mistake)?.mistake;
    const fixes = new Map((result.fixes ?? []).map((one) => [one.label, one]));
    // A way that is offered still keeps its place, and one that is gone leaves its place empty, until the error is gone.
    slots = fixes.size ? [...new Set([...slots, ...fixes.keys()])] : [];
    ways.replaceChildren(...slots.map((label) => {
      const { why, state: fixed } = fixes.get(label) ?? {};
      const button = command(label, () => {
        root.focus({ preventScroll: true }); // the button pressed goes away with the error
        state.become(label, fixed);
      }, { title: why ?? "" });
      if (!fixes.has(label)) button.style.visibility = "hidden";
      return button;
    }),
    ...(mistake ? [command("an example of it", () => askForLesson(mistake), { title: "A small program that raises this error, and its fixes, step by step" })] : []));
    failed = told.length ? listingLine(result, told[0].line) : null;
    listing.drawCode(result);
    if (asked?.text !== undefined) editor.markError(result.refused ? result.line ?? null : failed);
    if (!result.refused) editor.show(result.code ?? []);
    drawSwitches();
    changes = result.refused ? null : result.lit;
    engines.show((result.sides ?? []).map((side) => withPictures(side, asked)), result.table ?? [], result.verdict);
    if (result.refused) engines.doubt();
    else if (!state.waiting) state.ran = state.now;
    addOther();
    codeBox.show(result, model.get("program").source);
    if (numbers.isOpen && !result.refused) askForNumbers({ key: counted.key, of: counted.of, index: counted.index }); // they follow a change
    if (!state.waiting) root.removeAttribute("aria-busy");
  }

  /** The line of the listing that corresponds to a line of the program. */
  function listingLine({ origin = [], owner = [] }, line) {
    const at = origin.lastIndexOf(line);
    const last = owner.lastIndexOf(line); // a second call that a switch has written is what fails
    return Math.max(at, last) + 1 || null;
  }

  function errorBox({ type, message, explanation, line, engines: raised, pytorch }, several, brief = explanation !== "") {
    const who = several || raised.length === 1 ? `, ${raised.map((name) => (name === "torch" ? "PyTorch" : name)).join(" and ")}` : "";
    return h("div", { class: "tgv-error", role: "alert" },
      h("p", {}, h("b", {}, `${type}${line ? `, line ${line}` : ""}${who}`), explanation ? `. ${explanation}` : ""),
      h("p", { class: `tgv-message${brief ? " tgv-brief" : ""}`, scrolls: "The message" }, message),
      pytorch ? h("p", { class: "tgv-message tgv-brief", scrolls: "PyTorch's message" }, `PyTorch: ${pytorch}`) : null);
  }

  /** A side with its pictures: they are sent separately, and only when they change. */
  function withPictures(side, asked) {
    if (!side.scene) return side;
    const change = changeOf(side.engine, asked !== null && asked.drag === undefined);
    return { ...side, scene: { ...side.scene, views: drawn(side.engine, side.scene.views), change } };
  }

  const changeOf = (engine, runs) => ({ nodes: {}, gone: [], ...changes?.[engine], runs });

  function drawn(engine, views) {
    return Object.fromEntries(Object.entries(views).map(([view, picture]) =>
      [view, { ...picture, svg: model.get(`${view}_pictures`)[engine] }]));
  }

  /** The view that was hidden when the answer came. */
  function takeOther() {
    other = JSON.parse(model.get("other"));
    addOther();
  }

  function addOther() {
    if (!other.scenes || other.seq !== seen) return;
    engines.addViews(Object.fromEntries(Object.entries(other.scenes).map(([engine, made]) =>
      [engine, { ...made, views: drawn(engine, made.views), change: changeOf(engine, false) }])));
  }

  // --- questions about what is shown, and Python's answers ---
  function ask(kind, what = {}) {
    const asked = model.get("questions");
    const question = { ...what, n: (asked[kind]?.n ?? 0) + 1 };
    set("questions", { ...asked, [kind]: question });
    return question;
  }

  const takes = { numbers: takeNumbers, link: (answer) => linkButton.take(answer), lesson: showLesson };

  // --- the numbers behind a node ---
  function openNumbers(engine, key) {
    if (!model.widget_manager && !other.sheets?.[engine]) return false; // nobody there who could count
    counted = { engine };
    numbers.open(key);
    return true;
  }

  function askForNumbers(what) {
    const now = counted = { engine: counted.engine, ...what };
    if (model.widget_manager) return (counted = ask("numbers", now));
    before[now.engine] ??= new Sheets(other.sheets[now.engine]);
    before[now.engine].find(what).then((sheet) => { if (now === counted && numbers.key !== null) numbers.show(sheet); });
  }

  function takeNumbers(sheet) {
    if (numbers.key !== null && sheet.n === counted.n) numbers.show(sheet.tables ? sheet : null);
  }

  // --- the lesson on a mistake ---
  function askForLesson(name) {
    if (taught && name === model.get("questions").lesson.name) return showLesson({ lesson: taught }); // it is there
    lesson.hidden = false;
    lesson.replaceChildren(h("p", { class: "tgv-missing", role: "status" }, "The mistake and its fixes are run…"));
    ask("lesson", { name });
  }

  /** Show the lesson on a mistake, made by Python, below the explorer. */
  async function showLesson({ lesson: made }) {
    taught = made;
    lesson.hidden = !made;
    if (!made) return lesson.replaceChildren();
    const manager = model.widget_manager;
    const view = await manager.create_view(await manager.get_model(made));
    if (made !== taught) return view.remove();
    const close = command("close this lesson", () => {
      ask("lesson", { name: "" });
      root.focus();
    });
    lesson.replaceChildren(close, view.el);
    close.focus({ preventScroll: true });
    requestAnimationFrame(() => lesson.scrollIntoView({ block: "start" }));
  }

  root.addEventListener("keydown", (event) => {
    const field = event.target.matches("input:not([type=range])") || (event.target === editor.area && editor.isAhead);
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !field) {
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      state.move(key === "z" && !event.shiftKey ? -1 : 1);
      event.preventDefault();
      return event.stopPropagation();
    }
    engines.key(event);
  });

  drawResult(first);
  takeOther();
  listen({
    "change:answers": () => Object.entries(JSON.parse(model.get("answers"))).forEach(([kind, answer]) => takes[kind](answer)),
    "change:result": () => state.take(JSON.parse(model.get("result"))),
    "change:view": () => engines.setView(model.get("view")),
    "change:split": () => engines.setSplit(model.get("split")),
    "change:other": takeOther,
    "change:step": () => engines.goTo(model.get("step")),
    "change:request": () => state.follow(),
    "change:history": drawHistory,
  });
  return () => {
    state.close();
    clearTimeout(measured);
    engines.destroy();
    listing.destroy();
    editor.destroy();
  };
}

export default widget(renderExplorer);
