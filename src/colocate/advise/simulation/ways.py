"""Replay the same requests on several placements."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from colocate.advise.simulation.comparison import SimulatedWay
from colocate.advise.simulation.means import Simulations
from colocate.advise.simulation.replays import SeedReplay, Watch, replayed
from colocate.advise.simulation.verdicts import model_replays
from colocate.latency.prediction import predict_placement
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import Demand
from colocate.simulate.options import SimulateOptions
from colocate.simulate.result import Simulation


def simulated_ways(
    problem: Problem,
    placements: Mapping[str, Placement],
    demand: Demand,
    seconds: float,
    options: SimulateOptions,
    seeds: Sequence[int],
    workers: int | None = None,
    watch: Watch | None = None,
) -> tuple[SimulatedWay, ...]:
    """Return what users of placements felt, all of them on the same requests.

    After an interrupt it is the first seeds that were replayed on all placements; if there is none,
    as much of the first placement as was simulated; if that is nothing, no way at all.

    Parameters
    ----------
    problem, placements
        The models, and ways to place them by name.
    demand, seconds
        The requests, and for how long they come.
    options
        What engines, routers and caches do.
    seeds
        Each gives other requests.
    workers, watch
        As for `replayed`.
    """
    replays = [
        SeedReplay(problem, placement, demand, seconds, options, seed)
        for seed in seeds
        for placement in placements.values()
    ]
    found = replayed(replays, workers, watch)
    rows = [found[row : row + len(placements)] for row in range(0, len(found), len(placements))]
    runs = list(zip(*_whole(rows), strict=True))
    return tuple(
        _way(problem, name, placement, Simulations(of_way), options)
        for (name, placement), of_way in zip(placements.items(), runs, strict=False)
    )


def _whole(rows: list[list[Simulation | None]]) -> list[tuple[Simulation, ...]]:
    """Return the first seeds that are whole, or else what there is of the first placement."""
    known = [tuple(run for run in row if run is not None and run.complete) for row in rows]
    pairs = zip(known, rows, strict=True)
    whole = [row for row, _ in takewhile(lambda pair: len(pair[0]) == len(pair[1]), pairs)]
    begun: list[tuple[Simulation, ...]] = [
        (row[0],) for row in rows if row[0] is not None and row[0].seconds > 0.0
    ]
    return whole or begun[:1]


def _way(
    problem: Problem,
    name: str,
    placement: Placement,
    found: Simulations,
    options: SimulateOptions,
) -> SimulatedWay:
    """Return a placement with what its users felt, and what the law says of it.

    Parameters
    ----------
    problem, name, placement
        What was simulated.
    found
        What the replays gave.
    options
        How engines share a GPU.
    """
    told = predict_placement(problem, placement, options.sharing)
    return SimulatedWay(name, found, model_replays(problem, placement, found, told))
