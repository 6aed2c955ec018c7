// The way from an error to the lesson on its mistake.
import { copy } from "./code.js";
import { h } from "./dom.js";

/** The line that shows the lesson `name`, to copy into a cell. */
export function lessonCode(name) {
  const code = `viz.mistake(${JSON.stringify(name)})`;
  const line = h("code", { class: "tgv-result-code" }, code);
  const press = h("button", { type: "button", class: "tgv-text-button", onclick: () => copy(code, line, press) }, "copy");
  return h("p", { class: "tgv-lesson-code" }, "To see it, and ways to fix it, run ", line, " ", press);
}
