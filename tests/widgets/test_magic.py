"""`%%autograd` in a real IPython: the cell runs with the notebook's names, and shows its graph."""

import ast
import contextlib
import gc
import io
import re
import signal
import traceback
import tracemalloc
from collections.abc import Iterator

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from support import printed

import tinygrad_edu as tg
from viz.draw import Picture
from viz.engines import CORE, TORCH
from viz.magic import STEPS
from viz.recording.flow import flow
from viz.widgets.comparison import ComparisonView
from viz.widgets.player import Player

pytestmark = pytest.mark.outer
ENGINES = [CORE, TORCH]


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "viz")
    shell.user_ns["tg"] = tg
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shown(monkeypatch):
    """What the magics display, as the objects themselves."""
    things = []
    monkeypatch.setattr("viz.magic.display", things.append)
    return things


def test_names_go_both_ways_between_the_cell_and_the_notebook_each_time_that_it_runs(shell, shown):
    shell.run_cell("k = 3.0\nother = tg.tensor(5.0)\nw = tg.tensor(2.0, requires_grad=True)")
    for _ in range(2):
        shell.run_cell("%%autograd\nL = w * w * k\nL.backward()").raise_error()
    assert shell.user_ns["w"].grad.item() == 24.0
    assert shell.user_ns["L"].item() == 12.0
    assert "T" not in shell.user_ns
    player, again = shown
    assert isinstance(player, Player)
    assert player.scene["source"] == ["L = w * w * k", "L.backward()"]
    assert player.step == len(player.scene["steps"]) - 1 == len(again.scene["steps"]) - 1
    names = {rows[0][1] for rows in player.scene["details"].values()}
    assert "w" in names and "other" not in names, "what the cell does not name stays out of its picture"
    shell.run_cell("%%autograd --step\nw.grad = None\nL = L + 1\nw = L").raise_error()
    assert shown[2].step == 0
    drawn = {row[1] for rows in shown[2].scene["details"].values() for row in rows}
    assert {"MulBackward0", "AddBackward0"} <= drawn, "what a name that the cell reads first stands for is part of it"


def test_the_engine_is_the_one_that_the_cell_names(shell, shown):
    shell.run_cell("import torch\na = torch.tensor(2.0, requires_grad=True)")
    shell.run_cell("%%autograd\nb = a * a").raise_error()
    shell.run_cell("%%autograd --engine torch\nc = T.ones(2)").raise_error()
    assert [player.scene["engine"] for player in shown] == ["torch", "torch"]
    assert type(shell.user_ns["c"]).__module__ == "torch"


@pytest.mark.parametrize(
    "call", ["train()", "%time train()", "%%time\nl = train()", "%timeit -n 1 -r 1 train()", "t.fit()"]
)
@pytest.mark.parametrize("magic", ["autograd", "diagnose"])
def test_the_engine_is_that_of_a_function_of_an_earlier_cell(shell, shown, capsys, magic, call):
    shell.run_cell("""import torch
model = torch.nn.Linear(2, 1)
def train():
    model(torch.ones(3, 2)).mean().backward()
class Trainer:
    def fit(self):
        train()
t = Trainer()""")
    shell.run_cell(f"%%{magic}\n{call}").raise_error()
    (one,) = shown
    if magic == "diagnose":
        assert one.engine == "torch" and "no backward pass" not in str(one)
    else:
        assert one.scene["engine"] == "torch"
        assert "model.weight" in {row[1] for rows in one.scene["details"].values() for row in rows}


