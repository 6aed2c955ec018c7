// The path of a finding on the stage, without a widget: in the output of a cell, or in a separate page.
// `export/paths.py` inserts it.
import { h, ownTheKeys } from "./js/dom.js";
import { Stage } from "./js/stage.js";
import { Stepper } from "./js/stepper.js";

const LEAST = 110; // pixels that the stage is high
const MOST = 280;
const AIR = 24; // around the picture

/** Show `scene` in `host` instead of the still picture: one view, and a step for each op that the gradient reaches. */
function mountCause(host, scene) {
  const { steps } = scene;
  const [view] = Object.keys(scene.views);
  let at = 0;
  const stageHost = h("div", {});
  const title = h("b", {});
  const sentence = h("span", {});
  const said = h("p", { class: "tgv-cause-said", "aria-live": "polite" }, title, sentence);
  const stepper = new Stepper({ onGo: go, label: "The way back", scrubberLabel: "Op on the way back" });
  const root = h("div", { class: "tgv tgv-cause", role: "group", "aria-label": scene.title, tabindex: "-1" }, stageHost, said, stepper.element);
  host.replaceChildren(root);
  const height = Math.min(MOST, Math.max(LEAST, scene.views[view].height + AIR));
  const stage = new Stage(stageHost, { label: scene.title, height, onPick: (key) => {
    const found = stage.stepsOf(key);
    if (found.length) stepper.goToNext((step) => found.includes(step));
  } });
  stepper.setSteps(steps);
  root.addEventListener("keydown", (event) => stepper.key(event));
  ownTheKeys(root);

  function draw() {
    stage.go(at);
    title.textContent = `${steps[at].title}. `;
    sentence.textContent = steps[at].sentence;
    said.dataset.phase = steps[at].phase;
    stepper.show(at);
  }

  function go(step) {
    at = step;
    draw();
  }

  stage.show(scene, view, at);
  draw();
  return { go, stage };
}

globalThis.vizCause = mountCause;
