// Fingers on a picture: one moves what does not fit, two zoom. What the picture cannot move any further scrolls the page.

const SLOP = 6; // pixels that a finger moves before it is more than a tap

/** How much of a picture is out of sight: which of a finger's moves are ours, and which the page's. */
export function touchAction(view, whole) {
  if (view.h < whole.h - 1) return "none";
  return view.w < whole.w - 1 ? "pan-y" : "pan-x pan-y";
}

/** A view moved by this much, but not past the edges of the whole; and what is left of the move. */
export function panned(view, whole, dx = 0, dy = 0) {
  const kept = (at, size, start, length) => (size >= length ? start - (size - length) / 2 : Math.min(Math.max(at, start), start + length - size));
  const x = kept(view.x + dx, view.w, whole.x, whole.w);
  const y = kept(view.y + dy, view.h, whole.y, whole.h);
  return { view: { ...view, x, y }, left: view.y + dy - y };
}

/**
 * Call `pan(dx, dy)`, in pixels, and `zoom(factor, {clientX, clientY})` as fingers move on `element`. `pan` returns by how much the
 * page is to scroll.
 *
 * @param {Element} element
 * @param {{pan: (dx: number, dy: number) => number, zoom: (factor: number, at: {clientX: number, clientY: number}) => void}} calls
 */
export function listenToFingers(element, { pan, zoom }) {
  const fingers = new Map();
  let moved = false;
  const middle = () => {
    const [{ x, y }, other = { x, y }] = [...fingers.values()];
    return { x: (x + other.x) / 2, y: (y + other.y) / 2, apart: Math.hypot(x - other.x, y - other.y) };
  };
  element.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (event.pointerType !== "touch") return;
    if (!fingers.size) moved = false;
    if (fingers.size < 2) fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  element.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = middle();
    const at = { x: event.clientX, y: event.clientY };
    const from = fingers.get(event.pointerId);
    if (!moved && fingers.size === 1 && Math.hypot(at.x - from.x, at.y - from.y) < SLOP) return;
    moved = true;
    fingers.set(event.pointerId, at);
    const now = middle();
    if (before.apart > 0 && now.apart > 0) zoom(now.apart / before.apart, { clientX: now.x, clientY: now.y });
    const left = pan(now.x - before.x, now.y - before.y);
    if (left && fingers.size === 1) document.scrollingElement?.scrollBy(0, left);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, (/** @type {PointerEvent} */ event) => { fingers.delete(event.pointerId); });
  }
}
