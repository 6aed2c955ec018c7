// A page that is busy for two seconds while a widget's module is loaded makes anywidget give up on the model: its picture
// comes, but nothing that Python sends is heard any more. Here the model hears again, and is told what it has missed.
// `widget` in model.js puts this into the module of every widget.

/** anywidget's `initialize`: see to it that the model, whose id is in its trait `own_id`, hears what Python sends. */
export function stayAwake({ model }) {
  hear(model); // not waited for: anywidget itself waits for us before a model hears
}

async function hear(model) {
  const real = await model.widget_manager.get_model(model.get("own_id"));
  if (!real.comm) return; // a page without Python
  try {
    await real._handle_comm_msg({ content: { data: { method: "" } } }); // nothing, and refused by a model that is deaf
  } catch {
    const plain = Object.getPrototypeOf(Object.getPrototypeOf(real))._handle_comm_msg;
    real._handle_comm_msg = plain;
    real.comm.on_msg(plain.bind(real));
    real.comm.send({ method: "request_state" }, {});
  }
}
