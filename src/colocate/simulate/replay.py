"""A simulation under way: requests arrive, things happen between them, and time goes on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import isfinite

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.instance import Floats
from colocate.problem.problem import Problem
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.events import close, fail, serve
from colocate.simulate.kernel.state import SimulationState, Small
from colocate.simulate.options import EngineFailure
from colocate.simulate.outcome import outcome_of
from colocate.simulate.request_rows import with_more_rows
from colocate.simulate.result import Simulation

AT_ONCE = 8192
"""Requests between two calls of `watch`: some hundredths of a second of work."""

NOBODY_ASKS = RequestStream(np.empty(0), *(np.empty(0, np.int32),) * 3)

Watch = Callable[[float], None]


def check_requests(problem: Problem) -> None:
    """Check that a problem says what its models are asked."""
    if not problem.has_requests:
        advice = "give prompt_tokens, output_tokens, a rate and a known kind of GPU"
        raise InputError(Fault("has no requests to simulate", advice=advice))


@dataclass(frozen=True)
class FailureEvent:
    """An engine fails, and comes back by itself."""

    engine: int
    seconds: float

    def __call__(self, replay: "RequestReplay", now: float) -> None:
        """Let it happen."""
        fail(replay.state, self.engine, now, self.seconds)


Event = Callable[["RequestReplay", float], None]
"""What happens at a moment; all requests that arrived before have been replayed."""


class RequestReplay:
    """A simulation under way.

    Parameters
    ----------
    problem
        The models and the GPUs.
    state
        Its arrays, before the first request.
    watch
        Called from time to time with the seconds simulated so far.
    """

    def __init__(
        self, problem: Problem, state: SimulationState, watch: Watch | None = None
    ) -> None:
        self.problem, self.state = problem, state
        self.seconds = 0.0
        """How long was simulated."""
        self._watch = watch
        self._events: list[tuple[float, int, int, Event]] = []
        self._planned = 0

    def at(self, moment: float, event: Event, turn: int = 0) -> None:
        """Let something happen at a moment.

        Parameters
        ----------
        moment, event
            When, and what.
        turn
            Of events at one moment, that with the lowest turn is first; then in the order of these
            calls.
        """
        heappush(self._events, (moment, turn, self._planned, event))
        self._planned += 1

    def engine_of(self, failure: EngineFailure) -> int:
        """Return the engine that a failure is about."""
        names = [model.name for model in self.problem.models]
        if failure.model not in names:
            raise InputError.of("failures", failure.model, "the name of a model")
        row = self.state.models[names.index(failure.model)]
        if not 0 <= failure.replica < row[columns.ENGINES] or not isfinite(failure.time):
            expected = f"a replica from 0 to {row[columns.ENGINES] - 1}"
            raise InputError.of("failures", failure.replica, expected)
        place = int(row[columns.FIRST_ENGINE]) + failure.replica
        return int(self.state.engines[place, columns.LISTED])

    def all_of(self, pieces: Iterable[RequestStream]) -> Simulation:
        """Replay all pieces of a stream, or as many as there were before an interrupt."""
        try:
            for piece in pieces:
                self.take(piece)
        except KeyboardInterrupt:
            return self.outcome(False)
        return self.outcome(True)

    def take(self, piece: RequestStream) -> None:
        """Replay the requests of a piece, and everything up to its end."""
        models = len(self.problem.models)
        if len(piece) and int(piece.model.max()) >= models:
            raise InputError.of("model", int(piece.model.max()), f"less than {models}, the models")
        if len(piece) and piece.arrival[0] < self.seconds:
            found = float(piece.arrival[0])
            raise InputError.of("arrival", found, f"at least {self.seconds}, after the last piece")
        for begin in range(0, len(piece), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            self._serve(
                piece.arrival[rows], piece.model[rows], piece.prompt[rows], piece.output[rows]
            )
            self._tell(float(piece.arrival[rows][-1]))
        end = max(float(piece.seconds), self.seconds)
        self._happen_before(end)
        self.go_on(end)
        self._tell(end)

    def outcome(self, complete: bool) -> Simulation:
        """Return what was found up to now.

        Where an interruption came between two calls of `watch`, that is up to what happened last.
        """
        last = self.state.moments[:, columns.GPU_COUNTED].max(initial=0.0)
        self.seconds = max(self.seconds, float(last))
        self.go_on(self.seconds)
        close(self.state, self.seconds)
        return outcome_of(self.problem, self.state, self.seconds, complete, self.lifetimes())

    def lifetimes(self) -> Floats:
        """Return for how long every engine has been there, of the time that counts."""
        counted = max(self.seconds - float(self.state.spans[columns.WARM_UP]), 0.0)
        return np.full(len(self.state.engines), counted)

    def go_on(self, until: float) -> None:
        """Let everything happen up to a moment that no request before it is missing of."""
        none = NOBODY_ASKS
        serve(self.state, none.arrival, none.model, none.prompt, none.output, 0, until)

    def _tell(self, seconds: float) -> None:
        self.seconds = seconds
        if self._watch is not None:
            self._watch(seconds)

    def _serve(self, arrival: Floats, model: Small, prompt: Small, output: Small) -> None:
        """Let requests arrive, with the events among them."""
        begin = 0
        while begin < len(arrival):
            self._happen_before(float(arrival[begin]))
            end = len(arrival)
            if self._events:
                end = int(np.searchsorted(arrival, self._events[0][0], side="left"))
            begin = serve(
                self.state, arrival[:end], model[:end], prompt[:end], output[:end], begin, 0.0
            )
            if begin < end:
                self.state = with_more_rows(self.state)

    def _happen_before(self, moment: float) -> None:
        while self._events and self._events[0][0] <= moment:
            now, _, _, event = heappop(self._events)
            event(self, now)
