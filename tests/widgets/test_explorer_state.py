"""What the explorer sends to the browser for each change, on both engines, without a browser."""

import re
from concurrent.futures import ThreadPoolExecutor
from pkgutil import resolve_name

import pytest
import torch
from support.stage_programs import LINE

import viz
from viz.export.link import unpacked
from viz.telling.account import numbers
from viz.telling.explain import explain
from viz.widgets.comparison import ComparisonView
from viz.widgets.explorer import Explorer
from viz.widgets.runs import Runs

NODES = ["MulBackward0", "AddBackward0", "SubBackward0", "PowBackward0"]


def explored(**state):
    explorer = viz.explore(LINE)
    if state:
        explorer.state = state
    return explorer


def row(explorer, name):
    return next(entry for entry in explorer.result["table"] if entry["name"] == name)


def ops(explorer, engine="tinygrad_edu"):
    return [op.name for op in explorer._recordings[engine].graph.ops.values() if op.recorded]


@pytest.mark.outer
@pytest.mark.parametrize(
    ("state", "name", "expected"),
    [
        ({}, "d", "None: not a leaf, no retain_grad()"),
        ({}, "x", "None: requires no grad"),
        ({"retain_grad": ["d"]}, "d", "−0.6"),
        ({"requires_grad": {"x": True}}, "x", "−0.18"),
        ({"requires_grad": {"w": False}}, "w", "None: requires no grad"),
        ({"no_grad": [5]}, "w", "None: no gradient has arrived"),
        ({"inference_mode": [5]}, "w", "None: no gradient has arrived"),
        ({"detach": ["d"]}, "w", "None: no gradient has arrived"),
        ({"hooks": {"d": "double"}}, "w", "−2.4"),
        ({"backwards": 2, "retain_graph": True}, "w", "−2.4"),
        ({"backwards": 2, "retain_graph": True, "zero_grad": True}, "w", "−1.2"),
        ({"values": {"x": 3}}, "w", "0"),
        ({"values": {"x": [1, 2]}, "no_grad": [], "backwards": 1}, "w", "None: no gradient has arrived"),
        ({"dtypes": {"w": "float64"}}, "w", "−1.2"),
        ({"dtypes": {"x": "int64"}}, "w", "−1.2"),
    ],
)
def test_a_toggle_gives_the_same_gradient_on_both_engines(state, name, expected):
    explorer = explored(**state)
    entry = row(explorer, name)
    assert entry["grad"] == {"tinygrad_edu": expected, "torch": expected}
    assert entry["agree"]
    if not state:
        assert ops(explorer) == ops(explorer, "torch") == NODES
        assert all(entry["agree"] for entry in explorer.result["table"])


@pytest.mark.outer
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"no_grad": [5]}, "Line 5 now runs under no_grad: line 7 now raises RuntimeError; no op is recorded any more"),
        ({"retain_grad": ["d"]}, "d.grad is now kept: d.grad = −0.6 × 1 = −0.6 (was None)."),
        ({"backwards": 2}, "backward() is called twice: line 7 now raises RuntimeError"),
        (
            {"requires_grad": {"w": False}},
            "w requires no grad: MulBackward0 is no longer recorded; w.grad is None: requires no grad (was −1.2).",
        ),
        ({"retain_graph": True}, "The graph is kept after the first backward(): the gradients stay the same"),
        ({"dtypes": {"w": "float64"}}, "w is of float64: "),
        (
            {"volatile": ["x"]},
            "x is volatile, which PyTorch has ignored since 0.4 and tinygrad_edu takes as PyTorch 0.3",
        ),
        (
            {"default_dtype": "float64"},
            "PyTorch makes tensors of float64: the same graph, and the same gradients; tensors of float64.",
        ),
        ({"create_graph": True}, "The backward pass is itself recorded: the pass has left 6 new nodes"),
        (
            {"values": {"w": 1.0}},
            "w is 1: L = 1.1² = 1.21 (was 0.09); w.grad = 2.2 × 2 = 4.4 (was −1.2); b.grad = 2.2 × 1 = 2.2 (was −0.6).",
        ),
    ],
)
def test_one_sentence_says_what_changed_and_why(state, sentence):
    assert explored(**state).result["account"].startswith(sentence)


