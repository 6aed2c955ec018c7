"""A widget works in the thread of its cell, whichever thread a page's message comes in."""

import subprocess
import sys

import pytest
from support import printed

pytestmark = pytest.mark.outer

# A process of its own: a signal is its main thread's, and so is the event loop that a kernel has there.
NOTEBOOK = """
import asyncio, os, signal, threading
import viz

started = threading.Event()
threads = []


def program(T):
    a = T.tensor(1.0)
    threads.append(threading.current_thread().name)
    if a.item() > 1.5:
        started.set()
        while a.item() > 1.5:
            pass
    c = a * a


def interrupt():
    started.wait()
    os.kill(os.getpid(), signal.SIGINT)


async def cell():
    explorer = viz.explore(program)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a kernel does between its messages
    threading.Thread(target=interrupt).start()
    for number, value in enumerate((1.25, 2.0, 1.5), start=1):
        request = {"state": {"values": {"a": value}}, "seq": number}
        threading.Thread(target=setattr, args=(explorer, "request", request)).start()
        while explorer.result["seq"] != number:
            await asyncio.sleep(0.01)
        print(explorer.result["account"], explorer.result["table"][0]["value"])
    print(set(threads), signal.getsignal(signal.SIGINT).name)


asyncio.run(cell())
"""


def test_a_change_from_another_thread_runs_at_home_where_an_interrupt_ends_it(tmp_path):
    notebook = tmp_path / "notebook.py"
    notebook.write_text(NOTEBOOK)
    ran = subprocess.run([sys.executable, notebook], capture_output=True, text=True, check=False)
    lines = ["a is 1.25: c = 1.562 (was 1). 1.25", "Not run: stopped. You stopped it. 1.25"]
    lines += ["a is 1.5: c = 2.25 (was 1.562). 1.5", "{'MainThread'} SIG_IGN"]
    assert ran.stdout.splitlines() == lines, ran.stderr


AGAIN = """
import contextlib, gc, io, sys
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances
import viz

shell = InteractiveShell.instance()
program = "w = T.tensor(3.0, requires_grad=True)\\nL = w * w\\nL.backward()"
shell.user_ns.update(viz=viz, program=program)


FIRST = "from IPython.display import display; kept = viz.explore(program); display(kept, viz.explore(program))"


def cell(name, code, run):
    shell.parent_header = {"metadata": {"cellId": name}, "header": {"msg_id": f"{name}{run}"}}
    with contextlib.redirect_stdout(io.StringIO()):
        assert shell.run_cell(code).success
    return sum(type(one).__module__.startswith("viz") for one in _instances.values())


counts = []
for run in range(3):
    counts += [cell("one", FIRST, run), cell("two", "display(kept)", run)]
shown_by_two = shell.user_ns["kept"]
counts.append(cell("one", FIRST, 3))
print(counts, shown_by_two.comm is not None, shell.user_ns["kept"].comm is not None)

for run in range(6):  # IPython itself keeps the last three results
    shell.parent_header = {"metadata": {"cellId": "three"}, "header": {"msg_id": run}}
    shell.run_cell("viz.record(program, engine='tinygrad_edu').play()", store_history=True)
gc.collect()
print(sum(type(one).__name__ == "Player" for one in gc.get_objects()) <= 3)
"""


def test_widgets_of_a_cell_that_runs_again_are_closed_unless_another_cell_shows_them():
    lines = printed(AGAIN).splitlines()
    assert (lines[0], lines[-1]) == ("[2, 2, 3, 2, 3, 2, 3] True True", "True")
