"""Checks this installation: what works, what fails, and the command that fixes it. It fails where a lesson would."""

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata, util
from importlib.machinery import PathFinder
from pathlib import Path

INSTALL_COURSE = "pip install 'tinygrad-edu[course]'"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


PACKAGES = ("tinygrad_edu", "viz")
HOME = Path(__file__).resolve().parents[2]
"""The folder that holds this installation's packages."""

OLDEST_TORCH, NEWEST_TORCH = (2, 9), (2, 14)
"""The range of PyTorch that tests/versions is run with."""

EXTENSIONS = {"anywidget": "anywidget", "@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets"}
"""What JupyterLab loads in the browser to show widgets, and the Python package that brings it."""


@dataclass
class Finding:
    """One line of the report; `needed` says whether the lessons need it."""

    subject: str
    good: bool
    detail: str
    needed: bool = True


def findings() -> Iterator[Finding]:
    """Check everything that the course needs, the fast checks first.

    >>> next(findings()).subject
    'Python'
    """
    yield Finding("Python", sys.version_info >= (3, 11), f"{platform.python_version()} in {sys.prefix}")
    for name in ("numpy", "jupyterlab", "ipywidgets", "anywidget", "pygraphviz"):
        yield _package(name)
    for name in PACKAGES:
        yield _ours(name)
    yield from _widgets()
    yield _lessons()
    yield _torch()
    yield _browser()


def a_lesson() -> Iterator[Finding]:
    """Do once what a lesson does: compare, draw, explore, run a magic, check, and ask a live JupyterLab."""
    from . import first_run

    fails = False
    for subject, why in first_run.tried():
        fails |= bool(why)
        yield Finding(subject, not why, why or "as in a lesson")
    if not fails:
        why = first_run.live_answer()
        yield Finding("live answer", not why, why or "JupyterLab, a kernel, and a switch that was pressed")


def report() -> int:
    """Print the findings. Returns 0 if the lessons will work, 1 if something they need is missing."""
    healthy = _told(findings())
    if healthy:  # otherwise a lesson would fail for what was just named
        healthy = _told(a_lesson())
    print("The lessons will work here." if healthy else "Something the lessons need is missing: see MISS above.")
    return 0 if healthy else 1


CARD_REPORT = Path("tinygrad-edu-cuda.txt")


def report_on_a_card() -> int:
    """Run every test that needs a CUDA card, and write a report that can be sent. Returns 0 if all passed."""
    tests = HOME / "tests" / "viz" / "test_cuda.py"
    if not tests.exists():
        print("The tests are not part of an installed package: run this in a clone of the repository.")
        return 2
    program = (
        "import platform, torch; print(platform.platform(), 'Python', platform.python_version(), 'PyTorch', "
        "torch.__version__);print('CUDA', torch.version.cuda, [torch.cuda.get_device_name(n) for n in "
        "range(torch.cuda.device_count())]);raise SystemExit(0 if torch.cuda.is_available() else 'This PyTorch finds "
        "no CUDA card that it can use: nothing was run.')"
    )
    told = []
    for command in (["-c", program], ["-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-m", "cuda", str(tests)]):
        done = subprocess.run([sys.executable, *command], cwd=HOME, capture_output=True, text=True, check=False)
        told.append(done.stdout + done.stderr)
        print(told[-1], end="", flush=True)
        if done.returncode:
            break
    CARD_REPORT.write_text("\n".join(told), encoding="utf-8")
    print(f"Written to {CARD_REPORT.resolve()}.")
    return int(done.returncode != 0)


def _told(found: Iterable[Finding]) -> bool:
    """Print findings as they come. Returns whether nothing that is needed is missing."""
    healthy = True
    for finding in found:
        mark = "ok  " if finding.good else "MISS" if finding.needed else "note"
        print(f"{mark}  {finding.subject:<12} {finding.detail}", flush=True)
        healthy &= finding.good or not finding.needed
    return healthy


def _package(name: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, False, f"not installed: {INSTALL_COURSE}")
    if own := _hiding(name):
        return Finding(name, False, f"{own} hides the installed package {name!r}: give it another name")
    try:
        import_module(name)
    except Exception as error:  # a C library may lack what it links to, or be built for another NumPy
        return Finding(name, False, f"{version} cannot be loaded ({error}): pip install --force-reinstall {name}")
    return Finding(name, True, version)


