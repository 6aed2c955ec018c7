"""`viz.diagnose` names the cause and its line, on both engines, and leaves everything as it was."""

import json
import keyword
import random
import re
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.diagnosis import BROKEN, FIXES, HEALTHY, USUAL
from support.functions import text_of

import viz
from viz.diagnosis import cause, kinds
from viz.diagnosis.finding import GROUPS
from viz.diagnosis.watching import observer, watch
from viz.diagnosis.watching.values import Values
from viz.diagnosis.watching.watch import Watch

pytestmark = pytest.mark.outer
TWO_LINES = "w = T.tensor(2.0, requires_grad=True)\nloss = (w.detach() - 1) ** 2\nloss.backward()"
ENDED = "ended with an error before"
ROOT = Path(__file__).resolve().parents[2]


def on_both_engines(cases):
    """One case in two on PyTorch, and one in four on ours: with the long ring, all."""
    given = []
    for number, case in enumerate(cases):
        for engine, one_in in (("torch", 2), ("tinygrad_edu", 4)):
            marks = [pytest.mark.long] if number % one_in else []
            if engine in case.engines:
                given.append(pytest.param(engine, case, id=f"{engine}-{case.name}", marks=marks))
    return pytest.mark.parametrize(("engine", "case"), given)


@on_both_engines(BROKEN)
def test_the_cause_and_its_line_come_first(engine, case):
    report = viz.diagnose(case.program, engine=engine)
    first = report.findings[0]
    assert (first.kind in case.kinds, first.line in case.lines) == (True, True), repr(report)
    assert report.observation.troubles == []
    codes = (code for finding in report.findings for code in re.findall(r"`.*?`|\w+\.\w+\(", finding.fix))
    code = " ".join(code.strip("`") for code in codes if not code.strip("`").isidentifier())  # that names a function
    named = {*re.findall(r"(?<![\w.])[^\W\d]\w*(?![\w(]|=[^=])", code)}
    assert named <= {*re.findall(r"\w+", case.program), "T", *keyword.kwlist}, "a fix has the names of its program"


@pytest.mark.parametrize(("words", "program"), [one[1:] for one in FIXES], ids=[one[0] for one in FIXES])
def test_the_fix_fits_the_way_the_number_is_used(engine, words, program):
    assert words in viz.diagnose(program, engine=engine).findings[0].fix


@on_both_engines(HEALTHY)
def test_nothing_is_called_certain_about_a_program_that_is_right(engine, case):
    report = viz.diagnose(case.program, engine=engine)
    assert report.error is None
    assert [finding for finding in report.findings if finding.certain] == []
    assert report.observation.troubles == []


@pytest.mark.parametrize("case", USUAL, ids=lambda case: case.name)
def test_nothing_at_all_is_said_about_usual_programs(engine, case):
    if engine not in case.engines:
        pytest.skip("it calls what this engine does not have")
    report = viz.diagnose(case.program, engine=engine)
    assert report.error is None
    assert report.findings == [], repr(report)
    assert report.observation.troubles == []


def trained(T):
    """A model, its optimizer and a step, in the midst of training."""
    T.manual_seed(3)
    model = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.BatchNorm1d(8), T.nn.ReLU(), T.nn.Dropout(0.5), T.nn.Linear(8, 1))
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    x = T.randn(6, 4)
    calls = []
    model[0].register_forward_hook(lambda module, given, out: None)

    def step():
        calls.append(1)
        model.eval()
        optimizer.zero_grad()
        model(x + T.randn(6, 4) + np.random.rand() + random.random()).pow(2).mean().backward()
        model[4].weight.requires_grad_(False)
        optimizer.step()

    model(x).sum().backward()
    optimizer.step()
    return model, optimizer, step, calls


