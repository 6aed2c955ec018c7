// A drawn network without a widget: in the output of a cell, or in a separate page. `export/files.py` inserts it.
import { h } from "./js/dom.js";
import { zoomTools } from "./js/map.js";
import { NetworkStage } from "./js/network.js";
import { comeIntoSight } from "./js/sight.js";

globalThis.vizNetwork = (host, picture) => {
  const stage = h("div", { class: "tgv-network" });
  const said = (words) => (words ? [h("div", { class: "tgv-network-words" }, words)] : []);
  host.classList.remove("tgv-network");
  host.replaceChildren(...said(picture.heading), stage, ...said(picture.caption));
  const network = new NetworkStage(stage, picture, { maxHeight: 620, label: "Network" });
  network.map.element.after(zoomTools("network", { zoom: (factor) => network.zoom(factor), fit: () => network.home() }));
  comeIntoSight(host);
  return network;
};
