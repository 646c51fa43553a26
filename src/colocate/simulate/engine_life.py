"""From when to when an engine is there: what a fleet that changes is made of."""

from dataclasses import dataclass
from math import inf, isnan

from colocate.errors import InputError
from colocate.fault import Owner
from colocate.problem.quantity import checked_name, checked_number

NAMELESS = Owner("engine", None)


@dataclass(frozen=True)
class EngineLife:
    """One engine of a fleet that changes: a replica of a model on some GPUs, from when to when.

    Moments are seconds since the stream of requests began. An engine that is loaded before that is
    there from the beginning.

    Parameters
    ----------
    model
        The name of its model.
    gpus
        The names of its GPUs, one for each shard.
    cache_gb
        Its cache on each of them; of no meaning where the engines of a GPU share one.
    ready
        When it takes requests for the first time.
    closed
        When it takes none any more: those that it has go on.
    gone
        When it holds no memory any more. What it has not finished by then goes back to the router,
        and is done anew.
    loading
        When it begins to hold its memory, to be ready later; None for no time before `ready`.
    """

    model: str
    gpus: tuple[str, ...]
    cache_gb: float = 0.0
    ready: float = 0.0
    closed: float = inf
    gone: float = inf
    loading: float | None = None

    def __post_init__(self) -> None:
        owner = Owner("engine", checked_name(self.model, ("model",), NAMELESS))
        if isinstance(self.gpus, str):
            raise InputError.of("gpus", self.gpus, "a list of names", owner)
        object.__setattr__(self, "gpus", tuple(self.gpus))
        cache = checked_number(self.cache_gb, ("cache_gb",), owner)
        object.__setattr__(self, "cache_gb", cache)
        if self.loading is None:
            object.__setattr__(self, "loading", self.ready)
        order = ("loading", "ready", "closed", "gone")
        moments = [float(getattr(self, field)) for field in order]
        for field, before, moment in zip(order[1:], moments, moments[1:], strict=False):
            if isnan(moment) or not moment >= before:
                raise InputError.of(field, moment, f"at least {before:g}, when it began", owner)
        if moments[0] == inf or moments[1] == inf:
            raise InputError.of("ready", moments[1], "a finite number", owner)
        for field, moment in zip(order, moments, strict=True):
            object.__setattr__(self, field, moment)

    @property
    def begin(self) -> float:
        """When it begins to hold its memory."""
        assert self.loading is not None, "set where it is made"
        return self.loading
