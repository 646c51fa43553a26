"""What a model is asked, how fast it works alone, and how fast it must answer."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from colocate.errors import InputError
from colocate.problem.quantity import checked_number

PERCENTILES = (95.0, 99.0)
"""The percentiles that a target may be about, besides the mean."""
LEFT_OUT = ("engines", "prompt_tokens", "rates")
"""Fields that the digest of a problem has in another form. Prompts are in the times of prefills,
and rates stand at its end, where there are windows."""
SLOTS = 256.0
"""Requests that an engine works on at once where nothing else is stated, as in emitted files."""


@dataclass(frozen=True, slots=True)
class EngineSpeed:
    """How fast one replica of a model works on GPUs of a kind that it has for itself, in seconds.

    Parameters
    ----------
    step
        A decode step, before its requests.
    step_per_request
        More for each request in the batch.
    prefill
        The prompt of one request.
    prefill_work
        What the GPU has to do of that; the rest is the host, which neighbours do not delay.
    layers
        How many layers a step goes through, one after the other.
    """

    step: float
    step_per_request: float
    prefill: float
    prefill_work: float
    layers: float

    def __post_init__(self) -> None:
        for field in EngineSpeed.__slots__:
            object.__setattr__(self, field, checked_number(getattr(self, field), (field,)))
        if self.layers < 1.0:
            raise InputError.of("layers", self.layers, "at least 1")


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests to a model, and the time that it has for them.

    Parameters
    ----------
    rate
        Requests each second, shared by the replicas; where windows differ, those of the busiest.
    output_tokens
        Of a request, on average; 0 for a model that only reads, such as an encoder.
    engines
        By kind of GPU.
    tpot_slo, ttft_slo
        Seconds for each output token and to the first one; infinite without a target.
    percentile
        What the targets are about: 95 or 99 percent of the requests, None for the mean.
    binding
        Whether a placement must keep the targets, or only tries to.
    slots
        The most requests that a replica works on at once.
    request_gb
        The cache that a request holds on average, over all shards.
    prompt_tokens
        Of a request, on average; `prefill` is the time for so many. 0 where it is not known.
    rates
        Requests each second in every time window; empty where all have `rate`.
    """

    rate: float
    output_tokens: float
    engines: tuple[tuple[str, EngineSpeed], ...]
    tpot_slo: float = inf
    ttft_slo: float = inf
    percentile: float | None = None
    binding: bool = True
    slots: float = SLOTS
    request_gb: float = 0.0
    prompt_tokens: float = 0.0
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for field in ("rate", "output_tokens", "slots", "request_gb", "prompt_tokens"):
            object.__setattr__(self, field, checked_number(getattr(self, field), (field,)))
        for field in ("tpot_slo", "ttft_slo"):
            if getattr(self, field) != inf:
                value = checked_number(getattr(self, field), (field,), positive=True)
                object.__setattr__(self, field, value)
        if self.percentile is not None and self.percentile not in PERCENTILES:
            raise InputError.of("percentile", self.percentile, "95, 99 or None for the mean")
        if self.slots < 1.0:
            raise InputError.of("slots", self.slots, "at least 1")
        object.__setattr__(self, "engines", tuple(sorted(self.engines)))
        rates = tuple(checked_number(r, ("rates", t)) for t, r in enumerate(self.rates))
        if rates and self.rate != max(rates):
            raise InputError.of("rate", self.rate, f"{max(rates):g}, the highest of rates")
        object.__setattr__(self, "rates", rates if len(rates) > 1 else ())

    @property
    def decode_tokens(self) -> float:
        """The tokens of a request that decode steps make: all but the first."""
        return max(self.output_tokens - 1.0, 0.0)

    @property
    def has_target(self) -> bool:
        """Whether there is a target for one of its latencies."""
        return self.tpot_slo < inf or self.ttft_slo < inf

    def engine_on(self, kind: str) -> EngineSpeed | None:
        """Return how fast it is on a kind of GPU, None if that is not known."""
        return dict(self.engines).get(kind)

    def of_replica(self, replicas: int) -> "Requests":
        """Return the requests to one of several replicas."""
        if replicas == 1:
            return self
        rates = tuple(rate / replicas for rate in self.rates)
        return replace(self, rate=max(rates) if rates else self.rate / replicas, rates=rates)

    def times(self, factor: float) -> "Requests":
        """Return so many times the requests, in every time window."""
        rates = tuple(rate * factor for rate in self.rates)
        return replace(self, rate=max(rates) if rates else self.rate * factor, rates=rates)

    def rate_in(self, window: int) -> float:
        """Return the requests each second in a time window."""
        return self.rates[window] if self.rates else self.rate

    def idle_in(self, window: int) -> bool:
        """Return whether nobody asks in a time window though somebody does in others.

        Then nobody waits there either, and targets say nothing of it.
        """
        return self.rate_in(window) == 0.0 and self.rate > 0.0

    def in_window(self, window: int) -> "Requests":
        """Return the requests of one time window alone."""
        if not self.rates:
            return self
        alone = replace(self, rate=self.rates[window], rates=())
        return replace(alone, tpot_slo=inf, ttft_slo=inf) if self.idle_in(window) else alone

    def as_numbers(self) -> list[Any]:
        """Return every number that a placement depends on, for the digest of a problem."""
        engines = [
            [kind, *(getattr(e, f) for f in EngineSpeed.__slots__)] for kind, e in self.engines
        ]
        others = [getattr(self, f) for f in Requests.__slots__ if f not in LEFT_OUT]
        rates = [list(self.rates)] if self.rates else []
        return [engines, *(str(value) if value == inf else value for value in others), *rates]
