// A drawn network where there is no widget: in the output of a cell, in a page of its own. `export/files.py` puts this there.
import { NetworkStage } from "./js/network.js";

globalThis.vizNetwork = (host, picture) => new NetworkStage(host, picture, { maxHeight: 620, label: "Network" });
