// Makes a page live: its cells can be edited and run by Python in a worker, and its widgets work. The page is complete before
// this runs, and stays so if Python cannot start.
import { element, save } from "./element.js";
import { Output } from "./output.js";
import { Python } from "./python.js";
import { keep } from "./keep.js";
import * as store from "./store.js";

const HERE = new URL(".", import.meta.url);
const about = JSON.parse(document.getElementById("tgv-live-page").textContent);
const notebook = document.querySelector("article a.download[href$='.ipynb']")?.href;
const python = new Python(new URL("worker.js", HERE), new URL(`tapes/${about.page}.pack`, HERE));
const AFTERWARDS = 5000; // milliseconds: the first picture comes before what is kept for later
const savesData = navigator.connection?.saveData; // then Python waits until a cell is run
const linked = /^#\d+\.[\w-]+$/.test(location.hash) ? location.hash : ""; // a program that came by a link
if (about.cells.length && !savesData && !linked) python.start(); // while the editor loads
const hasCode = ({ id }) => document.querySelector(`.tag_cell-${CSS.escape(id)} > .cell_input`);
const { Editor } = about.cells.some(hasCode) ? await import("./editor.js") : {};

const SURE = "Put every cell of this page back as it was? What you have written here is lost.";
const OLD = "The code was edited: what is shown below is from before. Run the cell.";

/** One code cell of the page: its editor, its buttons, what it shows. */
class Cell {
  constructor({ id, source, runs, needs }, index) {
    Object.assign(this, { id, written: source, runs, needs, index });
    this.ran = false;
    this.shownFor = source; // the code whose output is on the page
    this.place = document.querySelector(`.tag_cell-${CSS.escape(id)}`);
    if (!this.place) return; // its input is hidden and it shows nothing
    this.input = this.place.querySelector(".cell_input");
    this.output = new Output(this.place, python);
    if (this.input) this.#dress();
    this.place.addEventListener("tgv-needs-python", (event) => {
      event.preventDefault();
      this.#wake(event.detail);
    });
  }

  /** Run the cell, and make its live widget do what was requested of the recorded one. */
  async #wake({ wait, changes }) {
    const isFirst = !this.asked;
    this.asked = { ...this.asked, ...changes };
    if (!isFirst) return;
    await null; // one press changes several things
    if (!this.prepared) {
      wait("Python is starting and runs the cells up to here. Then this will respond.");
      await (this.preparing ?? run(this));
    }
    if (this.prepared) {
      this.output.begin();
      for (const message of this.prepared) this.output.write(message);
      this.prepared = null;
      await this.output.end();
    }
    const asked = this.asked;
    this.asked = null;
    const model = this.output.model;
    for (const [name, value] of Object.entries(asked)) model?.set(name, value);
    model?.save_changes();
  }

  /** Run the cell while the reader looks at its recorded widget, so that the live one is ready when needed. */
  async prepare() {
    const shown = [];
    this.preparing = python.run(this.id, this.program, { write: (message) => shown.push(message) });
    const well = await this.preparing;
    this.preparing = null;
    if (well) this.prepared = shown;
  }

  get source() {
    return this.editor?.text ?? store.answer(about.page, this.id) ?? this.written;
  }

  /** The source for Python: for an unchanged cell, only the statements that can run here. */
  get program() {
    return this.source === this.written ? this.runs : this.source;
  }

  #dress() {
    this.state = element("span", { className: "live-state" });
    this.state.setAttribute("role", "status");
    this.reset = element("button", { type: "button", textContent: "Reset", onclick: () => this.#reset(), disabled: true });
    const bar = element(
      "div",
      { className: "live-bar" },
      element("button", { type: "button", textContent: "▶ Run", title: "Shift + Enter", onclick: () => run(this) }),
      this.reset,
      this.state,
    );
    const host = element("div", { className: "live-editor" });
    const shown = this.input.firstElementChild;
    shown.replaceWith(host);
    this.input.after(bar);
    this.editor = new Editor(host, store.answer(about.page, this.id) ?? this.written, {
      label: `Code of cell ${this.index + 1}`,
      onChange: (text) => this.#keep(text),
      onRun: (stay) => {
        run(this);
        if (!stay) cells.slice(this.index + 1).find((cell) => cell.editor)?.editor.focus();
      },
    });
    this.#keep(this.editor.text);
    if (this.needs && !this.place.classList.contains("live-old")) this.say(`Shows what was recorded. ${this.needs}`);
  }

  #keep(text) {
    const changed = text !== this.written;
    store.keepAnswer(about.page, this.id, changed ? text : null);
    this.reset.disabled = !changed;
    this.ran = false;
    this.#mark(text);
  }

  /** Whether what is shown came from other code: after a reload it is what was recorded. */
  #mark(text) {
    const shows = this.place.querySelector(":scope > .cell_output");
    const isOld = Boolean(shows) && text !== this.shownFor;
    if (isOld === this.place.classList.contains("live-old")) return;
    this.place.classList.toggle("live-old", isOld);
    this.say(isOld ? OLD : "");
  }

  #reset() {
    this.editor.text = this.written;
    if (!this.place.classList.contains("live-old")) this.say("Reset to the original.");
  }

  say(text) {
    if (this.state) this.state.textContent = text;
  }

  /** Run only this cell; returns whether it ran to its end. */
  async run() {
    const keepsRecorded = this.needs && this.source === this.written;
    if (keepsRecorded && !this.program.trim()) return (this.ran = true);
    this.say(python.ready ? "Running …" : "Waiting for Python …");
    if (!keepsRecorded) this.output?.begin();
    const { source } = this;
    const well = await python.run(this.id, this.program, keepsRecorded ? null : this.output);
    await this.output?.end();
    this.ran = well;
    if (well !== null) this.shownFor = source;
    if (this.editor) this.#mark(this.source);
    if (this.source !== source) return well; // it says that this is old
    if (well === null) this.say("Stopped. The cells above run again before the next one.");
    else if (keepsRecorded) this.say(`Shows what was recorded. ${this.needs} The rest of it has run.`);
    else this.say(well ? "" : "It raised an error.");
    return well;
  }
}

