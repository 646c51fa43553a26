"""A sandbox in which a program from outside runs, answers questions, and reaches nothing else.

The parent keeps the instances, the optimum and the checker to itself. It starts one sandbox per
program; in it, a process of ours (`inside.serve`) forks for each case. A question goes in as a
file. The answer comes out of its own pipe, as plain data that the parent does not trust. If a case
leaves anything in its folder, the sandbox ends and the next case gets a new one.
"""

import json
import os
import select
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any, Self

from colocate.arena.inside.ending import ENDING
from colocate.arena.walls.enclosure import (
    INSIDE,
    Enclosure,
    bubblewrap,
    find_packages,
    python,
    readable,
)
from colocate.arena.walls.starter import (
    BOOT,
    USUAL,
    USUAL_ORDER,
    SandboxProcess,
    best_enclosure,
    complaint,
    heard,
    launched,
    memory_file,
    starter,
)
from colocate.errors import InputError, SandboxError

MOST_OF_A_LIMIT = 1_048_576
"""Twelve days, or a terabyte; the kernel takes no times that are many times as long."""
A_LIMIT = f"a finite number > 0, at most {MOST_OF_A_LIMIT}"
"""What a limit is, in words."""
GRACE = 2.0
"""Seconds beyond a program's own limit after which the parent ends the sandbox."""
LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes: many times the largest case with its names."""
NO_SEED = bytes(16)
"""Zeros, as long as a seed."""
PRELOADED = ("numpy", "numpy.random", "dataclasses", "copy", "heapq")
"""Modules that are imported once, before the program, if its text has their names.

So not every case waits for them, and cases of other programs do not copy their pages.
"""
HIDDEN_IMPORTS = ("import_module", "__import__", "exec", "eval", "sys", "runpy")
"""Texts of a program that may import modules without having their names."""
ENDED = "the run was ended"
NOTHING_HIDES = "nothing here can hide other files from a program; install bubblewrap"


@dataclass(frozen=True)
class Limits:
    """The resources that a program may use for one case.

    The defaults are far more than an honest program needs.

    Parameters
    ----------
    seconds
        Limit on wall time, and on processor time.
    memory_mb
        Limit on address space.
    file_mb, folder_mb
        Limits on one file, and on everything that it puts into its folder.
    open_files, threads
        Limits on how many are open or run at a time.
    total_seconds
        Limit on the wall time of all cases of a run together; cases after that do not run.
    """

    seconds: float = 10.0
    memory_mb: int = 2048
    file_mb: int = 16
    folder_mb: int = 64
    open_files: int = 64
    threads: int = 64
    total_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value <= MOST_OF_A_LIMIT:
                raise InputError.of(name, value, A_LIMIT)


@dataclass(frozen=True)
class Reply:
    """How a case ended, and the program's answer."""

    text: bytes
    """The bytes that it wrote; not to be trusted."""
    code: int | None
    """Exit code, negative for a signal; None if the sandbox itself ended."""
    late: bool
    """Whether it took longer than allowed."""
    seconds: float
    cpu_seconds: float
    """Wall time, and processor time of the case alone. The wall time of the first case of a sandbox
    has that for compiling the program."""
    overfull: bool = False
    """Whether it put more into its folder than allowed."""
    drew: bool = True
    """Whether it took the seed of its random draws; True if nobody can tell."""


