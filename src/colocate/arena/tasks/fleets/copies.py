"""Cases of `fleet-copies`: hot models that need several copies, and least caches for all."""

from dataclasses import dataclass, field

from numpy.random import RandomState

from colocate.arena.tasks.fleets.planted import PRESSURE, FleetCase, planted_case, shares
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

MEMORY_GB = 80
"""All GPUs are equal: an A100 or H100."""
GPUS = (7, 12)
"""GPUs of a case: at least the first number, below the second."""
HOT_COPIES = (2, 2, 3)
"""Copies that a hot model needs; one of these is drawn."""
HOT_GB, HOT_CACHE_GB = (8, 25), (4, 12)
"""Sizes and least caches of hot models: at least the first number, below the second."""
HOTTER = 4 * PRESSURE
"""The most load that a copy has beyond what makes one copy fewer too few."""
WITHOUT_HOT = 4
"""One in so many GPUs has no hot model."""
MODELS_BESIDE, MODELS_ELSEWHERE = (2, 4), (4, 7)
"""Other models on a GPU with a hot one, and without."""
USED_BESIDE, USED_ELSEWHERE = (0.4, 0.7), (0.45, 0.65)
"""What they hold: of the memory that the load of the hot one leaves, and of all memory."""
CACHED = (0.92, 1.0)
"""The share of the memory left that least caches take."""
MOST_COPIES_HOT, MOST_COPIES, COPIES_OFTEN = 4, (1, 2, 3), (0.65, 0.2, 0.15)
"""The most copies of a hot model; of others, and how often each number is drawn."""


@dataclass
class PlantedModels:
    """Models, and the numbers of the GPUs that they are on."""

    size: list[int] = field(default_factory=list)
    share: list[int] = field(default_factory=list)
    """The load of one copy."""
    cache: list[int] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)

    def add(self, size: int, share: int, cache: int, places: list[int]) -> None:
        """Add a model with a copy on each of some GPUs.

        Parameters
        ----------
        size, share, cache
            What a copy holds, its load, and the cache that it needs.
        places
            The numbers of the GPUs.
        """
        self.size.append(size)
        self.share.append(share)
        self.cache.append(cache)
        self.places.append(places)

    def hot_on(self, gpu: int) -> tuple[int, int, int]:
        """Return size, load and least cache of the hot model on a GPU; zeros if there is none."""
        here = [n for n, places in enumerate(self.places) if gpu in places]
        size, share, cache = (sum(row[n] for n in here) for row in self._numbers)
        return size, share, cache

    @property
    def _numbers(self) -> tuple[list[int], list[int], list[int]]:
        return self.size, self.share, self.cache


def copies_case(draw: RandomState) -> FleetCase:
    """Make one case.

    A hot model has so much load that with one copy fewer each would press harder than planted on
    an empty GPU. So the planted numbers of copies are the fewest that the optimum allows.
    """
    count = int(draw.randint(*GPUS))
    planting = PlantedModels()
    open_gpus = draw.permutation(count).tolist()
    while len(open_gpus) > count // WITHOUT_HOT:
        copies = min(int(draw.choice(HOT_COPIES)), len(open_gpus))
        if copies == 1:
            break
        size = int(draw.randint(*HOT_GB))
        fewer = PRESSURE * (MEMORY_GB - size) * (copies - 1) // copies
        load = fewer + 1 + int(draw.randint(1, HOTTER))
        places = [open_gpus.pop() for _ in range(copies)]
        planting.add(size, load, int(draw.randint(*HOT_CACHE_GB)), places)
    for gpu in range(count):
        _fill(draw, planting, gpu)
    return _stated(draw, planting, count)


def _fill(draw: RandomState, planting: PlantedModels, gpu: int) -> None:
    """Put further models on a GPU, so that it has the planted pressure."""
    size, share, cache = planting.hot_on(gpu)
    if share:
        count = int(draw.randint(*MODELS_BESIDE))
        held = int((MEMORY_GB - size - share // PRESSURE) * draw.uniform(*USED_BESIDE))
    else:
        count = int(draw.randint(*MODELS_ELSEWHERE))
        held = int(MEMORY_GB * draw.uniform(*USED_ELSEWHERE))
    sizes = shares(draw, max(held, count), count, least=1).tolist()
    left = MEMORY_GB - size - sum(sizes)
    loads = shares(draw, PRESSURE * left - share, count, least=1).tolist()
    caches = shares(draw, int((left - cache) * draw.uniform(*CACHED)), count).tolist()
    for model in zip(sizes, loads, caches, strict=True):
        planting.add(*model, [gpu])


def _stated(draw: RandomState, planting: PlantedModels, count: int) -> FleetCase:
    models, placement = [], {}
    for number, row in enumerate(draw.permutation(len(planting.size)).tolist()):
        places = planting.places[row]
        most = MOST_COPIES_HOT if len(places) > 1 else int(draw.choice(MOST_COPIES, p=COPIES_OFTEN))
        name = f"model-{number}"
        models.append(
            Model(
                name,
                planting.size[row],
                load=planting.share[row] * len(places),
                most_replicas=most,
                least_cache_gb=planting.cache[row],
            )
        )
        placement[name] = [f"gpu-{gpu}" for gpu in sorted(places)]
    gpus = tuple(Gpu(f"gpu-{number}", MEMORY_GB) for number in range(count))
    return planted_case(Problem(gpus, tuple(models)), placement)
