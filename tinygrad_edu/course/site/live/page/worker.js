// Runs Python for one page: Pyodide, NumPy, Graphviz, our packages. The page sends {type: "run" | "set"}; messages from Python
// are passed on unchanged. If a worker is ended because of an endless loop, the page starts another.
const HERE = new URL(".", import.meta.url);
const SITE = "/lib/site";

const tell = (text) => postMessage({ type: "starting", text });

async function bytes(name) {
  const answer = await fetch(new URL(name, HERE));
  if (!answer.ok) throw new Error(`${name} is not on this site (${answer.status})`);
  return answer.arrayBuffer();
}

async function unzipped(packed) {
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** What `archive.packed` wrote: a line of JSON with names and sizes, then the bytes of each file. */
async function unpack(FS, packed, root) {
  const data = new Uint8Array(await unzipped(packed));
  const end = data.indexOf(10);
  let at = end + 1;
  for (const [name, size] of JSON.parse(new TextDecoder().decode(data.subarray(0, end)))) {
    const path = `${root}/${name}`;
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    FS.writeFile(path, data.subarray(at, at + size));
    at += size;
  }
}

/** Load a file of the site synchronously: Python imports a module that is not loaded at the start. */
function now(name) {
  const request = new XMLHttpRequest();
  request.open("GET", new URL(name, HERE), false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`${name} is not on this site (${request.status})`);
  return new Uint8Array(request.response);
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

async function begin() {
  tell("Fetching Python");
  const library = bytes("python_stdlib.zip.gz").then(unzipped).then((data) => URL.createObjectURL(new Blob([data])));
  const packs = ["numpy.pack", "ours.pack"].map(bytes);
  const drawing = import(new URL("viz.js", HERE)).then(({ instance }) => instance());
  const { loadPyodide } = await import(new URL("pyodide.mjs", HERE));
  const python = await loadPyodide({ indexURL: HERE.href, stdLibURL: await library });
  tell("Unpacking NumPy");
  for (const pack of packs) await unpack(python.FS, await pack, SITE);
  python.registerJsModule("graphviz_in_javascript", graphviz(await drawing));
  python.registerJsModule("the_page", { send: (message) => postMessage(JSON.parse(message)), now });
  tell("Importing the course");
  python.runPython(`import sys; sys.path.insert(0, "${SITE}"); import worker_python`);
  return python.pyimport("worker_python");
}

let python;
const waiting = [];
let busy = false;

async function work() {
  if (busy || !python) return;
  busy = true;
  while (waiting.length) {
    const { type, cell, source, model, state, tape } = waiting.shift();
    try {
      if (type === "run") postMessage({ type: "done", cell, well: await python.run(cell, source) });
      else if (type === "set") python.receive(model, JSON.stringify(state));
      else if (type === "tape") python.insert(tape);
    } catch (error) {
      postMessage({ type: "died", text: String(error.message ?? error) });
      return;
    }
  }
  busy = false;
}

onmessage = ({ data }) => {
  waiting.push(data);
  work();
};

try {
  python = await begin();
  postMessage({ type: "ready" });
  work();
} catch (error) {
  postMessage({ type: "died", text: String(error.message ?? error) });
}
