// Python source on the page: highlighted, listed line by line, copied.
import { h } from "./dom.js";

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

/** Put `text` on the clipboard; where there is none, select it in `element`. `button` tells what came of it. */
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
