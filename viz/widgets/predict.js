// A question to answer before the picture is shown. Every choice has its own reply; needs no kernel.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Text with `code` between backticks as a fragment. Never read as HTML. */
function prose(text) {
  const fragment = document.createDocumentFragment();
  text.split("`").forEach((part, i) => fragment.append(i % 2 ? element("code", {}, part) : part));
  return fragment;
}

function render({ model, el }) {
  const right = model.get("right");
  const reply = element("p", { class: "tgv-reply", "aria-live": "polite" });
  const picture = element("div", { class: "tgv-reveal" });
  const choices = model.get("choices").map(([text, answer]) => {
    const choice = element("button", { type: "button", class: "tgv-option" }, element("span", { class: "tgv-mark" }), prose(text));
    choice.addEventListener("click", () => {
      model.set("tried", [...model.get("tried").filter((other) => other !== text), text]);
      model.save_changes();
    });
    return { text, answer, choice };
  });
  const group = element("div", { class: "tgv-options", role: "group", "aria-label": "Your prediction" });
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
    reply.replaceChildren(last ? prose(last.answer) : "Choose before you read on.");
    if (tried.includes(right) && !picture.firstChild) picture.innerHTML = model.get("reveal");
  }

  el.classList.add("tgv", "tgv-predict");
  el.replaceChildren(
    element("p", { class: "tgv-question" }, element("b", {}, "Predict. "), prose(model.get("question"))),
    group,
    reply,
    picture,
  );
  model.on("change:tried", update);
  update();
  return () => model.off("change:tried", update);
}

export default { render };
