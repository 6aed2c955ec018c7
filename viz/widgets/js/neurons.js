// The network of the playground: each neuron as a small picture of what it computes over the plane, each weight as an edge whose
// width and colour are its size and sign, and on the same edges the gradients, dashed, on their way back.
import { h } from "./dom.js";

const TILE = 34; // pixels of a neuron's picture, at most
const GAP = 7;
const TOP = 20; // what the words above a layer take
const WIDE = 92; // the features' column
const EACH = 5; // hidden layers that are drawn, at most: the first three and the last two
const DECADES = 4; // of gradients, from the widest line to the thinnest
const PIXELS = 24; // of a picture
const FELT = "http://www.w3.org/2000/svg";

const channels = (text) => [1, 3, 5].map((at) => parseInt(text.trim().slice(at, at + 2), 16));
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A number in three digits. */
const short = (number) => (number === null ? "not finite" : Math.abs(number) > 0 && Math.abs(number) < 1e-3 ? number.toExponential(1) : String(Number(number.toPrecision(3))));

export class Neurons {
  /**
   * `onFeature(name)` when a feature is pressed; `onLook(text, picture)` with what is pointed at (nulls at the end).
   *
   * @param {{onFeature: (name: string) => void, onLook: (text: string | null, picture: string | null) => void}} options
   */
  constructor({ onFeature, onLook }) {
    this.onFeature = onFeature;
    this.onLook = onLook;
    this.chosen = [];
    this.network = null;
    this.shape = "";
    this.passed = 0; // frames: the dashes move with them
    this.size = [0, 0];
    this.edges = document.createElementNS(FELT, "svg");
    this.edges.setAttribute("aria-hidden", "true");
    this.tiles = h("div", { class: "tgv-neurons-tiles" });
    this.legend = h("div", { class: "tgv-neurons-legend", "aria-hidden": "true" });
    this.legend.innerHTML = '<svg width="30" height="10"><path class="over" d="M2 5H28" stroke-width="3"/></svg>weight above 0<svg width="30" height="10"><path class="under" d="M2 5H28" stroke-width="3"/></svg>below 0<svg width="30" height="10"><path class="back" d="M2 5H28" stroke-width="2"/></svg>gradient, backwards (log)';
    this.element = h("div", { class: "tgv-neurons", role: "group", "aria-label": "The network" }, this.edges, this.tiles, this.legend);
    new ResizeObserver(() => this.#arrange()).observe(this.element);
  }

  /** The features that there are, as [name, picture]. */
  setFeatures(features) {
    this.features = features;
    this.inputs = features.map(([name, picture]) => {
      const tile = this.#tile(`${name}, a feature`, () => picture);
      const one = h("button", { type: "button", class: "tgv-neurons-feature", value: name, onclick: () => this.onFeature(name) }, h("span", {}, name), tile);
      one.addEventListener("pointerenter", () => this.onLook(`The feature ${name}.`, picture));
      one.addEventListener("pointerleave", () => this.onLook(null, null));
      return one;
    });
    this.shape = "";
  }

  /** A frame: the names of the `chosen` features, and the `network`; `moves` if a step was taken. */
  show(chosen, network, moves) {
    this.chosen = chosen;
    this.network = network;
    if (moves) this.passed += 1;
    const shape = JSON.stringify([chosen, network.widths, network.weights.map((one) => [one.length, one[0]?.length])]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.#build();
    }
    this.#paint();
  }

  #tile(name, picture) {
    const canvas = h("canvas", { width: PIXELS, height: PIXELS, class: "tgv-neurons-tile", title: name });
    canvas.addEventListener("pointerenter", () => this.onLook(`${name}.`, picture()));
    canvas.addEventListener("pointerleave", () => this.onLook(null, null));
    return canvas;
  }

