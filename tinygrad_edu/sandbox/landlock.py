"""Landlock: from now on this process, and all that it starts, open no files and no connections. Linux 5.13 or later.

Unlike namespaces it needs no privilege that containers refuse. See `man 7 landlock`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same number on every architecture
_VERSION = 1
_NO_NEW_PRIVILEGES = 38
_FILES = {1: 13, 2: 14, 3: 15, 4: 15}  # the number of file rights, by version of the interface
_NETWORK, _SCOPES = 0b11, 0b11  # bind and connect TCP; signals and abstract sockets outside
_READING = 0b1100  # to read a file, and to list a folder


def version() -> int:
    """The version of this kernel's Landlock interface; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def forbid_files() -> bool:
    """Remove every right of this process to open, read, write, list or run a file. This cannot be undone."""
    return _forbid(0)


def forbid_writes() -> bool:
    """Leave this process only the rights to read and list: no file is written, made, renamed or run, for good."""
    return _forbid(_READING)


def _forbid(but: int) -> bool:
    found = version()
    if not found:
        return False
    libc = ctypes.CDLL(None)
    rights = [((1 << _FILES.get(found, 16)) - 1) & ~but]
    rights += [_NETWORK] if found >= 4 else []
    rights += [_SCOPES] if found >= 6 else []
    attributes = ctypes.create_string_buffer(struct.pack(f"{len(rights)}Q", *rights))
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(8 * len(rights)), 0)
    if ruleset < 0:
        return False
    held = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return held
