// The playground: settings of a small network and of a second one, the plane that they learn, the loss, the gradients.
//
// The page asks (`asked`, each time with all settings) and Python answers (`frame`); while it plays, each answer triggers the
// next request. So nothing runs unseen, and the kernel is free in between.
import { CodeList, copy } from "./js/code.js";
import { button, h, icon } from "./js/dom.js";
import { widget, wonder } from "./js/model.js";
import { Neurons } from "./js/neurons.js";
import { Plane } from "./js/plane.js";
import { mountPlayer } from "./player.js";

const PAUSE = 30; // milliseconds from one picture to the next
const TOGETHER = 4; // pictures of one answer: JupyterLab does more for a message than for a picture
const CALM = 400; // where nothing is to move fast
const SLOW = 1200; // after which somebody wonders
const NARROW = 5; // layers of a network that is shown as such at first
const ALIVE = 300; // steps that it takes by itself, when it is first seen
const LOST = 5000; // after which a question is asked again
const LETTERS = ["A", "B"];
const WAITING = "Waiting for Python. If a cell runs, this continues after it.";
const SPEEDS = [[1, "1 step a frame"], [5, "5 steps a frame"], [25, "25 steps a frame"]];

function renderPlayground({ model, el, listen }) {
  let { data, points, settings } = model.get("task");
  let looked = 0; // the run whose settings, colours and step are shown
  let at = -1; // the step that is looked at; -1 is the present
  let playing = false;
  let alive = false; // whether it plays by itself, until somebody touches it
  const plain = !settings[1] && settings[0].layers <= NARROW; // of many layers, and of two settings, the charts say more
  let resting = plain ? "network" : "training"; // what is shown again after the stage
  let view = resting;
  let pointed = false; // whether the plane shows what one neuron computes
  let label = 0; // the class of the points that are put
  let sequence = 0;
  let sent = null; // the question under way: {seq, time}
  let next = null; // what is to be asked after it
  let timer = 0;
  let slow = 0;
  let player = null;
  let wide = 0; // pixels that the charts have
  let waiting = []; // pictures that are not drawn yet
  let last = 0; // when a picture was drawn
  let touched = false;
  let shown = -1; // the step of the last frame
  let taken = null; // the last answer
  let told = ""; // what was said last: it is not said again at each picture
  const own = Math.random().toString(36).slice(2, 8);

  // --- asking ---

  function ask(what = {}) {
    if (sent && Date.now() - sent.time < LOST) {
      next = { ...next, ...what };
      return;
    }
    if (!what.frames) waiting = []; // what is asked for now comes instead of them
    sent = { seq: `${own}-${(sequence += 1)}`, time: Date.now() };
    next = null;
    model.set("asked", { data, points, settings, looked, at, playing, wide, ...what, seq: sent.seq });
    model.save_changes();
    clearTimeout(slow);
    if (!alive) slow = wonder(model, say, WAITING, SLOW);
  }

  /** What is asked while it plays. */
  function more(calm = false) {
    const steps = Number(speed.value);
    return calm ? { steps: (steps * CALM) / PAUSE, frames: 1 } : { steps, frames: TOGETHER };
  }

  /** Draw the next picture when it is due. While it plays, Python is asked for more before they run out. */
  function tick() {
    clearTimeout(timer);
    if (playing && !root.isConnected) play(false);
    if (!waiting.length) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const due = last + (calm ? CALM : PAUSE) - Date.now();
    timer = setTimeout(() => requestAnimationFrame(() => {
      if (!waiting.length) return;
      last = Date.now();
      const picture = waiting.shift();
      // Python is at the next ones while this one is drawn.
      if (playing && !sent && waiting.length < TOGETHER - 1) ask(more(calm));
      draw(picture, true);
      tick();
    }), Math.max(0, due));
  }

  function play(wanted) {
    showPlaying(wanted);
    if (playing) at = -1;
    if (playing) ask(more());
    else if (sequence) ask(); // the still of a saved notebook is made when it rests
  }

  function showPlaying(wanted) {
    playing = wanted;
    playButton.replaceChildren(icon(playing ? "pause" : "play"));
    playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
    playButton.title = playing ? "Pause (Space)" : "Play (Space)";
  }

  function step() {
    at = -1;
    if (playing) play(false);
    ask({ steps: 1 });
  }

  function begin() {
    at = -1;
    ask({ begin: true });
  }

  /** A setting has changed: restart both networks, and continue if they were playing. */
  function changed() {
    at = -1;
    drawControls();
    ask(playing ? { steps: Number(speed.value) } : {});
  }

  // --- settings ---

  const set = (name, value) => {
    settings = settings.map((one, run) => (run === looked ? { ...one, [name]: value } : one));
    changed();
  };
  const rows = model.get("task").rows.map(([name, text, kind, choices]) => {
    const row = { name, kind, choices, mark: h("span", { class: "tgv-ground-other", "aria-hidden": "true" }), field: null };
    const id = `${own}-${name}`;
    if (kind === "switch") {
      row.field = h("input", { type: "checkbox", id, onchange: () => set(name, row.field.checked) });
      row.control = row.field;
    } else if (kind === "choice") {
      row.field = h("select", { id, onchange: () => set(name, row.choices.find(([value]) => String(value) === row.field.value)[0]) },
        ...choices.map(([value, label]) => h("option", { value: String(value) }, label)));
      row.control = row.field;
    } else {
      const take = () => { if (row.field.value !== String(settings[looked][name])) set(name, numberOr(row.field.value)); };
      // JupyterLab handles Enter itself, and the field would not report its change.
      row.field = h("input", { id, inputmode: "decimal", size: 6, autocomplete: "off", onchange: take, onkeydown: (event) => event.key === "Enter" && take() });
      const turn = (by) => () => set(name, beside(choices, settings[looked][name], by));
      row.control = h("span", { class: "tgv-ground-count" },
        h("button", { type: "button", class: "tgv-ground-turn", "aria-label": `less ${text}`, onclick: turn(-1) }, "−"), row.field,
        h("button", { type: "button", class: "tgv-ground-turn", "aria-label": `more ${text}`, onclick: turn(1) }, "+"));
    }
    row.element = h("div", { class: "tgv-ground-setting" }, h("label", { for: id }, text, row.mark), h("div", {}, row.control));
    return row;
  });
  const tabs = LETTERS.map((letter, run) => {
    const tab = h("button", { type: "button", class: `tgv-ground-tab tgv-ground-tab-${letter}`, onclick: () => lookAt(run) });
    tab.innerHTML = `<svg class="tgc tgp" width="26" height="8" aria-hidden="true"><path class="path run${run}" d="M0 4H26"/></svg>`;
    tab.append(h("span", {}));
    return tab;
  });
  const drop = h("button", { type: "button", class: "tgv-ground-drop", "aria-label": "Take setting B away", title: "Take setting B away", onclick: () => {
    if (!settings[1]) return;
    settings = [settings[0], null];
    looked = 0;
    changed();
  } }, "×");

  function lookAt(run) {
    looked = run;
    if (run && !settings[1]) {
      settings = [settings[0], { ...settings[0] }];
      return changed();
    }
    drawControls();
    drawCode();
    ask();
  }

  function drawControls() {
    const shown = settings[looked];
    tabs.forEach((tab, run) => {
      tab.setAttribute("aria-pressed", String(run === looked));
      tab.lastChild.textContent = settings[run] ? LETTERS[run] : "+ beside it";
      tab.setAttribute("aria-label", settings[run] ? `Setting ${LETTERS[run]}` : "Add a second setting");
    });
    drop.setAttribute("aria-disabled", String(!settings[1]));
    for (const { name, kind, field, mark } of rows) {
      if (kind === "switch") field.checked = shown[name];
      else field.value = String(shown[name]);
      const other = Boolean(settings[1]) && settings[0][name] !== settings[1][name];
      mark.textContent = other ? " ≠" : "";
      mark.title = other ? `A: ${settings[0][name]}, B: ${settings[1][name]}` : "";
    }
    root.dataset.points = data;
    for (const choice of dataButtons) choice.setAttribute("aria-pressed", String(choice.value === data));
    for (const [each, one] of classButtons.entries()) one.setAttribute("aria-pressed", String(each === label));
    clear.setAttribute("aria-disabled", String(data !== "own"));
  }

  // --- points ---

  const plane = new Plane({ onPress: (x, y, away) => {
    if (data !== "own") return say("To add points, choose own points above.");
    const most = model.get("task").limits.points;
    if (!away && points.length >= most) return say(`There are ${most} points: more would hide the plane.`);
    points = away ? Plane.without(points, x, y) : [...points, [Number(x.toFixed(3)), Number(y.toFixed(3)), label]];
    changed();
  } });
  const classButtons = ["class 0", "class 1"].map((text, each) => {
    const one = h("button", { type: "button", class: "tgv-ground-class", title: "The class of the points that you put", onclick: () => { label = each; drawControls(); } });
    one.innerHTML = `<svg class="tgc tgp" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">${each ? '<rect class="class1" x="2" y="2" width="8" height="8"/>' : '<circle class="class0" cx="6" cy="6" r="4.6"/>'}</svg>`;
    one.append(text);
    return one;
  });
  const clear = h("button", { type: "button", class: "tgv-text-button", onclick: () => {
    if (data !== "own") return say("Only your own points can be removed: choose own points above.");
    points = [];
    changed();
  } }, "clear");
  const dataButtons = model.get("task").names.map((name) =>
    h("button", { type: "button", class: "tgv-choice", value: name, onclick: () => { data = name; changed(); } }, name === "own" ? "own points" : name));

  // --- frame ---

  const neurons = new Neurons({
    onFeature: (name) => {
      const now = settings[looked].features.split(" ");
      const wanted = now.includes(name) ? now.filter((one) => one !== name) : [...now, name];
      if (!wanted.length) return say("The network needs one feature at least.");
      set("features", wanted.join(" "));
    },
    onLook: (text, picture) => {
      const frame = model.get("frame");
      if (picture) plane.show(picture, "");
      else if (pointed) plane.show(frame.heat, frame.lines);
      pointed = picture !== null;
      say(text ?? frame.said, playing);
    },
  });
  const views = ["network", "training", "code"].map((name) => h("button", { type: "button", class: "tgv-choice", onclick: () => show(name) }, name));
  const back = h("button", { type: "button", class: "tgv-text-button", onclick: () => show(resting) }, "← back");
  const charts = h("div", { class: "tgv-ground-charts" });
  const copyButton = h("button", { type: "button", class: "tgv-text-button", onclick: () => copy(text(), listing, copyButton) }, "copy");
  const callButton = h("button", { type: "button", class: "tgv-text-button", title: "The line that makes this playground again", onclick: () => copy(model.get("frame").call, listing, callButton) }, "copy the call");
  const listing = h("div", { class: "tgv-ground-listing" });
  const sheet = h("div", { class: "tgv-ground-sheet", hidden: true },
    h("div", { class: "tgv-ground-sheet-bar" }, h("span", { class: "tgv-label" }, "This is what runs here, to the letter; it runs in any notebook."), h("span", { class: "tgv-spring" }), callButton, copyButton), listing);
  const reset = button("first", "Begin anew", "Home", begin);
  const playButton = button("play", "Play", "Space", () => play(!playing));
  const stepButton = button("step", "One step", "→", step);
  const speed = h("select", { "aria-label": "Speed" }, ...SPEEDS.map(([steps, text]) => h("option", { value: String(steps) }, text)));
  const slider = h("input", { type: "range", class: "tgv-scrubber", min: 0, max: 0, step: 1, "aria-label": "Step", oninput: () => {
    const { stops } = model.get("frame");
    if (playing) play(false);
    at = slider.value === slider.max ? -1 : stops[Number(slider.value)];
    ask();
  } });
  const counter = h("output", { class: "tgv-counter", "aria-live": "off" });
  const open = h("button", { type: "button", class: "tgv-text-button tgv-ground-open", onclick: () => {
    if (!model.get("frame").opens) return say("Take a step first: then it can be opened.");
    if (playing) play(false);
    say("The step runs again, and every gradient is recorded…");
    ask({ open: looked });
  } }, "open this step");
  const sentences = LETTERS.map(() => h("p", { class: "tgv-ground-told" }));
  const note = h("p", { class: "tgv-ground-said", role: "status" });
  const stage = h("div", { class: "tgv-ground-step-stage", hidden: true });
  const dataChoices = h("div", { class: "tgv-choices", role: "group", "aria-label": "Data" }, ...dataButtons);
  const viewChoices = h("div", { class: "tgv-choices", role: "group", "aria-label": "View" }, ...views);
  const right = h("div", { class: "tgv-ground-right" },
    h("div", { class: "tgv-ground-scene" }, neurons.element, h("div", { class: "tgv-ground-field" }, plane.element, h("div", { class: "tgv-ground-hand", role: "group", "aria-label": "Points" }, ...classButtons, h("span", { class: "tgv-spring" }), clear)), charts), sheet);
  const body = h("div", { class: "tgv-ground" },
    h("div", { class: "tgv-ground-settings-column", role: "group", "aria-label": "Settings" },
      h("div", { class: "tgv-ground-tabs", role: "group", "aria-label": "Setting" }, ...tabs, drop), ...rows.map(({ element }) => element)), right);
  const foot = h("div", { class: "tgv-controls" }, reset, playButton, stepButton, speed, h("div", { class: "tgv-scrub" }, slider), counter, open);
  const head = h("div", { class: "tgv-head" }, h("div", { class: "tgv-title" }, "Playground"), dataChoices, h("span", { class: "tgv-spring" }), viewChoices);
  const root = h("div", { class: "tgv tgv-playground", role: "group", "aria-label": "Playground", tabindex: "-1" },
    head, body, foot, h("div", { class: "tgv-ground-words", scrolls: "What happens, in words" }, ...sentences, note), stage);
  const style = h("div", { hidden: true });
  style.innerHTML = model.get("task").look;
  el.replaceChildren(style, root);

  const text = () => model.get("task").code[looked] ?? "";

  /** Show the "network", the "training", its "code", or a step on the "stage". */
  function show(name) {
    const before = view;
    view = name;
    root.dataset.view = name;
    sheet.hidden = name !== "code";
    right.firstElementChild.hidden = name === "code";
    const staged = name === "stage";
    for (const part of [head, body, foot, foot.nextElementSibling]) part.hidden = staged;
    stage.hidden = !staged;
    if (name === "network" || name === "training") resting = name;
    if (name !== "network") neurons.release();
    views.forEach((choice) => choice.setAttribute("aria-pressed", String(choice.textContent === name)));
    if (name === "code") drawCode();
    if (!staged && player) {
      player.destroy();
      player = null;
    }
    if (staged) stage.querySelector(".tgv-head").prepend(back);
    if (staged) back.focus({ preventScroll: true });
    else if (before === "stage") open.focus({ preventScroll: true });
  }

  function drawCode() {
    if (view !== "code") return;
    const top = listing.firstElementChild?.scrollTop ?? 0;
    listing.replaceChildren(new CodeList(text().trimEnd().split("\n"), "The program that runs").element);
    listing.firstElementChild.scrollTop = top;
  }

  function openStage() {
    const scene = model.get("scene");
    if (!scene.views) return;
    player?.destroy();
    stage.hidden = false; // what is laid out must be in the page
    // At the end of the backward pass: every layer has the colour of its gradient.
    player = mountPlayer(stage, scene, { besides: -62, step: scene.steps.findLastIndex(({ phase }) => phase === "backward") });
    show("stage");
    root.scrollIntoView({ block: "nearest" });
  }

  function say(words, quietly = false) {
    if (words === told) return;
    told = words;
    note.setAttribute("aria-live", quietly ? "off" : "polite"); // what changes at each frame is read, not heard
    note.textContent = words;
  }

  function drawTask() {
    const task = model.get("task");
    plane.setTask(task.dots, task.limits.reach);
    drawCode();
  }

  /** An answer has come: its pictures are drawn one after the other. */
  function take() {
    const frame = model.get("frame");
    const mine = sent !== null && frame.seq === sent.seq;
    if (sent && frame === taken) { // a page with no Python gives the old answer once more, and says why itself
      clearTimeout(slow);
      sent = next = null;
      ({ data, points, settings } = model.get("task"));
      looked = frame.looked;
      showPlaying(false);
      drawControls();
    }
    taken = frame;
    if (mine) {
      clearTimeout(slow);
      sent = null;
    }
    // On a live page, the request that found no Python is sent to this widget instead of the one that made it.
    if (frame.playing && !sequence && !frame.over) play(true);
    const goesOn = playing && mine && !next;
    waiting = goesOn ? [...waiting, ...frame.before, frame] : [];
    if (next) ask(next);
    if (goesOn) tick();
    else draw(frame, mine);
  }

  /** Draw a picture; one between two answers has what moves fast only. */
  function draw(frame, mine) {
    if (frame.network) neurons.show(settings[frame.looked].features.split(" "), frame.network, frame.at !== shown);
    if (!pointed) plane.show(frame.heat, frame.lines);
    shown = frame.at;
    counter.textContent = `step ${frame.at.toLocaleString("en")}`;
    if (frame !== taken) return;
    charts.innerHTML = frame.charts; // made by viz, every text in it escaped
    slider.max = String(frame.stops.length - 1);
    const place = frame.present ? frame.stops.length - 1 : frame.stops.findLastIndex((stop) => stop <= frame.at);
    if (document.activeElement !== slider || mine) slider.value = String(place);
    slider.setAttribute("aria-valuetext", `step ${frame.at}`);
    const both = frame.sentences.length > 1;
    sentences.forEach((sentence, run) => {
      const words = frame.sentences[run] ?? "";
      if (sentence.textContent !== words) sentence.replaceChildren(...(both && words ? [h("b", {}, LETTERS[run]), ` ${words}`] : [words]));
    });
    open.setAttribute("aria-disabled", String(!frame.opens));
    root.classList.toggle("tgv-ground-over", frame.over);
    if (frame.said || !neurons.looking) say(frame.said);
    note.classList.toggle("tgv-ground-refusal", Boolean(frame.said));
    if (playing && (frame.over || frame.said || (alive && frame.taken >= ALIVE))) {
      alive = false;
      play(false);
    }
  }

  root.addEventListener("keydown", (event) => {
    if (view === "stage" && event.key === "Escape") {
      show(resting);
      event.preventDefault();
      return;
    }
    if (view === "stage" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.matches("input, select, .tgv-ground-plane, .tgv-code") || (event.key === " " && target.tagName === "BUTTON")) return;
    const action = { " ": () => play(!playing), ArrowRight: step, Home: begin }[event.key];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  });

  /** Begin to play by itself, where Python runs, nothing was learned yet, and motion is welcome. */
  async function wake() {
    const real = await model.widget_manager?.get_model?.(model.get("own_id"));
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!plain || !real?.comm || calm || sequence || touched || !root.isConnected || model.get("frame").taken) return;
    alive = true;
    play(true);
  }
  function touch(event) {
    touched = true;
    if (!alive) return;
    alive = false;
    if (!playButton.contains(event.target)) play(false);
  }
  root.addEventListener("pointerdown", touch, true);
  root.addEventListener("keydown", touch, true);
  const sight = new IntersectionObserver(([seen]) => {
    if (!seen.isIntersecting) return;
    sight.disconnect();
    wake();
  }, { threshold: 0.5 });
  sight.observe(root);
  listen({
    "change:task": () => {
      if (!sent) ({ data, points, settings } = model.get("task"));
      drawTask();
      drawControls();
    },
    "change:frame": take,
    "change:scene": openStage,
  });
  const measure = new ResizeObserver(() => {
    const now = 10 * Math.round(charts.clientWidth / 10);
    if (!now || now === wide) return;
    wide = now;
    if (sequence) ask(); // the charts are drawn for the room there is; a page with no Python is not bothered at once
  });
  measure.observe(charts);
  looked = model.get("frame").looked;
  neurons.setFeatures(model.get("task").features);
  show(resting);
  drawTask();
  drawControls();
  take();
  return () => {
    playing = false;
    clearTimeout(timer);
    clearTimeout(slow);
    measure.disconnect();
    sight.disconnect();
    player?.destroy();
  };
}

/** The typed text as a number; the text itself if it is not one, so that Python can refuse it. */
function numberOr(text) {
  const number = Number(text.replace(",", "."));
  return text.trim() === "" || !Number.isFinite(number) ? text.trim() : number;
}

/** The next of `choices` above (`by` 1) or below (-1) a value. */
function beside(choices, value, by) {
  const sorted = by > 0 ? choices : [...choices].reverse();
  return sorted.find((choice) => (choice - value) * by > 1e-12) ?? (choices.includes(value) ? value : sorted.at(-1));
}

export default widget(renderPlayground);
