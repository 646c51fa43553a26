"""A place where a program from outside can run and reach nothing: it is asked, and it answers.

The parent keeps instances, optimum and checker to itself. A sandbox is started for every program;
in it, one process of ours forks for each case (`inside.serve`). Questions go in as a file, answers
come out of a pipe of their own, as plain data that the parent does not trust.
"""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

from colocate.errors import InputError, SandboxError

GRACE = 2.0
"""Seconds that the sandbox gets beyond a program's own limit before it is ended from outside."""
START = 30.0
"""Seconds within which a sandbox must have started."""
LONGEST_ANSWER = 8 * 1024 * 1024
SYSTEM_LIBRARIES = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
PRELOADED = ("numpy", "numpy.random")
"""What is imported once, before the program: by itself, every case would wait for it."""
NOBODY = "65534"
BOOT = (
    "import json, sys; sys.path.append(sys.argv[1]); from inside.serve import serve; "
    "serve(int(sys.argv[2]), json.loads(sys.argv[3]))"
)
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""The whole environment: the same order of sets in every run, and one thread for numpy."""


class Enclosure(StrEnum):
    """What keeps a program from the files and processes of the machine."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"


@dataclass(frozen=True)
class Limits:
    """What a program may use for one case."""

    seconds: float = 10.0
    memory_mb: int = 2048
    file_mb: int = 16
    open_files: int = 64
    threads: int = 64

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0:
                raise InputError(f"{name}={value!r}, must be > 0")


@dataclass(frozen=True)
class Reply:
    """How a case ended, and what the program said."""

    text: bytes
    code: int | None
    """Exit code, negative for a signal; None if the sandbox itself was ended."""
    late: bool
    seconds: float
    cpu_seconds: float


@cache
def best_enclosure() -> Enclosure:
    """Return bubblewrap where it is installed and works, and Landlock where not."""
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    with suppress(OSError, subprocess.TimeoutExpired):
        if subprocess.run(command, capture_output=True, check=False, timeout=10).returncode == 0:
            return Enclosure.BUBBLEWRAP
    return Enclosure.LANDLOCK


class Sandbox:
    """Where one program runs. Use it as a context, so that it ends with it.

    Parameters
    ----------
    program
        The source text.
    limits
        What it may use for a case.
    allow
        Packages that it may import beyond the standard library and numpy.
    enclosure
        The walls; by default the best that there are.
    """

    def __init__(
        self,
        program: str,
        limits: Limits | None = None,
        allow: Sequence[str] = (),
        enclosure: Enclosure | None = None,
    ) -> None:
        self._program = program
        self._limits = limits or Limits()
        self._packages = {name: found for p in ("numpy", *allow) for name, found in _package(p)}
        self._preload = [name for name in (*PRELOADED, *allow) if name.split(".")[0] in program]
        self._enclosure = enclosure or best_enclosure()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder: Path | None = None
        self.walls: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, question: dict[str, Any]) -> Reply:
        """Put a question to a fresh process of the program, and wait for its answer."""
        control = self._control or self._start()
        started = monotonic()
        until = started + self._limits.seconds + GRACE
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(question | {"program": self._program}).encode())
            file.flush()
            receive, send = os.pipe()
            try:
                socket.send_fds(control, [b"{}"], [file.fileno(), send])
            except OSError:
                os.close(receive)
                self.close()
                return Reply(b"", None, False, monotonic() - started, 0.0)
            finally:
                os.close(send)
        text = _read_to_end(receive, until)
        answered = monotonic()
        status = None if text is None else self._status(control, until)
        if status is None:
            self.close()
            late = monotonic() >= until
            return Reply(text or b"", None, late, answered - started, 0.0)
        return Reply(text or b"", status["code"], status["late"], answered - started, status["cpu"])

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
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _status(self, control: socket.socket, until: float) -> dict[str, Any] | None:
        """Return how the case ended; None if the sandbox does not say so in time."""
        control.settimeout(max(until - monotonic(), 0.01))
        with suppress(OSError, ValueError):
            message = control.recv(4096)
            if message:
                return dict(json.loads(message))
        return None

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = Path(tempfile.mkdtemp(prefix="colocate-"))
        command = self._command(theirs.fileno())
        with tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                command,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            theirs.close()
            self._control = ours
            inner = self._status_of_start(ours)
            if inner is None:
                self.close()
                complaints.seek(0)
                words = complaints.read().decode(errors="replace").strip()
                raise SandboxError(f"the sandbox did not start: {words[-500:] or 'no word of why'}")
        self.walls = _walls(self._enclosure, inner)
        return ours

    def _status_of_start(self, control: socket.socket) -> list[str] | None:
        control.settimeout(START)
        with suppress(OSError, ValueError):
            message = control.recv(4096)
            if message:
                return list(json.loads(message))
        return None

    def _command(self, control: int) -> list[str]:
        assert self._folder is not None
        python = [os.path.realpath(sys.executable), "-s", "-S", "-P", "-c", BOOT]
        code = Path(__file__).parent
        if self._enclosure is Enclosure.BUBBLEWRAP:
            options = self._options("/work", "/packages", None)
            outside = _bubblewrap(code / "inside", self._packages, self._limits.file_mb)
            return [*outside, *python, "/code", str(control), options]
        work, packages = self._folder / "work", self._folder / "packages"
        work.mkdir()
        packages.mkdir()
        for name, path in self._packages.items():
            (packages / name).symlink_to(path)
        readable = [*_standard_library(), *SYSTEM_LIBRARIES, *DEVICES, str(packages)]
        readable += [str(path) for path in self._packages.values()]
        options = self._options(str(work), str(packages), readable)
        return [*python, str(code), str(control), options]

    def _options(self, folder: str, packages: str, readable: list[str] | None) -> str:
        own = {"folder": folder, "packages": packages, "preload": self._preload}
        return json.dumps(
            own | {"readable": readable, "alone": readable is None} | asdict(self._limits)
        )


