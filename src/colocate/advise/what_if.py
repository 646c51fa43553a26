"""A problem that is another one changed in one respect: what might help, stated, not yet tried."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from colocate.problem.problem import Problem


class ChangeKind(StrEnum):
    """In which respect."""

    GPUS = "gpus"
    """There are more GPUs."""
    QUANTISE = "quantise"
    """Weights are kept in fewer bits."""
    SLEEP = "sleep"
    """Models are left out."""
    SHARDS = "shards"
    """A replica of a model is cut in another number of parts."""
    REPLICAS = "replicas"
    """There is another number of replicas of a model."""
    APART = "apart"
    """Models of a group may share a GPU."""
    TOGETHER = "together"
    """Models of a group need not share a GPU."""
    MOST_MODELS = "most_models"
    """A GPU may hold any number of models."""
    MOST_PRESSURE = "most_pressure"
    """GPUs may be pressed as hard as need be."""
    ONLY = "only"
    """A model need not be on certain GPUs."""
    NEVER = "never"
    """A model may be on the GPUs that were forbidden to it."""
    LIMIT = "limit"
    """A resource has no limit."""
    ONE_NODE = "one_node"
    """Shards of a model may be in different nodes."""


@dataclass(frozen=True)
class Change:
    """One change and the problem that it leads to.

    Parameters
    ----------
    kind
        In which respect the problem is changed.
    problem
        What is to be placed then.
    names
        The models that it is about, or the resource of a limit.
    to
        What it becomes: a kind of GPU, or a format of weights.
    count
        How many GPUs are added, or how many shards or replicas there are then.
    gb
        Memory that it adds or frees: how large a change it is.
    before_gb, after_gb
        What weights take before and after they are quantised.
    demand
        What is lost while models sleep, in the unit that the fleet has.
    node
        The machine that GPUs are added to, empty where there is only one.
    assumed
        Whether a size is an assumption, not a count of the weights.
    """

    kind: ChangeKind
    problem: Problem = field(repr=False)
    names: tuple[str, ...] = ()
    to: str = ""
    count: int = 0
    gb: float = 0.0
    before_gb: float = 0.0
    after_gb: float = 0.0
    demand: float = 0.0
    node: str = ""
    assumed: bool = False


Ladder = Iterable[Change]
"""Changes of one sort, smallest first: what is wanted is the first one that helps."""


@dataclass(frozen=True)
class Combination:
    """A change that can be made to any number of things at once.

    Parameters
    ----------
    names
        The things, those that should rather be changed first.
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
        Each is tried by itself.
    otherwise
        What is tried if none of them helps, one after the other.
    """

    ladders: Iterable[Ladder]
    otherwise: Sequence[Combination] = ()
