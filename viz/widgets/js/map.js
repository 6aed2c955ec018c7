// The small map of a picture that is larger than its window: its boxes, and a frame that can be dragged. And the zoom's buttons.
import { button, h } from "./dom.js";

const [WIDTH, HEIGHT] = [150, 84]; // pixels that it has at most

export class SmallMap {
  /** `onGo({x, y})` receives the place in the picture that is to be in the middle. */
  constructor(onGo) {
    this.window = h("b", {});
    this.box = { x: 0, y: 0, w: 1, h: 1 };
    this.of = null; // the picture whose boxes it has
    this.element = h("div", { class: "tgv-map", "aria-hidden": "true", hidden: true });
    const go = (event) => {
      const place = this.element.getBoundingClientRect();
      onGo({ x: this.box.x + ((event.clientX - place.left) / place.width) * this.box.w, y: this.box.y + ((event.clientY - place.top) / place.height) * this.box.h });
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      go(event);
    });
    this.element.addEventListener("mousedown", (event) => event.preventDefault()); // the focus, and its keys, stay where they are
    this.element.addEventListener("pointermove", (event) => event.buttons & 1 && go(event));
  }

  /** Show which part of a picture of this size is in sight, or nothing if all is. `marks()` gives its boxes, if `of` is another picture. */
  show(view, box, of, marks) {
    this.element.hidden = view.w >= box.w - 1 && view.h >= box.h - 1;
    if (this.element.hidden) return;
    const scale = Math.min(WIDTH / box.w, HEIGHT / box.h);
    if (this.of !== of) {
      Object.assign(this, { of, box });
      this.element.style.width = `${box.w * scale}px`;
      this.element.style.height = `${box.h * scale}px`;
      this.element.replaceChildren(...marks().map(({ x, y, width, height, open }) => {
        const mark = h("i", { class: open ? "tgv-open" : "" });
        mark.style.cssText = `left:${(x - box.x) * scale}px;top:${(y - box.y) * scale}px;width:${width * scale}px;height:${height * scale}px`;
        return mark;
      }), this.window);
    }
    const clip = (start, size, most) => [Math.max(0, start), Math.min(most, start + size)];
    const [left, right] = clip((view.x - box.x) * scale, view.w * scale, box.w * scale);
    const [top, bottom] = clip((view.y - box.y) * scale, view.h * scale, box.h * scale);
    this.window.style.cssText = `left:${left}px;top:${top}px;width:${right - left}px;height:${bottom - top}px`;
  }
}

/** The buttons that zoom a picture. */
export function zoomTools(label, { zoom, fit }) {
  return h("div", { class: "tgv-zoom", role: "group", "aria-label": `Zoom, ${label}` },
    button("minus", "Zoom out", "-", () => zoom(1 / 1.25)),
    button("fit", "Fit", "0", fit),
    button("plus", "Zoom in", "+", () => zoom(1.25)));
}
