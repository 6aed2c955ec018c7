// Python source on the page: highlighted, listed line by line, copied.
import { h } from "./dom.js";

const STRING = /""".*?(?:"""|$)|'''.*?(?:'''|$)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/.source;
const TOKEN = new RegExp(`(#.*)|(${STRING})|\\b(\\d[\\d_.]*(?:e[+-]?\\d+)?)\\b|\\b(True|False|None|with|for|in|if|else|elif|while|def|return|import|as|from|class|not|and|or|lambda|try|except|pass)\\b`, "g");
const TOKEN_CLASSES = ["comment", "string", "number", "keyword"];

/** Lines of Python as fragments with their comments, strings, numbers and keywords marked. */
export function highlights(lines) {
  let open = "";
  return lines.map((line) => {
    const made = marked(line, open);
    open = made.open;
    return made.fragment;
  });
}

/** A line that begins in a string with the quotes `open`, if there are any, and the quotes that are open at its end. */
function marked(line, open) {
  const fragment = document.createDocumentFragment();
  const closed = open ? line.indexOf(open) + open.length : 0;
  let end = open && closed < open.length ? line.length : closed;
  if (end) fragment.append(h("span", { class: "tgv-string" }, line.slice(0, end)));
  let left = open && closed < open.length ? open : "";
  for (const match of line.slice(end).matchAll(TOKEN)) {
    const at = line.length - match.input.length + match.index;
    fragment.append(...breakable(line.slice(end, at)));
    const kind = TOKEN_CLASSES[match.slice(1).findIndex((group) => group !== undefined)];
    fragment.append(h("span", { class: `tgv-${kind}` }, match[0]));
    end = at + match[0].length;
    const quotes = match[0].slice(0, 3);
    if (kind === "string" && /^(["'])\1\1$/.test(quotes) && (match[0].length < 6 || !match[0].endsWith(quotes))) left = quotes;
  }
  fragment.append(...breakable(line.slice(end)));
  return { fragment, open: left };
}

export const BREAKS = /(?<=\s)(?!\s)|(?<=[([{,]|\D\.)(?![\s\d"'-])/; // where code may wrap: numbers stay with their bracket

/** Code that wraps behind a bracket, a comma or a dot, before it wraps within a word. */
function breakable(text) {
  return text.split(BREAKS).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}

/** How far in the rest of a wrapped line stands, in letters: a little further than its beginning. */
export function indentOf(line) {
  return line.length - line.trimStart().length + 2;
}

/** The style of a line of code that may wrap. */
export function hanging(line) {
  return `--tgv-indent: ${indentOf(line)}ch`;
}

/** Copy `text` to the clipboard; if there is none, select it in `element`. `button` shows the result. */
export async function copy(text, element, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(element); // it is one Ctrl+C away
    button.textContent = "selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "copy"; }, 2000);
}

/** A program's lines, one of them marked; with a `stepper` those of `steps` are buttons that go to their next step. */
export class CodeList {
  /** @param {string[]} source @param {string} label @param {any} stepper @param {{line: number | null}[]} steps */
  constructor(source, label, stepper = null, steps = []) {
    const shown = highlights(source);
    const onLine = (/** @type {number} */ line) => stepper.goToNext((/** @type {number} */ step) => stepper.steps[step].line === line);
    this.lines = source.map((text, index) => {
      const number = index + 1;
      const pressed = stepper !== null && steps.some((step) => step.line === number);
      return h(pressed ? "button" : "div", { class: "tgv-line", type: pressed ? "button" : null,
        "aria-label": pressed ? `Line ${number}: ${text}` : null, onclick: pressed ? () => onLine(number) : null },
        h("span", { class: "tgv-lineno", "aria-hidden": "true" }, String(number)), h("code", { style: hanging(text) }, shown[index]));
    });
    this.element = h("ol", { class: "tgv-code", "aria-label": stepper ? `${label}, a line is a button that jumps to it` : label, tabindex: stepper ? null : "0" },
      ...this.lines.map((line) => h("li", {}, line)));
  }

  /** Mark a line, counted from 1, and scroll to it; null for none. */
  mark(number, failed = false) {
    this.lines.forEach((line, index) => {
      const here = index + 1 === number;
      line.classList.toggle("tgv-here", here);
      line.classList.toggle("tgv-failed", here && failed);
      if (here) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    const list = this.element;
    const here = this.lines[number - 1];
    if (!here || list.scrollHeight <= list.clientHeight) return;
    // Scroll only the list: scrollIntoView would move the notebook too.
    const top = here.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + here.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - 40;
  }
}