LOOP = """\
w = T.tensor(2.0, requires_grad=True)
h = w * 1.0
for x in (1.0, 3.0):
    h = h * w
    h = h + x
h.backward(retain_graph=True)
h.backward()
name, k = "net", len([w])"""


def test_a_toggle_stands_for_the_value_of_its_own_line():
    explorer = viz.explore(LOOP)
    explorer.state = {"retain_grad": ["h@5"]}
    assert explorer.result["account"] == "h.grad of line 5 is now kept: h.grad = 2 (was None)."
    explorer.state = {"detach": ["h@2"]}
    said = "h of line 2 is now cut off from its history, h.grad of line 5 is no longer kept"
    assert explorer.result["account"].startswith(said)


def test_what_can_have_no_gradient_is_offered_none():
    source = "w = T.tensor([1.0, 2.0], requires_grad=True)\ni = w.argmax()\nwith T.no_grad():\n    v = w * 2\nu = w * 3"
    explorer = viz.explore(source, state={"retain_grad": ["u"], "hooks": {"u": "double"}, "no_grad": []})
    kept = [one["names"] for one in explorer.program["switches"] if one["called"] == "retain_grad"]
    assert kept == [["u"]]


def test_the_second_of_two_changes_goes_on_with_the_sentence():
    explorer = viz.explore("w = T.tensor(1.0, requires_grad=True)\nu = w * 3\nv = u * 2\nv.backward()")
    explorer.state = {"no_grad": [2], "hooks": {"v": "double"}}
    assert explorer.result["account"].startswith("Line 2 now runs under no_grad, a hook on v doubles its gradient")


def test_each_of_several_calls_of_backward_has_its_own_switches_beside_those_of_all():
    explorer = viz.explore(LOOP)
    switches = explorer.program["switches"]
    kept = {name for one in switches if one["called"] == "retain_grad" for name in one["names"]}
    assert kept == {"h"}, "what is no tensor has no gradient to keep"
    calls = {(one["line"], one["called"]): one["own"] for one in switches if one["path"][0] == "passes"}
    assert [calls[line, "retain_graph"] for line in (6, 7)] == [True, False]
    explorer.state = {"passes": {"7": {"retain_graph": True}}}
    assert explorer.result["code"][5:7] == ["h.backward(retain_graph=True)", "h.backward(retain_graph=True)"]
    assert explorer.result["account"].startswith("Line 7 keeps the graph after its pass: ")
    explorer.state = {"passes": {"6": {"retain_graph": False}}}
    assert explorer.result["code"][5] == "h.backward(retain_graph=False)"
    assert "Line 6 frees the graph as it runs" in explorer.result["account"]
    assert "line 7 now raises RuntimeError" in explorer.result["account"]
    explorer.state = {}
    assert explorer.result["account"].startswith("Line 6 keeps the graph after its pass: the error is gone")
    explorer.state = {"retain_graph": False}
    assert explorer.result["code"][5] == "h.backward(retain_graph=False)"
    said = "The graph is freed by each backward(): line 7 now raises RuntimeError"
    assert explorer.result["account"].startswith(said)
    explorer.state = explorer.result["fixes"][0]["state"]
    assert "the error is gone" in explorer.result["account"]


