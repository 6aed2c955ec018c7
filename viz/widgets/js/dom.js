// What every widget builds its page with: elements, icons, buttons, ids, keys.

/** An id that no other player on this page has. Each widget has its own copy of this module, so a counter would not be unique. */
export const newId = () => `tgv-${Math.random().toString(36).slice(2, 10)}`;

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

/**
 * Make an element: `h("p", { class: "x", onclick: f }, "text", child)`. Text is never read as HTML.
 * `scrolls` names a box whose content may be larger than the box: without a mouse it is reached by Tab, and the arrows scroll it.
 * @param {any} attributes
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const { scrolls, ...all } = attributes;
  for (const [name, value] of Object.entries(scrolls ? { tabindex: "0", role: "group", "aria-label": scrolls, ...all } : all)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A sentence for `h`: what stands between backticks is code. */
export const withCode = (text) => text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

/** Make an element of a picture. @param {any} attributes */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const icon = (name) => svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

export function button(name, label, keys, onclick) {
  return h(
    "button",
    { type: "button", class: "tgv-button", title: keys ? `${label} (${keys})` : label, "aria-label": label, onclick },
    icon(name),
  );
}

/** Keep JupyterLab's one-letter shortcuts away from `root`, but leave it Ctrl+S and the like. */
export function ownTheKeys(root) {
  const decide = (event) => {
    if (!root.contains(event.target)) return;
    const combined = event.ctrlKey || event.metaKey || event.altKey;
    event.target.toggleAttribute("data-lm-suppress-shortcuts", !combined); // Lab looks upwards from here, and matches first
  };
  // The window receives a key before the document, where JupyterLab listens.
  window.addEventListener("keydown", decide, true);
  return () => window.removeEventListener("keydown", decide, true);
}
