// The player: shows one scene (a picture, and a patch for each step) and lets a reader walk through it.
//
// What a step means is decided in Python. This file applies patches and nothing else, needs no kernel, and is
// used as it is by the widget, by the explorer and by the HTML export:
//
//     const player = mountPlayer(element, scene, { step: 0, view: "values", onChange: (state) => {} });
//     player.go(3); player.setView("grad_fn"); player.destroy();

/** An id that no other player of this page has: each widget brings its own copy of this module, so no counter will do. */
const newId = () => `tgv-${Math.random().toString(36).slice(2, 10)}`;

const ICONS = {
  first: "M4 3h2v10H4zM13 3v10L6.5 8z",
  back: "M11.5 3v10L4.5 8z",
  play: "M4.5 2.5v11L13 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  step: "M4.5 3v10l7-5z",
  last: "M3 3v10l6.5-5zM10 3h2v10h-2z",
  fit: "M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z",
  plus: "M7 3h2v4h4v2H9v4H7V9H3V7h4z",
  minus: "M3 7h10v2H3z",
};

/** Make an element: `h("p", { class: "x", onclick: f }, "text", child)`. Text is never read as HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(name, label, keys, onclick) {
  return h(
    "button",
    { type: "button", class: "tgv-button", title: keys ? `${label} (${keys})` : label, "aria-label": label, onclick },
    icon(name),
  );
}

const TOKEN = /(#.*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(\d[\d_.]*(?:e[+-]?\d+)?)\b|\b(True|False|None|with|for|in|if|else|elif|while|def|return|import|as|from|class|not|and|or|lambda|try|except|pass)\b/g;
const TOKEN_CLASSES = ["comment", "string", "number", "keyword"];

/** One line of Python as a fragment with its comments, strings, numbers and keywords marked. */
export function highlight(line) {
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const match of line.matchAll(TOKEN)) {
    fragment.append(line.slice(end, match.index));
    const kind = TOKEN_CLASSES[match.slice(1).findIndex((group) => group !== undefined)];
    fragment.append(h("span", { class: `tgv-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  fragment.append(line.slice(end));
  return fragment;
}

/** Keep JupyterLab's one-letter shortcuts away from `root`, but leave it Ctrl+S and the like. */
export function ownTheKeys(root) {
  const decide = (event) => {
    if (!root.contains(event.target)) return;
    const combined = event.ctrlKey || event.metaKey || event.altKey;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", !combined); // Lab looks upwards from here, and matches first
  };
  // The window hears a key before the document does, where JupyterLab listens.
  window.addEventListener("keydown", decide, true);
  return () => window.removeEventListener("keydown", decide, true);
}

/** What is inside a fold, as Python packed it: JSON, gzip, base64. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** A picture that can be zoomed, panned, walked through by key, patched, and whose folds open. */
export class Stage {
  constructor(host, { onPick = () => {}, onPicture = () => {}, maxHeight = 400, label = "Graph" } = {}) {
    this.host = host;
    this.onPick = onPick;
    this.onPicture = onPicture; // told when a fold has been opened or closed
    this.open = null; // key of the fold whose inside is shown
    this.maxHeight = maxHeight;
    this.frame = h("div", { class: "tgv-frame" });
    this.tip = h("div", { class: "tgv-tip", role: "tooltip", id: newId(), hidden: true });
    this.tools = h(
      "div",
      { class: "tgv-zoom", role: "group", "aria-label": `Zoom, ${label}` },
      button("minus", "Zoom out", "-", () => this.zoom(1 / 1.25)),
      button("fit", "Fit", "0", () => this.fit()),
      button("plus", "Zoom in", "+", () => this.zoom(1.25)),
    );
    host.classList.add("tgv-stage");
    this.path = h("nav", { class: "tgv-path", "aria-label": "Where in the graph", hidden: true });
    this.style = h("style"); // beside the picture: one that is put in its place needs no new styles, nor does the page
    host.replaceChildren(this.style, this.path, this.frame, this.tools, this.tip);
    this.#listen();
    this.width = 0; // asked for once: to ask while a picture changes makes the browser lay out the page each time
    this.observer = new ResizeObserver(() => {
      this.width = host.clientWidth;
      if (!this.userView) this.fit();
    });
    this.observer.observe(host);
  }

  destroy() {
    this.observer.disconnect();
    this.host.replaceChildren();
  }

  /** Put the picture `view` of `scene` on the stage, at a step. Steps from here on are differences. */
  show(scene, view, step = 0) {
    if (this.open === null && this.picture?.svg === scene.views[view].svg) return this.#repatch(scene, view, step);
    const focused = this.host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const onPath = this.path.contains(document.activeElement);
    const open = this.open;
    this.scene = scene;
    this.picture = scene.views[view];
    this.shown = view;
    this.#put(null, this.picture.svg, this.picture.patches);
    this.go(step);
    if (focused) this.#focus(focused);
    if (open && this.picture.folds?.[open]) this.openFold(open, onPath);
  }

  /** The picture that is shown already, with other patches: it stays, and so does where its reader looks. */
  #repatch(scene, view, step) {
    this.go(0);
    this.scene = scene;
    this.picture = scene.views[view];
    this.patches = this.picture.patches;
    for (const node of this.nodes) this.#describe(node, scene.details[node.dataset.key] ?? []);
    this.#diff();
    this.go(step);
  }

  /** Show what is inside the fold `key`; `null` for the whole picture. The step stays. */
  async openFold(key, focus = true) {
    const { picture } = this;
    const left = this.open;
    let inside = picture;
    if (key !== null) {
      const fold = picture.folds[key];
      fold.opened ??= unpack(fold.packed);
      const { svg, patches } = await fold.opened;
      if (this.picture !== picture) return; // another picture has come meanwhile
      inside = {
        svg,
        // What the whole picture shows as well is patched by the whole picture's patches.
        patches: picture.patches.map((patch, step) => (patches[step] ? { ...patch, ...patches[step] } : patch)),
      };
      this.inside = patches;
    }
    const { step } = this;
    this.#put(key, inside.svg, inside.patches);
    this.go(step);
    this.onPicture();
    if (!focus) return;
    if (key !== null && (left === null || left === picture.folds[key].parent)) this.path.querySelector("button").focus();
    else this.#focus(this.#below(left, key));
    this.hideTip();
  }

  /** Show what the open fold is a part of. */
  closeFold() {
    this.openFold(this.picture.folds[this.open].parent);
  }

  /** The fold in the picture of `key` in which the fold `inner` is. */
  #below(inner, key) {
    while (inner !== null && this.picture.folds[inner].parent !== key) inner = this.picture.folds[inner].parent;
    return inner;
  }

  #focus(key) {
    this.nodes.find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
  }

  #put(open, svg, patches) {
    this.open = open;
    this.patches = patches;
    this.hideTip();
    const [whole, style] = svg.match(/<style>([^]*?)<\/style>/) ?? ["", this.style.textContent];
    if (this.style.textContent !== style) this.style.textContent = style;
    this.frame.innerHTML = svg.replace(whole, "");
    this.svg = this.frame.querySelector("svg");
    this.#index();
    this.#diff();
    this.#prepareSize();
    this.step = -1;
    this.#showPath();
  }

  /** Which fold of which fold is open, each a button that leads back to it. */
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
    // A browser would show these over everything, and the tip tells more.
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

  #describe(element, rows) {
    element.setAttribute("aria-label", rows.map(([label, text]) => `${label}: ${text}`).join("; "));
  }

  /** Find, for every step, what it changes and what was there before: a step back is then as cheap as a step. */
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

  /** Show step `step`: one write per element, however far the jump. */
  go(step) {
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
        element.setAttribute("class", `${element.dataset.base ?? ""} ${change.class} ${element.dataset.own ?? ""}`);
      }
      for (const [slot, text] of Object.entries(change.text)) {
        const place = this.elements.get(`${key}-${slot}`);
        if (place) place.textContent = text;
      }
    }
    if (this.open !== null) this.elsewhere.textContent = this.inside[step] ? "" : "nothing changes in here at this step";
    this.#follow();
  }

  #pick(key) {
    if (this.picture.folds?.[key]) this.openFold(key);
    else this.onPick(key);
  }

  /** The steps in which element `key` is what runs; where it never runs, those that change it. */
  stepsOf(key) {
    const touching = this.patches.flatMap((patch, step) => (patch[key] ? [step] : []));
    const running = touching.filter((step) => /\brunning\b/.test(this.patches[step][key].class ?? ""));
    return running.length ? running : touching;
  }

  // --- size, zoom, pan -------------------------------------------------------------------------------------

  #prepareSize() {
    const box = this.svg.viewBox.baseVal;
    this.box = { x: box.x, y: box.y, w: box.width, h: box.height };
    const width = this.svg.getAttribute("width") ?? "";
    const px = parseFloat(width) * (width.endsWith("pt") ? 4 / 3 : 1) || this.box.w;
    this.unit = this.box.w / px; // user units in one CSS pixel at 100 %
    for (const name of ["width", "height", "style"]) this.svg.removeAttribute(name);
    this.svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.fit();
  }

  fit() {
    this.userView = false;
    const width = this.width || this.host.clientWidth;
    if (!this.svg || !width) return;
    const natural = { w: this.box.w / this.unit, h: this.box.h / this.unit };
    // Never enlarged past 100 %, never smaller than what can be read: what is too big is panned.
    const smallest = natural.h > natural.w ? 0.75 : 0.6;
    const scale = Math.max(smallest, Math.min(1, width / natural.w, this.maxHeight / natural.h));
    const height = Math.min(this.maxHeight, Math.ceil(natural.h * scale));
    this.svg.style.height = `${height}px`;
    this.#home({ w: (width / scale) * this.unit, h: (height / scale) * this.unit });
    if (this.step >= 0) this.#follow();
  }

  /** The picture in the middle of its frame, or its beginning where it is larger. */
  #home(view = this.view) {
    if (!view) return;
    view = { ...view };
    view.x = view.w >= this.box.w ? this.box.x - (view.w - this.box.w) / 2 : this.box.x;
    view.y = view.h >= this.box.h ? this.box.y - (view.h - this.box.h) / 2 : this.box.y;
    this.#setView(view);
  }

  #setView(view) {
    this.view = view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    this.host.classList.toggle("tgv-pannable", view.w < this.box.w - 1 || view.h < this.box.h - 1);
  }

  zoom(factor, at) {
    const { view } = this;
    const scale = (this.host.clientWidth / view.w) * this.unit;
    const wanted = Math.min(4, Math.max(0.2, scale * factor)) / scale;
    const anchor = at ?? { x: view.x + view.w / 2, y: view.y + view.h / 2 };
    this.userView = true;
    this.#setView({
      x: anchor.x - (anchor.x - view.x) / wanted,
      y: anchor.y - (anchor.y - view.y) / wanted,
      w: view.w / wanted,
      h: view.h / wanted,
    });
  }

  pan(dx, dy) {
    this.userView = true;
    this.#setView({ ...this.view, x: this.view.x + dx * this.view.w, y: this.view.y + dy * this.view.h });
  }

  #toUser(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(this.svg.getScreenCTM().inverse());
  }

  /** Bring what happens now into sight, if the picture is larger than its frame. */
  #follow() {
    const now = this.svg.querySelector(".running") ?? this.svg.querySelector(".now");
    if (now) this.#reveal(now);
    else if (this.step === 0 && !this.userView) this.#home();
  }

  #reveal(element) {
    const { view, box } = this;
    if (!view || (view.w >= box.w - 1 && view.h >= box.h - 1)) return;
    const place = element.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    if (!frame.width || !place.width) return;
    const inside =
      place.left >= frame.left && place.right <= frame.right && place.top >= frame.top && place.bottom <= frame.bottom;
    if (inside) return;
    const centre = this.#toUser({ clientX: place.left + place.width / 2, clientY: place.top + place.height / 2 });
    const clamp = (middle, size, start, whole) =>
      size >= whole ? start - (size - whole) / 2 : Math.min(Math.max(middle - size / 2, start), start + whole - size);
    this.#setView({
      ...view,
      x: clamp(centre.x, view.w, box.x, box.w),
      y: clamp(centre.y, view.h, box.y, box.h),
    });
  }

  // --- pointer, keys, tip ----------------------------------------------------------------------------------

  #listen() {
    let drag = null;
    this.frame.addEventListener("pointerdown", (event) => {
      if (event.button === 0) drag = { x: event.clientX, y: event.clientY, view: this.view, moved: false };
    });
    this.frame.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const dx = event.clientX - drag.x;
      const dy = event.clientY - drag.y;
      if (!drag.moved && Math.hypot(dx, dy) < 5) return;
      if (!drag.moved) this.frame.setPointerCapture(event.pointerId);
      drag.moved = true;
      this.userView = true;
      const perPixel = drag.view.w / this.host.clientWidth;
      this.#setView({ ...drag.view, x: drag.view.x - dx * perPixel, y: drag.view.y - dy * perPixel });
    });
    const release = () => {
      this.dragged = drag?.moved ?? false;
      drag = null;
    };
    this.frame.addEventListener("pointerup", release);
    this.frame.addEventListener("pointercancel", release);
    this.frame.addEventListener("click", (event) => {
      const node = event.target.closest("[data-key]");
      if (node && !this.dragged) this.#pick(node.dataset.key);
    });
    this.frame.addEventListener("dblclick", (event) => {
      if (!event.target.closest("[data-key]")) this.fit();
    });
    this.frame.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 300), this.#toUser(event));
      },
      { passive: false },
    );
    this.frame.addEventListener("pointerover", (event) => {
      const node = event.target.closest("[data-key]");
      if (node && !drag) this.showTip(node);
    });
    this.host.addEventListener("pointerleave", () => this.hideTip());
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
    this.host.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = event.target.closest?.("[data-key]");
    const pans = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] };
    if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(1 / 1.25);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape" && !this.tip.hidden) this.hideTip();
    else if (event.key === "Escape" && this.open !== null) this.closeFold();
    else if (event.shiftKey && pans[event.key]) this.pan(...pans[event.key]);
    else if (node && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const next = this.nodes[this.nodes.indexOf(node) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        node.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus({ preventScroll: true });
      }
    } else if (node && (event.key === "Enter" || event.key === " ")) this.#pick(node.dataset.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  showTip(node) {
    const rows = this.scene.details[node.dataset.key];
    this.tip.replaceChildren(...rows.flatMap(([label, text]) => [h("span", {}, label), h("span", {}, text)]));
    this.tip.hidden = false;
    const host = this.host.getBoundingClientRect();
    const place = node.getBoundingClientRect();
    const size = this.tip.getBoundingClientRect();
    const left = Math.min(Math.max(place.left + place.width / 2 - size.width / 2, host.left), host.right - size.width);
    const below = place.bottom - host.top + 6;
    const above = place.top - host.top - size.height - 6;
    // Above, unless the window's edge is there: a tip must not hide what comes next to read.
    const top = place.top - size.height - 6 > 0 ? above : below;
    this.tip.style.left = `${Math.max(0, left - host.left)}px`;
    this.tip.style.top = `${top}px`;
    node.setAttribute("aria-describedby", this.tip.id);
  }

  hideTip() {
    this.tip.hidden = true;
  }
}

const PHASES = { start: "before", forward: "forward", backward: "backward", error: "error", end: "after" };

/** Neighbouring steps of one phase, as [phase, number of steps]. */
function runsOf(steps) {
  const runs = [];
  for (const { phase } of steps) {
    if (runs.length && runs[runs.length - 1][0] === phase) runs[runs.length - 1][1]++;
    else runs.push([phase, 1]);
  }
  return runs;
}

/** The largest number of rows that any step shows in panel `name`: room is kept, so that nothing jumps. */
function rowsKept(steps, name) {
  return Math.min(5, steps.reduce((most, step) => Math.max(most, step[name]?.length ?? 0), 1));
}

/**
 * Show `scene` in `el`. Options: step, view, speed, playing, maxHeight, onChange({step, view, speed, playing}),
 * keys (what is listened to for keys: the document, where the player has the page to itself).
 * Returns {go, setView, setSpeed, play, pause, destroy, stage, state}.
 */
export function mountPlayer(el, scene, options = {}) {
  const uid = newId();
  const views = Object.keys(scene.views);
  const steps = scene.steps;
  const last = steps.length - 1;
  const state = {
    step: Math.min(Math.max(options.step ?? 0, 0), last),
    view: views.includes(options.view) ? options.view : views[0],
    speed: options.speed ?? 1,
    playing: false,
  };
  const changed = () => options.onChange?.({ ...state });
  let timer = null;

  // --- what there is to see ---
  const heading = h("div", { class: "tgv-title", id: `${uid}-title` }, scene.title || "The flow of a program");
  const viewButtons = views.map((view) =>
    h("button", { type: "button", class: "tgv-choice", "aria-pressed": "false", onclick: () => setView(view) },
      view === "values" ? "values" : view),
  );
  const code = h("ol", { class: "tgv-code", "aria-label": "Source, a line is a button that jumps to it" });
  const lines = scene.source.map((text, index) => {
    const occurs = steps.some((step) => step.line === index + 1);
    const row = h(occurs ? "button" : "div", { class: "tgv-line", type: occurs ? "button" : null,
      "aria-label": occurs ? `Line ${index + 1}: ${text}` : null });
    row.append(h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(index + 1)), h("code", {}, highlight(text)));
    if (occurs) row.addEventListener("click", () => goToNext((step) => steps[step].line === index + 1));
    code.append(h("li", {}, row));
    return row;
  });
  const stageHost = h("div", { class: "tgv-stage" });
  const stepTitle = h("div", { class: "tgv-step-title" });
  const sentence = h("p", { class: "tgv-sentence" });
  const live = h("div", { class: "tgv-now", "aria-live": "polite", "aria-atomic": "true" }, stepTitle, sentence);

  // --- what there is to do ---
  const playButton = button("play", "Play", "Space", () => (state.playing ? pause() : play()));
  const counter = h("span", { class: "tgv-counter" });
  const scrubber = h("input", { type: "range", min: "0", max: String(last), step: "1", class: "tgv-scrubber",
    "aria-label": "Step", oninput: () => { pause(); go(Number(scrubber.value)); } });
  const track = h("div", { class: "tgv-track", "aria-hidden": "true" });
  for (const [phase, count] of runsOf(steps)) {
    const part = h("span", { class: `tgv-phase tgv-phase-${phase}`, title: PHASES[phase] });
    part.style.flexGrow = String(count);
    track.append(part);
  }
  const speed = h("select", { class: "tgv-speed", "aria-label": "Speed", onchange: () => setSpeed(Number(speed.value)) },
    ...[0.5, 1, 2, 4].map((rate) => h("option", { value: String(rate) }, `${rate}×`)));
  const backButton = button("back", "One step back", "←", () => { pause(); go(state.step - 1); });
  const stepButton = button("step", "One step", "→", () => { pause(); go(state.step + 1); });
  const firstButton = button("first", "First step", "Home", () => { pause(); go(0); });
  const lastButton = button("last", "Last step", "End", () => { pause(); go(last); });
  const controls = h("div", { class: "tgv-controls", role: "group", "aria-label": "Playback" },
    firstButton, backButton, playButton, stepButton, lastButton,
    h("div", { class: "tgv-scrub" }, scrubber, track), counter, speed);

  // --- the engine's own bookkeeping ---
  const panel = (title, name, hint) => {
    const body = h("div", { class: "tgv-panel-body" });
    body.style.minHeight = `${rowsKept(steps, name) * 1.6}em`;
    return [h("div", { class: "tgv-panel", role: "group", "aria-label": title, title: hint }, h("div", { class: "tgv-panel-title" }, title), body), body];
  };
  const [readyPanel, readyBody] = panel("Ready queue", "ready", "Nodes whose gradients have all arrived; the first runs next");
  const [inboxPanel, inboxBody] = panel("Inboxes", "inbox", "Gradients that have arrived and wait to be summed");
  const [savedPanel, savedBody] = panel("Saved for backward", "saved", "Tensors that nodes keep until they have run");
  const legend = h("ul", { class: "tgv-legend", "aria-label": "Legend" },
    ...(scene.legend ?? []).map(({ kind, label, view }) => h("li", { "data-view": view }, h("span", { class: `tgv-key tgv-key-${kind}`, "aria-hidden": "true" }), label)));

  const body = h("div", { class: "tgv-body" }, code, stageHost);
  const root = h("div", { class: "tgv tgv-player", role: "group", "aria-labelledby": `${uid}-title`, tabindex: "-1" },
    h("div", { class: "tgv-head" }, heading, h("span", { class: "tgv-spring" }),
      views.length > 1 ? h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...viewButtons) : null),
    body, live, controls, h("div", { class: "tgv-panels" }, readyPanel, inboxPanel, savedPanel), legend);
  el.replaceChildren(root);
  const releaseKeys = ownTheKeys(root);
  const stage = new Stage(stageHost, {
    maxHeight: options.maxHeight, label: scene.title, onPicture: () => arrange(),
    onPick: (key) => { const at = stage.stepsOf(key); if (at.length) goToNext((step) => at.includes(step)); },
  });

  /** Code beside the picture where both can be read so, above it where the picture is wide. */
  function arrange() {
    const wide = stage.box.w / stage.unit;
    // What the picture leaves, and the buttons beside a narrow one.
    body.style.setProperty("--tgv-room", `${Math.max(0, root.clientWidth - Math.max(wide, 360))}px`);
    const beside = root.clientWidth - Math.min(code.scrollWidth, root.clientWidth * 0.38) >= wide * 0.85;
    if (body.classList.contains("tgv-beside") !== beside) {
      body.classList.toggle("tgv-beside", beside);
      stage.fit();
    }
  }
  const observer = new ResizeObserver(arrange);
  observer.observe(root);

  function goToNext(wanted) {
    pause();
    for (let offset = 1; offset <= steps.length; offset++) {
      const step = (state.step + offset) % steps.length;
      if (wanted(step)) return go(step);
    }
  }

  function chips(body, rows, make) {
    body.replaceChildren(...(rows?.length ? rows.map(make) : [h("span", { class: "tgv-none" }, "none")]));
  }

  function draw() {
    const step = steps[state.step];
    stage.go(state.step);
    stepTitle.textContent = step.title;
    sentence.textContent = step.sentence;
    live.dataset.phase = step.phase;
    lines.forEach((line, index) => {
      const here = index + 1 === step.line;
      line.classList.toggle("tgv-here", here);
      if (here) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    const here = lines[step.line - 1];
    if (here && code.scrollHeight > code.clientHeight) {
      // Only the list is scrolled: scrollIntoView would move the notebook too.
      const top = here.offsetTop - code.offsetTop;
      if (top < code.scrollTop || top + here.offsetHeight > code.scrollTop + code.clientHeight) code.scrollTop = top - 40;
    }
    chips(readyBody, step.ready, (name, index) => h("span", { class: index ? "tgv-chip" : "tgv-chip tgv-next" }, name));
    chips(inboxBody, step.inbox, ([name, text]) => h("span", { class: "tgv-row" }, h("b", {}, name), ` ${text}`));
    chips(savedBody, step.saved, ([name, fate]) =>
      h("span", { class: `tgv-row tgv-${fate.split(" ")[0]}` }, h("b", {}, name), ` ${fate}`));
    scrubber.value = String(state.step);
    scrubber.setAttribute("aria-valuetext", step.title);
    counter.textContent = `${state.step + 1} / ${steps.length}`;
    // aria-disabled, not disabled: a disabled button would lose the focus of whoever is pressing it.
    for (const [control, at] of [[firstButton, 0], [backButton, 0], [stepButton, last], [lastButton, last]]) {
      control.setAttribute("aria-disabled", String(state.step === at));
    }
  }

  function go(step) {
    const target = Math.min(Math.max(step, 0), last);
    if (target === state.step) return;
    state.step = target;
    draw();
    changed();
  }

  function setView(view) {
    if (!scene.views[view]) return;
    const before = state.view;
    state.view = view;
    stage.show(scene, view);
    arrange();
    viewButtons.forEach((choice, index) => choice.setAttribute("aria-pressed", String(views[index] === view)));
    for (const entry of legend.children) entry.hidden = (entry.dataset.view ?? view) !== view;
    draw();
    if (before !== view) changed();
  }

  function setSpeed(rate) {
    const before = state.speed;
    state.speed = rate;
    speed.value = String(rate);
    if (state.playing) restartTimer();
    if (before !== rate) changed();
  }

  function restartTimer() {
    clearInterval(timer);
    timer = setInterval(() => (state.step < last ? go(state.step + 1) : pause()), 1400 / state.speed);
  }

  function showPlaying() {
    const name = state.playing ? "Pause" : "Play";
    playButton.setAttribute("aria-label", name);
    playButton.title = `${name} (Space)`;
    playButton.replaceChildren(icon(name.toLowerCase()));
  }

  function play() {
    if (state.playing) return;
    if (state.step === last) go(0);
    state.playing = true;
    showPlaying();
    restartTimer();
    changed();
  }

  function pause() {
    clearInterval(timer);
    if (!state.playing) return;
    state.playing = false;
    showPlaying();
    changed();
  }

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target === speed || (target === scrubber && event.key !== " ")) return; // these know their keys themselves
    const onButton = target.tagName === "BUTTON";
    const actions = {
      ArrowRight: () => { pause(); go(state.step + 1); },
      ArrowLeft: () => { pause(); go(state.step - 1); },
      Home: () => { pause(); go(0); },
      End: () => { pause(); go(last); },
      ...(stage.open === null ? {} : { Escape: () => stage.closeFold() }),
      " ": () => (state.playing ? pause() : play()),
      v: () => setView(views[(views.indexOf(state.view) + 1) % views.length]),
    };
    const action = actions[event.key];
    if (!action || (onButton && event.key === " ")) return; // Space presses the button that has the focus
    action();
    event.preventDefault();
    event.stopPropagation();
  };
  const keys = options.keys ?? root;
  keys.addEventListener("keydown", onKey);

  showPlaying();
  setSpeed(state.speed);
  setView(state.view);
  if (options.playing) play();

  return {
    go, setView, setSpeed, play, pause, stage, state, steps,
    destroy() {
      clearInterval(timer);
      observer.disconnect();
      releaseKeys();
      keys.removeEventListener("keydown", onKey);
      stage.destroy();
      el.replaceChildren();
    },
  };
}

/** The widget's view (anywidget): traits in, traits out, nothing else. */
function render({ model, el }) {
  let player = null;
  const traits = ["step", "view", "speed", "playing"];
  const tell = (state) => {
    for (const name of traits) if (model.get(name) !== state[name]) model.set(name, state[name]);
    model.save_changes();
  };
  const mount = () => {
    player?.destroy();
    const options = Object.fromEntries(traits.map((name) => [name, model.get(name)]));
    player = mountPlayer(el, model.get("scene"), { ...options, onChange: tell });
  };
  const listeners = {
    "change:scene": mount,
    "change:step": () => player.go(model.get("step")),
    "change:view": () => player.state.view === model.get("view") || player.setView(model.get("view")),
    "change:speed": () => player.setSpeed(model.get("speed")),
    "change:playing": () => (model.get("playing") ? player.play() : player.pause()),
  };
  mount();
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
    player.destroy();
  };
}

export default { render };
