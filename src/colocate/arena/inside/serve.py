"""The parent's agent inside the walls: forks for every case, waits, and reports how it ended."""

import fcntl
import gc
import json
import marshal
import os
import resource
import select
import signal
import socket
import sys
import termios
from contextlib import suppress
from importlib import import_module
from time import monotonic
from typing import Any

from . import landlock, seccomp
from .answer import LoadedProgram, answer, compiled, rehearse, tell
from .chance import lend
from .ending import ENDING
from .flat_text import PROGRAM_FILE
from .folder import is_overfull, last_change
from .kernel_calls import die_with_parent, drop_capabilities, fork, hide_memory
from .sockets import lend_sockets

MEGABYTE = 1024 * 1024
"""In bytes."""
COMPILING = 10.0
"""Seconds for compiling a program before its first case: the parent waits thirty for the sandbox.

A program that takes longer compiles in every case, within the time of that.
"""
LOOK = 0.1
"""Seconds between two checks of the clock and of a case's folder."""
SAY, MOST_FILES = 3, 1024
"""The file through which compiled code comes, and numbers that files of this process may have."""
NEIGHBOURS = 1000
"""Threads that others of the same user may start meanwhile: the kernel counts them together."""


def serve(control: int, options: dict[str, Any]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    control
        The socket to the parent. The first message has the file of the program. A request is an
        empty object with three files: the question, the pipe for the answer, and a pipe with the
        seed of random draws. The reply reports how the case ended, as `ENDING` has it. Before the
        first request comes a message with the walls that stand, and the seconds for compiling.
    options
        `folder` is the folder to work in, `packages` a folder to import from or None, and
        `preload` lists the modules to import. `memory_mb`, `file_mb`, `folder_mb`, `open_files`,
        `threads` and `seconds` limit a case. `readable` and `writable` list the only files that
        Landlock leaves, `alone` says whether no other process can be signalled, and `counted`
        whether the files in the folder must be counted.
    """
    os.chdir(options["folder"])
    sys.argv = [PROGRAM_FILE]
    if options["packages"]:
        sys.path.append(options["packages"])
    for name in options["preload"]:
        with suppress(ImportError):
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not options["alone"]:
        options["threads"] += _threads_of_this_user() + NEIGHBOURS
    options["rlimits"] = _rlimits(options)
    walls = _raise_walls(options)
    with socket.socket(fileno=control) as channel:
        started = monotonic()
        program = _program(channel, options, walls)
        compiling = monotonic() - started
        rehearse()
        lend()
        gc.freeze()  # or every child would copy the pages that a collection touches
        channel.send(json.dumps({"walls": walls, "compiling": compiling}).encode())
        number: int | None = 0
        while number is not None:
            number = _handle(channel, options, walls, program, number)


def _program(channel: socket.socket, options: dict[str, Any], walls: list[str]) -> LoadedProgram:
    """Receive the program, and compile it once for all cases, in a process like theirs.

    If it does not compile soon enough, every case tries again and tells why.
    """
    _, files, _, _ = socket.recv_fds(channel, 64, 1)
    with os.fdopen(files[0], encoding="utf-8") as file:
        file.seek(0)
        source = file.read()
    said, say = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(said)
            os.dup2(say, SAY)
            os.closerange(SAY + 1, MOST_FILES)
            _enter(options, walls)
            tell(SAY, marshal.dumps(compiled(source)))
        finally:  # a child must never return into its parent's code
            os._exit(1)
    os.close(say)
    with os.fdopen(said, "rb") as file:
        code = _read_until(file.fileno(), monotonic() + min(options["seconds"], COMPILING))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return LoadedProgram(source, marshal.loads(code))
    except (EOFError, ValueError, TypeError):
        return LoadedProgram(source, None)


def _read_until(pipe: int, until: float) -> bytes:
    """Read a pipe to its end; return nothing if that takes too long."""
    parts: list[bytes] = []
    line = select.poll()
    line.register(pipe, select.POLLIN)
    while line.poll(1000 * max(until - monotonic(), 0)):
        part = os.read(pipe, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def _raise_walls(options: dict[str, Any]) -> list[str]:
    """Enclose this process and all its children; return the walls that stand."""
    drop_capabilities()
    hide_memory()
    walls = []
    with suppress(OSError):
        landlock.enclose(options["readable"], options["writable"])
        walls.append("landlock")
    with suppress(OSError):
        seccomp.enclose_all()
        walls.append("seccomp")
    return walls


def _handle(
    channel: socket.socket,
    options: dict[str, Any],
    walls: list[str],
    program: LoadedProgram,
    before: int,
) -> int | None:
    """Run one case, unless the one before used up numbers of processes, as threads do.

    The program would see how many. Such a case is to be put to another sandbox.

    Parameters
    ----------
    channel, options, walls, program
        Whom to answer, and what to run.
    before
        The number of the case before; 0 for the first one.

    Returns
    -------
    int or None
        The number of the case; None if there are to be no more, as this one changed its folder.
    """
    message, files, _, _ = socket.recv_fds(channel, 64, 3)
    if not message:
        return None
    request, reply, chance = files
    seed = _waiting(chance)
    said, say = os.pipe()
    untouched = last_change()
    child = fork()
    skips = options["alone"] and before and (child or os.getpid()) != before + 1
    if child == 0:
        try:
            if skips:
                return None
            os.close(channel.fileno())
            os.close(said)
            if program.uses_sockets:
                lend_sockets()
            _enter(options, walls)
            os.write(say, b"!")
            os.close(say)
            answer(request, reply, chance, program)
        finally:  # a child must never return into its parent's code
            os._exit(0)
    for file in (request, reply, say):
        os.close(file)
    ending = _wait(child, options, channel.fileno())
    entered = os.read(said, 1) == b"!"
    touched = skips or last_change() != untouched
    drew = _waiting(chance) != seed
    os.close(said)
    os.close(chance)
    channel.send(ENDING.pack(*ending, entered, touched, drew))
    return None if touched else child


def _waiting(pipe: int) -> int:
    """Return how many bytes wait in a pipe, without learning what they are."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _enter(options: dict[str, Any], walls: list[str]) -> None:
    """Take away the rights that a program must not have; raise OSError if that fails."""
    die_with_parent()
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.close(nothing)
    tighter_already = suppress(ValueError)
    for limit, numbers in options["rlimits"]:
        with tighter_already:
            resource.setrlimit(limit, numbers)
    if "seccomp" in walls:
        seccomp.enclose_case()


def _rlimits(options: dict[str, Any]) -> list[tuple[int, tuple[int, int]]]:
    """Return the limits of a case as the kernel takes them."""
    seconds = int(options["seconds"]) + 1
    memory, file = options["memory_mb"] * MEGABYTE, options["file_mb"] * MEGABYTE
    files, threads = options["open_files"], options["threads"]
    return [
        (resource.RLIMIT_AS, (memory, memory)),
        (resource.RLIMIT_CPU, (seconds, seconds + 1)),
        (resource.RLIMIT_FSIZE, (file, file)),
        (resource.RLIMIT_NOFILE, (files, files)),
        (resource.RLIMIT_NPROC, (threads, threads)),
        (resource.RLIMIT_CORE, (0, 0)),
    ]


def _wait(child: int, options: dict[str, Any], channel: int) -> tuple[bool, bool, int, float]:
    """Wait for a child, no longer than its limit; return how it ended, as `ENDING` has it."""
    handle = os.pidfd_open(child)
    late, overfull = _watch(handle, options, channel)
    os.close(handle)
    _kill_all(child, options)
    _, status, usage = os.wait4(child, 0)
    overfull = overfull or (options["counted"] and is_overfull())
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return late, overfull, os.waitstatus_to_exitcode(status), cpu_seconds


def _watch(handle: int, options: dict[str, Any], channel: int) -> tuple[bool, bool]:
    """Wait until a child ends or must end; return whether it is late, and its folder overfull.

    It must end as well if the parent has closed its end of the channel: nobody waits for an answer.
    """
    until = monotonic() + options["seconds"]
    line = select.poll()
    line.register(handle, select.POLLIN)
    line.register(channel, 0)  # tells a hangup, which needs no asking
    while not line.poll(1000 * max(min(LOOK, until - monotonic()), 0)):
        if monotonic() >= until:
            return True, False
        if options["counted"] and is_overfull():
            return False, True
    return False, False


def _kill_all(child: int, options: dict[str, Any]) -> None:
    """End a child and its children. Its number is still its own, since nobody has waited for it."""
    os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        if options["alone"]:
            os.kill(-1, signal.SIGKILL)


def _threads_of_this_user() -> int:
    count = 0
    for process in os.listdir("/proc") if os.path.isdir("/proc") else []:
        with suppress(OSError):
            if os.stat(f"/proc/{process}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{process}/task"))
    return count
