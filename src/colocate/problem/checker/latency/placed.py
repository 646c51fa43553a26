"""What users of a placement would feel, worked out again from the problem as it was stated.

The shards of a replica run in step, so each turn waits as long as on the GPU where the wait is
longest. An iteration from zero comes close to the least fixed point. A point just above it that
nothing moves upwards is above the least fixed point for certain; the ratios stated are those there.

Where demand differs by time window, a replica feels what it does in its worst window. Latencies
rise with the requests of every engine. So a window counts only if it asks more of some engine that
shares GPUs with others, directly or through more of them, than each other window does.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from colocate.problem.checker.latency.engines import asked, engine_of, is_idle, must_keep, rate_in
from colocate.problem.checker.latency.law import (
    PREFILLED,
    SLOTS,
    STRETCHED,
    TOKEN,
    beside,
    delay_by,
    latencies,
    own_turn,
)
from colocate.problem.checker.tolerance import ABOVE, NARROWEST, SETTLED, SLACK, WIDEST
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.sharing import COSTS

SWEEPS = 5000
"""The most sweeps over all engines; a few dozen are usual."""
WIDER = 10.0
"""How many times further above the iteration the next point is tried."""

Places = Mapping[str, Sequence[str]]


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


class PlacedLatency(NamedTuple):
    """What users of one replica feel, in seconds: never less than the law says."""

    model: Model
    gpus: tuple[str, ...]
    tpot: float
    ttft: float
    window: int = 0
    """The time window in which it is furthest from its target."""

    @property
    def ratio(self) -> float:
        """The worst latency over its target; infinite if saturated, 0 if nobody asks."""
        requests = asked(self.model)
        if self.ttft == inf:
            return inf
        if is_idle(self.model, self.window):
            return 0.0
        return max(self.tpot / requests.tpot_slo, self.ttft / requests.ttft_slo)


def felt_latencies(problem: Problem, placement: Places) -> list[PlacedLatency]:
    """Return what users of every replica feel, in the order of the problem.

    Parameters
    ----------
    problem
        The problem, which states what its models are asked.
    placement
        A placement that breaks no other rule; models asleep have no GPUs.
    """
    replicas = _with_slots(problem, _replicas(problem, placement))
    sharing = COSTS[problem.sharing]
    found: dict[int, PlacedLatency] = {}
    for numbers in _joined(replicas):
        together = [replicas[number] for number in numbers]
        for window in _telling_windows(problem, together):
            here = [replica.in_window(window) for replica in together]
            for number, felt in zip(numbers, _felt(here, sharing, window), strict=True):
                if number not in found or felt.ratio > found[number].ratio:
                    found[number] = felt
    return [found[number] for number in range(len(replicas))]


def _felt(
    replicas: Sequence[PlacedReplica], sharing: Sequence[float], window: int
) -> list[PlacedLatency]:
    """Return what users of replicas that share GPUs feel in a time window."""
    found = []
    delays = _settled_above(replicas, sharing)
    for replica, (for_step, for_work) in zip(replicas, delays, strict=True):
        state = beside(replica.engine, for_step, for_work, sharing, ABOVE)
        token, step, prefill = state[TOKEN], state[STRETCHED], state[PREFILLED]
        tpot, ttft = latencies(replica.engine, token, step, prefill, replica.slots, ABOVE)
        found.append(PlacedLatency(replica.model, replica.gpus, tpot, ttft, window))
    return found


def _telling_windows(problem: Problem, replicas: Sequence[PlacedReplica]) -> list[int]:
    """Return the windows that can be the worst, those with most requests first.

    Each of the others asks no more of any of these replicas than one of them does.
    """
    if problem.windows == 1:
        return [0]
    rates = [
        [rate_in(replica.model, window) for replica in replicas]
        for window in range(problem.windows)
    ]
    found: list[int] = []
    for window in sorted(range(problem.windows), key=lambda window: -sum(rates[window])):
        mine = rates[window]
        if not any(
            all(less <= more for less, more in zip(mine, rates[other], strict=True))
            for other in found
        ):
            found.append(window)
    return found


def ratios_by_gpu(problem: Problem, felt: Sequence[PlacedLatency]) -> dict[str, float]:
    """Return the worst ratio on every GPU; 0 where no model is."""
    worst = dict.fromkeys([gpu.name for gpu in problem.gpus], 0.0)
    for each in felt:
        for gpu in each.gpus:
            worst[gpu] = max(worst[gpu], each.ratio)
    return worst


def broken_targets(felt: Sequence[PlacedLatency]) -> list[str]:
    """Return a sentence for every target that a placement must keep and does not."""
    return [
        sentence
        for each in felt
        if must_keep(each.model) and each.ratio > 1.0 + SLACK
        for sentence in _sentences(each)
    ]


def _sentences(each: PlacedLatency) -> list[str]:
    requests, where = asked(each.model), ", ".join(each.gpus)
    name = f"model {each.model.name!r} on {where}"
    if each.ttft == inf:
        return [f"{name} is asked more than it can answer beside the others: its queue grows"]
    at = "" if requests.percentile is None else f" at p{requests.percentile:g}"
    return [
        f"{name} has a {what} of {1e3 * found:.6g} ms{at}, {1e3 * target:.6g} ms at most"
        for what, found, target in (
            ("TPOT", each.tpot, requests.tpot_slo),
            ("TTFT", each.ttft, requests.ttft_slo),
        )
        if found > target * (1.0 + SLACK)
    ]


def _replicas(problem: Problem, placement: Places) -> list[PlacedReplica]:
    kind = {gpu.name: gpu.kind for gpu in problem.gpus}
    found = []
    for model in problem.models:
        places = tuple(placement[model.name])
        number = len(places) // model.shards
        for first in range(0, len(places), model.shards):
            gpus = places[first : first + model.shards]
            engine = engine_of(model, number, [kind[gpu] for gpu in gpus])
            load = max(model.load) / len(places)
            found.append(PlacedReplica(model, engine, gpus, load, engine[SLOTS], number))
    return found


def _with_slots(problem: Problem, replicas: Sequence[PlacedReplica]) -> list[PlacedReplica]:
    """Return the replicas with the slots that their cache leaves them.

    The memory that models leave on a GPU is shared by load, beyond what each must have. A replica
    with several shards has as much cache on each GPU as on the worst of them, and what it leaves
    elsewhere goes to the others there.
    """
    free, here = _free_memory(problem, replicas)
    shares = {gpu: _shares(replicas, numbers, free[gpu]) for gpu, numbers in here.items()}
    several = {
        number: min(shares[gpu][number] for gpu in replica.gpus)
        for number, replica in enumerate(replicas)
        if len(replica.gpus) > 1
    }
    found = []
    for number, replica in enumerate(replicas):
        gpu = replica.gpus[0]
        cache = several.get(number)
        if cache is None:
            taken = sum(several[other] for other in here[gpu] if other in several)
            lone = [other for other in here[gpu] if other not in several]
            cache = _shares(replicas, lone, free[gpu] - taken)[number]
        found.append(replica._replace(slots=_slots(replica, cache)))
    return found


def _slots(replica: PlacedReplica, cache_gb: float) -> float:
    each = asked(replica.model).request_gb
    slots = replica.slots
    return min(slots, cache_gb * len(replica.gpus) / each) if each > 0.0 else slots


def _free_memory(
    problem: Problem, replicas: Sequence[PlacedReplica]
) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Return the memory that models leave on every GPU, and the numbers of the replicas there."""
    free = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    here: dict[str, list[int]] = {gpu.name: [] for gpu in problem.gpus}
    for number, replica in enumerate(replicas):
        for gpu in replica.gpus:
            free[gpu] -= replica.model.size_gb / replica.model.shards
            here[gpu].append(number)
    return free, here


