"""The trusted scorer of a task from a folder, in a process of its own."""

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import IO, Any
from weakref import finalize

from colocate.arena.case_verdict import Failure
from colocate.arena.tasks import scoring
from colocate.errors import TaskError

LONGEST_REPLY = 64 * 1024 * 1024
"""Bytes: more than all cases of any task."""
GRACE = 5.0
"""Seconds after which a scorer without a parent ends itself, beyond its own limit."""
REFUSED = (Failure.NO_ANSWER, Failure.NOT_FINITE, Failure.INVALID)
"""How an answer can fail before it has a score."""


class Scorer:
    """Makes the cases of a task and scores answers. Any number of threads may ask.

    The process starts when it is first needed, and again after it has failed.

    Parameters
    ----------
    path
        The file of the scorer.
    seconds
        The limit for one call.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path = path.resolve()
        self._seconds = seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._halts = 0

    def cases(self, seed: int) -> list[Any]:
        """Return the cases that the scorer makes of a seed, as plain data.

        Raises
        ------
        TaskError
            If it fails.
        """
        found = self._asked({"seed": seed}).get("cases")
        return found if isinstance(found, list) else []

    def score(self, arguments: list[Any], text: str) -> float | tuple[Failure, str]:
        """Return the score of an answer, or how it fails and why.

        Parameters
        ----------
        arguments
            What the program got.
        text
            Its answer as JSON, which nobody has parsed yet: the process of the scorer does.

        Raises
        ------
        TaskError
            If the scorer fails; that is no fault of the answer.
        """
        found = self._asked({"arguments": arguments, "text": text})
        for failure in REFUSED:
            if failure.value in found:
                return failure, str(found[failure.value]) or "the scorer says so"
        return float(found["value"])

    def halt(self) -> None:
        """End the calls that somebody waits for; the next one starts the process again."""
        self._halts += 1
        if process := self._process:
            process.kill()

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        line = json.dumps(request, allow_nan=False).encode() + b"\n"
        halts = self._halts
        with self._lock:
            if self._halts > halts:
                raise self._failed("the run was ended")
            text = self._exchanged(line)
            if not text.endswith(b"\n"):
                self._end()
                raise self._failed("it ended without a reply")
        reply = json.loads(text)
        if "fault" in reply:
            raise self._failed(reply["fault"])
        return dict(reply)

    def _exchanged(self, line: bytes) -> bytes:
        try:
            process = self._process or self._started()
            requests, replies = process.stdin, process.stdout
            assert requests is not None
            assert replies is not None
            requests.write(line)
            requests.flush()
            return _line(replies, monotonic() + self._seconds)
        except TimeoutError as error:
            self._end()
            raise self._failed(f"it took longer than {self._seconds:g} s") from error
        except OSError as error:
            self._end()
            raise self._failed(f"it ended itself: {error}") from error

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-B", "-P", scoring.__file__, str(self.path)]
        self._process = subprocess.Popen(
            [*command, str(self._seconds + GRACE)],
            env=os.environ | {"PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.path.parent,
            start_new_session=True,
        )
        finalize(self, _ended, self._process)
        return self._process

    def _end(self) -> None:
        if self._process:
            _ended(self._process)
        self._process = None

    def _failed(self, reason: str) -> TaskError:
        return TaskError(
            f"{self.path}: the scorer failed, which is no fault of a program: {reason}"
        )


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()


def _line(replies: IO[bytes], until: float) -> bytes:
    """Read one line, no later than until a moment; what came so far if the process has ended."""
    parts: list[bytes] = []
    size = 0
    waiting = select.poll()
    waiting.register(replies, select.POLLIN)
    while size <= LONGEST_REPLY:
        if not waiting.poll(1000 * max(until - monotonic(), 0)):
            raise TimeoutError
        part = os.read(replies.fileno(), 1 << 16)
        parts.append(part)
        size += len(part)
        if not part or part.endswith(b"\n"):
            break
    return b"".join(parts)
