"""Starts JupyterLab on a working copy of the lessons."""

import errno
import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from .working_copy import Update, update_working_copy

DEFAULT_DIR = "tinygrad-edu-lessons"
DEFAULT_PORT = 8888
_TRIES = 100
# A student should not first see questions about Jupyter's news or updates.
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
# Buttons that only an instructor uses; `jupyter lab` without this command shows them. "Validate" stays, for students.
HIDDEN = {f"@jupyter/nbgrader:{name}": True for name in ("create-assignment", "formgrader", "course-list", "menu")}


def start(directory: Path, port: int, browser: bool, passed_on: Sequence[str]) -> None:
    """Put the lessons into `directory`, report what was done, and run JupyterLab there until it is shut down.

    `passed_on` goes to `jupyter lab` unchanged. Raises `SystemExit` with a sentence if JupyterLab is missing, the
    folder cannot be written, or no port is free.
    """
    try:
        from jupyterlab.labapp import LabApp
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"JupyterLab cannot be loaded ({error}). Install the course: pip install 'tinygrad-edu[course]'"
        ) from error
    try:
        report_update(update_working_copy(directory), directory)
    except OSError as error:
        raise SystemExit(
            f"The lessons cannot be written to {directory}: {error}. Choose another folder with --dir."
        ) from error
    _prepare_jupyters_folders()
    chosen = free_port(port)
    if chosen != port:
        print(f"Port {port} is taken: using {chosen}.", flush=True)
    arguments = [
        f"--ServerApp.root_dir={directory.resolve()}",
        f"--port={chosen}",
        "--LabApp.news_url=None",  # do not ask about Jupyter news
        "--allow-root",  # containers often have no other account; the server listens on localhost, with a token
    ]
    if not browser:
        arguments.append("--no-browser")
    first = next((path for path in sorted(directory.glob("00_*/*.ipynb"))), None)
    if first:
        arguments.append(f"--LabApp.default_url=/lab/tree/{first.relative_to(directory).as_posix()}")
    with defaults() as folder:
        paths = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH")]
        os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(path for path in paths if path)
        LabApp.launch_instance([*arguments, *passed_on])


def _prepare_jupyters_folders() -> None:
    """Make the folders that Jupyter writes to. Raises `SystemExit` with a sentence where that cannot be done."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

    for folder in map(Path, (jupyter_config_dir(), jupyter_data_dir(), jupyter_runtime_dir())):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            TemporaryFile(dir=folder).close()
        except OSError as error:
            raise SystemExit(
                f"Jupyter cannot write to its folder {folder}: {error.strerror}. Set HOME (on Windows USERPROFILE) to "
                "a folder that you may write to, and start again."
            ) from None


@contextmanager
def defaults() -> Iterator[Path]:
    """A folder with JupyterLab's default settings for students. Their own settings take precedence."""
    with TemporaryDirectory(prefix="tinygrad-edu-") as folder:
        place = Path(folder, "labconfig")
        place.mkdir()
        for name, content in (("default_setting_overrides", SETTINGS), ("page_config", {"disabledExtensions": HIDDEN})):
            (place / f"{name}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
        yield Path(folder)


def report_update(update: Update, directory: Path) -> None:
    """Print what `update_working_copy` did in `directory`."""

    def count(names: Sequence[object]) -> str:
        return f"{len(names)} file" + ("s" if len(names) != 1 else "")

    done = [
        f"{count(update.new)} copied" if update.new else "",
        f"{count(update.renewed)} renewed" if update.renewed else "",
    ]
    kept = f"{count(update.kept)} with your edits kept" if update.kept else ""
    print(f"Lessons in {directory}: " + (", ".join(filter(None, [*done, kept])) or "up to date"))
    for edited, newer in update.beside:
        print(f"    {edited} has your edits, so it stays; its newer version is beside it: {newer}")


def free_port(wanted: int) -> int:
    """The first port from `wanted` on that no process on this machine uses.

    >>> free_port(8888) >= 8888
    True
    """
    last = min(wanted + _TRIES, 65536) - 1
    for port in range(wanted, last + 1):
        if _is_free(port):
            return port
    raise SystemExit(f"No free port from {wanted} to {last}. Choose one with --port.")


def _is_free(port: int) -> bool:
    for family, kind, _, _, address in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM):
        try:
            with socket.socket(family, kind) as probe:
                if os.name == "posix":  # as Tornado does: a port in TIME_WAIT is free; on Windows the flag means theft
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except PermissionError:
            raise SystemExit(
                f"Port {port} may not be used by this account. Choose one above 1023 with --port."
            ) from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
    return True
