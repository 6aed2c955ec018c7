// The table of tensors: a row for each named tensor, with its value and its `.grad` on each engine.
import { h } from "./dom.js";

const LONG = 24; // characters of a gradient that two columns have no room for twice

/** Fill `table` with a row for each of `entries`, as Python sends them; `engines` are the sides that have run. */
export function drawTable(table, engines, entries) {
  const both = engines.length > 1;
  const heads = ["tensor", "value", ...engines.map(({ engine }) => `.grad, ${engine === "torch" ? "PyTorch" : engine}`)];
  const rowOf = (entry) => {
    const grads = engines.map(({ engine }) => entry.grad[engine]);
    // Equal reasons are written once, across both columns, and so are equal matrices.
    const once = both && grads[0] === grads[1] && (grads[0].startsWith("None") || grads[0].length > LONG);
    const cells = (once ? grads.slice(0, 1) : grads).map((grad) =>
      h("td", { class: grad.startsWith("None") ? "tgv-no-grad" : "tgv-grad", colspan: once ? "2" : null }, grad));
    const about = `${entry.leaf ? "leaf" : entry.grad_fn}, ${entry.requires_grad ? "requires grad" : "requires no grad"}`;
    const same = h("td", { class: entry.agree ? "tgv-same" : "tgv-differs" },
      h("span", { role: "img", title: entry.differs || null, "aria-label": entry.agree ? "same" : `different: ${entry.differs}` },
        entry.agree ? "✓" : "≠"));
    const name = entry.name.split(/(?<=\.)/).flatMap((part) => [part, h("wbr", {})]); // net.0.weight breaks at its dots
    return h("tr", {}, h("th", { scope: "row", title: about }, ...name), h("td", {}, entry.value), ...cells, both ? same : null);
  };
  table.replaceChildren(
    h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)), both ? h("th", { scope: "col" }, "same") : null)),
    h("tbody", {}, ...entries.map(rowOf)));
}
