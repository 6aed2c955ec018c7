// Runs Python for one page: Pyodide, NumPy, Graphviz, our packages. The page sends {type: "run" | "set" | …}; messages from Python
// are passed on unchanged. If a worker is ended because of an endless loop, the page starts another.
//
// Where the worker may fetch nothing, because it runs a stranger's program, it is called "given", and the page sends it the files.
// It is a plain script: Chromium starts no worker from a module in a frame without an origin.
const HERE = self.name === "given" ? null : new URL(".", self.location.href);
if (!HERE) self.importScripts = undefined; // Pyodide tries it with an address that the frame refuses, and Firefox's console says so

const tell = (text) => postMessage({ type: "starting", text });

const files = new Map(); // of a worker that is given them: a promise for each, by name

function given(name) {
  if (!files.has(name)) files.set(name, Promise.withResolvers());
  return files.get(name);
}

async function bytes(name) {
  if (!HERE) return given(name).promise;
  const answer = await fetch(new URL(name, HERE));
  if (!answer.ok) throw new Error(`${name} is not on this site (${answer.status})`);
  return answer.arrayBuffer();
}

/** The exports of a module of the site. */
async function module(name) {
  if (HERE && !name.endsWith(".pack")) return import(new URL(name, HERE));
  const content = await bytes(name);
  const text = name.endsWith(".pack") ? await unzipped(content) : content;
  return import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
}

