"""How fast the laboratory answers, in real JupyterLab and real Chromium; medians, milliseconds.

    python benchmarks/lab.py

A toggle is timed from the click to the frame after the new pictures are in the page, and apart from that the first
press of each toggle, whose pictures have never been drawn; a step from the key to the laid out picture; "first shown"
from the start of the cell to the frame after the picture is in the page.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.harness import Desk, start_browser, start_lab
from support.stage_programs import LINE

ROUNDS = 20
TEN_OPS = """\
x = T.tensor(2.0)
w = T.tensor(0.3, requires_grad=True)
b = T.tensor(0.1, requires_grad=True)
a = w * x
d = a + b
e = d * d
f = e.exp()
g = f + d
h = g * 0.5
i = h - x
j = i * w
k = j ** 2
L = k + b
L.backward()"""
THIRTY_OPS = (
    "w = T.tensor(1.01, requires_grad=True)\nv = w\n" + "v = v * w\nv = v + 1.0\nv = v * 0.5\n" * 10 + "v.backward()"
)
SIXTY_NODES = "w = T.tensor(1.01, requires_grad=True)\nv = w\n" + "v = v * w\n" * 29 + "v.backward()"
WITHOUT_TORCH = """\
import sys
sys.modules["torch"] = None
"""

CLICKS = """async ([label, rounds]) => {
    const explorer = document.querySelector(".tgv-explorer");
    const pills = [...explorer.querySelectorAll(".tgv-pill")].filter(p => p.textContent === label);
    const press = async (pill) => {
        const answered = new Promise(resolve => {
            const watch = new MutationObserver(() => {
                if (explorer.getAttribute("aria-busy") === "true") return;
                watch.disconnect();
                resolve();
            });
            watch.observe(explorer, { attributes: true });
        });
        const start = performance.now();
        pill.click();
        await answered;
        await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
        const took = performance.now() - start;
        await new Promise(resolve => setTimeout(resolve, 600)); // what is drawn afterwards is not part of the answer
        return took;
    };
    const first = [];
    for (const pill of pills) {
        first.push(await press(pill));
        await press(pill);
    }
    const again = [];
    for (let round = 0; round < rounds; round++) again.push(await press(pills[0]));
    return { first, again };
}"""

FIRST_SHOWN = """async () => {
    const { shell, commands } = window.jupyterapp;
    const notebook = shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.length - 1;
    const before = document.querySelector(".tgv-explorer");
    const shown = new Promise(resolve => {
        const watch = new MutationObserver(() => {
            const explorer = document.querySelector(".tgv-explorer");
            if (explorer === before || !explorer?.querySelector("svg .node")) return;
            watch.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
        });
        watch.observe(document.body, { childList: true, subtree: true });
    });
    const start = performance.now();
    const ran = commands.execute("notebook:run-cell");
    const took = await shown - start;
    await ran;
    await new Promise(resolve => setTimeout(resolve, 800));
    return took;
}"""

DRAG = """async (seconds) => {
    const explorer = document.querySelector(".tgv-explorer");
    let redrawn = 0;
    const watch = new MutationObserver(() => redrawn++);
    watch.observe(explorer.querySelector(".tgv-table"), { childList: true });
    const end = performance.now() + 1000 * seconds;
    let value = -1;
    while (performance.now() < end) {
        value = value > 1 ? -1 : value + 0.02;
        const slider = explorer.querySelector(".tgv-drag input"); // made anew with its line
        slider.value = String(value);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise(requestAnimationFrame);
    }
    watch.disconnect();
    return redrawn / seconds;
}"""

STEPS = """rounds => {
    const player = document.querySelector(".tgv-player");
    const times = [];
    for (let round = 0; round < rounds; round++) {
        player.dispatchEvent(new KeyboardEvent("keydown", { key: round % 20 ? "ArrowRight" : "Home", bubbles: true }));
        const start = performance.now();
        player.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
        player.getBoundingClientRect();
        times.push(performance.now() - start);
    }
    return times;
}"""


FRAMES = """async (steps) => {
    // Frames while gradients travel: between two of them, and how long each keeps the page busy.
    const player = document.querySelector(".tgv-player");
    const press = (key) => player.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("End");
    for (let back = 0; back < steps; back++) press("ArrowLeft");
    const between = [], busy = [];
    let last = 0;
    const channel = new MessageChannel();
    let began = 0;
    channel.port1.onmessage = () => busy.push(performance.now() - began); // after the frame's script, style and layout
    let going = true;
    const frame = (now) => {
        if (last) between.push(now - last);
        last = now;
        began = performance.now();
        channel.port2.postMessage(0);
        if (going) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    for (let step = 0; step < steps; step++) {
        await new Promise(resolve => setTimeout(resolve, 1000));
        press("ArrowRight");
    }
    going = false;
    const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
    return [1000 / median(between), median(busy), document.querySelectorAll(".tgv-frame svg .node").length];
}"""


def explorer(desk: Desk, name: str, program: str, before: str = "") -> Any:
    """A notebook with an explorer in it, at rest."""
    notebook = desk.open(desk.write(f"{name}.ipynb", f"{before}import viz\nviz.explore({program!r})"))
    notebook.run_all()
    notebook.page.locator(".tgv-explorer svg .node").first.wait_for()
    notebook.page.wait_for_timeout(1500)
    return notebook


def measure(desk: Desk) -> dict[str, float]:
    """Every number, by name."""
    found: dict[str, float] = {}
    for name, program in (("4 ops", LINE), ("10 ops", TEN_OPS)):
        for side, before in (("both engines", ""), ("core alone", WITHOUT_TORCH)):
            notebook = explorer(desk, f"{name} {side}", program, before)
            times = notebook.page.evaluate(CLICKS, ["no_grad", ROUNDS])
            found[f"toggle, {name}, {side}"] = statistics.median(times["again"])
            found[f"toggle, first press, {name}, {side}"] = statistics.median(times["first"])
            if name == "10 ops":
                found[f"slider, {name}, {side} (redraws a second)"] = notebook.page.evaluate(DRAG, 3)
            notebook.page.context.close()
    notebook = desk.open(desk.write("30.ipynb", "import viz, torch", f"viz.explore({THIRTY_OPS!r})"))
    notebook.run_all()
    notebook.page.locator(".tgv-explorer svg .node").first.wait_for()
    found["explore, 30 ops, first shown"] = statistics.median(
        notebook.page.evaluate(FIRST_SHOWN) for _ in range(ROUNDS)
    )
    notebook.page.context.close()
    notebook = desk.open(desk.write("player.ipynb", f"import viz\nviz.record({TEN_OPS!r}).play()"))
    notebook.run_all()
    notebook.page.locator(".tgv-player svg .node").first.wait_for()
    found["player, one step, 10 ops"] = statistics.median(notebook.page.evaluate(STEPS, 200))
    notebook.page.context.close()
    wide = "from viz.picture.fit import Room"  # a room in which nothing folds: 60 nodes
    cells = f"{wide}\nimport viz\nviz.record({SIXTY_NODES!r}).play(rooms=(Room(9000, 9000),))"
    notebook = desk.open(desk.write("frames.ipynb", cells))
    notebook.run_all()
    notebook.page.locator(".tgv-player svg .node").first.wait_for()
    frames, busy, nodes = notebook.page.evaluate(FRAMES, 8)
    found[f"frames a second while a gradient travels, {nodes} nodes"] = frames
    found[f"a frame's script and layout, {nodes} nodes"] = busy
    return found


def main() -> None:
    """Measure, and print a table and the same as JSON."""
    with tempfile.TemporaryDirectory() as folder, start_browser() as browser:
        home, root = Path(folder, "home"), Path(folder, "lessons")
        home.mkdir()
        root.mkdir()
        with start_lab(home, root) as lab:
            desk = Desk(browser, lab)
            found = measure(desk)
            desk.close()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load:.1f}")
    for name, value in found.items():
        print(f"{name:55} {value:8.1f}")
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))


if __name__ == "__main__":
    main()