def _ours(name: str) -> Finding:
    """Whether a notebook that imports `name` gets this installation's package."""
    others = sorted({*metadata.packages_distributions().get(name, ())} - {"tinygrad-edu"})
    if others and any(file.parts[0] == name for other in others for file in metadata.files(other) or ()):
        fix = f"pip uninstall {' '.join(others)}, then pip install --force-reinstall --no-deps tinygrad-edu"
        return Finding(name, False, f"{', '.join(others)} also installs a package {name!r}, over ours: {fix}")
    if own := _hiding(name):
        return Finding(name, False, f"{own} hides this course's own package {name!r}: give it another name")
    return Finding(name, True, str(HOME / name))


def _hiding(name: str) -> Path | None:
    """What a notebook would import as `name` instead of the package: a learner's own `viz.py` hides it silently."""
    later = [Path(place) for place in sys.path if place] if name in PACKAGES else []  # no other package has our name
    for folder in (*_folders_of_notebooks(), *later):
        found = PathFinder.find_spec(name, [str(folder)])
        origin = Path(found.origin).resolve() if found and found.origin else None
        if origin and not origin.is_relative_to(HOME / name):
            return origin.parent if origin.name == "__init__.py" else origin
    return None


def _folders_of_notebooks() -> Iterable[Path]:
    """The folders whose modules come first in a notebook: the current one, and those of the working copy."""
    from .lab import DEFAULT_DIR

    here = Path.cwd()
    copy = here / DEFAULT_DIR
    lessons = sorted(folder for folder in copy.iterdir() if folder.is_dir()) if copy.is_dir() else []
    return [here, copy, *lessons]


def _widgets() -> Iterator[Finding]:
    """Whether the widgets that JupyterLab loads belong to the packages that Python finds. The first folder of Jupyter's
    path counts, and a user's folder comes before the system's. Files of an older installation there are loaded instead
    of ours, and every widget stays blank."""
    if any(util.find_spec(name) is None for name in ("jupyter_core", *EXTENSIONS.values())):
        return  # reported above, with the fix
    from jupyter_core.paths import jupyter_path

    for extension, package in EXTENSIONS.items():
        version = metadata.version(package)
        files = [Path(folder, extension, "package.json") for folder in jupyter_path("labextensions")]
        shown = next((file for file in files if file.is_file()), None)
        shipped = _shipped(package, extension)
        if shown is None:
            yield Finding("widgets", False, f"JupyterLab finds no {extension}: pip install --force-reinstall {package}")
        elif shipped and _version_in(shown) != _version_in(shipped):
            yield Finding(
                "widgets",
                False,
                f"JupyterLab loads {extension} {_version_in(shown)} from {shown.parent}, but {package} {version} comes "
                f"with {_version_in(shipped)}: remove that folder",
            )
        else:
            yield Finding("widgets", True, f"{extension} {_version_in(shown)}, of {package} {version}")


def _shipped(package: str, extension: str) -> Path | None:
    """The description of a JupyterLab extension in the installed Python package."""
    ending = f"labextensions/{extension}/package.json"
    for file in metadata.files(package) or []:
        if file.as_posix().endswith(ending):
            return Path(str(file.locate()))
    return None


def _version_in(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return "of an unknown version"


def _lessons() -> Finding:
    from .working_copy import lesson_files, lessons_root

    try:
        root = lessons_root()
    except FileNotFoundError as error:
        return Finding("lessons", False, str(error))
    count = sum(path.suffix == ".ipynb" for path in lesson_files(root))
    return Finding("lessons", count > 0, f"{count} notebooks in {root}")


def _torch() -> Finding:
    found = _package("torch")
    if not found.good:
        found.detail += "; without it the core and its pictures work, but not the lessons, which compare with it"
    elif not OLDEST_TORCH <= _as_numbers(found.detail) <= NEWEST_TORCH:
        ends = (".".join(map(str, version)) for version in (OLDEST_TORCH, NEWEST_TORCH))
        found.detail += f"; this course is tested with {' to '.join(ends)}: what follows says whether this one works"
    return found


def _as_numbers(version: str) -> tuple[int, int]:
    """
    >>> _as_numbers("2.14.1+cu130")
    (2, 14)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def browser_for_tests() -> Path | None:
    """The Chromium, Chrome or Edge on this machine, or the one that Playwright downloaded; None if there is none."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return Path(found)
    if util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        downloaded = Path(playwright.chromium.executable_path)
    return downloaded if downloaded.exists() else None


def _browser() -> Finding:
    found = browser_for_tests()
    return Finding(
        "browser",
        found is not None,
        str(found) if found else "no Chromium for this project's own tests: playwright install chromium",
        needed=False,
    )
