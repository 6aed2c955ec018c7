// The bar for stepping: first, back, play, step, last, a scrubber with the phases below it, a counter, the speed; and their keys.
//
//     const stepper = new Stepper({ onGo: (step) => …, plays: true });
//     root.append(stepper.element); stepper.setSteps(scene.steps); stepper.show(3);
import { button, h, icon } from "./dom.js";

const PHASES = { start: "before", forward: "forward", backward: "backward", outside: "outside the passes", error: "error", end: "after" };
const SPEEDS = [0.5, 1, 2, 4];
const PAUSE = 1400; // milliseconds between two steps that are played at speed 1

/** Neighbouring steps of one phase, as [phase, number of steps]. */
export function runsOf(steps) {
  const runs = [];
  for (const { phase } of steps) {
    if (runs.length && runs[runs.length - 1][0] === phase) runs[runs.length - 1][1]++;
    else runs.push([phase, 1]);
  }
  return runs;
}

export class Stepper {
  /**
   * `onGo(step)` reports where the reader wants to go (it then calls `show`), `onChange()` that playing or the speed changed.
   * `plays` is false for a bar without a play button.
   */
  constructor({ onGo, onChange = () => {}, plays = true, label = "Playback", scrubberLabel = "Step" }) {
    this.onGo = onGo;
    this.onChange = onChange;
    this.plays = plays;
    this.steps = [];
    this.step = 0;
    this.speed = 1;
    this.playing = false;
    this.timer = 0;
    const to = (where) => () => { this.pause(); this.#go(where()); };
    this.first = button("first", "First step", "Home", to(() => 0));
    this.back = button("back", "One step back", "←", to(() => this.step - 1));
    this.playButton = plays ? button("play", "Play", "Space", () => this.toggle()) : null;
    this.forth = button("step", "One step", "→", to(() => this.step + 1));
    this.end = button("last", "Last step", "End", to(() => this.last));
    this.scrubber = h("input", { type: "range", min: "0", step: "1", class: "tgv-scrubber", "aria-label": scrubberLabel,
      oninput: to(() => Number(this.scrubber.value)) });
    this.track = h("div", { class: "tgv-track", "aria-hidden": "true" });
    this.counter = h("span", { class: "tgv-counter" });
    this.rate = plays ? h("select", { class: "tgv-speed", "aria-label": "Speed", onchange: () => this.setSpeed(Number(this.rate.value)) },
      ...SPEEDS.map((rate) => h("option", { value: String(rate), selected: rate === 1 }, `${rate}×`))) : null;
    this.element = h("div", { class: "tgv-controls", role: "group", "aria-label": label },
      this.first, this.back, this.playButton, this.forth, this.end,
      h("div", { class: "tgv-scrub" }, this.scrubber, this.track), this.counter, this.rate);
  }

  get last() {
    return Math.max(0, this.steps.length - 1);
  }

  /** Step through these from now on: {title, phase} each. */
  setSteps(steps) {
    if (steps === this.steps) return;
    this.steps = steps;
    this.scrubber.max = String(this.last);
    this.track.replaceChildren(...runsOf(steps).map(([phase, count]) => {
      const part = h("span", { class: `tgv-phase tgv-phase-${phase}`, title: PHASES[phase] });
      part.style.flexGrow = String(count);
      return part;
    }));
  }

  /** Show that the current step is `step`. */
  show(step) {
    this.step = step;
    this.scrubber.value = String(step);
    this.scrubber.setAttribute("aria-valuetext", this.steps[step]?.title ?? "");
    this.counter.textContent = `${step + 1} / ${this.last + 1}`;
    // aria-disabled, not disabled: a disabled button would lose the focus while it is being pressed.
    for (const [control, at] of [[this.first, 0], [this.back, 0], [this.forth, this.last], [this.end, this.last]]) {
      control.setAttribute("aria-disabled", String(step === at));
    }
  }

  #go(step) {
    const target = Math.min(Math.max(step, 0), this.last);
    if (target !== this.step) this.onGo(target);
  }

  /** Go to the next step for which `wanted(step)` holds, wrapping around at the end. */
  goToNext(wanted) {
    this.pause();
    for (let offset = 1; offset <= this.steps.length; offset++) {
      const step = (this.step + offset) % this.steps.length;
      if (wanted(step)) return this.#go(step);
    }
  }

  setSpeed(rate) {
    if (rate === this.speed) return;
    this.speed = rate;
    this.rate.value = String(rate);
    if (this.playing) this.#start();
    this.onChange();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.playing || !this.plays) return;
    if (this.step === this.last) this.#go(0);
    this.#setPlaying(true);
    this.#start();
  }

  pause() {
    clearInterval(this.timer);
    if (this.playing) this.#setPlaying(false);
  }

  destroy() {
    clearInterval(this.timer);
  }

  #start() {
    clearInterval(this.timer);
    this.timer = setInterval(() => (this.step < this.last ? this.#go(this.step + 1) : this.pause()), PAUSE / this.speed);
  }

  #setPlaying(playing) {
    this.playing = playing;
    const name = playing ? "Pause" : "Play";
    this.playButton.setAttribute("aria-label", name);
    this.playButton.title = `${name} (Space)`;
    this.playButton.replaceChildren(icon(name.toLowerCase()));
    this.onChange();
  }

  /** Handle a key; true if it was one of ours, which nothing else should then handle. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
    const { target, key } = event;
    // These handle their keys themselves, except Space on the scrubber.
    if (target.matches?.("select, pre, textarea, [contenteditable], input") && !(target === this.scrubber && key === " ")) return false;
    if (key === " " && (!this.plays || target.tagName === "BUTTON")) return false; // Space presses the button that has the focus
    const to = (step) => () => { this.pause(); this.#go(step); };
    const action = {
      ArrowRight: to(this.step + 1), ArrowLeft: to(this.step - 1), Home: to(0), End: to(this.last), " ": () => this.toggle(),
    }[key];
    if (!action) return false;
    action();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}