def test_a_cell_with_an_absent_name_is_told_how_to_see_it_on_pytorch_where_it_is_shown(shell, shown):
    cell = "x = T.ones(4, requires_grad=True)\ny = T.fft.fft(x).abs().sum()\ny.backward()"
    with capture_output() as output:
        result = shell.run_cell(f"%%autograd\n{cell}")
    assert isinstance(result.error_in_exec, AttributeError)
    last = shown[0].scene["steps"][-1]
    assert (last["phase"], last["line"]) == ("error", 2) and "Fourier transforms are not built" in last["sentence"]
    assert "%%autograd --engine torch" in output.stdout
    shell.run_cell(f"%%autograd --engine torch\n{cell}").raise_error()
    assert shown[1].scene["engine"] == "torch"
    shell.run_cell(f"%%autograd --compare\n{cell}").raise_error()
    first, second = shown[2].result["sides"]
    assert (first["engine"], "scene" in first) == ("torch", True)
    assert first["alone"] == second["missing"] and first["alone"].startswith("Line 2: tinygrad_edu has no 'fft'")


def test_an_exception_is_marked_and_shown_with_the_lines_of_the_cell_and_the_mistake_by_its_name(shell, shown):
    with capture_output() as output:
        cell = "%%autograd\ndef g(v):\n    v.backward()\nw = T.tensor(2.0, requires_grad=True)\nL = w * w\ng(L)\ng(L)"
        result = shell.run_cell(cell, store_history=True)
    assert isinstance(result.error_in_exec, RuntimeError)
    last = shown[0].scene["steps"][-1]
    assert (last["phase"], last["line"]) == ("error", 2)
    said = re.sub(r"\x1b\[[\d;]*m", "", output.stdout)
    assert 'viz.mistake("second backward")' in said
    # numbered as the notebook numbers them, `%%autograd` being line 1
    assert "----> 7 g(L)" in said and "----> 3     v.backward()" in said and "Cell In[" in said
    assert len(set(re.findall(r"Cell In\[(\d+)\]", said))) == 1  # by the number that the notebook shows
    assert "viz/magic.py" not in said and "viz/recording/" not in said
    with capture_output():
        result = shell.run_cell("%%autograd\nw = T.tensor(2.0)\nraise SystemExit(3)")
    assert isinstance(result.error_in_exec, SystemExit)
    assert shown[1].scene["steps"][-1]["phase"] == "error"
    shell.run_cell("%%autograd\nw * 2").raise_error()


def test_compare_runs_the_cell_on_both_engines_and_changes_nothing_in_the_notebook(shell, shown):
    shell.run_cell("k = 4.0\nw = tg.tensor(2.0, requires_grad=True)\nseen = []")
    shell.run_cell("%%autograd --compare --step\nseen.append(1)\nv = w * 1\n(w * k + v).backward()").raise_error()
    assert shell.user_ns["w"].grad is None and shell.user_ns["seen"] == [] and "v" not in shell.user_ns
    (view,) = shown
    assert isinstance(view, ComparisonView)
    assert view.result["agree"] and view.step == 0
    assert view.result["table"][0]["grad"] == {"tinygrad_edu": "5", "torch": "5"}


def test_on_draws_the_last_tensor_of_each_cell_until_off(shell, shown):
    shell.run_cell("%autograd on")
    shell.run_cell("w = tg.tensor(2.0, requires_grad=True)\nq = w * w\nn = 3")
    shell.run_cell("n + 1")
    shell.run_cell("w + 1")
    shell.run_cell("%autograd off")
    shell.run_cell("r = w * 3")
    assert [type(thing) for thing in shown] == [Picture, Picture]
    assert "MulBackward0" in shown[0].svg and "AddBackward0" in shown[1].svg
    names = [[value.name for value in picture.graph.values.values() if value.name] for picture in shown]
    assert [sorted(found) for found in names] == [["q", "w"], ["w"]]  # the notebook's own, and no others


def test_on_outlives_an_error_and_leaves_cells_under_autograd_alone(shell, shown):
    shell.run_cell("%autograd on\n%autograd on\nw = tg.tensor(2.0, requires_grad=True)")
    shown.clear()
    with capture_output():
        shell.run_cell("1 / 0")
    shell.run_cell("%time u = w * 3")
    shell.run_cell("%%autograd\nw * 4")
    shell.run_cell("%autograd off")
    picture, player = shown
    assert isinstance(picture, Picture) and isinstance(player, Player)


