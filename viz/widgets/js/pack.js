// What Python has compressed: a large trait in a saved notebook (`packed` in live.py), or what most readers of a page never open.

/**
 * @param {string} text base64
 * @param {CompressionFormat} form
 */
export async function unpacked(text, form = "deflate") {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(form))).json();
}
