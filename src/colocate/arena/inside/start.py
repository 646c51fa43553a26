"""The process that starts sandboxes by forking, so that Python and numpy are loaded only once.

It never sees a program or a case. A sandbox begins as a copy of it, behind walls of its own.
"""

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from . import namespaces
from .flat_text import PROGRAM_FILE
from .folder import MOST_ENTRIES
from .kernel_calls import die_with_parent
from .packages import PackageFinder
from .serve import MEGABYTE, serve

STANDARD_ERROR = 2
"""The number of the file for complaints."""
WORK = "/colocate/work"
"""The folder inside that programs work in."""


def start(control: int, options: dict[str, Any]) -> None:
    """Start sandboxes until there are no more requests.

    Parameters
    ----------
    control
        The socket to the parent. A request says which modules to `preload`, and has three files:
        the socket for the sandbox, its options (see `serve`), and a file for its complaints. The
        reply is a file that stands for the new process.
    options
        `view` has what is to be seen, or is None if no namespaces are to be made; `packages` has
        the paths of packages by name.
    """
    sys.argv = [PROGRAM_FILE]
    if options["view"] is None:
        _start_all(control, options)
        return
    namespaces.enter(options["view"], WORK)
    _wait_for(_forked(lambda: namespaces.apart(WORK, MEGABYTE, MOST_ENTRIES)))
    namespaces.number_children_anew()
    first = _forked(lambda: _first_starter(control, options))
    os.close(control)
    _wait_for(first)


def _first_starter(control: int, options: dict[str, Any]) -> None:
    """Start sandboxes as the first process of a namespace.

    Modules keep the number of the process that loads them, as `threading` does, and programs see
    what they keep. Numbers of the machine would tell how many processes others have started.
    """
    die_with_parent()
    _start_all(control, options)


def _start_all(control: int, options: dict[str, Any]) -> None:
    sys.meta_path.append(PackageFinder(options["packages"]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets those that have ended
    apart = options["view"] is not None
    with socket.socket(fileno=control) as channel:
        channel.send(b"ready")
        while _started(channel, apart):
            pass


def _started(channel: socket.socket, apart: bool) -> bool:
    """Start one sandbox; return False if there are no more to start."""
    message, files, _, _ = socket.recv_fds(channel, 4096, 3)
    if not message:
        return False
    for name in json.loads(message)["preload"]:
        with suppress(ImportError):
            import_module(name)
    gc.freeze()  # or every child would copy the pages that a collection touches
    child = _forked(lambda: _sandbox(channel, files, apart))
    handle = os.pidfd_open(child)
    with suppress(OSError):  # nobody waits for it any more
        socket.send_fds(channel, [b"started"], [handle])
    for file in (*files, handle):
        os.close(file)
    return True


def _sandbox(channel: socket.socket, files: list[int], apart: bool) -> None:
    """Be a sandbox: raise the walls that others cannot raise, and serve."""
    channel.close()
    control, options, complaints = files
    os.dup2(complaints, STANDARD_ERROR)
    os.close(complaints)
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with os.fdopen(options) as file:
        limits = json.load(file)
    os.setsid()
    if not apart:
        serve(control, limits)
        return
    namespaces.apart(WORK, limits["folder_mb"] * MEGABYTE, MOST_ENTRIES)
    first = _forked(lambda: _first(control, limits))
    os.close(control)
    os.waitpid(first, 0)


def _first(control: int, limits: dict[str, Any]) -> None:
    """Be the first process of a namespace: all others in it end with this one."""
    die_with_parent()
    serve(control, limits)


def _wait_for(child: int) -> None:
    """Wait until a child has ended; raise OSError if it failed."""
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(f"it ended with {code}")


def _forked(action: Callable[[], None]) -> int:
    """Do something in a child of this process, and return its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except OSError as error:
            os.write(STANDARD_ERROR, str(error).encode())
        finally:  # a child must never return into its parent's code
            os._exit(code)
    return child
