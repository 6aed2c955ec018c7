"""Kernels for the JupyterLab of the tests: each is a fork of one process that has imported PyTorch.

Tests open some sixty notebooks, and the imports of a kernel take longer than most of what it is asked for. Kernels that
Jupyter starts by a command are in the tests of `nbgrader`, of Notebook 7, of `nbconvert`, and of `tinygrad-edu lab`.
"""

from pathlib import Path
from typing import Any

from jupyter_server.services.kernels.kernelmanager import ServerKernelManager

from tinygrad_edu.course.site.running import Forked

# What a server reads at its start. The tests' folder does not stay on the path, which kernels inherit.
CONFIGURATION = f"""
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
import {__name__}
sys.path.pop()
get_config().AsyncMappingKernelManager.kernel_manager_class = "{__name__}.ForkedKernelManager"
"""


class ForkedKernelManager(ServerKernelManager):
    """Jupyter's own, except for how a kernel's process starts."""

    async def _async_pre_start_kernel(self, **options: Any) -> Any:
        if self.provisioner is None:
            self.provisioner = Forked(kernel_spec=self.kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**options)
