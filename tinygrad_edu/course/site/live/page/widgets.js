// A widget whose Python is in the worker: the same module as in JupyterLab, with our own model.

const modules = new Map(); // promises: every explorer of a page shares one, and Python sends its text once

function moduleOf(code, text) {
  if (text) modules.set(code, import(URL.createObjectURL(new Blob([text], { type: "text/javascript" }))));
  return modules.get(code);
}

function addStyle(text) {
  if ([...document.head.querySelectorAll("style[data-tgv]")].some((style) => style.textContent === text)) return;
  const style = Object.assign(document.createElement("style"), { textContent: text });
  style.dataset.tgv = "";
  document.head.append(style);
}

/** An anywidget model: traits that are kept in step with Python. */
export class RemoteModel {
  constructor({ model, state, code, module, style }, send, manager) {
    Object.assign(this, { id: model, state, send, widget_manager: manager });
    this.changed = {};
    this.listeners = new Map();
    this.loaded = moduleOf(code, module); // while its cell still runs
    if (style) addStyle(style);
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.changed[name] = value;
    this.fire(`change:${name}`);
  }

  save_changes() {
    const state = this.changed;
    this.changed = {};
    if (Object.keys(state).length) this.send({ type: "set", model: this.id, state });
  }

  /** A message from Python. */
  receive(state) {
    Object.assign(this.state, state);
    for (const name of Object.keys(state)) this.fire(`change:${name}`);
    this.fire("change");
  }

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

/** Tell whether a reader sees `place`, now and whenever it changes. */
export function whetherSeen(place, tell) {
  let inView = true;
  const say = () => tell(inView && !document.hidden);
  new IntersectionObserver((entries) => { inView = entries.at(-1).isIntersecting; say(); }).observe(place);
  document.addEventListener("visibilitychange", say);
}

/** Show a widget in `place`, once `loaded` has its code. */
export async function mount(place, model, { default: widget }) {
  const el = document.createElement("div");
  place.replaceChildren(el);
  await widget.render({ model, el, experimental: {} });
}

/** What a widget asks Jupyter's manager for: another widget, and to interrupt Python. */
export class Manager {
  constructor(models, interrupt, why) {
    this.models = models;
    this.kernel = { interrupt, why };
  }

  async get_model(id) {
    return this.models.get(id);
  }

  async create_view(model) {
    const el = document.createElement("div");
    await mount(el, model, await model.loaded);
    return { el, remove: () => el.remove() };
  }
}