def test_the_value_of_the_last_line_is_the_value_of_the_cell(shell, shown):
    assert shell.run_cell("%%autograd\nk = T.tensor(3.0)\nk * 2").result.item() == 6.0
    assert shell.run_cell("%%autograd\nk * 2;").result is None
    assert shell.run_cell("%%autograd\nv = k * 2").result is None


def test_what_a_cell_defines_is_there_in_later_cells_with_its_source(shell, shown):
    twice = (
        "%%autograd\nclass Twice:\n    def __call__(self, v):\n        return v * 2\ndef f(v):\n    return Twice()(v)"
    )
    shell.run_cell(twice)
    for number in range(40):  # far more cells than are kept of other programs
        shell.run_cell(f"%%autograd\nn = {number}")
    shell.run_cell("import inspect\ny = f(tg.tensor(2.0))\ntext = inspect.getsource(f)").raise_error()
    assert shell.user_ns["y"].item() == 4.0
    assert shell.user_ns["text"] == "def f(v):\n    return Twice()(v)\n"


LONG = "\n".join(f"a{i} = w * {i}" for i in range(500))


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("def f(v):\n    return v * 2\nz = w\nfor i in range(3):\n    z = f(z)", 3),
        ("t = sum([w * i for i in range(3)]) + max(w * i for i in range(2))", 5),
        (LONG, 500),
    ],
    ids=["loops and functions", "comprehensions and generators", "a very long cell"],
)
def test_whatever_runs_is_recorded(shell, shown, lines, count):
    shell.run_cell("w = tg.tensor(1.0, requires_grad=True)")
    shell.run_cell(f"%%autograd\n{lines}").raise_error()
    assert sum(["node", "MulBackward0"] in rows for rows in shown[0].scene["details"].values()) == count
    assert shown[0].scene["source"] == lines.splitlines()
    assert lines is not LONG or shown[0].scene["steps"][-1]["line"] == 500


def test_lines_of_ipython_run_inside_the_cell_and_stand_in_it_as_written(shell, shown, capfd):
    cell = "%%autograd\n!echo from the shell\nw = T.tensor(2.0, requires_grad=True)\n%time y = w * w\ny.backward()"
    shell.run_cell(cell).raise_error()
    assert "from the shell" in capfd.readouterr().out
    assert shell.user_ns["w"].grad.item() == 4.0
    assert shown[0].scene["source"][0::2] == ["!echo from the shell", "%time y = w * w"]
    details = shown[0].scene["details"].values()
    assert ["line", "3"] in next(rows for rows in details if ["node", "MulBackward0"] in rows)


def test_t_means_what_the_notebook_or_the_cell_means_by_it(shell, shown):
    shell.run_cell("T = 300.0")
    shell.run_cell("%%autograd\nwarm = T + 1").raise_error()
    assert (shell.user_ns["warm"], shell.user_ns["T"]) == (301.0, 300.0)
    shell.run_cell("%%autograd\nimport tinygrad_edu as T\nk = T.ones(2)").raise_error()
    assert shell.user_ns["T"] is tg
    shell.run_cell("del T")
    shell.run_cell("%%autograd\nT = 3").raise_error()
    assert shell.user_ns["T"] == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_of_ten_thousand_runs_to_its_end_and_its_picture_to_a_limit(shell, shown, capsys, engine):
    loop = f"%%autograd --engine {engine}\nprint('here')\nz = T.zeros(1)\nfor i in range(10_000):\n    z = z + 1\n"
    shell.run_cell(f"{loop}z.item()").raise_error()
    assert shell.user_ns["z"].item() == 10_000.0
    assert len(shown[0].scene["steps"]) <= STEPS + 2
    said = capsys.readouterr().out
    assert "here" in said
    assert "The picture ends at line 4, after 2,000 steps; the cell ran on without it." in said
    with capture_output():
        result = shell.run_cell(f"{loop}z / undefined")
    assert isinstance(result.error_in_exec, NameError)
    assert shown[1].scene["steps"][-1]["line"] == 5, "an exception after the limit still has its line"


