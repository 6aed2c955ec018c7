"""explore.html in real Chromium: a link carries a program, and whoever opens it runs it where it can reach nothing."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.harness import complaints, eventually, new_page

import viz
from tinygrad_edu.course.site.live import examples
from viz.export.link import unpacked

pytestmark = pytest.mark.outer(start=3)
SHOWN = "html[data-shown]"
PROGRAMS = dict(examples.programs())
HIS_PROGRESS = json.dumps({"mul_backward": {"points": 3, "of": 3}})


@pytest.fixture(scope="module")
def address(site: Path, served: Callable[[Path], str]) -> str:
    return served(site) + "explore.html"


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Iterator[Any]:
    """A page of which the tests here show one program after the other: Python starts once."""
    page = new_page(browser, color_scheme="light", service_workers="block")
    page.goto(address)
    page.wait_for_selector(SHOWN, state="attached")
    yield page
    page.context.close()


def stage(page: Any) -> Any:
    return page.frame_locator("main > iframe")


def show(page: Any, link: str) -> None:
    """Open another link in the same page, and wait for its program."""
    page.evaluate("document.documentElement.removeAttribute('data-shown')")
    page.evaluate("link => { location.hash = link.split('#')[1]; }", link)
    page.wait_for_selector(SHOWN, state="attached")


# The picture without the marks on what the last change did, which come and go.
WITHOUT_MARKS = """svg => {
    const copy = svg.cloneNode(true);
    for (const mark of copy.querySelectorAll(".tgv-lit")) mark.remove();
    for (const one of copy.querySelectorAll("[class]")) one.setAttribute("class", one.getAttribute("class").trim());
    return copy.outerHTML;
}"""


def seen(page: Any) -> list[str]:
    """What a reader sees: the listing, the picture, the sentence of its step; no ids, which count the explorers."""
    whole = stage(page)
    picture = whole.locator(".tgv-frame svg").first
    prefix = picture.get_attribute("id")
    texts = [whole.locator(one).first.inner_text() for one in (".tgv-listing", ".tgv-step-line", ".tgv-counter")]
    return [*texts, picture.evaluate(WITHOUT_MARKS).replace(prefix, "")]


def kept(page: Any) -> str:
    """The address, once it has what is shown."""
    page.wait_for_timeout(400)  # it is written when nothing has changed for a moment
    return str(page.evaluate("location.href"))


AT_EACH_RUN = 6  # the long ring takes twenty
ASKED = list(PROGRAMS)[:20]
ASKED[AT_EACH_RUN:] = [pytest.param(question, marks=pytest.mark.long) for question in ASKED[AT_EACH_RUN:]]


@pytest.mark.parametrize("question", ASKED)
def test_a_link_round_trips_to_the_identical_stage(opened: Any, address: str, question: str) -> None:
    page = opened
    show(page, viz.link(PROGRAMS[question], address))
    stage(page).locator(".tgv-row .tgv-pill").first.click()
    expect(stage(page).get_by_role("button", name="undo")).to_have_attribute("aria-disabled", "false")
    expect(stage(page).locator(".tgv-explorer")).not_to_have_attribute("aria-busy", "true")
    stage(page).get_by_role("button", name="One step back").click()
    stage(page).get_by_role("button", name="One step back").click()
    link, before = kept(page), seen(page)
    assert unpacked(link)["s"], "the switch that was pressed"
    show(page, viz.link("x = T.ones(2)", address))
    show(page, link)
    eventually(lambda: seen(page), before)
    assert len(link) - len(address) < 2000


def test_the_first_example_lives_before_python_has_started(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    held: list[Any] = []
    page.route("**/numpy.pack", lambda route: held.append(route))  # Python cannot start without it
    page.goto(address)
    page.wait_for_selector(SHOWN, state="attached")
    whole, account = stage(page), stage(page).locator(".tgv-account")
    whole.get_by_role("button", name="One step back").first.click()
    expect(whole.locator(".tgv-counter")).to_have_text("15 / 16")
    whole.get_by_title("Run line 4 under no_grad").click()
    expect(account).to_contain_text("Python is starting")
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    expect(account).to_contain_text("Line 4 now runs under no_grad")
    assert '"no_grad":[4]' in json.dumps(unpacked(kept(page)), separators=(",", ":"))


def test_another_link_before_python_is_there_is_no_error(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/numpy.pack", lambda route: None)  # Python never starts
    page.goto(address)
    page.wait_for_selector(SHOWN, state="attached")
    page.evaluate("link => { location.hash = link.split('#')[1]; }", viz.link("x = T.ones(2)", address))
    expect(page.locator(".said")).to_contain_text("Python is starting")
    stage(page).get_by_role("button", name="grad_fn").click()  # in the first one, which still stands there
    expect(stage(page).get_by_role("button", name="grad_fn")).to_have_attribute("aria-pressed", "true")
    assert wrong == []


def test_a_link_of_python_shows_its_switches_its_view_and_its_step(opened: Any, address: str) -> None:
    state = {"no_grad": [4], "requires_grad": {"b": False}}
    link = viz.link(PROGRAMS["What does backward() do?"], address, state=state, view="grad_fn", step=3)
    show(opened, link)
    expect(stage(opened).get_by_role("button", name="no_grad").first).to_have_attribute("aria-pressed", "true")
    expect(stage(opened).get_by_role("button", name="grad_fn")).to_have_attribute("aria-pressed", "true")
    assert stage(opened).locator(".tgv-counter").inner_text().startswith("4 /")
    assert unpacked(kept(opened)) == unpacked(link)


def test_thirty_lines_fit_into_two_kilobytes(address: str) -> None:
    lines = ["import torch", "import torch.nn as nn", "torch.manual_seed(0)"]
    line = "layer_{0} = nn.Linear({1}, {2}); x_{0} = torch.randn(4, {1}) * {3:.3f}"
    lines += [line.format(at, at + 2, at + 3, at / 7) for at in range(27)]
    assert len(viz.link("\n".join(lines), address)) < 2000


def test_a_link_that_is_damaged_or_newer_says_so_and_an_example_is_shown(fresh: Any, address: str) -> None:
    page = fresh()
    page.route("**/pyodide*", lambda route: None)  # never answered: this is read before Python is there
    for fragment, says in (("1.AAAA", "damaged"), ("9.q1Y", "newer version"), ("hello", "carries no program")):
        page.goto("about:blank")
        page.goto(f"{address}#{fragment}")
        expect(page.locator(".said")).to_contain_text(says)
        page.wait_for_selector(SHOWN, state="attached")
        assert kept(page).endswith(f"#{fragment}"), "the link can still be repaired"
        expect(page.locator(".said")).to_contain_text(says)


def test_a_link_with_forged_switches_gets_a_sentence(opened: Any, address: str) -> None:
    link = viz.link("w = T.ones(2, requires_grad=True)", address, state={"no_grad": 5})
    opened.evaluate("link => { location.hash = link.split('#')[1]; }", link)
    expect(opened.locator(".said")).to_contain_text("the switches in this link fit no program")


# What a link may try, through the JavaScript that Pyodide gives a program.
THIEF = """
import js
import json
import kernel
from pyodide.ffi import to_js
got = {}
def attempt(name, work):
    try:
        got[name] = str(work())
    except BaseException as error:
        got[name] = "refused"
