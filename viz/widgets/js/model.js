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

/** Register `listeners` ({"change:step": f, …}) at the model; returns a function that removes them. */
export function listen(model, listeners) {
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}
