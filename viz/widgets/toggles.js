// A program's lines, each with its toggles beside it. What a toggle says is in the explorer's state; this file makes
// the controls, and tells the explorer which change of the state was asked for.
import { inputControls } from "./inputs.js";
import { highlight } from "./js/code.js";
import { h } from "./js/dom.js";

const PASSES = [
  // [name in the state, what it says, what it does, shown only among "more"]
  ["retain_graph", "retain_graph", "Keep the graph for another pass", false],
  ["create_graph", "create_graph", "Record the backward pass itself", true],
  ["zero_grad", "clear .grad between", "Set .grad to None between the passes", true],
  ["anomaly", "anomaly mode", "Name the forward line behind a bad gradient", true],
];
const MOST_PASSES = 5;

// A control is {rare, isOn, make}: `make` gives its element and what shows the state on it, {element, refresh}. It is made
// when it is first shown; the rare ones mostly never are.

/** A control that is on or off. */
export function pill(label, title, isOn, onclick, rare = false) {
  const make = () => {
    const element = h("button", { type: "button", class: "tgv-pill", title, onclick }, label);
    return { element, refresh: () => element.setAttribute("aria-pressed", String(isOn())) };
  };
  return { rare, isOn, make };
}

export class Toggles {
  /** `change(label, edit)` is asked to change the state: `edit` is given a copy of it. */
  constructor(program, change) {
    this.program = program;
    this.change = change;
    this.state = {};
    this.more = false;
    this.rows = new Map(); // first line -> what is shown of it; elements stay, so that focus does
    this.element = h("ol", { class: "tgv-program", "aria-label": "Program with its toggles" });
    this.#build();
  }

  #build() {
    const { program } = this;
    const starts = new Map(program.lines.map((line) => [line.first, line]));
    const lastBackward = program.lines.filter((line) => line.kind === "backward").at(-1);
    for (let number = 1; number <= program.source.length; ) {
      const line = starts.get(number);
      const last = line?.last ?? number;
      const text = program.source.slice(number - 1, last).join("\n");
      const tools = h("span", { class: "tgv-tools" });
      const code = h("code", {}, highlight(text));
      this.element.append(h("li", {}, h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(number)), code, tools));
      if (line) this.rows.set(number, { code, text, tools, controls: this.#controlsOf(line, line === lastBackward) });
      number = last + 1;
    }
  }

  // --- changes of the state ---

  has(name, item) {
    return (this.state[name] ?? []).includes(item);
  }

  flip(label, name, item) {
    this.change(label, (next) => {
      const items = next[name] ?? [];
      next[name] = items.includes(item) ? items.filter((other) => other !== item) : [...items, item];
    });
  }

  /** Put an entry of a map; `undefined` takes it out. `undoable` is false within one drag of a slider. */
  put(label, name, key, value, undoable = true) {
    this.change(label, (next) => {
      next[name] = { ...next[name] };
      if (value === undefined) delete next[name][key];
      else next[name][key] = value;
    }, undoable);
  }

  // --- controls ---

