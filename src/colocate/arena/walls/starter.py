"""Starts sandboxes: by a process that forks, or through bubblewrap."""

import atexit
import json
import os
import platform
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from colocate.arena.inside.seccomp import ARCHITECTURES
from colocate.arena.walls.enclosure import (
    INSIDE,
    OURS,
    Enclosure,
    bubblewrap,
    find_packages,
    python,
    view,
)

START = 30.0
"""Seconds within which a sandbox must have started."""
LONGEST_COMPLAINT = 500
"""Letters: the end of a traceback, with the reason."""
MOST_STARTERS = 12
"""Processes that wait to start sandboxes; each holds some 30 MB, most of them shared."""
USUAL = ("numpy",)
"""Packages that every program may import."""
USUAL_ORDER = 0
"""The seed of the order of sets, if nobody names another one."""
LANDLOCK_LEAKS = (
    "behind Landlock alone, a program can learn from access times and process numbers what another "
    "one has seen; allow namespaces of users, or install bubblewrap"
)
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LD_BIND_NOW": "1",
}
"""The whole environment, beside the order of sets: one thread for numpy, and libraries that are
linked to the end before the first case, not again in each."""
BOOT = (
    "import json, sys; sys.path.append(sys.argv[1]); from inside.{module} import {function}; "
    "sys.path.pop(); {function}(int(sys.argv[2]), json.load(open(int(sys.argv[3]))))"
)