def _read_to_end(pipe: int, until: float) -> bytes | None:
    """Read all there is; None if it does not end in time or is too long."""
    parts: list[bytes] = []
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while sum(map(len, parts)) <= LONGEST_ANSWER:
            ready, _, _ = select.select([file], [], [], max(until - monotonic(), 0.0))
            part = file.read(1 << 16) if ready else None
            if part is None:
                return None
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None


def _package(name: str) -> list[tuple[str, Path]]:
    """Return what must be seen to import a package: its folder, and that of its libraries."""
    spec = find_spec(name) if name.isidentifier() and name != "colocate" else None
    if spec is None:
        raise InputError(f"allow={name!r}, must be an installed package other than colocate")
    if not spec.submodule_search_locations:
        return [(Path(spec.origin).name, Path(spec.origin))] if spec.origin else []
    folder = Path(next(iter(spec.submodule_search_locations)))
    libraries = folder.with_name(f"{name}.libs")
    return [(name, folder), *([(libraries.name, libraries)] if libraries.is_dir() else [])]


def _standard_library() -> list[str]:
    """Return what Python itself needs to be seen; not where further packages are installed."""
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    shared = Path(
        sysconfig.get_config_var("LIBDIR") or "/", sysconfig.get_config_var("LDLIBRARY") or ""
    )
    entries = [
        entry.path
        for folder in folders
        for entry in os.scandir(folder)
        if entry.name not in ("site-packages", "dist-packages")
    ]
    return [
        os.path.realpath(sys.executable),
        *entries,
        *([str(shared)] if shared.is_file() else []),
    ]


def _bubblewrap(inside: Path, packages: dict[str, Path], file_mb: int) -> list[str]:
    command = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--uid", NOBODY, "--gid", NOBODY]
    command += ["--cap-drop", "ALL", "--die-with-parent"]
    for path in SYSTEM_LIBRARIES:
        command += ["--ro-bind-try", path, path]
    for path in _standard_library():
        command += ["--ro-bind", path, path]
    for path in DEVICES:
        command += ["--dev-bind-try", path, path]
    for foreign in ("/usr/lib/python3", "/usr/lib/python3/dist-packages"):
        if Path(foreign).is_dir():
            command += ["--tmpfs", foreign, "--remount-ro", foreign]
            break
    for name, folder in packages.items():
        command += ["--ro-bind", str(folder), f"/packages/{name}"]
    command += ["--ro-bind", str(inside), "/code/inside"]
    command += ["--size", str(4 * file_mb * 1024 * 1024), "--tmpfs", "/work"]
    return [*command, "--remount-ro", "/", "--"]


def _walls(enclosure: Enclosure, inner: Sequence[str]) -> tuple[str, ...]:
    outer = ["bubblewrap", "namespaces"] if enclosure is Enclosure.BUBBLEWRAP else []
    return (*outer, *inner, "rlimits", "process group")
