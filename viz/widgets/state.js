// The state of an explorer, and its history. A change is one message to Python (`request`), the answer is one message back
// (`result`) with the same number. One is under way at a time: what changes meanwhile goes with the next.
import { isHeard } from "./js/model.js";

const REMEMBERED = 50; // changes that can be undone
const SLOW = 700; // milliseconds after which somebody wonders

export class State {
  /** `told` hears what happens: `changed()`, `asked()`, `slow()`, `gone()`, and `answered(result, asked)`. */
  constructor(model, initial, told) {
    this.model = model;
    this.told = told;
    this.now = initial;
    this.ran = {}; // the state that the answer in sight is of
    this.sequence = this.number; // of the last message
    this.waiting = false;
    this.overdue = false; // an answer that somebody wonders about
    this.question = null; // what is asked beside the state: {text, drag, why}; null where nothing waits to be asked
    this.answering = null; // the question under way
    this.postponed = []; // changes asked for while a text is under way: they hold for what comes of it
    this.dragged = null; // the drag that the last entry of the history is about
  }

  /** The number of the last request, by whoever; Python's own has none. */
  get number() {
    return this.model.get("request").seq ?? 0;
  }

  /** Whether the program stands as it was written. */
  get isBare() {
    return Object.values(this.now).every((value) =>
      (value ?? null) === null || value === 1 || value === "cpu" || (typeof value === "object" && !Object.keys(value).length));
  }

  /** Change the state with `edit`, which receives a copy; all changes of one `drag` are one entry of the history. */
  change(label, edit, drag) {
    if (this.postpone(() => this.change(label, edit, drag))) return;
    const next = structuredClone(this.now);
    edit(next);
    this.remember(label, drag);
    this.turn(next, { drag });
  }

  /** Turn to this state, with `why` as what is said of it. */
  become(label, wanted, why) {
    if (this.postpone(() => this.become(label, wanted, why))) return;
    this.remember(label);
    this.turn(structuredClone(wanted), { why });
  }

  /** Run another listing: Python reads the new state from it. */
  write(label, text, drag) {
    this.remember(label, drag);
    this.send({ text, drag });
  }

  /** Undo the last changes, as many as `by` says below 0; or redo one. */
  move(by) {
    if (this.postpone(() => this.move(by))) return;
    const { labels, states, at } = this.model.get("history");
    if (!by || !(at + by in states)) return;
    this.dragged = null;
    this.model.set("history", { labels, states: states.with(at, this.now), at: at + by });
    const why = by > 0 ? `Redone, ${labels[at]}` : by === -1 ? `Undone, ${labels[at - 1]}` : `${-by} changes are undone`;
    this.turn(states[at + by], { why });
  }

  postpone(work) {
    if (this.answering?.text === undefined && this.question?.text === undefined) return false;
    this.postponed.push(work);
    return true;
  }

  remember(label, drag) {
    if (drag !== undefined && drag === this.dragged) return;
    this.dragged = drag;
    const { labels, states, at } = this.model.get("history");
    const known = [...labels.slice(0, at), label].slice(-REMEMBERED);
    this.model.set("history", { labels: known, states: [...states.slice(0, at), this.now, null].slice(-REMEMBERED - 1), at: known.length });
  }

  turn(next, asked) {
    this.now = next;
    this.told.changed();
    this.send(asked);
  }

  send(asked) {
    this.question = asked;
    if (!this.waiting) this.ask();
  }

  ask() {
    this.waiting = true;
    this.answering = this.question;
    this.question = null;
    this.told.asked();
    this.sequence += 1;
    const asked = Object.fromEntries(Object.entries(this.answering).filter(([, value]) => value !== undefined));
    this.model.set("request", { ...asked, state: this.now, seq: this.sequence });
    this.model.save_changes();
    clearTimeout(this.slow);
    isHeard(this.model).then((heard) => heard || this.putBack());
    this.slow = setTimeout(() => {
      this.overdue = true;
      this.told.slow();
    }, SLOW);
  }

  /** No Python will answer: the code in sight stays the one that ran. */
  putBack() {
    clearTimeout(this.slow);
    this.waiting = false;
    this.answering = this.question = null;
    this.postponed.length = 0;
    this.now = structuredClone(this.ran);
    this.told.changed();
    this.told.gone();
  }

  /** Take an answer of Python. */
  take(result) {
    cancelAnimationFrame(this.frame);
    if (this.waiting && result.seq !== this.sequence) return this.told.answered(result, null); // what Python has set; ours is to come
    clearTimeout(this.slow);
    this.waiting = this.overdue = false;
    const asked = this.answering;
    this.answering = null;
    // Python reads the state from a text. Another answer has it too, if it is to the last request of all.
    if (asked?.text !== undefined || (this.question === null && (asked || result.seq === this.number))) this.now = result.state;
    if (this.question === null) {
      this.told.answered(result, asked);
      this.postponed.splice(0).forEach((work) => work());
      return;
    }
    this.ask(); // Python works at the next answer while this one is drawn
    this.frame = requestAnimationFrame(() => this.told.answered(result, asked));
  }

  /** Take a state that Python, or another view, has set. */
  follow() {
    const { seq, state } = this.model.get("request");
    if (this.waiting || seq === this.sequence) return; // our own, or older than what we have asked for
    this.now = state;
    this.told.changed();
  }

  close() {
    clearTimeout(this.slow);
    cancelAnimationFrame(this.frame);
  }
}
