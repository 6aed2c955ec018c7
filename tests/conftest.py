"""What all tests share: the same random examples on every run, and folders of their own for what Jupyter writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A run fails for what was changed, never for an example that nobody met before, nor for the time that one took.
# `pytest --hypothesis-profile=new` looks for such examples.
_ALWAYS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **_ALWAYS)
settings.register_profile("new", derandomize=False, print_blob=True, **_ALWAYS)
settings.load_profile("same")

_FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}


@pytest.fixture(scope="session", autouse=True)
def jupyters_own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What stands in a home folder changes no test, and two runs beside each other share nothing."""
    home = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in _FOLDERS.items():
            patch.setenv(name, str(home / folder))
        yield
