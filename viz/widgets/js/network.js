// A network on the stage: modules as nested boxes. A click opens or closes one in place; its surroundings make room, keep their
// order, and glide. The layout of each box's inside and all sizes come from Python, so nothing is laid out here. `compose` does
// what `picture/nested.py` does for files: any boxes may be open, also where no Python runs. tests/browser compares both.
import { h, svg } from "./dom.js";
import { goneBeside, light, shownAs } from "./lit.js";
import { SmallMap } from "./map.js";
import { listenToMoves, pressKey, toUser } from "./moves.js";
import { panned, touchAction } from "./touch.js";

const GLIDE = 260; // milliseconds
const LEAST = 1; // the smallest letters have 10 pixels: what is too big is panned

/** Map a coordinate when each span [start, end, extra] grows or shrinks; see `_stretch` in nested.py. */
export function stretch(spans) {
  if (!spans.some(([, , extra]) => extra)) return (place) => place;
  const changing = spans.map(([start, end, extra]) => [start, end, extra / (end - start)]);
  const cuts = [...new Set(changing.flatMap(([start, end]) => [start, end]))].sort((a, b) => a - b);
  const rates = cuts.slice(1).map((b, i) =>
    Math.max(...changing.filter(([start, end]) => start <= cuts[i] && b <= end).map(([, , rate]) => rate), -Infinity))
    .map((rate) => (rate === -Infinity ? 0 : rate));
  return (place) => {
    let moved = place;
    for (let i = 0; i < rates.length && cuts[i] < place; i++) moved += (Math.min(place, cuts[i + 1]) - cuts[i]) * rates[i];
    return moved;
  };
}

/** What is visible: {width, height, boxes: Map(key -> {x, y, w, h, open}), curves: Map(id -> points)}. */
export function compose({ units, layouts, sizes: { title: line, padding } }, opened) {
  const order = [];
  const collect = ["root"];
  while (collect.length) {
    const key = collect.pop();
    order.push(key);
    collect.push(...units[key].c.filter((child) => opened.has(child) && units[child].c));
  }
  const size = new Map();
  const sizeOf = (key) => size.get(key) ?? [units[key].w, units[key].h];
  const maps = new Map();
  for (const key of [...order].reverse()) {
    const placed = layouts[units[key].l];
    const spans = [0, 1].map((axis) => units[key].c.map((child, i) => {
      const before = placed.z[i][axis];
      const middle = placed.s[i][axis];
      return [middle - before / 2, middle + before / 2, sizeOf(child)[axis] - before];
    }));
    const [across, down] = spans.map(stretch);
    maps.set(key, [across, down]);
    const [margin, above, title] = key === "root" ? [0, 0, 0] : [2 * padding, line, units[key].n];
    size.set(key, [Math.max(across(placed.w) + margin, title), down(placed.h) + margin + above]);
  }
  const boxes = new Map();
  const curves = new Map();
  const origin = new Map([["root", [0, 0]]]);
  for (const key of order) {
    const placed = layouts[units[key].l];
    const [across, down] = maps.get(key);
    const [left, top] = origin.get(key);
    units[key].c.forEach((child, i) => {
      const [x, y] = placed.s[i];
      const [w, high] = placed.z[i];
      const cx = left + (across(x - w / 2) + across(x + w / 2)) / 2;
      const cy = top + (down(y - high / 2) + down(y + high / 2)) / 2;
      const [width, height] = sizeOf(child);
      boxes.set(child, { x: cx, y: cy, w: width, h: height, open: maps.has(child) });
      if (maps.has(child)) {
        const inside = maps.get(child)[0](layouts[units[child].l].w);
        origin.set(child, [cx - inside / 2, cy - height / 2 + line + padding]);
      }
    });
    units[key].e.forEach(([tail, head], i) => {
      if (!placed.e[i].length) return;
      const points = placed.e[i].map(([x, y]) => [left + across(x), top + down(y)]);
      const ends = [[tail, 0], [head, placed.e[i].length - 1]].map(([place, at]) =>
        ({ box: boxes.get(units[key].c[place]), beside: beside(placed.e[i][at], placed.s[place], placed.z[place]) }));
      curves.set(`${key}:${i}`, docked(points, ends[0], ends[1]));
    });
  }
  const [width, height] = size.get("root");
  return { width, height, boxes, curves };
}

