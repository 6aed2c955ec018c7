// Sheets of numbers that were all counted before: a page without a kernel asks them instead of Python.
import { unpacked } from "./pack.js";

export class Sheets {
  /** @param {string} packed what `telling/numbers.py` has counted */
  constructor(packed) {
    this.packed = packed;
    /** @type {Promise<any> | null} */
    this.all = null;
  }

  /** The sheet of an element, for one entry of a table if `index` says which; null if there is none. */
  async find({ key, of, index }) {
    this.all ??= unpacked(this.packed, "gzip");
    const all = await this.all;
    const sheet = all.sheets[key] ?? all.sheets[all.of[key]];
    if (!sheet || !index) return sheet ?? null;
    const [sentence, made] = sheet.entries[`${of}:${index}`] ?? ["There are more sums than this page holds: open it in a notebook.", []];
    return { ...sheet, of, index, sentence, made };
  }
}
