"""Placements near the one that runs, which mend what is missed most.

A search by replays: models that lose most requests get one more replica, another GPU, the place of
a replica that others can spare, or fewer neighbours. The search goes on from the best such changes,
until nothing helps much. Engines that must stay where they are do so. The
shards of an engine move together, and so do models that must share a GPU.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.policy.fitting import Fitting
from colocate.replan.policy.history import Place
from colocate.replan.policy.outlook import Outlook
from colocate.replan.policy.seats import Seat, exchanged_seats
from colocate.replan.policy.units import Unit, units_of

WORST = 2
"""Models that are looked after in each round, those that lose most."""
ROUNDS = 3
"""Changes, one after the other, that one proposal is made of at most."""
WORTH = 0.004
"""Share of all requests that each further change must bring in time."""
RIVALS = 4
"""Placements from which each round goes on, the best so far: another may have a shorter way."""
SEATS = 8
"""Places that an engine may go to, those with the least to do: a fleet of a hundred GPUs has as
many changes to rate as one of ten."""

Rating = Callable[[Places], Outlook]
Move = tuple[str, Seat | None, Seat | None]
"""A model, and the GPUs of an engine before and after."""


class Proposal(NamedTuple):
    """A placement that looks better, before it is known what the way there costs."""

    places: Places
    outlook: Outlook


def nearby_proposals(
    problem: Problem, places: Places, held: frozenset[Place], rated: Rating
) -> tuple[Proposal, ...]:
    """Return placements near one: first where the search ended, then others that it passed.

    There are none if nothing is better.

    Parameters
    ----------
    problem
        The models and GPUs.
    places
        Where the models are.
    held
        Engines that must stay, or stay away.
    rated
        Says what becomes of requests with a placement.
    """
    start = Proposal(places, rated(places))
    best, kept, passed = start, [start], list[Proposal]()
    for _ in range(ROUNDS):
        near = {_key(each): each for one in kept for each in _changes(problem, one, held)}
        tried = [Proposal(each, rated(each)) for each in near.values()]
        tried.sort(key=lambda each: each.outlook.in_time, reverse=True)
        enough = best.outlook.in_time + WORTH * best.outlook.arrived
        if not tried or tried[0].outlook.in_time < enough:
            break
        best, kept = tried[0], tried[:RIVALS]
        passed += kept
    return () if best is start else (best, *(each for each in passed if each is not best))


def _key(places: Places) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what is the same for the same placement."""
    return tuple(sorted((name, tuple(sorted(gpus))) for name, gpus in places.items()))


def unserved_models(problem: Problem, places: Places) -> set[str]:
    """Return the models that must be awake and have no engine."""
    awake = (model.name for model in problem.models if model.sleep_cost is None)
    return {name for name in awake if not places.get(name)}


def _changes(problem: Problem, now: Proposal, held: frozenset[Place]) -> Iterator[Places]:
    """Yield placements one change away from one.

    Models that must be awake and have no engine are for `restorations`.

    Parameters
    ----------
    problem, now, held
        As for `nearby_proposals`.
    """
    fitting, lost = Fitting(problem), now.outlook.lost
    unserved = unserved_models(problem, now.places)
    names = (model.name for model in problem.models if model.name not in unserved)
    urgent = sorted(names, key=lambda name: -lost.get(name, 0.0))
    for name in urgent[:WORST]:
        if lost.get(name, 0.0) <= 0.0:
            continue
        units = units_of(problem, now.places, waking=(name,))
        taken = {each.name: each.seats(now.places) for each in units.values()}
        choices = _Choices(fitting, now.places, held, units, taken, now.outlook.busy)
        for changed in _changes_of(choices, units[name].name):
            if fitting.fits(changed, now.places):
                yield changed


