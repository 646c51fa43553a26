"""What a simulation found."""

from dataclasses import dataclass, field
from typing import NamedTuple

from colocate.problem.instance import Floats


@dataclass(frozen=True)
class Distribution:
    """A latency over all requests, in seconds; percentiles are within one in a hundred."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float
    histogram: tuple[tuple[float, int], ...] = field(default=(), repr=False)
    """Where intervals begin that grow by a tenth, and the requests in each that has some."""


class CacheShare(NamedTuple):
    """The share of its cache that a model uses: on average, and at most in any replica.

    Where engines share one cache, it is the share of that.
    """

    mean: float
    highest: float


class Timeline(NamedTuple):
    """What a GPU had over time: the mean of each of some equal intervals."""

    seconds: Floats
    """Where the intervals begin."""
    values: Floats


@dataclass(frozen=True)
class ModelOutcome:
    """What the users of a model felt, and what its replicas did."""

    name: str
    arrived: int
    finished: int
    unfinished: int
    """Requests that were waiting or in work at the end."""
    refused: int
    """Requests longer than the cache can ever hold, or to a model that sleeps and is not woken."""
    preemptions: int
    ttft: Distribution
    tpot: Distribution
    end_to_end: Distribution
    attainment: float
    """The share of requests that kept all targets. Refused ones did not, nor did those that were
    still without a first token when their time for it was over; others in work do not count."""
    judged: int
    """How many requests that is a share of."""
    goodput: float
    """Requests each second that kept all targets."""
    busy: float
    """The share of time with work, over its replicas."""
    in_flight: float
    """Requests in work on average, in all replicas."""
    cache: CacheShare
    queue: float
    """Requests that wait for a slot on average, in all replicas."""
    tokens_in: int
    """Tokens of the prompts of finished requests."""
    tokens_out: int
    """Tokens that finished requests were given."""
    woken: int | None = None
    """How often a request woke it; None where nothing can."""


@dataclass(frozen=True)
class GpuOutcome:
    """What a GPU did over time."""

    name: str
    busy: float
    """The share of time with work for it."""
    busy_engines: Timeline
    in_flight: Timeline
    waiting: Timeline
    cache_gb: Timeline


@dataclass(frozen=True)
class Simulation:
    """What users of a placement would feel, replayed request by request."""

    seconds: float
    """How long was simulated."""
    complete: bool
    """Whether all requests were replayed; False if somebody interrupted it."""
    models: tuple[ModelOutcome, ...]
    gpus: tuple[GpuOutcome, ...]
