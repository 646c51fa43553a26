"""System calls that Python has no name for."""

import ctypes
import os
import platform
import signal
import struct
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)
_PRCTL = _LIBC.prctl
_FORK = ctypes.PyDLL(None, use_errno=True).fork  # keeps the lock of the interpreter
_PRCTL.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
"""As in <linux/prctl.h>."""
KILL = int(signal.SIGKILL)
"""The signal that nothing survives."""
CAPABILITIES = struct.pack("Ii", 0x20080522, 0)
"""The version of the kernel's interface, and this process."""
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""The number of a system call on each architecture."""
MOUNT_SETATTR = 442
"""The number of a system call, the same on all architectures."""
HERE, RECURSIVE = -100, 0x8000
"""As in <fcntl.h>: AT_FDCWD and AT_RECURSIVE."""
READ_ONLY, NO_SETUID = 1, 2
"""As in <linux/mount.h>: MOUNT_ATTR_RDONLY and MOUNT_ATTR_NOSUID."""
DETACH = 2
"""As in <sys/mount.h>: MNT_DETACH."""


def prctl(option: int, *arguments: int) -> None:
    """Change a property of this process."""
    if _PRCTL(option, *(*arguments, 0, 0, 0, 0)[:4]) != 0:
        raise _error()


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number."""
    result = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _error()
    return int(result)


def fork() -> int:
    """Fork this process as `os.fork` does, with less to do where it has a single thread.

    In the child, `os.fork` looks after locks that other threads may hold, and does what modules
    want done after a fork. A case needs neither, and it would copy some thirty pages.
    """
    if len(sys._current_frames()) > 1:
        return os.fork()
    number = int(_FORK())
    if number < 0:
        raise _error()
    return number


def drop_capabilities() -> None:
    """Give up the superuser's rights: on devices, limits and other people's files."""
    if _LIBC.capset(CAPABILITIES, bytes(24)) != 0:
        raise _error()


def forbid_new_privileges() -> None:
    """Deny programs that this one starts any further rights; filters require this."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Keep other processes of this user from reading or changing this one."""
    prctl(PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, KILL)


def unshare(flags: int) -> None:
    """Leave namespaces for new ones of this process."""
    if _LIBC.unshare(ctypes.c_int(flags)) != 0:
        raise _error()


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Attach a file system, or part of one, to a folder or file.

    Parameters
    ----------
    source
        What to attach.
    target
        Where to attach it.
    kind
        The kind of file system; empty for a part of one that is attached already.
    flags, options
        How; as in <sys/mount.h>, and as the file system has them.
    """
    texts = [os.fsencode(text) for text in (source, target, kind)]
    if _LIBC.mount(*texts, ctypes.c_ulong(flags), options.encode()) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{source} cannot be mounted: {os.strerror(code)}", target)


def make_read_only(path: str) -> None:
    """Let nobody change anything at and below a path through its mounts, access times included."""
    wanted = struct.pack("=4Q", READ_ONLY | NO_SETUID, 0, 0, 0)
    flags, size = ctypes.c_uint(RECURSIVE), ctypes.c_size_t(len(wanted))
    call(MOUNT_SETATTR, ctypes.c_int(HERE), os.fsencode(path), flags, wanted, size)


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root, and attach the root so far to a folder in it."""
    if platform.machine() not in PIVOT_ROOT:
        raise OSError(f"no number of pivot_root is known for {platform.machine()}")
    call(PIVOT_ROOT[platform.machine()], os.fsencode(new), os.fsencode(old))


def detach(path: str) -> None:
    """Take a mount, and all below it, out of sight."""
    if _LIBC.umount2(os.fsencode(path), DETACH) != 0:
        raise _error()


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
