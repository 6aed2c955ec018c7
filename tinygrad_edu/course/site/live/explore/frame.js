// What runs in the frame of explore.html: the stage, and the worker with the stranger's program.
//
// The frame has an origin of its own, which is nobody's: no storage, no cookies, no other page. What comes from the worker is data;
// the widgets' code comes from the site. The page outside receives {type: "shown" | "state" | "report" | …}, checked over there.
import { element } from "./element.js";
import { onlyPictures } from "./plain.js";
import { Manager, RemoteModel, mount, whetherSeen } from "./widgets.js";

const WIDGETS = { "explored._linked.<locals>.Linked": "Explorer", "viz.widgets.mistake.MistakeView": "MistakeView" };
const SLOW = 8000; // milliseconds without an answer after which the page says how to end a program
const FOR_TORCH = /(^|[^.\w])torch\b/m; // also where its import was left out, as in many a question
const STARTS = "Python is starting. What you change is kept, and answered in a moment.";
const WAITS = "This program waits for the one that is running. If that never ends, press Stop, then Run.";
const LONG = "Running … If it never ends, press stop.";
const HONEST = "torch is tinygrad_edu here, not PyTorch: the same names and rules, computed in this page with NumPy.";
const BOX = matchMedia("(pointer: coarse), (max-width: 40em)").matches ? "Paste a program here" : "Paste a PyTorch program here, and run it: Ctrl + Enter";

/** What stands between backticks is code. */
const withCode = (text) => text.split("`").map((part, at) => (at % 2 ? element("code", { textContent: part }) : part));

export class Frame {
  /**
   * @param {MessagePort} port to the page outside
   * @param {Record<string, {module: string, style: string}>} code of the widgets
   * @param {string} worker its text
   * @param {Record<string, unknown> | null} opened what the explorer showed of the first program when the site was built
   * @param {string | null} draft what the reader has written and not run: the box for it stays beside the picture; null for no box
   */
  constructor(port, code, worker, opened, draft) {
    Object.assign(this, { port, code, opening: opened, draft, count: 0, ready: false });
    this.worker_text = worker;
    this.files = new Map(); // by name, for each worker that is started
    this.models = new Map();
    this.manager = new Manager(this.models, () => this.stop(), () => (this.held ? STARTS : LONG));
    this.shown = null; // what the explorer shows, as the link has it
    this.status = element("p", { className: "status" });
    this.status.setAttribute("role", "status");
    this.area = element("textarea", { className: "program", spellcheck: false, ariaLabel: "The program", autocomplete: "off", placeholder: BOX });
    this.area.addEventListener("input", () => this.#keep(this.area.value));
    this.run = element("button", { type: "button", textContent: "▶ Run", title: "Ctrl + Enter", onclick: () => this.open({ program: this.area.value }) });
    this.ender = element("button", { type: "button", textContent: "■ Stop", onclick: () => this.stop(), hidden: true });
    this.editor = element("div", { className: "editor" }, this.area, element("div", { className: "below" }, this.run, this.ender, this.status));
    this.stage = element("div", { className: "stage", hidden: true });
    this.report = element("section", { className: "report", hidden: true, ariaLabel: "What is wrong here", tabIndex: -1 });
    document.body.replaceChildren(this.editor, this.stage, this.report);
    this.area.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.run.click());
    port.onmessage = ({ data }) => this.#hear(data);
    whetherSeen(document.body, (seen) => {
      this.seen = seen;
      this.worker.postMessage({ type: "seen", seen });
    });
    this.#start();
  }

