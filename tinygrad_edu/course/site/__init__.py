"""The course as a static web site; `build` writes it."""

from __future__ import annotations

from .build import SiteError, build

__all__ = ["SiteError", "build"]
