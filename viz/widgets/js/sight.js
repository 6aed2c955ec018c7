// A widget that a reader has just asked for, by Shift + Enter in JupyterLab, comes into sight: its picture and its buttons, and
// not its upper edge alone. A notebook that is opened, or run as a whole, stays where it is.

const EDGE = 8; // pixels that stay free at the edges of the screen

/** How far to scroll for what stands from `top` to `bottom` to be seen in a place; the top comes first. */
export function farEnough({ top, bottom }, place) {
  return Math.max(0, Math.min(bottom - (place.bottom - EDGE), top - (place.top + EDGE)));
}

/** Bring `el` into sight once it has been drawn; returns what gives that up. */
export function comeIntoSight(el) {
  const observer = new ResizeObserver(() => {
    if (!el.clientHeight) return;
    observer.disconnect();
    // What stands inside finds its height when its width is known.
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(el)));
  });
  observer.observe(el);
  return () => observer.disconnect();
}

function scrollTo(el) {
  const cell = el.closest(".jp-Cell");
  const place = cell?.closest(".jp-WindowedPanel-outer");
  // Shift + Enter leaves the cell below the one that runs active.
  if (!place || !cell.nextElementSibling?.classList.contains("jp-mod-active")) return;
  const view = place.getBoundingClientRect();
  const { top } = cell.getBoundingClientRect();
  if (top > view.bottom || el.getBoundingClientRect().bottom < view.top) return; // a reader has gone elsewhere meanwhile
  const by = farEnough(el.getBoundingClientRect(), view);
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  if (by) place.scrollBy({ top: by, behavior });
}