def test_what_a_cell_prints_stands_in_its_place_among_what_else_it_writes(shell, shown):
    with contextlib.redirect_stdout(io.StringIO()) as both, contextlib.redirect_stderr(both):
        shell.run_cell("%%autograd\nimport sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')")
    assert both.getvalue().startswith("one\ntwo\nthree\n")


def test_of_much_that_a_cell_prints_the_beginning_and_the_end_are_shown(shell, shown):
    with contextlib.redirect_stdout(io.StringIO()) as both:
        shell.run_cell("%%autograd\nfor i in range(10_000):\n    print(i)")
    text = both.getvalue()
    assert text.startswith("0\n1\n") and "are hidden" in text and text.endswith("9999\n") and len(text) < 4_200


def test_a_gigabyte_of_print_takes_no_room(shell, shown):
    cell = "%%autograd\nchunk = 'x' * 1_000_000\nfor _ in range(1000):\n    print(chunk)\ndone = True"
    tracemalloc.start()
    with capture_output() as output:
        shell.run_cell(cell).raise_error()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert shell.user_ns["done"] and "beyond 100,000 characters is not kept" in output.stdout
    assert peak < 20_000_000


@pytest.fixture
def no_callbacks_of_the_collector() -> Iterator[None]:
    """An interrupt is lost while one of them runs. Hypothesis has one, from its first test on; a notebook has none."""
    kept = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = kept


