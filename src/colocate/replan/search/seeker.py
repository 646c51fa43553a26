"""One question to the kernels: a placement within a target and a budget, if there is one."""

import numpy as np

from colocate.problem.instance import Floats, Ints, frozen
from colocate.problem.layout import NOWHERE, arrange, arrange_some, empty_layout
from colocate.problem.tolerance import FIT
from colocate.replan.search.item_homes import ItemHomes
from colocate.replan.search.kernel.filling import fill_within
from colocate.replan.search.kernel.moving import MOST_OVER, SoughtLimits
from colocate.replan.search.kernel.relieving import relieve_by_pressure
from colocate.replan.search.kernel.relieving_latency import no_kept_costs, relieve_by_latency
from colocate.replan.search.kernel.seeking import seek_by_latency
from colocate.solver.deadline import Deadline
from colocate.solver.latency.fill import fill_cheaply
from colocate.solver.latency.item_moves import rate_all
from colocate.solver.latency.now import empty_state
from colocate.solver.targets import by_latency

MOST = 1e300
"""Stands for no limit in kernels."""
COLDER = 0.02
"""The last heat as a share of the first: then hardly anything worse is kept by chance."""


class Seeker:
    """Looks for placements by pressure, or by latency where that decides.

    Parameters
    ----------
    homes
        The items, and where they are now.
    deadline
        When kernels end.
    seed
        Decides every random choice.
    """

    def __init__(self, homes: ItemHomes, deadline: Deadline, seed: int) -> None:
        self.homes = homes
        self._rng = np.random.default_rng(seed)
        instance, shrunk = homes.reduction.instance, 1.0 - FIT / 2
        self._instance = frozen(
            instance._replace(capacity=instance.capacity * shrunk, limit=instance.limit * shrunk)
        )
        self._layout = empty_layout(self._instance, deadline.go)
        latencies = by_latency(homes.reduction.whole)
        self._now = empty_state(homes.reduction, deadline.go) if latencies else None
        sorts = int(instance.rules.alike.max()) + 1
        self._kept = no_kept_costs(len(instance.size), sorts, np.random.default_rng(seed))
        self.draws = self._now is not None and bool(self._now.table.joined)
        """Whether moves are drawn by chance, and so more of them are tried: where shards join GPUs,
        the cost of one does not tell what an exchange brings."""

    def value(self, gpu_of: Ints) -> float:
        """Return what a placement of the items minimises, or far more if it breaks a target."""
        return float(self.values(gpu_of).max())

    def values(self, gpu_of: Ints) -> Floats:
        """Return the same for every GPU; valid until the next question."""
        if self._now is not None:
            arrange(self._now.instance, self._now.layout, gpu_of)
            rate_all(self._now)
            return self._now.costs.cost
        arrange(self._instance, self._layout, gpu_of)
        return self._layout.pressure

    def over(self, gpu_of: Ints, target: float) -> float:
        """Return the sum of the shares by which GPUs exceed a target."""
        return float(np.clip(self.values(gpu_of) / target - 1.0, 0.0, MOST_OVER).sum())

    def seek(
        self, start: Ints, target: float, budget_gb: float, steps: int, heat: float
    ) -> Ints | None:
        """Return a placement of the items within a target and a budget; None if none was found.

        Parameters
        ----------
        start
            Where the items are at first.
        target, budget_gb
            The limits.
        steps
            How many changes to try.
        heat
            How much worse a change may be, as a share of the target, and still be kept by chance.
        """
        moving = self.homes.moving
        if len(moving.free) == 0:
            return None
        limits = _limits(target, budget_gb, steps, heat)
        self.value(start)
        if self._now is not None:
            if self.draws:
                found = seek_by_latency(self._now, moving, limits, self._rng)
            else:
                found = relieve_by_latency(self._now, self._kept, moving, limits, self._rng)
            return self._now.layout.gpu_of.copy() if found else None
        found = relieve_by_pressure(self._instance, self._layout, moving, limits, self._rng)
        return self._layout.gpu_of.copy() if found else None

    def filled(self, kept: Ints, target: float, tightest: bool) -> Ints | None:
        """Return a placement in which the items without a place have one; None if there is none.

        Parameters
        ----------
        kept
            Where the items are, `NOWHERE` for those that have no place.
        target
            The value that should not be exceeded.
        tightest
            Whether GPUs are filled up one after the other.
        """
        instance = self._instance
        weight = instance.load.max(axis=1) + min(target, 1e30) * instance.size
        homeless = np.flatnonzero(kept == NOWHERE)
        homeless = homeless[np.argsort(-weight[homeless], kind="stable")]
        if self._now is not None:
            arrange_some(self._now.instance, self._now.layout, kept)
            found = fill_cheaply(self._now, homeless)
            return self._now.layout.gpu_of.copy() if found else None
        arrange_some(instance, self._layout, kept)
        found = fill_within(instance, self._layout, homeless, float(target), tightest)
        return self._layout.gpu_of.copy() if found else None


def _limits(target: float, budget_gb: float, steps: int, heat: float) -> SoughtLimits:
    budget = min(float(budget_gb), MOST)
    return SoughtLimits(min(float(target), MOST), budget, heat, heat * COLDER, steps)