def test_each_of_several_calls_can_be_called_twice_and_clear_what_is_there():
    program = "w = T.tensor(2.0, requires_grad=True)\na = w * 3\na.backward()\nb = w * w\nb.backward()"
    explorer = viz.explore(program, state={})
    explorer._answer()
    explorer.state = {"passes": {"3": {"backwards": 2}}}
    assert explorer.result["code"][2:4] == ["a.backward()"] * 2
    assert explorer.result["account"].startswith("Line 3 calls backward() twice: line 3 now raises RuntimeError")
    once = next(one for one in explorer.result["fixes"] if one["label"] == "call backward() once")
    assert "passes" not in once["state"] or not any("backwards" in one for one in once["state"]["passes"].values())
    explorer.state = {"passes": {"3": {"backwards": 2, "retain_graph": True}}}
    assert explorer.result["code"][2:4] == ["a.backward(retain_graph=True)"] * 2
    assert row(explorer, "w")["grad"]["torch"] == "10"
    explorer.state = {"passes": {"3": {"backwards": 2, "retain_graph": True}, "5": {"zero_grad": True}}}
    assert explorer.result["code"][5:] == ["w.grad = None", "b.backward()"]
    assert explorer.result["account"] == "Line 5 runs with every .grad cleared: w.grad = 2 + 2 = 4 (was 10)."
    explorer.state = once["state"]
    assert explorer.result["code"][2:] == ["a.backward()", "b = w * w", "b.backward()"]


def test_an_error_has_a_sentence_of_ours_and_its_mistake_a_lesson_until_another_is_asked_for():
    explorer = explored(backwards=2)
    for side in explorer.result["sides"]:
        assert side["error"]["message"].startswith("Trying to backward through the graph a second time")
        assert "retain_graph=True" in side["error"]["explanation"]
        assert (side["error"]["line"], side["error"]["mistake"]) == (7, "second backward")
    lessons = []
    for n, name in enumerate(("second backward", "does not require grad", "")):
        explorer.questions = {"lesson": {"name": name, "n": n}}
        lessons.append(explorer.answers["lesson"]["lesson"])
    assert lessons[1] not in ("", lessons[0])
    assert lessons[2] == ""


def test_volatile_is_ignored_by_pytorch_alone_and_both_warn():
    explorer = explored(volatile=["x"])
    assert ops(explorer, "torch") == NODES
    assert ops(explorer) == []
    assert all("volatile was removed" in side["warnings"][0] for side in explorer.result["sides"])
    assert "requires_grad: False and True" in row(explorer, "d")["differs"]


def test_the_warning_of_anomaly_mode_tells_the_lines_of_the_program_and_no_others():
    program = "x = T.tensor(-1.0, requires_grad=True)\ny = x.sqrt()\ny.backward()"
    for side in viz.explore(program, state={"anomaly": True}).result["sides"]:
        told = next(text for text in side["warnings"] if "Traceback of forward call" in text)
        assert re.findall(r'File "(.*?)", line (\d+)', told) == [("<program>", "3")]
        assert "y = x.sqrt()" in told


def test_pytorch_in_double_precision_leaves_its_default_alone():
    explorer = explored(default_dtype="float64")
    assert explorer._recordings["torch"].tensors["L"]["dtype"] == "float64"
    assert explorer._recordings["tinygrad_edu"].tensors["L"]["dtype"] == "float32"
    assert row(explorer, "L")["differs"] == "dtype: float32 and float64"
    assert torch.get_default_dtype() is torch.float32


def test_a_table_of_numbers_takes_another_shape():
    explorer = viz.explore("w = T.tensor([1.0, 2.0], requires_grad=True)\n(w * w).sum().backward()")
    explorer.state = {"values": {"w": [[1, 2, 1]]}}
    assert "w = T.tensor([[1.0, 2.0, 1.0]], requires_grad=True)" in explorer.result["code"]
    assert row(explorer, "w")["grad"]["torch"] == "[[2, 4, 2]]"


def test_an_edit_that_cannot_be_made_or_is_stopped_keeps_the_pictures_and_says_why():
    explorer = viz.explore("a = T.randn(2, requires_grad=True); b = a * 2")
    before = explorer.result["sides"]
    explorer.state = {"values": {"a": [1.0, 2.0]}}
    assert explorer.result["refused"]
    assert "the value of a is not written out as numbers" in explorer.result["account"]
    assert explorer.result["sides"] == before
    explorer = viz.explore("a = T.tensor(2.0)\nif a.item() > 3: raise KeyboardInterrupt")
    explorer.state = {"values": {"a": 4.0}}
    assert explorer.result["refused"]
    explorer.state = {"values": {"a": 2.5}}
    assert "refused" not in explorer.result
    assert row(explorer, "a")["value"] == "2.5"


