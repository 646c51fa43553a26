"""What moves as a whole: one model, or all models that must share a GPU."""

from collections.abc import Collection
from typing import NamedTuple

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.reduction import bundles_of
from colocate.replan.policy.fitting import Fitting, held_gb
from colocate.replan.policy.seats import Seat, in_rows, moved, room_by_gpu, taken_seats


class Unit(NamedTuple):
    """A model, or the models of a group that must share a GPU and that are, or shall be, awake."""

    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        """The name of its first model, which stands for all of them."""
        return self.models[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all its models."""
        return tuple(model.name for model in self.models)

    @property
    def shards(self) -> int:
        """How many GPUs each of its engines is on; models that share a GPU have one each."""
        return self.models[0].shards

    @property
    def replicas(self) -> int:
        """How many engines each of its models must have."""
        return self.models[0].replicas

    @property
    def most_replicas(self) -> int:
        """How many engines each of its models may have."""
        return self.models[0].most_replicas

    @property
    def held_gb(self) -> float:
        """The memory that its engines must have on all their GPUs, each model with one engine."""
        return sum(map(held_gb, self.models))

    def may_be_on(self, gpu: Gpu) -> bool:
        """Return whether the pins of all its models leave a GPU open."""
        return all(model.may_be_on(gpu) for model in self.models)

    def seats(self, places: Places) -> list[Seat]:
        """Return the GPUs of each engine; none for a group that is not complete on one GPU."""
        if len(self.models) == 1:
            return taken_seats(places, self.models[0])
        at = {tuple(places.get(name, ())) for name in self.names}
        return list(at) if len(at) == 1 and () not in at else []

    def free_seats(self, problem: Problem, places: Places) -> list[Seat]:
        """Return GPUs on which it could have one more engine, or all of a group be complete.

        A model with shards takes GPUs of one node that are about as full, in rows.

        Parameters
        ----------
        problem, places
            The models and GPUs, and who is where.
        """
        taken = {gpu for seat in self.seats(places) for gpu in seat}
        left = [gpu for gpu in problem.gpus if gpu.name not in taken and self.may_be_on(gpu)]
        return self._rows(problem, places, left)

    def seats_with_room(self, fitting: Fitting, places: Places, more: bool) -> list[Seat]:
        """Return free seats with room for an engine; none only if no GPUs have it.

        Parameters
        ----------
        fitting, places
            What fits, and who is where.
        more
            Whether it is one more engine; else it is one that leaves its seat.
        """
        taken = {gpu for seat in self.seats(places) for gpu in seat}
        held = fitting.held_by_gpu({**places, **dict.fromkeys(self.names, ())})
        engines = max(len(self.seats(places)) + more, 1)
        mine = [(name, engines) for name in self.names]
        left = [
            gpu
            for gpu in fitting.problem.gpus
            if gpu.name not in taken
            and self.may_be_on(gpu)
            and fitting.holds(gpu, [*held[gpu.name], *mine])
        ]
        return self._rows(fitting.problem, places, left)

    def moved(self, places: Places, old: Seat | None, new: Seat | None) -> Places:
        """Return places with one engine elsewhere, gone or come; a group goes as a whole.

        Parameters
        ----------
        places, old, new
            The placement, and the GPUs of the engine before and after.
        """
        if len(self.models) == 1:
            return moved(places, self.name, old, new)
        return {**places, **dict.fromkeys(self.names, new or ())}

    def _rows(self, problem: Problem, places: Places, gpus: list[Gpu]) -> list[Seat]:
        if self.shards == 1:
            return [(gpu.name,) for gpu in gpus]
        return in_rows(gpus, room_by_gpu(problem, places), self.shards)


def units_of(problem: Problem, places: Places, waking: Collection[str] = ()) -> dict[str, Unit]:
    """Return the unit of every model, by the name of the model.

    Of a group, models that are asleep and may be so are left out; they have no unit.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    waking
        Models that shall be awake though they may sleep.
    """
    models = {model.name: model for model in problem.models}
    bundles = bundles_of(problem)
    found: dict[str, Unit] = {}
    for name, model in models.items():
        if name not in bundles:
            found[name] = Unit((model,))
        elif name not in found:
            awake = [
                models[each]
                for each in bundles[name]
                if models[each].sleep_cost is None or places.get(each) or each in waking
            ]
            found.update(dict.fromkeys((each.name for each in awake), Unit(tuple(awake))))
    return found
