// The program as it runs: its lines, the switches beside them, and its numbers, which can be dragged. A switch rewrites the
// listing; its state is part of the explorer's state. This file shows both, and reports changes to the explorer.
//
// Each statement has its own area, whose height is fixed when the program is first shown. It has room for the lines that a
// switch writes, so no switch ever moves another.
import { count, inputControls } from "./inputs.js";
import { BREAKS, hanging, highlights, indentOf } from "./js/code.js";
import { h } from "./js/dom.js";
import { isOn, put } from "./js/switches.js";

const ROW = 16; // pixels of a line of code
const PILL = 22; // pixels of a switch beside it, with the space below it
const LETTER = 7.25; // pixels of a letter of code
const PHONE = window.matchMedia("(max-width: 480px)").matches;
const IN_SIGHT = PHONE ? 1 : 2; // switches beside a line; the others are in its menu
const SPARE = PHONE ? 0.5 : 2; // lines of room for what a switch writes: on a phone the statement grows
const DRAGGED = 24; // numbers of a line that can be reached by key
const PER_STEP = 2; // pixels that a number is dragged for one step

// A control is {rare, isOn, make}: `make` returns its element and a function that shows the state, {element, refresh}. It is
// created when it is first shown; most rare ones never are.

/** A number as Python writes it: a float stays a float. */
export function written(value, isFloat) {
  const short = Number(value.toPrecision(4));
  const text = String(short);
  return isFloat && !/[.e]/.test(text) ? `${text}.0` : text;
}

