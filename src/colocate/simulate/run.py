"""Simulate a placement: what its users would feel, request by request."""

from collections.abc import Iterable

from colocate.errors import InputError, closest
from colocate.fault import Fault, Owner
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.layout import first_state
from colocate.simulate.options import SimulateOptions
from colocate.simulate.replay import FailureEvent, RequestReplay, Watch, check_requests
from colocate.simulate.result import Simulation


def simulate_placement(
    problem: Problem,
    placement: Places,
    pieces: Iterable[RequestStream],
    options: SimulateOptions | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Simulation:
    """Replay requests on a placement.

    Parameters
    ----------
    problem
        The models, with how fast they are, and the GPUs.
    placement
        The GPUs of every model; a model without any is asleep.
    pieces
        The requests, in order of time. How they are cut into pieces makes no difference.
    options
        What engines, routers and caches do.
    seed
        Decides what is random: which replicas a router draws.
    watch
        Called from time to time with the seconds simulated so far. If it raises KeyboardInterrupt,
        what was simulated so far comes back.

    Raises
    ------
    InputError
        If the problem does not say what the models are asked, if the placement names a model or a
        GPU that it does not have, or if requests are out of order.
    """
    return replay_of(problem, placement, options, seed, watch).all_of(pieces)


def replay_of(
    problem: Problem,
    placement: Places,
    options: SimulateOptions | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> RequestReplay:
    """Return the replay of a placement before its first request, as for `simulate_placement`.

    Parameters
    ----------
    problem, placement, options, seed, watch
        As for `simulate_placement`.
    """
    settings = options or SimulateOptions()
    check_requests(problem)
    _check_names(problem, placement)
    replay = RequestReplay(
        problem, first_state(problem, placement, settings, checked_seed(seed)), watch
    )
    for failure in settings.failures:
        replay.at(failure.time, FailureEvent(replay.engine_of(failure), failure.seconds))
    return replay


def _check_names(problem: Problem, placement: Places) -> None:
    """Raise an error where a placement names what the problem does not have."""
    models, gpus = ({each.name for each in items} for items in (problem.models, problem.gpus))
    for model, on in placement.items():
        if model not in models:
            advice = closest(str(model), models)
            raise InputError(
                Fault("is not in the problem", "", advice, owner=Owner("model", model))
            )
        if isinstance(on, str) or not isinstance(on, Iterable):
            found, expected = f"is on {on!r}", "on a list of GPUs"
            raise InputError(Fault(found, expected, owner=Owner("model", model)))
        for gpu in on:
            if gpu not in gpus:
                found, advice = f"is on {gpu!r}, which is no GPU", closest(str(gpu), gpus)
                raise InputError(Fault(found, "", advice, owner=Owner("model", model)))
        if len(set(on)) < len(on):
            found = "is on one GPU more than once"
            raise InputError(Fault(found, owner=Owner("model", model)))
