// Works with the Python that will run in the page, here in Node: `node prepare.mjs FOLDER`. The folder holds Pyodide, viz.mjs
// and jobs.json: {trees: {folder: optimisation level}, first: a cell, presses: changes, opening: a program}. The modules of each
// tree are compiled in place; used.json tells what the cell needs up to its first pictures, the modules imported and the files
// opened; and opened.json has the state of the explorer of explore.html over that program.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Node would print the line that raised, and Pyodide is one line of a megabyte.
process.on("uncaughtException", (error) => {
  console.error(String(error?.message ?? error));
  process.exit(1);
});

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));
const { trees, first, presses, opening } = JSON.parse(readFileSync(join(folder, "jobs.json"), "utf8"));

// Without the column of each instruction, which a traceback underlines: that is a third of what a page loads of them.
const compiler = await loadPyodide({ indexURL: `${folder}/`, env: { PYTHONNODEBUGRANGES: "1" } });
compiler.mountNodeFS("/given", folder);
compiler.runPython(`
import importlib._bootstrap_external as bootstrap
from pathlib import Path

def compile_tree(tree, level):
    root = Path("/given", tree)
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        code = compile(path.read_bytes(), "/lib/site/" + name, "exec", dont_inherit=True, optimize=level)
        path.with_suffix(".pyc").write_bytes(bootstrap._code_to_hash_pyc(code, bytes(8), False))
`);
const compileTree = compiler.globals.get("compile_tree");
for (const [tree, level] of Object.entries(trees)) compileTree(tree, level);

// Another Python, which has imported nothing yet, runs the program as a page would.
const reader = await loadPyodide({ indexURL: `${folder}/` });
const viz = await (await import(pathToFileURL(join(folder, "viz.mjs")))).instance();
const failed = [];
const states = new Map(); // of each widget, by its id
let explored = "";
const send = (text) => {
  const message = JSON.parse(text);
  if (message.type === "open" || message.type === "change") states.set(message.model, { ...states.get(message.model), ...message.state });
  if (message.type === "explored") explored = message.model;
  if (message.type === "error") failed.push(message.text);
};
reader.registerJsModule("graphviz_in_javascript", { render: (source, format, engine) => viz.render(source, { format, engine }).output });
reader.registerJsModule("the_page", { send });
for (const tree of ["numpy", "ours"]) reader.mountNodeFS(`/lib/${tree}`, join(folder, tree));
reader.runPython(`
import sys
opened = []
sys.addaudithook(lambda event, about: opened.append(str(about[0])) if event == "open" else None)
sys.path[:0] = ["/lib/numpy", "/lib/ours"]
import worker_python, explored
`);
const worker = reader.pyimport("worker_python");
await worker.run("first", first);
const drawn = () => new Promise((resolve) => setTimeout(resolve, 800)); // the explorer draws its other view a moment later
await drawn();
const model = reader.runPython("import kernel; next(iter(kernel.widgets))");
for (const change of presses) {
  worker.receive(model, JSON.stringify(change));
  await drawn();
}
if (failed.length) {
  console.error(failed.join("\n"));
  process.exit(1);
}
const used = reader.runPython(`import json; json.dumps({"modules": sorted(sys.modules), "opened": sorted(set(opened))})`);
writeFileSync(join(folder, "used.json"), used);
worker.explore(JSON.stringify({ program: opening }));
await drawn();
writeFileSync(join(folder, "opened.json"), JSON.stringify({ program: opening, state: states.get(explored) }));
process.exit(0);