  /** The hidden layers that are drawn, by index. */
  #drawn() {
    const all = this.network.widths.map((_, layer) => layer);
    return all.length <= EACH ? all : [...all.slice(0, 3), ...all.slice(-2)];
  }

  #build() {
    const { widths, maps } = this.network;
    this.layers = this.#drawn();
    this.columns = this.layers.map((layer) => {
      const count = Math.min(widths[layer], bytes(maps[layer]).length / PIXELS ** 2);
      return Array.from({ length: count }, (_, each) => this.#tile(`Neuron ${each + 1} of layer ${layer + 1}`, () => this.#picture(layer, each)));
    });
    this.heads = this.layers.map((layer, at) => h("span", { class: "tgv-neurons-head" }, widths[layer] > this.columns[at].length ? `${this.columns[at].length} of ${widths[layer]}` : `layer ${layer + 1}`));
    this.gap = widths.length > EACH ? h("span", { class: "tgv-neurons-head" }, `⋯ ${widths.length - EACH} more`) : null;
    this.tiles.replaceChildren(...this.inputs, ...this.columns.flat(), ...this.heads, ...(this.gap ? [this.gap] : []));
    this.#arrange();
  }

  /** One neuron's picture, as the page gets it. */
  #picture(layer, each) {
    const all = bytes(this.network.maps[layer]);
    return btoa(String.fromCharCode(...all.subarray(each * PIXELS ** 2, (each + 1) * PIXELS ** 2)));
  }

  /** Put everything at its place, and make the edges between. */
  #arrange() {
    const [width, height] = [this.element.clientWidth, this.element.clientHeight - 22];
    if (!this.layers || !width || height < 100) return;
    this.size = [width, height];
    const rows = (count) => Math.min(TILE + GAP, (height - TOP - 4) / count);
    const place = (element, x, y, side) => Object.assign(element.style, { left: `${x}px`, top: `${y}px`, ...(side ? { width: `${side}px`, height: `${side}px` } : {}) });
    const first = Math.min(46, (height - TOP - 4) / this.inputs.length);
    const inputs = this.inputs.map((one, at) => {
      place(one, 4, TOP + at * first, 0);
      one.style.height = `${first - 6}px`;
      one.style.setProperty("--side", `${first - 8}px`);
      return [WIDE, TOP + at * first + (first - 6) / 2];
    });
    const spaces = this.columns.length + (this.gap ? 1 : 0);
    const step = (width - WIDE - 24) / Math.max(1, spaces);
    const ends = this.columns.map((column, at) => {
      const slot = at + (this.gap && at >= 3 ? 1 : 0);
      const each = rows(column.length);
      const side = Math.min(TILE, each - 3, step - 26);
      const x = WIDE + 6 + step * (slot + 0.5) - side / 2;
      const top = TOP + Math.max(0, (Math.min(height, 400) - TOP - each * column.length) / 2);
      place(this.heads[at], x + side / 2, 2, 0);
      return column.map((tile, row) => {
        place(tile, x, top + row * each, side);
        return [x, top + row * each + side / 2, x + side];
      });
    });
    if (this.gap) place(this.gap, WIDE + 6 + step * 3.5, 2, 0);
    this.#connect(inputs, ends, width, height);
    this.#paint();
  }

  #connect(inputs, ends, width, height) {
    const kept = this.features.map(([name], at) => (this.chosen.includes(name) ? [inputs[at][0], inputs[at][1], inputs[at][0]] : null)).filter(Boolean);
    const output = [[width, Math.min(height / 2, 120), width]];
    const stops = [kept, ...ends, output];
    this.edges.setAttribute("viewBox", `0 0 ${width} ${height}`);
    Object.assign(this.edges.style, { width: `${width}px`, height: `${height}px` });
    this.paths = [];
    const lines = [];
    for (let at = 0; at + 1 < stops.length; at += 1) {
      if (this.gap && at === 3) continue; // what lies between is not drawn
      const linear = at < this.layers.length ? this.layers[at] : this.network.weights.length - 1;
      stops[at + 1].forEach(([x, y], to) => {
        stops[at].forEach(([, start, right], from) => {
          const middle = (right + x) / 2;
          const forward = document.createElementNS(FELT, "path");
          forward.setAttribute("d", `M${right} ${start}C${middle} ${start} ${middle} ${y} ${x} ${y}`);
          const back = document.createElementNS(FELT, "path");
          back.setAttribute("d", `M${x} ${y + 4}C${middle} ${y + 4} ${middle} ${start + 4} ${right} ${start + 4}`);
          back.setAttribute("class", "back");
          const edge = { linear, to, from, forward, back };
          forward.addEventListener("pointerenter", () => this.onLook(this.#told(edge), null));
          forward.addEventListener("pointerleave", () => this.onLook(null, null));
          lines.push(forward, back);
          this.paths.push(edge);
        });
      });
    }
    this.edges.replaceChildren(...lines);
  }

  /** An edge in words. */
  #told({ linear, to, from }) {
    const [weight, gradient] = [this.network.weights, this.network.gradients].map((all) => all[linear]?.[to]?.[from] ?? null);
    return `The weight is ${short(weight)}${gradient === null ? "; there is no gradient yet" : `, its gradient ${short(gradient)}`}.`;
  }

  #paint() {
    if (!this.paths) return;
    const colours = coloursOf(this.element);
    this.inputs.forEach((one, at) => {
      one.setAttribute("aria-pressed", String(this.chosen.includes(one.value)));
      paint(one.lastElementChild, bytes(this.features[at][1]), colours);
    });
    this.columns.forEach((column, at) => {
      const all = bytes(this.network.maps[this.layers[at]]);
      column.forEach((tile, each) => paint(tile, all.subarray(each * PIXELS ** 2, (each + 1) * PIXELS ** 2), colours));
    });
    const { weights, gradients } = this.network;
    const known = gradients.flat(2).map((one) => Math.abs(one ?? 0));
    const largest = Math.max(...known, 0);
    const heaviest = weights.map((matrix) => Math.max(...matrix.flat().map((one) => Math.abs(one ?? 0)), 1e-12));
    for (const { linear, to, from, forward, back } of this.paths) {
      const weight = weights[linear]?.[to]?.[from] ?? null;
      const gradient = gradients[linear]?.[to]?.[from] ?? null;
      const share = Math.abs(weight ?? 0) / heaviest[linear];
      forward.setAttribute("class", weight !== null && weight < 0 ? "under" : "over");
      forward.setAttribute("stroke-width", (0.4 + 4.2 * share).toFixed(2));
      forward.setAttribute("stroke-opacity", (0.15 + 0.75 * share).toFixed(2));
      const size = Math.abs(gradient ?? 0);
      const high = size > 0 && largest > 0 ? 1 + Math.log10(size / largest) / DECADES : 0;
      back.setAttribute("stroke-width", high > 0 ? (0.3 + 1.5 * high).toFixed(2) : "0");
      back.setAttribute("stroke-opacity", high > 0 ? (0.05 + 0.7 * high ** 3).toFixed(2) : "0");
      back.setAttribute("stroke-dashoffset", String(-3 * this.passed));
    }
  }
}

/** The colours of the two classes, for the theme of now. */
function coloursOf(element) {
  const style = getComputedStyle(element);
  return [0, 1].map((label) => channels(style.getPropertyValue(`--tgv-class${label}`).trim() || "#777777"));
}

/** Paint a picture of bytes, 127.5 in the middle, in the colours of the classes. */
function paint(canvas, values, colours) {
  const image = new ImageData(PIXELS, PIXELS);
  values.forEach((value, at) => {
    image.data.set([...colours[value > 127 ? 1 : 0], 255 * Math.abs(value / 127.5 - 1)], 4 * at);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}
