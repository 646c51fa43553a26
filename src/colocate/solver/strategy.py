"""A strategy: a sequence of blocks, and the run that applies them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.layout import ALWAYS, Layout, arrange, empty_layout
from colocate.problem.pressure import lower


class Constructor(Protocol):
    """A block that builds a placement from nothing."""

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; return False if some model found no room."""


class Improver(Protocol):
    """A block that improves a placement."""

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Change the layout in place; its peak never ends higher than it began.

        Parameters
        ----------
        instance
            The problem as arrays.
        layout
            Where every model is.
        rng
            The source of all random draws.
        """


@dataclass(frozen=True)
class Strategy:
    """A named way to a placement.

    A run improves every start by itself. It chooses the best result by the highest, then the second
    highest, then the average pressure, and applies the finish to it.
    """

    name: str
    summary: str
    starts: tuple[Constructor, ...]
    each: tuple[Improver, ...] = ()
    finish: tuple[Improver, ...] = ()
    reported: float | None = None
    """The score that the record reports for it on the public suite, if it reports one."""
    remark: str = ""

    def run(self, instance: Instance, rng: Generator, go: Ints = ALWAYS) -> Ints | None:
        """Return a GPU for every model, or None if no start found room for all of them.

        Parameters
        ----------
        instance
            The problem as arrays.
        rng
            The source of all random draws.
        go
            Kernels stop when its first number is 0.
        """
        layout = empty_layout(instance, go)
        best: Ints | None = None
        rating: tuple[float, ...] = ()
        for start in self.starts:
            if start.construct(instance, layout):
                _improve(self.each, instance, layout, rng)
                if best is None or _is_better(_rating(layout.pressure), rating):
                    best, rating = layout.gpu_of.copy(), _rating(layout.pressure)
        if best is None:
            return None
        arrange(instance, layout, best)
        _improve(self.finish, instance, layout, rng)
        return layout.gpu_of


def _improve(
    blocks: Sequence[Improver], instance: Instance, layout: Layout, rng: Generator
) -> None:
    for block in blocks:
        block.improve(instance, layout, rng)


def _is_better(rating: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Compare figure by figure; figures that differ only by rounding count as equal."""
    for mine, theirs in zip(rating, other, strict=True):
        if lower(mine, theirs) or lower(theirs, mine):
            return mine < theirs
    return False


def _rating(pressures: Floats) -> tuple[float, float, float]:
    downwards = sorted(pressures.tolist(), reverse=True)
    return downwards[0], downwards[min(1, len(downwards) - 1)], float(pressures.mean())
