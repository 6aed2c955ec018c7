// Compiles modules with the Python that will run them: `node compile.mjs FOLDER`, where FOLDER holds Pyodide and jobs.json,
// a list of [zip file, optimisation level]. Each zip is written again with the compiled modules alone.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${folder}/` });
python.runPython(`
import importlib._bootstrap_external as bootstrap
import zipfile

def compiled(given, made, level):
    with zipfile.ZipFile(given) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            if name.endswith(".py"):
                text = source.read(name)
                code = compile(text, "/lib/site/" + name, "exec", dont_inherit=True, optimize=level)
                target.writestr(name + "c", bootstrap._code_to_hash_pyc(code, bytes(8), False))
`);
const compiled = python.globals.get("compiled");
for (const [name, level] of JSON.parse(readFileSync(join(folder, "jobs.json"), "utf8"))) {
  python.FS.writeFile("/given.zip", new Uint8Array(readFileSync(join(folder, name))));
  compiled("/given.zip", "/made.zip", level);
  writeFileSync(join(folder, name), python.FS.readFile("/made.zip"));
}
process.exit(0);
