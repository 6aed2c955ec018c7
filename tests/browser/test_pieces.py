"""The parts of the widgets' pages, each by itself in a blank page: no notebook, no kernel."""

import itertools
import random
from typing import Any

import pytest
from support.harness import new_page
from support.stage_programs import PROGRAMS

import viz
from viz.experiments.parts import Part
from viz.experiments.program import parse
from viz.experiments.switches import offers, pressed, presses
from viz.export import bundle
from viz.picture.fit import LAPTOP, PHONE

pytestmark = pytest.mark.outer(start=3)
LINE = "x = T.tensor(3.0)\nw = T.tensor(2.0, requires_grad=True)\nL = (w * x - 5) ** 2\nL.backward()"
FAILS = "x = T.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()\ny.backward()"


class Piece:
    """A blank page with modules in it; `run` gives them to a function as `m` and what else is passed as `given`."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def run(self, name: str, body: str, given: Any = None) -> Any:
        return self.page.evaluate(
            """async ([source, style, body, given]) => {
                document.head.replaceChildren(Object.assign(document.createElement("style"), { textContent: style }));
                document.body.innerHTML = '<div id="host" class="tgv" style="width: 640px"></div>';
                const m = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
                const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                const wait = (ms) => new Promise((done) => setTimeout(done, ms));
                const down = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
                const f = new (async () => {}).constructor("m", "given", "host", "frame", "wait", "down", body);
                return f(m, given, document.getElementById("host"), frame, wait, down);
            }""",
            [bundle.script(f"js/{name}.js"), bundle.style(f"js/{name}.js"), body, given],
        )


@pytest.fixture(scope="module")
def page(browser: Any) -> Any:
    opened = new_page(browser, viewport={"width": 900, "height": 700}, reduced_motion="no-preference")
    yield opened
    opened.context.close()


@pytest.fixture
def piece(page: Any) -> Piece:
    return Piece(page)


def scene(program: str, **options: Any) -> dict[str, Any]:
    return viz.record(program).scene(**options)


# --- what needs no picture ---

CODE = 'const p = document.createElement("p"); p.append(...m.highlights(given.split("\\n"))); return '
CELLS = '<div class="cell" id="asks"></div><p id="a"></p><p id="b"></p><div class="cell" id="c"></div><p id="d"></p>'
FOLLOWING = 'host.innerHTML = given; return m.following(host.querySelector("#asks"), 2).map((one) => one.id)'
PANNED = """
const whole = { x: 0, y: 0, w: 100, h: 400 }, view = { x: 0, y: 100, w: 100, h: 200 };
const inside = m.panned(view, whole, 30, 50), past = m.panned(view, whole, 0, 150);
return [inside.view.x, inside.view.y, inside.left, past.view.y, past.left, m.touchAction(view, whole),
  m.touchAction(whole, whole), m.touchAction({ w: 50, h: 400 }, whole)];
"""
FINGERS = """
const calls = [];
const touch = (type, x, y, pointerId = 1) => host.dispatchEvent(new PointerEvent("pointer" + type, { bubbles: true,
  pointerType: "touch", pointerId, clientX: x, clientY: y, buttons: 1 }));
m.listenToFingers(host, { pan: (dx, dy) => { calls.push(["pan", dx, dy]); return 0; },
  zoom: (factor, { clientX, clientY }) => calls.push(["zoom", factor, clientX, clientY]) });
