// What a cell shows: text, errors, pictures, widgets. The recorded output stays until the first new one arrives.
import { wake } from "./pieces.js";
import { mount } from "./widgets.js";

const KINDS = ["text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain"];
const STILL = 'class="tgv-fallback"'; // of a widget, for a notebook without a kernel

export class Output {
  constructor(cell, python) {
    this.cell = cell;
    this.python = python;
    this.handles = new Map();
    this.fresh = false;
    this.written = Promise.resolve(); // one message after the other; a widget waits for its code
  }

  get place() {
    let place = this.cell.querySelector(":scope > .cell_output");
    if (!place) {
      place = Object.assign(document.createElement("div"), { className: "cell_output docutils container" });
      this.cell.append(place);
    }
    return place;
  }

  /** A new run starts: its first output replaces that of the last run. */
  begin() {
    this.fresh = true;
    this.place.style.minHeight = `${this.place.offsetHeight}px`; // nothing below jumps while the cell runs
  }

  /** When this is done, all outputs are on the page. */
  async end() {
    await this.written;
    this.#clear();
    this.place.style.minHeight = "";
  }

  #clear() {
    if (!this.fresh) return;
    this.fresh = false;
    this.handles.clear();
    this.stream = null;
    this.place.replaceChildren();
  }

  #add(kind) {
    this.#clear();
    const part = Object.assign(document.createElement("div"), { className: `output ${kind}` });
    this.place.append(part);
    return part;
  }

  write(message) {
    this.written = this.written.then(() => this.#write(message)).catch((error) => console.error(error));
  }

  async #write(message) {
    const { type } = message;
    if (type === "stream") this.#stream(message);
    else if (type === "error") this.#text(this.#add("traceback"), message.text);
    else if (type === "ask") this.#ask(message);
    else if (type === "clear") this.place.replaceChildren();
    else if (type === "display" || type === "update") await this.#show(message);
  }

  #text(part, text) {
    part.replaceChildren(Object.assign(document.createElement("pre"), { textContent: text }));
  }

  #stream({ name, text }) {
    this.#clear();
    if (this.stream?.name !== name || this.place.lastElementChild !== this.stream.part) {
      this.stream = { name, part: this.#add(`stream ${name}`) };
      this.#text(this.stream.part, "");
    }
    this.stream.part.firstChild.append(text);
  }

  /** `input()`: a line to write; then the question and the answer stay, as in a terminal. */
  #ask({ prompt }) {
    const part = this.#add("stream stdout");
    const line = Object.assign(document.createElement("input"), { type: "text", autocomplete: "off" });
    line.setAttribute("aria-label", prompt || "input()");
    const form = Object.assign(document.createElement("form"), { className: "live-asks" });
    form.append(prompt, line);
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#text(part, `${prompt}${line.value}\n`);
      this.python.answer(line.value);
    };
    part.append(form);
    line.focus();
  }

  async #show({ data, handle, type }) {
    const id = data["application/vnd.jupyter.widget-view+json"]?.model_id;
    if (id) {
      const model = this.python.models.get(id);
      if (!model) return; // closed by now
      const code = await model.loaded; // until then the previous output stays
      this.model = model; // the last one shown
      await mount(this.#add("widget"), model, code);
      return;
    }
    if (data["text/html"]?.includes(STILL)) return; // the widget itself comes next
    const part = type === "update" ? this.handles.get(handle) : this.#add("");
    if (!part) return;
    if (handle) this.handles.set(handle, part);
    const kind = KINDS.find((each) => data[each] !== undefined);
    part.className = `output ${kind.replace(/\W/g, "_")}`;
    if (kind === "text/html" || kind === "image/svg+xml") {
      part.innerHTML = data[kind]; // a script in it does not run
      await wake(part);
    } else if (kind === "image/png") part.replaceChildren(Object.assign(new Image(), { src: `data:image/png;base64,${data[kind]}` }));
    else this.#text(part, data[kind]);
  }
}
