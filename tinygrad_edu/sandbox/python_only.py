"""The last protection, on every platform: inside Python itself, for systems that offer nothing better.

Python calls its audit hooks before each access to a file, process, connection or foreign function, and a hook cannot be
removed again. This stops Python code but not machine code, so no report counts it as a protection.
"""

from __future__ import annotations

import sys
from importlib.machinery import BuiltinImporter, FrozenImporter

_OUTSIDE = """
open ctypes. socket. subprocess. shutil. glob. tempfile. webbrowser. winreg. sqlite3. os. _posixsubprocess pty. fcntl.
resource. mmap. marshal.load code.__new__ cpython. sys.remote_exec ftplib. http. urllib. smtplib. poplib. imaplib.
msvcrt. _winapi."""
_REFUSED = tuple(_OUTSIDE.split())
_HARMLESS = ("os.putenv", "os.unsetenv")


def refuse_the_outside() -> None:
    """From now on, Python code in this process opens nothing, starts nothing and calls no foreign function."""

    def hook(event: str, arguments: tuple, refused: tuple = _REFUSED, harmless: tuple = _HARMLESS) -> None:
        if event.startswith(refused) and event not in harmless:
            raise PermissionError(f"{event} is not allowed while grading")

    sys.addaudithook(hook)


def forget_where_modules_are() -> None:
    """Remove the paths that Python imports from: loaded modules stay, and no other can be imported."""
    sys.path[:] = []
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter]
    sys.path_hooks[:] = []
    sys.path_importer_cache.clear()
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("tinygrad_edu", "viz") and hasattr(module, "__path__"):
            module.__path__ = []
