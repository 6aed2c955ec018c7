"""The third-party parts of a live site: version, origin, and the hash that each must have.

Each part is a file of the npm registry (`NPM_CONFIG_REGISTRY` names another registry, as for npm), except NumPy's
wheel, which comes with Pyodide's release. They are downloaded once and kept in the user's cache folder.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REGISTRY = "https://registry.npmjs.org"
RELEASES = "https://github.com/pyodide/pyodide/releases/download"
WHEEL_VARIABLE = "TINYGRAD_EDU_NUMPY_WHEEL"
FETCH_LIMIT_S = 60
ATTEMPTS = 3


class PartError(RuntimeError):
    """A part is not available, or has the wrong hash; the message says what to do."""


@dataclass(frozen=True)
class Package:
    """One package of the npm registry, and the files that the site uses."""

    name: str
    version: str
    integrity: str
    files: tuple[str, ...]

    @property
    def url(self) -> str:
        """Its address in the registry."""
        return f"{registry()}/{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz"


# Each with its version, the files, and the hash. From the fourth on: the editor, and what its modules import.
_PACKAGES = """
pyodide 314.0.3 pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json
    sha512-sK40My6m8tmBUYtYH9au9rXUeh9x0wfahtHdOlGmJxZDsKBGKtP6KznyFB2+u/klbQTdDionR0uaVd176zVQzQ==
@viz-js/viz 3.31.0 dist/viz.js
    sha512-r7zlQdRvcwvIpjHGgs+KNWHeE/P5/Dq7k8ZAKaMCbZqomxCBJV78gVuQYaHzFVca+kB0mX0fMW9UFevCOBG50A==
gifenc 1.0.3 dist/gifenc.esm.js
    sha512-xdr6AdrfGBcfzncONUOlXMBuc5wJDtOueE3c5rdG0oNgtINLD+f2iFZltrBRZYzACRbKr+mSVU/x98zv2u3jmw==
@codemirror/state 6.7.6 dist/index.js
    sha512-kAz+AncRtKuIknedxT1bq4XwXv4UowhbkHU1myPrtVb/jZtImWuV5BXzv5vK6i3kYACsdiZiQKFQQ5Mq7elW8w==
@codemirror/view 6.43.15 dist/index.js
    sha512-HHsfpqFeHyXLs983pSRe38Xajs0vFWZQ2BuX0m7Ki8w3jZ5iD8cuR3lBz2/5/X53Dhf32SBHKh6rtSTB6tKeGw==
@codemirror/commands 6.11.1 dist/index.js
    sha512-O/4hG3SC1YwcmQ0d2UVNDs+AsaNWd1iHVxbTeEBuqH+6bExAiPK3iS/BvpY6rZGURALv4ZD3sIgcCmRvw3ehBg==
@codemirror/language 6.13.1 dist/index.js
    sha512-zfvU2r3TyylQLMj/te+5CnQ0rSqZi8B1oTCBbQkagcLW4Xc6imab6qN+pEJhsuNOLaJqiRyBXp9UhWA1DhVvDw==
@codemirror/streamparser 6.0.0 dist/index.js
    sha512-JTFPF6xrfjt0mnfGPgzcLiMwYmvIyNaoizp8BYzv8FE8KrT6GBGDZ190rtt+O7Wke3gG/MFHyiY9YGNeimof4w==
@codemirror/lang-python 6.2.1 dist/index.js
    sha512-IRjC8RUBhn9mGR9ywecNhB51yePWCGgvHfY1lWN/Mrp3cKuHr0isDKia+9HnvhiWNnMpbGhWrkhuWOc09exRyw==
@codemirror/autocomplete 6.20.4 dist/index.js
    sha512-yF8RhOf2SXlg00+qtupzLhrglcas61boqaONiNcbPIebHCpJocpqTBA6dyrtUrQO47hqyTdeob/3XnYilT7TaQ==
@lezer/common 1.5.5 dist/index.js
    sha512-Pw7PVCndruF1pb3ebCxpSVpkMHSDjwRCLcTRw+RizUKco5QbWylwq2g4lnG/RYN7yTTQDXE9F77MwtkAyphrjg==
@lezer/highlight 1.2.5 dist/index.js
    sha512-O1GMVKgtf5YspFaRzpmqkVgMtIk2HG9uMAbH6wdAIdNh3TVzCsch/+cRi+6l2//UGDKe6NB9BW3cvuR5ezMQ0w==
@lezer/lr 1.4.12 dist/index.js
    sha512-On9HU4oMMiHPMkQDgoTnGahjgG5n/MkN38CgG77sMraKLL+3JBbeQNi1FcCXV9QRqwF9/BUXP3caHyJC1fBOTQ==
