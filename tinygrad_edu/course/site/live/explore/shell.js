// explore.html: its tools, its address, and the frame in which a program runs.
//
// A link is a stranger's program. It runs in a worker of a frame without an origin: this page gives the frame its files, and takes
// nothing from it but data of a known form, which is shown as text, written into the address, or saved where the reader asks.
import { element, save } from "../element.js";
import { keep } from "../keep.js";
import { read, written } from "./fragment.js";

const HERE = new URL(".", import.meta.url);
const LIVE = new URL("../", HERE);
const SITE = new URL("../../../", HERE);
const FRAME = ["element.js", "plain.js", "widgets.js", "frame.js"]; // in an order in which each follows its imports
const AT_FIRST = ["pyodide.mjs", "pyodide.asm.mjs.pack", "pyodide.asm.wasm.pack", "pyodide-lock.json", "library.pack", "numpy.pack", "ours.pack", "viz.js.pack"];
const OWN = ["shell.js", "shell.css", "fragment.js", "frame.js", "frame.css", "widgets.json", "examples.json", "opened.pack", "rest.json", "gifenc.js"];
const PAUSE = 150; // milliseconds of rest before the address is written: browsers limit how often
const STANDS = 1200; // milliseconds that a step of a GIF stands
const COLOURS = 64;
const LARGE = 600_000; // above this many pixels a picture is not scaled up
const isEmbedded = window.top !== window;
const isInCourse = isEmbedded && hasOurs(window.top);
const said = document.querySelector(".said");
let damage = ""; // what is wrong with the link that the page was opened by
const say = (text) => { said.textContent = `${damage} ${text}`.trim(); };

