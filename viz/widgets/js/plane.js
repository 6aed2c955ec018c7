// The plane of the playground: the network's output at each position as colour, the points, the boundaries, and adding points
// with a mouse or with keys.
import { h } from "./dom.js";
import { bytes, coloursOf, paint } from "./paint.js";

const SIDE = 400; // the pictures' own pixels
const STEP = 0.05; // of the cross, in the plane
const NEAR = 0.08; // how near a point is taken away
const FAINT = 0.06;
const STRONG = 0.62;

export class Plane {
  /**
   * `onPress(x, y, away)` receives the position of a press, and whether the point there should be removed.
   *
   * @param {{onPress: (x: number, y: number, away: boolean) => void}} options
   */
  constructor({ onPress }) {
    this.onPress = onPress;
    this.reach = 1;
    this.cross = null;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.drawing = h("div", { class: "tgv-ground-plane-drawing", "aria-hidden": "true" });
    this.element = h("div", {
      class: "tgv-ground-plane", role: "application", tabindex: "0", "aria-label": "The plane. Among own points: arrows move a cross, Enter puts a point there, Delete takes the nearest away",
      onclick: (event) => this.#pressed(event, event.shiftKey), oncontextmenu: (event) => { event.preventDefault(); this.#pressed(event, true); },
      onkeydown: (event) => this.#key(event), onblur: () => this.#moveCross(null),
    }, this.canvas, this.drawing);
    this.drawing.innerHTML = `<svg class="tgc tgp" viewBox="0 0 ${SIDE} ${SIDE}"><g></g><g></g><path class="tgv-ground-cross" d=""/></svg>`;
    const [lines, dots] = this.drawing.querySelectorAll("g");
    this.lines = lines;
    this.dots = dots;
  }

  /** What does not change during training: the drawn `points`, and the extent of the plane. */
  setTask(points, reach) {
    this.reach = reach;
    this.dots.innerHTML = points; // made by viz, as all that is drawn here
  }

  /** `heat`: how sure the network is of class 1 at each position, base64; null if it gives no numbers. */
  show(heat, lines) {
    if (heat !== null) paint(this.canvas, bytes(heat), coloursOf(this.element, FAINT, STRONG));
    this.lines.innerHTML = lines;
    this.element.classList.toggle("tgv-ground-lost", heat === null);
  }

  #pressed(event, away) {
    const box = this.canvas.getBoundingClientRect();
    const at = (part) => (2 * part - 1) * this.reach;
    this.onPress(at((event.clientX - box.left) / box.width), -at((event.clientY - box.top) / box.height), away);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [x, y] = this.cross ?? [0, 0];
    const step = event.shiftKey ? 4 * STEP : STEP;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.#moveCross([x + moves[event.key][0], y + moves[event.key][1]]);
    else if (event.key === "Enter") this.onPress(x, y, false);
    else if (event.key === "Delete" || event.key === "Backspace") this.onPress(x, y, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #moveCross(place) {
    this.cross = place?.map((each) => Math.max(-this.reach, Math.min(this.reach, each))) ?? null;
    const [x, y] = (this.cross ?? [0, 0]).map((each, axis) => ((1 + ((axis ? -1 : 1) * each) / this.reach) / 2) * SIDE);
    this.drawing.querySelector(".tgv-ground-cross").setAttribute("d", this.cross ? `M${x - 9} ${y}h18M${x} ${y - 9}v18` : "");
  }

  /** `points` without the one nearest to a position; unchanged if none is near. */
  static without(points, x, y) {
    const far = points.map((point) => Math.hypot(point[0] - x, point[1] - y));
    const nearest = far.indexOf(Math.min(...far));
    return far[nearest] <= NEAR ? points.filter((_, index) => index !== nearest) : points;
  }
}