def state_of(T, model, optimizer):
    """All that a diagnosis could change, as plain data."""
    return {
        "weights": {name: tensor.detach().tolist() for name, tensor in model.state_dict().items()},
        "gradients": [None if p.grad is None else (id(p.grad), p.grad.tolist()) for p in model.parameters()],
        "requires": [p.requires_grad for p in model.parameters()],
        "tensor hooks": [getattr(p, "_backward_hooks", None) for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "hooks": [
            {name: list(table) for name, table in vars(m).items() if name.endswith("hooks")} for m in model.modules()
        ],
        "optimizer": repr(optimizer.state_dict()),
        "random": (random.getstate(), np.random.get_state()[1].tolist(), T.random.get_rng_state().tolist()),
        "grad mode": (T.is_grad_enabled(), T.get_default_dtype()),
        "methods": [vars(T.nn.Module)[name] for name in ("__call__", "__init__", "train", "zero_grad")]
        + [T.optim.Adam.step, T.optim.Optimizer.zero_grad, vars(T.autograd.Function)["apply"], T.nn.init.zeros_]
        + [vars(T.optim.lr_scheduler.LRScheduler)["__init__"], vars(T.Tensor).get("grad"), vars(T.Tensor).get("data")],
    }


@pytest.mark.parametrize("raises", [False, True], ids=["to its end", "up to an error"])
def test_everything_is_as_before(T, raises):
    model, optimizer, step, calls = trained(T)

    def stumbling():
        step()
        T.set_grad_enabled(len(calls) < 2)
        if raises and len(calls) == 2:
            raise RuntimeError("the data ran out")

    before = state_of(T, model, optimizer)
    report = viz.diagnose(stumbling, model=model, optimizer=optimizer, steps=2)
    assert state_of(T, model, optimizer) == before
    assert len(calls) == 2
    assert (report.error or {}).get("message") == ("the data ran out" if raises else None)


def test_what_a_step_reaches_is_put_back_without_being_named(T):
    model, optimizer, step, _ = trained(T)
    before = state_of(T, model, optimizer)
    viz.diagnose(step)
    assert state_of(T, model, optimizer) == before


def test_a_custom_function_is_checked_where_nobody_sees_it(T):
    calls = []

    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(print("forward"))
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2 * ctx.saved_tensors[0] ** 2

    x = T.tensor([1.5, 2.0], requires_grad=True)
    report = viz.diagnose(lambda: Cube.apply(x).sum().backward(), steps=1)
    assert (report.findings[0].kind, report.stdout, len(calls)) == ("wrong-backward", "forward\n", 1)


@pytest.mark.parametrize(
    ("forward", "backward", "evidence"),
    [
        (
            "x * y",
            "g * y * 2, g * x",
            "for element [1] of its first input, which is -2, and a grad_output of ones, its",
        ),
        (
            "x * y",
            "g * y, g * x * x",
            "for its second input, which is 5, and a grad_output of ones, its backward gives 5,",
        ),
        ("x / x.sum() + 0 * y", "g - g.mean(), g * 0", "input, which is 1, and a grad_output of random numbers, its"),
    ],
)
def test_the_evidence_against_a_backward_can_be_checked(engine, forward, backward, evidence):
    rule = f"x, y = ctx.saved_tensors\nreturn {backward}"
    program = text_of("Own", f"ctx.save_for_backward(x, y)\nreturn {forward}", rule, given="x, y")
    program += "x = T.tensor([1.0, -2.0], requires_grad=True)\n"
    program += "y = T.tensor(5.0, requires_grad=True)\n"
    program += "Own.apply(x, y).sum().backward()"
    assert evidence in viz.diagnose(program, engine=engine).findings[0].message


def test_random_numbers_go_on_where_they_were(T):
    T.manual_seed(5)
    expected = T.rand(3).tolist()
    T.manual_seed(5)
    viz.diagnose("T.manual_seed(1); T.rand(9)", engine=T.__name__)
    assert T.rand(3).tolist() == expected


def test_a_step_is_diagnosed_by_its_own_lines(T):
    model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Linear(3, 1))
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    x = T.ones(4, 2)

    def step():
        hidden = model[0](x).detach()
        loss = model[1](hidden).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    first = viz.diagnose(step, model=model, optimizer=optimizer).findings[0]
    assert (first.kind, first.line, first.certain) == ("detach", 2, True)
    assert first.tensors == ["model.0.weight", "model.0.bias"]
    assert first.change == ("hidden = model[0](x).detach()", "hidden = model[0](x)")


def test_a_function_that_takes_the_engine_is_a_program(T, engine):
    def program(T):
        w = T.ones(3, requires_grad=True)
        loss = T.tensor(w.sum().item(), requires_grad=True)
        loss.backward()

    first = viz.diagnose(program, engine=engine).findings[0]
    assert (first.kind, first.line) == ("item", 3)


