"""What the solver finds out about a case that nobody has solved yet."""

from colocate.arena.tasks.fleets.planted import FleetCase
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.solve import solve


def solved_case(problem: Problem, seconds: float) -> FleetCase:
    """Solve a problem, and have the checker confirm both the placement and the bound.

    Parameters
    ----------
    problem
        The problem; it has a placement.
    seconds
        How long the solver may take.
    """
    plan = solve(problem, time_limit=seconds)
    if plan.interrupted:  # who waits for cases does not want worse ones
        raise KeyboardInterrupt
    placement = {model: list(gpus) for model, gpus in plan.placement.items()}
    verdict = verify(problem, placement)
    value = verdict.ratio if problem.objective == "latency" else verdict.pressure
    certificate = plan.certificate
    assert certificate is not None, "the solver proves something about every fleet"
    assert not refuted(problem, certificate), "the checker confirms what the solver proves"
    return FleetCase(problem, placement, value, certificate)