@pytest.mark.parametrize(
    ("where", "raised", "sentence"),
    [
        (
            "viz.engines.load",
            ModuleNotFoundError("No module named 'torch'. It needs: pip install torch"),
            "pip install",
        ),
        ("recorder", torch.OutOfMemoryError("CUDA out of memory."), "CUDA out of memory"),
    ],
    ids=["PyTorch missing", "no memory on the GPU"],
)
@pytest.mark.parametrize("shown", ["explorer", "comparison"])
def test_where_pytorch_cannot_begin_the_core_and_a_sentence_are_left(monkeypatch, shown, where, raised, sentence):
    module = "viz.widgets.runs" if shown == "explorer" else "viz.experiments.compare"
    where = where if "." in where else f"{module}.{where}"
    real = resolve_name(where)

    def fails(*given, **more):
        if "torch" in [getattr(thing, "name", thing) for thing in given]:
            raise raised
        return real(*given, **more)

    monkeypatch.setattr(where, fails)
    if shown == "comparison":
        comparison = viz.compare(LINE)
        assert sentence in comparison.missing and not comparison.agree
        assert comparison.verdict.startswith("Only tinygrad_edu has run. PyTorch: ")
    result = ComparisonView(comparison).result if shown == "comparison" else explored().result
    assert "scene" in result["sides"][0]
    assert sentence in result["sides"][1]["missing"]
    entry = next(entry for entry in result["table"] if entry["name"].startswith("w"))
    assert entry["grad"]["tinygrad_edu"] == "−1.2" and not entry["agree"]


NOT_BUILT = "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = T.fft.fft(x * 2).abs().sum()\ny.backward()"
WHY = "Line 2: tinygrad_edu has no 'fft': Fourier transforms are not built. tinygrad_edu is small on purpose."


@pytest.mark.parametrize("shown", ["comparison", "explorer", "edit"])
def test_pytorch_alone_is_shown_where_a_name_is_absent_with_the_line_and_why(shown):
    if shown == "comparison":
        comparison = viz.compare(NOT_BUILT)
        said = "Only PyTorch runs this program to its end. tinygrad_edu stops in line 2, "
        assert comparison.verdict.startswith(said)
        assert "Fourier transforms are not built" in comparison.verdict and not comparison.agree
        result = ComparisonView(comparison).result
        badge = result["badge"]
        assert result["verdict"].startswith(f"PyTorch alone runs this program. {WHY}")
        assert result["agree"] is None and result["differences"] == []
    else:
        explorer = viz.explore(NOT_BUILT if shown == "explorer" else LINE)
        if shown != "explorer":
            explorer.request = {"state": {}, "text": NOT_BUILT, "seq": 1}
        result, badge = explorer.result, explorer.result["verdict"]
        assert list(explorer._recordings) == ["torch"] and result["errors"] == []
    first, second = result["sides"]
    assert (first["engine"], second["engine"]) == ("torch", "tinygrad_edu")
    assert "scene" in first and "scene" not in second
    assert first["alone"].startswith(WHY) and second["missing"] == first["alone"] == badge["compared"]
    assert badge["agree"] is None and re.fullmatch(r"PyTorch [\d.]+ alone", badge["label"])
    assert [list(row["grad"]) for row in result["table"]] == [["torch"]] * len(result["table"])


def test_without_pytorch_what_ran_before_an_absent_name_is_shown(monkeypatch):
    def missing(name, real=viz.engines._load):
        if name == "torch":
            raise ModuleNotFoundError(name=name)
        return real(name)

    monkeypatch.setattr(viz.engines, "_load", missing)
    explorer = viz.explore(NOT_BUILT)
    assert [one["engine"] for one in explorer.result["sides"] if "scene" in one] == ["tinygrad_edu"]
    (error,) = explorer.result["errors"]
    assert (error["line"], f"Line 2: {error['message']}".startswith(WHY)) == (2, True)