/** The modules that are open at first in a space of this size: those that Python opens, minus the innermost until it fits. */
export function openAtFirst(net, width, height) {
  if (net.exact) return new Set(net.open); // a depth was asked for
  const depths = new Map();
  const measure = (key, depth) => {
    for (const child of net.units[key].c ?? []) {
      if (!net.open.includes(child)) continue;
      depths.set(child, depth);
      measure(child, depth + 1);
    }
  };
  measure("root", 0);
  const opened = new Set(depths.keys());
  const models = net.units.root.c.filter((key) => net.units[key].c).length;
  while (opened.size > (models === 1 ? 1 : 0)) { // of a program of one model the inside is shown
    const shown = compose(net, opened);
    const around = 2 * net.sizes.margin;
    if (shown.width + around <= width && shown.height + around <= height) break;
    opened.delete([...opened].reduce((deepest, key) => (depths.get(key) >= depths.get(deepest) ? key : deepest)));
  }
  return opened;
}

/** Where on the edge of a box a curve ends: -1 to 1 across and down. */
function beside(point, spot, size) {
  return size.map((length, axis) => Math.max(-1, Math.min(1, (point[axis] - spot[axis]) / (length / 2))));
}

/** A curve between the edges of two boxes, at the same place of each edge as when they were laid out. */
function docked(points, tail, head) {
  for (const [at, near, { box: { x, y, w, h: high }, beside: [right, low] }] of [[0, 1, tail], [points.length - 1, points.length - 2, head]]) {
    const edge = [x + (right * w) / 2, y + (low * high) / 2];
    points[near] = [points[near][0] + edge[0] - points[at][0], points[near][1] + edge[1] - points[at][1]];
    points[at] = edge;
  }
  return points;
}

function titleOf(unit) {
  return unit.r.filter(([slot]) => slot === "name" || slot === "class").map(([, , text]) => text).join(" ");
}

function pathOf(points) {
  const [first, ...rest] = points;
  return `M${first.map((n) => n.toFixed(1)).join(" ")}C${rest.map((point) => point.map((n) => n.toFixed(1)).join(" ")).join(" ")}`;
}

function headOf(points) {
  const [x, y] = points.at(-1);
  const from = [...points].reverse().find(([a, b]) => Math.hypot(a - x, b - y) > 0.5) ?? [x - 1, y];
  const length = Math.hypot(x - from[0], y - from[1]) || 1;
  const [dx, dy] = [(x - from[0]) / length * 7, (y - from[1]) / length * 7];
  return `M${x} ${y}L${x - dx - dy * 0.42} ${y - dy + dx * 0.42}L${x - dx + dy * 0.42} ${y - dy - dx * 0.42}Z`;
}

export class NetworkStage {
  /**
   * `picture` is a view with a `network`; `onPick(key)` receives anything that is not a module; `onChange()` reports a new size.
   *
   * @param {HTMLElement} host
   * @param {Record<string, any>} picture
   * @param {{maxHeight?: number, onPick?: (key: string) => void, onChange?: (what?: any) => void, label?: string, opened?: any,
   *   onPoint?: (at: any) => void}} options
   */
  constructor(host, picture, { maxHeight = 400, onPick = () => {}, onChange = () => {}, label = "Network", opened = null, onPoint = () => {} } = {}) {
    this.host = host;
    this.net = picture.network;
    this.onPick = onPick;
    this.onChange = onChange;
    this.onPoint = onPoint;
    this.maxHeight = maxHeight;
    const width = host.clientWidth || host.parentElement?.clientWidth || 600;
    this.chosen = opened !== null; // whether a reader has chosen what is open
    this.opened = new Set(opened ?? openAtFirst(this.net, width, maxHeight - (this.net.scale ? this.net.sizes.legend : 0)));
    this.step = this.net.patches.length - 1;
    this.style = h("style");
    this.style.textContent = picture.svg.match(/<style>([\s\S]*?)<\/style>/)?.[1] ?? "";
    this.lines = svg("g", { class: "forward" });
    this.frames = svg("g", {});
    this.nodes = svg("g", {});
    this.svg = svg("svg", { id: picture.id, role: "group", "aria-label": label, tabindex: "-1" }, svg("rect", { class: "paper" }),
      svg("g", { class: "network" }, this.frames, this.lines, this.nodes));
    this.legend = this.net.scale ? legendOf(this.net.scale) : null;
    this.map = new SmallMap(({ x, y }) =>
      this.#setView(panned({ ...this.view, x: x - this.view.w / 2, y: y - this.view.h / 2 }, this.whole).view));
    host.replaceChildren(this.style, h("div", { class: "tgv-window" }, this.svg, this.map.element), ...(this.legend ? [this.legend] : []));
    this.elements = new Map();
    this.curves = new Map();
    this.state = new Map();
    this.#states();
    this.#draw(compose(this.net, this.opened));
    this.#listen();
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(host);
    this.fit();
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.host.replaceChildren();
  }

  /** The state of every box at this step: the last patch that names it. */
  #states() {
    this.state.clear();
    for (let k = 0; k <= this.step; k++) for (const [key, mark] of Object.entries(this.net.patches[k])) this.state.set(key, mark);
  }

