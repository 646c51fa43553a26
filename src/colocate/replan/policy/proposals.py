"""Placements near the one that runs, which mend what is missed most.

A search by replays: models that lose most requests get one more replica, another GPU, the place of
a replica that others can spare, or fewer neighbours. The best such change is made, and the search
goes on from there, until nothing helps much. A model that must be awake and has no engine comes
first, however rarely it is asked. Engines that must stay where they are do so, and so do models
that must share a GPU. The shards of an engine move together.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.policy.fitting import fits
from colocate.replan.policy.history import Place
from colocate.replan.policy.outlook import Outlook
from colocate.replan.policy.seats import Seat, exchanged_seats, free_seats, moved, taken_seats

WORST = 2
"""Models that are looked after in each round, those that lose most."""
ROUNDS = 3
"""Changes, one after the other, that one proposal is made of at most, besides one for each model
that nobody serves."""
WORTH = 0.004
"""Share of all requests that each further change must bring in time."""
RIVALS = 4
"""Placements from which each round goes on, the best so far: another may have a shorter way."""

Rating = Callable[[Places], Outlook]


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
    for _ in range(ROUNDS + len(_unserved(problem, places))):
        near = {_key(each): each for one in kept for each in _changes(problem, one, held)}
        tried = [Proposal(each, rated(each)) for each in near.values()]
        tried.sort(key=lambda each: _rank(problem, each), reverse=True)
        if not tried or not _is_step(problem, best, tried[0]):
            break
        best, kept = tried[0], tried[:RIVALS]
        passed += kept
    return () if best is start else (best, *(each for each in passed if each is not best))


def _key(places: Places) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what is the same for the same placement."""
    return tuple(sorted((name, tuple(sorted(gpus))) for name, gpus in places.items()))


def _is_step(problem: Problem, before: Proposal, after: Proposal) -> bool:
    """Whether one more change is worth it: an engine for a model without one, or enough in time."""
    fewer = len(_unserved(problem, after.places)) < len(_unserved(problem, before.places))
    gain = after.outlook.in_time - before.outlook.in_time
    return fewer or gain >= WORTH * before.outlook.arrived


def _rank(problem: Problem, each: Proposal) -> tuple[int, float]:
    """Return how good a proposal is: nobody without an engine, then most requests in time."""
    return -len(_unserved(problem, each.places)), each.outlook.in_time


def _unserved(problem: Problem, places: Places) -> set[str]:
    """Return the models that must be awake and have no engine."""
    awake = (model.name for model in problem.models if model.sleep_cost is None)
    return {name for name in awake if not places.get(name)}


def _changes(problem: Problem, now: Proposal, held: frozenset[Place]) -> Iterator[Places]:
    """Yield placements one change away from one.

    Parameters
    ----------
    problem, now, held
        As for `nearby_proposals`.
    """
    joined = {name for group in problem.together for name in group}
    models = {m.name: m for m in problem.models if m.name not in joined}
    taken = {name: taken_seats(now.places, model) for name, model in models.items()}
    choices = _Choices(problem, now.places, held, models, taken)
    unserved = _unserved(problem, now.places)
    lost = now.outlook.lost
    urgent = sorted(models, key=lambda name: (name not in unserved, -lost.get(name, 0.0)))
    for name in urgent[:WORST]:
        if name not in unserved and lost.get(name, 0.0) <= 0.0:
            continue
        for changed in _changes_of(choices, name):
            if fits(problem, changed):
                yield changed


class _Choices(NamedTuple):
    """What can be moved."""

    problem: Problem
    places: Places
    held: frozenset[Place]
    models: Mapping[str, Model]
    """The models that can be moved, by name."""
    taken: Mapping[str, list[Seat]]
    """The seats of their engines."""

    def may(self, name: str, seat: Seat) -> bool:
        """Whether an engine may come to a seat or leave it, for all that moved lately."""
        return (name, frozenset(seat)) not in self.held

    def is_spare(self, name: str) -> bool:
        """Whether a model has more engines than it needs."""
        return len(self.taken[name]) > self.models[name].replicas

    def free_seats(self, name: str) -> list[Seat]:
        """Return where a model could have one more engine."""
        seats = free_seats(self.problem, self.places, self.models[name])
        return [seat for seat in seats if self.may(name, seat)]

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
        here = [gpu for gpu in self.problem.gpus if gpu.name in seat]
        new = frozenset(seat).isdisjoint(self.places.get(name, ()))
        return new and self.may(name, seat) and all(map(self.models[name].may_be_on, here))


def _changes_of(choices: _Choices, name: str) -> Iterator[Places]:
    """Yield placements in which a model may do better: those that move fewer engines first."""
    number = {gpu.name: place for place, gpu in enumerate(choices.problem.gpus)}
    taken = choices.taken[name]
    seats = [*taken, *choices.free_seats(name)]
    seats.sort(key=lambda each: min(number[gpu] for gpu in each))
    for seat in seats:
        if seat in taken:
            yield from _with_fewer_neighbours(choices, name, seat)
        else:
            yield from _with_seat(choices, name, seat)
    if len(taken) < choices.models[name].most_replicas:
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
            yield moved(choices.places, other, at, there)
        if choices.is_spare(other):
            yield moved(choices.places, other, at, None)


def _with_seat(choices: _Choices, name: str, seat: Seat) -> Iterator[Places]:
    """Yield placements in which a model has an engine that it has not now.

    Parameters
    ----------
    choices, name, seat
        What can be moved, the model, and the GPUs of the engine.
    """
    places, mine = choices.places, choices.taken[name]
    here = choices.neighbours(name, seat)
    if len(mine) < choices.models[name].most_replicas:
        yield moved(places, name, None, seat)
        for other, at in here:
            if choices.is_spare(other):
                yield moved(moved(places, other, at, None), name, None, seat)
    for left in (each for each in mine if choices.may(name, each)):
        yield moved(places, name, left, seat)
        for other, at in here:
            for there in exchanged_seats(left, choices.models[other].shards):
                if choices.may_exchange(other, there):
                    yield moved(moved(places, other, at, there), name, left, seat)


def _with_room_made(choices: _Choices, name: str, seat: Seat) -> Iterator[Places]:
    """Yield placements in which another model goes elsewhere, where one more engine has no room.

    Parameters
    ----------
    choices, name, seat
        As for `_with_seat`.
    """
    if fits(choices.problem, moved(choices.places, name, None, seat)):
        return
    mine = {gpu for each in choices.taken[name] for gpu in each}
    for other, at in choices.neighbours(name, seat):
        for there in choices.free_seats(other):
            if mine.isdisjoint(there):
                yield moved(moved(choices.places, other, at, there), name, None, seat)
