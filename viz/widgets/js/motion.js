// Animations on a stage: a gradient as a chip with its value, a saved tensor that falls away, nodes that glide to a new position.
// They use only transforms and opacities, by the Web Animations API, and respect reduced motion. The text of a chip comes
// from Python.
import { h } from "./dom.js";

const TRAVEL = 900; // milliseconds
const GLIDE = 320;
const POINTS = 12; // of a curve that a chip travels

/** Whether animations are allowed: not with reduced motion, and not on a page in the background. */
export function mayMove() {
  return document.visibilityState === "visible" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Motion {
  /** `frame` contains all animations: it clips them, and positions are relative to its corner. */
  constructor(frame) {
    this.frame = frame;
    this.running = new Set();
    this.chips = new Set();
  }

  /** End all animations, as if they had arrived. */
  stop() {
    for (const animation of this.running) animation.cancel();
    for (const chip of this.chips) chip.remove();
    this.running.clear();
    this.chips.clear();
  }

  #run(element, keyframes, options) {
    const animation = element.animate(keyframes, options);
    this.running.add(animation);
    const end = () => this.running.delete(animation);
    animation.finished.then(end, end); // one that is ended early rejects
    return animation;
  }

  /** A chip that shows each of `texts` in turn while it moves through `places` ([x, y] in the frame). */
  #chip(texts, places) {
    const words = texts.map((text) => h("span", {}, text));
    const chip = h("div", { class: "tgv-flying", "aria-hidden": "true" }, ...words);
    this.frame.append(chip);
    this.chips.add(chip);
    const at = ([x, y]) => `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`;
    const share = 1 / words.length;
    words.forEach((word, index) => {
      const [from, to] = [index * share, (index + 1) * share];
      const keyframes = [{ opacity: index ? 0 : 1, offset: 0 }];
      if (index) keyframes.push({ opacity: 0, offset: Math.max(0.01, from - 0.04) }, { opacity: 1, offset: from + 0.04 });
      if (index < words.length - 1) keyframes.push({ opacity: 1, offset: to - 0.06 }, { opacity: 0, offset: to });
      keyframes.push({ opacity: index < words.length - 1 ? 0 : 1, offset: 1 });
      if (words.length > 1) this.#run(word, keyframes, { duration: TRAVEL, fill: "both" });
    });
    const last = places.length - 1;
    const keyframes = places.map((place, index) => ({ transform: at(place), opacity: index === last ? 0 : 1, offset: last ? (index / last) ** 0.9 : 0 }));
    keyframes.splice(-1, 0, { transform: at(places[last]), opacity: 1, offset: 0.96 });
    this.#run(chip, keyframes.sort((one, other) => one.offset - other.offset), { duration: TRAVEL, easing: "ease-in-out", fill: "both" })
      .finished.then(() => { chip.remove(); this.chips.delete(chip); }, () => {});
  }

  #middle(element) {
    const box = element.getBoundingClientRect();
    const frame = this.frame.getBoundingClientRect();
    return [box.left + box.width / 2 - frame.left, box.top + box.height / 2 - frame.top];
  }

  /** A gradient moves along a curve: what leaves, how it is changed, what arrives. */
  travel(path, texts) {
    if (!path) return;
    const matrix = path.getScreenCTM();
    const frame = this.frame.getBoundingClientRect();
    const length = path.getTotalLength();
    const places = Array.from({ length: POINTS + 1 }, (_, index) => {
      const point = path.getPointAtLength((length * index) / POINTS).matrixTransform(matrix);
      return [point.x - frame.left, point.y - frame.top];
    });
    this.#chip(texts, places);
  }

  /** Gradients that have met in a node become one. */
  meet(element, texts) {
    const [x, y] = this.#middle(element);
    this.#chip(texts, [[x, y - 14], [x, y - 18], [x, y - 14], [x, y]]);
  }

  /** A gradient drops into the place of `.grad`. */
  fall(element, slot, texts) {
    const [x, y] = this.#middle(element);
    const [toX, toY] = this.#middle(slot);
    this.#chip(texts, [[x, y - 30], [x, y - 32], [toX, toY]]);
  }

  /** A saved tensor is freed. */
  drop(element) {
    this.#run(element, [
      { transform: "translateY(0)", opacity: 1 },
      { transform: "translateY(18px)", opacity: 0, offset: 0.7 },
      { transform: "translateY(0)", opacity: 0, offset: 0.71 },
      { transform: "translateY(0)", opacity: 1 },
    ], { duration: 700, easing: "ease-in" });
  }

  /** Existing nodes glide from their old positions, new ones fade in; before and after: key -> {node, box}. */
  glide(before, after) {
    for (const [key, { node, box }] of after) {
      const old = before.get(key)?.box;
      const options = { duration: GLIDE, easing: "ease-out" };
      if (!old) {
        this.#run(node, [{ opacity: 0 }, { opacity: 1 }], options);
        continue;
      }
      const unit = node.getScreenCTM().a || 1; // a transform in a picture counts in the picture's units
      const [x, y] = [old.left + old.width / 2 - box.left - box.width / 2, old.top + old.height / 2 - box.top - box.height / 2];
      if (Math.hypot(x, y) < 2) continue;
      this.#run(node, [{ transform: `translate(${x / unit}px, ${y / unit}px)` }, { transform: "none" }], options);
    }
    for (const [key, { node, box }] of before) if (!after.has(key)) this.#leave(node, box);
    for (const line of this.frame.querySelectorAll("svg .forward, svg .share, svg .back.has-grad")) {
      this.#run(line, [{ opacity: 0 }, { opacity: 0, offset: 0.5 }, { opacity: 1 }], { duration: GLIDE });
    }
  }

  /** A removed node fades out where it was. */
  #leave(node, box) {
    const frame = this.frame.getBoundingClientRect();
    const ghost = h("div", { class: "tgv-ghost", "aria-hidden": "true" });
    ghost.style.cssText = `left:${box.left - frame.left}px;top:${box.top - frame.top}px;width:${box.width}px;height:${box.height}px`;
    ghost.textContent = node.querySelector("text")?.textContent ?? "";
    this.frame.append(ghost);
    this.chips.add(ghost);
    this.#run(ghost, [{ opacity: 0.7, transform: "scale(1)" }, { opacity: 0, transform: "scale(0.9)" }], { duration: GLIDE, easing: "ease-in" })
      .finished.then(() => { ghost.remove(); this.chips.delete(ghost); }, () => {});
  }
}
