"""The user's command, which carries out one step.

It is called with one argument, the path of a file with the step as JSON, and with the main facts
in its environment. Exit code 0 means that the step is done. A step may come again after a fault,
so the command must not mind if it is done already.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from colocate.errors import InputError, OutputError
from colocate.follow.left_over import end_group, note_process
from colocate.outputs.text.sanitise import visible
from colocate.outputs.text.whole_files import write_text
from colocate.replan.steps.step import EngineStep

MOST_LETTERS = 300
"""Letters of what a command said that a message repeats: its last lines."""


@dataclass(frozen=True)
class StepCommand:
    """Starts the command for a step, and waits for it.

    Parameters
    ----------
    command
        As in a shell, without its operators.
    folder
        Where files about steps are written.
    most_seconds
        After which a step has failed, and all processes of the command are ended.
    say
        Gets a sentence about every step that failed.
    """

    command: str
    folder: Path
    most_seconds: float
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError.of("run", self.command, f"a command: {error}") from None
        if not (words and words[0]):
            raise InputError.of("run", self.command, "a command")
        if which(words[0]) is None:
            raise InputError.of("run", self.command, f"a command; there is no program {words[0]!r}")

    def __call__(self, step: EngineStep) -> bool | None:
        """Carry a step out; return whether the command says it is done, None if it never began."""
        file, log, note = (
            self.folder / f"step-{step.number}.{kind}" for kind in ("json", "log", "pid")
        )
        try:
            write_text(file, json.dumps(step.as_dict(), indent=2))
            with log.open("wb") as said:
                process = subprocess.Popen(
                    [*shlex.split(self.command), str(file)],
                    env=os.environ | _facts(step),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except (OSError, OutputError) as error:
            self.say(f"{_named(step)}: the command does not start, nothing was done: {error}")
            return None
        note_process(note, process.pid)
        done = self._ended_well(step, process, log)
        with suppress(OSError):
            note.unlink(missing_ok=True)
        return done

    def _ended_well(self, step: EngineStep, process: "subprocess.Popen[bytes]", log: Path) -> bool:
        """Wait for a command; return whether it says that its step is done."""
        try:
            code = process.wait(self.most_seconds)
        except subprocess.TimeoutExpired:
            end_group(process.pid, self.say)
            process.wait()
            self.say(f"{_named(step)}: the command was ended after {self.most_seconds:g} s")
            return False
        if code != 0:
            self.say(f"{_named(step)}: the command ended with {code}: {_last_words(log)}")
        return code == 0


def _last_words(log: Path) -> str:
    try:
        with log.open("rb") as said:
            said.seek(max(log.stat().st_size - 4 * MOST_LETTERS, 0))
            words = said.read().decode(errors="replace").split()
    except OSError as error:
        return f"what it said cannot be read: {error.strerror}"
    return visible(" ".join(words))[-MOST_LETTERS:]


def _facts(step: EngineStep) -> dict[str, str]:
    return {
        "COLOCATE_STEP": step.kind.value,
        "COLOCATE_MODEL": step.engine.model,
        "COLOCATE_GPUS": ",".join(step.engine.gpus),
        "COLOCATE_CACHE_GB": repr(step.engine.cache_gb),
    }


def _named(step: EngineStep) -> str:
    return f"step {step.number}, {step.kind.value} {step.engine.model}"