class SandboxProcess:
    """A process of a sandbox.

    Parameters
    ----------
    handle
        A file that stands for it, and for no other process that gets its number later.
    child
        The same, if it is a child of this process.
    """

    def __init__(self, handle: int, child: "subprocess.Popen[bytes] | None" = None) -> None:
        self._handle = handle
        self._child = child
        self._lock = Lock()
        self._over = False

    @property
    def pid(self) -> int:
        """Its number on this machine, not the one that it has behind its walls."""
        told = Path(f"/proc/self/fdinfo/{self._handle}").read_text(encoding="ascii")
        return int(told.partition("Pid:")[2].split()[0])

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.wait(0)

    def kill(self) -> None:
        """Have it end; all others of its sandbox end with it."""
        with self._lock, suppress(ProcessLookupError):
            if not self._over:  # the number of the handle may be that of another by then
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def end(self) -> None:
        """End it, and wait until it has ended."""
        self.kill()
        self.wait(START)
        if self._child:
            self._child.wait()
        with self._lock:
            self._over = True
            os.close(self._handle)

    def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds until it has ended."""
        line = select.poll()
        line.register(self._handle, select.POLLIN)
        return bool(line.poll(1000 * seconds))


class Starter:
    """A process that starts sandboxes by forking, with Python and numpy loaded already.

    Parameters
    ----------
    enclosure
        The walls of the sandboxes.
    packages
        The paths of packages that programs may import, by name.
    hash_seed
        Decides the order of sets.
    """

    def __init__(self, enclosure: Enclosure, packages: Mapping[str, Path], hash_seed: int) -> None:
        apart = enclosure is Enclosure.NAMESPACES
        places = {name.partition(".")[0]: path for name, path in packages.items()
                  if not name.endswith(".libs")}  # fmt: skip
        told = {
            "view": view(packages) if apart else None,
            "packages": {
                name: f"{INSIDE}/packages/{path.name}" if apart else str(path)
                for name, path in places.items()
            },
        }
        self._lock = Lock()
        self._process, self._channel, complaints = launched(
            [*python(), "-c", BOOT.format(module="start", function="start"), str(OURS / "arena")],
            told,
            hash_seed,
        )
        with complaints:
            if not heard(self._channel):
                self.close()
                raise OSError(complaint(complaints))

    def start(self, preload: list[str], files: list[int]) -> SandboxProcess:
        """Start a sandbox.

        Parameters
        ----------
        preload
            Modules that the program may want; they are imported only once.
        files
            Its socket, its options, and a file for complaints.
        """
        with self._lock:
            request = json.dumps({"preload": preload}).encode()
            socket.send_fds(self._channel, [request], files)
            self._channel.settimeout(START)
            _, handles, _, _ = socket.recv_fds(self._channel, 64, 1)
        if not handles:
            raise OSError("the process that starts sandboxes has ended")
        return SandboxProcess(handles[0])

    @property
    def ended(self) -> bool:
        """Whether it can start no more sandboxes."""
        return self._process.ended

    def close(self) -> None:
        """End it, and all sandboxes that it started."""
        self._channel.close()
        self._process.end()


_starters: dict[tuple[Any, ...], Starter] = {}
_starting = Lock()


def starter(
    enclosure: Enclosure,
    packages: Mapping[str, Path],
    hash_seed: int,
    preload: Sequence[str] = (),
    layout: int = 0,
) -> Starter:
    """Return a process that starts such sandboxes: the one from before, or a new one.

    One that has loaded large packages starts no sandboxes of programs that name none of them: each
    of their cases would copy what it is told of their memory.

    Parameters
    ----------
    enclosure, packages, hash_seed
        See `Starter`.
    preload
        Modules that the sandbox wants loaded.
    layout
        Tells apart processes that are otherwise alike: what they fork has their addresses.
    """
    loads = frozenset(name for name in preload if name.partition(".")[0] in packages)
    kind = (os.getpid(), *python(), enclosure, hash_seed, layout, tuple(packages.items()))
    key = (*kind, loads)
    with _starting:
        known = _starters.pop(key, None) or _starters.pop((*kind, frozenset()), None)
        if known and known.ended:
            known.close()
            known = None
        _starters[key] = known or Starter(enclosure, packages, hash_seed)
        while len(_starters) > MOST_STARTERS:
            oldest = next(iter(_starters))
            found = _starters.pop(oldest)
            if oldest[0] == os.getpid():
                found.close()
        return _starters[key]


@atexit.register
def _close_all() -> None:
    for key, found in _starters.items():
        if key[0] == os.getpid():
            found.close()
    _starters.clear()


def launched(
    command: list[str], options: dict[str, Any], hash_seed: int
) -> tuple[SandboxProcess, socket.socket, Any]:
    """Start a process of ours; return it, the socket to it, and what it complains about.

    Parameters
    ----------
    command
        What to run; the numbers of the socket and of the options follow.
    options
        What it must know.
    hash_seed
        Decides the order of sets.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    complaints = memory_file()
    try:
        with theirs, memory_file(json.dumps(options).encode()) as told:
            files = (theirs.fileno(), told.fileno())
            process = subprocess.Popen(
                [*command, *map(str, files)],
                env=ENVIRONMENT | {"PYTHONHASHSEED": str(hash_seed)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=files,
                start_new_session=True,
            )
    except OSError:
        ours.close()
        complaints.close()
        raise
    return SandboxProcess(os.pidfd_open(process.pid), process), ours, complaints


def heard(channel: socket.socket) -> bytes:
    """Return the first message of a process that starts; nothing if it has ended."""
    channel.settimeout(START)
    with suppress(OSError):
        return channel.recv(4096)
    return b""


def complaint(complaints: Any) -> str:
    """Return why a process did not start, in its own words."""
    complaints.seek(0)
    words = complaints.read().decode(errors="replace").strip()
    return words[-LONGEST_COMPLAINT:] or "it gave no reason"


def memory_file(content: bytes = b"") -> Any:
    """Return an open file that is in memory only, so that nothing is left when this ends."""
    file = os.fdopen(os.memfd_create("colocate"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


@cache
def best_enclosure() -> Enclosure:
    """Return the best walls of this machine: namespaces, those of bubblewrap, or Landlock."""
    with suppress(OSError):
        starter(Enclosure.NAMESPACES, find_packages(USUAL), USUAL_ORDER)
        return Enclosure.NAMESPACES
    with suppress(OSError, subprocess.TimeoutExpired):
        start = f"import sys; sys.path.append('{INSIDE}/code'); import inside.serve"
        command = [*bubblewrap({}, 1), *python(), "-c", start]
        done = subprocess.run(command, env={}, capture_output=True, check=False, timeout=START)
        if done.returncode == 0:
            return Enclosure.BUBBLEWRAP
    return Enclosure.LANDLOCK


def leak_of(enclosure: Enclosure) -> str:
    """Return how walls let a case tell later ones what it has seen; empty if they do not."""
    if not enclosure.keeps_secrets:
        return LANDLOCK_LEAKS
    if platform.machine() not in ARCHITECTURES:
        return f"no filter of system calls is written for {platform.machine()}"
    return ""
