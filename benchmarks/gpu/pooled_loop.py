"""The open loop of an engine whose cache is a pool of blocks, with prompts first or in pieces."""

from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import NamedTuple

from benchmarks.gpu.ledger import Ledger
from benchmarks.gpu.loop import Record, wait_until


class Piece(NamedTuple):
    """Part of a prompt that a step reads: where it is kept, what was read before, and how much."""

    slot: int
    before: int
    tokens: int


class Work(NamedTuple):
    """What an engine can do, each time until the tokens are there."""

    step: Callable[[int], None]
    prefill: Callable[[int, int], None]
    mixed: Callable[[int, Sequence[Piece]], None]


def run_pooled(
    work: Work, record: Record, start: float, ledger: Ledger, budget: int | None
) -> Record:
    """Serve the schedule until its time is over.

    Parameters
    ----------
    work
        The engine.
    record
        An empty one of the schedule; it is filled.
    start
        Moment on `perf_counter` that all arrivals count from.
    ledger
        Of the engine's blocks, without any request.
    budget
        Tokens of a step, prompts in pieces among them. With None, a prompt is read whole, as soon
        as there is room for it, before further steps.
    """
    loop = _Loop(work, record, start, ledger)
    arrivals = [start + moment for moment in record.schedule.arrivals] + [inf]
    following, end = 0, start + record.seconds
    now = wait_until(start)
    while now < end:
        while arrivals[following] <= now:
            ledger.waiting.append(following)
            following += 1
        acted = loop.prompt_first(now) if budget is None else loop.mix(now, budget)
        if not acted:
            record.idle.append(wait_until(min(arrivals[following], end)) - now)
        now = perf_counter()
    record.sent_back.extend(ledger.sent_back)
    return record


class _Loop:
    """The engine between two acts."""

    def __init__(self, work: Work, record: Record, start: float, ledger: Ledger) -> None:
        self._work, self._record, self._start, self._ledger = work, record, start, ledger
        self._reading: int | None = None
        self._read = 0

    def prompt_first(self, now: float) -> bool:
        """Read the first prompt of the queue if there is room, else make a step."""
        ledger, record = self._ledger, self._record
        number = ledger.admit()
        if number is None:
            return self._step(now)
        record.admitted.setdefault(number, now - self._start)
        self._work.prefill(ledger.to_read(number), len(ledger.running))
        done = perf_counter()
        record.prefills.append(done - now)
        self._join([number], done)
        return True

    def mix(self, now: float, budget: int) -> bool:
        """Make a step of a budget of tokens: those that decode first, then prompts."""
        ledger, record = self._ledger, self._record
        if ledger.grow(self._reading):
            self._reading = None
        batch = len(ledger.running)
        pieces, whole = self._pieces(now, max(budget - batch, 1), batch)
        if not pieces:
            return self._step(now)
        self._work.mixed(batch, pieces)
        done = perf_counter()
        record.mixed.append((batch, sum(piece.tokens for piece in pieces), done - now))
        self._finish(ledger.step(), done)
        self._join(whole, done)
        return True

    def _pieces(self, now: float, left: int, batch: int) -> tuple[list[Piece], list[int]]:
        """Return the pieces of prompts that a step reads, and the requests that it reads whole."""
        ledger = self._ledger
        pieces: list[Piece] = []
        whole: list[int] = []
        while left > 0:
            if self._reading is None:
                self._reading, self._read = ledger.admit(len(whole)), 0
            if self._reading is None:
                break
            self._record.admitted.setdefault(self._reading, now - self._start)
            tokens = min(left, ledger.to_read(self._reading) - self._read)
            pieces.append(Piece(batch + len(whole), self._read, tokens))
            self._read += tokens
            left -= tokens
            if self._read == ledger.to_read(self._reading):
                whole.append(self._reading)
                self._reading = None
        return pieces, whole

    def _step(self, now: float) -> bool:
        ledger, record = self._ledger, self._record
        ledger.grow()
        batch = len(ledger.running)
        if not batch:
            return False
        self._work.step(batch)
        done = perf_counter()
        record.steps.append(done - now)
        record.batches.append(batch)
        self._finish(ledger.step(), done)
        return True

    def _join(self, numbers: Sequence[int], done: float) -> None:
        for number in numbers:
            self._record.first.setdefault(number, done - self._start)
            if self._ledger.join(number):
                self._finish([number], done)

    def _finish(self, numbers: Sequence[int], done: float) -> None:
        self._record.finished.update(dict.fromkeys(numbers, done - self._start))
