// Text that points. A link such as [w](#node=w) in the text of a notebook lights the node of that name in the nearest picture while
// the pointer or the focus is on it, and a press keeps it lit. Pointing at the node lights the link.

const LINKS = 'a[href^="#node="]';

/** @param {Element} link */
const nameOf = (link) => decodeURIComponent((link.getAttribute("href") ?? "").slice("#node=".length));

/** The names of a node: what is written on it, such as the name of a value, the symbol of an op, and its grad_fn.
 * @param {Element} node */
const namesOf = (node) => [...node.querySelectorAll("text")].map((text) => text.textContent);

/** What a link may point into: its notebook, or the page.
 * @param {Element} element @returns {ParentNode} */
const around = (element) => element.closest(".jp-Notebook") ?? document;

/** How far two boxes are apart, from top to bottom.
 * @param {DOMRect} a @param {DOMRect} b */
const apart = (a, b) => Math.max(0, b.top - a.bottom, a.top - b.bottom);

/** The node that a link means: of those with its name the one in the nearest picture that is seen.
 * @param {Element} link @returns {Element | null} */
export function meant(link) {
  const name = nameOf(link);
  const place = link.getBoundingClientRect();
  /** @type {{node: Element | null, far: number}} */
  const best = { node: null, far: Infinity };
  for (const node of around(link).querySelectorAll("svg g.node")) {
    const picture = node.closest("svg")?.getBoundingClientRect();
    if (!picture?.width || !namesOf(node).includes(name)) continue;
    const far = apart(place, picture);
    if (far < best.far) Object.assign(best, { node, far });
  }
  return best.node;
}

/** @param {Element} element @param {string} mark @param {boolean} lit */
const set = (element, mark, lit) => {
  if (lit) element.setAttribute(mark, "");
  else element.removeAttribute(mark);
};

const clear = () => {
  for (const one of document.querySelectorAll("[data-tgv-pointed]")) one.removeAttribute("data-tgv-pointed");
  for (const link of document.querySelectorAll(`${LINKS}[data-tgv-kept]`)) set(meant(link) ?? link, "data-tgv-pointed", true);
};

/** Light what a link means, or the links that mean a node.
 * @param {Event} event */
function light(event) {
  clear();
  if (!(event.target instanceof Element)) return;
  const link = event.target.closest(LINKS);
  const node = event.target.closest("svg g.node");
  const found = link ? meant(link) : null;
  if (link && found) for (const one of [link, found]) set(one, "data-tgv-pointed", true);
  if (!node) return;
  for (const one of around(node).querySelectorAll(LINKS)) {
    if (namesOf(node).includes(nameOf(one)) && meant(one) === node) set(one, "data-tgv-pointed", true);
  }
}

/** A press keeps the node lit, or lets it go, and brings it into sight.
 * @param {Event} event */
function keep(event) {
  const link = event.target instanceof Element ? event.target.closest(LINKS) : null;
  if (!link) return;
  event.preventDefault();
  event.stopPropagation();
  set(link, "data-tgv-kept", !link.hasAttribute("data-tgv-kept"));
  const node = meant(link);
  const picture = node?.getBoundingClientRect();
  if (node && picture && (picture.top < 0 || picture.bottom > innerHeight)) node.scrollIntoView({ block: "center" });
  light(event);
}

/** Once a page, whichever widget comes first. */
export function pointAtNodes() {
  const page = document.documentElement;
  if (page.hasAttribute("data-tgv-points")) return;
  page.setAttribute("data-tgv-points", "");
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, light);
  document.addEventListener("focusout", clear);
  document.addEventListener("click", keep, true);
}
