"""A change is shown only if the changed program ran without the finding; nothing outside is touched again."""

import socket
import time

import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.functions import text_of

import viz
from viz.diagnosis.finding import Finding, Trial
from viz.diagnosis.trial import Place, Question

pytestmark = pytest.mark.outer

DETACHED = """\
net = T.nn.Linear(3, 2)
head = T.nn.Linear(2, 1)
opt = T.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    hidden = net(T.ones(4, 3)).detach()
    loss = head(hidden).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_what_the_program_wrote_is_not_written_again(engine, tmp_path):
    path = tmp_path / "log"
    report = viz.diagnose(f"{DETACHED}open({str(path)!r}, 'a').write('once')\n", engine=engine)
    assert path.read_text() == "once"
    assert (report.findings[0].certain, report.findings[0].tried[:5]) == (True, "Tried")  # it was seen before the write


OUTSIDE = ["open('made', 'w')", "import os; os.mkdir('made')", "__import__('subprocess').run('true')"]
OUTSIDE += ["T.save([1.0], 'made')"]


@pytest.mark.parametrize("outside", OUTSIDE)
def test_a_program_that_goes_outside_before_its_first_pass_is_not_tried(outside, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = viz.diagnose(f"import torch\nT = torch\n{outside}\nimport shutil, os\n{DETACHED}").findings[0]
    assert (first.kind, first.certain, first.changes) == ("detach", False, [])
    assert "could not be tried" in first.tried


def test_no_message_is_sent_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        sent = f"import socket\nsocket.create_connection(('127.0.0.1', {port})).close()\n"
        assert viz.diagnose(sent + DETACHED, engine="tinygrad_edu").findings[0].tried != ""
        server.accept()[0].close()
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_change_that_does_not_help_is_not_shown_and_nothing_is_certain(engine):
    program = DETACHED.replace("loss = ", "hidden = hidden.numpy()\n    hidden = T.tensor(hidden)\n    loss = ")
    first = viz.diagnose(program, engine=engine).findings[0]
    assert (first.kind, first.certain, first.changes) == ("detach", False, [])
    assert "tried in vain" in first.tried


def test_a_program_with_a_function_of_its_own_is_tried(engine):
    program = DETACHED.replace("head(hidden)", "Double.apply(head(hidden))")
    double = text_of("Double", "return x * 2", "return g * 2")
    first = viz.diagnose(double + program, engine=engine).findings[0]
    assert (first.kind, first.certain, first.changes[0].new) == ("detach", True, "hidden = net(T.ones(4, 3))")


def test_a_cell_is_tried_from_the_state_that_it_began_with(engine):
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "viz")
    try:
        shell.run_cell(f"import {engine} as T\nw = T.ones(3, requires_grad=True)\nturns = []")
        cell = "%%diagnose\nassert not turns\nturns.append(1)\nloss = (w.detach() * 2).sum()\nloss.backward()"
        with pytest.MonkeyPatch.context() as patch:
            shown = []
            patch.setattr("viz.magic.display", shown.append)
            shell.run_cell(cell)
        first = shown[0].findings[0]
        assert (first.kind, first.certain, first.changes[0].new) == ("detach", True, "loss = (w * 2).sum()")
        assert shell.user_ns["turns"] == [1]
    finally:
        InteractiveShell.clear_instance()


def test_a_trial_ends_with_its_time(engine):
    from viz import engines

    def again(asked):
        time.sleep(60)
        return Trial(True, "")

    began = time.monotonic()
    with Place(engines.load(engine), again, early=False) as place:
        assert place.ask(Question(Finding("item", 1, False, "", ""), ""), 0.2).cured is None
    assert time.monotonic() - began < 30


def test_no_process_is_left(engine):
    before = psutil.Process().children()  # of the other tests that this process has run
    viz.diagnose(DETACHED, engine=engine)
    viz.diagnose(lambda: None)
    assert [child for child in psutil.Process().children() if child not in before] == []


NAMED = {
    "a draw between two parts that learn": (
        """
encoder, decoder = T.nn.Linear(3, 4), T.nn.Linear(2, 3)
opt = T.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for _ in range(3):
    mu, log_std = encoder(x).chunk(2, dim=1)
    z = T.distributions.Normal(mu, log_std.exp()).sample()
    loss = (decoder(z) - x).pow(2).mean() + mu.pow(2).mean() + log_std.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        lambda first: (first.kind, first.line, first.change[1][-10:]) == ("no-grad", 7, ".rsample()"),
    ),
    "a part that stays frozen while its optimizer goes on": (
        """
body, head = T.nn.Linear(3, 3), T.nn.Linear(3, 1)
opt = T.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for turn in range(5):
    opt.zero_grad()
    head(body(x)).pow(2).mean().backward()
    opt.step()
    body.requires_grad_(False)
""",
        lambda first: (first.kind, first.line) == ("requires-grad-off", 9),
    ),
}


@pytest.mark.parametrize(("program", "is_named"), NAMED.values(), ids=NAMED)
def test_what_no_error_tells_is_named(engine, program, is_named):
    first = viz.diagnose(f"T.manual_seed(0)\nx = T.randn(8, 3){program}", engine=engine).findings[0]
    assert is_named(first), first


def test_a_tensor_that_nobody_wants_a_gradient_of_is_no_certain_cause(engine):
    program = "x = T.ones(4, 3)\nloss = (x * 2).sum()\nloss.backward()"
    assert not any(one.certain for one in viz.diagnose(program, engine=engine).findings)