def test_the_engine_is_the_one_that_the_program_imports():
    assert viz.diagnose("import torch\nx = torch.ones(2)").engine == "torch"
    assert viz.diagnose("x = T.ones(2)").engine == "tinygrad_edu"


def test_a_healthy_program_is_told_what_was_looked_at(engine):
    report = viz.diagnose(HEALTHY[0].program, engine=engine)
    assert report.findings == []
    assert "Nothing was found" in repr(report)
    assert "4 backward passes, 4 optimizer steps and 4 tensors" in report.looked_at


def test_a_report_shows_itself_and_is_data(engine, tmp_path):
    report = viz.diagnose(BROKEN[0].program, engine=engine)
    shown = report._repr_mimebundle_()
    assert "detach" in shown["text/html"]
    assert "1. detach · line 12 · certain" in shown["text/plain"]
    data = json.loads(report.to_json())
    assert [data["findings"][0][key] for key in ("kind", "line", "certain")] == ["detach", 12, True]
    assert data["findings"][0]["change"][1] == "hidden = T.relu(self.first(x))"
    (change,) = data["findings"][0]["changes"]  # with its indentation: it takes the line's place as it is
    assert "\n".join(data["source"]).replace(change["old"], change["new"]) == report.repaired().rstrip("\n")
    page = report.save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "T.relu(self.first(x))" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        report.save(tmp_path / "report.pdf")


def test_text_of_a_program_is_never_markup(engine):
    program = 'w = T.ones(2, requires_grad=True)\nl = w.detach().sum()  # <script>&"\nl.backward()'
    report = viz.diagnose(program, engine=engine)
    assert "<script>&" not in report._repr_mimebundle_()["text/html"]
    assert "&lt;script&gt;" in report._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_steps_are_counted_from_one(steps):
    with pytest.raises(ValueError, match="whole number from 1"):
        viz.diagnose("x = 1", steps=steps)


def test_a_model_of_the_other_engine(T):
    other = "torch" if T.__name__ == "tinygrad_edu" else "tinygrad_edu"
    with pytest.raises(TypeError, match="on which the program runs"):
        viz.diagnose("x = 1", model=T.nn.Linear(1, 1), engine=other)
    with pytest.raises(ValueError, match="empty"):
        viz.diagnose("")


def test_a_program_that_never_ends_is_stopped_and_what_was_seen_is_told(engine):
    program = "w = T.ones(2, requires_grad=True)\nloss = w.detach().sum()\nloss2 = loss + w.sum() * 0\n"
    program += "while True:\n    pass"
    report = viz.diagnose(program, engine=engine, limit=0.5)
    assert report.error["type"] == "TimeoutError"
    assert "had not ended after 0.375 seconds" in report.error["message"]
    assert len(report.observation.ops) >= 4


LONG = """\
w = T.ones(2, requires_grad=True)
opt = T.optim.SGD([w], lr=0.01)
for step in range(40):
    loss = (w * w).sum()
    if step == 39:
        loss = loss.detach()
    loss.backward()
    opt.step()
"""


def test_a_run_that_costs_too_much_to_watch_runs_on_unwatched_and_what_was_seen_is_told(engine, monkeypatch):
    monkeypatch.setattr(watch, "FREE", -1e9)
    monkeypatch.setattr(watch, "CERTAINLY", 0)
    report = viz.diagnose(LONG, engine=engine)
    seen = report.observation
    assert (len(seen.passes), seen.unwatched, seen.steps) == (watch.WINDOW + 1, 39 - watch.WINDOW, 39)
    assert "no-zero-grad" in [one.kind for one in report.findings]
    assert report.error["line"] == 7
    assert "35 further backward passes ran unwatched" in report.looked_at


def test_no_more_ops_are_noted_than_rules_can_go_through(engine, monkeypatch):
    monkeypatch.setattr(watch, "MOST_OPS", 300)
    report = viz.diagnose(LONG.replace("step == 39", "False").replace("40", "400"), engine=engine)
    assert len(report.observation.ops) < 600
    assert report.observation.steps == 400
    assert report.findings[0].kind == "no-zero-grad"


