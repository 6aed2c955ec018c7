"""`.ci/run` on machines where programs are missing: it asks for these alone, says what it cannot have, and goes on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.outer, pytest.mark.skipif(os.name == "nt", reason="the script is for a shell")]
ROOT = Path(__file__).resolve().parents[1]
SYSTEM = ("bash", "env", "dirname", "awk", "mktemp", "rm")  # what every machine has
FONTS = "echo DejaVuSans.ttf: DejaVu Sans"
EVERYTHING = {"chromium": "", "firefox": "", "node": "", "npm": "", "fc-list": FONTS, "id": "echo 0"}
APT = 'echo "$@" >> "$ASKED"'
ONWARDS = 7  # what the stand-in for `git clone` ends with: the preparation is over


@pytest.mark.parametrize(
    ("there", "asked", "said"),
    [
        pytest.param(EVERYTHING, [], "", id="everything"),
        pytest.param({**EVERYTHING, "chromium": None, "msedge": ""}, [], "", id="Edge"),
        pytest.param({**EVERYTHING, "node": None, "npm": None}, ["nodejs", "npm"], "", id="no Node"),
        pytest.param({**EVERYTHING, "npm": None}, ["npm"], "", id="Node without npm"),
        pytest.param({**EVERYTHING, "fc-list": None}, ["fontconfig", "fonts-dejavu-core"], "", id="no fonts"),
        pytest.param(
            {**EVERYTHING, "npm": None, "apt-get": f"{APT}\nexit 1"},
            ["npm"],
            "npm could not be installed",
            id="a package that cannot be had",
        ),
        pytest.param({"id": "echo 0", "apt-get": None}, [], "missing, and not to be installed", id="no apt"),
        pytest.param({"id": "echo 1000"}, [], "firefox-esr nodejs npm", id="no sudo"),
        pytest.param(
            {"id": "echo 1000", "sudo": "exit 1"}, [], "firefox-esr nodejs npm", id="sudo asks for a password"
        ),
        pytest.param(
            {**EVERYTHING, "id": "echo 1000", "npm": None, "sudo": 'shift; [ "$1" = true ] || "$@"'},
            ["npm"],
            "",
            id="sudo",
        ),
    ],
)
def test_it_installs_what_is_missing(tmp_path: Path, there: dict[str, str | None], asked: list[str], said: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in SYSTEM:
        (programs / name).symlink_to(str(shutil.which(name)))
    for name, does in {"apt-get": APT, "git": f"exit {ONWARDS}", **there}.items():
        if does is not None:
            (programs / name).write_text(f"#!{shutil.which('bash')}\n{does}\n")
            (programs / name).chmod(0o755)
    log = tmp_path / "asked"
    log.touch()
    environment = {"PATH": str(programs), "ASKED": str(log), "TMPDIR": str(tmp_path)}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ONWARDS, done.stderr
    installed = [line.split()[-1] for line in log.read_text().splitlines() if "install" in line]
    assert installed == asked
    assert said in done.stderr and (said or not done.stderr), done.stderr