const cells = about.cells.map((cell, index) => new Cell(cell, index));
// The front page has one widget and nothing to run, so the bar makes room for it.
const isFront = cells.length > 0 && !cells.some(({ editor }) => editor);
let queue = Promise.resolve();

/** Run a cell, after those above it that have not run yet. */
function run(cell) {
  cell.ran = false;
  document.documentElement.removeAttribute("data-all-ran");
  queue = queue.then(async () => {
    for (const each of cells.slice(0, cell.index + 1)) {
      if (each.ran) continue;
      const well = await each.run();
      if (well === null) return; // stopped
    }
    document.documentElement.toggleAttribute("data-all-ran", cell === cells.at(-1));
  });
  return queue;
}

function toolbar() {
  const state = element("span", { className: "live-python", textContent: "Python is starting …" });
  state.setAttribute("role", "status");
  const stop = element("button", { type: "button", textContent: "■ Stop", disabled: true, onclick: () => python.stop() });
  const all = element("button", { type: "button", textContent: "▶ Run all", onclick: () => cells.length && run(cells.at(-1)) });
  const clear = element("button", { type: "button", textContent: "Reset page", className: "live-reset", onclick: () => confirm(SURE) && resetPage() });
  const take = element("button", { type: "button", textContent: "Save as notebook", onclick: () => download() });
  const bar = element("div", { className: "live-page-bar" }, all, stop, take, state, clear);
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "This page");
  (isFront ? cells[0].place : document.querySelector("article h1"))?.after(bar);
  document.documentElement.classList.add("live-has-bar");
  python.onState = ({ text, busy, ready }) => {
    state.textContent = text;
    stop.disabled = !busy;
    document.documentElement.toggleAttribute("data-python-ready", ready);
    if (python.lost) for (const cell of cells) cell.ran = false;
  };
  if (isFront) [all, clear].forEach((button) => button.remove());
  if (!notebook) take.remove();
}

function resetPage() {
  for (const cell of cells) if (cell.editor) cell.editor.text = cell.written;
  python.stop("Everything is reset to the original.");
}

/** The lesson's notebook with the reader's answers, in the form that `tinygrad-edu grade` takes. */
async function download() {
  const lesson = await (await fetch(notebook)).json();
  for (const cell of lesson.cells) {
    const own = cells.find(({ id }) => id === cell.id);
    if (own?.editor) cell.source = own.source;
  }
  save(JSON.stringify(lesson, null, 1), `${about.page}.ipynb`, "application/x-ipynb+json");
}

python.onChecked = ({ exercise, points, of }) => {
  store.keepProgress(exercise, points, of);
  showProgress();
};

/** The number of solved exercises of each lesson: on the front page beside its name, in a lesson under its title. */
function showProgress() {
  const solved = store.progress();
  for (const [page, exercises] of Object.entries(about.exercises)) {
    if (!exercises.length) continue;
    const done = exercises.filter((id) => solved[id] && solved[id].points >= solved[id].of).length;
    for (const link of document.querySelectorAll(`.toctree-wrapper a[href$="${page}.html"], #live-progress[data-page="${page}"]`)) {
      link.dataset.solved = `${done} of ${exercises.length} solved`;
    }
  }
}

/** Say that another tab has this page too: both would keep what is written, each over the other. */
function warnOfTabs(others) {
  document.querySelector(".live-twice")?.remove();
  if (!others) return;
  const text = "This page is open in another tab, too. What you write is kept in one place for both, and the last one wins: close one of them.";
  const warning = element("p", { className: "live-twice", textContent: text });
  warning.setAttribute("role", "alert");
  document.querySelector(".live-page-bar").after(warning);
}

/** Show the program of a link: as explore.html does, in a frame without an origin, and never by this page's Python. */
function showLinked() {
  const says = element("p", { textContent: "This program came by a link. It runs in a frame of its own, where it reaches neither your saved work nor this page." });
  const frame = element("iframe", { className: "live-linked", title: "A program that came by a link", src: new URL(`../../explore.html${linked}`, HERE).href });
  cells[0].place.before(says, frame);
}

if (cells.length) {
  toolbar();
  if (!isFront) store.watchTabs(about.page, warnOfTabs);
  const place = element("span", { id: "live-progress" });
  place.dataset.page = about.page;
  document.querySelector(".live-page-bar").append(place);
  if (isFront && linked) showLinked();
  else if (isFront && !savesData) cells[0].prepare();
}
showProgress();
document.documentElement.setAttribute("data-live", "");
setTimeout(() => keep(new URL("../../", HERE)), AFTERWARDS);
