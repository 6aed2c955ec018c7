// Makes the widgets of a page work without a kernel. A widget is an anywidget: a module with `render`, which receives a model.
// The model here answers from the state that the widget had when the lesson was run.

window.tinygradEduModules = {};

// What only Python can answer, by kind of widget: setting it changes nothing, and the page says where it would work.
const NEEDS_PYTHON = {
  "viz.widgets.explorer.Explorer": (state, name) => ["request", "history", "questions"].includes(name),
  "viz.widgets.playground.Playground": (state, name) => name === "asked",
  "viz.widgets.builder.Builder": (state, name) => ["steps", "start"].includes(name),
  "viz.widgets.mistake.MistakeView": (state, name, value) => {
    const { fix, parts } = { ...state, [name]: value };
    return !(String(fix) in parts);
  },
};

class Model {
  constructor(state, needsPython, onRefused) {
    this.state = state;
    this.needsPython = needsPython;
    this.onRefused = onRefused;
    this.listeners = new Map();
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    if (this.needsPython(this.state, name, value)) {
      this.onRefused(name, value);
      this.answer(value?.seq);
      // After the caller is done, show the widget the unchanged value again.
      queueMicrotask(() => Object.keys(this.state).forEach((each) => this.fire(`change:${each}`)));
      return;
    }
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.fire(`change:${name}`);
  }

  /** An explorer waits for the answer to its numbered request: give it what it already shows. */
  answer(seq) {
    if (seq === undefined || !("result" in this.state)) return;
    for (const name of ["result", "other"]) this.state[name] = JSON.stringify({ ...JSON.parse(this.state[name]), seq });
  }

  save_changes() {}

  fire(event) {
    for (const listener of [...(this.listeners.get(event) ?? [])]) listener();
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((other) => other !== listener));
  }
}

/** Where the site's static files are, seen from this page. */
const ROOT = new URL(".", document.currentScript.src);

const loaded = new Map();

function once(key, make) {
  if (!loaded.has(key)) loaded.set(key, make());
  return loaded.get(key);
}

const attached = (element) =>
  new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = () => reject(new Error(`not found: ${element.src ?? element.href}`));
    document.head.append(element);
  });

/** A page opened from a disk may neither import nor fetch a file, so the file is a script that provides its text. */
async function textOf(name) {
  await attached(Object.assign(document.createElement("script"), { src: new URL(`widgets/${name}.js`, ROOT) }));
  return window.tinygradEduModules[name];
}

const moduleOf = async (name) => import(URL.createObjectURL(new Blob([await textOf(name)], { type: "text/javascript" })));

const styleOf = (name) =>
  attached(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL(`widgets/${name}.css`, ROOT) }));

