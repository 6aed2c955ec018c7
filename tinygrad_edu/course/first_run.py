"""What a lesson does, tried once: cells in IPython, and one answer of a live JupyterLab. For `tinygrad-edu doctor`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .lab import DEFAULT_PORT, free_port

LIMIT_S = 120  # for each of the two, on a slow machine with a cold disk
PROGRAM = "w = T.tensor(3.0, requires_grad=True)\nL = (w * w - 5) ** 2\nL.backward()"
# A kernel that does not start is tried twice.
_GIVES_UP_SOON = ("--KernelRestarter.restart_limit=1", "--KernelRestarter.time_to_dead=1")
SHORT = 300  # characters of an error that are told
# A proxy does not know this machine's own server.
_directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))

CELLS = {
    "comparison": f"""import viz
compared = viz.compare({PROGRAM!r})
if not compared.agree:
    raise RuntimeError(repr(compared))""",
    "picture": """import torch
w = torch.tensor(3.0, requires_grad=True)
if "<path" not in viz.draw(w * w).svg:
    raise RuntimeError("it is empty")""",
    "explorer": f"""explorer = viz.explore({PROGRAM!r})
sides = explorer.result["sides"]  # PyTorch's picture comes later where both agree
if "scene" not in sides[0] or any("error" in side or "missing" in side for side in sides):
    raise RuntimeError(str([side.get("error", side.get("missing")) for side in sides]))""",
    "magic": "%%autograd\na = torch.tensor(2.0, requires_grad=True)\nb = a * a",
    "check": """from tinygrad_edu.exercises import check
report = check("mul_backward", lambda grad_output, a, b: (grad_output * b, grad_output * a))
if not report.passed:
    raise RuntimeError(repr(report))""",
}
"""What is tried, as cells that follow one another."""

_SHELL = """
import io, json, sys, contextlib
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.showtraceback = lambda *arguments, **options: None
for subject, cell in json.loads(sys.stdin.read()).items():
    with contextlib.redirect_stdout(io.StringIO()):
        done = shell.run_cell(cell)
    error = done.error_before_exec or done.error_in_exec
    print("\\n" + json.dumps([subject, f"{type(error).__name__}: {error}" if error else ""]), flush=True)
"""


def tried() -> Iterator[tuple[str, str]]:
    """Run the cells of a lesson in their own process. Yields each one's name, and why it fails; "" where it works."""
    done = ""
    try:
        with tempfile.TemporaryDirectory() as folder:  # where no module of the learner's own is in the way
            process = subprocess.run(
                [sys.executable, "-c", _SHELL],
                input=json.dumps(CELLS),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        done, why = process.stdout, process.stderr.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
    except subprocess.TimeoutExpired:
        why = [f"no answer after {LIMIT_S} s"]
    said = dict(json.loads(line) for line in done.splitlines() if line.startswith('["'))
    for subject in CELLS:
        yield subject, said.get(subject, f"Python ended: {why[0]}")[:SHORT]


def live_answer() -> str:
    """Start JupyterLab, open an explorer, and press a switch as a page does. Why there is no answer; "" if there is."""
    with tempfile.TemporaryDirectory() as folder:
        token, port = secrets.token_hex(16), free_port(DEFAULT_PORT)
        log = Path(folder, "log")
        options = ("--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0", *_GIVES_UP_SOON)
        with log.open("wb") as file:
            server = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *options, f"--IdentityProvider.token={token}"],
                cwd=folder,
                stdout=file,
                stderr=file,
            )
        try:
            _wait_for(server, f"http://127.0.0.1:{port}/lab?token={token}")
            asyncio.run(asyncio.wait_for(_answered(port, token), LIMIT_S))
        except TimeoutError:
            return f"no answer after {LIMIT_S} s"
        except Exception as error:  # of any kind: neither the server nor the kernel is ours
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return f"{type(error).__name__}: {error}" + (f" ({lines[-1]})" if lines and server.poll() else "")
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()
    return ""


def _wait_for(server: subprocess.Popen[bytes], address: str) -> None:
    """Until JupyterLab's page is there. Raises `OSError` if its server ends, or does not begin."""
    began = time.monotonic()
    while server.poll() is None and time.monotonic() < began + LIMIT_S:
        with contextlib.suppress(OSError), _directly.open(address, timeout=LIMIT_S):
            return
        time.sleep(0.2)
    raise OSError("JupyterLab did not start")


async def _answered(port: int, token: str) -> None:
    """Raises `RuntimeError` if the kernel ends, or says something else than an answer."""
    home = f"http://127.0.0.1:{port}/api/kernels"
    kernel = _ask(f"{home}?token={token}", b"{}")["id"]
    answer = asyncio.ensure_future(_press_a_switch(port, token, kernel))
    while not answer.done():
        await asyncio.wait([answer], timeout=1)
        if not answer.done() and _is_dead(f"{home}/{kernel}?token={token}"):
            answer.cancel()
            raise RuntimeError("the kernel ended as it started: python -m ipykernel_launcher --version says why")
    answer.result()


def _is_dead(kernel: str) -> bool:
    try:
        return bool(_ask(kernel)["execution_state"] == "dead")
    except OSError:  # the server has forgotten it
        return True


def _ask(address: str, data: bytes | None = None) -> dict[str, Any]:
    try:
        with _directly.open(address, data=data, timeout=LIMIT_S) as reply:
            return dict(json.loads(reply.read()))
    except urllib.error.HTTPError as error:
        raise OSError(f"{error}: {error.read()[:SHORT].decode(errors='replace')}") from None


async def _press_a_switch(port: int, token: str, kernel: str) -> None:
    """Raises `RuntimeError` with what was said instead of an answer."""
    from tornado.websocket import websocket_connect

    address = f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels?token={token}"
    channel = await websocket_connect(address, connect_timeout=LIMIT_S, max_message_size=1 << 28)
    session = uuid.uuid4().hex

    async def say(kind: str, content: dict[str, Any]) -> str:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": session, "username": "", "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await channel.write_message(json.dumps(message))
        return header["msg_id"]

    asked = await say("execute_request", {"code": f"import viz\nviz.explore({PROGRAM!r})", "silent": False})
    explorer = ""
    while True:
        text = await channel.read_message()
        if text is None:
            raise RuntimeError("the kernel ended")
        if isinstance(text, bytes):
            continue
        message = json.loads(text)
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "error":
            raise RuntimeError(f"{content['ename']}: {content['evalue']}"[:SHORT])
        state = content.get("data", {}).get("state", {}) if kind in ("comm_open", "comm_msg") else {}
        if kind == "comm_open" and "request" in state:
            explorer = content["comm_id"]
        # The reply to the cell itself comes on another channel, and may overtake what the cell shows.
        elif content.get("execution_state") == "idle" and message["parent_header"].get("msg_id") == asked:
            if not explorer:
                raise RuntimeError("the explorer sent nothing to the page")
            change = {"state": {"request": {"state": {"requires_grad": {"w": False}}, "seq": 1}}, "method": "update"}
            await say("comm_msg", {"comm_id": explorer, "data": {**change, "buffer_paths": []}})
        elif content.get("comm_id") == explorer and "result" in state and json.loads(state["result"]).get("seq") == 1:
            return
