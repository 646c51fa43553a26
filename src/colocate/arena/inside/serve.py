"""The parent's hand inside the walls: forks for every case, waits, and tells how it ended."""

import gc
import json
import os
import resource
import shutil
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from . import landlock, seccomp
from .answer import answer
from .kernel_calls import hide_memory

MEGABYTE = 1024 * 1024


def serve(control: int, options: dict[str, Any]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    control
        The socket to the parent. A request is an empty object with two files: the question, and
        the pipe for the answer. The reply tells how the case ended.
    options
        `folder` to work in; `packages`, a folder to import from, and `preload`, what to import;
        `memory_mb`, `file_mb`, `open_files`, `threads` and `seconds`, what a case may use;
        `readable`, the only files to be seen, or None if other walls see to that; `alone`, whether
        no other process can be signalled.
    """
    os.chdir(options["folder"])
    sys.path.append(options["packages"])
    for name in options["preload"]:
        with suppress(ImportError):
            import_module(name)
    gc.freeze()  # or every child would copy what a collection touches
    walls = _raise_walls(options)
    with socket.socket(fileno=control) as channel:
        channel.send(json.dumps(walls).encode())
        while _handle(channel, options):
            pass


def _raise_walls(options: dict[str, Any]) -> list[str]:
    """Enclose this process and all that come after it; return the walls that stand."""
    walls = []
    if options["readable"] is not None:
        with suppress(OSError):
            landlock.enclose(options["readable"], [options["folder"], "/dev/null"])
            walls.append("landlock")
    with suppress(OSError, AttributeError):
        hide_memory()
    if _works(seccomp.enclose):
        walls.append("seccomp")
    return walls


def _works(attempt: Any) -> bool:
    """Try something in a process of its own."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            attempt()
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _handle(channel: socket.socket, options: dict[str, Any]) -> bool:
    message, files, _, _ = socket.recv_fds(channel, 64, 2)
    if not message:
        return False
    request, reply = files
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            channel.close()
            _enter(options)
            answer(request, reply)
        os._exit(0)
    os.close(request)
    os.close(reply)
    channel.send(json.dumps(_wait(child, options)).encode())
    return _clean(options)


def _enter(options: dict[str, Any]) -> None:
    """Take away from this process what a program must not have."""
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    seconds = int(options["seconds"]) + 1
    for limit, value in (
        (resource.RLIMIT_AS, options["memory_mb"] * MEGABYTE),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, options["file_mb"] * MEGABYTE),
        (resource.RLIMIT_NOFILE, options["open_files"]),
        (resource.RLIMIT_NPROC, options["threads"]),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    with suppress(OSError):
        seccomp.enclose()


def _wait(child: int, options: dict[str, Any]) -> dict[str, Any]:
    """Wait for a child, but not for longer than it may take; say how it ended."""
    late = False

    def end(*_: object) -> None:
        nonlocal late
        late = True
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, options["seconds"])
    _, status, usage = os.wait4(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    return {
        "late": late,
        "code": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime,
    }


def _clean(options: dict[str, Any]) -> bool:
    """Leave nothing behind for the next case; False if that failed, and it is time to end."""
    if options["alone"]:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    try:
        for entry in os.listdir("."):
            _remove(entry)
        return not os.listdir(".")
    except (OSError, RecursionError):
        return False


def _remove(entry: str) -> None:
    if os.path.isdir(entry) and not os.path.islink(entry):
        os.chmod(entry, 0o700)
        shutil.rmtree(entry)
    else:
        os.remove(entry)