@pytest.mark.usefixtures("no_callbacks_of_the_collector")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "forever", ["pass", "print('x')", "z = z * 0.5", "(w * w).backward()", "T.set_grad_enabled(False)"]
)
def test_an_endless_loop_is_interrupted_and_the_next_cell_works(shell, shown, forever, engine):
    start = "w = T.tensor(2.0, requires_grad=True)\nz = w * 3\nstop_soon()\n"
    # Seconds of work, which a busy machine does not shorten; and again, should one be lost. Pytest has the other clock.
    shell.user_ns["stop_soon"] = lambda: signal.setitimer(signal.ITIMER_PROF, 0.2, 60)
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    try:
        with capture_output() as output:
            result = shell.run_cell(f"%%autograd --engine {engine}\n{start}while True:\n    {forever}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert "You stopped it." in output.stdout
    assert "viz/" not in re.sub(r"\x1b\[[\d;]*m", "", output.stdout)
    assert any(rows[0][1] == "z" for rows in shown[0].scene["details"].values() if rows)
    shell.run_cell(f"%%autograd --engine {engine}\nq = w * 5\nq.item()").raise_error()
    assert shell.user_ns["q"].item() == 10.0 and len(shown) == 2


def test_tensors_of_both_engines_in_one_cell_are_told_apart_in_a_sentence(shell, shown, capsys):
    shell.user_ns.update(t=torch.tensor(2.0), w=tg.tensor(2.0))
    shell.run_cell("%%autograd\na = t * 2\nb = w * 2").raise_error()
    assert "the picture shows torch's part. For the other: %%autograd --engine tinygrad_edu" in capsys.readouterr().out
    shell.run_cell("%%autograd --engine tinygrad_edu\na = t * 2\nb = w * 2").raise_error()
    assert shown[1].scene["engine"] == "tinygrad_edu" and "both engines" not in capsys.readouterr().out
    shell.run_cell("%%autograd\nt * w")
    assert "cannot compute with each other's tensors" in capsys.readouterr().out


def test_a_figure_that_the_cell_draws_and_closes_is_left_alone(shell, shown):
    from matplotlib import pyplot

    cell = "%%autograd\nimport matplotlib.pyplot as plt\ny = T.ones(2) * 2\nplt.plot(y.numpy())\nplt.close('all')"
    shell.run_cell(cell).raise_error()
    assert pyplot.get_fignums() == [] and shell.user_ns["y"].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%autograd", "%autograd on, %autograd off, or %%autograd above a cell"),
        ("%autograd on --step", "%autograd on, %autograd off, or %%autograd above a cell"),
        ("%autograd onn", "argument what: invalid choice: 'onn'"),
        ("%%autograd on\na = 2", "%autograd on belongs into a separate cell, with one %"),
        ("%%autograd --engine jax\na = 2", "argument --engine: invalid choice: 'jax'"),
        ("%%autograd --foo\na = 2", "unrecognized arguments: --foo"),
        ("%%autograd --compare --engine torch\na = 2", "--compare runs the cell on both engines: leave --engine out"),
        ("%%autograd\na = = 2", "`a = = 2` in line 1 is not Python: invalid syntax"),
        ("%%autograd\na = 2\nreturn a", "`return a` in line 2 is not Python: 'return' outside function"),
        (
            "%%autograd\nawait sleep(0)",
            "'await' outside function: move asynchronous code into a cell without %%autograd",
        ),
        ("%%autograd\nasync with a:\n    pass", "move asynchronous code into a cell without %%autograd"),
        ("%%diagnose\nx = = 3", "is not Python"),
    ],
)
def test_what_cannot_be_run_says_so(shell, shown, capsys, cell, message):
    shell.run_cell(cell)
    said = capsys.readouterr()
    assert message in said.out + said.err
    assert shown == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cell_is_diagnosed_and_runs_as_it_would(shell, shown, engine):
    shell.run_cell(f"import {engine} as E\nw = E.ones(2, requires_grad=True)")
    cell = "loss = (w.detach() * 3).sum() + w.sum() * 0\n"
    cell += "same = E.tensor(loss.item(), requires_grad=True)\nsame.backward()\nw"
    ran = shell.run_cell(f"%%diagnose\n{cell}")
    ran.raise_error()
    assert ran.result is shell.user_ns["w"]
    assert shell.user_ns["same"].item() == 6.0
    (report,) = shown
    assert (report.engine, report.findings[0].kind, report.findings[0].line) == (engine, "item", 3)


def test_what_is_shown_of_a_cell_that_raises_stands_below_its_traceback(shell, monkeypatch):
    monkeypatch.setattr("viz.magic.display", lambda thing: print("shown:", type(thing).__name__))
    for magic, kind in (("autograd", "Player"), ("diagnose", "Report")):
        with capture_output() as output:
            shell.run_cell(f"%%{magic}\nq = w + undefined\nq")
        assert output.stdout.index("NameError") < output.stdout.index(f"shown: {kind}")
        with capture_output() as output:
            shell.run_cell(f"%%{magic}\nq = w * 2\nq")
        assert output.stdout.count(f"shown: {kind}") == 1


def test_what_a_diagnosed_cell_raises_is_raised_before_its_report(shell, shown):
    ran = shell.run_cell("%%diagnose --engine tinygrad_edu\nw = tg.ones(2)\nw.sum().backward()")
    assert isinstance(ran.error_in_exec, RuntimeError)
    assert shown[0].findings[0].kind == "requires-grad-off"
    assert shown[0].error["line"] == 3  # as in the traceback above it: the magic is line 1
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(ran.error_in_exec.__traceback__)]
    magic = next(place for place, file in enumerate(files) if file.endswith("magic.py"))
    assert files[magic + 1].startswith("<ipython-input")  # the traceback starts in the cell


