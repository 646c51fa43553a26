"""Named sets of problems, each made from a seed and recognised by its digest."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.random import RandomState

from colocate.arena.families import CASES as FAMILIES
from colocate.arena.families import families
from colocate.arena.published_sizes import draw_sizes
from colocate.arena.real_fleets import chatlmsys, prism24
from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

Demand = tuple[float, float, float]
"""Size in GB, request rate, SLO."""

MEMORY_GB = 80
CASES = 50
"""Cases of the public benchmark, and of the suites like it."""


@dataclass(frozen=True)
class Case:
    """One problem of a suite."""

    name: str
    problem: Problem


@dataclass(frozen=True)
class Suite:
    """A named set of cases.

    Parameters
    ----------
    name
        Its name in commands.
    summary
        What is special about it, in a few words.
    cases
        Its problems, in order.
    """

    name: str
    summary: str
    cases: tuple[Case, ...]

    @cached_property
    def digest(self) -> str:
        """A short hash over all cases."""
        return sha256("".join(case.problem.digest for case in self.cases).encode()).hexdigest()[:16]


def load_suite(name: str) -> Suite:
    """Make the suite with this name."""
    recipe = _recipe(name)
    problems = enumerate(recipe.make(recipe.seed or 0))
    cases = tuple(
        Case(f"{name}-{recipe.names[number] if recipe.names else f'{number:02d}'}", problem)
        for number, problem in problems
    )
    return Suite(name, recipe.summary, cases)


def unseen_problems(name: str, seed: int) -> Iterator[Problem]:
    """Yield problems that are like those of a suite but not among its cases."""
    recipe = _recipe(name)
    if recipe.seed is None:
        found = "is recorded, not drawn: there are no others like it"
        raise InputError(Fault(found, value=name, path=("suite",)))
    if seed == recipe.seed:
        raise InputError.of("seed", seed, f"another one than that of suite {name!r} itself")
    return recipe.make(seed)


def _recipe(name: str) -> "Recipe":
    if name not in SUITES:
        raise UnknownNameError.among("suite", name, SUITES)
    return SUITES[name]


def _fleet(memories: list[int], models: Sequence[Demand]) -> Problem:
    gpus = tuple(Gpu(f"gpu-{number}", memory) for number, memory in enumerate(memories))
    named = (Model(f"model-{n}", size, rate, slo) for n, (size, rate, slo) in enumerate(models))
    return Problem(gpus, tuple(named))


def _shuffled(draw: RandomState, models: Sequence[Demand]) -> list[Demand]:
    return [models[place] for place in draw.permutation(len(models))]


def _adrs(seed: int) -> Iterator[Problem]:
    draw = RandomState(seed)
    for _ in range(CASES):
        gpus = draw.randint(5, 10)
        models = [
            (int(draw.randint(10, 30)), int(draw.randint(1, 10)), int(draw.randint(5, 10)))
            for _ in range(2 * gpus)
        ]
        yield _fleet([MEMORY_GB] * gpus, models)


def _idle(seed: int) -> Iterator[Problem]:
    draw = RandomState(seed)
    for _ in range(CASES):
        gpus = draw.randint(5, 10)
        models: list[Demand] = []
        for number in range(3 * gpus):
            rate = 0 if number % 3 == 0 else int(draw.randint(1, 10))
            models.append((int(draw.randint(8, 24)), rate, int(draw.randint(5, 10))))
        yield _fleet([MEMORY_GB] * gpus, _shuffled(draw, models))


def _filled(draw: RandomState, memory: int, low: float, high: float, parts: int) -> list[float]:
    """Cut a share of a GPU's memory, between low and high, into sizes of whole tenths of a GB."""
    total = int(10 * memory * draw.uniform(low, high))
    cuts = np.sort(draw.choice(np.arange(1, total), parts - 1, replace=False))
    return [float(size) / 10 for size in np.diff([0, *cuts, total])]


def _planted(draw: RandomState, memories: list[int], low: float, high: float) -> Problem:
    """Make a problem by filling every GPU, so that a placement exists, and forgetting it."""
    models: list[Demand] = []
    for memory in memories:
        sizes = _filled(draw, memory, low, high, parts=int(draw.randint(2, 5)))
        models += [(s, int(draw.randint(1, 10)), int(draw.randint(5, 10))) for s in sizes]
    return _fleet(memories, _shuffled(draw, models))


def _tight(seed: int) -> Iterator[Problem]:
    draw = RandomState(seed)
    for _ in range(CASES):
        yield _planted(draw, [MEMORY_GB] * draw.randint(5, 10), 0.85, 0.95)


def _mixed(seed: int) -> Iterator[Problem]:
    draw = RandomState(seed)
    for _ in range(CASES):
        memories = [24, 48, 80, 141, *draw.choice([24, 48, 80, 141], draw.randint(1, 6))]
        yield _planted(draw, [int(memory) for memory in memories], 0.4, 0.7)


def _longtail(seed: int) -> Iterator[Problem]:
    draw = RandomState(seed)
    for _ in range(CASES):
        gpus = int(draw.randint(4, 9))
        chosen = np.empty(0)
        while not 0.55 <= chosen.sum() / (MEMORY_GB * gpus) <= 0.65:
            chosen = draw_sizes(draw, 5 * gpus)
        ranks = 1 + draw.permutation(len(chosen))
        models = [(float(s), 60.0 / r, 10) for s, r in zip(chosen, ranks, strict=True)]
        yield _fleet([MEMORY_GB] * gpus, models)


def _scale(seed: int) -> Iterator[Problem]:
    """Sizes in tenths of a GB that take half of all memory, and rates in hundredths."""
    for gpus in (8, 64, 512, 4096):
        for models_per_gpu in (2, 3, 4, 8):
            draw = RandomState(seed + 10 * gpus + models_per_gpu)
            low, high = 200 // models_per_gpu, 600 // models_per_gpu
            models = [
                (draw.randint(low, high) / 10, draw.randint(100, 1000) / 100, draw.randint(5, 10))
                for _ in range(models_per_gpu * gpus)
            ]
            yield _fleet([MEMORY_GB] * gpus, models)


@dataclass(frozen=True)
class Recipe:
    """How to make a suite."""

    summary: str
    """What is special about the suite."""
    seed: int | None
    """None if nothing is random."""
    make: Callable[[int], Iterator[Problem]]
    """Yields the problems, always the same ones for a seed."""
    names: tuple[str, ...] = ()
    """The names of the cases; by default they are numbered."""


SUITES = {
    "adrs": Recipe("the public benchmark: 50 cases, 2 models a GPU", 42, _adrs),
    "idle": Recipe("a third of the models have no load", 1001, _idle),
    "tight": Recipe("memory 85 to 95 percent full", 1002, _tight),
    "mixed": Recipe("GPUs of 24, 48, 80 and 141 GB", 1003, _mixed),
    "longtail": Recipe("sizes of published models, loads by Zipf's law", 1004, _longtail),
    "scale": Recipe("2, 3, 4 and 8 models a GPU on 8 to 4,096 GPUs", 1005, _scale),
    "chatlmsys": Recipe("MuxServe: 16 LLaMA models, some in shards, on 32 GPUs", None, chatlmsys),
    "prism24": Recipe("Prism: 24 measured models on 4 and 8 GPUs, by Zipf's law", 1006, prism24),
    "families": Recipe("large fleets, each hard in one way", 2006, families, tuple(FAMILIES)),
}
