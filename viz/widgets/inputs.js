// The controls of an input (see listing.js): its value as a field, a switch or a small table; its shape; its dtype.
import { h } from "./js/dom.js";
import { standing } from "./js/switches.js";

const LARGEST_TABLE = 24; // numbers
const MOST = 64; // numbers in a tensor that is given another shape

const isTable = (value) => Array.isArray(value);

/** The shape of a nested list. */
function shapeOf(value) {
  const shape = [];
  for (let part = value; isTable(part); part = part[0]) shape.push(part.length);
  return shape;
}

/** The numbers of a nested list in another shape, repeated if there are too few. */
function reshaped(value, shape) {
  const numbers = [value].flat(Infinity);
  let next = 0;
  const build = (/** @type {number[]} */ [size, ...rest]) =>
    size === undefined ? (numbers[next++ % numbers.length] ?? 0) : Array.from({ length: size }, () => build(rest));
  return build(shape);
}

/** "2, 3" as [2, 3]; null if it is not a shape. */
function readShape(text) {
  const sizes = (text.match(/[^\s,()[\]×x]+/g) ?? []).map(Number);
  const fits = sizes.every((size) => Number.isInteger(size) && size >= 0) && sizes.reduce((a, b) => a * b, 1) <= MOST;
  return fits ? sizes : null;
}

/** The controls of what `offer` sets in `input`; `toggles` holds the state and receives the changes. */
export function inputControls(offer, input, toggles) {
  const current = () => standing(toggles.state, offer);
  const set = (value) => toggles.put(offer, value);
  if (offer.control === "choice") return [choice(offer, current, set)];
  if (offer.control === "shape") return [shapeField(input, current, set, () => current() !== offer.own)];
  const changed = () => String(shapeOf(current())) !== String(shapeOf(offer.own));
  const shape = shapeField(input, () => shapeOf(current()), (sizes) => set(reshaped(current(), sizes)), changed);
  return isTable(offer.own) ? [{ rare: true, make: () => table(input, current, set) }, shape] : [...scalar(input, current, set), shape];
}

/** A whole number of a few, as a field. */
export function count(offer, toggles) {
  const { choices, label, title, rare } = offer;
  const now = () => standing(toggles.state, offer);
  const make = () => {
    const element = h("input", { type: "number", class: "tgv-value", min: String(choices[0]), max: String(choices.at(-1)), "aria-label": title });
    element.addEventListener("change", () => {
      const wanted = Math.round(Number(element.value));
      if (choices.includes(wanted)) toggles.put(offer, wanted);
      else element.value = String(now());
    });
    return { element: h("label", { class: "tgv-labelled" }, label, element), refresh: () => { element.value = String(now()); } };
  };
  return { rare, isOn: () => now() > offer.on, make };
}

/** One number, as its kind requires: a field, or a switch for a boolean. */
function cell(kind, label, read, write) {
  if (kind === "bool") {
    const element = h("button", { type: "button", class: "tgv-pill", "aria-label": label, onclick: () => write(!read()) });
    const refresh = () => {
      element.textContent = read() ? "True" : "False";
      element.setAttribute("aria-pressed", String(Boolean(read())));
    };
    return { element, refresh };
  }
  const field = h("input", { type: "number", step: kind === "int" ? "1" : "any", class: "tgv-value", "aria-label": label });
  field.addEventListener("change", () => {
    const wanted = kind === "int" ? Math.round(Number(field.value)) : Number(field.value);
    if (field.value !== "" && Number.isFinite(wanted)) write(wanted);
    else field.value = String(read());
  });
  return { element: field, refresh: () => { if (field.getRootNode().activeElement !== field) field.value = String(read()); } };
}

/** One number: it can be dragged in the code; this is the field to type it into. */
function scalar(input, current, set) {
  const { name, kind } = input;
  const read = () => [current()].flat(Infinity)[0];
  if (kind === "bool") return [{ make: () => cell(kind, `Value of ${name}`, read, set) }];
  const make = () => {
    const { element, refresh } = cell(kind, `Value of ${name}, as a number`, read, set);
    return { element: h("label", { class: "tgv-labelled" }, "value", element), refresh };
  };
  return [{ rare: true, make }];
}

/** A table of fields, recreated when the shape changes. */
function table(input, current, set) {
  const element = h("span", { class: "tgv-grid", role: "group", "aria-label": `Values of ${input.name}` });
  let cells = [];
  let shape = null;
  const build = () => {
    const deep = shape.length > 1;
    const size = shape.reduce((a, b) => a * b, 1);
    cells = [];
    if (shape.length > 2 || size > LARGEST_TABLE || !size) {
      element.replaceChildren(h("span", { class: "tgv-label" }, size ? "too large for a table" : "no numbers"));
      return;
    }
    const rows = shape.length ? (deep ? current() : [current()]) : [[current()]];
    element.replaceChildren(...rows.map((row, i) => h("span", { class: "tgv-grid-row" }, ...row.map((_, j) => {
      const path = deep ? [i, j] : shape.length ? [j] : [];
      const made = cell(input.kind, `${input.name}[${path.join(", ")}]`, () => path.reduce((part, at) => part[at], current()), (value) => {
        if (!path.length) return set(value);
        const next = structuredClone(current());
        path.slice(0, -1).reduce((part, at) => part[at], next)[path.at(-1)] = value;
        return set(next);
      });
      cells.push(made);
      return made.element;
    }))));
  };
  const refresh = () => {
    const now = shapeOf(current());
    if (String(now) !== String(shape)) {
      shape = now;
      build();
    }
    cells.forEach((each) => each.refresh());
  };
  return { element, refresh };
}

/** A shape, as text; `set` receives the sizes. */
function shapeField({ name }, current, set, changed) {
  const make = () => {
    const field = h("input", { type: "text", class: "tgv-value tgv-shape", "aria-label": `Shape of ${name}`,
      title: "Sizes with commas, such as 2, 3; nothing for a single number", placeholder: "scalar" });
    const show = () => { field.value = current().join(", "); };
    field.addEventListener("change", () => {
      const shape = readShape(field.value);
      if (shape === null) show();
      else set(shape);
    });
    const element = h("label", { class: "tgv-labelled" }, "shape", field);
    return { element, refresh: () => { if (field.getRootNode().activeElement !== field) show(); } };
  };
  return { rare: true, isOn: changed, make };
}

/** One of a list. */
function choice({ change, choices, label, own, rare }, current, set) {
  const make = () => {
    const element = h("select", { "aria-label": change }, ...choices.map((name) => h("option", { value: name }, name)));
    element.addEventListener("change", () => set(element.value));
    const labelled = h("label", { class: "tgv-labelled" }, label, element);
    return { element: labelled, refresh: () => { element.value = current(); } };
  };
  return { rare, isOn: () => current() !== own, make };
}
