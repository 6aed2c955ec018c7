// Pictures of bytes, 127.5 in the middle, in the colours of the two classes: the plane's, and each neuron's.

/** "#rrggbb" as [r, g, b]. */
const channels = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

/**
 * The colour of each byte, for the theme of now: from `faint` in the middle to `strong` at both ends.
 *
 * @param {Element} element
 */
export function coloursOf(element, faint = 0, strong = 1) {
  const style = getComputedStyle(element);
  const classes = [0, 1].map((label) => channels(style.getPropertyValue(`--tgv-class${label}`).trim() || "#777777"));
  const table = new Uint8ClampedArray(4 * 256);
  for (let value = 0; value < 256; value += 1) {
    table.set([...classes[value > 127 ? 1 : 0], 255 * (faint + (strong - faint) * Math.abs(value / 127.5 - 1))], 4 * value);
  }
  return new Uint32Array(table.buffer);
}

/**
 * Paint `values` on a canvas, which becomes as large: `size` pixels wide, or a square.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} values
 * @param {Uint32Array} colours
 */
export function paint(canvas, values, colours, size = Math.sqrt(values.length)) {
  const high = values.length / size;
  if (canvas.width !== size || canvas.height !== high) Object.assign(canvas, { width: size, height: high });
  const image = new ImageData(size, high);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < values.length; at += 1) pixels[at] = colours[values[at]];
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** The bytes of a text in base64. */
export function bytes(text) {
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) found[at] = letters.charCodeAt(at);
  return found;
}