class Sandbox:
    """The sandbox of one program. Use it as a context manager, which ends it.

    Parameters
    ----------
    program
        The source text.
    limits
        The resources that it may use for a case.
    allow
        Packages that it may import beyond the standard library and numpy.
    enclosure
        The walls; by default the best ones available.
    hash_seed
        Decides the hashes of texts, and so the order of sets.
    layout
        Sandboxes with the same number have the same addresses in memory, others have their own.
    """

    def __init__(
        self,
        program: str,
        limits: Limits | None = None,
        allow: Sequence[str] = (),
        enclosure: Enclosure | None = None,
        hash_seed: int = USUAL_ORDER,
        layout: int = 0,
    ) -> None:
        self._program = program
        self._limits = limits or Limits()
        self._packages = find_packages((*USUAL, *allow))
        self._preload = _preloaded(program, allow)
        self._enclosure = enclosure or best_enclosure()
        self._hash_seed = hash_seed
        self._layout = layout
        self._process: SandboxProcess | None = None
        self._control: socket.socket | None = None
        self._halted = False
        self._compiling = 0.0
        self.walls: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def ask(self, question: dict[str, Any], seed: bytes = NO_SEED) -> Reply:
        """Put a question to a fresh process of the program, and wait for its answer.

        Parameters
        ----------
        question
            What the process gets, as plain data.
        seed
            What it can take to draw at random, in the form of `inside.chance`.
        """
        control = self._ready()
        started = monotonic()
        until = started + self._limits.seconds + GRACE
        pipe = _put(control, json.dumps(question).encode(), seed)
        text, ended = _read(pipe, until)
        ending = _hear(control, until) if ended else None
        seconds = monotonic() - started + self._compiling
        self._compiling = 0.0
        if ending is None:
            self.close()
            return Reply(text, None, monotonic() >= until, seconds, 0.0)
        late, overfull, code, cpu_seconds, entered, touched, drew = ending
        if touched:
            self.close()
        if touched and not entered:  # the case before it left a trace; a new sandbox has none
            return self.ask(question, seed)
        if not (entered or late):
            raise SandboxError(f"a case could not be enclosed: it ended with {code}")
        return Reply(text, code, late, seconds, cpu_seconds, overfull, drew)

    def close(self) -> None:
        """End every process of the sandbox; there is no file to leave behind."""
        if self._control:
            self._control.close()
            self._control = None
        if self._process:
            self._process.end()
            self._process = None

    def halt(self) -> None:
        """End the case that runs, from another thread; no more cases can be asked."""
        self._halted = True
        if process := self._process:
            process.kill()

    def _ready(self) -> socket.socket:
        """Return the socket to a live sandbox; replace one that speaks between cases."""
        if self._halted:
            raise SandboxError(ENDED)
        ended = self._process is None or self._process.ended
        if self._control and not ended and not _speaks(self._control.fileno(), 0):
            return self._control
        self.close()
        try:
            started = self._start()
        except OSError as error:
            self.close()
            raise SandboxError(f"the sandbox did not start: {error}") from error
        if self._halted:
            raise SandboxError(ENDED)
        return started

    def _start(self) -> socket.socket:
        through_bubblewrap = self._enclosure is Enclosure.BUBBLEWRAP
        complaints = self._launch() if through_bubblewrap else self._fork()
        assert self._control is not None
        with complaints:
            with memory_file(self._program.encode()) as file, suppress(ConnectionError):
                socket.send_fds(self._control, [b"{}"], [file.fileno()])  # it may have ended
            ready = heard(self._control)
            if not ready:
                raise OSError(complaint(complaints))
        told = json.loads(ready)
        found, self._compiling = told["walls"], told["compiling"]
        if self._enclosure is Enclosure.LANDLOCK and "landlock" not in found:
            raise OSError(NOTHING_HIDES)
        outer = {Enclosure.BUBBLEWRAP: ["bubblewrap", "namespaces"],
                 Enclosure.NAMESPACES: ["namespaces"]}.get(self._enclosure, [])  # fmt: skip
        self.walls = (*outer, *found, "rlimits", "process group")
        return self._control

    def _launch(self) -> Any:
        """Start the sandbox through bubblewrap; return what it complains about."""
        outside = bubblewrap(self._packages, self._limits.folder_mb)
        boot = BOOT.format(module="serve", function="serve")
        command = [*outside, *python(), "-c", boot, f"{INSIDE}/code"]
        options = {"preload": self._preload, "packages": f"{INSIDE}/packages", "counted": True}
        self._process, self._control, complaints = launched(
            command, self._options() | options, self._hash_seed
        )
        return complaints

    def _fork(self) -> Any:
        """Have the sandbox forked off; return what it complains about."""
        kind = (self._enclosure, self._packages, self._hash_seed)
        ready = starter(*kind, self._preload, self._layout)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        complaints = memory_file()
        try:
            with theirs, memory_file(json.dumps(self._options()).encode()) as told:
                files = [theirs.fileno(), told.fileno(), complaints.fileno()]
                self._process = ready.start(self._preload, files)
        except OSError:
            complaints.close()
            raise
        return complaints

    def _options(self) -> dict[str, Any]:
        """Return what `inside.serve` must know. Behind Landlock alone, nothing is written."""
        own: dict[str, Any] = {"preload": [], "packages": None, "counted": False}
        if self._enclosure is Enclosure.LANDLOCK:
            seen = readable(self._packages)
            files = {"folder": "/", "readable": seen, "writable": ["/dev/null"], "alone": False}
        else:
            work = f"{INSIDE}/work"
            files = {"folder": work, "readable": ["/"], "writable": [work, "/dev/null"]}
            files["alone"] = True
        return own | files | asdict(self._limits)


def _preloaded(program: str, allow: Sequence[str]) -> list[str]:
    """Return the modules to import before a program.

    The seeds that a program sets itself count for less than the referee's only in a numpy that was
    there before it.
    """
    hidden = allow or any(text in program for text in HIDDEN_IMPORTS)
    numpy = [name for name in PRELOADED if hidden and name.startswith("numpy")]
    named = [name for name in (*PRELOADED, *allow) if name.split(".")[0] in program]
    return [*numpy, *(name for name in named if name not in numpy)]


def _put(control: socket.socket, question: bytes, seed: bytes) -> int:
    """Send a question with the seed of its draws, and return the pipe for its answer."""
    receive, send = os.pipe()
    chance, fill = os.pipe()
    try:
        os.write(fill, seed)
        with memory_file(question) as file:
            socket.send_fds(control, [b"{}"], [file.fileno(), send, chance])
    except OSError as error:
        os.close(receive)
        raise SandboxError(f"the question could not be put: {error}") from error
    finally:
        for end in (send, chance, fill):
            os.close(end)
    return receive


def _read(pipe: int, until: float) -> tuple[bytes, bool]:
    """Read a pipe, and return whether it ended in time and within the longest answer."""
    parts: list[bytes] = []
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while sum(map(len, parts)) <= LONGEST_ANSWER:
            if not _speaks(pipe, until - monotonic()):
                break
            part = file.read(1 << 16)
            if not part:
                return b"".join(parts), True
            parts.append(part)
    return b"".join(parts), False


def _speaks(file: int, seconds: float) -> bool:
    """Wait at most so many seconds until a file has data to read or ends."""
    line = select.poll()
    line.register(file, select.POLLIN)
    return bool(line.poll(1000 * max(seconds, 0)))


def _hear(control: socket.socket, until: float) -> tuple[Any, ...] | None:
    """Return how a case ended; None if the sandbox is late or has ended."""
    control.settimeout(max(until - monotonic(), 0.01))
    with suppress(OSError, struct.error):
        return ENDING.unpack(control.recv(4096))
    return None
