"""What the package index is told of this project: its addresses, and a README whose links and pictures work there.

Both follow from one address, the repository's: `TINYGRAD_EDU_REPOSITORY`, or else that of the clone's `origin`. A build
without either (from an unpacked archive) says nothing of addresses, and leaves the README as it is.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # a test reads this file without the build's own packages
    MetadataHookInterface = object

PICTURES = (".svg", ".png", ".gif")


class Addresses(MetadataHookInterface):
    """Called by hatchling while it builds."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dynamic fields `readme` and `urls`."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = repository_of(Path(self.root))
        if repository:
            text = with_addresses(text, repository)
            metadata["urls"] = urls(repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def repository_of(root: Path) -> str:
    """The web address of the repository that this clone comes from; empty where none is known.

    >>> os.environ["TINYGRAD_EDU_REPOSITORY"] = "git@example.org:course/tinygrad-edu.git"
    >>> repository_of(Path("."))
    'https://example.org/course/tinygrad-edu'
    >>> del os.environ["TINYGRAD_EDU_REPOSITORY"]
    """
    address = os.environ.get("TINYGRAD_EDU_REPOSITORY", "")
    if not address and (root / ".git").exists():
        command = ["git", "-C", str(root), "remote", "get-url", "origin"]
        address = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    address = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", address).removesuffix(".git").rstrip("/")
    return address if address.startswith("https://") else ""


def urls(repository: str) -> dict[str, str]:
    """The addresses that the package index lists."""
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def with_addresses(text: str, repository: str) -> str:
    """A README whose links into the repository hold anywhere: pages lead to it, pictures are fetched from it.

    >>> with_addresses("![a](docs/a.gif) [b](LICENSE) [c](#start) [d](https://pytorch.org)", "https://example.org/x")
    '![a](https://example.org/x/raw/HEAD/docs/a.gif) [b](https://example.org/x/blob/HEAD/LICENSE) [c](#start) [d](https://pytorch.org)'
    """

    def absolute(link: re.Match[str]) -> str:
        if not link[1].endswith(PICTURES):
            return f"]({repository}/blob/HEAD/{link[1]})"
        # GitHub gives an SVG as plain text without it.
        as_picture = "?sanitize=true" if link[1].endswith(".svg") else ""
        return f"]({repository}/raw/HEAD/{link[1]}{as_picture})"

    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", absolute, text)
