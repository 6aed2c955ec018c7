// How a picture is moved and zoomed in its window, by a mouse, its wheel, fingers and keys, and how its nodes are pressed.
//
// A stage has the `view` that is in sight of the `whole` picture, `moveTo(view)`, `zoom(factor, at)`, `home()`, `pick(key)` of a
// node, `leave(key)` for Escape, and its nodes in order, `walk`.
import { listenToFingers, panned } from "./touch.js";

const APART = 5; // pixels that a mouse moves before it is more than a click
const PANS = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] };
const WAYS = { ArrowUp: -1, ArrowDown: 1 };

/** The place in the picture of a place of the window. */
export const toUser = (svg, { clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());

/** Listen to a mouse and to fingers on `element`; returns a function that says whether a button is down. */
export function listenToMoves(element, stage) {
  let drag = null;
  let dragged = false;
  const unit = () => stage.view.w / stage.host.clientWidth; // of the picture, for one pixel
  listenToFingers(element, { zoom: (factor, at) => stage.zoom(factor, at), pan: (dx, dy) => {
    const { view, left } = panned(stage.view, stage.whole, -dx * unit(), -dy * unit());
    stage.hideTip?.();
    stage.moveTo(view);
    return left / unit();
  } });
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch") drag = { x: event.clientX, y: event.clientY, view: stage.view, moved: false };
  });
  element.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < APART) return;
    if (!drag.moved) element.setPointerCapture(event.pointerId);
    drag.moved = true;
    stage.moveTo({ ...drag.view, x: drag.view.x - dx * unit(), y: drag.view.y - dy * unit() });
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, () => {
      dragged = drag?.moved ?? false;
      drag = null;
    });
  }
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-key]");
    if (node && !dragged) stage.pick(node.dataset.key);
  });
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    stage.zoom(Math.exp(-event.deltaY / 300), event);
  }, { passive: false });
  return () => drag !== null;
}

/** Do what a key asks for. */
export function pressKey(event, stage) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const node = event.target.closest?.("[data-key]");
  const { view, walk } = stage;
  const [across, down] = PANS[event.key] ?? [];
  if (event.key === "+" || event.key === "=") stage.zoom(1.25);
  else if (event.key === "-") stage.zoom(1 / 1.25);
  else if (event.key === "0") stage.home();
  else if (event.shiftKey && PANS[event.key]) stage.moveTo({ ...view, x: view.x + across * view.w, y: view.y + down * view.h });
  else if (event.key === "Escape") {
    if (!stage.leave(node?.dataset.key)) return;
  } else if (node && WAYS[event.key]) {
    const next = walk[walk.indexOf(node) + WAYS[event.key]];
    if (next) {
      node.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus({ preventScroll: true });
    }
  } else if (node && (event.key === "Enter" || event.key === " ")) stage.pick(node.dataset.key);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
