// Markup becomes a picture and nothing else. What a stranger's program has made is shown in a frame that has nothing to steal; and
// here it also loses everything that could run, load or lead elsewhere.
const TAGS = new Set(
  ("svg g path rect circle ellipse line polyline polygon text tspan title desc defs style clippath lineargradient radialgradient stop "
    + "b i em strong code pre p span div ul ol li table thead tbody tr th td h3 h4 small sup sub br hr details summary figure figcaption image img").split(" "),
);
const ADDRESSES = new Set(["href", "xlink:href", "src"]);
const SAFE = /^(#|data:image\/png;base64,)/;

function strip(element) {
  for (const child of [...element.children]) {
    if (TAGS.has(child.localName.toLowerCase())) strip(child);
    else child.remove();
  }
  for (const { name, value } of [...element.attributes]) {
    const lower = name.toLowerCase();
    if (lower.startsWith("on") || (ADDRESSES.has(lower) && !SAFE.test(value.trim()))) element.removeAttribute(name);
    else if (["srcdoc", "srcset", "action", "formaction", "target", "ping", "is", "slot"].includes(lower)) element.removeAttribute(name);
  }
}

/** The nodes of some markup, as far as they are a picture or a text. They were never part of a page: nothing in them has run. */
export function picture(markup) {
  const { body } = new DOMParser().parseFromString(String(markup), "text/html");
  for (const child of [...body.children]) {
    if (TAGS.has(child.localName.toLowerCase())) strip(child);
    else child.remove();
  }
  return [...body.childNodes].map((node) => document.importNode(node, true));
}

/** From now on every `innerHTML` of this page is a picture. */
export function onlyPictures() {
  const own = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  Object.defineProperty(Element.prototype, "innerHTML", { ...own, set(markup) { this.replaceChildren(...picture(markup)); } });
  const whole = Object.getOwnPropertyDescriptor(Element.prototype, "outerHTML");
  Object.defineProperty(Element.prototype, "outerHTML", { ...whole, set: undefined });
  for (const [home, name] of [[Document.prototype, "write"], [Document.prototype, "writeln"],
    [Element.prototype, "insertAdjacentHTML"], [Element.prototype, "setHTMLUnsafe"], [Range.prototype, "createContextualFragment"]]) {
    Object.defineProperty(home, name, { value: undefined, configurable: false });
  }
}
