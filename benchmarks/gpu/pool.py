"""Resident engines: each has a process that starts once and serves all readings of a mode."""

import multiprocessing
import os
from collections.abc import Iterable
from dataclasses import asdict
from time import perf_counter

from benchmarks.gpu.plan import Member, Reading
from benchmarks.gpu.process import serve

AHEAD = 0.3
"""Seconds from the command to go until all members of a group start."""
PATIENCE = 120
"""Seconds for an engine to build, to prepare or to answer after its reading is over."""

Answer = dict[str, object]


class EngineFailedError(Exception):
    """An engine answered with an error, died or was silent for too long."""


class Resident:
    """An engine in a process of its own."""

    def __init__(self, model: str, device: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.model, self.device, self.failed = model, device, False
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, model, device), daemon=True)
        self._process.start()
        other.close()

    def ask(self, **command: object) -> None:
        """Send a command; `hear` gives the answer."""
        try:
            self._pipe.send(command)
        except OSError as error:
            self.failed = True
            raise EngineFailedError(f"{self.model}: the process is gone") from error

    def hear(self, seconds: float = 0.0) -> Answer:
        """Wait for an answer, `seconds` longer than for a quick one."""
        try:
            if not self._pipe.poll(seconds + PATIENCE):
                raise TimeoutError(f"no answer within {seconds + PATIENCE} s")
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self.failed = True
            raise EngineFailedError(f"{self.model}: {str(error) or 'the process died'}") from error
        if "error" in answer:
            self.failed = True
            raise EngineFailedError(f"{self.model}: {answer['error']}")
        return answer

    def dismiss(self) -> None:
        """Ask the engine to leave once its work is done."""
        try:
            self._pipe.send({"do": "leave"})
        except OSError:
            return

    def wait_gone(self) -> None:
        """Wait until the process has left; only one that hangs is ended."""
        self._process.join(30)
        if self._process.is_alive():
            print(f"{self.model} does not leave and is ended", flush=True)
            self._process.terminate()
            self._process.join(10)


class Pool:
    """All resident engines of one mode."""

    def __init__(self, engines: dict[str, int], device: str) -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        models = [model for model, count in engines.items() for _ in range(count)]
        self._device = device
        self.residents = [Resident(model, device) for model in models[:1]]
        self.introductions = [self._heard(self.residents[0])]
        self.residents += [Resident(model, device) for model in models[1:]]
        self.introductions += [self._heard(resident) for resident in self.residents[1:]]

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *failure: object) -> None:
        for resident in self.residents:
            resident.dismiss()
        for resident in self.residents:
            resident.wait_gone()

    def read(self, reading: Reading) -> list[Answer]:
        """Run a group side by side; return the figures of its members in their order."""
        group = self._group(reading.members)
        for number, (member, resident) in enumerate(zip(reading.members, group, strict=True)):
            resident.ask(
                do="prepare",
                member=asdict(member),
                seconds=reading.seconds,
                seed=[reading.drawn_from, number],
            )
            resident.hear()
        start = perf_counter() + AHEAD
        return _all_heard(group, start, reading.seconds + AHEAD)

    def read_alone(self, model: str) -> Answer:
        """Time one engine of the model while all others are idle."""
        resident = next(one for one in self.residents if one.model == model)
        resident.ask(do="lone")
        return resident.hear()

    def replace_failed(self) -> None:
        """Start new engines for those that failed."""
        for place, resident in enumerate(self.residents):
            if resident.failed:
                resident.dismiss()
                resident.wait_gone()
                self.residents[place] = Resident(resident.model, self._device)
                self._heard(self.residents[place])

    def _heard(self, resident: Resident) -> Answer:
        """Return an introduction; an engine that could not be built is no reason to stop."""
        try:
            return {"model": resident.model, **resident.hear()}
        except EngineFailedError as error:
            return {"model": resident.model, "error": str(error)}

    def _group(self, members: Iterable[Member]) -> list[Resident]:
        """Choose an engine for every member; those that need no model take what is left."""
        free = [resident for resident in self.residents if not resident.failed]
        chosen: dict[int, Resident] = {}
        for number, member in sorted(enumerate(members), key=lambda item: item[1].model is None):
            fits = [one for one in free if member.model in (None, one.model)]
            if not fits:
                raise EngineFailedError(f"no engine of {member.model or 'any model'} is left")
            chosen[number] = fits[0]
            free.remove(fits[0])
        return [chosen[number] for number in sorted(chosen)]


def _all_heard(group: list[Resident], start: float, seconds: float) -> list[Answer]:
    """Let all go; hear every one, also after another failed: none is left in mid-work."""
    answers, failures, gone = [], [], []
    for resident in group:
        try:
            resident.ask(do="go", start=start)
            gone.append(resident)
        except EngineFailedError as error:
            failures.append(str(error))
    for resident in gone:
        try:
            answers.append(resident.hear(seconds))
        except EngineFailedError as error:
            failures.append(str(error))
    if failures:
        raise EngineFailedError("\n".join(failures))
    return answers