def test_a_misspelt_name_is_an_error_of_both_engines_and_hides_no_picture():
    explorer = viz.explore("x = T.ones(3, requires_grad=True)\ny = T.sofmax(x * 2, 0)")
    assert ["scene" in side for side in explorer.result["sides"]] == [True, False]
    (error,) = explorer.result["errors"]
    assert (error["engines"], error["line"]) == (["tinygrad_edu", "torch"], 2)
    assert explorer.result["verdict"]["agree"]
    assert viz.compare("x = T.ones(3)\ny = T.sofmax(x, 0)").agree


def test_a_change_is_told_of_pytorch_alone_and_both_are_back_once_the_name_is_gone():
    explorer = viz.explore(NOT_BUILT)
    explorer.state = {"detach": ["y"]}
    assert explorer.result["account"] == "y is now cut off from its history: line 3 now raises RuntimeError."
    explorer.request = {"state": {}, "text": NOT_BUILT.replace("T.fft.fft", "T.exp"), "seq": 2}
    assert [side["engine"] for side in explorer.result["sides"]] == ["tinygrad_edu", "torch"]
    assert explorer.result["verdict"]["agree"]


def test_the_other_view_follows_and_the_picture_behind_the_badge():
    # A thread of its own has no event loop, like a script: the other view is drawn at once. (In a kernel it waits for a
    # pause; the browser tests see that, and leave a loop running in this process.)
    with ThreadPoolExecutor(1) as thread:
        explorer = thread.submit(explored, retain_grad=["d"]).result()
    assert list(explorer.result["sides"][0]["scene"]["views"]) == ["values"]
    others = explorer.other["scenes"]
    assert list(others["tinygrad_edu"]["views"]) == ["grad_fn"]
    assert list(others["torch"]["views"]) == ["values", "grad_fn"]
    assert set(explorer.values_pictures) == set(explorer.grad_fn_pictures) == {"tinygrad_edu", "torch"}


@pytest.mark.parametrize("why", ["open", "different"])
def test_both_pictures_are_in_the_answer_where_both_are_looked_at(why):
    explorer = explored()
    explorer.split = why == "open"
    explorer.state = {"retain_grad": ["d"]} if explorer.split else {"volatile": ["x"]}
    assert explorer.result["verdict"]["agree"] is explorer.split
    assert all("scene" in side for side in explorer.result["sides"])


@pytest.mark.parametrize(
    "message",
    [
        "Trying to backward through the graph a second time (or directly access saved tensors)",
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "grad can be implicitly created only for scalar outputs",
        "one of the variables needed for gradient computation has been modified by an inplace operation",
        "a leaf Variable that requires grad is being used in an in-place operation.",
        "can't retain_grad on Tensor that has requires_grad=False",
        "cannot register a hook on a tensor that doesn't require gradient",
        "only Tensors of floating point and complex dtype can require gradients",
        "Only Tensors of floating point and complex dtype can require gradients",
        "expected m1 and m2 to have the same dtype, but got: double != float",
        "addmv input tensors must have the same dtype, but got Float, Double, and Float",
        "Subtraction, the `-` operator, with a bool tensor is not supported.",
        "a Tensor with 2 elements cannot be converted to Scalar",
        "\"normal_kernel_cpu\" not implemented for 'Long'",
    ],
)
def test_what_learners_meet_most_is_explained(message):
    assert explain("RuntimeError", message).endswith(".")


def test_a_table_has_short_numbers_and_a_double_made_of_floats_is_as_precise_as_they_are():
    assert numbers([[1.0, -2.5], [0.123456, 3]]) == "[[1, −2.5], [0.1235, 3]]"
    explorer = viz.explore("x = T.linspace(0, 1, 50)\nz = T.tanh(x * 3).sin().sum().double()")
    assert [(entry["name"], entry["differs"]) for entry in explorer.result["table"]] == [("x", ""), ("z", "")]


