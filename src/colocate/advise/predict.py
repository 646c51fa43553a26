"""What users of a placement would feel, whoever made the placement."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from colocate.errors import InputError, closest
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Fleet
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.sharing import SHARINGS
from colocate.solver.plan import Plan

StatedPlaces = Mapping[str, str | Sequence[str]]
"""The GPUs of every model as a person states them: one name, or a name for every shard of every
replica."""


def predict(
    of: Plan | Fleet | Problem,
    placement: StatedPlaces | None = None,
    sharing: str | None = None,
) -> tuple[Prediction, ...]:
    """Predict latencies, busy chances and cache in use of every replica of a placement.

    Parameters
    ----------
    of
        A plan; or a fleet or problem, with a placement.
    placement
        The GPUs of every model, in place of those of a plan: one name, or a name for every shard of
        every replica, with the shards of a replica in a row. A model that it does not name is
        asleep. The placement may break rules, such as the memory of a GPU.
    sharing
        How engines share a GPU: `slices` or `mps`, or `alone` for none that do. None for the way
        that the fleet states.

    Returns
    -------
    predictions
        One for each replica, in the order of the problem.

    Raises
    ------
    InputError
        If there is no placement, if it names what does not exist, or if the problem does not say
        what the models are asked.
    """
    if sharing is not None and sharing not in SHARINGS:
        raise InputError.of("sharing", sharing, " or ".join(SHARINGS))
    problem = of if isinstance(of, Problem) else of.problem
    if placement is None:
        if not isinstance(of, Plan):
            raise InputError.missing("placement", advice="give one, or a plan")
        if not of.placement:
            raise InputError(Fault("has no placement", "a plan with one"))
        return predict_placement(problem, of.placement, sharing)
    return predict_placement(problem, checked_placement(problem, placement), sharing)


def checked_placement(problem: Problem, places: StatedPlaces) -> Placement:
    """Return a placement as stated, if its models and GPUs exist and all shards have a place."""
    models = {model.name: model for model in problem.models}
    gpus = {gpu.name for gpu in problem.gpus}
    _check_form(places)
    _check_fleet(places, models, gpus)
    checked: dict[str, list[str]] = {name: [] for name in models}
    for name, stated in places.items():
        owner = Owner("model", name)
        if name not in models:
            found, advice = "is not in the fleet", closest(str(name), models)
            raise InputError(Fault(found, advice=advice, owner=owner))
        on = [stated] if isinstance(stated, str) else list(stated)
        for gpu in on:
            if gpu not in gpus:
                found, advice = f"is on {gpu!r}, which is no GPU", closest(str(gpu), gpus)
                raise InputError(Fault(found, advice=advice, owner=owner))
        if len(set(on)) < len(on):
            raise InputError(Fault("is on one GPU more than once", owner=owner))
        if len(on) % models[name].shards:
            found = f"is on {len(on)} GPUs"
            expected = f"on a multiple of {models[name].shards}, its shards"
            raise InputError(Fault(found, expected, owner=owner))
        checked[name] = on
    if not any(checked.values()):
        raise InputError(Fault("places no model", "a placement of at least one"))
    return Placement(checked)


def _check_form(places: StatedPlaces) -> None:
    """Raise an error where a placement is not one at all, whatever its type says."""
    if not isinstance(places, Mapping):
        raise InputError.of("placement", places, "the GPUs of every model, by name")
    for name, on in places.items():
        if not isinstance(on, Iterable):
            found, expected = f"is on {on!r}", "on a GPU or a list of GPUs"
            raise InputError(Fault(found, expected, owner=Owner("model", name)))


def _check_fleet(places: StatedPlaces, models: Collection[str], gpus: Collection[str]) -> None:
    """Raise an error where most names of a placement are unknown: it is one of another fleet.

    Parameters
    ----------
    places
        The GPUs of every model, as stated.
    models, gpus
        Names of the fleet.
    """
    stated = [[on] if isinstance(on, str) else list(on) for on in places.values()]
    asked = {
        "models": (list(places), models),
        "GPUs": (list(dict.fromkeys(map(str, chain(*stated)))), gpus),
    }
    for what, (names, known) in asked.items():
        strange = [name for name in names if name not in known]
        if len(strange) > max(1, len(names) / 2):
            told = f"{len(strange)} of its {len(names)} {what}, such as {strange[0]!r}"
            advice = "give a placement of this fleet"
            raise InputError(Fault(f"is of another fleet: {told}, are not in this one", "", advice))
