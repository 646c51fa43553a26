"""Engines for models that must be awake and have none, such as those of a GPU that was lost.

Models that must share a GPU come back as a whole. A unit goes where it has room; where no GPU has
any, others leave one for places that have room for them, as few as possible. What needs most
memory comes first, so that small ones do not take the last place of a large one. If somebody is
left then, all ways are tried to place them in the room that there is, and at last those come first
that are asked most. Nobody makes room for a model whose engine has just failed to come elsewhere:
it may fail again, and again.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.policy.fitting import Fitting
from colocate.replan.policy.proposals import Proposal, Rating, unserved_models
from colocate.replan.policy.seats import Seat
from colocate.replan.policy.units import Unit, units_of

MOST_MOVED = 3
"""Engines that make room for one unit at most."""
MOST_TRIED = 4_000
"""Engines that are tried to be moved for a unit, on all its seats: seconds of work at most."""
MOST_RATED = 32
"""Places of a unit that are rated."""


def restorations(
    problem: Problem, places: Places, rated: Rating, failed: Collection[str] = ()
) -> list[Proposal]:
    """Return placements in which ever more models have an engine that had none; the best is last.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    rated
        Says what becomes of requests with a placement.
    failed
        Models for which nobody makes room now.
    """
    missing = missing_units(problem, places)
    if not missing:
        return []
    lost = rated(places).lost
    by_size = sorted(missing, key=lambda unit: -unit.held_gb)
    by_loss = sorted(missing, key=lambda unit: -sum(lost.get(name, 0.0) for name in unit.names))
    best = _restored(problem, places, rated, by_size, failed)
    if len(best) == len(missing):
        return best
    packed = next(_packed(Fitting(problem), places, by_size, [MOST_TRIED]), None)
    if packed is not None:
        return [Proposal(packed, rated(packed))]
    other = _restored(problem, places, rated, by_loss, failed)
    return max(best, other, key=lambda each: _rank(problem, each))


def _packed(
    fitting: Fitting, places: Places, missing: Sequence[Unit], left: list[int]
) -> Iterator[Places]:
    """Yield placements in which all units have engines in the room that there is.

    Parameters
    ----------
    fitting, places
        What fits, and who is where.
    missing
        The units.
    left
        How many places may still be tried; counted down.
    """
    if not missing:
        yield places
        return
    for seat in missing[0].seats_with_room(fitting, places, more=True):
        left[0] -= 1
        if left[0] < 0:
            return
        yield from _packed(fitting, missing[0].moved(places, None, seat), missing[1:], left)


def missing_units(problem: Problem, places: Places) -> list[Unit]:
    """Return the units of models that have no engine, each once."""
    units, unserved = units_of(problem, places), unserved_models(problem, places)
    found = {units[model.name] for model in problem.models if model.name in unserved}
    return sorted(found, key=lambda unit: unit.name)


def _rank(problem: Problem, proposals: Sequence[Proposal]) -> tuple[int, float]:
    """Return how good the last proposal is: most models with an engine, then most in time."""
    if not proposals:
        return -len(problem.models), 0.0
    last = proposals[-1]
    return -len(unserved_models(problem, last.places)), last.outlook.in_time


def _restored(
    problem: Problem,
    places: Places,
    rated: Rating,
    missing: Sequence[Unit],
    failed: Collection[str],
) -> list[Proposal]:
    """Return placements in which one unit after the other has its engines.

    Parameters
    ----------
    problem, places, rated, failed
        As for `restorations`.
    missing
        The units, in the order in which they come back.
    """
    fitting, found = Fitting(problem), []
    for unit in missing:
        choices = islice(_ways_back(fitting, places, unit, failed), MOST_RATED)
        tried = [Proposal(each, rated(each)) for each in choices]
        best = max(tried, key=lambda each: each.outlook.in_time, default=None)
        if best is not None:
            found.append(best)
            places = best.places
    return found


def _ways_back(
    fitting: Fitting, places: Places, unit: Unit, failed: Collection[str]
) -> Iterator[Places]:
    """Yield placements in which a unit has its engines, all with as few moves as any.

    Models of its group that may sleep come along where they have room.

    Parameters
    ----------
    fitting, places
        What fits, and who is where.
    unit
        Models that have no engine, or not all of them.
    failed
        As for `restorations`.
    """
    whole = units_of(fitting.problem, places, {model.name for model in fitting.problem.models})
    for each in dict.fromkeys((whole[unit.name] if len(unit.models) > 1 else unit, unit)):
        for seat in each.seats_with_room(fitting, places, more=True):
            yield each.moved(places, None, seat)
    if unit.seats_with_room(fitting, places, more=True) or not set(failed).isdisjoint(unit.names):
        return
    for moves in range(1, MOST_MOVED + 1):
        search = _RoomSearch(fitting, places, unit)
        ways = search.ways(moves)
        first = next(ways, None)
        if first is not None:
            yield first
            yield from ways
            return


class _RoomSearch:
    """Tries to make room for a unit: engines leave a GPU, each for a place with room for it."""

    def __init__(self, fitting: Fitting, places: Places, unit: Unit) -> None:
        self.fitting, self.places, self.unit = fitting, places, unit
        others = {each.name: each for each in units_of(fitting.problem, places).values()}
        self.units = [each for name, each in others.items() if name != unit.name]
        self.gpus = {gpu.name: gpu for gpu in fitting.problem.gpus}
        self.left_to_try = 0

    def ways(self, moves: int) -> Iterator[Places]:
        """Yield placements after so many engines have left.

        Parameters
        ----------
        moves
            How many engines leave.
        """
        seats = self.unit.free_seats(self.fitting.problem, self.places)
        for seat in seats:
            self.left_to_try = MOST_TRIED // len(seats)
            placed = self.unit.moved(self.places, None, seat)
            for found in self._without(placed, seat, moves, frozenset()):
                if self.fitting.fits(found, self.places):
                    yield found

    def _without(
        self, places: Places, seat: Seat, moves: int, left: frozenset[str]
    ) -> Iterator[Places]:
        """Yield placements in which engines leave a seat until it has room for all on it.

        Parameters
        ----------
        places, seat
            Who is where, with the unit on its seat already.
        moves
            How many engines leave at most.
        left
            Units that have left, by the names of their first models.
        """
        held = self.fitting.held_by_gpu(places)
        full = [gpu for gpu in seat if not self.fitting.holds(self.gpus[gpu], held[gpu])]
        if not full:
            yield places
            return
        if not moves:
            return
        for other in (each for each in self.units if each.name not in left):
            for at in (each for each in other.seats(places) if full[0] in each):
                for there in self._elsewhere(places, other, seat):
                    changed = other.moved(places, at, there)
                    yield from self._without(changed, seat, moves - 1, left | {other.name})

    def _elsewhere(self, places: Places, other: Unit, seat: Seat) -> Iterator[Seat | None]:
        """Yield where an engine can go; None for away, if others of its model are enough.

        Parameters
        ----------
        places
            Who is where.
        other, seat
            Whose engine it is, and the GPUs that it leaves.
        """
        self.left_to_try -= 1
        if self.left_to_try < 0:
            return
        if len(other.seats(places)) > other.replicas:
            yield None
        for there in other.seats_with_room(self.fitting, places, more=False):
            if frozenset(there).isdisjoint(seat):
                yield there