def test_no_toggle_turns_a_picture_around():
    program = "w = T.tensor(1.0, requires_grad=True)\nv = w\n" + "v = v * w\n" * 4 + "v.backward()"
    explorer, directions = viz.explore(program, split=True), []
    for state in ({}, {"no_grad": [5]}, {"requires_grad": {"w": False}}, {"retain_grad": ["v"]}, {}):
        explorer.request = {"state": state, "seq": len(directions)}
        directions.append([side["scene"]["views"]["values"]["direction"] for side in explorer.result["sides"]])
    assert len({direction for pair in directions for direction in pair}) == 1


def test_copy_link_is_answered_with_the_switches_or_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGRAD_EDU_EXPLORE", "https://x.org/explore.html")
    explorer = Explorer("w = T.tensor(2.0, requires_grad=True)\nL = w * 3\nL.backward()")
    explorer.open()
    explorer.state = {"detach": ["L"]}
    explorer.questions = {"link": {"n": 1}}
    assert explorer.answers["link"]["link"].startswith("https://x.org/explore.html#1.")
    assert unpacked(explorer.answers["link"]["link"])["s"] == {"detach": ["L"]}
    factor = object()

    def program(T):
        return T.ones(2) * len([factor])

    explorer = Explorer(program)
    explorer.questions = {"link": {"n": 1}}
    assert "factor is made outside" in explorer.answers["link"]["why"]


LONG = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
for step in range(3000):
    loss = (w - 3) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad = None
