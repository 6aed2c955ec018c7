"""PyTorch's helpers for its own tests. Importing them loads its compiler for seconds, so tests import this late."""

import importlib
from typing import Any

from hypothesis import settings


def pytorchs_own(module: str) -> Any:
    """A module of `torch.testing._internal`."""
    profile = settings.get_current_profile_name()
    # Each op would look through the whole stack, and for each frame through all modules, for the test that asks for it.
    importlib.import_module("torch.testing._internal.common_utils").extract_test_fn = lambda: None
    loaded = importlib.import_module(f"torch.testing._internal.{module}")
    settings.load_profile(profile)  # it loads one of its own, for every test that runs after this one
    return loaded