async function unzipped(packed) {
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * Load a file of the site synchronously: Python imports a module that is not loaded at the start. Of a worker that is given its
 * files: undefined while it may still come, false if it will not. (Python's None is undefined; null is another object there.)
 */
function now(name) {
  if (!HERE) return given(name).bytes ?? (given("all").bytes === null ? false : undefined);
  const request = new XMLHttpRequest();
  request.open("GET", new URL(name, HERE), false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`${name} is not on this site (${request.status})`);
  return new Uint8Array(request.response);
}

/** Whether Python can wait for an answer in the middle of a cell. */
const CAN_WAIT = "Suspending" in WebAssembly;
let answer = null;

/** Ask the reader for a line of text; without a page that can ask, undefined. */
function ask(cell, prompt) {
  if (!HERE || !CAN_WAIT) return undefined;
  postMessage({ type: "ask", cell, prompt });
  return new Promise((resolve) => { answer = resolve; });
}

function graphviz(viz) {
  return {
    render(source, format, engine) {
      const { status, output, errors } = viz.render(source, { format, engine });
      if (status !== "success") throw new Error(errors.map(({ message }) => message).join("; "));
      return output;
    },
  };
}

/** Python's machine code comes packed, and is compiled as it is unpacked, while all else is fetched. */
async function compiled() {
  const answer = HERE ? await fetch(new URL("pyodide.asm.wasm.pack", HERE)) : new Response(await bytes("pyodide.asm.wasm.pack"));
  if (!answer.ok) throw new Error(`Python is not on this site (${answer.status})`);
  const code = answer.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(code, { headers: { "content-type": "application/wasm" } }));
}

/** What Pyodide loads by itself: from the site, or as it was given. It asks for its machine code, and finds it compiled. */
async function pyodideFrom() {
  const code = compiled();
  const { fetch: own } = self;
  self.fetch = (asked, ...options) => (String(asked).endsWith("pyodide.asm.wasm") ? code : own(asked, ...options));
  WebAssembly.instantiateStreaming = async (given, imports) => {
    const module = await given;
    return { module, instance: await WebAssembly.instantiate(module, imports) };
  };
  const [{ default: createPyodideModule }, lock] = await Promise.all([module("pyodide.asm.mjs.pack"), bytes("pyodide-lock.json")]);
  return { indexURL: HERE?.href ?? "blob:given/", createPyodideModule, lockFileContents: JSON.parse(new TextDecoder().decode(lock)) };
}

async function begin() {
  tell("Fetching Python");
  const library = bytes("library.pack").then(unzipped).then((data) => URL.createObjectURL(new Blob([data])));
  const packs = ["numpy.pack", "ours.pack"].map((name) => bytes(name).then(unzipped).then((data) => new Uint8Array(data)));
  const drawing = module("viz.js.pack").then(({ instance }) => instance());
  const [{ loadPyodide }, from] = await Promise.all([module("pyodide.mjs"), pyodideFrom()]);
  const python = await loadPyodide({ ...from, stdLibURL: await library });
  heap = () => python._module.HEAPU8.length;
  tell("Unpacking NumPy");
  const unpacked = await Promise.all(packs);
  python.registerJsModule("graphviz_in_javascript", graphviz(await drawing));
  python.registerJsModule("the_page", { send: (message) => postMessage(JSON.parse(message)), now, ask });
  const later = python.pyimport("later");
  for (const pack of unpacked) later.put(pack);
  later.look_there_too();
  later.destroy();
  tell("Importing the course");
  if (HERE) python.runPython(`import os; os.environ["TINYGRAD_EDU_EXPLORE"] = ${JSON.stringify(new URL("../../explore.html", HERE).href)}`);
  return python.pyimport("worker_python");
}

let heap = () => 0; // bytes that Python has taken; they are never given back
const MOST = 2 ** 32 - 2 ** 28; // of the 4 GB that there are: with less left, what Python says of its end may itself be broken

/** Why Python ended, for whoever wrote the program. */
function why(error) {
  const text = String(error.message ?? error).trim();
  if (/call stack|too much recursion/i.test(text)) return "the program needs more stack than a page has: thousands of operations in one chain, or calls without an end";
  if (heap() > MOST || /memory/i.test(text)) return "the program needs more memory than a page has";
  return text.split("\n").at(-1);
}

let python;
const waiting = [];
let busy = false;

const REST = 300; // milliseconds without a message after which Python runs ahead
let resting = 0;
let seen = true; // whether a reader sees what Python would be asked about

/** While nobody asks for anything: one run after the other, and every message comes first. */
function rest(pause = REST) {
  clearTimeout(resting);
  resting = setTimeout(() => { if (python && seen && !busy && python.ahead()) rest(0); }, pause);
}

async function work() {
  if (busy || !python) return;
  busy = true;
  while (waiting.length) {
    const { type, cell, source, model, state, tape, about } = waiting[0];
    try {
      let missing; // the pack that it needs first
      if (type === "run") {
        const asks = CAN_WAIT && /\binput\s*\(/.test(source);
        const well = await (asks ? python.run_and_ask.callPromising(cell, source) : python.run(cell, source));
        postMessage({ type: "done", cell, well });
      }
      else if (type === "set") missing = python.receive(model, JSON.stringify(state));
      else if (type === "tape") python.insert(tape);
      else if (type === "explore") missing = python.explore(JSON.stringify(about));
      else if (type === "diagnose") missing = python.diagnose(source);
      if (!missing) waiting.shift();
      else {
        const name = `later/${missing}.pack`;
        postMessage({ type: "waits", name });
        await Promise.race([given(name).promise, given("all").promise]);
      }
    } catch (error) {
      postMessage({ type: "died", text: why(error) });
      return;
    }
  }
  busy = false;
  rest();
}

onmessage = ({ data }) => {
  if (data.type === "file") {
    const { name, content } = data;
    const file = given(name);
    file.bytes = content && new Uint8Array(content);
    file.resolve(content);
    return busy || rest();
  }
  if (data.type === "seen") {
    ({ seen } = data);
    return rest();
  }
  if (data.type === "answer") return answer?.(data.text);
  waiting.push(data);
  work();
};

begin().then(
  (begun) => {
    python = begun;
    postMessage({ type: "ready" });
    work();
  },
  (error) => postMessage({ type: "died", text: String(error.message ?? error) }),
);