print(step, w.item())"""


def test_a_long_loop_runs_to_its_end_and_a_sentence_says_where_its_picture_ends():
    explorer = viz.explore(LONG)
    for side in explorer.result["sides"]:
        assert "The picture ends at line" in side["cut"]
        assert side["stdout"].startswith("2999 ")
    assert explorer.result["verdict"]["agree"]
    assert all(len(recording.events) < 2100 for recording in explorer._recordings.values())


RECURRENT = """\
import torch
net, losses = torch.nn.LSTM(1, 4, batch_first=True), []
optimizer = torch.optim.Adam(net.parameters())
for step in range(200):
    out, _ = net(torch.ones(2, 5, 1))
    loss = (out ** 2).mean()
    losses.append(loss.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()"""


def test_a_run_that_is_cut_is_compared_as_far_as_it_is_recorded_on_both_engines():
    explorer = viz.explore(RECURRENT)
    assert all(recording.cut for recording in explorer._recordings.values())
    assert explorer.result["verdict"]["agree"], explorer.result["verdict"]


def test_a_sentence_says_what_could_not_be_read():
    explorer = viz.explore("import torch\nx = torch.ones(2)\nprint(torch.func.grad(lambda x: (x * x).sum())(x))")
    (side,) = [side for side in explorer.result["sides"] if side["engine"] == "torch"]
    assert side["cut"].startswith("viz could not read this tensor: ") and side["stdout"] == "tensor([2., 2.])\n"


def test_a_way_out_is_tried_without_observation(monkeypatch):
    limits, whole = [], Runs.recorded
    tried = lambda self, *given, **named: limits.append(named.get("limit")) or whole(self, *given, **named)  # noqa: E731
    monkeypatch.setattr(Runs, "recorded", tried)
    explorer = viz.explore("w = T.zeros(2, requires_grad=True)\nw[0] = w[0] + 1\nw.sum().backward()")
    assert limits.count(0) and explorer.result["fixes"]


def test_the_end_of_a_long_print_begins_with_a_whole_line():
    explorer = viz.explore("w = T.tensor(1.0)\nfor step in range(2000):\n    print('step', step)")
    printed = explorer.result["sides"][0]["stdout"].splitlines()
    assert printed[0].endswith("characters printed before this are hidden")
    assert printed[1].startswith("step ") and printed[-1] == "step 1999"


def test_a_switch_that_goes_back_runs_nothing_again_and_an_import_from_elsewhere_always_runs(monkeypatch):
    runs, whole = [], Runs.recorded
    monkeypatch.setattr(
        Runs, "recorded", lambda self, *given, **named: runs.append(given) or whole(self, *given, **named)
    )

    def pressed(program):
        made, accounts = viz.explore(program), []
        for number, state in enumerate([{"no_grad": [2]}, {}, {"no_grad": [2]}, {}], start=1):
            if number == 3:
                runs.clear()
            made.request = {"state": state, "seq": number}
            accounts.append(made.result["account"])
        again = len(runs)
        made.close()
        return again, accounts

    again, accounts = pressed("w = T.tensor(2.0, requires_grad=True)\ny = w * w\ny.backward()")
    assert again == 0 and accounts[:2] == accounts[2:] and accounts[0] != accounts[1]
    for outside in ("import math", "pass; import torch, time", "open"):
        again, _ = pressed(f"w = T.tensor(2.0, requires_grad=True)\ny = w * w\ny.backward()\n{outside}")
        assert again >= 2


CHANGES = {
    "dtype": ("T.set_default_dtype(T.float64)", "T.ones(1).dtype"),
    "device": ("T.set_default_device('cpu')", "(given := getattr(T, '_GLOBAL_DEVICE_CONTEXT', None)) and vars(given)"),
    "print options": ("T.set_printoptions(precision=1)", "T.tensor(1.2345)"),
    "print options of NumPy": ("import numpy; numpy.set_printoptions(precision=1)", "0.61725 * w.detach().numpy()"),
    "errors of NumPy": ("import numpy; numpy.seterr(all='raise')", "__import__('numpy').geterr()"),
    "grad mode": ("T.set_grad_enabled(False)", "(w * 2).requires_grad"),
    "anomaly mode": ("T.autograd.set_detect_anomaly(True)", "T.is_anomaly_enabled()"),
    "seed": ("T.manual_seed(9); T.rand(3)", "T.rand(2)"),
    "depth of calls": ("import sys; sys.setrecursionlimit(5000)", "__import__('sys').getrecursionlimit()"),
    "a method": ("T.Tensor.exp = lambda self: self * 0", "w.exp()"),
    "a method of a module": ("T.nn.Linear.forward = lambda self, x: x", "T.nn.Linear(1, 1)(T.ones(1)).requires_grad"),
    "a method of one's own": ("T.Tensor.mine = 1", "hasattr(w, 'mine')"),
    "a function": ("T.nn.functional.relu = abs", "T.nn.functional.relu(-w)"),
}


@pytest.mark.parametrize("change, shows", CHANGES.values(), ids=CHANGES)
def test_what_a_program_sets_does_not_reach_the_next_one(change, shows):
    program = f"w = T.tensor([2.0], requires_grad=True)\nprint({shows})"

    def printed(source):
        explorer = viz.explore(source)
        explorer._answer()
        assert [one.error for one in explorer._recordings.values()] == [None, None]
        return [one.stdout for one in explorer._recordings.values()]

    before, within = printed(program), printed(f"{change}\n{program}")
    assert within != before or "device" in change  # ours has one device, so nothing shows it
    assert printed(program) == before
    for engine in ("tinygrad_edu", "torch"):
        viz.diagnose(change, engine=engine)
    assert printed(program) == before


ANOTHER = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
out = net(torch.ones(1, 2)).sum()
out.backward()"""


def test_another_program_is_compared_with_nothing_and_gets_the_view_that_suits_it():
    explorer = explored(no_grad=[5])
    explorer.request = {"state": {}, "text": ANOTHER, "seq": 1}
    fresh = viz.explore(ANOTHER)
    assert (explorer.view, explorer.place) == (fresh.view, fresh.place) == ("modules", explorer.place)
    assert explorer.result["account"] == "This is another program, so nothing is compared with the one before."
    assert not any(explorer.result["lit"].values())
    explorer.request = {"state": {}, "text": ANOTHER.replace("ones", "zeros"), "seq": 2}
    assert "Line 4" in explorer.result["account"]
