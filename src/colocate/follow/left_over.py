"""Commands that an earlier `colocate watch` started, and that outlived it.

A watch that is killed leaves the command of its step running. Until that has ended, nobody knows
what it will still do, so no other step may begin. A note beside the step tells its process, and by
the time of its start it is told from a later process of the same number.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import monotonic

NOTES = "step-*.pid"
START_TIME = 19
"""The field of `/proc/PID/stat` with the start of a process, counted after its name."""
LOOKED_AGAIN = 0.2
"""Seconds between two looks."""


def note_process(note: Path, pid: int) -> None:
    """Write down which process carries a step out; where no /proc is, there is nothing to write."""
    started = _start_of(pid)
    if started is not None:
        with suppress(OSError):
            note.write_text(f"{pid} {started}", encoding="ascii")


def wait_for_left_over(
    folder: Path, most_seconds: float, say: Callable[[str], None], stop: Event
) -> None:
    """Wait until no command of an earlier watch runs; end those that take too long.

    Parameters
    ----------
    folder
        With the notes on processes.
    most_seconds
        After which all processes of a command are ended.
    say
        Gets a sentence where there is something to wait for, or to end.
    stop
        Ends the waiting, with nothing done.
    """
    running = _running(folder)
    if not running:
        return
    say(f"waiting for {_processes(running)} of an earlier watch, at most {most_seconds:g} s")
    until = monotonic() + most_seconds
    while running and not stop.wait(LOOKED_AGAIN):
        if monotonic() > until:
            say(f"ending {_processes(running)} of an earlier watch after {most_seconds:g} s")
            for pid in running:
                end_group(pid, say)
            until += most_seconds
        running = _running(folder)


def end_group(pid: int, say: Callable[[str], None]) -> None:
    """End all processes of a command, or say that another user's cannot be ended.

    Parameters
    ----------
    pid
        The first of them.
    say
        Gets that sentence.
    """
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        say(f"process {pid} belongs to another user and cannot be ended: end it yourself")


def _running(folder: Path) -> list[int]:
    """Return the processes that notes tell and that run, and remove all other notes."""
    found = []
    for note in sorted(folder.glob(NOTES)):
        pid = _noted(note)
        if pid is None:
            with suppress(OSError):
                note.unlink()
        else:
            found.append(pid)
    return found


def _noted(note: Path) -> int | None:
    """Return the process that a note tells, None if it does not run any more."""
    try:
        pid, started = map(int, note.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and _start_of(pid) == started else None


def _start_of(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine did; None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[START_TIME - 1])


def _processes(pids: list[int]) -> str:
    numbers = " and ".join(map(str, pids))
    return f"process{'es' if len(pids) > 1 else ''} {numbers}, the command of a step"
