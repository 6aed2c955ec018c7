// How a widget is arranged around its stage: the program and the explanation beside it, or above it if the graph is wide; in one
// column if the space is narrow. The stage gets the place in which it can show more detail, and its height stays.
//
//     const bench = new Bench({ code, now, more, stage, views: () => [scene.views.values, …] });
//     root.append(bench.element); bench.onArrange = (height) => stage.setHeight(height);
import { h } from "./dom.js";
import { HALF, SPLIT, fittest, lettersOf } from "./stage.js";

const NARROW = 660; // pixels of a widget, below which all stands below each other
const COLUMN = { least: 250, share: 0.34, most: 420 }; // of the program beside the stage
const ABOVE = 132; // the least height of what stands above a wide stage
const HEIGHT = { share: 0.6, least: 300, most: 660 }; // of all of it, of the window's
const NOW = { least: 84, line: 20, others: 150, code: 96 }; // the height of what happened, beside a stage; of a line of it; of what else is there; of the least code
const LETTER = 6.9; // pixels across, of the letters there
const WORD = 3; // letters of a line that stay free, for the next word does not fit
const MISSING = 1000; // ranks that a picture is worth less if it cannot be read
const AIR = 16; // around a picture that needs less than there is

/** The size at which the stage would show a picture. */
function shownHeight(picture, width, height) {
  const letters = lettersOf(picture, width, height);
  return picture.height ? (picture.height * letters) / picture.least : height;
}

export class Bench {
  /**
   * `code`, `now` and `more` are elements, `more` may be missing; `stage` is the element with the stage. `views` returns the
   * views of scenes that may be shown on it. `sides()` is the number of pictures beside each other. `longest()` returns the
   * number of characters in the longest heading and sentence of `now`: its height is fixed, so that nothing below it moves.
   * `besides` is the height that the widget needs in addition to a player's; `full` is true if the program
   * is as important as the graph: then they stay beside each other and use the full height.
   */
  constructor({ code, now, more = null, stage, views, sides = () => 1, longest = () => [20, 120], besides = 0, full = false }) {
    this.besides = besides;
    this.full = full;
    this.longest = longest;
    this.views = views;
    this.sides = sides;
    this.code = code;
    this.more = more;
    this.element = h("div", { class: "tgv-bench" }, code, now, more, stage);
    for (const [part, name] of [[code, "code"], [now, "now"], [more, "more"], [stage, "stage"]]) part?.classList.add(`tgv-bench-${name}`);
    /** @type {(height: number) => void} */
    this.onArrange = () => {};
    this.width = 0;
    this.observer = new ResizeObserver(() => {
      if (this.width === this.element.clientWidth) return;
      this.width = this.element.clientWidth;
      this.arrange();
    });
    this.observer.observe(this.element);
  }

  destroy() {
    this.observer.disconnect();
  }

  /** Arrange all parts again: the width has changed, or the contents. */
  arrange() {
    const width = this.width || this.element.clientWidth;
    if (!width) return;
    const most = Math.min(HEIGHT.most, Math.max(HEIGHT.least, window.innerHeight * HEIGHT.share - this.besides));
    const views = this.views();
    const sides = this.sides();
    const column = Math.min(Math.max(COLUMN.least, this.code.scrollWidth + 2), width * COLUMN.share, COLUMN.most);
    const places = {
      beside: { width: width - column - 1, height: most },
      above: { width, height: most - ABOVE },
      below: { width, height: Math.min(most, 420) },
    };
    const stacked = (wide) => wide < HALF * sides; // then each picture gets all of the width
    const share = (height, rows) => (sides > 1 ? (height - SPLIT.bar) / rows - SPLIT.title : height);
    const room = ({ width: wide, height }) => (stacked(wide) ? [wide, share(height, sides)] : [wide / sides, share(height, 1)]);
    const how = (place) => {
      const pictures = views.map((view) => fittest(view, ...room(place)));
      const missing = pictures.filter((picture) => lettersOf(picture, ...room(place)) < 9.9).length;
      return missing * MISSING + pictures.reduce((sum, { rank = 0 }) => sum + rank, 0);
    };
    const above = !this.full && how(places.above) < how(places.beside);
    const name = width < NARROW ? "below" : above ? "above" : "beside";
    const place = places[name];
    const lines = this.longest().map((count) => Math.ceil(count / ((column - 30) / LETTER - WORD)));
    const [listing, panels] = [this.code, this.more].map((part) => part?.scrollHeight ?? 0);
    const others = Math.min(Math.max(NOW.others, NOW.code + panels), most - NOW.least);
    const words = Math.min(most - others, Math.max(NOW.least, NOW.line * lines.reduce((sum, count) => sum + count) + 18));
    this.element.dataset.place = name;
    this.element.style.setProperty("--tgv-now", `${Math.round(words)}px`);
    this.element.style.setProperty("--tgv-column", `${Math.round(column)}px`);
    const shown = Math.max(0, ...views.map((view) => shownHeight(fittest(view, ...room(place)), ...room(place))));
    const needed = sides > 1 ? (shown + SPLIT.title) * (stacked(place.width) ? sides : 1) + SPLIT.bar : shown;
    // What stands beside the stage, or above it, is read whole, too, where there is room.
    const least = name === "beside" ? listing + words + panels : 150;
    this.element.style.setProperty("--tgv-above", `${Math.round(Math.max(ABOVE, Math.min(Math.max(listing, panels), most - needed - AIR)))}px`);
    /** Whether all of each picture can be read. */
    this.whole = how(place) < MISSING;
    const height = Math.round(this.full ? place.height : Math.min(place.height, Math.max(least, needed + AIR)));
    this.element.style.setProperty("--tgv-bench-height", `${height}px`);
    this.onArrange(height);
  }
}
