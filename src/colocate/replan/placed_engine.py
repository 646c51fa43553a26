"""The engines of a placement: what each replica holds on its GPUs, and what loading it takes.

Two modes of memory. `fixed`: an engine takes its cache when it starts and keeps it, as vLLM and
SGLang do; another size of the cache is a restart. `elastic`: engines hold their size, and caches
shrink and grow between them, as under kvcached; each keeps its least cache.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from colocate.errors import InputError
from colocate.problem.cache import caches_of
from colocate.problem.parts import Places
from colocate.problem.problem import Problem

MemoryMode = Literal["fixed", "elastic"]
MEMORY_MODES: tuple[MemoryMode, ...] = get_args(MemoryMode)


@dataclass(frozen=True)
class PlacedEngine:
    """One replica of a model on its GPUs.

    Parameters
    ----------
    model, gpus
        Which model, and its GPUs, one for each shard.
    held_gb
        What it holds on each of them while it runs.
    weights_gb
        What is loaded onto all of them together.
    cache_gb
        Its cache on each of them; under `elastic` its share when it starts.
    """

    model: str
    gpus: tuple[str, ...]
    held_gb: float
    weights_gb: float
    cache_gb: float = 0.0

    @property
    def place(self) -> tuple[str, frozenset[str]]:
        """Which model is on which GPUs, however its shards are numbered."""
        return self.model, frozenset(self.gpus)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data for JSON."""
        return {
            "model": self.model,
            "gpus": list(self.gpus),
            "held_gb": self.held_gb,
            "weights_gb": self.weights_gb,
            "cache_gb": self.cache_gb,
        }


def checked_mode(mode: str) -> MemoryMode:
    """Return a mode of memory, or refuse it."""
    for known in MEMORY_MODES:
        if mode == known:
            return known
    raise InputError.of("memory", mode, " or ".join(MEMORY_MODES))


def engines_of(
    problem: Problem, placement: Places, mode: MemoryMode, weights_gb: Mapping[str, float]
) -> tuple[PlacedEngine, ...]:
    """Return the engines of a placement.

    Parameters
    ----------
    problem, placement
        The models and GPUs, and who is where.
    mode
        Whether engines keep their cache, or share it.
    weights_gb
        The GB of weights of a model, without overhead; the whole size where it is not known.
    """
    size = {model.name: model.size_gb for model in problem.models}
    return tuple(
        PlacedEngine(
            cache.model,
            cache.gpus,
            cache.size_gb + (cache.cache_gb if mode == "fixed" else cache.least_gb),
            weights_gb.get(cache.model, size[cache.model]),
            cache.cache_gb,
        )
        for cache in caches_of(problem, placement)
    )


def held_by_gpu(engines: Iterable[PlacedEngine]) -> dict[str, float]:
    """Return what engines hold on each GPU that has one, in GB."""
    found: dict[str, float] = {}
    for engine in engines:
        for gpu in engine.gpus:
            found[gpu] = found.get(gpu, 0.0) + engine.held_gb
    return found
