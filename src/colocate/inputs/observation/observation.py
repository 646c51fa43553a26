"""What was measured of a fleet: the demand for each model over time, and what its users felt."""

from dataclasses import dataclass, field
from enum import Enum
from math import isfinite

from colocate.errors import InputError
from colocate.inputs.observation.bins import joined
from colocate.inputs.observation.burstiness import Burstiness
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.predictability import Predictability


class Basis(Enum):
    """Which requests a rate counts."""

    ARRIVED = "arrived"
    """Every request when it came: a trace."""
    STARTED = "started"
    """Requests that began, whether or not they ended."""
    QUEUE = "completed and queue"
    """Requests that ended, and what the requests in work and in the queue grew by."""
    COMPLETED = "completed"
    """Requests that ended: under overload that is the capacity, not the demand."""


class Remark(Enum):
    """What a reader must know about what was measured."""

    GAPS = "gaps"
    """For some of the time nothing is known; the amount is its share."""
    RESTARTS = "restarts"
    """Counters began again; the amount says how often."""
    CLOCK = "clock"
    """The clock of the source differs from ours; the amount is in seconds."""
    TWICE = "twice"
    """Engines that are scraped twice count once; the amount says how many."""
    UNLABELLED = "unlabelled"
    """Metrics without the name of a model; the text lists the labels that they have."""
    GONE = "gone"
    """Nothing more was heard of the model; the amount is for how many seconds."""
    GROWING = "growing"
    """Its queue grew, so that it was overloaded; the amount is in requests a second."""
    COARSE = "coarse"
    """Samples are further apart than bins should be; the amount is in seconds."""
    ENDED_ONLY = "ended only"
    """Nothing tells its queue: the rate counts requests that ended."""
    UNMATCHED = "unmatched"
    """The mapping names models that the source does not have; the text lists those that it has."""
    UNNAMED = "unnamed"
    """The trace names no models: all requests count as one."""


@dataclass(frozen=True)
class SourceNote:
    """One remark, as facts.

    Parameters
    ----------
    remark
        What it is about.
    models
        Whom it is about; none for all.
    amount
        The figure that it has, if it has one.
    text
        Names that it lists.
    """

    remark: Remark
    models: tuple[str, ...] = ()
    amount: float | None = None
    text: str = ""


@dataclass(frozen=True)
class ModelObservation:
    """What was measured of one model.

    Parameters
    ----------
    name
        As the fleet calls it, or else as the source does.
    basis
        Which requests count.
    rate
        Requests a second.
    rates
        The same in each bin of time; NaN where it is not known.
    prompt_tokens, output_tokens
        Of a request, on average.
    busy
        The chance that a replica has a request in work.
    tpot, ttft
        Mean seconds for each output token, and to the first one.
    cache
        The share of its KV cache that is in use.
    waiting
        Requests in its queue, on average.
    queue
        Requests in its queue at the end.
    replicas
        Engines that were seen; 0 where the source does not tell.
    burstiness
        How unevenly requests came.
    predictability
        How well the past tells what comes.
    """

    name: str
    basis: Basis
    rate: Estimate
    rates: tuple[float, ...] = field(repr=False)
    burstiness: Burstiness
    predictability: Predictability
    prompt_tokens: Estimate | None = None
    output_tokens: Estimate | None = None
    busy: Estimate | None = None
    tpot: Estimate | None = None
    ttft: Estimate | None = None
    cache: Estimate | None = None
    waiting: Estimate | None = None
    queue: float | None = None
    replicas: int = 0

    def __post_init__(self) -> None:
        if not (isfinite(self.rate.value) and self.rate.value >= 0.0):
            raise InputError.of("rate", self.rate.value, "a finite number >= 0")

    @property
    def tokens_per_second(self) -> float | None:
        """Prompt and output tokens together, None if one of them is not known."""
        if self.prompt_tokens is None or self.output_tokens is None:
            return None
        return self.rate.value * (self.prompt_tokens.value + self.output_tokens.value)


@dataclass(frozen=True)
class Observation:
    """What a source tells about the models of a fleet.

    Parameters
    ----------
    source
        Its file or address, without anything secret.
    kind
        `trace`, `prometheus` or `kvcached`.
    begin
        When the first bin begins, in seconds since 1970; None where the source does not tell.
    bin_seconds
        How long a bin is.
    seconds
        How long all of it is.
    taken
        When it was measured, in seconds since 1970; None for a trace.
    models
        In the order of their rates, the highest first.
    notes
        What a reader must know.
    """

    source: str
    kind: str
    begin: float | None
    bin_seconds: float
    seconds: float
    taken: float | None
    models: tuple[ModelObservation, ...]
    notes: tuple[SourceNote, ...] = ()

    def __post_init__(self) -> None:
        if len({model.name for model in self.models}) < len(self.models):
            raise InputError("two models of an observation have one name")
        if len({len(model.rates) for model in self.models}) > 1:
            raise InputError("the models of an observation have different numbers of bins")

    @property
    def bins(self) -> int:
        """How many bins of time there are."""
        return len(self.models[0].rates) if self.models else 0

    @property
    def coarse_seconds(self) -> float:
        """How long a bin is in which peaks and bursts are looked for."""
        return self.bin_seconds * joined(self.bins)

    def named(self, name: str) -> ModelObservation | None:
        """Return what was measured of a model, None if that is nothing."""
        return next((model for model in self.models if model.name == name), None)
