"""What users of a placement would feel, worked out again from the problem as it was stated.

The shards of a replica run in step, so each turn waits as long as on the GPU where the wait is
longest. The ratios stated are those at delays that are above the least fixed point for certain.

Where demand differs by time window, a replica feels what it does in its worst window. Latencies
rise with the requests of every engine. So a window counts only if it asks more of some engine that
shares GPUs with others, directly or through more of them, than each other window does. Most of
these need no fixed point of their own: delays as high as in any window before, which the window
does not move upwards, are above its own. If nobody feels more there than before, it is not the
worst.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.problem.checker.latency.engines import asked, engine_of, is_idle, must_keep, rate_in
from colocate.problem.checker.latency.law import (
    PREFILLED,
    SLOTS,
    STRETCHED,
    TOKEN,
    beside,
    latencies,
)
from colocate.problem.checker.latency.settled import (
    Delays,
    PlacedReplica,
    at_most,
    caused_delays,
    neighbours_of,
    settled_above,
)
from colocate.problem.checker.tolerance import ABOVE, SLACK
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.sharing import COSTS

DESCENTS = 4
"""How often delays that are too high in a window are lowered before its fixed point is sought: each
costs as much as one of some twenty sweeps."""

Places = Mapping[str, Sequence[str]]


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
        found |= zip(numbers, _felt_at_worst(problem, together, sharing), strict=True)
    return [found[number] for number in range(len(replicas))]


def _felt_at_worst(
    problem: Problem, replicas: Sequence[PlacedReplica], sharing: Sequence[float]
) -> list[PlacedLatency]:
    """Return what users of replicas that share GPUs feel, each in its worst time window."""
    worst: list[PlacedLatency] = []
    roof: Delays = []
    for window in _telling_windows(problem, replicas):
        here = [replica.in_window(window) for replica in replicas]
        if worst and _is_no_worse(here, sharing, window, roof, worst):
            continue
        delays = settled_above(here, sharing)
        felt = _felt(here, sharing, window, delays)
        if not worst:
            worst, roof = felt, delays
            continue
        pairs = zip(worst, felt, strict=True)
        worst = [then if then.ratio >= now.ratio else now for then, now in pairs]
        roof = [
            (max(one[0], other[0]), max(one[1], other[1]))
            for one, other in zip(roof, delays, strict=True)
        ]
    return worst


def _is_no_worse(
    replicas: Sequence[PlacedReplica],
    sharing: Sequence[float],
    window: int,
    roof: Delays,
    worst: Sequence[PlacedLatency],
) -> bool:
    """Return whether it is certain that nobody feels more in a time window than in those before.

    Delays that a window does not move upwards are above its least fixed point. What they cause is
    so too, since that rises with them, and it is lower.

    Parameters
    ----------
    replicas, sharing, window
        Replicas that share GPUs, with the requests of the window.
    roof
        Delays to start from.
    worst
        What each of them felt before.
    """
    beside_them, delays = neighbours_of(replicas), roof
    for descent in range(DESCENTS):
        lower = caused_delays(replicas, beside_them, delays, sharing, ABOVE)
        if descent == 0 and not at_most(lower, delays, 1.0):
            return False
        delays = lower
        felt = _felt(replicas, sharing, window, delays)
        if all(now.ratio <= then.ratio for now, then in zip(felt, worst, strict=True)):
            return True
    return False


def _felt(
    replicas: Sequence[PlacedReplica], sharing: Sequence[float], window: int, delays: Delays
) -> list[PlacedLatency]:
    """Return what users of replicas that share GPUs feel in a time window with such delays."""
    found = []
    for replica, (for_step, for_work) in zip(replicas, delays, strict=True):
        state = beside(replica.engine, for_step, for_work, sharing, ABOVE)
        token, step, prefill = state[TOKEN], state[STRETCHED], state[PREFILLED]
        tpot, ttft = latencies(replica.engine, token, step, prefill, replica.slots, ABOVE)
        found.append(PlacedLatency(replica.model, replica.gpus, tpot, ttft, window))
    return found


def _telling_windows(problem: Problem, replicas: Sequence[PlacedReplica]) -> list[int]:
    """Return the windows that can be the worst: the peaks of replicas, then by all requests.

    Each of the others asks no more of any of these replicas than one of them does.
    """
    if problem.windows == 1:
        return [0]
    rates = np.array(
        [[rate_in(each.model, window) for each in replicas] for window in range(problem.windows)]
    )
    left: NDArray[np.intp] = np.argsort(-rates.sum(axis=1), kind="stable")
    found: list[int] = []
    while len(left):
        found.append(int(left[0]))
        left = left[(rates[left] > rates[left[0]]).any(axis=1)]
    peaks = {int(window) for window in rates.argmax(axis=0)}
    return sorted(found, key=lambda window: window not in peaks)


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
