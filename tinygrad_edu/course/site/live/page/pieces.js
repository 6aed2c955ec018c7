// Wakes the pieces of ours that an output holds: pictures that follow the page's theme, networks that open, paths with their steps.
//
// In JupyterLab each brings a script. What a cell shows here runs none: the page has the scripts of these pieces itself, and takes
// from the output only their data.
import { picture } from "./plain.js";

const STILL = "data:image/svg+xml;base64,";
const MOUNTED = { network: [".tgv-network", "vizNetwork"], cause: [".tgv-cause-place", "vizCause"] };

/** Wake what `part`, an output that has just been written, holds. */
export async function wake(part) {
  for (const [file, [where, name]] of Object.entries(MOUNTED)) {
    for (const place of part.querySelectorAll(where)) {
      const data = place.querySelector(":scope > script[type='application/json']");
      if (!data) continue;
      await import(`./pieces/${file}.js`);
      globalThis[name](place, JSON.parse(data.textContent));
    }
  }
  for (const image of part.querySelectorAll(`.tgv-picture > img[src^="${STILL}"]`)) {
    const bytes = Uint8Array.from(atob(image.getAttribute("src").slice(STILL.length)), (letter) => letter.charCodeAt(0));
    image.replaceWith(...picture(new TextDecoder().decode(bytes)));
  }
}