def made(kind, *given):
    return getattr(js, kind).new(*given)
def read(url):
    asked = made("XMLHttpRequest")
    asked.open("GET", url, False)
    asked.send()
    return asked.responseText
def post(**message):
    js.postMessage(js.JSON.parse(json.dumps(message)))
attempt("eval", lambda: js.eval("1 + 1"))
attempt("Function", lambda: made("Function", "return 1")())
attempt("localStorage", lambda: js.localStorage.getItem("tinygrad-edu:progress"))
attempt("sessionStorage", lambda: js.sessionStorage.length)
attempt("cookie", lambda: js.document.cookie)
attempt("parent", lambda: js.parent.location.href)
attempt("top", lambda: js.top.location.href)
attempt("opener", lambda: js.opener.location.href)
attempt("indexedDB", lambda: js.indexedDB.open("x"))
attempt("a request", lambda: read("ADDRESS"))
attempt("importScripts", lambda: js.WorkerGlobalScope.prototype.importScripts.call(js, "ADDRESS_static/live/worker.js"))
attempt("a service worker", lambda: js.navigator.serviceWorker.getRegistrations())
attempt("another origin", lambda: read("http://example.invalid/?secret"))
channel = made("BroadcastChannel", "tinygrad-edu")
channel.postMessage("stolen")
evil = "<svg onload='parent.stolen=1'><script>stolen=2</" + "script>"
evil += "<foreignObject><iframe srcdoc='x'></iframe></foreignObject></svg><img src=x onerror='stolen=3'>"
for kind in ("shown", "picture", "status", "ready", "starting", "refused"):
    post(type=kind, text=evil, kind="svg", svg=evil)