/** The numbers in a line of code: {start, end, text}, including the sign of a negative number. */
export function numbersOf(line, isNumber) {
  const found = [];
  for (const match of line.matchAll(/(?<![\w.])\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?|(?<![\w.)\]])\.\d+(?:e[+-]?\d+)?/g)) {
    if (!isNumber(match.index)) continue;
    const before = line.slice(0, match.index);
    const sign = /(?:^|[=(,[*/+:<>%-]|\breturn|\bin)\s*-$/.test(before);
    found.push({ start: match.index - (sign ? 1 : 0), end: match.index + match[0].length, text: (sign ? "-" : "") + match[0] });
  }
  return found;
}

/** How many lines a line of code takes where `letters` fit beside each other. */
export function linesOf(text, letters) {
  const rest = Math.max(8, letters - indentOf(text));
  let [lines, left] = [1, letters];
  for (const part of text.split(BREAKS)) {
    const { length } = part.trimEnd();
    if (length > left) [lines, left] = [lines + Math.ceil(length / rest), Math.ceil(length / rest) * rest];
    left -= part.length;
  }
  return lines;
}

export class Listing {
  /**
   * `change(label, edit, drag)` changes the state: `edit` receives a copy of it; `drag` names the drag that it belongs to.
   * `write(label, text, drag)` runs another listing, `open(line)` lets the reader edit it.
   */
  constructor({ change, write, open }) {
    this.change = change;
    this.write = write;
    this.state = {};
    this.code = [];
    this.drag = null; // the number that is dragged: {lines, at, start, end, value, step, name}
    this.drags = 0;
    this.menu = null; // {row, element}: the menu of a line that is open
    this.list = h("ol", { class: "tgv-program", "aria-label": "Program with its switches" });
    this.element = h("div", { class: "tgv-listing" }, this.list);
    this.#listen(open);
    this.observer = new ResizeObserver(() => {
      this.#settle();
      this.#reveal(); // an error takes room from the listing
    });
    this.observer.observe(this.list);
  }

  destroy() {
    this.observer.disconnect();
    document.removeEventListener("pointerdown", this.elsewhere, true);
  }

  /** Show the lines of another program, each with its own controls. */
  setProgram(program) {
    const focus = this.#focused();
    this.closeMenu();
    this.program = program;
    this.rows = new Map(); // first line -> what is shown of it; elements stay, so that focus does
    const items = [];
    const starts = new Map(program.lines.map((line) => [line.first, line]));
    for (let number = program.given ? 0 : 1; number <= program.source.length; ) {
      const line = starts.get(number);
      const last = line?.last ?? number;
      // What a program takes from outside stands above its first line, with the switches of the networks among it.
      const row = { number, last, kind: line?.kind ?? (number ? "other" : "given"), source: number ? program.source.slice(number - 1, last) : [program.given] };
      row.controls = program.switches.filter((offer) => offer.line === number).flatMap((offer) => this.#controls(offer));
      row.slot = h("div", { class: "tgv-slot" });
      row.tools = h("span", { class: "tgv-tools" });
      row.item = h("li", { class: `tgv-row tgv-row-${row.kind}`, "data-line": String(number) },
        h("span", { class: "tgv-lineno", "aria-hidden": "true" }, number ? String(number) : ""), row.slot, row.tools);
      this.#buildTools(row);
      items.push(row.item);
      this.rows.set(number, row);
      number = last + 1;
    }
    this.list.replaceChildren(...items);
    this.width = 0;
    this.#settle();
    this.refocus = focus; // once the code stands there
  }

  /** The position of the focus, as a selector that is valid in the next program too. */
  #focused() {
    const line = /** @type {HTMLElement | null} */ (document.activeElement?.closest(".tgv-row"))?.dataset.line;
    const label = document.activeElement?.getAttribute?.("aria-label");
    return line && label && this.list.contains(document.activeElement) ? `[data-line="${line}"] [aria-label="${CSS.escape(label)}"]` : null;
  }

  /** Give each statement its height: for its own lines, and for those that its switches may write. */
  #settle() {
    const width = this.list.querySelector(".tgv-slot")?.clientWidth ?? 0;
    if (!width || width === this.width) return;
    this.width = width;
    const letters = Math.max(10, Math.floor((width - 6) / LETTER));
    for (const { item, kind, source, beside } of this.rows.values()) {
      const lines = source.reduce((sum, text) => sum + linesOf(text, letters), 0);
      const room = { input: Math.max(PHONE ? 1.5 : 2, lines), compute: lines + SPARE, backward: lines + SPARE, given: lines + SPARE, other: lines, call: Math.max(1.5, lines) }[kind];
      item.style[PHONE ? "minHeight" : "height"] = `${Math.max(room * ROW, beside.length * PILL) + 2}px`;
    }
  }

  // --- changes of the state ---

  /** Set a switch or a field. */
  put(offer, value, drag) {
    this.change(offer.change, (next) => put(next, offer, value), drag);
  }

  /** The controls of a switch at its line: a button that is on or off, or fields. */
  #controls(offer) {
    const { control, label, title, rare, on, off } = offer;
    if (control === "count") return [count(offer, this)];
    if (control !== "pill") return inputControls(offer, this.program.inputs.find(({ name }) => name === offer.names[0]), this);
    const pressed = () => isOn(this.state, offer);
    const make = () => {
      const element = h("button", { type: "button", class: "tgv-pill", title, onclick: () => this.put(offer, pressed() ? off : on) }, label);
      return { element, refresh: () => element.setAttribute("aria-pressed", String(pressed())) };
    };
    return [{ rare, isOn: pressed, make }];
  }

  #buildTools(row) {
    const beside = row.controls.filter((control) => !control.rare).slice(0, IN_SIGHT);
    row.beside = beside.map((control) => control.make());
    row.inMenu = row.controls.filter((control) => !beside.includes(control));
    if (row.inMenu.length) {
      row.more = h("button", { type: "button", class: "tgv-more", "aria-haspopup": "true", "aria-expanded": "false",
        title: "More switches of this line", onclick: () => (this.menu?.row === row ? this.closeMenu(true) : this.openMenu(row)) }, "⋯");
    }
    row.tools.append(...row.beside.map(({ element }) => element), ...(row.more ? [row.more] : []));
  }

  // --- the menu of a line ---

  openMenu(row) {
    this.closeMenu();
    for (const control of row.inMenu) control.made ??= control.make();
    const element = h("div", { class: "tgv-menu", role: "group", "aria-label": `More switches of line ${row.number}` },
      ...row.inMenu.map((control) => control.made.element));
    this.menu = { row, element };
    row.more.setAttribute("aria-expanded", "true");
    this.#refresh(row);
    this.element.append(element);
    // Below its line, or above it if there is no room below.
    const host = this.element.getBoundingClientRect();
    const place = row.item.getBoundingClientRect();
    const below = place.bottom - host.top;
    const fits = below + element.offsetHeight <= host.height || below < host.height / 2;
    element.style.top = `${fits ? below : Math.max(0, place.top - host.top - element.offsetHeight)}px`;
    element.style.maxHeight = `${fits ? host.height - below : place.top - host.top}px`;
    (element.querySelector("button, input, select") ?? element).focus({ preventScroll: true });
  }

  closeMenu(back = false) {
    if (!this.menu) return;
    const { row, element } = this.menu;
    this.menu = null;
    element.remove();
    row.more.setAttribute("aria-expanded", "false");
    if (back) row.more.focus({ preventScroll: true });
  }

  // --- numbers that are dragged ---

  #listen(open) {
    this.list.addEventListener("pointerdown", (event) => {
      const number = event.target.closest?.(".tgv-drag");
      if (number && event.button === 0) this.#grab(number, event);
    });
    this.list.addEventListener("pointermove", (event) => {
      if (this.drag?.from === undefined) return;
      const steps = Math.round((event.clientX - this.drag.from) / PER_STEP);
      if (!steps && !this.drag.moved) return;
      this.drag.moved = true;
      this.#dragTo(this.drag.first + steps * this.drag.step);
    });
    const release = (event) => {
      if (this.drag?.from === undefined) return;
      const { moved, at, key } = this.drag;
      this.drag = null;
      this.list.classList.remove("tgv-dragging");
      if (!moved && event.type === "pointerup") this.list.querySelector(`[data-number="${at}:${key}"] input`)?.focus({ preventScroll: true });
    };
    this.list.addEventListener("pointerup", release);
    this.list.addEventListener("pointercancel", release);
    this.list.addEventListener("input", (event) => {
      if (!event.target.matches(".tgv-drag input")) return;
      if (!this.drag) this.#grab(event.target.parentElement);
      this.#dragTo(Number(event.target.value));
    });
    this.list.addEventListener("change", (event) => { if (event.target.matches(".tgv-drag input")) this.drag = null; });
    this.list.addEventListener("dblclick", (event) => {
      const row = event.target.closest(".tgv-row");
      if (row && event.target.closest(".tgv-slot") && !event.target.closest(".tgv-drag")) open(Number(row.dataset.line ?? 1));
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.menu) return;
      this.closeMenu(true);
      event.preventDefault();
      event.stopPropagation();
    });
    // A click elsewhere closes the menu, and so does a change of focus; a control that is recreated does not.
    this.elsewhere = ({ type, target, relatedTarget }) => {
      const at = type === "focusout" ? relatedTarget : target;
      if (this.menu && at && !this.menu.element.contains(at) && at !== this.menu.row.more) this.closeMenu();
    };
    this.element.addEventListener("focusout", this.elsewhere);
    document.addEventListener("pointerdown", this.elsewhere, true);
  }

  #grab(number, event) {
    const [at, key] = number.dataset.number.split(":").map(Number);
    const { start, end, text, input } = number.about;
    const isFloat = /[.e]/.test(text);
    const first = Number(text.replaceAll("_", ""));
    this.drags += 1;
    this.drag = { at, key, start, end, isFloat, first, input, text, id: `${this.drags}`, lines: [...this.code],
      step: isFloat ? stepOf(reachOf(first)) : 1, from: event?.clientX, moved: false };
    if (!event) return;
    event.preventDefault();
    this.list.setPointerCapture(event.pointerId);
    this.list.classList.add("tgv-dragging");
  }

  #dragTo(value) {
    const { at, start, end, isFloat, input, lines, id } = this.drag;
    const text = written(isFloat ? value : Math.round(value), isFloat);
    if (text === this.drag.text) return;
    this.drag.text = text;
    if (input) {
      this.put(this.program.switches.find(({ control, names }) => control === "value" && names[0] === input), Number(text), id);
      return;
    }
    const line = lines[at];
    this.write(`a number in line ${at + 1}`, lines.with(at, line.slice(0, start) + text + line.slice(end)).join("\n"), id);
  }

  // --- what is shown ---

  /** Show the switches according to `state`. */
  draw(state) {
    this.state = state;
    for (const row of this.rows.values()) this.#refresh(row);
  }

  #refresh(row) {
    for (const { refresh } of row.beside) refresh();
    if (!row.more) return;
    const on = row.inMenu.filter((control) => control.isOn?.()).length;
    row.more.setAttribute("aria-label", `More switches of line ${row.number}${on ? `, ${on} on` : ""}`);
    row.more.classList.toggle("tgv-on", on > 0);
    if (this.menu?.row === row) for (const control of row.inMenu) control.made.refresh();
  }

  /** Show each line as it now runs; lines written by a switch appear with their statement. */
  drawCode({ code = [], origin = [], owner = [] }) {
    this.code = code;
    const shown = new Map();
    code.forEach((text, index) => {
      if (!shown.has(owner[index])) shown.set(owner[index], []);
      shown.get(owner[index]).push({ text, index, added: origin[index] === null });
    });
    let around = shown.get(0) ?? []; // what is around all lines, or runs first, stands at the first
    for (const [number, row] of this.rows) {
      if (!number) shown.set(0, []);
      if (!number) around.unshift({ text: this.program.given, index: -1, added: false });
      const lines = [...around, ...(shown.get(number) ?? [])];
      around = [];
      const key = JSON.stringify(lines);
      if (key === row.shown) continue;
      row.shown = key;
      this.#fill(row.slot, lines, row);
    }
    if (this.refocus) this.list.querySelector(this.refocus)?.focus({ preventScroll: true });
    this.refocus = null;
  }

  #fill(slot, lines, row) {
    const focused = slot.contains(document.activeElement) ? document.activeElement.parentElement.dataset.number : null;
    const marked = highlights(lines.map(({ text }) => text));
    slot.replaceChildren(...lines.map(({ text, index, added }, at) => {
      const edited = !added && !row.source.includes(text);
      return this.#markNumbers(h("code", { class: added ? "tgv-added" : edited ? "tgv-edited" : "", "data-index": String(index), style: hanging(text) },
        marked[at]), text, index, row);
    }));
    if (focused) slot.querySelector(`[data-number="${focused}"] input`)?.focus({ preventScroll: true });
  }

  /** Make the numbers of a line draggable, and movable by the arrow keys. */
  #markNumbers(element, text, at, row) {
    const spans = [...element.querySelectorAll(".tgv-number")];
    const starts = new Map();
    let offset = 0;
    for (const node of element.childNodes) {
      if (node.classList?.contains("tgv-number")) starts.set(offset, node);
      offset += node.textContent.length;
    }
    if (!spans.length) return element;
    const found = numbersOf(text, (start) => starts.has(start));
    const inputs = this.program.inputs.filter((input) => input.line === row.number);
    const own = inputs.length === 1 && typeof inputs[0].value === "number" ? inputs[0].name : null;
    found.forEach((about, key) => {
      const span = starts.get(about.end - about.text.replace(/^-/, "").length);
      if (!span) return;
      const input = own && key === 0 && /tensor\($/.test(text.slice(0, about.start)) ? own : null;
      span.classList.add("tgv-drag");
      span.dataset.number = `${at}:${key}`;
      span.title = "Drag to change this number";
      span.about = { ...about, input };
      if (key >= DRAGGED) return;
      const value = Number(about.text.replaceAll("_", ""));
      const isFloat = /[.e]/.test(about.text);
      const reach = reachOf(input ? inputs[0].value : value);
      span.append(h("input", { type: "range", min: String(-reach), max: String(reach), step: isFloat ? String(stepOf(reach)) : "1",
        value: String(value), "aria-label": input ? `Value of ${input}` : `Number ${key + 1} in line ${row.number}`,
        "aria-valuetext": about.text }));
    });
    return element;
  }

  /** Mark the line that runs at the current step, and the one that failed; `line` counts lines of the listing. */
  showHere(line, failed = null) {
    for (const each of this.list.querySelectorAll(".tgv-here, .tgv-failed")) each.classList.remove("tgv-here", "tgv-failed");
    const mark = (index, name) => this.list.querySelector(`code[data-index="${index}"]`)?.classList.add(name);
    if (line) mark(line - 1, "tgv-here");
    if (failed) mark(failed - 1, "tgv-failed");
    if (failed !== this.failed) this.#reveal();
    this.failed = failed;
  }

  /** Scroll the listing, and nothing else, so that the line that failed is in sight with its switches. */
  #reveal() {
    const row = this.list.querySelector(".tgv-failed")?.closest("li");
    if (!row) return;
    const [top, below] = [row.offsetTop - this.list.offsetTop, row.offsetHeight - this.list.clientHeight];
    this.list.scrollTop = Math.min(top, Math.max(this.list.scrollTop, top + below));
  }
}

const reachOf = (value) => Math.max(2, 2 * Math.abs(value));
/** How far a number moves at a time: a 1, 2 or 5, so that it passes whole numbers. */
const stepOf = (reach) => [1, 2, 5, 10].map((times) => Number(`${times}e${Math.floor(Math.log10(reach)) - 2}`)).find((step) => step >= reach / 100);
