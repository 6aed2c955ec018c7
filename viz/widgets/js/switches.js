// Where the switches of a program stand. Python lists them with the program, each at its place (`offers` in switches.py): a
// switch sets the entry of the state at its `path`, or lists its `item` there. What is here is as `standing`, `is_on` and `put` there.

const entry = (state, path) => path.reduce((part, key) => part?.[key], state) ?? null;

/** Where a switch stands: as its entry says, or one above it, or the program. */
export function standing(state, { path, item, above, own }) {
  if (item !== null) return (entry(state, path) ?? []).includes(item);
  return [path, ...above].map((each) => entry(state, each)).find((value) => value !== null) ?? own;
}

/** Whether a switch is on; that of a number also where the number is higher. */
export function isOn(state, offer) {
  const now = standing(state, offer);
  return Number.isInteger(offer.on) ? now >= offer.on : now === offer.on;
}

/** Set a switch in `state`, which changes; an entry that says nothing new, and an empty one, is left out. */
export function put(state, offer, value) {
  const { path, item } = offer;
  const key = path.at(-1);
  if (item !== null) {
    const others = (state[key] ?? []).filter((other) => other !== item);
    state[key] = value ? [...others, item] : others;
    if (!state[key].length) delete state[key];
    return;
  }
  const holder = path.slice(0, -1).reduce((part, outer) => (part[outer] ??= {}), state);
  for (const other of Object.keys(holder)) {
    if (other === key || other.startsWith(`${key}.`)) delete holder[other]; // what is decided for parts of it, too
  }
  if (JSON.stringify(value) !== JSON.stringify(standing(state, offer))) holder[key] = value;
  for (let depth = path.length - 1; depth; depth--) {
    if (!Object.keys(entry(state, path.slice(0, depth))).length) delete entry(state, path.slice(0, depth - 1))[path[depth - 1]];
  }
}
