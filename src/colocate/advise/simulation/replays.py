"""Replays side by side in threads: kernels leave Python's lock alone, so cores are used."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import Demand
from colocate.simulate.options import SimulateOptions
from colocate.simulate.result import Simulation
from colocate.simulate.run import simulate_placement
from colocate.solver.interrupt import stopping_on_interrupt

Watch = Callable[[float], None]
"""Takes the seconds that were simulated so far, over all replays."""


@dataclass(frozen=True)
class SeedReplay:
    """One placement, one seed.

    Parameters
    ----------
    problem, placement
        What is simulated.
    demand, seconds
        The requests, and for how long they come.
    options
        What engines, routers and caches do.
    seed
        Decides on all that is random.
    """

    problem: Problem
    placement: Places
    demand: Demand
    seconds: float
    options: SimulateOptions
    seed: int

    def run(self, watch: Watch) -> Simulation:
        """Simulate it."""
        pieces = self.demand.pieces(self.problem, self.seconds, self.seed)
        return simulate_placement(
            self.problem, self.placement, pieces, self.options, self.seed, watch
        )


@dataclass
class _Progress:
    """How far all replays are together, and whether to stop."""

    watch: Watch | None
    stop: Event = field(default_factory=Event)
    seconds: float = 0.0
    lock: Lock = field(default_factory=Lock)

    def watching(self) -> Watch:
        """Return what one replay tells how far it is."""
        before = 0.0

        def told(seconds: float) -> None:
            nonlocal before
            with self.lock:
                self.seconds += seconds - before
                before = seconds
                if self.watch is not None:
                    self.watch(self.seconds)
            if self.stop.is_set():
                raise KeyboardInterrupt

        return told


def replayed(
    replays: Sequence[SeedReplay], workers: int | None = None, watch: Watch | None = None
) -> list[Simulation | None]:
    """Return what replays found, in their order; None for those that an interrupt left undone.

    Parameters
    ----------
    replays
        What to simulate.
    workers
        Threads; None for as many as there are cores. The results do not depend on it.
    watch
        Called from time to time, from any thread, one at a time. If it raises KeyboardInterrupt,
        or Ctrl-C does, what was simulated so far comes back.
    """
    progress = _Progress(watch)
    threads = min(workers or os.cpu_count() or 1, len(replays))

    def run(replay: SeedReplay) -> Simulation | None:
        if progress.stop.is_set():
            return None
        found = replay.run(progress.watching())
        if not found.complete:
            progress.stop.set()
        return found

    with stopping_on_interrupt(progress.stop.set):
        if threads == 1:
            return [run(replay) for replay in replays]
        with ThreadPoolExecutor(threads) as pool:
            try:
                return list(pool.map(run, replays))
            finally:
                progress.stop.set()