def test_a_program_that_is_no_python_says_where():
    report = viz.diagnose("x = 1\ny = = 2")
    assert (report.error["type"], report.error["line"]) == ("SyntaxError", 2)


def test_the_ten_cases_of_the_page_are_what_it_says():
    notebook = json.loads((ROOT / "notebooks" / "my_model_does_not_learn.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    programs = [cell.removeprefix("%%diagnose\n") for cell in cells if cell.startswith("%%diagnose")]
    found = [viz.diagnose(program, engine="tinygrad_edu").findings[0].kind for program in programs]
    kinds = "detach, integer-op, unregistered, no-zero-grad, double-softmax, broadcast-loss, where, vanishing"
    assert ", ".join(found) == f"{kinds}, graph-grows, wrong-backward"


def test_many_parameters_are_named_by_their_modules(engine):
    program = """
body = T.nn.Sequential(*[T.nn.Linear(3, 3) for _ in range(6)])
head = T.nn.Linear(3, 1)
model = T.nn.Sequential(body, head)
optimizer = T.optim.SGD(model.parameters(), lr=0.1)
head(body(T.ones(2, 3)).detach()).sum().backward()
optimizer.step()
"""
    first = viz.diagnose(program, engine=engine).findings[0]
    assert (first.kind, len(first.tensors)) == ("detach", 12)
    assert "body (12 tensors)" in first.message


def test_a_closure_is_seen_at_each_of_its_calls():
    program = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    ZERO
    loss = (model(torch.ones(4, 2)) - 3).pow(2).mean()
    loss.backward()
    return loss
for _ in range(2):
    optimizer.step(closure)
"""
    report = viz.diagnose(program.replace("ZERO", "optimizer.zero_grad()"))
    assert (report.findings, report.observation.steps) == ([], 2)
    assert len(report.observation.passes) > 2
    first = viz.diagnose(program.replace("ZERO", "pass")).findings[0]
    assert (first.kind, first.line) == ("no-zero-grad", 7)


def test_a_model_of_an_earlier_cell_is_none_of_this_one(T, engine):
    other = T.nn.Linear(2, 2)
    program = "w = T.ones(2, requires_grad=True)\n(w * w).sum().backward()"
    assert viz.diagnose(program, engine=engine, inputs={"other": other}).findings == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a reentrant checkpoint of data", "ran unrecorded, since no input requires grad"),
        ("a Function that reads a weight it is not given", "reads w without being given it"),
        ("a backward over what forward kept on ctx", "its own derivative is not"),
        ("a nan behind a where", "0 × nan is nan"),
    ],
)
def test_a_fault_that_shows_only_in_the_record_is_told(engine, name, says):
    program = next(case.program for case in BROKEN if case.name == name)
    assert says in viz.diagnose(program, engine=engine).findings[0].message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a penalty on x.grad", "cut"),  # to keep a graph is not in vain where create_graph is missing
        ("a slope without a graph, beside what has its shape alone", "cut"),
        ("a penalty on a slope whose graph is freed with it", "cut"),  # what a stopped pass needs is used
        ("a state that begins at 0 and carries its graph", "state-not-detached"),
    ],
)
def test_nothing_is_said_beside_the_cause(name, kind):
    program = next(case.program for case in BROKEN if case.name == name)
    assert [one.kind for one in viz.diagnose(program, engine="torch").findings] == [kind]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("if step % 2: best = net.state_dict()", "", "1 step earlier"),
        ("", "if step > 0: best = net.state_dict()", "as 2 steps earlier"),
    ],
)
def test_a_state_is_told_by_the_time_that_it_was_taken_last(engine, before, after, told):
    steps = f"for step in range(4):\n    {before}\n    {STEP}{UPDATE}\n    {after}\n"
    report = viz.diagnose(f"{START}{steps}net.load_state_dict(best)", engine=engine)
    assert f"net, {told}" in report.findings[0].message


def test_a_program_hears_nothing_of_what_the_watching_stumbles_over(engine, monkeypatch):
    def stumble(*args, **kwargs):
        raise ValueError("no such thing")

    monkeypatch.setattr(Values, "value", stumble)
    report = viz.diagnose("w = T.ones(2, requires_grad=True)\n(w * w).sum().backward()\nprint(w.grad)", engine=engine)
    assert report.error is None
    assert "2., 2." in report.stdout
    assert "could not be examined: ValueError: no such thing" in report.looked_at


def test_the_path_of_a_finding_is_stepped_back_from_the_loss_to_its_cut(engine):
    report = viz.diagnose(BROKEN[0].program, engine=engine)
    path = cause.path_of(report.observation, report.findings[0])
    assert path.graph.ops[path.cut].function == "detach"
    made = cause.scene(report.observation, path)
    assert [step["phase"] for step in made["steps"]][-2:] == ["error", "end"]
    assert made["steps"][-2]["line"] == 12
    assert made["steps"][-1]["sentence"].endswith(".grad stays None.")
    view = made["views"]["values"]
    for picture in (view, *view["others"]):
        assert len(picture["patches"]) == len(made["steps"])
        assert picture["svg"].count(" error") == 1


def test_every_kind_of_finding_is_on_the_page_of_kinds():
    page = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:-1] for row in page.splitlines() if row.startswith(("| `", "| **"))]
    rows = [[cell.strip() for cell in row] for row in rows]
    assert all(meaning and line for kind, meaning, line in rows if kind.startswith("`"))
    expected = []
    for group, trouble in GROUPS.items():
        expected += [trouble, *(kind for kind, own in kinds.KINDS.items() if own == group)]
    assert [kind.strip("*`") for kind, _, _ in rows] == expected


def test_every_kind_that_a_program_is_held_to_has_a_meaning():
    assert {kind for case in BROKEN for kind in case.kinds} <= set(kinds.KINDS)


@pytest.mark.parametrize(
    ("program", "headline", "said"),
    [
        ("import torch\nraise AssertionError('Torch not compiled with CUDA enabled')", ENDED, 'device="cpu"'),
        ("import torch\nraise ValueError('a mistake of its own')", ENDED, "a mistake of its own"),
        ("x = 1", "no backward pass and no optimizer step ran", "0 backward passes"),
    ],
)
def test_a_program_that_shows_nothing_is_told_what_to_do(program, headline, said):
    report = viz.diagnose(program)
    assert (headline in report.headline, said in repr(report)) == (True, True), repr(report)


ONES, A, B = "T.ones(3, requires_grad=True)", "[w[0], w[1]]", "[w[1], w[2]]"
MSE = "T.nn.functional.mse_loss({}, T.ones(3)).backward()"


@pytest.mark.parametrize(
    ("program", "after"),
    [
        (f"v = {ONES} * 2\nv.sum().backward()\nprint(v.grad)", f"v = ({ONES} * 2).detach().requires_grad_()"),
        ("w = T.zeros(3, requires_grad=True)\nT.sqrt(w).sum().backward()", "T.sqrt(w + 1e-8).sum().backward()"),
        (f"w = {ONES}\n(w / w.std()).sum().backward()", "(w / (w.std() + 1e-8)).sum().backward()"),
        (f"w = {ONES}\nw.round().sum().backward()", "(w + (w.round() - w).detach()).sum().backward()"),
        (f"w = T.ones(3, 1, requires_grad=True)\n{MSE.format('w')}", MSE.format("w.squeeze(1)")),
        ("w = T.ones(3)\nw.sum().backward()", f"w = {ONES}"),
        (f"w = {ONES}\nm = T.tensor([{A}, {B}])\nm.sum().backward()", f"m = T.stack([T.stack({A}), T.stack({B})])"),
        (f"w = {ONES}\nloss = w * 2\nloss.backward()", "loss.mean().backward()"),
    ],
    ids=["non-leaf", "sqrt", "division", "round", "shapes", "requires_grad", "rows", "several"],
)
def test_the_changed_line_makes_the_finding_go_away(engine, program, after):
    finding = viz.diagnose(program, engine=engine).findings[0]
    assert finding.change == (program.splitlines()[finding.line - 1].strip(), after)
    repaired = viz.diagnose(program.replace(*finding.change), engine=engine)
    assert repaired.error is None
    assert [each for each in repaired.findings if each.kind == finding.kind] == []


def test_a_fix_takes_no_gradient_away(engine):
    program = "w = T.ones(3, requires_grad=True)\nv = w * 2\nv.sum().backward()\nprint(v.grad)"
    report = viz.diagnose(program, engine=engine)
    repaired = viz.diagnose(report.repaired(), engine=engine)
    assert ("v = w * 2\nv.retain_grad()" in report.repaired(), repaired.findings) == (True, [])
    assert [leaf.name for leaf in repaired.observation.leaves if leaf.gradients] == ["w"]


def test_a_write_through_detach_is_found_where_it_is_written(engine):
    program = "a = T.ones(3, requires_grad=True)\nout = a.sigmoid()\nc = out.detach()\nc.zero_()\nout.sum().backward()"
    report = viz.diagnose(program, engine=engine)
    assert (report.findings[0].line, report.findings[0].certain) == (4, True)
    assert "c = out.detach().clone()" in report.repaired()


def test_the_old_constructor_of_tensors_makes_a_new_one():
    program = "w = torch.ones(2, requires_grad=True)\nloss = torch.Tensor([w[0], w[1]]).sum()\nloss.backward()"
    first = viz.diagnose(program, engine="torch").findings[0]
    assert (first.kind, first.line) == ("new-tensor", 2)


START = "T.manual_seed(0)\nx = T.randn(8, 3)\nnet = T.nn.Linear(3, 1)\nopt = T.optim.SGD(net.parameters(), lr=0.1)\n"
LOOP = "for _ in range(3):\n    "
STEP = "loss = (net(x) - x[:, :1]).pow(2).mean()\n    "
UPDATE = "opt.zero_grad()\n    loss.backward()\n    opt.step()"


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (f"{START}{LOOP}{STEP}loss.backward()\n    opt.zero_grad()\n    opt.step()", "zero-before-step"),
        (f"{START}{LOOP}{STEP}opt.zero_grad()\n    opt.step()\n    loss.backward()", "step-before-backward"),
        (f"{START}{LOOP}{STEP}loss.backward()\nprint(loss)", "never-steps"),
        (f"{START}net = T.nn.Linear(3, 1)\n{LOOP}{STEP}{UPDATE}", "stale-optimizer"),
        (f"{START}out = net(x)\n{LOOP}loss = (out - x[:, :1]).pow(2).mean()\n    {UPDATE}", "second-backward"),
        (f"head = T.nn.Linear(1, 1)\n{START}{LOOP}loss = head(net(x)).pow(2).mean()\n    {UPDATE}", "not-in-optimizer"),
        (
            "cell = T.nn.LSTM(2, 2)\nopt = T.optim.SGD(cell.parameters(), lr=0.1)\nstate = None\nfor _ in range(3):\n"
            "    out, state = cell(T.randn(3, 1, 2), state)\n    loss = out.pow(2).mean()\n"
            f"    {UPDATE}",
            "state-not-detached",
        ),
    ],
    ids=lambda text: text if " " not in text else "",
)
def test_a_fix_of_several_lines_makes_the_finding_go_away(engine, program, kind):
    report = viz.diagnose(program, engine=engine)
    finding = report.findings[0]
    assert finding.kind == kind
    text = repr(report)
    assert all(f"+ {line}" in text or f"  {line}" in text for line in finding.changes[0].new.split("\n"))
    again = viz.diagnose(report.repaired(), engine=engine)
    assert again.error is None
    assert [one for one in again.findings if one.certain or one.kind == kind] == []


TWO_WEIGHTS = """\
T.manual_seed(0)
x = T.randn(20, 1)
w1 = T.randn(1, 8, requires_grad=True)
w2 = T.randn(8, 1, requires_grad=True)
for step in range(5):
    loss = ((T.tanh(x @ w1) @ w2 - 3 * x) ** 2).mean()
    loss.backward()
"""
ONE_WEIGHT = """\
x = T.linspace(-1, 1, 9)
w1 = T.tensor(1.0, requires_grad=True)
for step in range(5):
    loss = ((w1 * x - 3 * x) ** 2).mean()
    loss.backward()
"""
UNDER, ZERO = "    with T.no_grad():\n        ", "grad.zero_()"
FIRST, SECOND = "w1 = w1 - 0.1 * w1.grad\n", "w2 = w2 - 0.1 * w2.grad\n"
REBOUND = {
    "inside": f"{TWO_WEIGHTS}{UNDER}{FIRST}        {SECOND}        w1.{ZERO}\n        w2.{ZERO}",
    "outside": f"{TWO_WEIGHTS}{UNDER}{FIRST}        {SECOND}    w1.{ZERO}\n    w2.{ZERO}",
    "between": f"{TWO_WEIGHTS}{UNDER}{FIRST}        w1.{ZERO}\n        {SECOND}        w2.{ZERO}",
    "one-of-two": f"{TWO_WEIGHTS}{UNDER}{FIRST}        w2 -= 0.1 * w2.grad\n        w1.{ZERO}\n        w2.{ZERO}",
    "none": f"{TWO_WEIGHTS}{UNDER}{FIRST}        {SECOND}    w1.grad = None\n    w2.grad = None",
    "never-zeroed": f"{TWO_WEIGHTS}{UNDER}{FIRST}        {SECOND}",
    "recorded": f"{TWO_WEIGHTS}    {FIRST}    {SECOND}    w1.{ZERO}\n    w2.{ZERO}",
    "one-inside": f"{ONE_WEIGHT}{UNDER}{FIRST}        w1.{ZERO}",
    "one-outside": f"{ONE_WEIGHT}{UNDER}{FIRST}    w1.{ZERO}",
    "one-none": f"{ONE_WEIGHT}{UNDER}{FIRST}    w1.grad = None",
    "one-never-zeroed": f"{ONE_WEIGHT}{UNDER}{FIRST}",
}


@pytest.mark.parametrize("program", REBOUND.values(), ids=REBOUND)
def test_a_weight_that_its_update_makes_anew_is_named_and_its_fix_runs(engine, program):
    report = viz.diagnose(program, engine=engine)
    first = report.findings[0]
    assert (first.kind, report.source[first.line - 1].strip(), first.certain) == ("rebound", FIRST.strip(), True)
    again = viz.diagnose(report.repaired(), engine=engine)
    assert (again.error, again.findings) == (None, [])


def test_a_finding_without_a_fix_as_code_says_so(engine):
    with pytest.raises(ValueError, match="says in words what to do"):
        viz.diagnose("w = T.tensor(1.0, requires_grad=True)\nw.backward()", engine=engine).repaired()


@pytest.fixture
def interrupting(monkeypatch):
    """A function that makes a method of ours be interrupted whenever it begins."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(owner, name):
        method = getattr(owner, name)

        def interrupted(*args, **kwargs):
            signal.raise_signal(signal.SIGINT)
            return method(*args, **kwargs)

        monkeypatch.setattr(owner, name, interrupted)

    yield interrupt
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(observer._Replaced, "put"), (observer._Replaced, "undo"), (Values, "close"), (Watch, "peak")],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_an_interrupt_in_our_own_code_waits_until_all_is_put_back(T, engine, monkeypatch, interrupting, owner, name):
    model, optimizer, step, _ = trained(T)
    patched = [(T.nn.Module, "__call__"), (T.optim.Adam, "step"), (np.random, "shuffle"), (T.nn.init, "zeros_")]
    before = [getattr(*place) for place in patched], state_of(T, model, optimizer), sys.stdout, warnings.showwarning
    interrupting(owner, name)
    with pytest.raises(KeyboardInterrupt):
        viz.diagnose(step, model=model, optimizer=optimizer)
    monkeypatch.undo()
    after = [getattr(*place) for place in patched], state_of(T, model, optimizer), sys.stdout, warnings.showwarning
    assert after == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert viz.diagnose(TWO_LINES, engine=engine).findings[0].kind == "detach"


@pytest.mark.usefixtures("interrupting")
def test_a_program_may_catch_its_own_interrupt(engine):
    program = "import signal\ntry: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: pass\n" + TWO_LINES
    assert viz.diagnose(program, engine=engine).findings[0].line == 5


def test_a_function_that_passes_no_gradient_on_is_not_checked_at_every_call(engine):
    program = text_of("Stop", "return x.view_as(x)", "return g * 0")
    program += "w = T.ones(3, requires_grad=True)\nfor _ in range(12):\n    (Stop.apply(w) + w).sum().backward()"
    checks = viz.diagnose(program, engine=engine).observation.functions
    assert 1 < len(checks) < 12
    assert {check.scale for check in checks} == {0.0}