@lezer/python 1.1.19 dist/index.js
    sha512-MhQIURHRytsNzP/YXnqpYKW6la6voAH3kyplTOOiCdjyFY6cWWGFVmYVdHIPrElqSDf4iCDktQCockB9FxuhzQ==
style-mod 4.1.4 src/style-mod.js
    sha512-XXWIQt633/EpAFx8aZDOTjBzrCaGmhvEQlQo6MVPfa2OzO2cWo+4hV9h+6UkHYlXGfy+ODXKUdP7Pthmcu5ATw==
w3c-keyname 2.2.8 index.js
    sha512-dpojBhNsCNN7T82Tm7k26A6G9ML3NkhDsnw9n/eoxSRlVBB4CEtIQ/KTCLI2Fwf3ataSXRhYFkQi3SlnFwPvPQ==
crelt 1.0.7 index.js
    sha512-aK6BbWfhf4U/wCcLHKPJl/xa6VkVstRaPywWtMKGwuOLc/wZTyQYuoxgvZnNsBvv7Kg3YTBQYYBCggcviQczuA==
@marijn/find-cluster-break 1.0.4 src/index.js
    sha512-Wy0V7+SGUjnF9/TkiM1hKVDPj7jKXduPNboMVtHTA8dySMURWqfg/JZ9E2Sq8JgSJmkl7k7Qe9FLeMSrSraWmQ==
"""


def _package(row: str) -> Package:
    name, version, *files, integrity = row.split()
    return Package(name, version, integrity, tuple(files))


PYODIDE, GRAPHVIZ, GIF, *EDITOR = map(_package, re.split(r"\n(?! )", _PACKAGES.strip()))


def registry() -> str:
    """The address of the registry: the one that npm itself uses."""
    return (os.environ.get("NPM_CONFIG_REGISTRY") or REGISTRY).rstrip("/")


def files_of(package: Package) -> dict[str, bytes]:
    """The files of `package` that the site uses, by their path inside it.

    Raises:
        PartError: it is not in the cache and cannot be downloaded, or has another hash.
    """
    kept = cache_folder() / f"{package.name.replace('/', '__')}-{package.version}.tgz"
    data = _kept_or_fetched(kept, package.url, _integrity, package.integrity)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {name: _member(archive, f"package/{name}") for name in package.files}


def numpy_wheel(lock: bytes, given: Path | None = None) -> bytes:
    """NumPy's wheel for Pyodide: the file `given`, that of the environment variable, or the one of Pyodide's release.

    Args:
        lock: Pyodide's `pyodide-lock.json`, which has the wheel's name and SHA-256.
        given: a file to use instead of downloading one.

    Raises:
        PartError: there is no such file, or its hash is wrong.
    """
    entry = json.loads(lock)["packages"]["numpy"]
    if given is None and WHEEL_VARIABLE in os.environ:
        given = Path(os.environ[WHEEL_VARIABLE])
    kept = cache_folder() / entry["file_name"]
    if given is not None:
        try:
            data = given.read_bytes()
        except OSError as error:
            raise PartError(f"no NumPy wheel at {given}: {error.strerror}") from None
        if _sha256(data) != entry["sha256"]:
            raise PartError(f"{given} is not {entry['file_name']}, or not the one that Pyodide {PYODIDE.version} names")
        return data
    url = f"{RELEASES}/{PYODIDE.version}/{entry['file_name']}"
    instead = f"; or download it elsewhere and name the file with --numpy or in {WHEEL_VARIABLE}"
    return _kept_or_fetched(kept, url, _sha256, entry["sha256"], instead)


def cache_folder() -> Path:
    """Where downloaded parts are kept: `XDG_CACHE_HOME`, or the platform's own cache folder."""
    if "XDG_CACHE_HOME" in os.environ:
        root = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        root = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return root / "tinygrad-edu"


def _kept_or_fetched(kept: Path, url: str, hash_of: Callable[[bytes], str], expected: str, instead: str = "") -> bytes:
    data = kept.read_bytes() if kept.exists() else b""
    trouble = ""
    for _ in range(ATTEMPTS):
        if hash_of(data) == expected:
            break
        try:
            with urllib.request.urlopen(url, timeout=FETCH_LIMIT_S) as answer:
                data = answer.read()
            trouble = "its hash is wrong, so it was not used"
        except OSError as error:
            trouble = str(error)
    else:
        if hash_of(data) != expected:
            raise PartError(f"{url} cannot be fetched ({trouble}); a live site needs it once{instead}")
    if trouble:
        _keep(kept, data)
    return data


def _keep(path: Path, data: bytes) -> None:
    """Write a file completely or not at all: two builds may run at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise PartError(f"{name} is not in its package")
    return file.read()


def _integrity(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
