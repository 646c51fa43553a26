"""The fleet that a replan is about: without lost GPUs, with choices kept that a plan has made."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault, Owner
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem


def named_gpus(gpus: Iterable[Gpu], names: Iterable[str]) -> tuple[str, ...]:
    """Return the GPUs that names of GPUs or nodes refer to.

    Parameters
    ----------
    gpus
        All GPUs.
    names
        The names.
    """
    known = list(gpus)
    found: dict[str, None] = {}
    for name in names:
        meant = [gpu.name for gpu in known if name in (gpu.name, gpu.node)]
        if not meant:
            choices = sorted({gpu.name for gpu in known} | {g.node for g in known if g.node})
            raise UnknownNameError.among("GPU or node", name, choices)
        found.update(dict.fromkeys(meant))
    return tuple(found)


def without_gpus(problem: Problem, gone: Collection[str]) -> Problem:
    """Return a problem without some GPUs; pins to these are forgotten.

    Parameters
    ----------
    problem
        The fleet.
    gone
        The names of GPUs.
    """
    left = tuple(gpu for gpu in problem.gpus if gpu.name not in gone)
    if len(left) == len(problem.gpus):
        return problem
    if not left:
        raise InputError(Fault("no GPU is left", advice="leave fewer GPUs out"))
    known = {name for gpu in left for name in (gpu.name, gpu.node, gpu.kind)}
    models = []
    for model in problem.models:
        only = tuple(name for name in model.only if name in known)
        if model.only and not only:
            found = f"must be on {', '.join(model.only)}, and none of these GPUs is left"
            raise InputError(Fault(found, owner=Owner("model", model.name), path=("only",)))
        never = tuple(name for name in model.never if name in known)
        models.append(model.changed(only=only, never=never) if model.only or model.never else model)
    return replace(problem, gpus=left, models=tuple(models))


def with_choices_of(problem: Problem, old: Places) -> Problem:
    """Return a problem with numbers of replicas and sleepers as a placement has them.

    A model that the placement does not know is awake, with as few replicas as it may have.

    Parameters
    ----------
    problem
        The fleet.
    old
        The placement that runs.
    """
    asleep = {m.name for m in problem.sleepers if m.name in old and not old[m.name]}
    awake = problem.awake(asleep)
    if awake is None:
        raise InputError(Fault("every model is asleep", "a placement with some that are awake"))
    counts = {
        model.name: min(
            max(len(old.get(model.name, ())) // model.shards, model.replicas), model.most_replicas
        )
        for model in awake.models
    }
    return awake.with_replicas(counts)


def keeping(problem: Problem, old: Places, keep: Iterable[str]) -> Problem:
    """Return a problem in which some models may only be where they are.

    Parameters
    ----------
    problem, old
        The fleet, and the placement that runs.
    keep
        The names of models.
    """
    names = {model.name: model for model in problem.models}
    there = {gpu.name for gpu in problem.gpus}
    for name in (kept := list(keep)):
        if name not in names:
            raise UnknownNameError.among("model", name, list(names))
        places = old.get(name, ())
        if not places or not there.issuperset(places):
            found = "may not move, but is not on GPUs of the fleet now"
            raise InputError(Fault(found, owner=Owner("model", name), path=("keep",)))

    def pinned(model: Model) -> Model:
        return model.changed(only=tuple(old[model.name]), never=()) if model.name in kept else model

    return replace(problem, models=tuple(pinned(model) for model in problem.models))
