// When the reader runs a widget's cell by Shift + Enter in JupyterLab, which shows the next cell, the whole widget scrolls into
// view, its toolbar first. A notebook that is opened, or run as a whole, does not scroll.

const EDGE = 8; // pixels that stay free at the edges of the screen

/** How far to scroll so that the range from `top` to `bottom` is visible, negative for up; the top has priority. */
export function farEnough({ top, bottom }, place) {
  const [above, below] = [top - (place.top + EDGE), bottom - (place.bottom - EDGE)];
  return top < place.top ? above : Math.max(0, Math.min(above, below));
}

/** Scroll `el` into view once it has been drawn; returns a function that cancels this. */
export function comeIntoSight(el) {
  const observer = new ResizeObserver(() => {
    if (!el.clientHeight) return;
    observer.disconnect();
    // The contents get their height only when their width is known.
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(el)));
  });
  observer.observe(el);
  return () => observer.disconnect();
}

function scrollTo(el) {
  const cell = el.closest(".jp-Cell");
  const place = cell?.closest(".jp-WindowedPanel-outer");
  // After Shift + Enter the cell below the running one is active.
  if (!place || !cell.nextElementSibling?.classList.contains("jp-mod-active")) return;
  const view = place.getBoundingClientRect();
  const { top } = cell.getBoundingClientRect();
  if (top > view.bottom || el.getBoundingClientRect().bottom < view.top) return; // a reader has gone elsewhere meanwhile
  const by = farEnough(el.getBoundingClientRect(), view);
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  if (by) place.scrollBy({ top: by, behavior });
}
