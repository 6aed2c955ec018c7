// A widget's model (anywidget): the values of its traits, and listeners to their changes.
import { stayAwake } from "./awake.js";
import { comeIntoSight } from "./sight.js";

/** The module of a widget, for anywidget: `export default widget(render)`. */
export function widget(render) {
  return {
    initialize: stayAwake,
    async render(context) {
      const end = await render(context);
      const stay = comeIntoSight(context.el);
      return () => {
        stay();
        end?.();
      };
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

/** Register `listeners` ({"change:step": f, …}) at the model; returns a function that removes them. */
export function listen(model, listeners) {
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}