  /** The controls of a line: pills that are on or off, and fields; the rare ones show among "more toggles". */
  #controlsOf(line, isLastBackward) {
    const controls = [];
    for (const input of this.program.inputs.filter((candidate) => candidate.line === line.first)) {
      controls.push(...this.#ofInput(input, line.names.length > 1 ? ` ${input.name}` : ""));
    }
    if (line.kind === "compute") controls.push(...this.#ofLine(line));
    if (isLastBackward) controls.push(...this.#ofPasses());
    return controls;
  }

  #ofInput(input, several) {
    const on = () => this.state.requires_grad?.[input.name] ?? input.requires_grad;
    return [
      pill(`requires_grad${several}`, `Whether ${input.name} requires grad`, on, () =>
        this.put(`requires_grad of ${input.name}`, "requires_grad", input.name, !on() === input.requires_grad ? undefined : !on())),
      ...inputControls(input, this),
      pill(`volatile${several}`, `Variable(${input.name}, volatile=True), as until PyTorch 0.3`, () => this.has("volatile", input.name),
        () => this.flip(`volatile ${input.name}`, "volatile", input.name), true),
    ];
  }

  #ofLine(line) {
    const controls = [];
    const at = `line ${line.first}`;
    const mode = (name, rare) => controls.push(pill(name, `Run ${at} under ${name}`, () => this.has(name, line.first),
      () => this.flip(`${name}, ${at}`, name, line.first), rare));
    const names = line.names.filter((name) => this.program.values.includes(name));
    const several = (name) => (line.names.length > 1 ? ` ${name}` : "");
    // A name that several lines compute stands for another value after each of them.
    const makers = (name) => this.program.lines.filter(({ kind, names: made }) => kind === "compute" && made.includes(name)).length;
    const valueOf = (name) => (makers(name) > 1 ? `${name}@${line.first}` : name);
    mode("no_grad", false);
    for (const name of names) {
      controls.push(pill(`retain_grad${several(name)}`, `Keep ${name}.grad`, () => this.has("retain_grad", valueOf(name)),
        () => this.flip(`retain_grad of ${name}, ${at}`, "retain_grad", valueOf(name))));
    }
    mode("inference_mode", true);
    for (const name of names) {
      controls.push(pill(`detach${several(name)}`, `Cut ${name} from its past`, () => this.has("detach", valueOf(name)),
        () => this.flip(`detach ${name}, ${at}`, "detach", valueOf(name)), true));
      for (const hook of ["double", "print"]) {
        const on = () => this.state.hooks?.[valueOf(name)] === hook;
        controls.push(pill(`hook ${hook === "double" ? "×2" : "print"}${several(name)}`, `A hook on ${name} that ${hook}s its gradient`, on,
          () => this.put(`hook on ${name}, ${at}`, "hooks", valueOf(name), on() ? undefined : hook), true));
      }
    }
    return controls;
  }

  #ofPasses() {
    const count = () => this.state.backwards ?? 1;
    const set = (wanted) => this.change("number of backwards", (next) => { next.backwards = wanted; });
    const times = () => {
      const element = h("input", { type: "number", class: "tgv-value", min: "1", max: String(MOST_PASSES), "aria-label": "Number of backward calls" });
      element.addEventListener("change", () => {
        const wanted = Math.round(Number(element.value));
        if (wanted >= 1 && wanted <= MOST_PASSES) set(wanted);
        else element.value = String(count());
      });
      return { element, refresh: () => { element.value = String(count()); } };
    };
    const controls = PASSES.map(([name, label, title, rare]) => {
      const own = Boolean(this.program.passes[name]); // what the program itself asks for
      const on = () => this.state[name] ?? own;
      return pill(label, title, on, () => this.change(label, (next) => { next[name] = !on() === own ? undefined : !on(); }), rare);
    });
    controls.splice(1, 0,
      pill("call it twice", "A second backward() after the first", () => count() > 1, () => set(count() > 1 ? 1 : 2)),
      { rare: true, isOn: () => count() > 2, make: times });
    return controls;
  }

  // --- what is shown ---

  /** Show the toggles as `state` has them; the rare ones only when asked for, or when they are on. */
  draw(state) {
    this.state = state;
    this.element.classList.toggle("tgv-all", this.more);
    for (const { tools, controls } of this.rows.values()) {
      let place = 0;
      for (const control of controls) {
        if (control.rare && !this.more && !control.isOn?.()) {
          control.made?.element.remove();
          continue;
        }
        control.made ??= control.make();
        const { element, refresh } = control.made;
        refresh();
        if (tools.children[place] !== element) tools.insertBefore(element, tools.children[place] ?? null);
        place += 1;
      }
    }
  }

  /** Show each line as it now runs, at its own indentation: what goes around it is told by its pills. */
  drawCode(code, origin) {
    for (const [number, row] of this.rows) {
      const now = code.filter((_, index) => origin[index] === number).join("\n");
      if (!now || now === row.shown) continue;
      const indent = row.text.match(/^ */)[0];
      row.code.replaceChildren(highlight(indent + now.trimStart()));
      row.code.classList.toggle("tgv-edited-line", now.trim() !== row.text.trim());
      row.shown = now;
    }
  }
}
