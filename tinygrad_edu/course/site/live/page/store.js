// What the reader's browser stores for a page: edited cells and checked exercises. If nothing can be stored (a private
// window, a full disk) the page still works.
const PREFIX = "tinygrad-edu:";

function read(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

function write(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // not stored
  }
}

/** The edited source of a cell, or null if it is unchanged. */
export const answer = (page, cell) => read(`${page}/${cell}`);

export const keepAnswer = (page, cell, text) => write(`${page}/${cell}`, text);

/** {exercise: {points, of}} for everything that was checked, with the best result of each. */
export function progress() {
  try {
    return JSON.parse(read("progress")) ?? {};
  } catch {
    return {};
  }
}

export function keepProgress(exercise, points, of) {
  const all = progress();
  if (points >= (all[exercise]?.points ?? 0)) write("progress", JSON.stringify({ ...all, [exercise]: { points, of } }));
}

/** Tell `onChange` how many other tabs show this page, whenever one opens or closes. */
export function watchTabs(page, onChange) {
  const me = crypto.randomUUID?.() ?? String(Math.random());
  const others = new Set();
  let channel;
  try {
    channel = new BroadcastChannel(`${PREFIX}tabs`);
  } catch {
    return; // where storage is refused nothing is kept either
  }
  const say = (type) => channel.postMessage({ type, page, from: me });
  channel.onmessage = ({ data: { type, page: theirs, from } }) => {
    if (theirs !== page) return;
    if (type === "open") say("here");
    if (type === "gone") others.delete(from);
    else others.add(from);
    onChange(others.size);
  };
  addEventListener("pagehide", () => say("gone"));
  addEventListener("pageshow", ({ persisted }) => persisted && say("open"));
  say("open");
}
