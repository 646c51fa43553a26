"""Replay requests on engines whose lives are all known beforehand."""

from collections.abc import Iterable

from colocate.problem.problem import Problem
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.replay import LiveReplay
from colocate.simulate.options import SimulateOptions
from colocate.simulate.replay import Watch
from colocate.simulate.result import Simulation


def simulate_lives(
    problem: Problem,
    lives: Iterable[EngineLife],
    pieces: Iterable[RequestStream],
    options: SimulateOptions | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Simulation:
    """Replay requests on engines that come and go.

    Parameters
    ----------
    problem
        The models, with how fast they are, and the GPUs.
    lives
        The engines. A model without any is asleep, and its requests are refused.
    pieces, options, seed, watch
        As for `simulate_placement`; nobody wakes models.

    Raises
    ------
    InputError
        If a GPU would be over its memory at any moment, or as for `simulate_placement`.
    """
    return LiveReplay(problem, lives, (), options, seed, watch).all_of(pieces)
