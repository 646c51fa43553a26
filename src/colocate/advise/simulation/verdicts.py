"""Whether the users of a model got what its targets promise, and why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite

from colocate.advise.simulation.means import ModelMeans, Simulations
from colocate.latency.prediction import Prediction
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.requests import Requests

GROWING = 1.5
"""Times its mean over time that a queue is at the end, if it grows all the time: then it is twice.
A steady one is as long at the end as on average."""
LONG_QUEUE = 10.0
"""Waiting requests, fewer of which may be chance."""
FULL = 0.98
"""Of a cache: the share from which on no further request fits."""
APART = 1.3
"""Times that the law and the replay may differ before somebody should know: the law's own readings
were within a third, but for rare misses."""
ENOUGH = 100.0
"""Requests, of which a mean is worth a comparison."""


class TargetMiss(Enum):
    """Why users of a model did not get what its targets promise."""

    ASLEEP = "asleep"
    QUEUE = "queue grows"
    REFUSED = "refuses"
    CACHE = "cache full"
    TTFT = "late"
    TPOT = "slow"


class TargetOutcome(Enum):
    """What became of the targets of a model."""

    KEPT = "holds"
    MISSED = "misses"
    NOT_STATED = "no target"
    """It states none, and did as well as one expects."""
    NOT_ASKED = "not asked"
    NONE_DONE = "none done"
    """No request was finished, so nothing is known."""


@dataclass(frozen=True)
class ModelReplay:
    """What the users of a model felt, beside what they were promised and what the law says."""

    found: ModelMeans
    asked: Requests
    gpus: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    """One for each replica; none if it is asleep."""
    same_demand: bool = True
    """Whether the law is about the demand of the replay. With time windows it is about the worst of
    them, and with headroom about more requests than are replayed."""

    @property
    def misses(self) -> tuple[TargetMiss, ...]:
        """Why its users did not get what they were promised, what explains most first."""
        found = self.found
        if found.arrived.mean == 0.0:
            return ()
        if not self.gpus and found.refused.mean > 0.0:
            return (TargetMiss.ASLEEP,)
        late = found.ttft.at(self.asked.percentile) > self.asked.ttft_slo
        slow = found.tpot.at(self.asked.percentile) > self.asked.tpot_slo
        causes = {
            TargetMiss.QUEUE: self.queue_grows,
            TargetMiss.REFUSED: found.refused.mean > 0.0,
            TargetMiss.CACHE: self.cache_full and late,
            TargetMiss.TTFT: late,
            TargetMiss.TPOT: slow,
        }
        return tuple(cause for cause, holds in causes.items() if holds)

    @property
    def outcome(self) -> TargetOutcome:
        """What became of its targets; a model that states none can only miss what one expects."""
        if self.found.arrived.mean == 0.0:
            return TargetOutcome.NOT_ASKED
        if self.misses:
            return TargetOutcome.MISSED
        if self.found.finished.mean == 0.0:
            return TargetOutcome.NONE_DONE
        return TargetOutcome.KEPT if self.asked.binding else TargetOutcome.NOT_STATED

    @property
    def queue_grows(self) -> bool:
        """Whether more and more requests waited for the first token."""
        found = self.found
        held = found.in_flight.mean + found.queue.mean
        return found.queue.mean > LONG_QUEUE and found.unfinished.mean > GROWING * held

    @property
    def cache_full(self) -> bool:
        """Whether requests had to wait for room in the cache, or give theirs back."""
        found = self.found
        waited = found.preemptions.mean > 0.0 or found.queue.mean > 0.1 * found.in_flight.mean
        return found.cache_highest.mean >= FULL and waited

    @property
    def predicted_tpot(self) -> float | None:
        """The mean time of an output token by the law, over replicas; None without decoding."""
        if not self.predictions or self.asked.decode_tokens == 0.0:
            return None
        return sum(each.shared.tpot.mean for each in self.predictions) / len(self.predictions)

    @property
    def predicted_ttft(self) -> float | None:
        """The mean time to the first token by the law, over replicas."""
        if not self.predictions:
            return None
        return sum(each.shared.ttft.mean for each in self.predictions) / len(self.predictions)

    @property
    def comparable(self) -> bool:
        """Whether the law is about this demand, and enough was replayed or a queue grows."""
        enough = self.found.finished.mean >= ENOUGH or self.queue_grows
        return self.same_demand and bool(self.predictions) and enough

    @property
    def disagrees(self) -> bool:
        """Whether the replay and the law differ much on output tokens, or on a queue that grows."""
        if not self.comparable:
            return False
        if any(each.shared.saturated for each in self.predictions):
            return not self.queue_grows
        found, told = self.found.tpot.mean.mean, self.predicted_tpot
        if self.queue_grows or not told or not isfinite(told) or not found:
            return self.queue_grows
        return not 1.0 / APART <= found / told <= APART


def model_replays(
    problem: Problem, placement: Places, found: Simulations, predictions: Sequence[Prediction]
) -> tuple[ModelReplay, ...]:
    """Return what the users of every model felt, in the order of the problem.

    Parameters
    ----------
    problem, placement
        What was simulated.
    found
        What the replays gave.
    predictions
        What the law says of every replica.
    """
    same_demand = problem.headroom == 0.0 and not any(each.window_name for each in predictions)
    told: dict[str, list[Prediction]] = {}
    for each in predictions:
        told.setdefault(each.model, []).append(each)
    return tuple(
        ModelReplay(
            means,
            model.requests,
            tuple(placement.get(model.name, ())),
            tuple(told.get(model.name, ())),
            same_demand,
        )
        for model, means in zip(problem.models, found.models, strict=True)
        if model.requests is not None
    )
