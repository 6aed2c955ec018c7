// The network of the playground: each neuron as a small picture of what it computes over the plane, each weight as an edge whose
// width and colour are its size and sign, and on the same edges the gradients, dashed, on their way back. All of it is one canvas,
// so that a frame is one picture for the browser; the neurons are buttons over it.
import { h } from "./dom.js";
import { bytes, coloursOf, paint } from "./paint.js";

const TILE = 34; // pixels of a neuron's picture, at most
const GAP = 7;
const TOP = 20; // what the words above a layer take
const WIDE = 92; // the features' column
const EACH = 5; // hidden layers that are drawn, at most: the first three and the last two
const DECADES = 4; // of gradients, from the widest line to the thinnest
const PIXELS = 24; // of a picture
const NEAR = 5; // pixels from an edge that are on it
const UNCHOSEN = 0.45; // how faint a feature is that the network does not get
const BACK = 4; // pixels of a gradient below its weight

/** A number in three digits. */
const short = (number) => (number === null ? "not finite" : Math.abs(number) > 0 && Math.abs(number) < 1e-3 ? number.toExponential(1) : String(Number(number.toPrecision(3))));

export class Neurons {
  /**
   * `onFeature(name)` when a feature is pressed; `onLook(text, picture)` with what is pointed at, again at each frame (nulls at the end).
   * What has the focus counts as pointed at; a press holds a neuron until it is pressed again, or Escape.
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
    this.pointed = null; // what is pointed at, as a function that gives [text, picture]
    this.held = null; // the neuron that was pressed, as its tile
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.atlas = h("canvas", {}); // the neurons' pictures, one below the other
    this.given = h("canvas", {}); // the same of the features
    this.painted = "";
    this.tiles = h("div", { class: "tgv-neurons-tiles", onkeydown: (event) => this.#key(event) });
    this.legend = h("div", { class: "tgv-neurons-legend", "aria-hidden": "true" });
    this.legend.innerHTML = '<svg width="30" height="10"><path class="over" d="M2 5H28" stroke-width="3"/></svg>weight above 0<svg width="30" height="10"><path class="under" d="M2 5H28" stroke-width="3"/></svg>below 0<svg width="30" height="10"><path class="back" d="M2 5H28" stroke-width="2"/></svg>gradient, backwards (log)';
    this.element = h("div", { class: "tgv-neurons", role: "group", "aria-label": "The network" }, this.canvas, this.tiles, this.legend);
    this.element.addEventListener("pointermove", (event) => this.#pointedAt(event));
    this.element.addEventListener("pointerleave", () => this.pointed?.edge && this.#point(null));
    new ResizeObserver(() => this.#arrange()).observe(this.element);
  }

  /** The features that there are, as [name, picture]. */
  setFeatures(features) {
    this.features = features;
    this.all = bytes(features.map(([, picture]) => picture).join("")); // each has a multiple of three bytes, so no padding
    this.painted = "";
    this.inputs = features.map(([name, picture]) => {
      const tile = h("span", { class: "tgv-neurons-tile" });
      const one = h("button", { type: "button", class: "tgv-neurons-feature", value: name, onclick: () => this.onFeature(name) }, h("span", {}, name), tile);
      return this.#pointable(one, () => [`The feature ${name}.`, picture]);
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
    if (this.looking) this.#tell();
  }

  /** Whether something is pointed at, or held. */
  get looking() {
    return Boolean(this.pointed || this.held);
  }

  /** Hold no neuron any more. */
  release() {
    if (!this.looking) return;
    this.held?.setAttribute("aria-pressed", "false");
    this.held = this.pointed = null;
    this.#tell();
  }

  #tell() {
    const look = this.pointed ?? this.held?.look;
    const [text, picture] = look ? look() : [null, null];
    this.onLook(text, picture);
  }

  #point(look) {
    if (look === this.pointed) return;
    this.pointed = look;
    this.#tell();
  }

