"""What all tests share: an inner ring for quick runs, the same random examples on every run, folders for Jupyter."""

import faulthandler
import gc
import os
import re
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from support import FOLDERS

# Tests start hundreds of Python processes. If Python keeps no compiled modules, each compiles the course anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A process a core is enough: a second thread of PyTorch would busily wait for a core that another test needs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The outer ring: what starts browsers, kernels, servers, sandboxes and other processes, or runs very many programs.
# Such a file says so itself: `pytestmark = pytest.mark.outer`, and such a test `@pytest.mark.outer`. All else is marked
# `quick`.
_IS_OUTER = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.outer\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m quick` does not even import the files of the outer ring: some take seconds to say which tests they hold."""
    if config.option.markexpr != "quick" or collection_path.suffix != ".py":
        return None
    return True if _IS_OUTER.search(collection_path.read_text(encoding="utf-8")) else None


def _start(item: pytest.Item) -> int:
    """When a parallel run starts the file of a test: one marked `outer(start=3)` takes minutes, and starts early."""
    marks = item.getparent(pytest.Module).own_markers
    return max((mark.kwargs.get("start", 1) for mark in marks if mark.name == "outer"), default=0)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the inner ring, put the longest files first, and leave the long ring out unless it is asked for."""
    if "long" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    for item in items:
        if not item.get_closest_marker("long") and not item.get_closest_marker("outer"):
            item.add_marker(pytest.mark.quick)
    items.sort(key=_start, reverse=True)


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from tests and modules, which stay to the end: some tests collect often."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With `-n`, deal out whole files in the order above: what a file sets up once, one process sets up once."""
    if getattr(config.option, "numprocesses", None):
        config.option.dist, config.option.loadscopereorder = "loadfile", False
        config.option.maxworkerrestart = config.option.maxworkerrestart or "4"  # where all hang, the run ends too


# One process runs all files of such a folder: what they share takes long to start.
DEALT_OUT_AS_ONE = ("tests/browser/lab/", "tests/browser/live/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal out whole files, and some folders."""
    from xdist.scheduler import LoadFileScheduling

    class FilesAndFolders(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next(filter(nodeid.startswith, DEALT_OUT_AS_ONE), super()._split_scope(nodeid))

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            # Asked after each test. A process has at most two tests left when it is given more, so all before is done.
            return int(super()._pending_of(dict(list(workload.items())[-4:])))

    return FilesAndFolders(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` is: a process a core that this run may use, and half as many more where the outer ring is run,
    which waits for half of its time: for a browser, a kernel, a server, a clock. Not more than there are long files."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores if config.option.markexpr == "quick" else cores + cores // 2, 8)


WORTH_A_MESSAGE_S = 0.1


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker of a parallel run tells how a test ended once; of its setup and teardown only failures and long ones.
    Twenty thousand times six messages took longer than most of the tests."""
    may_run_again = item.get_closest_marker("flaky") or getattr(item.config.option, "reruns", None)
    if not hasattr(item.config, "workerinput") or may_run_again:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed or report.duration > WORTH_A_MESSAGE_S:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: pytest.TestReport) -> Generator[None, dict[str, Any], dict[str, Any]]:
    """Leave out the keywords of a test that passed: nothing uses them."""
    data = yield
    if report.passed:
        data["keywords"] = {}
    return data


HANG_S, RENEWED_S = 600, 60
_watched_since = 0.0


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Show where a test hangs before it is ended. pytest's `faulthandler_timeout` would start a thread for each."""
    global _watched_since
    if time.monotonic() > _watched_since + RENEWED_S:
        _watched_since = time.monotonic()
        faulthandler.dump_traceback_later(HANG_S, file=item.config.stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish() -> None:
    faulthandler.cancel_dump_traceback_later()


_CRASHED: set[str] = set()


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport, sched: Any) -> None:
    """A browser test that ended its process, since it hung, runs once more in another one, as one that failed does."""
    if crashitem.startswith("tests/browser/") and crashitem not in _CRASHED:
        report.outcome = "rerun"  # the scheduler deals its file out again, this test first
    else:
        for work in sched.workqueue.values():
            if crashitem in work:
                work[crashitem] = True  # not a third time
    _CRASHED.add(crashitem)


# A run fails for what was changed, never for an example that nobody met before, nor for the time that one took.
# `pytest --hypothesis-profile=new` looks for such examples.
_ALWAYS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **_ALWAYS)
settings.register_profile("new", derandomize=False, print_blob=True, **_ALWAYS)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def jupyters_own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep a home folder's settings out of the tests, and let two simultaneous runs share nothing."""
    home = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in FOLDERS.items():
            patch.setenv(name, str(home / folder))
        yield


@pytest.fixture(autouse=True)
def engines_are_left_as_they_were_found() -> Iterator[None]:
    """A default device or a mode that one test leaves behind changes what both engines do in the tests after it. Both
    warn each time, not only the first: who hears a warning must not depend on the order."""
    if "torch" in sys.modules and hasattr(sys.modules["torch"], "set_warn_always"):
        sys.modules["torch"].set_warn_always(True)
    if ours := sys.modules.get("tinygrad_edu"):
        ours.modes.everywhere.warns_always = True
    yield
    if (torch := sys.modules.get("torch")) and hasattr(torch, "_C"):
        left = torch.overrides._get_current_function_mode_stack(), torch.get_default_dtype(), torch.is_grad_enabled()
        left += torch.is_inference_mode_enabled(), torch.is_anomaly_enabled(), torch._C._is_multithreading_enabled()
        left += (torch._C._is_torch_function_enabled(),)
        assert left == ([], torch.float32, True, False, False, True, True), (
            "left behind in PyTorch: modes, default dtype, gradients, inference, anomaly mode, threads, functions "
            f"seen: {left}"
        )
    if ours := sys.modules.get("tinygrad_edu"):
        state = ours.modes.thread.state
        left = state.modes, ours.get_default_dtype(), state.grad_enabled, state.inference, state.anomaly
        left += state.check_nan, state.saved_hooks, state.task
        assert left == ((), ours.float32, True, False, False, True, (), None), (
            f"left behind: modes, default dtype, gradients, inference, anomaly mode, NaN, hooks, pass: {left}"
        )
