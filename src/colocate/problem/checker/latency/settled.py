"""The delays of replicas that share GPUs: never less than those of the least fixed point.

An iteration from zero comes close to it. A point just above that nothing moves upwards is above the
least fixed point for certain.
"""

from collections.abc import Sequence
from typing import NamedTuple

from colocate.problem.checker.latency.engines import rate_in
from colocate.problem.checker.latency.law import TOKEN, beside, delay_by, own_turn
from colocate.problem.checker.tolerance import ABOVE, NARROWEST, SETTLED, WIDEST
from colocate.problem.model import Model

SWEEPS = 5000
"""The most sweeps over all engines; a few dozen are usual."""
WIDER = 10.0
"""How many times further above the iteration the next point is tried."""

Delays = list[tuple[float, float]]
"""Seconds that each turn of a step, and of a prefill, waits: of every replica."""


class PlacedReplica(NamedTuple):
    """One replica of a model in a placement."""

    model: Model
    engine: tuple[float, ...]
    gpus: tuple[str, ...]
    load: float
    """Of one of its parts, at its peak."""
    slots: float
    """The most requests at once, by its cache too."""
    replicas: int
    """How many replicas share the requests of the model."""

    def in_window(self, window: int) -> "PlacedReplica":
        """Return it with the requests of a time window."""
        rate = rate_in(self.model, window) / self.replicas
        return self._replace(engine=(rate, *self.engine[1:]))


def settled_above(replicas: Sequence[PlacedReplica], sharing: Sequence[float]) -> Delays:
    """Return delays of steps and of prefills, no less than those of the least fixed point.

    Where engines are so close to saturation that no point just above can be confirmed, the delays
    that the iteration ends with have to do.
    """
    beside_them = neighbours_of(replicas)
    delays = [(0.0, 0.0)] * len(replicas)
    for _ in range(SWEEPS):
        moved = caused_delays(replicas, beside_them, delays, sharing, 1.0)
        arrived = at_most(moved, delays, 1.0 + SETTLED)
        delays = moved
        if arrived:
            break
    share = NARROWEST
    while share < WIDEST:
        above = [(step * (1.0 + share), work * (1.0 + share)) for step, work in delays]
        if at_most(caused_delays(replicas, beside_them, above, sharing, ABOVE), above, 1.0):
            return above
        share *= WIDER
    return delays


def at_most(
    delays: Sequence[tuple[float, float]], limits: Sequence[tuple[float, float]], times: float
) -> bool:
    """Return whether no delay is above so many times its limit.

    Parameters
    ----------
    delays, limits
        Of the same replicas.
    times
        How many times its limit each may be.
    """
    return all(
        step <= times * most_step and work <= times * most_work
        for (step, work), (most_step, most_work) in zip(delays, limits, strict=True)
    )


def neighbours_of(replicas: Sequence[PlacedReplica]) -> list[list[list[int]]]:
    """Return, for every replica and each of its GPUs, the numbers of the others there."""
    here: dict[str, list[int]] = {}
    for number, replica in enumerate(replicas):
        for gpu in replica.gpus:
            here.setdefault(gpu, []).append(number)
    return [
        [[other for other in here[gpu] if other != number] for gpu in replica.gpus]
        for number, replica in enumerate(replicas)
    ]


def caused_delays(
    replicas: Sequence[PlacedReplica],
    neighbours: Sequence[Sequence[Sequence[int]]],
    delays: Sequence[tuple[float, float]],
    sharing: Sequence[float],
    tilt: float,
) -> Delays:
    """Return the delays that engines with these delays cause.

    Parameters
    ----------
    replicas, neighbours
        Replicas that share GPUs, and who is beside each of them there.
    delays
        Of the replicas.
    sharing
        The constants of the way to share.
    tilt
        1, or a little more for upper limits.
    """
    states = [
        beside(replica.engine, for_step, for_work, sharing, tilt)
        for replica, (for_step, for_work) in zip(replicas, delays, strict=True)
    ]
    found = []
    for replica, state, on_gpus in zip(replicas, states, neighbours, strict=True):
        step, work = (
            own_turn(replica.engine, state[TOKEN], sharing, reading) * tilt
            for reading in (False, True)
        )
        for_step = max(
            [sum([delay_by(states[o], step, sharing) for o in others]) for others in on_gpus]
        )
        for_work = max(
            [sum([delay_by(states[o], work, sharing) for o in others]) for others in on_gpus]
        )
        found.append((for_step * tilt, for_work * tilt))
    return found
