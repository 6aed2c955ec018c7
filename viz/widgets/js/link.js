// "copy link": an address of explore.html that carries the program. Python makes it, for it knows what the program takes from outside.
import { h } from "./dom.js";

const SAID_MS = 8000;

export class LinkButton {
  /**
   * @param {() => void} onAsk what asks for the address; `take` gets it
   * @param {string} label what the button shows, where there is little room
   */
  constructor(onAsk, label = "copy link") {
    this.button = h("button", { type: "button", class: "tgv-text-button", onclick: () => { this.isAsked = true; onAsk(); }, "aria-label": "copy link", title: "Copy an address that carries this program" }, label);
    this.said = h("span", { class: "tgv-said", role: "status" });
    this.element = h("span", { class: "tgv-link" }, this.button, this.said);
  }

  /** Copy what Python answered to a press: {link, note}, or {why} if there is no link. Nothing else writes the clipboard. */
  async take({ link, note, why }) {
    if (!this.isAsked || !(link || why)) return; // its model only says again what it holds
    this.isAsked = false;
    if (why) return this.#say(why);
    try {
      await navigator.clipboard.writeText(link);
      this.#say(note || "The link is copied.");
    } catch {
      window.prompt("Copy the link:", link); // where the clipboard is refused
    }
  }

  #say(text) {
    clearTimeout(this.later);
    this.said.textContent = text;
    this.later = setTimeout(() => this.said.replaceChildren(), SAID_MS);
  }
}
