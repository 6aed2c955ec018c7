// What a change made different, lit on a picture: a halo around each node that is new or has other numbers, and "before → after"
// beside it. Python says what differs (`telling/differing.py`); this file finds the room.
import { svg as make } from "./dom.js";
import { mayMove } from "./motion.js";

const SPACE = 5; // between a node and its halo
const LINE = 15; // the height of a plate
const APART = 90; // milliseconds between one node of the run and the next
const WHOLE = 1400; // milliseconds that the run takes at most

/** @typedef {{kind: string, order: number, value?: string[], grad?: string[], became?: string}} Lit */

/** How much of two places is the same. */
export const shared = (a, b) => Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x))
  * Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
const clamped = (at, from, size, length) => Math.max(from, Math.min(at, from + size - length));

/** @typedef {{x: number, y: number, width: number, height: number, text?: boolean}} Place */

/**
 * What is written beside a node: {text, of} for its value and for its gradient.
 *
 * @param {Lit} lit
 */
export function platesOf({ kind, value, grad, became }) {
  if (kind === "new") return [{ text: "new", of: "new" }];
  if (became) return [{ text: became, of: "new" }];
  const change = (/** @type {string[]} */ pair) => pair.join(" → ");
  return [value ? { text: change(value), of: "value" } : null, grad ? { text: `grad ${change(grad)}`, of: "grad" } : null].filter(Boolean);
}

/**
 * The first of the places above, below and beside a few nodes at which a plate meets nothing; or else where it covers least,
 * so that every change is written somewhere. Above and below it slides along its node, to just beside what is in the way. It
 * rather covers a node than another plate, and rather the edge of these nodes than another node. Null if there are no nodes.
 *
 * @param {Place[]} nodes
 * @param {number} width
 * @param {Place[]} taken
 * @returns {Place | null}
 */
export function roomFor(nodes, width, taken, box) {
  const places = nodes.flatMap((node) => {
    const [right, bottom] = [node.x + node.width, node.y + node.height];
    const middle = node.x + (node.width - width) / 2;
    const across = taken.flatMap((other) => [other.x - width - 1, other.x + other.width + 1])
      .filter((x) => x + width >= node.x + LINE && x <= right - LINE) // it still belongs to its node
      .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    const down = [node.y + node.height / 2 - LINE / 2, node.y, bottom - LINE];
    const around = [...[middle, ...across].flatMap((x) => [node.y - SPACE - LINE, bottom + SPACE].map((y) => [x, y])),
      ...[right + SPACE, node.x - SPACE - width].flatMap((x) => down.map((y) => [x, y])),
      ...[node.y - LINE / 2, bottom - LINE / 2].map((y) => [middle, y])]; // on the node's own edge
    return around.map(([x, y]) => ({ x: clamped(x, box.x, box.w, width), y: clamped(y, box.y, box.h, LINE), width, height: LINE, text: true }));
  });
  const own = (/** @type {Place} */ one) => nodes.find(({ x, y }) => Math.abs(x - one.x) <= SPACE && Math.abs(y - one.y) <= SPACE);
  const inner = taken.map((one) => (own(one) ? { ...own(one), y: own(one).y + LINE / 2, height: own(one).height - LINE } : one));
  const covered = places.map((place) => inner.reduce((sum, other) => sum + shared(place, other) * (other.text ? 4 : 1), 0));
  return places[covered.indexOf(Math.min(...covered))] ?? null;
}

/**
 * What is lit in a picture: a part that is not drawn lights what stands for it, such as its fold.
 *
 * @param {Record<string, Lit>} lit
 * @param {Record<string, string>} stands
 * @param {(key: string) => boolean} drawn
 */
export function shownAs(lit, stands, drawn) {
  /** @type {Record<string, Lit>} */
  const found = {};
  for (const [key, one] of Object.entries(lit)) {
    const at = drawn(key) ? key : stands[key];
    if (!at || !drawn(at)) continue;
    // Numbers of a part say nothing about a whole.
    found[at] = at === key ? { ...found[at], ...one } : found[at] ?? { kind: one.kind === "grad" ? "grad" : "value", order: one.order };
  }
  return found;
}

/** @typedef {{node: string, part: string, now: string | null, near: string[]}} Gone */

/**
 * What is gone from a view, by the place of the nearest part that is still drawn: [[places, names]]. The `grad_fn` view has the
 * names of nodes. What has only become something else is still there.
 *
 * @param {Gone[]} gone
 * @param {string} view
 * @param {Record<string, string>} stands
 * @param {(key: string) => boolean} drawn
 * @returns {[string[], string[]][]}
 */
export function goneBeside(gone, view, stands, drawn) {
  const shown = (/** @type {string | null} */ key) => (key === null ? undefined : [key, stands[key]].find((one) => one && drawn(one)));
  /** @type {Map<string, [string[], string[]]>} */
  const found = new Map();
  for (const { node, part, now, near } of gone) {
    const name = view === "grad_fn" ? node : part;
    const places = [...new Set(near.map(shown).filter((one) => one !== undefined))];
    if (!name || shown(now) || !places.length) continue;
    if (!found.has(places[0])) found.set(places[0], [places, []]);
    found.get(places[0])[1].push(name);
  }
  return [...found.values()];
}