def _shares(
    replicas: Sequence[PlacedReplica], numbers: Sequence[int], free: float
) -> dict[int, float]:
    """Return the cache of each of some replicas on a GPU."""
    least = {n: (replicas[n].model.least_cache_gb or 0.0) / len(replicas[n].gpus) for n in numbers}
    weight = {n: replicas[n].load for n in numbers}
    if not any(weight.values()):
        weight = {n: float(replicas[n].model.least_cache_gb != 0.0) for n in numbers}
    whole = sum(weight.values())
    rest = max(free - sum(least.values()), 0.0)
    return {n: least[n] + (rest * weight[n] / whole if whole else 0.0) for n in numbers}


def _joined(replicas: Sequence[PlacedReplica]) -> list[list[int]]:
    """Return the numbers of replicas that share GPUs, directly or through others, as groups."""
    group_on: dict[str, list[int]] = {}
    for number, replica in enumerate(replicas):
        met = {id(group_on[gpu]): group_on[gpu] for gpu in replica.gpus if gpu in group_on}
        joined = [*(other for group in met.values() for other in group), number]
        for gpu in (gpu for other in joined for gpu in replicas[other].gpus):
            group_on[gpu] = joined
    return list({id(group): group for group in group_on.values()}.values())


def _settled_above(
    replicas: Sequence[PlacedReplica], sharing: Sequence[float]
) -> list[tuple[float, float]]:
    """Return delays of steps and of prefills, no less than those of the least fixed point.

    Where engines are so close to saturation that no point just above can be confirmed, the delays
    that the iteration ends with have to do.
    """
    beside_them = _neighbours(replicas)
    delays = [(0.0, 0.0)] * len(replicas)
    for _ in range(SWEEPS):
        moved = _delays(replicas, beside_them, delays, sharing, 1.0)
        arrived = _at_most(moved, delays, 1.0 + SETTLED)
        delays = moved
        if arrived:
            break
    share = NARROWEST
    while share < WIDEST:
        above = [(step * (1.0 + share), work * (1.0 + share)) for step, work in delays]
        if _at_most(_delays(replicas, beside_them, above, sharing, ABOVE), above, 1.0):
            return above
        share *= WIDER
    return delays


def _at_most(
    delays: Sequence[tuple[float, float]], limits: Sequence[tuple[float, float]], times: float
) -> bool:
    """Return whether no delay is above so many times its limit."""
    return all(
        step <= times * most_step and work <= times * most_work
        for (step, work), (most_step, most_work) in zip(delays, limits, strict=True)
    )


def _neighbours(replicas: Sequence[PlacedReplica]) -> list[list[list[int]]]:
    """Return, for every replica and each of its GPUs, the numbers of the others there."""
    here: dict[str, list[int]] = {}
    for number, replica in enumerate(replicas):
        for gpu in replica.gpus:
            here.setdefault(gpu, []).append(number)
    return [
        [[other for other in here[gpu] if other != number] for gpu in replica.gpus]
        for number, replica in enumerate(replicas)
    ]


def _delays(
    replicas: Sequence[PlacedReplica],
    neighbours: Sequence[Sequence[Sequence[int]]],
    delays: Sequence[tuple[float, float]],
    sharing: Sequence[float],
    tilt: float,
) -> list[tuple[float, float]]:
    """Return the delays that engines with these delays cause."""
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