touch("down", 10, 10);
touch("move", 12, 11); // a tap that trembles
touch("move", 30, 10);
touch("down", 130, 10, 2);
touch("move", 230, 10, 2);
touch("up", 230, 10, 2);
touch("up", 30, 10);
touch("move", 90, 90);
return calls;
"""
LISTENS = """
const listeners = new Map(), heard = [];
const model = { on: (event, f) => listeners.set(event, f), off: (event) => listeners.delete(event) };
const show = ({ el, listen }) => { el.append("shown"); listen({ "change:step": () => heard.push("step") }); };
const end = await m.widget(show).render({ model, el: host });
listeners.get("change:step")(); const shown = host.textContent; end();
return [heard, listeners.size, shown, host.textContent]
"""
PRESSES = """const state = {}; return given.map((offer) => {
    m.put(state, offer, m.isOn(state, offer) ? offer.off : offer.on);
    return structuredClone(state);
});"""
PARTS = [Part(path, 1, "", False, True) for path in ("net", "net.0", "net.0.weight")]
CALLS = parse(f"net = 1\n{FAILS}")
OFFERS = random.Random(3).choices(presses(offers(CALLS, CALLS.values, PARTS)), k=300)
PRESSED = list(itertools.accumulate(OFFERS, pressed, initial={}))[1:]
SIGHT = "return given.map(([top, bottom]) => m.farEnough({ top, bottom }, { top: 100, bottom: 600 }))"
LINES = ["w = T.tensor(2.0)  # <b>", "f'{x!r}' if True else None", "", 'a = "#not"', "x_1 = 1e-3"]
KINDS = f"{CODE}[...p.querySelectorAll('span')].map((each) => [each.className, each.textContent])"
MARKED = [["tgv-keyword", "with"], ["tgv-string", "'a'"], ["tgv-number", "2"], ["tgv-comment", "# no"]]
OVER_LINES = [["tgv-string", "'''a # b"], ["tgv-string", "if c'''"], ["tgv-number", "1"]]
SMALL = {
    "past its edge the page moves": ("touch", PANNED, None, [0, 150, 0, 200, 50, "none", "pan-x pan-y", "pan-y"]),
    "one finger pans, two zoom": ("touch", FINGERS, None, [["pan", 20, 0], ["zoom", 2, 130, 10], ["pan", 50, 0]]),
    "text is never HTML": (
        "dom",
        'return m.h("p", { title: "<b>" }, given).innerHTML',
        "<img src=x>",
        "&lt;img src=x&gt;",
    ),
    **{f"highlighted code is the code: {one}": ("code", f"{CODE}p.textContent", one, one) for one in LINES},
    "the kinds of words are marked": ("code", KINDS, "with T.no_grad(): y = 'a' * 2  # no", MARKED),
    "a string goes on over lines": ("code", KINDS, "'''a # b\nif c'''; 1", OVER_LINES),
    "text of a page counts as one cell": ("cover", FOLLOWING, CELLS, ["a", "b", "c"]),
    "a section ends what follows": ("cover", FOLLOWING, CELLS.replace('<p id="b"></p>', "<section></section>"), ["a"]),
    # In sight, cut below, below, too high for the place (its top is seen), cut above.
    "into sight": (
        "sight",
        SIGHT,
        [[100, 500], [300, 700], [700, 900], [200, 1200], [-50, 400]],
        [0, 108, 308, 92, -158],
    ),
    "a press is as in Python": ("switches", PRESSES, OFFERS, PRESSED),
    "a widget that is ended hears nothing": ("model", LISTENS, None, [["step"], 0, "shown", ""]),
}


@pytest.mark.parametrize(("module", "body", "given", "expected"), SMALL.values(), ids=SMALL)
def test_a_small_piece(piece: Piece, module: str, body: str, given: Any, expected: Any) -> None:
    assert piece.run(module, body, given) == expected


# --- stepper ---

STEPPER = """
const asked = [];
const stepper = new m.Stepper({ onGo: (step) => { asked.push(step); stepper.show(step); } });
host.append(stepper.element);
stepper.setSteps(["start", "forward", "forward", "backward"].map((phase, i) => ({ phase, title: "step " + i })));
stepper.show(0);
const press = (key) => stepper.element.dispatchEvent(down(key));
stepper.element.addEventListener("keydown", (event) => stepper.key(event));
"""


def test_keys_step_and_stop_at_the_ends(piece: Piece) -> None:
    body = 'for (const key of ["ArrowLeft", "ArrowRight", "End", "ArrowRight", "Home", "a"]) press(key); return asked'
    assert piece.run("stepper", STEPPER + body) == [1, 3, 0]


def test_it_plays_to_the_end_and_its_button_says_what_it_does(piece: Piece) -> None:
    body = (
        STEPPER
        + """
        const name = () => stepper.playButton.getAttribute("aria-label");
        stepper.setSpeed(4); stepper.show(2); stepper.play(); const playing = name(); await wait(900);
        return [asked, playing, name(), stepper.playing]"""
    )
    assert piece.run("stepper", body) == [[3], "Pause", "Play", False]


def test_neighbouring_steps_of_one_phase_are_one_stretch(piece: Piece) -> None:
    found = piece.run("stepper", STEPPER + "return m.runsOf(stepper.steps)")
    assert found == [["start", 1], ["forward", 2], ["backward", 1]]


# --- stage ---

STAGE = """
const stage = new m.Stage(host, { height: given.height ?? 400 });
host.style.width = (given.width ?? 640) + "px";
await frame();
stage.show(given.scene, given.view ?? "values", given.step ?? 0);
await frame();
const place = stage.frame.getBoundingClientRect();
const texts = () => [...stage.svg.querySelectorAll("text")].filter((one) => one.textContent && one.getBBox().width);
const inside = (one) => {
    const box = one.getBoundingClientRect();
    const over = [place.left - box.left, box.right - place.right, place.top - box.top, box.bottom - place.bottom];
    return Math.max(...over) <= 0.5;
};
const size = (one) => one.getScreenCTM().a * parseFloat(getComputedStyle(one).fontSize);
const letters = () => Math.min(...texts().map(size));
"""


@pytest.mark.parametrize(("width", "height"), [(600, 400), (900, 300), (1100, 560), (330, 420)])
def test_a_graph_is_whole_at_rest_and_can_be_read(piece: Piece, width: int, height: int) -> None:
    given = {"scene": scene(LINE), "width": width, "height": height, "step": 3}
    all_inside, least = piece.run("stage", STAGE + "return [texts().every(inside), letters()]", given)
    assert all_inside
    assert least >= 9.95


def test_the_readable_picture_that_tells_most_is_shown(piece: Piece) -> None:
    given = {"scene": scene(LINE, rooms=(LAPTOP, PHONE))}
    body = """return [[600, 400], [330, 420], [2000, 1500]].map((size) => {
        const one = m.fittest(given.scene.views.values, ...size);
        return [m.lettersOf(one, ...size) >= 9.95, one.rank];
    })"""
    (on_laptop, on_phone, on_wall) = piece.run("stage", body, given)
    assert on_laptop[0]
    assert on_phone[0]
    assert on_wall[1] == on_laptop[1] <= on_phone[1]


LEGEND = """
const list = m.newLegend();
host.innerHTML = given.views[given.view ?? "values"].svg;
m.limitLegend(list, host.firstElementChild, given);
return [...list.children].filter((entry) => !entry.hidden).map((entry) => entry.dataset.kind);
"""


def test_the_legend_has_what_the_picture_uses_and_nothing_else(piece: Piece) -> None:
    flow = ["leaf", "input", "value", "op", "tab", "forward", "back"]
    assert piece.run("legend", LEGEND, scene(LINE)) == flow
    assert piece.run("legend", LEGEND, {**scene(LINE), "view": "grad_fn"}) == ["op", "accumulate", "tab", "back"]
    assert piece.run("legend", LEGEND, scene("x = T.tensor(1.0)")) == ["input"]
    plain = LINE.replace("L.backward()", "")
    assert piece.run("legend", LEGEND, scene(plain)) == flow[:-1], "no gradient flows"
    long = "w = T.tensor(1.0, requires_grad=True)\n" + "w = w * 2 + 1\n" * 150
    assert "fold" in piece.run("legend", LEGEND, scene(long))


TOOLS = (
    STAGE
    + """