post(type="state", shown={"program": evil, "view": evil}, listing=evil)
linked = "explored._linked.<locals>.Linked 1"
post(type="open", model="evil", code=linked, state={}, module="globalThis.stolen = 4", style="")
post(type="open", model="bad", code="viz.widgets.own.Own", state={}, module="globalThis.stolen = 5", style="")
post(type="report", headline=evil, found=[{"kind": evil, "code": evil, "message": evil, "line": 1}])
w = T.tensor(2.0, requires_grad=True)
(w * w).backward()
print(json.dumps(got))
"""


def got_nothing(got: dict[str, str], *nothing: str) -> None:
    assert len(got) == 13
    assert {name: what for name, what in got.items() if what not in nothing} == {}


def test_a_link_cannot_take_the_progress_of_the_course_nor_when_it_is_opened_in_it(fresh: Any, address: str) -> None:
    page = fresh()
    home = address.removesuffix("explore.html")
    page.goto(home)
    page.evaluate(
        "kept => { localStorage.setItem('tinygrad-edu:progress', kept); document.cookie = 'secret=1'; }", HIS_PROGRESS
    )
    page.evaluate(
        "() => { window.heard = []; new BroadcastChannel('tinygrad-edu').onmessage = ({data}) => heard.push(data); }"
    )
    other = page.context.new_page()
    outside: list[str] = []
    other.on("response", lambda answer: answer.url.startswith((home, "blob:", "data:")) or outside.append(answer.url))
    refused: list[Any] = []
    other.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    other.goto(viz.link(THIEF.replace("ADDRESS", home), address))
    other.wait_for_selector(SHOWN, state="attached")
    got_nothing(json.loads(stage(other).locator(".tgv-stdout").first.inner_text()), "refused", "undefined")
    assert page.evaluate("window.heard") == []
    assert page.evaluate("localStorage.getItem('tinygrad-edu:progress')") == HIS_PROGRESS
    assert other.evaluate("localStorage.getItem('tinygrad-edu:progress')") == HIS_PROGRESS
    (frame,) = [one for one in other.frames if one.parent_frame == other.main_frame]
    for place in (other, frame):
        evil = "document.querySelectorAll('script[src*=evil], foreignObject, article iframe')"
        assert place.evaluate(f"[typeof stolen, {evil}.length]") == ["undefined", 0]
    assert outside == []
    assert {why for url, why in refused if not url.startswith("blob:")} == {"csp"}
    kept(other)
    other.get_by_role("link", name="Open in the course").click()
    expect(other.get_by_text("This program came by a link.")).to_be_visible()
    whole = other.frame_locator("iframe.live-linked").frame_locator("main > iframe")
    got_nothing(json.loads(whole.locator(".tgv-stdout").first.inner_text()), "refused", "undefined")
    assert other.evaluate("localStorage.getItem('tinygrad-edu:progress')") == HIS_PROGRESS
    assert [one.evaluate("typeof stolen") for one in other.frames] == ["undefined"] * 3
    assert other.locator("html[data-python-ready]").count() == 0  # the page's own Python has not begun


# What would be tried by somebody who got out of the worker and into the frame.
IN_THE_FRAME = """async () => {
    const got = {};
    const attempt = async (name, what) => {
        try { got[name] = String(await what()); } catch (error) { got[name] = "refused"; }
    };
    await attempt("localStorage", () => localStorage.getItem("tinygrad-edu:progress"));
    await attempt("sessionStorage", () => sessionStorage.length);
    await attempt("cookie", () => document.cookie);
    const opened = (yes, no) => Object.assign(indexedDB.open("x"), { onsuccess: yes, onerror: no });
    await attempt("indexedDB", () => new Promise(opened));
    await attempt("caches", () => caches.keys());
    await attempt("parent", () => parent.document.title);
    await attempt("parent's address", () => parent.location.href);
    await attempt("top", () => { top.location.href = "about:blank"; return "went"; });
    await attempt("opener", () => opener.document.title);
    await attempt("fetch", () => fetch("ADDRESS").then((answer) => answer.text()));
    await attempt("a window", () => window.open("ADDRESS").document.title);
    await attempt("a service worker", () => navigator.serviceWorker.register("ADDRESS_static/live/worker.js"));
    const script = document.createElement("script");
    script.textContent = "globalThis.ran = 1";
    document.body.append(script);
    const innerHTML = "<img src=x onerror='ran = 2'><svg><script>ran = 3</" + "script></svg>";
    document.body.append(Object.assign(document.createElement("div"), { innerHTML }));
    got.inline = typeof ran === "undefined" ? "refused" : "ran";
    return got;
}"""


def test_whoever_gets_into_the_frame_has_nothing_either(opened: Any, address: str) -> None:
    (frame,) = [one for one in opened.frames if one.parent_frame == opened.main_frame]
    opened.evaluate("localStorage.setItem('tinygrad-edu:progress', 'his')")
    got = frame.evaluate(IN_THE_FRAME.replace("ADDRESS", address.removesuffix("explore.html")))
    got_nothing(got, "refused")
    assert opened.url.startswith(address)


def test_an_embed_starts_when_it_comes_into_view_where_storage_is_refused(
    storeless: Any, opened: Any, address: str, served: Callable[[Path], str], tmp_path: Path
) -> None:
    show(opened, viz.link(PROGRAMS["Why is w.grad None?"], address))
    opened.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    opened.get_by_role("button", name="Copy embed").click()
    expect(opened.locator(".said")).to_contain_text("Embed copied")
    markup = opened.evaluate("window.copied")
    assert markup.startswith("<iframe ")
    (tmp_path / "blog.html").write_text(f"<!doctype html><div style='height: 6000px'>Read on.</div>{markup}")
    page = storeless
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served(tmp_path) + "blog.html")
    page.wait_for_timeout(500)
    assert [url for url in asked if "pyodide" in url] == []
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    inside = page.frame_locator("iframe").frame_locator("main > iframe")
    expect(inside.locator(".tgv-frame svg")).to_be_visible()
    expect(inside.locator(".tgv-listing")).to_contain_text("scaled = w * 10")
    assert wrong == []


def box(page: Any) -> Any:
    return stage(page).locator(".program")


def test_it_opens_with_a_box_for_a_program_and_a_program_that_ran_leaves_it(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    page.goto(address.removesuffix("explore.html"))
    assert page.locator(".sidebar-tree").get_by_role("link", name="Explore a program").count() == 1
    page.get_by_role("link", name="paste a PyTorch program").click()
    page.wait_for_selector(SHOWN, state="attached")
    expect(box(page)).to_be_visible()
    expect(box(page)).to_have_attribute("placeholder", re.compile("Paste a PyTorch program"))
    box(page).fill("import torch\nx = torch.ones(2, requires_grad=True)\n(x * 3).sum().backward()")
    stage(page).get_by_role("button", name="▶ Run").click()
    expect(stage(page).locator(".tgv-listing")).to_contain_text("x * 3")
    expect(box(page)).to_be_hidden()


def test_what_was_written_outlasts_an_example_a_stop_and_a_reload(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    page.goto(viz.link("x = T.tensor(3.0, requires_grad=True)\n(x * x).backward()", address))
    page.wait_for_selector(SHOWN, state="attached")
    expect(box(page)).to_be_hidden()
    page.get_by_role("button", name="New program").click()
    loop = "mine = 1\nwhile True: pass"
    box(page).fill(loop)
    page.get_by_label("Examples, by question").select_option(label="What does detach() cut?")
    expect(stage(page).locator(".tgv-listing")).to_contain_text("detach")
    expect(box(page)).to_have_value(loop)
    kept(page)
    page.go_back()
    expect(stage(page).locator(".tgv-listing")).to_contain_text("x * x")
    stage(page).get_by_role("button", name="▶ Run").click()
    stage(page).get_by_role("button", name="▶ Run").click()
    expect(page.locator(".said")).to_contain_text("waits for the one that is running")
    stage(page).get_by_role("button", name="■ Stop").click()
    expect(box(page)).to_have_value(loop)
    broken = "y = (2\nx = 1"
    box(page).fill(broken)
    stage(page).get_by_role("button", name="▶ Run").click()
    expect(page.locator(".said")).to_contain_text("never closed")
    expect(stage(page).locator(".stage")).to_be_hidden()
    page.reload()
    page.wait_for_selector(SHOWN, state="attached")
    expect(box(page)).to_have_value(broken)


def test_a_loop_that_is_pasted_over_the_listing_is_there_after_a_stop(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    page.goto(viz.link("x = T.tensor(3.0, requires_grad=True)\n(x * x).backward()", address))
    page.wait_for_selector("html[data-python-ready]", state="attached")
    page.wait_for_selector(SHOWN, state="attached")
    stage(page).get_by_role("button", name="edit").click()
    stage(page).locator(".tgv-area").fill("mine = 1\nwhile True: pass")
    stage(page).get_by_role("button", name="stop", exact=True).click()
    expect(box(page)).to_have_value("mine = 1\nwhile True: pass")


TOO_MUCH = {
    "time": "w = T.tensor(1.0)\nwhile True:\n    print(w)",
    "stack": "y = w = T.tensor(1.0, requires_grad=True)\nfor i in range(3000):\n    y = y * 1.001\ny.backward()",
    "memory": "kept = []\nwhile True:\n    kept.append([0] * 10_000_000)",
}


@pytest.mark.parametrize("of", ["time", "stack", pytest.param("memory", marks=pytest.mark.long)])
def test_python_that_ends_says_why_and_starts_again_by_itself(fresh: Any, address: str, of: str) -> None:
    page = fresh(service_workers="block")
    page.goto(viz.link(TOO_MUCH[of], address))
    if of == "time":
        page.wait_for_selector("html[data-python-ready]", state="attached")
        stage(page).get_by_role("button", name="Stop").click()
        page.wait_for_timeout(1000)  # Python starts again meanwhile
    says = "Stopped" if of == "time" else f"the program needs more {of} than a page has"
    expect(page.locator(".said")).to_contain_text(says)
    expect(stage(page).locator(".program")).to_have_value(re.compile(re.escape(TOO_MUCH[of][:20])))
    stage(page).locator(".program").fill("w = T.tensor(2.0, requires_grad=True)\n(w * w).backward()")
    stage(page).get_by_role("button", name="Run").click()
    expect(stage(page).locator(".tgv-frame svg")).to_be_visible()


WHEN_READY = """new MutationObserver(() => {
    if (document.documentElement?.hasAttribute("data-python-ready")) window.ready ??= performance.now();
}).observe(document, { attributes: true, subtree: true });"""
OF_LATER = """() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/later/"))
    .map(({ name, startTime }) => ({ name: name.split("/").at(-1), startTime }))"""


def test_what_no_first_picture_needs_is_fetched_after_it_or_when_the_program_asks(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    page.add_init_script(WHEN_READY)
    page.goto(viz.link("x = T.tensor(3.0, requires_grad=True)\n(x * x).backward()", address))
    page.wait_for_function(f"({OF_LATER})().length > 50")
    assert min(one["startTime"] for one in page.evaluate(OF_LATER)) > page.evaluate("ready")
    page = fresh(service_workers="block")
    page.goto(viz.link("x = T.randn(3, requires_grad=True)\n(x * x).sum().backward()", address))
    page.wait_for_function(f"({OF_LATER})().length > 50")
    packs = [one["name"] for one in sorted(page.evaluate(OF_LATER), key=lambda one: one["startTime"])]
    assert packs[0] == "numpy.random.pack"
    assert len(packs) == len(set(packs))


def test_a_program_that_needs_what_is_still_on_its_way_waits_for_it(fresh: Any, address: str) -> None:
    page = fresh(service_workers="block")
    held: list[Any] = []
    comes = False
    page.route("**/later/*", lambda route: route.continue_() if comes else held.append(route))
    program = "model = T.nn.Linear(1, 1)\nout = T.nn.functional.softplus(model(T.ones(1, 1)))\nout.sum().backward()"
    page.goto(viz.link(program, address))
    page.wait_for_selector("html[data-python-ready]", state="attached")
    page.wait_for_timeout(1500)  # long enough to run it, if all were there
    expect(stage(page).locator(".tgv-error")).to_have_count(0)
    assert held
    comes = True
    for route in held:
        route.continue_()
    page.wait_for_selector(SHOWN, state="attached")
    expect(stage(page).locator(".tgv-network svg")).to_be_visible()
    expect(stage(page).locator(".tgv-error")).to_have_count(0)


def test_what_is_wrong_is_told_with_its_line(opened: Any, address: str) -> None:
    program = "import torch\nw = torch.tensor(2.0, requires_grad=True)\nloss = (w * 3).detach()\nloss.backward()"
    show(opened, viz.link(program, address))
    opened.get_by_role("button", name="What is wrong here?").click()
    report = stage(opened).locator(".report")
    expect(report.locator("article").first).to_contain_text("line 3")
    expect(opened.locator(".said")).not_to_contain_text("PyTorch does not run")
    report.get_by_role("button", name="Run it with this fix").first.click()
    expect(report).to_be_hidden()
    expect(stage(opened).locator(".tgv-listing")).not_to_contain_text("detach")
    expect(opened.locator(".said")).to_contain_text("torch is tinygrad_edu here")


def test_a_program_with_a_debugger_runs_up_to_the_line_that_starts_it(opened: Any, address: str) -> None:
    program = "import pdb\nw = T.tensor(2.0, requires_grad=True)\n(w * w).backward()\n"
    for starts in ("pdb.set_trace()", "breakpoint()"):
        show(opened, viz.link(program + starts, address))
        expect(stage(opened).locator(".tgv-frame svg").first).to_be_visible()
        expect(stage(opened).locator("body")).to_contain_text("The debugger needs a terminal")


def test_it_is_clean_for_axe_in_both_themes(opened: Any, address: str) -> None:
    show(opened, viz.link(PROGRAMS["What does backward() do?"], address))
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert complaints(opened, "body") == []


def test_pictures_a_film_of_all_steps_and_a_whole_notebook_are_saved(opened: Any, address: str, tmp_path: Path) -> None:
    from PIL import Image

    show(opened, viz.link(PROGRAMS["What does backward() do?"], address))
    steps = int(stage(opened).locator(".tgv-counter").inner_text().partition("/")[2].split()[0])
    files = {}
    for kind in ("svg", "png", "gif", "notebook"):
        with opened.expect_download() as saved:
            opened.get_by_label("Save").select_option(kind)
        files[kind] = tmp_path / saved.value.suggested_filename
        saved.value.save_as(files[kind])
    assert "<script" not in files["svg"].read_text()
    for kind, count in (("png", 1), ("gif", steps)):
        with Image.open(files[kind]) as picture:
            assert (picture.format, getattr(picture, "n_frames", 1)) == (kind.upper(), count)
            assert len(picture.convert("RGB").getcolors(1 << 24)) > 5
    cells = json.loads(files["notebook"].read_text())["cells"]
    assert eval(cells[-1]["source"].removeprefix("import viz\n\n"), {"viz": viz}).program["lines"]


@pytest.mark.long
def test_in_firefox_a_link_is_shown_and_the_page_is_kept(address: str, tab: Any) -> None:
    tab.open(viz.link("w = T.tensor(2.0, requires_grad=True)\ny = w * w\ny.backward()", address))
    tab.wait("document.querySelector('html[data-shown]')")
    tab.wait("document.documentElement.dataset.kept")
    assert tab.wrong == []
    home = address.removesuffix("explore.html")
    assert [url for url in tab.requested if not url.startswith((home, "blob:", "data:"))] == []