/** What `build.py` has packed. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

const KEPT = ["view", "split"]; // what a reader has chosen to look at

async function bringToLife(place) {
  const { kind, module, style, file, state: inPage } = JSON.parse(place.querySelector("script").textContent);
  const own = file ? once(file, () => textOf(file)) : inPage;
  const [packed, widget] = await Promise.all([own, once(module, () => moduleOf(module)), once(style, () => styleOf(style))]);
  const state = await unpacked(packed);
  const notice = Object.assign(document.createElement("p"), { className: "notice", hidden: true });
  notice.setAttribute("role", "status");
  const el = document.createElement("div");
  const model = new Model(state, NEEDS_PYTHON[kind] ?? (() => false), (name, value) => {
    const say = (text) => {
      notice.textContent = text;
      notice.hidden = false;
    };
    // A live page starts Python and runs the cell, and this widget gives way to the one that answers to the same change.
    const kept = Object.fromEntries(KEPT.filter((each) => each in state).map((each) => [each, state[each]]));
    const detail = { wait: say, changes: { ...kept, [name]: value } };
    const asked = new CustomEvent("tgv-needs-python", { bubbles: true, cancelable: true, detail });
    if (place.dispatchEvent(asked)) say("This needs Python, which does not run behind this page. Open the lesson in JupyterLab to try it.");
  });
  place.replaceChildren(notice, el);
  await widget.default.render({ model, el, experimental: {} });
  if (place.closest(".tag_plays-by-itself")) playByItself(place, model);
}

const AT_REST_MS = 2500; // before the first time, and between two

/** Let an explorer repeat its backward pass until the reader touches it, focuses it, or types. */
function playByItself(place, model) {
  const button = place.querySelector(".tgv-controls [aria-label=Play]");
  if (!button || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const isPlaying = () => button.getAttribute("aria-label") === "Pause";
  const { steps } = JSON.parse(model.get("result")).sides.find(({ scene }) => scene).scene;
  const caption = place.querySelector(".tgv-step-line");
  let timer = 0;
  const begin = () => {
    model.set("step", Math.max(0, steps.findIndex(({ phase }) => phase === "backward") - 1));
    button.click();
  };
  const rest = () => {
    clearTimeout(timer);
    if (!isPlaying()) timer = setTimeout(begin, AT_REST_MS);
  };
  const watch = new MutationObserver(rest);
  const TOUCHES = ["pointerdown", "click", "focusin", "keydown"];
  const stop = (event) => {
    if (!event.isTrusted || (event.type !== "keydown" && !place.contains(event.target))) return; // our own click is none
    if (event.key === "Shift" || (event.type === "pointerdown" && event.pointerType === "touch")) return; // a finger may scroll the page; a tap also clicks
    clearTimeout(timer);
    watch.disconnect();
    for (const type of TOUCHES) document.removeEventListener(type, stop, true);
    caption?.setAttribute("aria-live", "polite");
    place.removeAttribute("data-plays");
    const pausesItself = event.type !== "keydown" && button.contains(event.target) && !button.matches(":focus-visible");
    if (isPlaying() && !pausesItself) button.click();
  };
  for (const type of TOUCHES) document.addEventListener(type, stop, true);
  caption?.setAttribute("aria-live", "off"); // nobody has asked for what it says
  place.setAttribute("data-plays", "");
  watch.observe(button, { attributeFilter: ["aria-label"] });
  rest();
}

/** The pictures and widgets follow JupyterLab's theme attribute: set it to the page's theme. Paper is light. */
function followTheme() {
  const printing = window.matchMedia("print");
  const follow = () => {
    const theme = printing.matches ? "light" : document.body.dataset.theme;
    if (theme === "light" || theme === "dark") document.body.setAttribute("data-jp-theme-light", String(theme === "light"));
    else document.body.removeAttribute("data-jp-theme-light");
  };
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
  printing.addEventListener("change", follow);
  follow();
}

const BOXES = { pre: "Code", ".math-wrapper": "Formula", ".table-wrapper": "Table", ".output.text_html": "Output" };

/** Let Tab reach what is wider than its column, so that the arrow keys scroll it; but where something in it takes the focus. */
function reachBoxes() {
  for (const [kind, name] of Object.entries(BOXES)) {
    for (const box of document.querySelectorAll(`article ${kind}:not(.tgv *)`)) {
      const scrolls = box.scrollWidth > box.clientWidth && !box.querySelector("a, button, input, [tabindex]");
      const said = { tabindex: "0", role: "group", "aria-label": box.closest(".cell_output") ? "Output" : name };
      for (const [key, value] of Object.entries(said)) scrolls ? box.setAttribute(key, value) : box.removeAttribute(key);
    }
  }
}

// The search quotes from the pages it found, which a browser can only fetch from a server.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Sphinx would mark the searched words everywhere, also in the pictures, and fail at the titles in them.
try {
  localStorage.removeItem("sphinx_highlight_terms");
} catch {
  // nothing is stored where storage is refused
}

/** Let Python run in this page, if the site includes it and the page comes from a server. */
async function makeLive() {
  const place = document.querySelector("#tgv-live-page");
  if (!place) return;
  if (location.protocol === "file:") {
    const text = "Opened from a disk, this page is for reading. From a web server, its cells and switches run.";
    document.querySelector("article h1")?.after(Object.assign(document.createElement("p"), { className: "live-page-bar", textContent: text }));
    return;
  }
  await import(new URL("live/page.js", ROOT));
}

document.documentElement.classList.add("live-page");
document.documentElement.classList.toggle("live-front", Boolean(document.querySelector(".tag_plays-by-itself")));
followTheme();
makeLive();
new ResizeObserver(reachBoxes).observe(document.querySelector("article")); // also when a cell has written
Promise.all([...document.querySelectorAll(".tgv-live")].map(bringToLife)).then(() => {
  reachBoxes();
  document.documentElement.setAttribute("data-tgv-ready", "");
});