  // --- from the page outside ---
  #hear(message) {
    const { type } = message;
    if (type === "file") {
      this.files.set(message.name, message.content);
      this.worker.postMessage(message);
    } else if (type === "open") {
      if (!message.isFirst) this.draft ||= null; // an empty box has done its work
      this.open(message.shown);
    } else if (type === "box") {
      this.#box(this.draft ??= "");
      this.area.focus();
    } else if (type === "show") this.#write(message.shown); // the program as text, before Python is there
    else if (type === "diagnose") this.#diagnose();
    else if (type === "picture") this.#tellPicture(message.kind);
  }

  // --- the worker ---
  #start() {
    const url = URL.createObjectURL(new Blob([this.worker_text], { type: "text/javascript" }));
    this.worker = new Worker(url, { name: "given" });
    this.worker.onmessage = ({ data }) => this.#take(data);
    this.worker.onerror = (event) => this.#say(`Python cannot run here: ${event.message || "its worker could not start"}.`);
    for (const [name, content] of this.files) this.worker.postMessage({ type: "file", name, content });
    this.worker.postMessage({ type: "seen", seen: this.seen });
    this.ready = false;
  }

  /** End whatever runs. What was shown last stays, and so does the text. */
  stop(why = "Stopped. Change the program and run it again.") {
    this.worker.terminate();
    this.models.clear();
    this.busy = false;
    this.held = null;
    clearTimeout(this.slow);
    this.#start();
    this.#write({ program: this.written ?? this.asked?.program ?? this.shown?.program ?? this.area.value });
    this.#keep(this.area.value);
    this.written = null;
    this.#say(why);
    this.asked = null;
  }

  /** Show the explorer over a program: {program, state, view, step, split}. */
  open(shown) {
    this.asked = { ...shown };
    this.opened = this.asked;
    this.count++;
    this.written = null;
    this.report.hidden = true;
    if (this.stage.hidden) this.#write(shown);
    const runs = this.ready && this.busy; // another program, which may never end
    this.#send({ type: "explore", about: this.asked });
    this.#say(runs ? WAITS : this.ready ? "Running …" : "Python is starting …");
    this.held = null;
    if (this.opening) this.#replay(this.opening);
    this.opening = null;
  }

  /** Show what was recorded. Its steps and views work; what needs Python is held until Python has opened the same program. */
  #replay(state) {
    this.held = {};
    this.replayed = this.#explorer("recorded", state, ({ state: changed }) => this.held && Object.assign(this.held, changed)); // else another was opened
    this.#stand(this.replayed);
  }

  #send(message) {
    this.worker.postMessage(message);
    this.busy = true;
    this.ender.hidden = false;
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.busy && this.#say(LONG), SLOW);
  }

  /** Ask for a pack, or for all that are left. Before the first picture they would take the processors that it needs. */
  #ask(name = "all") {
    this.port.postMessage({ type: "pack", name });
  }

  #done() {
    this.#ask();
    this.busy = false;
    this.ender.hidden = true;
    clearTimeout(this.slow);
  }

  #write({ program }) {
    this.stage.hidden = true;
    this.#box(typeof program === "string" ? program : this.area.value);
  }

  /** Show a text to change and run: alone, or above what is on the stage. */
  #box(text) {
    this.editor.hidden = false;
    this.area.value = text;
    const [least, most] = this.stage.hidden ? [8, 30] : [3, 8];
    this.area.rows = Math.min(Math.max(text.split("\n").length + 1, least), most);
  }

  /** Keep what the reader has written until it has run, also when the page is loaded again; null when it has run. */
  #keep(text) {
    this.draft = text;
    this.port.postMessage({ type: "draft", text });
  }

  #say(text) {
    this.status.textContent = text;
    this.port.postMessage({ type: "status", text: String(text).slice(0, 300) });
  }

  #take(message) {
    if (typeof message !== "object" || message === null) return;
    const { type, model } = message;
    if (type === "starting") this.busy && this.#say(`${message.text} …`); // else it says that a program was stopped
    else if (type === "ready") {
      this.ready = true;
      if (this.busy) this.#say("Running …");
      this.port.postMessage({ type: "ready" });
    } else if (type === "waits") this.#ask(message.name);
    else if (type === "open") this.#model(message);
    else if (type === "change" && this.models.has(model)) this.#change(this.models.get(model), message.state);
    else if (type === "close") this.models.delete(model);
    else if (type === "explored") this.#explored(model);
    else if (type === "refused") this.#refused(message);
    else if (type === "report") this.#told(message);
    else if (type === "died" && this.ready) this.stop(`Python ended: ${message.text}. It has started again: change the program and run it.`);
    else if (type === "died") this.#say(`Python cannot run here: ${message.text}.`);
  }

  #model({ code, model, state }) {
    const name = WIDGETS[String(code).split(" ")[0]];
    if (!name) return;
    const send = (sent) => {
      this.written = sent.state?.request?.text ?? this.written; // by hand, in the explorer's own editor
      this.worker.postMessage(sent);
    };
    if (name === "Explorer" && this.held) {
      Object.assign(this.replayed, { id: model, live: send }); // its results follow as changes
      this.models.set(model, this.replayed);
    } else this.models.set(model, this.#explorer(model, state, send, name));
  }

  #explorer(model, state, send, name = "Explorer") {
    const { module, style } = this.code[name];
    const isNew = !(this.loaded ??= new Set()).has(name);
    this.loaded.add(name);
    return new RemoteModel({ model, state, code: name, module: isNew ? module : undefined, style: isNew ? style : undefined }, send, this.manager);
  }

  /** What Python says of a widget; what the reader has changed meanwhile in a recorded one is still to be told to Python. */
  #change(model, state) {
    const held = model === this.replayed && this.held;
    model.receive(held ? Object.fromEntries(Object.entries(state).filter(([name]) => !(name in held))) : state);
  }

  async #explored(id) {
    const model = this.models.get(id);
    if (!model) return;
    this.#done();
    if (this.draft === this.asked?.program) this.#keep(null);
    this.#say(FOR_TORCH.test(this.opened.program) ? HONEST : "");
    this.asked = null;
    if (model !== this.replayed || !this.held) return this.#stand(model);
    const { held: state } = this;
    this.held = null;
    model.send = model.live;
    if (Object.keys(state).length) model.send({ type: "set", model: id, state });
  }

  /** Put an explorer on the stage. */
  async #stand(model) {
    const { program } = this.opened;
    this.explorer = model;
    const place = element("div");
    await mount(place, model, await model.loaded);
    this.stage.replaceChildren(place);
    this.stage.hidden = false;
    this.editor.hidden = this.draft === null;
    if (this.draft !== null) this.#box(this.draft);
    for (const name of ["result", "step", "view", "split"]) model.on(`change:${name}`, () => this.#changed(program));
    this.#changed(program);
    this.port.postMessage({ type: "shown" });
  }

  /** Tell the page outside what is shown now, for its address. */
  #changed(written) {
    const model = this.explorer;
    const result = JSON.parse(model.get("result"));
    if (result.refused) {
      if (this.written) this.#keep(this.written);
      return;
    }
    if (this.written && this.draft === this.written) this.#keep(null);
    this.written = null;
    const { source, ...state } = result.state;
    this.shown = { program: source ?? written, state, view: model.get("view"), step: model.get("step"), split: model.get("split") };
    this.port.postMessage({ type: "state", shown: this.shown, listing: result.code.join("\n"), count: this.count });
  }

  #refused({ text, line }) {
    this.#done();
    if (this.asked) {
      this.#write(this.asked);
      this.#keep(this.asked.program);
      this.area.focus();
      if (line) {
        const lines = this.area.value.split("\n");
        const at = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
        this.area.setSelectionRange(at, at + (lines[line - 1] ?? "").length);
      }
      this.asked = null;
    }
    this.#say(`${line ? `Line ${line}: ` : ""}${text}`);
  }

  // --- what is wrong here ---
  #diagnose() {
    const source = this.stage.hidden ? this.area.value : this.listing();
    this.diagnosed = source;
    this.report.hidden = false;
    this.report.replaceChildren(element("p", { textContent: "The program runs once more, and is watched …" }));
    this.#send({ type: "diagnose", source });
  }

  listing() {
    return JSON.parse(this.explorer.get("result")).code.join("\n");
  }

  #told({ headline, found, error, looked_at }) {
    this.#done();
    this.#say("");
    const close = element("button", { type: "button", textContent: "close", onclick: () => { this.report.hidden = true; } });
    this.report.replaceChildren(close, element("h2", { textContent: headline }), ...(found ?? []).map((one) => this.#finding(one)));
    for (const text of [error, looked_at]) if (text) this.report.append(element("p", { className: "soft", textContent: text }));
    this.report.hidden = false;
    this.report.scrollIntoView({ block: "nearest" });
    this.report.focus();
    this.port.postMessage({ type: "diagnosed", count: (found ?? []).length });
  }

  #finding({ kind, line, certain, code, message, fix, tried, repaired }) {
    const where = line ? `line ${line}` : "no line of the program";
    const sure = certain ? "certain" : "likely";
    const made = element("article", {}, element("h3", { textContent: `${kind} · ${where} · ${sure}` }));
    if (code) made.append(element("pre", { textContent: `${line} | ${code}` }));
    for (const text of [message, fix && `Fix: ${fix}`, tried]) if (text) made.append(element("p", {}, ...withCode(text)));
    if (repaired) {
      const use = () => this.open({ program: repaired });
      made.append(element("button", { type: "button", textContent: "Run it with this fix", onclick: use }));
    }
    return made;
  }

  // --- pictures to take away ---
  async #tellPicture(kind) {
    if (!this.stage.querySelector(".tgv-frame svg")) return;
    const svgs = kind === "gif" ? await this.#film() : [this.#picture()];
    this.port.postMessage({ type: "picture", kind, svgs });
  }

  #picture() {
    return withLook(this.stage.querySelector(".tgv-frame svg"));
  }

  /** The picture at each step, when nothing moves; then the reader's step again. */
  async #film() {
    const model = this.explorer;
    const before = model.get("step");
    const { steps } = JSON.parse(model.get("result")).sides.find(({ scene }) => scene).scene;
    const first = Math.max(0, steps.length - MOST_FRAMES);
    const svgs = [];
    for (let step = first; step < steps.length; step++) {
      model.set("step", step);
      this.#say(`Drawing step ${step + 1} of ${steps.length} …`);
      await atRest(this.stage);
      svgs.push(this.#picture());
    }
    model.set("step", before);
    model.save_changes();
    return svgs;
  }
}

const MOST_FRAMES = 60;
const RESTS = 700; // milliseconds after which no move of ours goes on

async function atRest(place) {
  await new Promise((resolve) => { setTimeout(resolve, 30); });
  const moves = place.getAnimations({ subtree: true }).map(({ finished }) => finished);
  await Promise.race([Promise.allSettled(moves), new Promise((resolve) => { setTimeout(resolve, RESTS); })]);
}

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-family", "font-size", "font-weight", "font-style",
  "text-anchor", "dominant-baseline", "text-decoration", "visibility", "display"];

/** The picture as it looks now, as a file of its own: what the style sheets say is written into each element. */
function withLook(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, index) => {
    const style = getComputedStyle(one);
    to[index].setAttribute("style", LOOK.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
    for (const name of ["class", "tabindex", "role", "data-key", "data-own", "aria-label"]) to[index].removeAttribute(name);
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.background = getComputedStyle(svg.closest(".tgv")).backgroundColor;
  return new XMLSerializer().serializeToString(copy);
}

export function begin(port, { widgets, worker, opened, draft }) {
  onlyPictures();
  return new Frame(port, widgets, worker, opened, draft);
}
