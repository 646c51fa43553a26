"""Who asks what, and when: demand as a stream of requests, in pieces of bounded size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number, checked_seed
from colocate.simulate.demand.arrivals import Asked, Clock, Lengths, ModelRequests
from colocate.simulate.demand.day_curve import DayCurve
from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.demand.requests import Floats, RequestStream, Whole
from colocate.simulate.demand.window_clock import WindowClock, mean_rate, window_seconds

PIECE = 131_072
"""Requests of a piece: few enough for a few megabytes, enough to hide the cost of making one."""
OF_MODEL = 256
"""Requests that are drawn together for each model, so that thousands of models take no longer."""
MOST_REQUESTS = 1e12
"""Of a stream: more than a year of any fleet; whoever asks for more mistook a unit."""
MOST_VARIATION = 100.0
"""Of gaps: then ten thousand requests come at once, and none for as long as they usually take."""
ALL_ALIKE, EXPONENTIAL = LengthDistribution("fixed"), LengthDistribution("exponential")
WORKING_DAY = DayCurve.smooth(1.5)
NOBODY: Whole = np.empty(0, dtype=np.int32)
WITHOUT_REQUESTS = "has no requests to simulate"


class Demand(Protocol):
    """Says who asks what, and when."""

    def pieces(self, problem: Problem, seconds: float, seed: int) -> Iterator[RequestStream]:
        """Yield the requests to all models, in pieces that follow each other in time.

        Parameters
        ----------
        problem
            The models.
        seconds
            For how long there are requests.
        seed
            Decides on all that is random. The requests to a model depend on nothing else but its
            own rate and lengths.
        """


@dataclass(frozen=True)
class PoissonDemand:
    """Requests that know nothing of each other, at the rates of the models.

    Where rates differ by time window, requests go through all windows in turn, each for its share
    of the time.

    Parameters
    ----------
    prompts, outputs
        How lengths differ from the means that the problem states.
    piece
        The most requests of a piece; the stream is the same for any.
    """

    prompts: LengthDistribution = ALL_ALIKE
    outputs: LengthDistribution = EXPONENTIAL
    piece: int = PIECE

    def __post_init__(self) -> None:
        if self.piece < 1:
            raise InputError.of("piece", self.piece, "at least 1")
        variation = checked_number(self._variation(), ("variation",), positive=True)
        if variation > MOST_VARIATION:
            raise InputError.of("variation", variation, f"at most {MOST_VARIATION:g}")

    def pieces(self, problem: Problem, seconds: float, seed: int) -> Iterator[RequestStream]:
        """Yield the requests to all models; the parameters are those of `Demand`.

        Parameters
        ----------
        problem, seconds, seed
            As for `Demand`.
        """
        span = checked_number(seconds, ("seconds",), positive=True)
        number, lengths = checked_seed(seed), Lengths(self.prompts, self.outputs)
        clocks = [self._clock_of(model, problem, span) for model in problem.models]
        asked = [
            _asked(model, problem, in_windows=isinstance(clock, WindowClock))
            for model, clock in zip(problem.models, clocks, strict=True)
        ]
        on_average = [
            each._replace(rate=each.rate * clock.mean) if isinstance(clock, WindowClock) else each
            for each, clock in zip(asked, clocks, strict=True)
        ]
        expected = self._expected(on_average, span)
        if expected > MOST_REQUESTS:
            raise InputError.of("seconds", span, f"short enough for {MOST_REQUESTS:g} requests")
        streams = [
            (index, ModelRequests(each, lengths, self._variation(), clock, number))
            for index, (each, clock) in enumerate(zip(asked, clocks, strict=True))
            if each.rate > 0.0
        ]
        together = max(self.piece, OF_MODEL * len(streams))
        return _merged(streams, span, max(int(np.ceil(expected / together)), 1), self.piece)

    def _variation(self) -> float:
        return 1.0

    def _clock(self, name: str) -> Clock | None:
        return None

    def _clock_of(self, model: Model, problem: Problem, seconds: float) -> Clock | None:
        """Return the clock of a model: that of this demand, or of the fleet's time windows."""
        own, rates = self._clock(model.name), model.requests.rates if model.requests else ()
        if own is not None or not any(rates):
            return own
        return WindowClock(
            tuple(rate / max(rates) for rate in rates), window_seconds(problem, seconds)
        )

    def _expected(self, asked: Sequence[Asked], seconds: float) -> float:
        """Return how many requests there are on average."""
        return seconds * sum(each.rate for each in asked)


@dataclass(frozen=True)
class BurstDemand(PoissonDemand):
    """Requests in bursts, at the rates of the models: gaps have a gamma distribution.

    Parameters
    ----------
    prompts, outputs, piece
        As for `PoissonDemand`.
    variation
        The standard deviation of the time between two requests to a model, over its mean: 1 is
        `PoissonDemand`, less is more regular, more is in bursts.
    """

    variation: float = 3.0

    def _variation(self) -> float:
        return self.variation


@dataclass(frozen=True)
class DayDemand(BurstDemand):
    """Requests that rise and fall over the day, for all models alike.

    Time windows of the fleet do not count: models have their mean rates times the curve.

    Parameters
    ----------
    prompts, outputs, piece
        As for `PoissonDemand`.
    variation
        As for `BurstDemand`, by a clock that runs as fast as requests come.
    curve
        How many times the rates of the models there are at each time of day.
    """

    variation: float = 1.0
    curve: DayCurve = WORKING_DAY

    def _clock(self, name: str) -> Clock:
        return self.curve

    def _expected(self, asked: Sequence[Asked], seconds: float) -> float:
        return self.curve.mean * super()._expected(asked, seconds)