  #hold(tile) {
    this.held?.setAttribute("aria-pressed", "false");
    this.held = tile;
    tile?.setAttribute("aria-pressed", "true");
    this.#tell();
  }

  /** `element` tells what it is while a pointer is over it, or while a key has brought the focus there. */
  #pointable(element, look) {
    const leave = () => this.pointed === look && this.#point(null);
    element.addEventListener("pointerenter", () => this.#point(look));
    element.addEventListener("pointerleave", leave);
    element.addEventListener("focus", () => element.matches(":focus-visible") && this.#point(look));
    element.addEventListener("blur", leave);
    return element;
  }

  #tile(layer, each) {
    const tile = h("button", { type: "button", class: "tgv-neurons-tile", tabindex: "-1", "aria-label": `Neuron ${each + 1} of layer ${layer + 1}`, "aria-pressed": "false" });
    tile.look = () => [this.#describe(layer, each), this.#picture(layer, each)];
    tile.addEventListener("focus", () => this.#reach(tile));
    tile.addEventListener("click", () => this.#hold(this.held === tile ? null : tile));
    return this.#pointable(tile, tile.look);
  }

  /** Arrows go from neuron to neuron: up and down in a layer, left and right to the nearest of the next one. */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.held) this.release();
    else if (!this.#moved(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #moved({ key, target }) {
    const [across, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
    const all = [this.inputs, ...this.columns];
    const at = all.findIndex((column) => column.includes(target));
    if (at < 0 || !(across || down)) return false;
    const height = (one) => one.offsetTop + one.offsetHeight / 2;
    const next = across
      ? all[at + across]?.reduce((best, one) => (Math.abs(height(one) - height(target)) < Math.abs(height(best) - height(target)) ? one : best))
      : all[at][all[at].indexOf(target) + down];
    next?.focus({ preventScroll: true });
    return true;
  }

  /** Tab comes to one neuron: the last that had the focus. */
  #reach(tile) {
    for (const one of this.columns.flat()) one.tabIndex = one === tile ? 0 : -1;
  }

  /** A neuron in words: what its weights are. */
  #describe(layer, each) {
    const [weights, gradients] = [this.network.weights[layer][each], this.network.gradients[layer]?.[each]];
    const from = layer ? weights.map((_, at) => `neuron ${at + 1}`) : this.chosen;
    const listed = weights.map((weight, at) => `${from[at]} ${short(weight)}`).join(", ");
    return `Neuron ${each + 1} of layer ${layer + 1}. Weights: ${listed}.${gradients ? ` Gradients: ${gradients.map(short).join(", ")}.` : ""}`;
  }

  /** The hidden layers that are drawn, by index. */
  #drawn() {
    const all = this.network.widths.map((_, layer) => layer);
    return all.length <= EACH ? all : [...all.slice(0, 3), ...all.slice(-2)];
  }

  #build() {
    const { widths, maps } = this.network;
    this.inputs.forEach((one) => one.setAttribute("aria-pressed", String(this.chosen.includes(one.value))));
    this.layers = this.#drawn();
    this.columns = this.layers.map((layer) => {
      const count = Math.min(widths[layer], bytes(maps[layer]).length / PIXELS ** 2);
      return Array.from({ length: count }, (_, each) => this.#tile(layer, each));
    });
    this.release();
    if (this.columns.length) this.#reach(this.columns[0][0]);
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
      const [y, side] = [TOP + at * first, first - 8];
      place(one, 4, y, 0);
      one.style.height = `${first - 6}px`;
      one.style.setProperty("--side", `${side}px`);
      one.face = { x: WIDE - side, y: y + 1, side };
      return [WIDE, y + (first - 6) / 2];
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
        tile.face = { x, y: top + row * each, side };
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
    const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    this.canvas.getContext("2d").scale(ratio, ratio);
    this.paths = [];
    for (let at = 0; at + 1 < stops.length; at += 1) {
      if (this.gap && at === 3) continue; // what lies between is not drawn
      const linear = at < this.layers.length ? this.layers[at] : this.network.weights.length - 1;
      stops[at + 1].forEach(([x, y], to) => {
        stops[at].forEach(([, start, right], from) => {
          const middle = (right + x) / 2;
          const forward = new Path2D(`M${right} ${start}C${middle} ${start} ${middle} ${y} ${x} ${y}`);
          const back = new Path2D(`M${x} ${y + BACK}C${middle} ${y + BACK} ${middle} ${start + BACK} ${right} ${start + BACK}`);
          const edge = { linear, to, from, forward, back, ends: [right, start, x, y], width: 0, gradient: 0, below: false };
          const look = () => [this.#told(edge), null];
          this.paths.push(Object.assign(edge, { look: Object.assign(look, { edge }) }));
        });
      });
    }
  }

  /** Point at the edge under the pointer, if there is one. */
  #pointedAt(event) {
    if (!this.paths || event.target.closest("button")) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [nearest, least] = [null, NEAR];
    for (const edge of this.paths) {
      const far = Math.abs(heightAt(edge.ends, x) - y) - edge.width / 2;
      if (far < least) [nearest, least] = [edge, far];
    }
    if (nearest || this.pointed?.edge) this.#point(nearest?.look ?? null);
  }

  /** An edge in words. */
  #told({ linear, to, from }) {
    const [weight, gradient] = [this.network.weights, this.network.gradients].map((all) => all[linear]?.[to]?.[from] ?? null);
    return `The weight is ${short(weight)}${gradient === null ? "; there is no gradient yet" : `, its gradient ${short(gradient)}`}.`;
  }

  #paint() {
    if (!this.paths) return;
    const style = getComputedStyle(this.element);
    const [under, over] = [0, 1].map((label) => style.getPropertyValue(`--tgv-class${label}`));
    const colours = coloursOf(this.element);
    const brush = this.canvas.getContext("2d");
    brush.clearRect(0, 0, ...this.size);
    this.#weigh();
    for (const { forward, width, below, share } of this.paths) {
      brush.strokeStyle = below ? under : over;
      brush.globalAlpha = 0.15 + 0.75 * share;
      brush.lineWidth = width;
      brush.stroke(forward);
    }
    brush.setLineDash([5, 4]);
    brush.lineDashOffset = -3 * this.passed;
    brush.strokeStyle = style.color;
    for (const { back, gradient, high } of this.paths) {
      if (!gradient) continue;
      brush.globalAlpha = 0.05 + 0.7 * high ** 3;
      brush.lineWidth = gradient;
      brush.stroke(back);
    }
    brush.setLineDash([]);
    const show = (tiles, atlas, strengths = []) => {
      tiles.forEach(({ face: { x, y, side } }, each) => {
        brush.clearRect(x, y, side, side);
        brush.globalAlpha = strengths[each] ?? 1;
        brush.drawImage(atlas, 0, each * PIXELS, PIXELS, PIXELS, x, y, side, side);
      });
    };
    if (this.painted !== under + over) paint(this.given, this.all, colours, PIXELS); // what is given never changes, but its colours may
    this.painted = under + over;
    show(this.inputs, this.given, this.features.map(([name]) => (this.chosen.includes(name) ? 1 : UNCHOSEN)));
    const maps = this.layers.map((layer) => this.network.maps[layer]);
    if (maps.length) paint(this.atlas, bytes(maps.join("")), colours, PIXELS);
    show(this.columns.flat(), this.atlas);
    brush.globalAlpha = 1;
  }

  /** What each edge looks like: widths, a sign, and how strong. */
  #weigh() {
    const { weights, gradients } = this.network;
    const largest = Math.max(...gradients.flat(2).map((one) => Math.abs(one ?? 0)), 0);
    const heaviest = weights.map((matrix) => Math.max(...matrix.flat().map((one) => Math.abs(one ?? 0)), 1e-12));
    for (const edge of this.paths) {
      const [weight, gradient] = [weights, gradients].map((all) => all[edge.linear]?.[edge.to]?.[edge.from] ?? null);
      const size = Math.abs(gradient ?? 0);
      edge.share = Math.abs(weight ?? 0) / heaviest[edge.linear];
      edge.below = weight !== null && weight < 0;
      edge.width = 0.4 + 4.2 * edge.share;
      edge.high = size > 0 && largest > 0 ? Math.max(0, 1 + Math.log10(size / largest) / DECADES) : 0;
      edge.gradient = edge.high > 0 ? 0.3 + 1.5 * edge.high : 0;
    }
  }
}

/** The height of a curve between two places at `x`: infinite beside them. */
function heightAt([left, from, right, to], x) {
  if (x < left || x > right) return Infinity;
  let [low, high] = [0, 1];
  for (let turn = 0; turn < 12; turn += 1) {
    const t = (low + high) / 2;
    const across = left + (right - left) * (1.5 * t * (1 - t) + t ** 3);
    if (across < x) low = t;
    else high = t;
  }
  return from + (to - from) * (3 * low ** 2 - 2 * low ** 3);
}
