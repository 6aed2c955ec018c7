// Python's worker, seen from the page: cells wait for it, stopping an endless loop ends it, and another one starts.
import { Manager, RemoteModel, whetherSeen } from "./widgets.js";

export class Python {
  constructor(worker, tape) {
    this.url = worker;
    this.tape = tape;
    this.models = new Map();
    this.manager = new Manager(this.models, () => this.stop(), () => "Running … If it never ends, press stop.");
    this.runs = new Map(); // by cell: {output, finish}
    this.ready = false;
    this.lost = false; // true if the results of earlier runs are gone
    this.onChecked = () => {};
    this.text = "";
    this.reason = ""; // why it was started again, until a cell runs
    this.seen = true;
    whetherSeen(document.body, (seen) => {
      this.seen = seen;
      this.worker?.postMessage({ type: "seen", seen });
    });
  }

  #tell = () => {};

  /** Receives every change of state, and the current state. */
  set onState(listener) {
    this.#tell = listener;
    this.#say();
  }

  start() {
    if (this.worker) return;
    this.#say("Python is starting …");
    this.worker = new Worker(this.url, { type: "module" });
    this.worker.onmessage = ({ data }) => this.#hear(data);
    this.worker.onerror = (event) => this.#hear({ type: "died", text: event.message || "its worker could not start" });
    const { worker } = this;
    worker.postMessage({ type: "seen", seen: this.seen });
    this.taped = fetch(this.tape) // when the worker has what PyTorch did; no cell runs before
      .then((answer) => (answer.ok ? answer.body.pipeThrough(new DecompressionStream("gzip")) : Promise.reject(new Error(answer.status))))
      .then((text) => new Response(text).text())
      .then((tape) => worker.postMessage({ type: "tape", tape }))
      .catch(() => {}); // then PyTorch's recordings are missing, and each explorer says so
  }

  /** Run a cell: true if it ran to its end, false if it raised, null if it was stopped. */
  run(cell, source, output) {
    this.reason = "";
    this.start();
    return new Promise((finish) => {
      this.runs.set(cell, { output, finish });
      const { worker } = this;
      this.taped.then(() => worker.postMessage({ type: "run", cell, source }));
      this.#say();
    });
  }

  /** What the reader has written where a cell called `input()`. */
  answer(text) {
    this.worker?.postMessage({ type: "answer", text });
  }

  /** End the worker, whatever it is doing, and start another. */
  stop(why = "Stopped.") {
    this.reason = why;
    this.#end("");
    this.lost = false;
    this.start();
  }

  #end(text) {
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    this.lost = true;
    for (const { finish } of this.runs.values()) finish(null);
    this.runs.clear();
    this.#say(text);
  }

  #say(text = this.text) {
    this.text = text;
    const busy = this.runs.size > 0;
    this.#tell({ text: busy && this.ready ? "Python is running …" : `${this.reason} ${text}`.trim(), busy, ready: this.ready });
  }

  #hear(message) {
    const { type, cell, model } = message;
    if (type === "starting") this.#say(`${message.text} …`);
    else if (type === "ready") {
      this.ready = true;
      this.#say("Python is ready.");
    } else if (type === "died" && this.ready) this.stop(`Python ended: ${message.text}. It starts again by itself.`);
    else if (type === "died") this.#end(`Python cannot run here: ${message.text}. The page stays as it was recorded.`);
    else if (type === "done") {
      const run = this.runs.get(cell);
      this.runs.delete(cell);
      this.#say();
      run?.finish(message.well);
    } else if (type === "open") this.models.set(model, new RemoteModel(message, (sent) => this.worker?.postMessage(sent), this.manager));
    else if (type === "change") this.models.get(model)?.receive(message.state);
    else if (type === "close") this.models.delete(model);
    else if (type === "checked") this.onChecked(message);
    else this.runs.get(cell)?.output?.write(message);
  }
}
