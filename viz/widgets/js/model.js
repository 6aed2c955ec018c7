// A widget's model (anywidget): the values of its traits, and listeners to their changes.
import { stayAwake } from "./awake.js";
import { ownTheKeys } from "./dom.js";
import { comeIntoSight } from "./sight.js";

/**
 * The module of a widget, for anywidget: `export default widget(render)`. `render({ model, el, set, listen })` may return what ends
 * it. `set(name, value)` sends a trait to Python; `listen({"change:step": f, …})` hears the model for as long as the widget is there.
 */
export function widget(render) {
  return {
    initialize: stayAwake,
    async render({ model, el }) {
      const ends = [ownTheKeys(el)];
      const set = (name, value) => {
        model.set(name, value);
        model.save_changes();
      };
      const listen = (listeners) => {
        for (const [event, listener] of Object.entries(listeners)) {
          model.on(event, listener);
          ends.push(() => model.off(event, listener));
        }
      };
      const end = await render({ model, el, set, listen });
      ends.push(comeIntoSight(el), () => end?.(), () => el.replaceChildren());
      return () => ends.forEach((each) => each());
    },
  };
}

export const GONE = "Python no longer runs behind this widget. Run its cell again.";

/** Whether Python hears the model: no longer after the kernel was restarted. */
export async function isHeard(model) {
  const real = await model.widget_manager?.get_model?.(model.get("own_id"));
  return real?.comm_live ?? true;
}

/** Tell, after a moment, what somebody waits for; returns a timer. */
export function wonder(model, tell, text = "Running…", moment = 700) {
  return setTimeout(async () => tell((await isHeard(model)) ? text : GONE), moment);
}
