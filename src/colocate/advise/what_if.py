"""Changes to a problem that might help, stated but not yet tried."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from colocate.problem.problem import Problem


class ChangeKind(StrEnum):
    """What a change is about."""

    GPUS = "gpus"
    """There are more GPUs."""
    QUANTISE = "quantise"
    """Weights are kept in fewer bits."""
    SLEEP = "sleep"
    """Models are left out."""
    SHARDS = "shards"
    """A replica of a model is cut into another number of shards."""
    REPLICAS = "replicas"
    """There is another number of replicas of a model."""
    APART = "apart"
    """Models of a group may share a GPU."""
    TOGETHER = "together"
    """Models of a group need not share a GPU."""
    MOST_MODELS = "most_models"
    """A GPU may hold any number of models."""
    MOST_PRESSURE = "most_pressure"
    """GPUs may have any pressure."""
    ONLY = "only"
    """A model need not be on certain GPUs."""
    NEVER = "never"
    """A model may be on the GPUs that were forbidden to it."""
    CONTEXT = "context"
    """The longest requests of models are shorter."""
    CONCURRENCY = "concurrency"
    """Fewer of the longest requests of a model must fit at once."""
    COMPUTE_LIMIT = "compute_limit"
    """GPUs may be busier."""
    LEAST_CACHE = "least_cache"
    """Models need no cache beyond their size."""
    LIMIT = "limit"
    """A resource has no limit."""
    ONE_NODE = "one_node"
    """Shards of a model may be in different nodes."""
    TARGETS = "targets"
    """Models need not keep their latency targets."""
    RAISED_TARGET = "raised_target"
    """A model has more time."""
    RATE = "rate"
    """A model gets fewer requests."""
    SHARING = "sharing"
    """The engines on a GPU share it in another way."""


@dataclass(frozen=True)
class TargetDelta:
    """A latency target before and after a change, in seconds."""

    field: str
    """`tpot_slo` or `ttft_slo`."""
    before: float
    after: float


@dataclass(frozen=True)
class Change:
    """One change and the problem that it leads to.

    Parameters
    ----------
    kind
        What the change is about.
    problem
        The problem after the change.
    names
        The models that change, or the resource whose limit goes.
    to
        The new kind of GPU, the new format of weights, or the field that changes.
    count
        How many GPUs are added, or how many shards, replicas, requests or tokens of a request
        there are afterwards.
    gpus
        How many GPUs are added besides, of the kind `to`.
    gb
        Memory that the change adds or frees: a measure of how large it is.
    before_gb, after_gb
        Memory of the weights, or of the least cache, before and after the change.
    before, after
        The limit, or the rate, before and after the change.
    demand
        Demand that is lost while models sleep, in the unit of the fleet.
    node
        The machine that GPUs are added to; empty where there is only one.
    assumed
        Whether a size is estimated, not counted from the weights.
    targets
        The latency targets that are raised.
    """

    kind: ChangeKind
    problem: Problem = field(repr=False)
    names: tuple[str, ...] = ()
    to: str = ""
    count: int = 0
    gpus: int = 0
    gb: float = 0.0
    before_gb: float = 0.0
    after_gb: float = 0.0
    before: float = 0.0
    after: float = 0.0
    demand: float = 0.0
    node: str = ""
    assumed: bool = False
    targets: tuple[TargetDelta, ...] = ()


Ladder = Iterable[Change]
"""Changes of one sort, smallest first; the first one that helps is wanted."""


@dataclass(frozen=True)
class Combination:
    """A change that can be made to any number of things at once.

    Parameters
    ----------
    names
        The things, those to change first at the front.
    change
        Returns the problem with some of them changed.
    """

    names: Sequence[str]
    change: Callable[[Sequence[str]], Change]


@dataclass(frozen=True)
class Options:
    """Changes of one sort.

    Parameters
    ----------
    ladders
        Rows of changes, each tried by itself.
    otherwise
        Combinations to try, one after the other, if no single change helps.
    """

    ladders: Iterable[Ladder]
    otherwise: Sequence[Combination] = ()