/** The words beside a place: what is gone from there. */
export function goneText(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const all = [...counts].map(([name, count]) => (count > 1 ? `${count} ${name}` : name));
  return `gone: ${all.slice(0, 3).join(", ")}${all.length > 3 ? ` and ${all.length - 3} more` : ""}`;
}

const scaled = (/** @type {Place} */ { x, y, width, height }, by) => ({ x: x * by, y: y * by, width: width * by, height: height * by });
const grown = ({ x, y, width, height }, by) => ({ x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by });

/** Where a node is drawn; the boxes of a network stand where they were moved to. */
function boxOf(element) {
  const { x, y, width, height } = element.getBBox();
  const { e = 0, f = 0 } = element.transform?.baseVal.consolidate()?.matrix ?? {};
  return { x: x + e, y: y + f, width, height };
}

/**
 * Light the parts of a picture that differ. `elements` finds an element by its key; `runs` lets the change run through the
 * graph, values forward and then gradients back. What is `gone` is named beside what was nearest to it.
 *
 * @param {SVGSVGElement} svg
 * @param {Map<string, SVGGraphicsElement>} elements
 * @param {Record<string, Lit>} lit
 * @param {{x: number, y: number, w: number, h: number}} box
 * @param {boolean} runs
 * @param {[string[], string[]][]} gone
 */
export function light(svg, elements, lit, box, runs, gone = []) {
  svg.querySelector(".tgv-lit")?.remove();
  const found = Object.entries(lit).filter(([key]) => elements.has(key)).sort(([, a], [, b]) => a.order - b.order);
  if (!found.length && !gone.length) return;
  const all = [...elements.values()].filter((one) => one.classList.contains("node") && !one.classList.contains("tab"));
  const larger = Math.max(1, svg.getScreenCTM()?.a ?? 1); // than it was drawn: what is lit is not
  const seen = (/** @type {SVGGraphicsElement} */ element) => scaled(boxOf(element), larger); // in pixels
  const texts = [.../** @type {NodeListOf<SVGGraphicsElement>} */ (svg.querySelectorAll("g.back text"))].filter((one) => one.textContent);
  /** @type {Place[]} */
  const taken = [...all.map(seen), ...found.map(([key]) => grown(seen(elements.get(key)), SPACE)), ...texts.map((one) => ({ ...seen(one), text: true }))];
  const home = /** @type {SVGGraphicsElement} */ (all[0]?.parentNode ?? svg); // what is drawn in it is moved by its margin
  const { e = 0, f = 0 } = home.transform?.baseVal.consolidate()?.matrix ?? {};
  const [x, y, w, h] = [box.x - e, box.y - f, box.w, box.h].map((length) => length * larger);
  const layer = make("g", { class: "tgv-lit", "aria-hidden": "true" });
  const moves = runs && mayMove();
  const step = Math.min(APART, WHOLE / found.length);
  const forward = found.filter(([, one]) => one.kind !== "grad").length;

  const pen = document.createElement("canvas").getContext("2d"); // measures without a layout of the page
  pen.font = `600 11px ${getComputedStyle(svg.querySelector("text") ?? svg).fontFamily}`;

  /** Write something beside the first of these nodes where there is room, or on one of them. */
  const plate = (group, text, of, nodes) => {
    const free = roomFor(nodes.map(seen), pen.measureText(text).width + 12, taken, { x, y, w, h });
    if (!free) return;
    taken.push(free);
    const place = scaled(free, 1 / larger);
    group.append(make("rect", { class: "tgv-plate", ...place, rx: 4 / larger }), make("text", { class: `tgv-change tgv-change-${of}`,
      style: `font-size:${11 / larger}px;font-weight:600`, x: place.x + place.width / 2, y: place.y + 11.5 / larger }, text));
  };

  found.forEach(([key, one], index) => {
    const node = elements.get(key);
    const group = make("g", { class: `tgv-lit-${one.kind}` });
    group.append(make("rect", { class: "tgv-halo", ...grown(boxOf(node), SPACE / larger), rx: 9 / larger }));
    if (moves) {
      const turn = one.kind === "grad" ? forward + found.length - index : index; // gradients run back
      group.classList.add("tgv-runs");
      group.style.animationDelay = `${Math.round(Math.min(turn, 2 * found.length) * step)}ms`;
    }
    for (const { text, of } of platesOf(one)) plate(group, text, of, [node]);
    layer.append(group);
  });
  for (const [places, names] of gone) {
    const group = make("g", { class: "tgv-lit-gone" });
    plate(group, goneText(names), "gone", places.filter((key) => elements.has(key)).map((key) => elements.get(key)));
    layer.append(group);
  }
  home.append(layer);
}
