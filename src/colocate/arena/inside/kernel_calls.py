"""System calls that Python has no name for."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38


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


def forbid_new_privileges() -> None:
    """Let no program that is started get more rights than this one: filters demand it."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Let no other process of this user look into this one, or change it."""
    prctl(PR_SET_DUMPABLE, 0)


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
