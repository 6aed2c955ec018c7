// A question to answer before the picture is shown. Every choice has its own reply, without a kernel. Cells that would answer
// it are covered until the reader chooses, or asks to see them anyway.

import { Cover } from "./js/cover.js";
import { h, withCode } from "./js/dom.js";
import { widget } from "./js/model.js";

function renderPrediction({ model, el, set, listen }) {
  const right = model.get("right");
  const cover = new Cover(el, model.get("covers"));
  const reply = h("p", { class: "tgv-reply", "aria-live": "polite" });
  const anyway = h("button", { type: "button", class: "tgv-anyway", hidden: !model.get("covers"), onclick: () => set("shown", true) }, "show me anyway");
  const picture = h("div", { class: "tgv-reveal", scrolls: "The picture of the answer" });
  const choices = model.get("choices").map(([text, answer]) => {
    const onclick = () => set("tried", [...model.get("tried").filter((other) => other !== text), text]);
    const mark = h("span", { class: "tgv-mark" });
    const choice = h("button", { type: "button", class: "tgv-option", onclick }, mark, ...withCode(text));
    return { text, answer, choice };
  });
  const group = h("div", { class: "tgv-options", role: "group", "aria-label": "Your prediction" });
  group.append(...choices.map(({ choice }) => choice));

  function update() {
    const tried = model.get("tried");
    for (const { text, choice } of choices) {
      const verdict = !tried.includes(text) ? "" : text === right ? "right" : "wrong";
      choice.dataset.verdict = verdict;
      choice.firstChild.textContent = { right: "✓ ", wrong: "✗ " }[verdict] ?? "";
      choice.setAttribute("aria-pressed", String(text === tried.at(-1)));
    }
    const last = choices.find(({ text }) => text === tried.at(-1));
    reply.dataset.verdict = !last ? "" : last.text === right ? "right" : "wrong";
    const shown = tried.length > 0 || model.get("shown");
    const waits = model.get("covers") && !shown ? "Choose before you read on. What follows is covered until then." : "Choose before you read on.";
    reply.replaceChildren(...(last ? withCode(last.answer) : [waits]));
    anyway.style.visibility = shown ? "hidden" : "visible"; // its place is kept
    cover.show(shown);
    if (tried.includes(right) && !picture.firstChild) picture.innerHTML = model.get("reveal");
  }

  el.classList.add("tgv", "tgv-predict");
  el.replaceChildren(
    h("p", { class: "tgv-question" }, h("b", {}, "Predict. "), ...withCode(model.get("question"))),
    group,
    h("div", { class: "tgv-answered" }, reply, anyway),
    picture,
  );
  listen({ "change:tried": update, "change:shown": update });
  update();
  return () => cover.destroy();
}

export default widget(renderPrediction);
