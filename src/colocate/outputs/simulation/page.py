"""Replays as one page of HTML."""

from collections.abc import Sequence

from colocate.advise.simulation.comparison import SimulatedWay
from colocate.problem.problem import Problem


def simulation_page(
    problem: Problem, ways: Sequence[SimulatedWay], steady: bool, command: str
) -> str:
    """Draw."""
    return ""