const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
stage.host.dispatchEvent(new PointerEvent("pointerenter"));
const tools = stage.tools.getBoundingClientRect();
return [...stage.frame.querySelectorAll(".node")].filter((one) => meets(one.getBoundingClientRect(), tools)).length;"""
)


@pytest.mark.parametrize("height", [120, 180])  # of stages with a node in each corner
def test_the_buttons_that_zoom_lie_over_no_node(piece: Piece, height: int) -> None:
    assert piece.run("stage", TOOLS, {"scene": scene(PROGRAMS["mlp"]), "width": 300, "height": height}) == 0


def test_zoom_shows_where_one_is_and_fit_fits(piece: Piece) -> None:
    body = (
        STAGE
        + """
        const now = () => [stage.map.element.hidden, texts().every(inside), stage.svg.getAttribute("viewBox")];
        const seen = [now()];
        stage.zoom(2.5);
        seen.push(now());
        stage.fit();
        return [...seen, now()]"""
    )
    whole, zoomed, again = piece.run("stage", body, {"scene": scene(LINE)})
    assert whole[0] and zoomed[:2] == [False, False]
    assert again == [True, True, whole[2]]


def test_the_node_that_failed_is_in_sight_however_far_one_has_zoomed(piece: Piece) -> None:
    failing = scene(FAILS)
    last = len(failing["steps"]) - 1
    body = STAGE + f"stage.zoom(3); stage.go({last}); return inside(stage.svg.querySelector('.error'))"
    assert piece.run("stage", body, {"scene": failing, "step": last - 1})


MOVES = (
    STAGE
    + """