class _Choices(NamedTuple):
    """What can be moved; units go by the names of their first models."""

    fitting: Fitting
    places: Places
    held: frozenset[Place]
    units: Mapping[str, Unit]
    taken: Mapping[str, list[Seat]]
    """The seats of their engines."""
    busy: Mapping[str, float]
    """The share of time for which each GPU computes; 0 for those that are not named."""

    def may(self, name: str, seat: Seat) -> bool:
        """Whether an engine may come to a seat or leave it, for all that moved lately."""
        return all((each, frozenset(seat)) not in self.held for each in self.units[name].names)

    def is_spare(self, name: str) -> bool:
        """Whether a model has more engines than it needs."""
        return len(self.taken[name]) > self.units[name].replicas

    def free_seats(self, name: str) -> list[Seat]:
        """Return where a model could have one more engine: the places with the least to do."""
        seats = self.units[name].free_seats(self.fitting.problem, self.places)
        open_to = [s for s in seats if self.may(name, s) and self._may_gather(name, s)]
        idle_first = sorted(open_to, key=lambda s: max(self.busy.get(gpu, 0.0) for gpu in s))
        chosen = set(idle_first[:SEATS])
        return [seat for seat in open_to if seat in chosen]

    def _may_gather(self, name: str, seat: Seat) -> bool:
        """Whether the models of a group that are elsewhere may come to a seat."""
        unit = self.units[name]
        if len(unit.models) == 1:
            return True
        elsewhere = ((each, frozenset(self.places.get(each, ()))) for each in unit.names)
        return all(at == frozenset(seat) or (each, at) not in self.held for each, at in elsewhere)

    def neighbours(self, name: str, seat: Seat) -> list[tuple[str, Seat]]:
        """Return the engines of other models that share a GPU with a seat, and may leave."""
        return [
            (other, at)
            for other, seats in self.taken.items()
            for at in seats
            if other != name and not frozenset(at).isdisjoint(seat) and self.may(other, at)
        ]

    def may_exchange(self, name: str, seat: Seat) -> bool:
        """Whether a model may have an engine on GPUs that another leaves."""
        here = [gpu for gpu in self.fitting.problem.gpus if gpu.name in seat]
        new = frozenset(seat).isdisjoint(self.places.get(name, ()))
        return new and self.may(name, seat) and all(map(self.units[name].may_be_on, here))

    def moved(self, name: str, old: Seat | None, new: Seat | None, *others: Move) -> Places:
        """Return places after one engine has moved, and others before it.

        Parameters
        ----------
        name, old, new
            Which engine, and its GPUs before and after.
        others
            The same of others.
        """
        places = self.places
        for other, left, come in (*others, (name, old, new)):
            places = self.units[other].moved(places, left, come)
        return places


def _changes_of(choices: _Choices, name: str) -> Iterator[Places]:
    """Yield placements in which a model may do better: those that move fewer engines first."""
    number = {gpu.name: place for place, gpu in enumerate(choices.fitting.problem.gpus)}
    taken = choices.taken[name]
    seats = [*taken, *choices.free_seats(name)]
    seats.sort(key=lambda each: min(number[gpu] for gpu in each))
    for seat in seats:
        if seat in taken:
            yield from _with_fewer_neighbours(choices, name, seat)
        else:
            yield from _with_seat(choices, name, seat)
    if len(taken) < choices.units[name].most_replicas:
        for seat in seats:
            if seat not in taken:
                yield from _with_room_made(choices, name, seat)


def _with_fewer_neighbours(choices: _Choices, name: str, seat: Seat) -> Iterator[Places]:
    """Yield placements in which another model leaves the GPUs of an engine.

    Parameters
    ----------
    choices, name, seat
        What can be moved, the model, and the GPUs.
    """
    for other, at in choices.neighbours(name, seat):
        for there in choices.free_seats(other):
            yield choices.moved(other, at, there)
        if choices.is_spare(other):
            yield choices.moved(other, at, None)


def _with_seat(choices: _Choices, name: str, seat: Seat) -> Iterator[Places]:
    """Yield placements in which a model has an engine that it has not now.

    Parameters
    ----------
    choices, name, seat
        What can be moved, the model, and the GPUs of the engine.
    """
    mine = choices.taken[name]
    here = choices.neighbours(name, seat)
    if len(mine) < choices.units[name].most_replicas:
        yield choices.moved(name, None, seat)
        for other, at in here:
            if choices.is_spare(other):
                yield choices.moved(name, None, seat, (other, at, None))
    for left in (each for each in mine if choices.may(name, each)):
        yield choices.moved(name, left, seat)
        for other, at in here:
            for there in exchanged_seats(left, choices.units[other].shards):
                if choices.may_exchange(other, there):
                    yield choices.moved(name, left, seat, (other, at, there))


def _with_room_made(choices: _Choices, name: str, seat: Seat) -> Iterator[Places]:
    """Yield placements in which another model goes elsewhere, where one more engine has no room.

    Parameters
    ----------
    choices, name, seat
        As for `_with_seat`.
    """
    if choices.fitting.fits(choices.moved(name, None, seat), choices.places):
        return
    mine = {gpu for each in choices.taken[name] for gpu in each}
    for other, at in choices.neighbours(name, seat):
        for there in choices.free_seats(other):
            if mine.isdisjoint(there):
                yield choices.moved(name, None, seat, (other, at, there))
