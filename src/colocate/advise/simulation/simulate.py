"""Replay requests on a placement, whoever made it."""

from math import inf
from pathlib import Path
from typing import Any

from colocate.advise.predict import StatedPlaces, checked_placement
from colocate.advise.simulation.means import Simulations
from colocate.advise.simulation.replays import SeedReplay, Watch, replayed
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet
from colocate.inputs.trace.reading import Trace
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number, checked_seed
from colocate.simulate.demand.kinds import Demand, PoissonDemand, TraceDemand
from colocate.simulate.options import SimulateOptions
from colocate.simulate.result import Simulation
from colocate.solver.plan import Plan

YEAR = 525_600.0
"""Minutes: the longest replay. Whoever asks for more mistook a unit, and would wait for days."""
MINUTES = 10.0
"""Long enough for some thousand requests to a small fleet, short enough for a second of work."""
MOST_SEEDS = 10_000
"""More than any interval needs."""


def simulate(
    of: Plan | Fleet | Problem,
    placement: Plan | StatedPlaces | None = None,
    *,
    demand: Demand | None = None,
    trace: str | Path | Trace | None = None,
    minutes: float | None = None,
    seed: int = 0,
    seeds: int = 1,
    workers: int | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Simulation | Simulations:
    """Simulate what users of a placement would feel, request by request.

    Parameters
    ----------
    of
        A plan, or what a placement is for: a fleet or a problem.
    placement
        Where models are, as for `predict`; another plan counts as its placement.
    demand
        The requests: `PoissonDemand()` by default, at the rates of the models.
    trace
        A CSV file of recorded requests, in place of `demand`.
    minutes
        For how long requests come: 10 by default, and the whole of a trace.
    seed, seeds
        The first seed, and how many there are in a row. Each gives other requests.
    workers
        Threads, by default as many as there are cores. Results do not depend on it.
    watch
        Called from time to time with the seconds simulated so far, over all seeds.
    options
        Fields of `SimulateOptions`, such as `prefill="chunked"`, `router="least-requests"`,
        `cache="elastic"` or `sharing="mps"`.

    Returns
    -------
    found
        A `Simulation` for one seed; for several, `Simulations` with means and 95% intervals.

    Raises
    ------
    InputError
        If there is no placement, it names what does not exist, the problem does not say what the
        models are asked, or the trace is bad.

    Examples
    --------
    >>> from colocate import read_fleet, simulate, solve
    >>> plan = solve(read_fleet("examples/latency.yaml").problem)
    >>> found = simulate(plan, minutes=1, seed=3)
    >>> [(model.name, model.tpot.p99, model.attainment) for model in found.models]
    >>> simulate(plan, minutes=1, seeds=5).goodput
    """
    problem, places = _placed(of, placement)
    number = checked_seeds(seeds)
    chosen, seconds = _demand(demand, trace), _seconds(minutes, trace is not None)
    how, first = SimulateOptions(**options), checked_seed(seed)
    replays = [
        SeedReplay(problem, places, chosen, seconds, how, each)
        for each in range(first, first + number)
    ]
    found = Simulations(
        tuple(each for each in replayed(replays, workers, watch) if each is not None)
    )
    return found.runs[0] if number == 1 else found


def checked_seeds(seeds: int) -> int:
    """Return how many seeds there are, if that makes sense."""
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= MOST_SEEDS:
        raise InputError.of("seeds", seeds, f"a whole number from 1 to {MOST_SEEDS}")
    return seeds


def _placed(
    of: Plan | Fleet | Problem, placement: Plan | StatedPlaces | None
) -> tuple[Problem, Places]:
    problem = of if isinstance(of, Problem) else of.problem
    if isinstance(placement, Plan) or (placement is None and isinstance(of, Plan)):
        plan = placement if isinstance(placement, Plan) else of
        placement = plan.placement if isinstance(plan, Plan) else None
        if not placement:
            raise InputError(Fault("has no placement", "a plan with one"))
    if placement is None:
        raise InputError.missing("placement", advice="give one, or a plan")
    return problem, checked_placement(problem, placement)


def _demand(demand: Demand | None, trace: str | Path | Trace | None) -> Demand:
    if trace is None:
        return demand or PoissonDemand()
    if demand is not None:
        raise InputError(Fault("demand and trace are both given", "one of them"))
    return TraceDemand(trace if isinstance(trace, Trace) else Trace(trace))


def _seconds(minutes: float | None, recorded: bool) -> float:
    if minutes is None:
        return inf if recorded else 60.0 * MINUTES
    return 60.0 * checked_minutes(minutes)


def checked_minutes(minutes: float) -> float:
    """Return for how long requests come, if it is no longer than a year."""
    found = checked_number(minutes, ("minutes",), positive=True)
    if found > YEAR:
        raise InputError.of("minutes", found, f"at most {YEAR:,.0f}, a year")
    return found
