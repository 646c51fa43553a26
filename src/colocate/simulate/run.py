"""Simulate a placement: what its users would feel, request by request."""

from collections.abc import Callable, Iterable
from math import isfinite

import numpy as np

from colocate.errors import InputError, closest
from colocate.fault import Fault, Owner
from colocate.problem.instance import Floats
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.events import close, fail, serve
from colocate.simulate.kernel.state import SimulationState, Small
from colocate.simulate.layout import first_state, with_more_rows
from colocate.simulate.options import EngineFailure, SimulateOptions
from colocate.simulate.outcome import outcome_of
from colocate.simulate.result import Simulation

AT_ONCE = 8192
"""Requests between two calls of `watch`: some hundredths of a second of work."""

NOBODY_ASKS = RequestStream(np.empty(0), *(np.empty(0, np.int32),) * 3)

Watch = Callable[[float], None]


def simulate_placement(
    problem: Problem,
    placement: Places,
    pieces: Iterable[RequestStream],
    options: SimulateOptions | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Simulation:
    """Replay requests on a placement.

    Parameters
    ----------
    problem
        The models, with how fast they are, and the GPUs.
    placement
        The GPUs of every model; a model without any is asleep.
    pieces
        The requests, in order of time. How they are cut into pieces makes no difference.
    options
        What engines, routers and caches do.
    seed
        Decides what is random: which replicas a router draws.
    watch
        Called from time to time with the seconds simulated so far. If it raises KeyboardInterrupt,
        what was simulated so far comes back.

    Raises
    ------
    InputError
        If the problem does not say what the models are asked, if the placement names a model or a
        GPU that it does not have, or if requests are out of order.
    """
    if not problem.has_requests:
        advice = "give prompt_tokens, output_tokens, a rate and a known kind of GPU"
        raise InputError(Fault("has no requests to simulate", advice=advice))
    _check_names(problem, placement)
    replay = _Replay(problem, placement, options or SimulateOptions(), checked_seed(seed), watch)
    complete = True
    try:
        for piece in pieces:
            replay.take(piece)
    except KeyboardInterrupt:
        complete = False
    return replay.outcome(complete)


def _check_names(problem: Problem, placement: Places) -> None:
    """Raise an error where a placement names what the problem does not have."""
    models, gpus = ({each.name for each in items} for items in (problem.models, problem.gpus))
    for model, on in placement.items():
        if model not in models:
            advice = closest(model, models)
            raise InputError(
                Fault("is not in the problem", "", advice, owner=Owner("model", model))
            )
        for gpu in on:
            if gpu not in gpus:
                found, advice = f"is on {gpu!r}, which is no GPU", closest(gpu, gpus)
                raise InputError(Fault(found, "", advice, owner=Owner("model", model)))


class _Replay:
    """A simulation under way."""

    def __init__(
        self,
        problem: Problem,
        placement: Places,
        options: SimulateOptions,
        seed: int,
        watch: Watch | None,
    ) -> None:
        self._problem, self._watch = problem, watch
        self._state = first_state(problem, placement, options, seed)
        self._failures = [(f, _engine_of(problem, self._state, f)) for f in options.failures]
        self._seconds = 0.0

    def take(self, piece: RequestStream) -> None:
        """Replay the requests of a piece, and everything up to its end."""
        models = len(self._problem.models)
        if len(piece) and int(piece.model.max()) >= models:
            raise InputError.of("model", int(piece.model.max()), f"less than {models}, the models")
        if len(piece) and piece.arrival[0] < self._seconds:
            found = float(piece.arrival[0])
            raise InputError.of("arrival", found, f"at least {self._seconds}, after the last piece")
        for begin in range(0, len(piece), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            self._serve(
                piece.arrival[rows], piece.model[rows], piece.prompt[rows], piece.output[rows]
            )
            self._tell(float(piece.arrival[rows][-1]))
        end = max(float(piece.seconds), self._seconds)
        self._fail_before(end)
        self._go_on(end)
        self._tell(end)

    def outcome(self, complete: bool) -> Simulation:
        """Return what was found up to now.

        Where an interruption came between two calls of `watch`, that is up to what happened last.
        """
        last = self._state.moments[:, columns.GPU_COUNTED].max(initial=0.0)
        self._seconds = max(self._seconds, float(last))
        self._go_on(self._seconds)
        close(self._state, self._seconds)
        return outcome_of(self._problem, self._state, self._seconds, complete)

    def _tell(self, seconds: float) -> None:
        self._seconds = seconds
        if self._watch is not None:
            self._watch(seconds)

    def _serve(self, arrival: Floats, model: Small, prompt: Small, output: Small) -> None:
        """Let requests arrive, with the failures among them."""
        begin = 0
        while begin < len(arrival):
            self._fail_before(float(arrival[begin]))
            end = len(arrival)
            if self._failures:
                end = int(np.searchsorted(arrival, self._failures[0][0].time, side="left"))
            begin = serve(
                self._state, arrival[:end], model[:end], prompt[:end], output[:end], begin, 0.0
            )
            if begin < end:
                self._state = with_more_rows(self._state)

    def _go_on(self, until: float) -> None:
        """Let everything happen up to a moment that no request before it is missing of."""
        none = NOBODY_ASKS
        serve(self._state, none.arrival, none.model, none.prompt, none.output, 0, until)

    def _fail_before(self, moment: float) -> None:
        while self._failures and self._failures[0][0].time <= moment:
            failure, engine = self._failures.pop(0)
            fail(self._state, engine, failure.time, failure.seconds)


def _engine_of(problem: Problem, state: SimulationState, failure: EngineFailure) -> int:
    """Return the engine that a failure is about."""
    names = [model.name for model in problem.models]
    if failure.model not in names:
        raise InputError.of("failures", failure.model, "the name of a model")
    row = state.models[names.index(failure.model)]
    if not 0 <= failure.replica < row[columns.ENGINES] or not isfinite(failure.time):
        expected = f"a replica from 0 to {row[columns.ENGINES] - 1}"
        raise InputError.of("failures", failure.replica, expected)
    return int(row[columns.FIRST_ENGINE]) + failure.replica
