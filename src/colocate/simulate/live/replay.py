"""Replay requests on a fleet that changes: engines are loaded, closed and removed.

An engine holds its memory while it loads, and its GPUs are a little slower meanwhile. It takes
requests when it is ready, and none any more when it is closed. Its requests go on until it is gone;
those that are left then go back to the router, and are done anew. Requests to a model of which no
engine takes any wait at the router.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.instance import Floats
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number, checked_seed
from colocate.simulate.demand.reader import StreamReader
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.accounts import in_work
from colocate.simulate.kernel.events import fail
from colocate.simulate.kernel.lives import hand_back, look_again
from colocate.simulate.live.beginning import beginning, number_of, parts_of_life
from colocate.simulate.live.counts import RequestCounts, counts_of
from colocate.simulate.live.failures import ReplicaFailure
from colocate.simulate.live.memory import give_memory, lacks_memory, take_memory
from colocate.simulate.live.rows import (
    list_engines,
    regrouped,
    slowed,
    with_engine,
    with_waiting_room,
    without_members,
)
from colocate.simulate.options import SimulateOptions
from colocate.simulate.replay import RequestReplay, Watch, check_requests

LOAD_SLOWDOWN = 0.02
"""How much longer the engines of a GPU take while it loads weights: these come over PCIe with up to
64 GB/s, a fiftieth of what the memory of an H100 can do."""
AGAIN = 0.05
"""Seconds, about a step, after which a loaded engine looks again whether requests gave way."""
OPEN, CLOSE, REMOVE, LOAD = 1, 2, 3, 4
"""Turns of events at one moment: traffic moves before memory does, and memory is given back before
it is taken."""
NOT_YET = -1
"""The row of an engine that has none yet."""


@dataclass(frozen=True)
class _Turn:
    """Something that is to happen to an engine."""

    turn: int
    number: int

    def __call__(self, replay: RequestReplay, now: float) -> None:
        assert isinstance(replay, LiveReplay), "only a live replay plans these"
        replay.happen(self.turn, self.number, now)


class LiveReplay(RequestReplay):
    """A replay that somebody may steer: run it for a while, look, change engines, go on.

    Parameters
    ----------
    problem, lives
        The models and GPUs, and the engines that are known at the beginning.
    pieces
        The requests, for `run`.
    options, seed, watch
        As for `simulate_lives`.
    load_slowdown
        How much longer the engines of a GPU take while it loads weights.
    """

    def __init__(
        self,
        problem: Problem,
        lives: Iterable[EngineLife],
        pieces: Iterable[RequestStream] = (),
        options: SimulateOptions | None = None,
        seed: int = 0,
        watch: Watch | None = None,
        load_slowdown: float = LOAD_SLOWDOWN,
    ) -> None:
        self._options, self._reader = options or SimulateOptions(), StreamReader(pieces)
        check_requests(problem)
        if self._options.wake_seconds is not None:
            found, advice = "has no meaning where engines come and go", "load them at a moment"
            raise InputError(Fault(found, advice=advice, path=("wake_seconds",)))
        self._slowdown = checked_number(load_slowdown, ("load_slowdown",))
        self.lives = list(lives)
        """All engines so far, by number."""
        models = [number_of(problem, life.model) for life in self.lives]
        order = sorted(range(len(models)), key=lambda number: models[number])
        first = [n for n in order if self.lives[n].ready <= 0.0 < self.lives[n].gone]
        there = [self.lives[number] for number in first]
        super().__init__(
            problem, beginning(problem, there, self._options, checked_seed(seed)), watch
        )
        self._alone: Floats = self.state.speeds[:, : columns.LAYERS].copy()
        self._loading: set[int] = set()
        self._row = [NOT_YET] * len(self.lives)
        self._open: list[list[int]] = [[] for _ in problem.models]
        self._waiting_room: dict[int, int] = {}
        for row, number in enumerate(first):
            self._row[number] = row
            self._open[models[number]].append(number)
        for number in range(len(models)):
            self._plan(number)
        for failure in self._options.failures:
            self.at(failure.time, ReplicaFailure(number_of(problem, failure.model), failure))
        self._list()

    def run(self, until: float) -> None:
        """Replay the requests up to a moment, and everything else that happens."""
        for piece in self._reader.until(until):
            self.take(piece)

    def add(self, life: EngineLife) -> int:
        """Add an engine that comes now or later, and return its number."""
        if life.begin < self.seconds:
            raise InputError.of("loading", life.begin, f"at least {self.seconds:g}, which is now")
        parts_of_life(self.problem, life)
        self.lives.append(life)
        self._row.append(NOT_YET)
        self._plan(len(self.lives) - 1)
        self._list()
        return len(self.lives) - 1

    def end(self, number: int, closed: float, gone: float) -> None:
        """Close an engine, and remove it.

        Parameters
        ----------
        number
            Of the engine.
        closed, gone
            When it takes no more requests, and when it gives its memory back; not before now.
        """
        if closed < self.seconds:
            raise InputError.of("closed", closed, f"at least {self.seconds:g}, which is now")
        life = self.lives[number]
        ready = min(life.ready, closed)
        begin = min(life.begin, ready)
        self.lives[number] = replace(life, loading=begin, ready=ready, closed=closed, gone=gone)
        self._plan_end(number)

    def fail(self, number: int, seconds: float) -> None:
        """Let an engine fail now; one that is not ready yet is so later.

        Parameters
        ----------
        number, seconds
            Which engine, and for how long.
        """
        life, row = self.lives[number], self._row[number]
        if life.ready > self.seconds:
            ready = life.ready + seconds
            closed, gone = max(life.closed, ready), max(life.gone, ready)
            self.lives[number] = replace(life, ready=ready, closed=closed, gone=gone)
            self.at(ready, _Turn(OPEN, number), OPEN)
            self._plan_end(number)
        elif life.gone > self.seconds:
            fail(self.state, row, self.seconds, seconds)

    def drained(self, number: int) -> bool:
        """Return whether an engine has no request now."""
        row = self._row[number]
        if row == NOT_YET:
            return True
        return bool(self.state.engines[row, columns.WAITING] + in_work(self.state, row) == 0)

    def is_open(self, number: int) -> bool:
        """Return whether an engine takes requests now."""
        return number in self._open[number_of(self.problem, self.lives[number].model)]

    def counts(self) -> RequestCounts:
        """Return what has happened to the requests of each model so far."""
        return counts_of(self.state)

    def lifetimes(self) -> Floats:
        """Return for how long every engine has been there, of the time that counts."""
        found = np.zeros(len(self.state.engines))
        warm_up = float(self.state.spans[columns.WARM_UP])
        for life, row in zip(self.lives, self._row, strict=True):
            if row != NOT_YET:
                found[row] = min(life.gone, self.seconds) - max(life.begin, warm_up, 0.0)
        return np.maximum(found, 0.0)

    def happen(self, turn: int, number: int, now: float) -> None:
        """Let something happen to an engine, unless it was put off or the engine has gone.

        Parameters
        ----------
        turn, number, now
            OPEN, CLOSE, REMOVE or LOAD; which engine; and when.
        """
        life = self.lives[number]
        moments = {OPEN: life.ready, CLOSE: life.closed, REMOVE: life.gone, LOAD: life.begin}
        if now < moments[turn] or (turn != REMOVE and life.gone <= now):
            return
        self.go_on(now)
        {OPEN: self._begin, CLOSE: self._close, REMOVE: self._remove, LOAD: self._load}[turn](
            number, now
        )

    def _plan(self, number: int) -> None:
        if self._row[number] == NOT_YET:
            self.at(max(self.lives[number].begin, 0.0), _Turn(LOAD, number), LOAD)
        self._plan_end(number)

    def _plan_end(self, number: int) -> None:
        life = self.lives[number]
        if life.closed < inf:
            self.at(max(life.closed, 0.0), _Turn(CLOSE, number), CLOSE)
        if life.gone < inf:
            self.at(max(life.gone, 0.0), _Turn(REMOVE, number), REMOVE)

    def _load(self, number: int, now: float) -> None:
        """Let an engine take its memory."""
        life = self.lives[number]
        parts = parts_of_life(self.problem, life)
        state = with_engine(self.state, self.problem, parts, life.cache_gb, self._options)
        row = len(state.engines) - 1
        state.speeds[row, columns.COUNTED] = now
        take_memory(state, self.problem, row, now)
        more = state.speeds[len(self._alone) :, : columns.LAYERS]
        self._alone = np.concatenate([self._alone, more])
        self._row[number] = row
        self._loading.add(row)
        self.state = regrouped(state)
        slowed(self.state, self._alone, self._loading, self._slowdown)
        if life.ready <= now:
            self._begin(number, now)
        else:
            self.at(life.ready, _Turn(OPEN, number), OPEN)

    def _begin(self, number: int, now: float) -> None:
        """Let an engine take requests."""
        row, model = self._row[number], number_of(self.problem, self.lives[number].model)
        if row not in self._loading or self.lives[number].closed <= now:
            return
        if lacks_memory(self.state, row):
            self.at(now + AGAIN, _Turn(OPEN, number), OPEN)
            return
        self._loading.remove(row)
        slowed(self.state, self._alone, self._loading, self._slowdown)
        self._open[model] = sorted([*self._open[model], number])
        self._list()
        if model in self._waiting_room:
            hand_back(self.state, self._waiting_room[model], now)

    def _close(self, number: int, now: float) -> None:
        """Let an engine take no more requests."""
        numbers = self._open[number_of(self.problem, self.lives[number].model)]
        if number in numbers:
            numbers.remove(number)
            self._list()

    def _remove(self, number: int, now: float) -> None:
        """Let an engine give its memory back."""
        self._close(number, now)
        row = self._row[number]
        if row == NOT_YET or not self.state.engines[row, columns.PARTS]:
            return
        hand_back(self.state, row, now)
        give_memory(self.state, row)
        gpus = without_members(self.state, row)
        self._loading.discard(row)
        self.state = regrouped(self.state)
        slowed(self.state, self._alone, self._loading, self._slowdown)
        for gpu in gpus.tolist():
            look_again(self.state, gpu, now)

    def _list(self) -> None:
        """Tell the router which engines take requests, and where requests wait if none does."""
        rows = [[self._row[number] for number in numbers] for numbers in self._open]
        for model in sorted({number_of(self.problem, life.model) for life in self.lives}):
            if not rows[model]:
                if model not in self._waiting_room:
                    self.state = with_waiting_room(self.state, model)
                    self._waiting_room[model] = len(self.state.engines) - 1
                rows[model] = [self._waiting_room[model]]
        list_engines(self.state, rows)