class RecordedRows(Protocol):
    """Requests of a trace, as arrays of equal length."""

    @property
    def arrival(self) -> Floats:
        """Seconds since the trace began, never falling."""

    @property
    def model(self) -> Whole:
        """Indices of models, less than 0 where the trace does not say which."""

    @property
    def prompt(self) -> Whole:
        """Tokens."""

    @property
    def output(self) -> Whole:
        """Tokens."""


class Recording(Protocol):
    """A trace that can be read again and again."""

    def rows(self, models: Sequence[str]) -> Iterator[RecordedRows]:
        """Yield all requests in order of time, to models of these names."""


@dataclass(frozen=True)
class TraceDemand:
    """Requests as they were recorded, with their lengths.

    Where the trace does not say which model a request was for, one is drawn, in proportion to the
    rates of the models.

    Parameters
    ----------
    trace
        The recorded requests.
    start
        Seconds of the trace to leave out.
    condense
        How many times faster time runs than it did: at 2, requests come twice as often.
    """

    trace: Recording
    start: float = 0.0
    condense: float = 1.0

    def __post_init__(self) -> None:
        checked_number(self.start, ("start",))
        checked_number(self.condense, ("condense",), positive=True)

    def pieces(self, problem: Problem, seconds: float, seed: int) -> Iterator[RequestStream]:
        """Yield the recorded requests; they end with the trace if that is shorter.

        Parameters
        ----------
        problem
            The models.
        seconds
            For how long there are requests, by the faster clock; infinite for the whole trace.
        seed
            Decides on models where the trace does not say which.
        """
        span = inf if seconds == inf else checked_number(seconds, ("seconds",), positive=True)
        return self._pieces(problem, span, np.random.default_rng(checked_seed(seed)))

    def _pieces(
        self, problem: Problem, seconds: float, rng: np.random.Generator
    ) -> Iterator[RequestStream]:
        found, last = 0, 0.0
        for rows in self.trace.rows([model.name for model in problem.models]):
            arrival = (rows.arrival - self.start) / self.condense
            begin, end = np.searchsorted(arrival, (0.0, seconds))
            kept, last = slice(begin, end), float(rows.arrival[-1])
            if end > begin:
                model = _told(rows.model[kept], problem, rng)
                yield RequestStream(arrival[kept], model, rows.prompt[kept], rows.output[kept])
                found += end - begin
            if end < len(arrival):
                yield RequestStream(np.empty(0), NOBODY, NOBODY, NOBODY, seconds)
                return
        if not found:
            expected = f"before the last request of the trace, which is at {last:g} s"
            raise InputError.of("start", self.start, expected)


def _told(models: Whole, problem: Problem, rng: np.random.Generator) -> Whole:
    """Return which models are asked, drawn by their rates where nothing else says it."""
    if not len(models) or models[0] >= 0:
        return models
    rates = np.cumsum([_mean_rate(each, problem) for each in problem.models])
    if not rates[-1] > 0.0:
        raise InputError(Fault(WITHOUT_REQUESTS, advice="give the models a rate"))
    drawn = np.searchsorted(rates / rates[-1], rng.random(len(models)), side="right")
    return drawn.astype(np.int32)


def _mean_rate(model: Model, problem: Problem) -> float:
    """Return the requests each second over all time windows, as they are without headroom."""
    if model.requests is None:
        return 0.0
    rates = model.requests.rates
    rate = mean_rate(problem, rates) if rates else model.requests.rate
    return rate / (1.0 + problem.headroom)


def _asked(model: Model, problem: Problem, in_windows: bool) -> Asked:
    """Return what a model is asked, or say what is not known of it.

    Parameters
    ----------
    model, problem
        The model, and the problem that it is of.
    in_windows
        Whether its rate is the one of its busiest window, not the mean.
    """
    owner = Owner("model", model.name)
    if model.requests is None:
        advice = "give prompt_tokens, output_tokens, a rate and a known kind of GPU"
        raise InputError(Fault(WITHOUT_REQUESTS, advice=advice, owner=owner))
    asked = model.requests
    if asked.prompt_tokens == 0.0:
        raise InputError.missing("prompt_tokens", "tokens of a prompt, on average", owner=owner)
    rate = asked.rate / (1.0 + problem.headroom) if in_windows else _mean_rate(model, problem)
    return Asked(model.name, rate, asked.prompt_tokens, asked.output_tokens)


def _merged(
    streams: list[tuple[int, ModelRequests]], seconds: float, parts: int, most: int
) -> Iterator[RequestStream]:
    """Yield the requests to all models in order of time.

    Parameters
    ----------
    streams
        Index and requests of each model that has some.
    seconds
        For how long there are requests.
    parts
        Equal parts of that time, which are drawn one after the other.
    most
        The most requests of a piece.
    """
    for part in range(parts):
        end = seconds * (part + 1) / parts
        drawn = [(index, *requests.until(end)) for index, requests in streams]
        counts = [len(arrival) for _, arrival, _, _ in drawn]
        models = np.array([index for index, _, _, _ in drawn], dtype=np.int32)
        arrival = np.concatenate([times for _, times, _, _ in drawn] or [np.empty(0)])
        order = np.argsort(arrival, kind="stable")
        whole = RequestStream(
            arrival[order],
            np.repeat(models, counts)[order],
            np.concatenate([NOBODY, *(prompts for _, _, prompts, _ in drawn)])[order],
            np.concatenate([NOBODY, *(outputs for _, _, _, outputs in drawn)])[order],
            end,
        )
        yield from whole.cut(most)
