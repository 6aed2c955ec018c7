// The explorer: a program whose lines carry toggles, and what two engines make of it.
//
// A change of a toggle is one message to Python (`state`), the answer is one message back (`result`).
import { Pair } from "./pair.js";
import { h, highlight, ownTheKeys } from "./player.js";

const TOGGLES = {
  // kind of line -> [name of the toggle, what it says, what it is about, shown only among "more"]
  compute: [
    ["no_grad", "no_grad", "line", false],
    ["retain_grad", "retain_grad", "name", false],
    ["inference_mode", "inference_mode", "line", true],
    ["detach", "detach", "name", true],
  ],
};
const PASSES = [
  ["retain_graph", "retain_graph", "Keep the graph for another pass", false],
  ["create_graph", "create_graph", "Record the backward pass itself", true],
  ["zero_grad", "clear .grad between", "Set .grad to None between the passes", true],
  ["anomaly", "anomaly mode", "Name the forward line behind a bad gradient", true],
];

function pill(label, title, pressed, onclick) {
  return h("button", { type: "button", class: "tgv-pill", "aria-pressed": String(pressed), title, onclick }, label);
}

function renderExplorer({ model, el }) {
  const program = model.get("program");
  let state = {};
  let sequence = 0;
  let waiting = false; // one message under way at a time; what changes meanwhile goes with the next
  let dirty = false;
  let slow = null;
  let more = false;
  let codeText = "";

  // --- frame ---
  const viewButtons = ["values", "grad_fn"].map((view) =>
    h("button", { type: "button", class: "tgv-choice", onclick: () => setView(view) }, view));
  const undoButton = h("button", { type: "button", class: "tgv-text-button", onclick: undo }, "undo");
  const resetButton = h("button", { type: "button", class: "tgv-text-button", onclick: reset }, "reset");
  const moreButton = h("button", { type: "button", class: "tgv-text-button", "aria-pressed": "false",
    onclick: () => { more = !more; drawToggles(); } }, "more toggles");
  const deviceButtons = Object.entries(program.devices).map(([device, reason]) =>
    h("button", { type: "button", class: "tgv-choice", "aria-disabled": String(Boolean(reason)), title: reason || null,
      "aria-label": `PyTorch on ${device.toUpperCase()}${reason ? `, not available: ${reason}` : ""}`,
      onclick: () => reason || change((next) => { next.device = device; }) }, device.toUpperCase()));
  const pair = new Pair({ view: model.get("view"), step: model.get("step"), onStep: (step) => {
    model.set("step", step);
    if (!waiting) model.save_changes();
  } });
  const lines = h("ol", { class: "tgv-program", "aria-label": "Program with its toggles" });
  const account = h("p", { class: "tgv-account", role: "status", "aria-live": "polite" });
  const ways = h("div", { class: "tgv-ways", role: "group", "aria-label": "Ways to mend the error", hidden: true });
  const codeLines = h("pre", { class: "tgv-result-code", tabindex: "0", "aria-label": "The code these toggles stand for" });
  const engineChoice = h("select", { "aria-label": "Engine of the code", onchange: drawCode },
    h("option", { value: "T" }, "for viz (T)"),
    h("option", { value: "tinygrad_edu" }, "for tinygrad_edu"),
    h("option", { value: "torch" }, "for PyTorch"));
  const copyButton = h("button", { type: "button", class: "tgv-text-button", onclick: copy }, "copy");

  const root = h("div", { class: "tgv tgv-explorer", role: "group", "aria-label": "Explorer", tabindex: "-1" },
    h("div", { class: "tgv-head" },
      h("div", { class: "tgv-title" }, "Change one thing"),
      moreButton, undoButton, resetButton,
      h("span", { class: "tgv-spring" }),
      h("span", { class: "tgv-label" }, "PyTorch on"),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "Device of PyTorch" }, ...deviceButtons),
      h("span", { class: "tgv-label" }, "view"),
      h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...viewButtons)),
    h("div", { class: "tgv-top" }, lines, pair.tableBox),
    account, ways,
    pair.sidesBox, pair.stepLine, pair.controls,
    h("details", { class: "tgv-code-box" },
      h("summary", {}, "The code these toggles stand for"),
      h("div", { class: "tgv-code-tools" }, engineChoice, copyButton), codeLines));
  el.replaceChildren(root);
  const releaseKeys = ownTheKeys(root);

  // --- state ---
  function change(edit, undoable = true) {
    const next = structuredClone(state);
    edit(next);
    if (undoable) model.set("history", [...model.get("history"), state].slice(-50));
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
      account.textContent = "Running… If it never ends: Kernel > Interrupt. If no kernel runs: run this cell again.";
    }, 700);
  }

  function undo() {
    const history = model.get("history");
    if (!history.length) return;
    state = history[history.length - 1];
    model.set("history", history.slice(0, -1));
    drawToggles();
    send();
  }

  function reset() {
    if (JSON.stringify(bare(state)) !== "{}") change((next) => Object.keys(next).forEach((key) => delete next[key]));
  }

  function mend(mended) {
    root.focus(); // the button pressed goes away with the error
    change((next) => {
      Object.keys(next).forEach((key) => delete next[key]);
      Object.assign(next, structuredClone(mended));
    });
  }

  function bare(full) {
    const { seq, ...rest } = full;
    return Object.fromEntries(Object.entries(rest).filter(([, value]) =>
      value && (typeof value !== "object" || Object.keys(value).length)));
  }

  const has = (name, item) => (state[name] ?? []).includes(item);
  const flip = (name, item) => change((next) => {
    const items = next[name] ?? [];
    next[name] = items.includes(item) ? items.filter((other) => other !== item) : [...items, item];
  });
  const put = (name, key, value, undoable) => change((next) => {
    next[name] = { ...next[name] };
    if (value === undefined) delete next[name][key];
    else next[name][key] = value;
  }, undoable);

  // --- toggles ---
  const rows = new Map(); // first line -> what is shown of it; elements stay, so that focus does
  function buildRows() {
    const starts = new Map(program.lines.map((line) => [line.first, line]));
    const lastBackward = program.lines.filter((line) => line.kind === "backward").at(-1);
    for (let number = 1; number <= program.source.length; ) {
      const line = starts.get(number);
      const last = line?.last ?? number;
      const text = program.source.slice(number - 1, last).join("\n");
      const tools = h("span", { class: "tgv-tools" });
      const code = h("code", {}, highlight(text));
      lines.append(h("li", {}, h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(number)), code, tools));
      if (line) rows.set(number, { code, text, tools, makers: makersOf(line, lastBackward) });
      number = last + 1;
    }
  }

  /** The controls of a line: pills that are on or off, and fields; the rare ones show among "more toggles". */
  function makersOf(line, lastBackward) {
    const makers = [];
    const at = `line ${line.first}`;
    const add = (label, title, isOn, onclick, rare) => makers.push({ rare, isOn, element: pill(label, title, false, onclick) });
    for (const input of program.inputs.filter((candidate) => candidate.line === line.first)) {
      const several = line.names.length > 1 ? ` ${input.name}` : "";
      const on = () => state.requires_grad?.[input.name] ?? input.requires_grad;
      add(`requires_grad${several}`, `Whether ${input.name} requires grad`, on, () =>
        put("requires_grad", input.name, !on() === input.requires_grad ? undefined : !on()), false);
      if (input.value !== null) makers.push(...valueControls(input));
    }
    if (line.kind === "compute") {
      for (const [name, label, about, rare] of TOGGLES.compute) {
        for (const item of about === "line" ? [line.first] : line.names.filter((n) => program.values.includes(n))) {
          const several = about === "name" && line.names.length > 1 ? ` ${item}` : "";
          const title = about === "line" ? `Run ${at} under ${name}` : name === "detach" ? `Cut ${item} from its past` : `Keep ${item}.grad`;
          add(label + several, title, () => has(name, item), () => flip(name, item), rare);
        }
      }
      for (const name of line.names) {
        for (const hook of ["double", "print"]) {
          add(hook === "double" ? "hook ×2" : "hook print", `A hook on ${name} that ${hook}s its gradient`,
            () => state.hooks?.[name] === hook, () => put("hooks", name, state.hooks?.[name] === hook ? undefined : hook), true);
        }
      }
    }
    if (line === lastBackward) {
      for (const [name, label, title, rare] of PASSES) {
        add(label, title, () => Boolean(state[name]), () => change((next) => { next[name] = !next[name]; }), rare);
        if (name === "retain_graph") {
          add("call it twice", "A second backward() after the first", () => (state.backwards ?? 1) > 1,
            () => change((next) => { next.backwards = (next.backwards ?? 1) > 1 ? 1 : 2; }), false);
        }
      }
    }
    return makers;
  }

  /** A slider and a field for a number, a field for each number of a small table. */
  function valueControls(input) {
    const current = () => state.values?.[input.name] ?? input.value;
    const set = (value, undoable) => {
      const original = JSON.stringify(value) === JSON.stringify(input.value);
      put("values", input.name, original ? undefined : value, undoable);
    };
    const fieldFor = (label, read, write) => {
      const field = h("input", { type: "number", step: "any", class: "tgv-value", "aria-label": label });
      field.addEventListener("change", () => {
        if (field.value !== "" && Number.isFinite(Number(field.value))) set(write(Number(field.value)), true);
      });
      return { element: field, refresh: () => { if (document.activeElement !== field) field.value = String(read()); } };
    };
    if (!Array.isArray(input.value)) {
      const reach = Math.max(2, 2 * Math.abs(input.value));
      const slider = h("input", { type: "range", min: String(-reach), max: String(reach), step: String(reach / 100),
        class: "tgv-slider", "aria-label": `Value of ${input.name}` });
      let dragging = false; // a drag is one entry of the undo list
      slider.addEventListener("input", () => {
        set(Number(Number(slider.value).toPrecision(4)), !dragging);
        dragging = true;
      });
      slider.addEventListener("change", () => { dragging = false; });
      const refresh = () => {
        if (!dragging) slider.value = String(current());
        slider.setAttribute("aria-valuetext", String(current()));
      };
      const field = fieldFor(`Value of ${input.name}, as a number`, current, (value) => value);
      return [{ control: { element: slider, refresh } }, { rare: true, control: field }];
    }
    const deep = Array.isArray(input.value[0]);
    const matrix = deep ? input.value : [input.value];
    if (matrix.flat().length > 24 || matrix.flat().some(Array.isArray)) return [];
    const cells = matrix.map((row, i) => row.map((_, j) => fieldFor(
      `${input.name}[${deep ? `${i}, ` : ""}${j}]`,
      () => (deep ? current()[i][j] : current()[j]),
      (value) => {
        const next = structuredClone(current());
        if (deep) next[i][j] = value;
        else next[j] = value;
        return next;
      },
    )));
    const element = h("span", { class: "tgv-grid", role: "group", "aria-label": `Values of ${input.name}` },
      ...cells.map((row) => h("span", { class: "tgv-grid-row" }, ...row.map((cell) => cell.element))));
    return [{ rare: true, control: { element, refresh: () => cells.flat().forEach((cell) => cell.refresh()) } }];
  }

  function drawToggles() {
    moreButton.setAttribute("aria-pressed", String(more));
    undoButton.setAttribute("aria-disabled", String(!model.get("history").length));
    resetButton.setAttribute("aria-disabled", String(JSON.stringify(bare(state)) === "{}"));
    deviceButtons.forEach((choice, index) =>
      choice.setAttribute("aria-pressed", String(Object.keys(program.devices)[index] === (state.device ?? "cpu"))));
    for (const { tools, makers } of rows.values()) {
      let place = 0;
      for (const maker of makers) {
        const element = maker.element ?? maker.control.element;
        const on = maker.isOn?.() ?? false;
        if (maker.rare && !more && !on) {
          element.remove();
          continue;
        }
        if (maker.isOn) element.setAttribute("aria-pressed", String(on));
        else maker.control.refresh();
        if (tools.children[place] !== element) tools.insertBefore(element, tools.children[place] ?? null);
        place += 1;
      }
    }
  }

  // --- result ---
  /** Show each line as it now runs, at its own indentation: what goes around it is told by its pills. */
  function drawProgram({ code = [], origin = [] }) {
    for (const [number, row] of rows) {
      const now = code.filter((_, index) => origin[index] === number).join("\n");
      if (!now || now === row.shown) continue;
      const indent = row.text.match(/^ */)[0];
      row.code.replaceChildren(highlight(indent + now.trimStart()));
      row.code.classList.toggle("tgv-edited-line", now.trim() !== row.text.trim());
      row.shown = now;
    }
  }

  function drawResult() {
    const result = model.get("result");
    drawProgram(result);
    clearTimeout(slow);
    waiting = false;
    if (!dirty) root.removeAttribute("aria-busy");
    account.textContent = result.account || "Press a toggle beside a line: both engines run again, and the graphs answer.";
    account.classList.toggle("tgv-refused", Boolean(result.refused));
    ways.hidden = !result.mends?.length;
    ways.replaceChildren("Mend it: ", ...(result.mends ?? []).map(({ label, why, state: mended }) =>
      h("span", { class: "tgv-way" },
        h("button", { type: "button", class: "tgv-text-button", onclick: () => mend(mended) }, label), ` ${why}`)));
    pair.show((result.sides ?? []).map(withPictures), result.table ?? []);
    drawCode();
    if (dirty) send();
  }

  /** A side with its pictures in it: they come apart from it, and only when they change. */
  function withPictures(side) {
    return side.scene ? { ...side, scene: { ...side.scene, views: drawn(side.engine, side.scene.views) } } : side;
  }

  function drawn(engine, views) {
    return Object.fromEntries(Object.entries(views).map(([view, picture]) =>
      [view, { ...picture, svg: model.get(`${view}_pictures`)[engine] }]));
  }

  function drawCode() {
    const result = model.get("result");
    const chosen = engineChoice.value;
    const text = (line) => (chosen === "T" ? line : line.replace(/\bT\./g, `${chosen}.`));
    const start = chosen === "T" ? [] : [[`import ${chosen}`, undefined], ["", undefined]];
    const all = [...start, ...(result.code ?? []).map((line, index) => [text(line), result.origin[index]])];
    codeLines.replaceChildren(...all.map(([line, origin]) =>
      h("code", { class: origin === null ? "tgv-added" : origin !== undefined && line !== text(program.source[origin - 1]) ? "tgv-edited" : "" },
        line ? highlight(line) : "\u200b"))); // an empty line keeps its height
    codeText = all.map(([line]) => `${line}\n`).join("");
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(codeText);
      copyButton.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(codeLines); // no clipboard here: it is one Ctrl+C away
      copyButton.textContent = "selected: press Ctrl+C";
    }
    setTimeout(() => { copyButton.textContent = "copy"; }, 2000);
  }

  function setView(view) {
    model.set("view", view);
    model.save_changes();
  }

  function drawView() {
    const view = model.get("view");
    viewButtons.forEach((choice) => choice.setAttribute("aria-pressed", String(choice.textContent === view)));
    pair.setView(view);
  }

  /** The view that nobody looked at when the answer came. */
  function takeOther() {
    const { seq: of, views } = model.get("other");
    if (of !== model.get("result").seq) return;
    pair.addViews(Object.fromEntries(Object.entries(views).map(([engine, made]) => [engine, drawn(engine, made)])));
  }

  root.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches("input[type=number]")) {
      undo();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    pair.key(event);
  });

  const { seq = 0, ...initial } = model.get("state");
  state = initial;
  sequence = seq;
  buildRows();
  drawToggles();
  drawResult();
  if (model.get("other").views) takeOther();
  drawView();
  const listeners = {
    "change:result": drawResult,
    "change:view": drawView,
    "change:other": takeOther,
    "change:step": () => pair.goTo(model.get("step")),
    "change:state": () => {
      const { seq: incoming, ...next } = model.get("state");
      if (incoming === sequence) return; // our own
      state = next;
      drawToggles();
    },
    "change:history": drawToggles,
  };
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
    clearTimeout(slow);
    releaseKeys();
    pair.destroy();
    el.replaceChildren();
  };
}

export default { render: renderExplorer };