# A shell of its own, where no optimizer has made a step: PyTorch imports a part of itself at the first one.
FIRST = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import viz").raise_error()
first = shell.magics_manager.registry["AutogradMagics"]
shell.run_line_magic("load_ext", "viz")
assert shell.magics_manager.registry["AutogradMagics"] is first
shell.run_cell('''%%diagnose --engine torch
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    (w * 2).sum().backward()
    opt.zero_grad()
    opt.step()
''')
"""


def test_importing_viz_brings_the_magic_once_and_the_first_diagnosis_of_a_notebook_tries_its_fix():
    assert "1 finding, certain." in printed(FIRST, timeout=120)


CODE_ROWS = [("p = w", "w", "p"), ("p, (q, *r) = w", "w", "p q r"), ("[p, q] = w", "w", "p q")]
CODE_ROWS += [("p = q = w", "w", "p q"), ("p: int = w", "w int", "p"), ("p: int", "int", ""), ("p = p * 2", "p", "p")]
CODE_ROWS += [("p += w", "p w", "p"), ("p = w\np += 1", "w", "p"), ("p[0] = q.r = w", "p q w", "")]
CODE_ROWS += [("print(p := w, p)", "print w", "p"), ("for p, q in w:\n    r = p", "w", "p q r")]
CODE_ROWS += [("for p in p: pass", "p", "p"), ("while w:\n    p = w\nprint(p)", "w print", "p")]
CODE_ROWS += [("with w as (p, q), p.r as s: q", "w", "p q s")]
CODE_ROWS += [("try:\n    p = w\nexcept E as q:\n    q\nelse:\n    p", "w E", "p q")]
CODE_ROWS += [("import p, q.r, s as t\nfrom u import v, x as y", "", "p q t v y")]
CODE_ROWS += [("def p(a, b=w):\n    c = a\n    return b, c, d", "w d", "p"), ("async def p(): pass", "", "p")]
CODE_ROWS += [("class p(w):\n    a = 1\n    b = a", "w", "p"), ("p = lambda a, *b, c=w: (a, b, c, d)", "w d", "p")]
CODE_ROWS += [("p = [a for a in w if a]", "w", "p"), ("p = {a: b for a, b in w}", "w", "p")]
CODE_ROWS += [("p = [(q := a) for a in w]", "w", "p q")]
CODE_ROWS += [("match w:\n    case [p, *q]: pass\n    case {'a': r, **s}: pass\n    case t: t", "w", "p q r s t")]
CODE_ROWS += [("if w: p = 1\nelse: p = 2\np", "w", "p"), ("if w: p = 1\np", "w p", "p")]
CODE_ROWS += [("if w: p = 1\nelse: p", "w p", "p"), ("del p", "p", "")]


@pytest.mark.parametrize(("code", "read", "bound"), CODE_ROWS)
def test_which_names_a_cell_reads_before_it_gives_them_a_value(code, read, bound):
    assert flow(ast.parse(code)) == (set(read.split()), set(bound.split()))


CELLS = ["p, q = w * 2, w * 3\nr = p + q", "[p, *q] = [w * 2, w * 3]"]
CELLS += ["for i in range(2):\n    p = w * i\n    q = p + 1", "print(p := w * 3)"]
CELLS += ["with tg.enable_grad() as p:\n    q = w * 2", "p: object = w * 2"]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_that_runs_again_does_not_draw_its_last_run(shell, shown, cell):
    shell.run_cell("w = tg.tensor(2.0, requires_grad=True)")
    for _ in range(2):
        shell.run_cell(f"%%autograd\n{cell}").raise_error()
    first, again = shown
    assert list(first.scene["details"]) == list(again.scene["details"])


def test_an_explored_cell_leaves_the_notebook_as_it_is(shell, shown):
    weight = tg.tensor(2.0, requires_grad=True)
    shell.push({"weight": weight})
    shell.run_cell_magic("explore", "", "loss = weight * weight\nloss.backward()\n")
    assert [type(one).__name__ for one in shown] == ["Explorer"]
    shown[0]._begin()
    assert shown[0].program["given"] == "# given: weight"
    assert "loss" not in shell.user_ns
    assert weight.grad is None
