"""Packs this installation, a clone's or a package's, into a wheel again, without pip and without a network."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ...course.working_copy import lesson_files, lessons_root

HOME = Path(__file__).resolve().parents[3]
PACKAGES = ("tinygrad_edu", "viz")
LEFT_OUT = (
    "RECORD",
    "INSTALLER",
    "REQUESTED",
    "direct_url.json",
    "uv_cache.json",
)  # of an installation, not of a wheel


def pack(folder: Path) -> Path:
    """Write the wheel into `folder`, and return its path."""
    found = importlib.metadata.distribution("tinygrad-edu")
    name = f"tinygrad_edu-{found.version}"
    target = folder / f"{name}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, file in [*_packages(), *_about(found, f"{name}.dist-info")]:
            content = file.read_bytes()
            archive.writestr(zipfile.ZipInfo(inside), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{inside},sha256={digest},{len(content)}\n")
        archive.writestr(f"{name}.dist-info/RECORD", "".join([*record, f"{name}.dist-info/RECORD,,\n"]))
    return target


def _packages() -> Iterator[tuple[str, Path]]:
    """Every file of the packages and every lesson, with its place in a wheel."""
    lessons = lessons_root()
    for package in PACKAGES:
        for file in sorted((HOME / package).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and not file.is_relative_to(lessons):
                yield file.relative_to(HOME).as_posix(), file
    for file in lesson_files(lessons):
        yield f"tinygrad_edu/notebooks/{file.relative_to(lessons).as_posix()}", file


def _about(found: importlib.metadata.Distribution, folder: str) -> Iterator[tuple[str, Path]]:
    """What the installation says of itself: its metadata, its commands, its licences."""
    for part in found.files or ():
        if part.parts[0].endswith(".dist-info") and part.name not in LEFT_OUT:
            yield "/".join([folder, *part.parts[1:]]), Path(str(part.locate()))
