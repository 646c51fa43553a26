"""Latencies as bars against their targets, one a model, before it is decided how they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from colocate.advise.latency import worst_of
from colocate.latency.prediction import Prediction
from colocate.outputs.latency.words import shown_time
from colocate.outputs.plan.latency_rows import by_model
from colocate.outputs.plan.latency_words import of_target
from colocate.outputs.text.wording import amount

MOST_BARS = 40
"""Models that are drawn: of more, those closest to their targets."""
SHORTEST, LONGEST, MARGIN = 1.2, 2.5, 1.05
"""Targets that the track of a bar is long, at least and at most, and its length beyond the longest
bar that ends on it."""


@dataclass(frozen=True)
class LatencyBar:
    """The replica of a model that is worst off."""

    worst: Prediction

    @property
    def ratio(self) -> float:
        """Its latency over its target."""
        return self.worst.shared.ratio

    @property
    def alone(self) -> float:
        """The same if it had its GPUs for itself."""
        return min(self.worst.alone.ratio, self.ratio)

    @property
    def misses(self) -> bool:
        """Whether a stated target does not hold, or the queue grows without end."""
        return self.worst.shared.saturated or (
            self.worst.requests.binding and not self.worst.keeps_targets
        )

    @property
    def told(self) -> str:
        """Its latency beside its neighbours and alone, in figures."""
        if self.worst.shared.saturated:
            return "queue grows without end"
        decodes = self.worst.requests.decode_tokens > 0.0
        shared, alone = (
            (each.tpot if decodes else each.ttft).at(self.worst.requests.percentile)
            for each in (self.worst.shared, self.worst.alone)
        )
        told = shown_time(shared)
        return (
            f"{told}, as alone"
            if told == shown_time(alone)
            else f"{told}, alone {shown_time(alone)}"
        )

    @property
    def figure(self) -> str:
        """Its ratio as it is written."""
        return of_target(self.ratio)


@dataclass(frozen=True)
class LatencyBars:
    """The models that are drawn, worst first, and a count of the others."""

    drawn: tuple[LatencyBar, ...] = ()
    others: int = 0

    @property
    def length(self) -> float:
        """Targets that the track of every bar is long."""
        ends = [bar.ratio for bar in self.drawn if isfinite(bar.ratio)]
        return min(max([SHORTEST, *(MARGIN * end for end in ends)]), LONGEST)

    def share(self, ratio: float) -> float:
        """Return where on its track a bar of that ratio ends, from 0 to 1."""
        return min(ratio / self.length, 1.0)

    @property
    def rest(self) -> str:
        """Return a note on the models that are not drawn; empty if all are."""
        if not self.others:
            return ""
        further = f"{amount(self.others, 'other model')} {'is' if self.others == 1 else 'are'} not"
        return f"The {len(self.drawn)} closest to their targets are shown, {further}."


def latency_bars(predictions: Sequence[Prediction], most: int = MOST_BARS) -> LatencyBars:
    """Return the bars of a plan, those closest to their targets first.

    Parameters
    ----------
    predictions
        What users of the replicas feel.
    most
        Models that are drawn.
    """
    bars = [LatencyBar(worst_of(replicas)) for replicas in by_model(predictions)]
    bars.sort(key=lambda bar: -bar.ratio)
    return LatencyBars(tuple(bars[:most]), max(len(bars) - most, 0))