async function file(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url.pathname} is not on this site (${answer.status})`);
  return answer;
}
const text = async (name, home = HERE) => (await file(new URL(name, home))).text();

// --- the frame ---
/** The first script of the frame: it makes modules of the texts that it is sent, and hands over. */
const BOOT = `addEventListener("message", async ({ data, ports, source }) => {
  if (source !== parent) return;
  const urls = {};
  for (const [name, text] of data.modules) {
    const linked = text.replace(/from "\\.\\/([\\w.]+)"/g, (whole, other) => 'from "' + urls[other] + '"');
    urls[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  (await import(urls["frame.js"])).begin(ports[0], data);
}, { once: true });`;

function frameOf(style) {
  const nonce = crypto.randomUUID();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}' blob: 'wasm-unsafe-eval'; worker-src blob:; connect-src blob: data:; style-src 'unsafe-inline'; img-src data:`;
  const made = element("iframe", { title: "The program and its graph" });
  made.setAttribute("sandbox", "allow-scripts");
  made.srcdoc = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">`
    + `<title>The program</title><style>${style}</style><body><script nonce="${nonce}">${BOOT}</script></body></html>`;
  return made;
}

let port = null;
const packs = new Map();
let rest = null; // the names of the packs that no first picture needs
let programs = 0; // how many the frame has opened
let isByAddress = true; // whether the one that it opens is that of an entry of the history
let isAnother = false; // whether what is to be written into the address is another program
let shown = null; // what the frame shows: {program, state, view, step, split}
let listing = ""; // the program with its switches, as text
const asked = new Set(); // pictures that the reader has asked for
const { promise: restAsked, resolve: askRest } = Promise.withResolvers();

/** What the explorer showed of the first example when the site was built; null for any other program. */
async function recorded(first, example) {
  if (first.program !== example || Object.keys(first).length > 1) return null;
  const { body } = await file(new URL("opened.pack", HERE));
  const opened = await new Response(body.pipeThrough(new DecompressionStream("gzip"))).json();
  return opened?.program === example ? opened.state : null;
}

async function start(first, example, draft) {
  rest = text("rest.json").then((data) => JSON.parse(data).names);
  const coming = AT_FIRST.map(fetched);
  const [style, worker, widgets, opened, ...modules] = await Promise.all([text("frame.css"), text("worker.js", LIVE), text("widgets.json"),
    recorded(first, example).catch(() => null), ...FRAME.map((name) => text(name, name === "frame.js" ? HERE : LIVE))]);
  const frame = frameOf(style);
  const channel = new MessageChannel();
  const there = new Promise((resolve) => { frame.onload = resolve; });
  document.querySelector("main").replaceChildren(frame);
  await there;
  frame.contentWindow.postMessage({ modules: FRAME.map((name, index) => [name, modules[index]]), widgets: JSON.parse(widgets), worker, opened, draft }, "*", [channel.port2]);
  port = channel.port1;
  port.onmessage = ({ data }) => hear(data);
  port.postMessage({ type: "show", shown: first });
  port.postMessage({ type: "open", shown: first, isFirst: true });
  await Promise.all([restAsked, ...coming.map(give)]);
  const names = await rest;
  for (const name of names) await sent(name); // one by one: the processors are for whoever presses a switch meanwhile
  port.postMessage({ type: "file", name: "all", content: null });
  if (!isEmbedded) keep(SITE, pathsOf([...AT_FIRST, ...names, "worker.js", "widgets.js", "plain.js", "element.js", "keep.js"]));
}

/** Paths of this page's files, seen from the site. */
const pathsOf = (names) => ["explore.html", ...OWN.map((name) => `_static/live/explore/${name}`), ...names.map((name) => `_static/live/${name}`)];

const fetched = async (name) => ({ name, content: await (await file(new URL(name, LIVE))).arrayBuffer() });

async function give(coming) {
  const { name, content } = await coming;
  port.postMessage({ type: "file", name, content }, [content]);
}

/** When a pack is with the frame. */
function sent(name) {
  if (!packs.has(name)) packs.set(name, give(fetched(name)));
  return packs.get(name);
}

/** Give the pack that a program needs; or all packs: once there is a picture, and where one is asked for that no link has. */
async function givePack(name) {
  if ((await rest).includes(name)) sent(name);
  else askRest();
}

// --- what comes out of the frame ---
const isText = (value, most = 200_000) => typeof value === "string" && value.length <= most;

function hear(message) {
  if (typeof message !== "object" || message === null) return;
  const { type } = message;
  if (type === "status" && isText(message.text, 300)) say(message.text);
  else if (type === "ready") document.documentElement.setAttribute("data-python-ready", "");
  else if (type === "pack") givePack(message.name);
  else if (type === "shown") document.documentElement.setAttribute("data-shown", "");
  else if (type === "state") take(message);
  else if (type === "draft" && (message.text === null || isText(message.text))) keepDraft(message.text);
  else if (type === "picture" && arePictures(message.svgs) && asked.delete(message.kind)) savePicture(message.kind, message.svgs);
}

const arePictures = (svgs) => Array.isArray(svgs) && svgs.length > 0 && svgs.length <= 60 && svgs.every((one) => isText(one, 5_000_000));

function take({ shown: given, listing: code, count }) {
  if (!isText(given?.program) || !isText(code) || !isText(given.view ?? "", 20) || !Number.isInteger(given.step ?? -1)) return;
  const { program, view, step, split } = given;
  const state = plain(given.state);
  shown = { program, ...(Object.keys(state).length ? { state } : {}), view, step, split: split === true || undefined };
  listing = code;
  if (Number.isInteger(count) && count !== programs) {
    isAnother = !isByAddress;
    isByAddress = false;
    programs = count;
  }
  clearTimeout(take.later);
  if (isAnother) damage = "";
  if (damage) return; // the link stays as it is, to be repaired
  take.later = setTimeout(async () => {
    const fragment = await written(shown);
    if (isAnother && fragment !== location.hash) history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
    isAnother = false;
    document.querySelector(".tools .course").hash = location.hash;
  }, PAUSE);
}

const DRAFT = "tinygrad-edu:draft"; // of this tab: two tabs have two

function keepDraft(value) {
  try {
    if (value) sessionStorage.setItem(DRAFT, value);
    else sessionStorage.removeItem(DRAFT);
  } catch {
    // where storage is refused nothing is kept
  }
}

function keptDraft() {
  try {
    return sessionStorage.getItem(DRAFT);
  } catch {
    return null;
  }
}

/** A copy of data that has nothing but data. */
function plain(value) {
  return JSON.parse(JSON.stringify(value ?? {}));
}

// --- the tools ---
const address = async () => {
  const url = new URL(location.href);
  url.hash = await written(shown);
  return url.href;
};

async function copy(made, name) {
  const value = await made;
  try {
    await navigator.clipboard.writeText(value);
    say(`${name} copied: ${value.length.toLocaleString()} characters.`);
  } catch {
    window.prompt(`Copy the ${name.toLowerCase()}:`, value); // where the clipboard is refused
  }
}

const escaped = (value) => value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

const embed = async () =>
  `<iframe src="${escaped(await address())}" title="A program and its gradients" width="100%" height="640" loading="lazy" style="border:1px solid #ccc" `
  + 'sandbox="allow-scripts allow-same-origin allow-downloads allow-popups allow-modals" allow="clipboard-write"></iframe>';

/** A string in Python's syntax. */
const quoted = (value) => (/"""|\\|"$/.test(value) ? JSON.stringify(value) : `"""\n${value}\n"""`);

function asPython(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string" || typeof value === "number") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(asPython).join(", ")}]`;
  return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${asPython(each)}`).join(", ")}}`;
}

async function saveNotebook() {
  const { program, state = {} } = shown;
  const switches = Object.keys(state).length ? `,\n    state=${asPython(state)},` : "";
  const cell = (id, cell_type, source) => ({ id, cell_type, metadata: {}, source, ...(cell_type === "code" ? { outputs: [], execution_count: null } : {}) });
  const cells = [
    cell("about", "markdown", `A program from [this link](${await address()}). Run the cells: \`pip install tinygrad-edu\` brings what they need.`),
    cell("explore", "code", `import viz\n\nviz.explore(${quoted(program)}${switches})`),
  ];
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3", language: "python" }, language_info: { name: "python" } };
  save(JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, null, 1), "program.ipynb", "application/x-ipynb+json");
}

/** As an image a picture runs and loads nothing. */
async function imageOf(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  return image;
}

async function savePicture(kind, svgs) {
  if (kind === "svg") return save(svgs[0], "graph.svg", "image/svg+xml");
  const images = await Promise.all(svgs.map(imageOf));
  const [width, height] = ["width", "height"].map((side) => Math.max(...images.map((one) => one[side])));
  const scale = width * height > LARGE ? 1 : 2;
  const canvas = element("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d", { willReadFrequently: kind === "gif" });
  const draw = (image) => {
    context.fillStyle = matchMedia("(prefers-color-scheme: dark)").matches ? "#101317" : "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, image.width * scale, image.height * scale);
  };
  if (kind === "gif") {
    await saveFilm(images, draw, canvas, context);
  } else {
    draw(images[0]);
    canvas.toBlob((made) => save(made, "graph.png", "image/png"), "image/png");
  }
}

/** A GIF in which each step stands for a moment, and the last for three. */
async function saveFilm(images, draw, { width, height }, context) {
  const { GIFEncoder, quantize, applyPalette } = await import("./gifenc.js");
  const film = GIFEncoder();
  for (const [at, image] of images.entries()) {
    draw(image);
    const { data } = context.getImageData(0, 0, width, height);
    const palette = quantize(data, COLOURS);
    film.writeFrame(applyPalette(data, palette), width, height, { palette, delay: at === images.length - 1 ? 3 * STANDS : STANDS });
  }
  film.finish();
  save(film.bytes(), "graph.gif", "image/gif");
  say(`A film of ${images.length} steps was saved.`);
}

const askFor = (kind) => {
  asked.add(kind);
  port.postMessage({ type: "picture", kind });
};

async function toolbar() {
  const { groups } = JSON.parse(await text("examples.json"));
  const button = (label, onclick, title = "") => element("button", { type: "button", textContent: label, title, onclick: () => shown && onclick() });
  const examples = element("select", { ariaLabel: "Examples, by question" }, element("option", { value: "", textContent: "Examples …" }));
  const flat = [];
  for (const { title, questions } of groups) {
    const options = questions.map(({ question, program }) => element("option", { value: String(flat.push(program) - 1), textContent: question }));
    examples.append(element("optgroup", { label: title }, ...options));
  }
  examples.onchange = () => {
    if (examples.value !== "") port.postMessage({ type: "open", shown: { program: flat[Number(examples.value)] } });
    examples.value = "";
  };
  const wrong = element("button", { type: "button", className: "wrong", textContent: "What is wrong here?", title: "Runs the program once more and looks for what goes wrong",
    onclick: () => port?.postMessage({ type: "diagnose" }) });
  const take = element("select", { ariaLabel: "Save" }, element("option", { value: "", textContent: "Save …" }),
    ...[["svg", "picture (SVG)"], ["png", "picture (PNG)"], ["gif", "all steps (GIF)"], ["notebook", "as a notebook"]].map(([value, label]) => element("option", { value, textContent: label })));
  take.onchange = () => {
    if (shown && take.value === "notebook") saveNotebook();
    else if (shown && take.value) askFor(take.value);
    take.value = "";
  };
  const course = element("a", { hidden: isInCourse, href: new URL("index.html", SITE).href, className: "course", textContent: "Open in the course", target: isEmbedded ? "_blank" : "_self", rel: "noopener" });
  const own = isEmbedded
    ? [element("a", { textContent: "Open", target: "_blank", rel: "noopener", href: location.href, title: "In a page of its own",
      onclick: (event) => { event.currentTarget.href = location.href; } })]
    : [element("button", { type: "button", textContent: "New program", title: "A box to paste a program into", onclick: () => port?.postMessage({ type: "box" }) }),
      examples, button("Copy link", () => copy(address(), "Link")), button("Copy embed", () => copy(embed(), "Embed"), "An <iframe> for a page of yours"), take];
  document.querySelector(".tools").replaceChildren(...own, wrong, course);
  return flat;
}

/** Whether the page around this one is the course's; what one of another origin is, is not told. */
function hasOurs(around) {
  try {
    return around.location.href.startsWith(new URL(".", SITE).href);
  } catch {
    return false;
  }
}

/** When the page comes into view: at once, but for one of several in another page. */
const inView = () => new Promise((resolve) => {
  if (!isEmbedded) return resolve();
  const watch = new IntersectionObserver(([seen]) => {
    if (!seen.isIntersecting) return;
    watch.disconnect();
    resolve();
  });
  watch.observe(document.querySelector("main"));
});

async function given() {
  damage = "";
  try {
    return await read(location.hash);
  } catch (error) {
    damage = `${error.message[0].toUpperCase()}${error.message.slice(1)}. ${port ? "What was shown stays." : "An example is shown instead."}`;
    say("");
    return null;
  }
}

addEventListener("hashchange", async () => {
  clearTimeout(take.later); // what was shown until now
  const other = await given();
  if (!other || !port) return;
  isByAddress = true;
  isAnother = false;
  port.postMessage({ type: "open", shown: other });
});

document.documentElement.toggleAttribute("data-embedded", isEmbedded);
try {
  const [examples, first] = await Promise.all([toolbar(), given()]);
  const program = first ?? { program: examples[0] };
  await inView();
  await start(program, examples[0], isEmbedded ? null : keptDraft() ?? (first ? null : ""));
} catch (error) {
  say(`This page cannot start: ${error.message}`);
}
