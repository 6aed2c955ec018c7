// If a page is busy for two seconds while a widget's module loads, anywidget gives up on the model: its picture appears, but
// nothing that Python sends is received any more. Here the model listens again, and gets what it has missed.
// `widget` in model.js puts this into the module of every widget.

/** anywidget's `initialize`: make sure that the model, whose id is in its trait `own_id`, receives what Python sends. */
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
