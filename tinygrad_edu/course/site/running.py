"""Runs notebooks for the site, each in its own Jupyter kernel.

Most of a lesson's time would go into importing PyTorch and Jupyter's kernel. So one process imports them and `viz` and
computes nothing, and every kernel is a fork of it. On platforms without fork, each kernel imports them itself.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError as CellError

CELL_LIMIT_S = 600
# PyTorch imports `torch._dynamo` at an optimizer's first step, which takes as long as importing the rest of it.
_IMPORTED_ONCE = ["torch", "torch._dynamo", "tinygrad_edu", "ipykernel.kernelapp"]
_IMPORTED_ONCE += ["viz.magic", "viz.widgets.explorer", __name__]
# These look for a notebook when they are imported, which is before there is one.
_TOLD_OF_THE_SHELL = ("ipywidgets", "viz")
_way = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_processes: Any = multiprocessing.get_context(_way)

__all__ = ["CellError", "Forked", "run"]


def run(notebook: Any, folder: Path) -> None:
    """Run a notebook in `folder`. Its cells get their outputs, its metadata the state of its widgets.

    Raises:
        CellError: a cell raises.
    """
    manager = AsyncKernelManager()
    manager.provisioner = Forked(parent=manager, kernel_spec=manager.kernel_spec)
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_LIMIT_S,
        startup_timeout=CELL_LIMIT_S,
        iopub_timeout=CELL_LIMIT_S,  # by default it stops waiting for a late output after four seconds
        store_widget_state=True,
        shutdown_kernel="immediate",  # it has nothing to save, and a normal shutdown takes two seconds
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--IPKernelApp.log_level=40"],  # it warns about sockets that only this machine can see
    )
    with ThreadPoolExecutor(1) as beside:  # in a thread of its own, since a loop may run in this one
        beside.submit(asyncio.run, client.async_execute(cleanup_kc=True)).result()


class _Kernel(_processes.Process):  # type: ignore[misc,name-defined]
    """A kernel's process, with the methods of `Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
        super().__init__()
        self.given = arguments, folder, environment

    def run(self) -> None:
        from ipykernel.kernelapp import IPKernelApp

        gc.freeze()  # a search for garbage among all that was imported would take longer than most cells
        arguments, folder, environment = self.given
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        if hasattr(os, "setsid"):
            os.setsid()  # Ctrl+C must reach only the build
        kernel = IPKernelApp.instance()
        kernel.initialize([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
        for package in _TOLD_OF_THE_SHELL:
            importlib.import_module(package).load_ipython_extension(kernel.shell)
        kernel.start()

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)


class Forked(LocalProvisioner):
    """Starts that process instead of a command: what Jupyter calls the provisioner of a kernel."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        _processes.set_forkserver_preload(_IMPORTED_ONCE)
        self.process = _Kernel(cmd[cmd.index("-f") :], kwargs["cwd"], kwargs["env"])
        self.process.start()
        self.pid = self.process.pid
        return self.connection_info
