"""What several seeds found, as means with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from colocate.advise.simulation.intervals import Interval, interval_of
from colocate.simulate.result import Distribution, ModelOutcome, Simulation


class DistributionMeans(NamedTuple):
    """The measures of a latency, each as a mean over seeds, in seconds."""

    mean: Interval
    p50: Interval
    p95: Interval
    p99: Interval
    max: Interval

    def at(self, percentile: float | None) -> float:
        """Return a percentile that targets may be about: 95, 99 or None for the mean."""
        return {None: self.mean, 95.0: self.p95, 99.0: self.p99}[percentile].mean


@dataclass(frozen=True)
class ModelMeans:
    """What the users of a model felt: the fields of `ModelOutcome`, as means over seeds."""

    name: str
    arrived: Interval
    finished: Interval
    unfinished: Interval
    refused: Interval
    preemptions: Interval
    ttft: DistributionMeans
    tpot: DistributionMeans
    end_to_end: DistributionMeans
    attainment: Interval
    judged: Interval
    goodput: Interval
    busy: Interval
    in_flight: Interval
    queue: Interval
    cache_mean: Interval
    cache_highest: Interval
    woken: Interval | None

    @classmethod
    def of(cls, runs: Sequence[ModelOutcome]) -> "ModelMeans":
        """Return the means of one model over seeds."""

        def mean(value: Callable[[ModelOutcome], float]) -> Interval:
            return interval_of([value(run) for run in runs])

        woken = [run.woken for run in runs if run.woken is not None]

        def latency(of: Callable[[ModelOutcome], Distribution]) -> DistributionMeans:
            return DistributionMeans(
                mean(lambda run: of(run).mean),
                mean(lambda run: of(run).p50),
                mean(lambda run: of(run).p95),
                mean(lambda run: of(run).p99),
                mean(lambda run: of(run).max),
            )

        return cls(
            name=runs[0].name,
            arrived=mean(lambda run: run.arrived),
            finished=mean(lambda run: run.finished),
            unfinished=mean(lambda run: run.unfinished),
            refused=mean(lambda run: run.refused),
            preemptions=mean(lambda run: run.preemptions),
            ttft=latency(lambda run: run.ttft),
            tpot=latency(lambda run: run.tpot),
            end_to_end=latency(lambda run: run.end_to_end),
            attainment=mean(lambda run: run.attainment),
            judged=mean(lambda run: run.judged),
            goodput=mean(lambda run: run.goodput),
            busy=mean(lambda run: run.busy),
            in_flight=mean(lambda run: run.in_flight),
            queue=mean(lambda run: run.queue),
            cache_mean=mean(lambda run: run.cache.mean),
            cache_highest=mean(lambda run: run.cache.highest),
            woken=interval_of(woken) if woken else None,
        )


@dataclass(frozen=True)
class Simulations:
    """Replays of one placement with several seeds, at least one.

    Parameters
    ----------
    runs
        What each seed gave, in their order.
    """

    runs: tuple[Simulation, ...]

    @property
    def seconds(self) -> float:
        """How long each seed was simulated; the shortest, if they differ."""
        return min(run.seconds for run in self.runs)

    @property
    def complete(self) -> bool:
        """Whether all requests were replayed."""
        return all(run.complete for run in self.runs)

    @cached_property
    def models(self) -> tuple[ModelMeans, ...]:
        """What the users of each model felt."""
        each = zip(*(run.models for run in self.runs), strict=True)
        return tuple(ModelMeans.of(runs) for runs in each)

    @property
    def requests(self) -> Interval:
        """How many requests arrived."""
        return interval_of([requests_of(run) for run in self.runs])

    @property
    def attainment(self) -> Interval:
        """The share of all requests that kept all targets."""
        return interval_of([attainment_of(run) for run in self.runs])

    @property
    def goodput(self) -> Interval:
        """Requests each second that kept all targets, of all models."""
        return interval_of([goodput_of(run) for run in self.runs])


def requests_of(run: Simulation) -> int:
    """Return how many requests arrived."""
    return sum(model.arrived for model in run.models)


def attainment_of(run: Simulation) -> float:
    """Return the share of the requests to all models that kept all targets."""
    judged = sum(model.judged for model in run.models)
    return sum(model.attainment * model.judged for model in run.models) / judged if judged else 1.0


def goodput_of(run: Simulation) -> float:
    """Return the requests each second, to all models, that kept all targets."""
    return sum(model.goodput for model in run.models)