  go(step) {
    const last = this.net.patches.length - 1;
    const target = Math.min(step, last);
    const changed = new Set();
    if (target < this.step) {
      for (let k = target + 1; k <= this.step; k++) Object.keys(this.net.patches[k]).forEach((key) => changed.add(key));
      this.step = target;
      this.#states();
    } else {
      for (let k = this.step + 1; k <= target; k++) {
        for (const [key, mark] of Object.entries(this.net.patches[k])) {
          this.state.set(key, mark);
          changed.add(key);
        }
      }
      this.step = target;
    }
    for (const key of changed) this.#mark(key);
    this.#follow();
  }

  stepsOf(key) {
    const touching = this.net.patches.flatMap((patch, step) => (step && patch[key] ? [step] : []));
    const running = touching.filter((step) => this.net.patches[step][key][0].includes("running"));
    return running.length ? running : touching;
  }

  /** Light what a change made different (as `lit.js` takes it), also in the boxes that open and close; null for nothing. */
  show(change) {
    this.change = change;
    this.#light();
  }

  #light() {
    if (!this.change) return;
    const { nodes, gone = [], runs } = this.change;
    const closed = new Map([...this.elements].filter(([, element]) => element.dataset.open === "false"));
    const above = new Map(Object.entries(this.net.units).flatMap(([key, unit]) => (unit.c ?? []).map((child) => [child, key])));
    const stands = Object.fromEntries(Object.keys(this.net.of ?? {}).map((key) => {
      let at = this.net.of[key];
      while (at && !closed.has(at)) at = above.get(at);
      return [key, at];
    }));
    const drawn = (/** @type {string} */ key) => closed.has(key);
    light(this.svg, closed, shownAs(nodes, stands, drawn), this.whole, Boolean(runs), goneBeside(gone, "modules", stands, drawn));
    this.change.runs = false;
  }

  /** What each step makes of an element, as far as it changes it. */
  statesOf(key) {
    return this.net.patches.map((patch) => patch[key]?.[0]);
  }

  /** Open a closed module, or close an open one, in place. */
  pick(key) {
    const unit = this.net.units[key];
    if (!unit.c) return this.onPick(key);
    this.chosen = true;
    if (this.opened.has(key)) {
      const within = [key];
      while (within.length) {
        const one = within.pop();
        this.opened.delete(one);
        within.push(...(this.net.units[one].c ?? []).filter((child) => this.opened.has(child)));
      }
    } else this.opened.add(key);
    this.zoomed = Math.max(1, this.zoomed ?? 1); // what opens is there to be read
    this.#draw(compose(this.net, this.opened), key);
    this.elements.get(key)?.focus({ preventScroll: true });
    this.#point(null);
    this.onChange();
  }

  #draw(now, anchor = null) {
    cancelAnimationFrame(this.frame);
    this.svg.querySelector(".tgv-lit")?.remove();
    const before = this.shown;
    this.shown = now;
    for (const [key, element] of this.elements) {
      const there = now.boxes.get(key);
      if (!there || there.open !== (element.dataset.open === "true")) {
        element.remove();
        this.elements.delete(key);
      }
    }
    for (const [key, box] of now.boxes) {
      if (this.elements.has(key)) continue;
      const element = this.#make(key, box);
      (box.open ? this.frames : this.nodes).append(element);
      this.elements.set(key, element);
      this.#mark(key);
    }
    for (const [id, element] of this.curves) if (!now.curves.has(id)) { element.remove(); this.curves.delete(id); }
    for (const id of now.curves.keys()) {
      if (this.curves.has(id)) continue;
      const element = svg("g", {}, svg("path", {}), svg("path", { class: "head" }));
      this.lines.append(element);
      this.curves.set(id, element);
    }
    this.#order();
    const from = before && anchor !== null ? before : null;
    const still = !from || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) {
      this.#set(now, 1, now, anchor);
      this.fit();
      this.#light();
      return;
    }
    const start = performance.now();
    const viewBefore = this.view;
    const view = this.#wanted(now.boxes.get(anchor));
    const tick = (time) => {
      const share = Math.min(1, (time - start) / GLIDE);
      const eased = share * share * (3 - 2 * share);
      this.#set(now, eased, from, anchor);
      this.#setView(mix(viewBefore, view, eased));
      if (share < 1) this.frame = requestAnimationFrame(tick);
      else this.#light();
    };
    this.#set(now, 0, from, anchor);
    this.frame = requestAnimationFrame(tick);
  }

  /** Animate everything from its old to its new position; new boxes come out of the box that was opened. */
  #set(now, share, from, anchor) {
    const cradle = from.boxes.get(anchor);
    for (const [key, box] of now.boxes) {
      const was = from.boxes.get(key) ?? cradle ?? box;
      const at = { x: mixed(was.x, box.x, share), y: mixed(was.y, box.y, share), w: box.w, h: box.h };
      if (box.open) Object.assign(at, { w: mixed(was.w, box.w, share), h: mixed(was.h, box.h, share) });
      this.#put(key, at, box.open);
    }
    for (const [id, points] of now.curves) {
      const was = from.curves.get(id) ?? (cradle ? points.map(() => [cradle.x, cradle.y]) : points);
      const at = points.map(([x, y], i) => [mixed(was[i]?.[0] ?? x, x, share), mixed(was[i]?.[1] ?? y, y, share)]);
      const [line, head] = this.curves.get(id).children;
      line.setAttribute("d", pathOf(at));
      head.setAttribute("d", headOf(at));
    }
  }

  #put(key, { x, y, w, h: high }, open) {
    const element = this.elements.get(key);
    if (!open) return element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    element.setAttribute("transform", `translate(${(x - w / 2).toFixed(1)} ${(y - high / 2).toFixed(1)})`);
    const rect = element.querySelector("rect");
    rect.setAttribute("width", w.toFixed(1));
    rect.setAttribute("height", high.toFixed(1));
  }

  #make(key, box) {
    const unit = this.net.units[key];
    const group = svg("g", { tabindex: "-1", role: "button", "data-key": key, "data-open": String(box.open) });
    if (unit.c) group.setAttribute("aria-expanded", String(box.open));
    group.dataset.base = `node ${box.open ? "opened" : unit.k}${unit.c ? " tgv-opens" : ""}${unit.f ? " frozen" : ""}`;
    if (unit.k === "port") {
      group.append(svg("circle", { class: "pill", r: 4 }));
      return group;
    }
    const pill = unit.k === "op" || unit.k === "unrecorded" || unit.k === "cut";
    if (box.open) {
      group.append(svg("rect", { class: "frame", rx: 7 }), svg("text", { class: "opened-title", x: 10, y: 15 }, titleOf(unit)),
        svg("title", {}, `${unit.t}: a click closes it`));
      return group;
    }
    const [w, high] = [unit.w, unit.h];
    group.append(svg("rect", { class: pill ? "pill" : "frame", x: -w / 2, y: -high / 2, width: w, height: high, rx: pill ? Math.min(high / 2, 15) : 7 }));
    if (unit.c) group.append(svg("path", { class: "plus", d: `M${w / 2 - 13.5} ${10 - high / 2}h8m-4 -4v8` }));
    const { line } = this.net.sizes;
    let y = (unit.p ?? 6) - high / 2;
    for (const [, style, text] of unit.r) {
      group.append(svg("text", { class: `mid ${style}`, x: 0, y: y + line[style] * 0.76 }, text));
      y += line[style];
    }
    group.append(svg("text", { class: "mid tiny grad", x: 0, y: y + line.tiny * 0.76, "data-slot": "grad" }));
    return group;
  }

  #mark(key) {
    const element = this.elements.get(key);
    if (!element) return;
    const [classes, text] = this.state.get(key) ?? ["", ""];
    const shade = element.dataset.open === "true" ? classes.replace("lv", "around-lv") : classes; // what is in it has colours
    element.setAttribute("class", `${element.dataset.base} ${shade}`);
    const slot = element.querySelector("[data-slot=grad]");
    if (slot) slot.textContent = text;
    const unit = this.net.units[key];
    const said = [unit.t, ...unit.r.slice(1).map(([, , words]) => words), text].filter(Boolean).join("; ");
    element.setAttribute("aria-label", unit.c ? `${said}; ${element.dataset.open === "true" ? "open" : "closed"}` : said);
  }

  /** The order for the keys: the boxes from top to bottom. */
  #order() {
    const place = ([, box]) => [Math.round((box.y - box.h / 2) / 12), box.x];
    this.walk = [...this.shown.boxes].sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]).map(([key]) => this.elements.get(key));
    const focused = this.walk.find((element) => element === document.activeElement) ?? this.walk[0];
    for (const element of this.walk) element.setAttribute("tabindex", element === focused ? "0" : "-1");
  }

  // --- size, zoom, pan ---

  get natural() {
    const around = 2 * this.net.sizes.margin;
    return { w: this.shown.width + around, h: this.shown.height + around };
  }

  /** The space for the picture, and the scale at which all of it is in sight. */
  get #room() {
    const width = this.host.clientWidth || 600;
    const most = this.maxHeight - (this.legend ? Math.max(this.net.sizes.legend, this.legend.offsetHeight) : 0);
    return { width, most, whole: Math.min(1.15, width / this.natural.w, most / this.natural.h) };
  }

  /** The part of the picture to show; if it does not all fit, the part from the top of the box `around`. */
  #wanted(around = null) {
    const { width, most, whole } = this.#room;
    const first = Math.max(LEAST, whole);
    const scale = first * (this.zoomed ?? 1);
    const height = Math.min(most, Math.ceil(this.natural.h * first)); // whatever the zoom, so that nothing below moves
    this.svg.style.height = `${height}px`;
    const view = { w: width / scale, h: height / scale };
    const near = (at, size, middle, extent) => {
      if (middle - extent / 2 >= at && middle + extent / 2 <= at + size) return at;
      return extent >= size ? middle - extent / 2 - 14 : middle - size / 2;
    };
    const { margin } = this.net.sizes; // around the picture
    const [left, top] = [(this.view?.x ?? -margin) + margin, (this.view?.y ?? -margin) + margin];
    const [x, y] = around ? [near(left, view.w, around.x, around.w), near(top, view.h, around.y, around.h)] : [left, top];
    return panned({ ...view, x: x - margin, y: y - margin }, this.whole).view;
  }

  /** Set the height of the stage, in pixels. */
  setHeight(height) {
    this.maxHeight = height;
    this.fit();
  }

  /** Show the whole picture, as large as it fits; its letters may then be small. */
  home() {
    const { whole } = this.#room;
    this.zoomed = whole / Math.max(LEAST, whole);
    this.fit();
  }

  fit() {
    this.#setView(this.#wanted());
  }

  #setView(view) {
    this.view = view;
    this.svg.style.touchAction = touchAction(view, this.natural);
    const { x, y, w, h: high } = this.whole;
    const rest = { left: view.x - x, top: view.y - y, right: x + w - view.x - view.w, bottom: y + high - view.y - view.h };
    // At an edge where it goes on, the picture fades: that is where it can be moved.
    const fades = this.net.sizes.margin + 1; // the outermost pixels are empty
    for (const [side, hidden] of Object.entries(rest)) this.svg.style.setProperty(`--tgv-${side}`, hidden > fades ? "36px" : "0px");
    this.svg.classList.toggle("tgv-goes-on", Object.values(rest).some((hidden) => hidden > fades));
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    this.map.show(view, this.whole, this.shown, () => [...this.shown.boxes].map(([, box]) =>
      ({ x: box.x - box.w / 2, y: box.y - box.h / 2, width: box.w, height: box.h, open: box.open })));
    const paper = this.svg.querySelector(".paper");
    for (const [name, value] of Object.entries({ x: view.x, y: view.y, width: view.w, height: view.h })) paper.setAttribute(name, value);
  }

  /** Zoom; what is at this place of the window stays there. */
  zoom(factor, at = null) {
    const before = at && toUser(this.svg, at);
    this.zoomed = Math.min(4, Math.max(0.1, (this.zoomed ?? 1) * factor));
    this.fit();
    if (!at) return;
    const after = toUser(this.svg, at);
    this.#setView(panned(this.view, this.whole, before.x - after.x, before.y - after.y).view);
  }

  get whole() {
    return { x: -this.net.sizes.margin, y: -this.net.sizes.margin, ...this.natural };
  }

  moveTo(view) {
    this.#setView(view);
  }

  /** Scroll to what runs now: the innermost of nested boxes. */
  #follow() {
    let now = null;
    for (const [key, [classes]] of this.state) {
      if (!/\b(running|now)\b/.test(classes)) continue;
      const box = this.shown.boxes.get(key);
      if (box && !box.open) now = box;
    }
    if (!now) return;
    const { view } = this;
    const inside = now.x - now.w / 2 > view.x && now.x + now.w / 2 < view.x + view.w && now.y - now.h / 2 > view.y && now.y + now.h / 2 < view.y + view.h;
    if (!inside) {
      this.view = { ...view, x: now.x - view.w / 2, y: now.y - view.h / 2 };
      this.fit();
    }
  }

  /** Tell what is pointed at, and light the other places of the parameter that it shares. */
  #point(node) {
    const same = node && this.net.units[node.dataset.key].same;
    for (const [key, element] of this.elements) element.toggleAttribute("data-same", Boolean(same) && this.net.units[key].same === same);
    this.onPoint(node);
  }

  #listen() {
    const isPressed = listenToMoves(this.svg, this);
    this.svg.addEventListener("pointerover", (event) => this.#point(event.target.closest("[data-key]")));
    this.svg.addEventListener("focusin", (event) => {
      const node = event.target.closest("[data-key]");
      if (node && !isPressed()) this.#setView(this.#wanted(this.shown.boxes.get(node.dataset.key))); // keys reach what is out of sight
      this.#point(node);
    });
    for (const gone of ["pointerleave", "focusout"]) this.svg.addEventListener(gone, () => this.#point(null));
    this.svg.addEventListener("keydown", (event) => pressKey(event, this));
  }

  /** Escape: close the open box of this key, or the one around it; returns whether there was one. */
  leave(key) {
    const within = Object.keys(this.net.units).find((one) => one !== "root" && this.net.units[one].c?.includes(key));
    const around = key ? (this.opened.has(key) && this.net.units[key].c ? key : within) : this.chosen && [...this.opened].at(-1);
    if (!around || !this.opened.has(around)) return false;
    this.pick(around);
    return true;
  }
}

function mixed(a, b, share) {
  return a + (b - a) * share;
}

function mix(a, b, share) {
  return Object.fromEntries(Object.keys(b).map((name) => [name, mixed(a[name], b[name], share)]));
}

function legendOf(scales) {
  const rows = scales.map(([about, low, high]) => {
    const bars = Array.from({ length: 7 }, (_, place) => h("span", { class: `tgv-shade tgv-shade-${place}` }));
    return h("div", { class: "tgv-scale", role: "img", "aria-label": `${about}: colours from ${low} to ${high}` },
      h("span", {}, about), h("span", {}, low), ...bars, h("span", {}, high));
  });
  return h("div", { class: "tgv-scales" }, ...rows);
}
