"""What a process gives up before it runs untrusted code: files, network, other processes, and more than its share.

Only Linux has namespaces and seccomp; limits are POSIX. Each protection is tried separately and reports whether it
works, so that a report can name what is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import struct
import sys

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 1, 32, 4096, 16384, 1 << 18, 2


def end_with_parent() -> None:
    """From now on this process is killed when its parent ends, on Linux. A fork does not inherit that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def enter_namespaces() -> bool:
    """Move this process, which must have one thread, into new namespaces, and return in a child that is process 1.

    The parent stays outside and waits. Killing it kills process 1, and with that every process inside. Returns False,
    in the same process, if the platform does not allow it.
    """
    if sys.platform != "linux":
        return False
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWUSER | _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS) != 0:
        return False
    with contextlib.suppress(OSError):
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    end_with_parent()  # again: new namespaces may forget it
    inside = os.fork()
    if inside:
        _, status = os.waitpid(inside, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    end_with_parent()  # process 1 never outlives the process that waits for it
    return True


def empty_root() -> bool:
    """Replace the file system by an empty, read-only one, inside our own namespaces."""
    try:
        _empty_root()
    except (OSError, KeyError):
        return False
    return True


def _empty_root() -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) != 0:
            raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")

    call("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)
    call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, b"size=4k,mode=555")
    os.chdir("/tmp")
    call("mount", None, b"/tmp", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY, None)
    call("syscall", _SYSCALLS[platform.machine()]["pivot_root"], b".", b".")
    call("umount2", b".", _MNT_DETACH)
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up the rights that process 1, and every child of it, has over its own namespaces."""
    if sys.platform == "linux":
        version_3 = struct.pack("Ii", 0x20080522, 0)
        ctypes.CDLL(None).capset(version_3, bytes(24))


def address_space() -> int:
    """The bytes of address space that this process has mapped; an estimate if the platform does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 8 << 30


def limit(seconds: float, memory: int, processes: bool = True) -> bool:
    """Limit this process: seconds of processor time, bytes of address space, no writing of files.

    With `processes`, forbid new processes, and threads too, because the former cannot be forbidden alone. Returns
    whether the memory is now limited; macOS accepts the limit and ignores it.
    """
    if resource is None:
        return False
    limits = {"RLIMIT_AS": memory, "RLIMIT_CPU": int(seconds) + 2, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
    if processes:
        limits["RLIMIT_NPROC"] = 0
    for name, value in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (value, value))
    try:
        mmap.mmap(-1, memory).close()  # in addition to what is already mapped
    except OSError:
        return True
    return False


_SYSCALLS = {
    "x86_64": {
        "arch": 0xC000003E, "clone": 56, "fcntl": 72, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322,
        "socket": 41, "socketpair": 53, "connect": 42, "kill": 62, "tkill": 200, "tgkill": 234, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "mount": 165, "umount2": 166, "pivot_root": 155,
        "chroot": 161, "unshare": 272, "setns": 308, "bpf": 321, "keyctl": 250, "add_key": 248, "perf_event_open": 298,
        "userfaultfd": 323, "capset": 126, "prlimit64": 302, "shmget": 29, "msgget": 68, "mq_open": 240, "semget": 64,
        "memfd_create": 319, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "setpriority": 141, "ioprio_set": 251,
        "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314,
        "migrate_pages": 256, "move_pages": 279, "syslog": 103,
    },
    "aarch64": {
        "arch": 0xC00000B7, "clone": 220, "fcntl": 25, "execve": 221, "execveat": 281, "socket": 198,
        "socketpair": 199, "connect": 203, "kill": 129, "tkill": 130, "tgkill": 131, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "mount": 40, "umount2": 39, "pivot_root": 41,
        "chroot": 51, "unshare": 97, "setns": 268, "bpf": 280, "keyctl": 219, "add_key": 217, "perf_event_open": 241,
        "userfaultfd": 282, "capset": 91, "prlimit64": 261, "shmget": 194, "msgget": 186, "mq_open": 180, "semget": 190,
        "memfd_create": 279, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "setpriority": 140, "ioprio_set": 30,
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274,
        "migrate_pages": 238, "move_pages": 239, "syslog": 116,
    },
}  # fmt: skip
_SINCE_2019 = 424  # from here on numbers are equal on all architectures; libc has an older call for each that it uses
_CLONE_THREAD = 0x10000
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15  # these let the kernel send a signal to another process
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x50000 | 1, 0x50000 | 38


def deny_system_calls() -> bool:
    """From now on, in this process and its threads, the calls listed above fail with EPERM.

    This cannot be undone. `clone` fails too, unless it makes a thread, and so do the `fcntl` commands that signal
    others. Newer calls, such as io_uring and clone3, report that they do not exist.
    """
    calls = _SYSCALLS.get(platform.machine())
    if sys.platform != "linux" or calls is None:
        return False
    numbers = [number for name, number in calls.items() if name not in ("arch", "clone", "fcntl")]

    # A classic BPF program: (code, jump if true, jump if false, constant); jumps count instructions to skip.
    load, equal, at_least, set_bits, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    program = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, calls["arch"]),
        (answer, 0, 0, _EPERM),
        (load, 0, 0, 0),  # the number of the call
        (at_least, 0, 1, _SINCE_2019),  # far above these are the x32 calls: the same calls with other numbers
        (answer, 0, 0, _ENOSYS),
        (equal, 0, 4, calls["clone"]),
        (load, 0, 0, 16),  # its first argument, the flags
        (set_bits, 0, 1, _CLONE_THREAD),
        (answer, 0, 0, _ALLOW),
        (answer, 0, 0, _EPERM),
        (equal, 0, 6, calls["fcntl"]),
        (load, 0, 0, 24),  # its second argument, the command
        (equal, 3, 0, _F_SETOWN),
        (equal, 2, 0, _F_SETSIG),
        (equal, 1, 0, _F_SETOWN_EX),
        (answer, 0, 0, _ALLOW),
        (answer, 0, 0, _EPERM),
    ]
    for number in numbers:
        program += [(equal, 0, 1, number), (answer, 0, 0, _EPERM)]
    program += [(answer, 0, 0, _ALLOW)]

    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    return libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0 and libc.prctl(set_seccomp, filter_mode, fprog, 0, 0) == 0
