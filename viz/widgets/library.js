// The code of a widget in Jupyter: it fetches the widget's own code, which is kept once in a notebook for all widgets of a kind
// (`library.py`). A saved notebook would otherwise hold it for each of them.
import { stayAwake } from "./js/awake.js";

const PATIENCE = 50; // times that the library is asked for: a notebook that opens may make it after us
const AGAIN_MS = 200;

const fetched = new Map(); // promises, by library

async function libraryOf(model) {
  const id = model.get("library");
  for (let asked = 1; ; asked++) {
    try {
      return await model.widget_manager.get_model(id);
    } catch (error) {
      if (asked === PATIENCE) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function moduleOf(model) {
  const library = await libraryOf(model);
  const style = Object.assign(document.createElement("style"), { textContent: library.get("style") });
  document.head.append(style);
  const url = URL.createObjectURL(new Blob([library.get("script")], { type: "text/javascript" }));
  return import(url).finally(() => URL.revokeObjectURL(url));
}

async function render(context) {
  const { model, el } = context;
  const id = model.get("library");
  if (!fetched.has(id)) fetched.set(id, moduleOf(model));
  try {
    return (await fetched.get(id)).default.render(context);
  } catch (error) {
    fetched.delete(id);
    el.textContent = "The code of this widget is not in the notebook. Run the cell again.";
    throw error;
  }
}

export default { initialize: stayAwake, render };
