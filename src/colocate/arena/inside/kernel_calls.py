"""System calls that Python has no name for."""

import ctypes
import os
import signal
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
"""As in <linux/prctl.h>."""
CAPABILITIES = struct.pack("Ii", 0x20080522, 0)
"""The version of the kernel's interface, and this process."""


def prctl(option: int, *arguments: int) -> None:
    """Change a property of this process."""
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if _LIBC.prctl(option, *padded) != 0:
        raise _error()


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number."""
    result = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _error()
    return int(result)


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
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
