// The stage: one picture, complete and as large as fits. It can be zoomed, panned and explored by keys, is patched step by step,
// and its folds open. Python decides what a step means; this file applies patches.
//
//     const stage = new Stage(host, { label: "graph", onPick: (key) => …, height: 400 });
//     stage.show(scene, "values", 0); stage.go(3); stage.setHeight(300); stage.destroy();
import { h, newId } from "./dom.js";
import { goneBeside, light, shared, shownAs } from "./lit.js";
import { SmallMap, zoomTools } from "./map.js";
import { Motion, mayMove } from "./motion.js";
import { listenToMoves, pressKey, toUser } from "./moves.js";
import { NetworkStage } from "./network.js";
import { unpacked } from "./pack.js";
import { pointAtNodes } from "./point.js";
import { panned, touchAction } from "./touch.js";

const READABLE = 10; // pixels: no letter is smaller on the screen
export const HALF = 340; // pixels: a graph in less is folded to nothing
export const SPLIT = { title: 22, bar: 39 }; // pixels above each picture of a stage that is split, and of the bar below both
const LARGEST = 1.4; // times its own size is the most that a picture is enlarged
const FAST = 350; // milliseconds: steps that come sooner after each other are not animated
const EDGE = 6; // pixels between the zoom's buttons and the edges of the stage

/** The size of the smallest letters of a picture when all of it is shown in a space of this size. */
export function lettersOf(picture, width, height) {
  if (!picture.width) return READABLE;
  return (picture.least ?? READABLE) * Math.min(LARGEST, width / picture.width, height / picture.height);
}

/** Of the pictures that Python drew of a view, the most detailed one that is readable at this size. Pictures folded for a phone
* are only for phones: on a wide but low stage, the whole graph is panned instead. */
export function fittest(view, width, height) {
  const pictures = [view, ...(view.others ?? []).filter((picture) => width <= (picture.widest ?? Infinity))];
  const letters = (picture) => lettersOf(picture, width, height);
  const readable = pictures.filter((picture) => letters(picture) >= READABLE - 0.05);
  if (!readable.length) return pictures.reduce((best, one) => (letters(one) > letters(best) ? one : best));
  return readable.reduce((best, one) =>
    one.rank < best.rank || (one.rank === best.rank && letters(one) > letters(best)) ? one : best);
}

/** A picture that can be zoomed, panned, explored by keys and patched, and whose folds open. */
export class Stage {
  /**
   * `onPick(key)` receives the element that is pressed, `onPicture()` is called when a fold opens or closes. `height` is in
   * pixels; the width is the host's.
   *
   * @param {HTMLElement} host
   * @param {{onPick?: (key: string) => void, onPicture?: () => void, height?: number, label?: string}} options
   */
  constructor(host, { onPick = () => {}, onPicture = () => {}, height = 400, label = "Graph" } = {}) {
    pointAtNodes();
    this.host = host;
    this.onPick = onPick;
    this.onPicture = onPicture; // told when a fold has been opened or closed
    this.open = null; // key of the fold whose inside is shown
    this.height = height;
    this.label = label;
    this.frame = h("div", { class: "tgv-frame" });
    this.motion = new Motion(this.frame);
    this.map = new SmallMap(({ x, y }) => this.moveTo({ ...this.view, x: x - this.view.w / 2, y: y - this.view.h / 2 }));
    this.last = 0; // when a step was gone to
    this.tip = h("div", { class: "tgv-tip", role: "tooltip", id: newId(), hidden: true });
    this.tools = zoomTools(label, { zoom: (factor) => this.zoom(factor), fit: () => this.fit() });
    host.classList.add("tgv-stage");
    this.path = h("nav", { class: "tgv-path", "aria-label": "Where in the graph", hidden: true });
    this.style = h("style"); // beside the picture: one that is put in its place needs no new styles, nor does the page
    host.replaceChildren(this.style, this.path, this.frame, this.map.element, this.tools, this.tip);
    this.#listen();
    this.width = 0; // asked for once: to ask while a picture changes makes the browser lay out the page each time
    this.observer = new ResizeObserver(() => {
      if (this.width === host.clientWidth) return;
      this.width = host.clientWidth;
      this.#refit();
    });
    this.observer.observe(host);
  }

