// A program in the fragment of an address: `#1.` and then JSON, deflated, in base64url. `viz/export/link.py` writes the same.
//
// The number is that of the schema. What a number means never changes, so an old link keeps working; a new form takes a new one.
const SCHEMA = "1";
const MOST = 200_000; // characters of a program and its switches; a small link may unpack to anything

const NAMES = { p: "program", s: "state", v: "view", n: "step", c: "split" };
const KINDS = { program: "string", state: "object", view: "string", step: "number", split: "boolean" };

async function through(bytes, transform) {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) {
      reader.cancel();
      throw new Error("the program in this link is too long");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The fragment of an address, with its `#`, for what is shown: {program, state, view, step, split}. */
export async function written(shown) {
  const short = Object.fromEntries(Object.entries(NAMES).flatMap(([letter, name]) => (shown[name] === undefined ? [] : [[letter, shown[name]]])));
  const packed = await through(new TextEncoder().encode(JSON.stringify(short)), new CompressionStream("deflate-raw"));
  const text = btoa(String.fromCharCode(...packed));
  return `#${SCHEMA}.${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** What a fragment holds, or null if it is empty. Throws an error that says what is wrong with it. */
export async function read(fragment) {
  const whole = fragment.replace(/^#/, "").trim();
  if (!whole) return null;
  const [schema, text] = whole.split(".");
  if (!/^\d+$/.test(schema) || text === undefined) throw new Error("this link carries no program");
  if (schema !== SCHEMA) throw new Error(`this link was made by a newer version (schema ${schema}; this page reads ${SCHEMA})`);
  let found;
  try {
    const packed = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    found = JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw"))));
  } catch (error) {
    if (String(error.message).includes("too long")) throw error;
    throw new Error("this link is damaged: a part of it is missing or was changed");
  }
  const shown = {};
  for (const [letter, name] of Object.entries(NAMES)) {
    if (typeof found?.[letter] === KINDS[name] && found[letter] !== null) shown[name] = found[letter];
  }
  if (shown.program === undefined) throw new Error("this link carries no program");
  return shown;
}
