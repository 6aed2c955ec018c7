// A widget's model (anywidget): what its traits say, and what is done when they change.
import { stayAwake } from "./awake.js";
import { comeIntoSight } from "./sight.js";

/** The module of a widget, for anywidget: `export default widget(render)`. */
export function widget(render) {
  return {
    initialize: stayAwake,
    render(context) {
      const end = render(context);
      const stay = comeIntoSight(context.el);
      return () => {
        stay();
        end?.();
      };
    },
  };
}

/** Call `listeners` ({"change:step": f, …}) as the model says; returns what ends that. */
export function listen(model, listeners) {
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
  };
}