  destroy() {
    this.observer.disconnect();
    this.motion.stop();
    this.network?.destroy();
    this.host.replaceChildren();
  }

  /** Set the height of the stage, in pixels. */
  setHeight(height) {
    if (height === this.height) return;
    this.height = height;
    if (this.network) return this.network.setHeight(height);
    this.#refit();
  }

  /** The space has changed: another picture of the view may fit it better. */
  #refit() {
    if (!this.scene || this.network) return;
    if (this.open === null && this.#chosen(this.scene.views[this.shown]) !== this.picture) {
      return this.show(this.scene, this.shown, this.step);
    }
    if (this.userView) return this.#resize(); // what the user zoomed to stays
    this.fit();
    this.#light();
  }

  /** The picture of a view that fits this stage. */
  #chosen(view) {
    const width = this.width || this.host.clientWidth;
    const picture = width ? fittest(view, width, this.height) : view;
    if (view.folds && !picture.folds) picture.folds = view.folds;
    return picture;
  }

  /** Put the picture `view` of `scene` on the stage, at a step. Later steps are applied as differences. */
  show(scene, view, step = 0) {
    this.#showNetwork(scene, view, step);
    if (this.network) return;
    const picture = this.#chosen(scene.views[view]);
    if (this.open === null && this.picture?.svg === picture.svg) return this.#repatch(scene, view, picture, step);
    const glide = this.picture && this.shown === view && this.open === null && mayMove() ? this.#places() : null;
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = this.host.contains(active) ? active.dataset.key : null;
    const onPath = this.path.contains(document.activeElement);
    const open = this.open;
    this.scene = scene;
    this.picture = picture;
    this.shown = view;
    this.#put(null, this.picture.svg, this.picture.patches, this.picture.least);
    this.go(step, false);
    if (glide) this.motion.glide(glide, this.#places());
    this.#light();
    if (focused) this.#focus(focused);
    if (open && this.picture.folds?.[open]) this.openFold(open, onPath);
  }

  /** A view by modules has a separate stage in the same place. */
  #showNetwork(scene, view, step) {
    const picture = scene.views[view];
    const opened = this.network?.chosen ? this.network.opened : null;
    this.network?.destroy();
    this.network = null;
    this.frame.hidden = Boolean(picture.network);
    this.networkHost?.remove();
    if (!picture.network) return;
    this.scene = scene;
    this.shown = view;
    this.picture = { network: picture.network, folds: {} };
    this.open = null;
    this.map.element.hidden = true;
    this.path.hidden = true;
    this.networkHost = h("div", { class: "tgv-network" });
    this.frame.after(this.networkHost);
    this.network = new NetworkStage(this.networkHost, picture, {
      maxHeight: this.height, label: this.label, onPick: this.onPick, onChange: this.onPicture, opened,
      onPoint: (node) => (node && scene.details?.[node.dataset.key] ? this.showTip(node) : this.hideTip()),
    });
    this.whole = { x: 0, y: 0, ...this.network.natural };
    this.unit = 1;
    this.svg = this.network.svg;
    this.network.go(step);
    this.network.show(scene.change ?? null);
  }

  /** The same picture with other patches: it stays, and so does the reader's position. */
  #repatch(scene, view, picture, step) {
    this.go(0, false);
    this.scene = scene;
    this.shown = view;
    this.picture = picture;
    this.patches = this.picture.patches;
    for (const node of this.nodes) this.#describe(node);
    this.#diff();
    this.go(step, false);
    this.#light();
  }

  /** Light what a change made different; it runs through the graph once. */
  #light() {
    const { change } = this.scene;
    if (!change || !this.svg) return;
    const lit = shownAs(change.nodes, this.picture.stands ?? {}, (key) => this.elements.has(key));
    const gone = goneBeside(change.gone ?? [], this.shown, this.picture.stands ?? {}, (key) => this.elements.has(key));
    const { whole: box, view = box } = this; // where a picture needs less than there is, what is beside it is free
    const [wide, high] = [view.w > box.w ? view : box, view.h > box.h ? view : box];
    light(this.svg, this.elements, lit, { x: wide.x, y: high.y, w: wide.w, h: high.h }, Boolean(change.runs), gone);
    change.runs = false;
  }

  /** The position of each node on the screen. */
  #places() {
    return new Map(this.nodes.filter((node) => !node.classList.contains("tab")).map((node) =>
      [node.dataset.key, { node, box: node.getBoundingClientRect(), old: node }]));
  }

  /** Show the contents of the fold `key`, or the whole picture for `null`. The step stays. */
  async openFold(key, focus = true) {
    const { picture } = this;
    const left = this.open;
    let inside = picture;
    if (key !== null) {
      const fold = picture.folds[key];
      fold.opened ??= unpacked(fold.packed, "gzip");
      const { svg, patches, own, least } = await fold.opened;
      if (this.picture !== picture) return; // another picture has come meanwhile
      inside = {
        svg,
        least,
        // What the whole picture shows too is patched by the whole picture's patches.
        patches: picture.patches.map((patch, step) => (patches[step] ? { ...patch, ...patches[step] } : patch)),
      };
      this.inside = new Set(own);
    }
    const { step } = this;
    this.#put(key, inside.svg, inside.patches, inside.least);
    this.go(step, false);
    this.#light();
    this.onPicture();
    if (!focus) return;
    if (key !== null && (left === null || left === picture.folds[key].parent)) this.path.querySelector("button").focus();
    else this.#focus(this.#below(left, key));
    this.hideTip();
  }

  /** Show the picture that the open fold is part of. */
  closeFold() {
    this.openFold(this.picture.folds[this.open].parent);
  }

  /** The fold in the picture of `key` that contains the fold `inner`. */
  #below(inner, key) {
    while (inner !== null && this.picture.folds[inner].parent !== key) inner = this.picture.folds[inner].parent;
    return inner;
  }

  #focus(key) {
    this.nodes.find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
  }

  #put(open, svg, patches, least = READABLE) {
    this.motion.stop();
    this.open = open;
    this.least = least; // the size of its smallest letters
    this.patches = patches;
    this.hideTip();
    const [whole, style] = svg.match(/<style>([\s\S]*?)<\/style>/) ?? ["", this.style.textContent];
    if (this.style.textContent !== style) this.style.textContent = style;
    this.frame.innerHTML = svg.replace(whole, "");
    this.svg = this.frame.querySelector("svg");
    this.#index();
    this.#diff();
    this.#showPath();
    this.#prepareSize();
    this.step = -1;
  }

  /** The path of open folds, each a button that leads back to it. */
  #showPath() {
    const folds = [];
    for (let key = this.open; key !== null; key = this.picture.folds[key].parent) folds.unshift(key);
    this.path.hidden = !folds.length;
    if (!folds.length) return this.path.replaceChildren();
    const back = [null, ...folds.slice(0, -1)].map((key) =>
      h("button", { type: "button", class: "tgv-choice", onclick: () => this.openFold(key) },
        key === null ? "Whole graph" : this.picture.folds[key].title));
    this.elsewhere = h("span", { class: "tgv-elsewhere" });
    this.path.replaceChildren(
      ...back.flatMap((each) => [each, h("span", { "aria-hidden": "true" }, "›")]),
      h("span", { "aria-current": "true" }, this.picture.folds[this.open].title),
      this.elsewhere,
    );
  }

  #index() {
    const prefix = `${this.svg.id}-`;
    this.elements = new Map();
    for (const element of this.svg.querySelectorAll("[id]")) {
      if (element.id.startsWith(prefix)) this.elements.set(element.id.slice(prefix.length), element);
    }
    const title = this.svg.querySelector("title");
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", title?.textContent ?? "graph");
    this.svg.removeAttribute("aria-labelledby");
    // A browser would show these titles over everything, and the tip tells more.
    for (const each of this.svg.querySelectorAll("title")) each.remove();
    this.nodes = [];
    for (const [key, rows] of Object.entries(this.scene.details ?? {})) {
      const element = this.elements.get(key);
      if (!element) continue;
      element.dataset.key = key;
      element.setAttribute("role", "button");
      this.#describe(element, rows);
      element.setAttribute("tabindex", this.nodes.length ? "-1" : "0");
      element.dataset.own = this.picture.folds?.[key] ? "tgv-node tgv-opens" : "tgv-node";
      element.classList.add(...element.dataset.own.split(" "));
      this.nodes.push(element);
    }
  }

  /** Name an element by what is known of it, and by the gradient that its box shows at this step. */
  #describe(element, rows = this.scene.details[element.dataset.key] ?? []) {
    const shown = [["grad", "short"], ["note"]].map((slots) => slots.map((slot) => this.elements.get(`${element.dataset.key}-${slot}`)?.textContent).find(Boolean));
    element.setAttribute("aria-label", [...rows.map(([label, text]) => `${label}: ${text}`), ...shown.filter(Boolean)].join("; "));
  }

  /** Find, for every step, what it changes and what was there before, so that a step back is as cheap as a step. */
  #diff() {
    const present = new Map(); // key -> {class, text}
    const stateOf = (key) => {
      if (!present.has(key)) {
        const element = this.elements.get(key);
        const fixed = new Set(`${element?.dataset.base ?? ""} ${element?.dataset.own ?? ""}`.split(" "));
        const state = [...(element?.classList ?? [])].filter((name) => !fixed.has(name));
        present.set(key, { class: state.join(" "), text: {} });
      }
      return present.get(key);
    };
    this.forward = [];
    this.inverse = [];
    for (const patch of this.patches) {
      const undo = {};
      for (const [key, change] of Object.entries(patch)) {
        const state = stateOf(key);
        const before = {};
        if (change.class !== undefined) {
          before.class = state.class;
          state.class = change.class;
        }
        if (change.text) {
          before.text = {};
          for (const [slot, text] of Object.entries(change.text)) {
            before.text[slot] = state.text[slot] ?? this.elements.get(`${key}-${slot}`)?.textContent ?? "";
            state.text[slot] = text;
          }
        }
        undo[key] = before;
      }
      this.forward.push(patch);
      this.inverse.push(undo);
    }
  }

  /** Show step `step` with one write per element, however far the jump. A single step forward is animated, unless `moves` is false. */
  go(step, moves = true) {
    if (this.network) {
      this.step = step;
      return this.network.go(step);
    }
    this.motion.stop();
    const now = performance.now();
    const moving = moves && step === this.step + 1 && this.step >= 0 && now - this.last > FAST && mayMove();
    this.last = now;
    this.host.classList.toggle("tgv-midway", step < this.patches.length - 1); // what comes later is not told yet
    const merged = new Map();
    const collect = (patch) => {
      for (const [key, change] of Object.entries(patch)) {
        const entry = merged.get(key) ?? { text: {} };
        if (change.class !== undefined) entry.class = change.class;
        Object.assign(entry.text, change.text);
        merged.set(key, entry);
      }
    };
    for (let k = this.step + 1; k <= step && k < this.forward.length; k++) collect(this.forward[k]);
    for (let k = this.step; k > step; k--) if (this.inverse[k]) collect(this.inverse[k]);
    this.step = step;
    for (const [key, change] of merged) {
      const element = this.elements.get(key);
      if (element && change.class !== undefined) {
        if (moving && /\bfreed\b/.test(change.class) && !element.classList.contains("freed")) this.motion.drop(element);
        element.setAttribute("class", `${element.dataset.base ?? ""} ${change.class} ${element.dataset.own ?? ""}`);
      }
      for (const [slot, text] of Object.entries(change.text)) {
        const place = this.elements.get(`${key}-${slot}`);
        if (place) place.textContent = text;
      }
      if (element?.dataset.key) this.#describe(element);
    }
    if (this.open !== null) this.elsewhere.textContent = this.inside.has(step) ? "" : "nothing changes in here at this step";
    this.#follow();
    if (moving) this.#fly(this.open === null ? this.picture.moves?.[step] : null);
  }

  /** Animate what travels in this step, as Python describes it. */
  #fly(moves) {
    for (const { along, at, into, texts } of moves ?? []) {
      const element = this.elements.get(along ?? at ?? into);
      if (!element) continue;
      if (along) this.motion.travel(element.querySelector("path"), texts);
      else if (at) this.motion.meet(element, texts);
      else this.motion.fall(element, this.elements.get(`${into}-grad`) ?? this.elements.get(`${into}-short`) ?? element, texts);
    }
  }

  pick(key) {
    if (this.picture.folds?.[key]) this.openFold(key);
    else this.onPick(key);
  }

  /** The steps in which element `key` runs; if it never runs, those that change it. */
  stepsOf(key) {
    if (this.network) return this.network.stepsOf(key);
    const touching = this.patches.flatMap((patch, step) => (patch[key] ? [step] : []));
    const running = touching.filter((step) => /\brunning\b/.test(this.patches[step][key].class ?? ""));
    return running.length ? running : touching;
  }

  /** Whether an element has run by the step shown, and whether the last of its gradients has arrived. */
  progressOf(key) {
    const classes = this.network ? this.network.statesOf(key) : this.patches.map((patch) => patch[key]?.class);
    const first = classes.findIndex((one) => one !== undefined && !/pending/.test(one));
    const last = classes.findLastIndex((one) => /running|has-grad/.test(one ?? ""));
    return { there: first >= 0 && first <= this.step, graded: this.step >= (last < 0 ? classes.length - 1 : last) };
  }

  // --- size, zoom, pan -------------------------------------------------------------------------------------

  #prepareSize() {
    const box = this.svg.viewBox.baseVal;
    this.whole = { x: box.x, y: box.y, w: box.width, h: box.height };
    const width = this.svg.getAttribute("width") ?? "";
    const px = parseFloat(width) * (width.endsWith("pt") ? 4 / 3 : 1) || this.whole.w;
    this.unit = this.whole.w / px; // user units in one CSS pixel at 100 %
    for (const name of ["width", "height", "style"]) this.svg.removeAttribute(name);
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.fit();
  }

  /** Give the frame its height, in pixels. */
  #resize() {
    const height = this.height - (this.open === null ? 0 : this.path.offsetHeight);
    this.frame.style.height = `${height}px`;
    return height;
  }

  /** Show all of the picture, centered; if its letters would be too small, as much as is readable. */
  fit() {
    if (this.network) return this.network.home();
    this.userView = false;
    const width = this.width || this.host.clientWidth;
    if (!this.svg || !width) return;
    const height = this.#resize();
    const natural = { w: this.whole.w / this.unit, h: this.whole.h / this.unit };
    const whole = Math.min(LARGEST, width / natural.w, height / natural.h);
    const scale = Math.max(READABLE / this.least, whole);
    this.#home(whole < scale - 0.01 ? { w: (width / scale) * this.unit, h: (height / scale) * this.unit }
      : { w: (width / whole) * this.unit, h: (height / whole) * this.unit });
    if (this.step >= 0) this.#follow();
  }

  /** Center the picture in its frame, or show its beginning if it is larger. */
  #home(view = this.view) {
    if (view) this.#setView(panned({ ...view, x: this.whole.x, y: this.whole.y }, this.whole).view);
  }

  #setView(view) {
    this.view = view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    const pannable = view.w < this.whole.w - 1 || view.h < this.whole.h - 1;
    this.host.classList.toggle("tgv-pannable", pannable);
    this.svg.style.touchAction = touchAction(view, this.whole);
    this.map.show(view, this.whole, this.svg, () => this.nodes.filter((node) => !node.classList.contains("tab")).map((node) => node.getBBox()));
  }

  zoom(factor, at) {
    if (this.network) return this.network.zoom(factor);
    const { view } = this;
    const scale = (this.host.clientWidth / view.w) * this.unit;
    const wanted = Math.min(4, Math.max(0.2, scale * factor)) / scale;
    const anchor = at ? toUser(this.svg, at) : { x: view.x + view.w / 2, y: view.y + view.h / 2 };
    this.moveTo({
      x: anchor.x - (anchor.x - view.x) / wanted,
      y: anchor.y - (anchor.y - view.y) / wanted,
      w: view.w / wanted,
      h: view.h / wanted,
    });
  }

  moveTo(view) {
    this.userView = true;
    this.#setView(view);
  }

  get walk() {
    return this.nodes;
  }

  home() {
    this.fit();
  }

  /** Put the zoom's buttons, which come when the pointer does, where they cover no node: into a corner, or along an edge. */
  #placeTools() {
    const shown = this.network ? this.networkHost : this.frame;
    const stage = shown.getBoundingClientRect();
    if (!stage.width) return; // out of sight, as where another side has the whole stage
    const { width, height } = this.tools.getBoundingClientRect();
    const taken = [...shown.querySelectorAll(".node"), this.map.element].map((one) => one.getBoundingClientRect());
    const [right, bottom] = [stage.width - width - EDGE, stage.height - height - EDGE];
    const places = [EDGE, bottom].flatMap((y) => [0, 1, 0.5, 0.25, 0.75].map((share) => ({ x: EDGE + share * (right - EDGE), y })));
    const covered = ({ x, y }) => taken.reduce((sum, one) => sum + shared({ x: stage.x + x, y: stage.y + y, width, height }, one), 0);
    const { x, y } = places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
    this.tools.style.left = `${shown.offsetLeft + x}px`; // whatever is scrolled or on its way
    this.tools.style.top = `${shown.offsetTop + y}px`;
  }

  /** Scroll to what happens now, if the picture is larger than its frame. */
  #follow() {
    const now = this.svg.querySelector(".error") ?? this.svg.querySelector(".running") ?? this.svg.querySelector(".now");
    if (now) this.#reveal(now);
    else if (this.step === 0 && !this.userView) this.#home();
  }

  #reveal(element) {
    const { view, whole } = this;
    if (!view || (view.w >= whole.w - 1 && view.h >= whole.h - 1)) return;
    const place = element.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    if (!frame.width || !place.width) return;
    const inside =
      place.left >= frame.left && place.right <= frame.right && place.top >= frame.top && place.bottom <= frame.bottom;
    if (inside) return;
    const centre = toUser(this.svg, { clientX: place.left + place.width / 2, clientY: place.top + place.height / 2 });
    this.#setView(panned({ ...view, x: centre.x - view.w / 2, y: centre.y - view.h / 2 }, whole).view);
  }

  // --- pointer, keys, tip ----------------------------------------------------------------------------------

  #listen() {
    const isPressed = listenToMoves(this.frame, this);
    this.frame.addEventListener("dblclick", (event) => {
      if (!event.target.closest("[data-key]")) this.fit();
    });
    this.frame.addEventListener("pointerover", (event) => {
      const node = event.target.closest("[data-key]");
      if (node && !isPressed()) this.showTip(node);
    });
    this.host.addEventListener("pointerleave", () => this.hideTip());
    this.host.addEventListener("pointerenter", () => this.#placeTools());
    this.host.addEventListener("focusin", () => this.#placeTools());
    this.frame.addEventListener("pointerout", (event) => {
      if (event.target.closest("[data-key]") && !event.relatedTarget?.closest?.(".tgv-tip, [data-key]")) this.hideTip();
    });
    this.frame.addEventListener("focusin", (event) => {
      const node = event.target.closest("[data-key]");
      if (!node) return;
      this.#reveal(node);
      this.showTip(node);
    });
    this.frame.addEventListener("focusout", () => this.hideTip());
    this.host.addEventListener("keydown", (event) => this.network || pressKey(event, this));
  }

  /** Escape: hide the tip, or else close the fold that is open; returns whether there was one. */
  leave() {
    if (!this.tip.hidden) this.hideTip();
    else if (this.open !== null) this.closeFold();
    else return false;
    return true;
  }

  showTip(node) {
    const rows = this.scene.details[node.dataset.key];
    const { value, grad } = this.scene.change?.nodes[node.dataset.key] ?? {};
    const changes = [["value before", value?.[0]], ["gradient before", grad?.[0]]].filter(([, text]) => text);
    this.tip.replaceChildren(...[...rows, ...changes].flatMap(([label, text]) => [h("span", {}, label), h("span", {}, text)]));
    this.tip.hidden = false;
    const host = this.host.getBoundingClientRect();
    const place = node.getBoundingClientRect();
    const size = this.tip.getBoundingClientRect();
    const left = Math.min(Math.max(place.left + place.width / 2 - size.width / 2, host.left), host.right - size.width);
    const below = place.bottom - host.top + 6;
    const above = place.top - host.top - size.height - 6;
    // Above, unless the window ends there: a tip must not hide what comes next.
    const top = place.top - size.height - 6 > 0 ? above : below;
    this.tip.style.left = `${Math.max(0, left - host.left)}px`;
    this.tip.style.top = `${top}px`;
    node.setAttribute("aria-describedby", this.tip.id);
  }

  hideTip() {
    this.tip.hidden = true;
  }
}
