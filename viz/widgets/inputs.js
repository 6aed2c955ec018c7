// The controls of an input (see listing.js): its value as a field, a switch or a small table; its shape; its dtype.
import { h } from "./js/dom.js";

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

/** All controls of `input`; `toggles` holds the state and receives the changes. */
export function inputControls(input, toggles) {
  const current = () => toggles.state.values?.[input.name] ?? input.value;
  const set = (value) => {
    const original = JSON.stringify(value) === JSON.stringify(input.value);
    toggles.put(`value of ${input.name}`, "values", input.name, original ? undefined : value);
  };
  const controls = [];
  if (input.value !== null && isTable(input.value)) {
    controls.push({ rare: true, make: () => table(input, current, set) });
  } else if (input.value !== null) controls.push(...scalar(input, current, set));
  if (input.value !== null || input.shape !== null) controls.push(shapeField(input, current, set, toggles));
  controls.push(dtypeChoice(input, toggles));
  return controls;
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

/** The shape: literal numbers are rearranged, a factory gets new sizes. */
function shapeField(input, current, set, toggles) {
  const written = input.value === null;
  const now = () => (written ? (toggles.state.shapes?.[input.name] ?? input.shape) : shapeOf(current()));
  const changed = () => (written ? Boolean(toggles.state.shapes?.[input.name]) : String(now()) !== String(shapeOf(input.value)));
  const make = () => {
    const field = h("input", { type: "text", class: "tgv-value tgv-shape", "aria-label": `Shape of ${input.name}`,
      title: "Sizes with commas, such as 2, 3; nothing for a single number", placeholder: "scalar" });
    const show = () => { field.value = now().join(", "); };
    field.addEventListener("change", () => {
      const shape = readShape(field.value);
      if (shape === null) return show();
      if (!written) return set(reshaped(current(), shape));
      const own = String(shape) === String(input.shape);
      return toggles.put(`shape of ${input.name}`, "shapes", input.name, own ? undefined : shape);
    });
    const element = h("label", { class: "tgv-labelled" }, "shape", field);
    return { element, refresh: () => { if (field.getRootNode().activeElement !== field) show(); } };
  };
  return { rare: true, isOn: changed, make };
}

function dtypeChoice(input, toggles) {
  const own = input.dtype ?? { float: "float32", int: "int64", bool: "bool" }[input.kind];
  const make = () => {
    const element = h("select", { "aria-label": `dtype of ${input.name}` },
      ...toggles.program.dtypes.map((name) => h("option", { value: name }, name)));
    element.addEventListener("change", () =>
      toggles.put(`dtype of ${input.name}`, "dtypes", input.name, element.value === own ? undefined : element.value));
    const labelled = h("label", { class: "tgv-labelled" }, "dtype", element);
    return { element: labelled, refresh: () => { element.value = toggles.state.dtypes?.[input.name] ?? own; } };
  };
  return { rare: true, isOn: () => Boolean(toggles.state.dtypes?.[input.name]), make };
}
