"""A sandbox in which a program from outside runs, answers questions, and reaches nothing else.

The parent keeps the instances, the optimum and the checker to itself. It starts one sandbox per
program; in it, a process of ours (`inside.serve`) forks for each case. A question goes in as a
file. The answer comes out of its own pipe, as plain data that the parent does not trust. If a case
leaves anything in its folder, the sandbox ends and the next case gets a new one.
"""

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any, Self

from colocate.arena.enclosure import (
    INSIDE,
    OURS,
    Enclosure,
    best_enclosure,
    bubblewrap,
    find_packages,
    python,
    readable,
)
from colocate.errors import InputError, SandboxError

GRACE = 2.0
"""Seconds beyond a program's own limit after which the parent ends the sandbox."""
START = 30.0
"""Seconds within which a sandbox must have started."""
LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes: many times the largest case with its names."""
NO_SEED = bytes(16)
"""Zeros, as long as a seed."""
PRELOADED = ("numpy", "numpy.random")
"""Modules imported once, before the program, so that the cases do not each wait for them."""
BOOT = (
    "import json, sys; sys.path.append(sys.argv[1]); from inside.serve import serve; "
    "sys.path.pop(); serve(int(sys.argv[2]), json.load(open(int(sys.argv[3]))))"
)
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The whole environment, beside the seed of hashes: one thread for numpy."""


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
    """

    seconds: float = 10.0
    memory_mb: int = 2048
    file_mb: int = 16
    folder_mb: int = 64
    open_files: int = 64
    threads: int = 64

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (isfinite(value) and value > 0):
                raise InputError.of(name, value, "a finite number > 0")


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
    """Wall time, and processor time of the case alone."""
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
    """

    def __init__(
        self,
        program: str,
        limits: Limits | None = None,
        allow: Sequence[str] = (),
        enclosure: Enclosure | None = None,
        hash_seed: int = 0,
    ) -> None:
        self._program = program
        self._limits = limits or Limits()
        self._packages = find_packages(("numpy", *allow))
        self._preload = [name for name in (*PRELOADED, *allow) if name.split(".")[0] in program]
        self._enclosure = enclosure or best_enclosure()
        self._environment = ENVIRONMENT | {"PYTHONHASHSEED": str(hash_seed)}
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder: Path | None = None
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
        pipe = _put(control, json.dumps(question | {"program": self._program}).encode(), seed)
        text, ended = _read(pipe, until)
        status = _hear(control, until) if ended else None
        seconds = monotonic() - started
        if not isinstance(status, dict):
            self.close()
            return Reply(text, None, monotonic() >= until, seconds, 0.0)
        if status["touched"]:
            self.close()
        if not (status["entered"] or status["late"]):
            raise SandboxError(f"a case could not be enclosed: it ended with {status['code']}")
        late, overfull = status["late"], status["overfull"]
        return Reply(text, status["code"], late, seconds, status["cpu"], overfull, status["drew"])

    def close(self) -> None:
        """End every process of the sandbox, and leave no file behind."""
        if self._control:
            self._control.close()
            self._control = None
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._folder:
            with suppress(OSError):
                remove_folder(self._folder)
            self._folder = None

    def _ready(self) -> socket.socket:
        """Return the socket to a live sandbox; replace one that speaks between cases."""
        ended = self._process is None or self._process.poll() is not None
        if self._control and not ended and not _speaks(self._control.fileno(), 0):
            return self._control
        self.close()
        try:
            return self._start()
        except OSError as error:
            self.close()
            raise SandboxError(f"the sandbox did not start: {error}") from error

    def _start(self) -> socket.socket:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        behind_bubblewrap = self._enclosure is Enclosure.BUBBLEWRAP
        with theirs, tempfile.TemporaryFile() as options, tempfile.TemporaryFile() as complaints:
            command, places = self._bubblewrap() if behind_bubblewrap else self._landlock()
            own = {"preload": self._preload, "alone": behind_bubblewrap}
            options.write(json.dumps(places | own | asdict(self._limits)).encode())
            options.seek(0)
            files = (theirs.fileno(), options.fileno())
            self._process = subprocess.Popen(
                [*command, *map(str, files)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=files,
                start_new_session=True,
            )
            theirs.close()
            walls = _hear(self._control, monotonic() + START)
            if not isinstance(walls, list):
                complaints.seek(0)
                words = complaints.read().decode(errors="replace").strip()
                raise OSError(words[-500:] or "it gave no reason")
        if not behind_bubblewrap and "landlock" not in walls:
            raise OSError("nothing here can hide other files from a program; install bubblewrap")
        outer = ["bubblewrap", "namespaces"] if behind_bubblewrap else []
        self.walls = (*outer, *walls, "rlimits", "process group")
        return self._control

    def _bubblewrap(self) -> tuple[list[str], dict[str, Any]]:
        """Return the command to start, and the paths inside."""
        outside = bubblewrap(self._packages, self._limits.folder_mb)
        places = {"folder": f"{INSIDE}/work", "packages": f"{INSIDE}/packages", "readable": None}
        return [*outside, *python(), "-c", BOOT, f"{INSIDE}/code"], places

    def _landlock(self) -> tuple[list[str], dict[str, Any]]:
        """Make a folder to work in; return the command to start, and the paths."""
        self._folder = Path(tempfile.mkdtemp(prefix="colocate-"))
        work, packages = self._folder / "work", self._folder / "packages"
        work.mkdir()
        packages.mkdir()
        for name, path in self._packages.items():
            (packages / name).symlink_to(path)
        seen = [*readable(self._packages), str(packages)]
        places = {"folder": str(work), "packages": str(packages), "readable": seen}
        return [*python(), "-c", BOOT, str(OURS / "arena")], places


def _put(control: socket.socket, question: bytes, seed: bytes) -> int:
    """Send a question with the seed of its draws, and return the pipe for its answer."""
    receive, send = os.pipe()
    chance, fill = os.pipe()
    try:
        os.write(fill, seed)
        with tempfile.TemporaryFile() as file:
            file.write(question)
            file.flush()
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


def _hear(control: socket.socket, until: float) -> Any:
    """Return the next message of the sandbox; None if it is late or the sandbox has ended."""
    control.settimeout(max(until - monotonic(), 0.01))
    with suppress(OSError, ValueError):
        return json.loads(control.recv(4096))
    return None


def remove_folder(folder: Path) -> None:
    """Remove a folder and everything in it, however deep or closed, without following links."""
    waiting = [str(folder)]
    moved = 0
    while waiting:
        current = waiting.pop()
        for entry in list(os.scandir(current)):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                flat = str(folder / f".{moved}")  # no path gets longer than those at the top
                os.rename(entry.path, flat)
                waiting.append(flat)
                moved += 1
            else:
                os.remove(entry.path)
        if current != str(folder):
            os.rmdir(current)
    os.rmdir(folder)