const chips = () => [...host.querySelectorAll('.tgv-flying')].map((one) => one.textContent);
await wait(400);
"""
)


@pytest.fixture(scope="module")
def moving() -> tuple[dict[str, Any], int]:
    """A scene, and its step in which a gradient goes back through a product."""
    made = scene(LINE)
    return made, next(at for at, step in enumerate(made["steps"]) if "× runs" in step["title"])


def test_a_gradient_travels_as_a_chip_with_its_numbers_and_is_gone_at_its_end(piece: Piece, moving: Any) -> None:
    made, step = moving
    body = MOVES + f"stage.go({step}); const seen = chips(); await wait(1300); return [seen, chips()]"
    # What comes, what is done to it, what goes on: one after the other.
    assert piece.run("stage", body, {"scene": made, "step": step - 1}) == [["22 × 3 = 66"], []]


def test_nothing_travels_in_quick_steps_or_jumps_or_where_motion_is_unwanted(piece: Piece, moving: Any) -> None:
    made, step = moving
    body = MOVES + f"stage.go({step - 1}); stage.go({step}); const quick = chips(); await wait(400);"
    body += f"stage.go(0); await wait(400); stage.go({step}); return [quick, chips()]"
    assert piece.run("stage", body, {"scene": made, "step": step - 2}) == [[], []]
    piece.page.emulate_media(reduced_motion="reduce")
    try:
        body = MOVES + f"stage.go({step}); return [chips(), document.getAnimations().length]"
        assert piece.run("stage", body, {"scene": made, "step": step - 1}) == [[], 0]
    finally:
        piece.page.emulate_media(reduced_motion="no-preference")


def test_what_stays_after_a_change_glides_and_what_is_gone_fades(piece: Piece) -> None:
    one, other = scene(LINE), scene(LINE.replace("w * x - 5", "w * x"))
    body = (
        STAGE
        + """stage.show(given.other, "values", 0);
        const seen = [document.getAnimations().length > 3, host.querySelectorAll(".tgv-ghost").length > 0];
        await wait(700);
        return [...seen, document.getAnimations().length, host.querySelectorAll(".tgv-ghost").length]"""
    )
    assert piece.run("stage", body, {"scene": one, "other": other}) == [True, True, 0, 0]


# --- neurons ---


def test_edges_have_the_size_and_sign_of_weights_and_gradients_in_both_themes(piece: Piece) -> None:
    shown = viz.playground(layers=7, width=9, steps=3)
    given = {"features": shown._features(), "network": shown._frame()["network"]}
    body = """
        host.style.cssText = "width: 640px; height: 420px; --tgv-class0: #0000ff; --tgv-class1: #ff0000";
        const looked = [], pressed = [];
        const one = new m.Neurons({ onFeature: (name) => pressed.push(name), onLook: (text) => looked.push(text) });
        host.append(one.element);
        one.element.style.height = "420px";
        one.setFeatures(given.features);
        one.show(["x1", "x2"], given.network, true);
        await frame(); await frame();
        const tiles = [...host.querySelectorAll(".tgv-neurons-tiles > .tgv-neurons-tile")];
        const boxes = tiles.map((tile) => tile.getBoundingClientRect());
        const bounds = one.element.getBoundingClientRect();
        host.querySelector("button[value='x1*x2']").click();
        tiles[3].dispatchEvent(new Event("pointerenter"));
        const edge = one.paths[0];
        tiles[3].dispatchEvent(new Event("pointerleave"));
        const [x1, y1, x2, y2] = edge.ends;
        const middle = { clientX: bounds.left + (x1 + x2) / 2, clientY: bounds.top + (y1 + y2) / 2 };
        one.canvas.dispatchEvent(new PointerEvent("pointermove", { ...middle, bubbles: true }));
        const picture = () => one.canvas.toDataURL();
        const before = picture();
        one.show(["x1", "x2"], given.network, false);
        const still = picture() === before;
        one.show(["x1", "x2"], given.network, true);
        const across = (a, b) => a.left >= b.left && a.right <= b.right;
        const within = (a, b) => across(a, b) && a.top >= b.top && a.bottom <= b.bottom;
        const above = (a, b) => a.right <= b.left || a.bottom <= b.top;
        return {
            tiles: tiles.length, heads: [...host.querySelectorAll(".tgv-neurons-head")].map((head) => head.textContent),
            inside: boxes.every((box) => within(box, bounds)),
            apart: boxes.every((a, i) => boxes.slice(i + 1).every((b) => above(a, b) || above(b, a))),
            edges: one.paths.map((e) => [e.linear, e.to, e.from, e.below, e.width, e.gradient]),
            pressed, looked, still, moved: picture() !== before,
        };
    """
    found = piece.run("neurons", body, given)
    assert found["tiles"] == 5 * 8 and found["inside"] and found["apart"] and found["still"] and found["moved"]
    assert found["heads"] == ["8 of 9"] * 5 + ["⋯ 2 more"] and found["pressed"] == ["x1*x2"]
    assert found["looked"][0].startswith("Neuron 4 of layer 1. Weights: x1 ")
    assert found["looked"][2].startswith("The weight is ")
    weights, gradients = given["network"]["weights"], given["network"]["gradients"]
    assert {linear for linear, *_ in found["edges"]} == {0, 1, 2, 6, 7}
    for linear, to, start, below, width, back in found["edges"]:
        weight, gradient = weights[linear][to][start], gradients[linear][to][start]
        heaviest = max(abs(one) for row in weights[linear] for one in row)
        assert below == (weight < 0)
        assert width == pytest.approx(0.4 + 4.2 * abs(weight) / heaviest, abs=0.01)
        assert (back > 0) == (abs(gradient) > 1e-4 * max(abs(one) for g in gradients for row in g for one in row))


def test_arrows_go_from_neuron_to_neuron_and_a_press_holds_one(piece: Piece) -> None:
    shown = viz.playground(layers=2, width=3, steps=3)
    given = {"features": shown._features(), "network": shown._frame()["network"]}
    body = """
        host.style.cssText = "width: 640px; height: 420px; --tgv-class0: #0000ff; --tgv-class1: #ff0000";
        const looked = [];
        const onLook = (text, picture) => looked.push([text?.split(".")[0] ?? null, picture !== null]);
        const one = new m.Neurons({ onFeature: () => {}, onLook });
        host.append(one.element);
        one.element.style.height = "420px";
        one.setFeatures(given.features);
        one.show(["x1", "x2"], given.network, true);
        await frame(); await frame();
        const reached = [...host.querySelectorAll("button.tgv-neurons-tile")].filter((tile) => tile.tabIndex === 0);
        reached[0].focus();
        const at = [];
        for (const way of "Down Right Down Down Right Up Left Left Right".split(" ")) {
            document.activeElement.dispatchEvent(down("Arrow" + way));
            at.push(document.activeElement.getAttribute("aria-label") ?? document.activeElement.value);
        }
        const tile = document.activeElement;
        tile.click();
        tile.blur();
        const held = looked.at(-1);
        const frames = looked.length;
        one.show(["x1", "x2"], given.network, true);
        const again = looked.length - frames;
        tile.dispatchEvent(down("Escape"));
        const pressed = tile.getAttribute("aria-pressed");
        return { reached: reached.length, at, held, again, pressed, last: looked.at(-1) };
    """
    found = piece.run("neurons", body, given)
    first, second = ([f"Neuron {each} of layer {layer}" for each in (1, 2, 3)] for layer in (1, 2))
    assert found["reached"] == 1
    assert found["at"][:6] == [first[1], second[1], second[2], second[2], second[2], second[1]]
    assert found["at"][6] == first[1] and found["at"][8] in first
    assert found["at"][7] in [name for name, _ in shown.task["features"]]
    assert found["held"] == [found["at"][8], True] and found["again"] == 1
    assert found["pressed"] == "false" and found["last"] == [None, False]
