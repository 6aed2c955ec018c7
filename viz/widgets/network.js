// A drawn network without a widget: in the output of a cell, or in a separate page. `export/files.py` inserts it.
import { NetworkStage } from "./js/network.js";

globalThis.vizNetwork = (host, picture) => new NetworkStage(host, picture, { maxHeight: 620, label: "Network" });
