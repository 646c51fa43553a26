"""What changes: the engines that run now, those that shall run, and the memory that they share."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.problem.pressure import within
from colocate.replan.placed_engine import PlacedEngine


@dataclass(frozen=True)
class FleetChange:
    """The engines before and after, and what limits the way between them.

    Parameters
    ----------
    memory_gb
        The memory of every GPU, also of those that are to be left.
    now, then
        The engines that run, and those that shall run. An engine in both stays as it is.
    node_of
        The machine of every GPU, whose engines load over one link; one machine if empty.
    demand
        What is lost each second while a model is not served: its requests or tokens per second.
    open_to
        GPUs that a model may be on for a while, by model; a model that is missing may be anywhere.
    may_sleep
        Models whose engines can give their memory back for a while.
    apart
        Pairs of models that may not share a GPU, not even for a while.
    """

    memory_gb: Mapping[str, float]
    now: tuple[PlacedEngine, ...]
    then: tuple[PlacedEngine, ...]
    node_of: Mapping[str, str] = field(default_factory=dict)
    demand: Mapping[str, float] = field(default_factory=dict)
    open_to: Mapping[str, frozenset[str]] = field(default_factory=dict)
    may_sleep: frozenset[str] = frozenset()
    apart: frozenset[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for when, engines in (("now", self.now), ("then", self.then)):
            held: dict[str, float] = dict.fromkeys(self.memory_gb, 0.0)
            for engine in engines:
                for gpu in engine.gpus:
                    if gpu not in held:
                        found = f"is on {gpu!r} {when}, whose memory is not stated"
                        raise InputError(Fault(found, owner=Owner("model", engine.model)))
                    held[gpu] += engine.held_gb
            for gpu, amount in held.items():
                if not within(amount, self.memory_gb[gpu]):
                    found = f"holds {amount:.6g} GB {when}"
                    expected = f"at most {self.memory_gb[gpu]:.6g} GB"
                    raise InputError(Fault(found, expected, owner=Owner("gpu", gpu)))

    @cached_property
    def stays(self) -> tuple[PlacedEngine, ...]:
        """The engines that stay as they are."""
        left = Counter(self.then)
        return tuple(engine for engine in self.now if _taken(left, engine))

    @cached_property
    def goes(self) -> tuple[PlacedEngine, ...]:
        """The engines that go."""
        left = Counter(self.then)
        return tuple(engine for engine in self.now if not _taken(left, engine))

    @cached_property
    def comes(self) -> tuple[PlacedEngine, ...]:
        """The engines that come."""
        left = Counter(self.now)
        return tuple(engine for engine in self.then if not _taken(left, engine))

    @cached_property
    def fewest(self) -> dict[str, int]:
        """How many engines of each model serve at every moment if memory allows it."""
        before = Counter(engine.model for engine in self.now)
        after = Counter(engine.model for engine in self.then)
        return {model: min(number, after[model]) for model, number in before.items()}

    @property
    def moved_gb(self) -> float:
        """The weights that are loaded."""
        return sum(engine.weights_gb for engine in self.comes)


def _taken(left: Counter[PlacedEngine], engine: PlacedEngine) -> bool:
    """Return whether an engine is still left, and count it as taken."""
    if left[engine] == 0:
        return False
    left[engine] -= 1
    return True
