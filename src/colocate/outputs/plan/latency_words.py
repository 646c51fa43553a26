"""The words for the latencies of a plan: the same on screen, page and picture."""

from collections.abc import Iterator, Sequence
from math import isinf

from colocate.advise.latency import SharingChange, missing, with_targets, worst_of
from colocate.latency.prediction import Prediction
from colocate.outputs.latency.words import windows_lines
from colocate.outputs.plan.words import levels_line, peak_line, proof_line, sleep_line
from colocate.outputs.text.wording import amount, listed, quoted
from colocate.problem.tolerance import PROVEN
from colocate.solver.plan import Plan, gap_between

MOST_NAMES = 5
"""Models that a line names."""
NEAR_ONE = 0.005
"""Ratios closer to 1 than that show more digits: whether they are above or below matters."""
SMALL = 0.1
"""Ratios below that show two digits, however small they are."""
DEATH = "one engine that dies can take its neighbours on the GPU with it"
ASSUMED = "targets in brackets are assumed, since none is stated; they are no limit"


def of_target(ratio: float) -> str:
    """Return a latency over its target as it is written: on which side of 1 it is, in any case."""
    if isinf(ratio):
        return "∞"
    if ratio != 1.0 and abs(ratio - 1.0) < NEAR_ONE:
        return f"{ratio:.4f}"
    return f"{ratio:.2f}" if ratio >= SMALL else f"{ratio:.2g}"


def value_line(plan: Plan, predictions: Sequence[Prediction]) -> str:
    """Return what the plan minimises, in words: the worst latency or the highest pressure."""
    if plan.problem.objective == "latency" and predictions:
        return worst_line(predictions)
    return peak_line(plan)


def value_lines(plan: Plan, predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield what the plan minimises, what is proven about it, and then the other of both.

    Parameters
    ----------
    plan, predictions
        The plan, and what its users feel, if that is known.
    """
    by_latency = plan.problem.objective == "latency" and predictions
    proofs = filter(None, (proof_line(plan), levels_line(plan), sleep_line(plan)))
    if by_latency:
        yield _worst(plan, predictions)
        yield held_line(predictions)
        yield from proofs
        yield peak_line(plan)
        yield from windows_lines(predictions)
        return
    yield peak_line(plan)
    yield from proofs
    if predictions:
        yield felt_line(predictions)
        yield from windows_lines(predictions)


def felt_line(predictions: Sequence[Prediction]) -> str:
    """Return the line of latencies beside those of saturated models, which tell the worst."""
    saturated = worst_of(predictions).shared.saturated
    return held_line(predictions) if saturated else latency_line(predictions)


def _worst(plan: Plan, predictions: Sequence[Prediction]) -> str:
    """Return the worst latency and what is proven about it; which models are saturated is told."""
    if not worst_of(predictions).shared.saturated:
        return f"{worst_line(predictions)}{_bound(plan, predictions)}"
    if isinf(plan.bound):
        return "in every placement, a queue grows without end"
    return "no placement was found in which no queue grows without end"


def _bound(plan: Plan, predictions: Sequence[Prediction]) -> str:
    """Return the bound on the worst latency and the gap; empty if nothing is proven."""
    gap = gap_between(worst_of(predictions).shared.ratio, plan.bound)
    if isinf(gap):
        return ""
    if gap <= PROVEN:
        return ", the lowest of any placement"
    return f", at least {plan.bound:.4g} for any placement, gap {100 * gap:.2g}%"


def worst_line(predictions: Sequence[Prediction]) -> str:
    """Return the worst latency and its model, in words."""
    worst = worst_of(predictions)
    if worst.shared.saturated:
        return f"the queue of {_place(worst)} grows without end"
    return f"worst latency {of_target(worst.shared.ratio)} of its target ({_place(worst)})"


def latency_line(predictions: Sequence[Prediction]) -> str:
    """Return the worst latency, and whether all targets hold, in words."""
    return f"{worst_line(predictions)}; {held_line(predictions)}"


def held_line(predictions: Sequence[Prediction]) -> str:
    """Return whether all stated targets hold, in words."""
    stated, missed = len(with_targets(predictions)), len(missing(predictions))
    if not stated:
        return "no model states a target"
    models = len({each.model for each in predictions})
    if stated == 1 < models:
        return f"the only model with a target {'misses' if missed else 'keeps'} it"
    if not missed:
        return "all targets hold" if stated == models else f"all targets of {stated} models hold"
    misses = "misses its target" if missed == 1 else "miss their targets"
    return f"{missed} of {amount(stated, 'model')} {misses}"


def _place(found: Prediction) -> str:
    return f"{quoted(found.model, '')} on {quoted(found.gpus[0], '')}"


def saturated_lines(predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield which models cannot keep up with their requests, with neighbours or even alone."""
    saturated = [each for each in predictions if each.shared.saturated]
    alone = list(dict.fromkeys(each.model for each in saturated if each.alone.saturated))
    beside = [name for name in dict.fromkeys(each.model for each in saturated) if name not in alone]
    if beside:
        yield _saturated(beside, "beside the neighbours", "")
    if alone:
        yield _saturated(alone, f"with the cache that {_they(alone)}", " even alone")


def _they(models: Sequence[str]) -> str:
    return "it gets" if len(models) == 1 else "they get"


def _saturated(models: Sequence[str], why: str, when: str) -> str:
    names = listed([quoted(name, "") for name in models], MOST_NAMES)
    if len(models) == 1:
        return f"{names} is saturated: {why}, its queue grows without end{when}"
    return f"{names} are saturated: {why}, their queues grow without end{when}"


def keeping_up_line(model: str, replicas: int | None, rate: float) -> str:
    """Return what would end the queue of a model that is saturated even alone.

    Parameters
    ----------
    model
        Its name.
    replicas
        The fewest replicas that keep up; None if no number does.
    rate
        Requests each second that it keeps up with; 0 if it keeps up with none.
    """
    ways = [f"in {amount(replicas, 'replica')}"] if replicas is not None else []
    ways += [f"with {rate:g} requests a second"] if rate > 0.0 else []
    if not ways:
        return f"{quoted(model)} needs a larger or faster kind of GPU"
    return f"{quoted(model)} alone keeps up {' or '.join(ways)}"


def sharing_lines(found: SharingChange | None) -> Iterator[str]:
    """Yield what the other way to share would bring, and what MPS gives up."""
    if found is None:
        return
    if found.sharing == "mps":
        yield f"with MPS (sharing: mps) {_change(found)}"
        if found.faster > 1.0 or found.ratio_then < found.ratio:
            yield f"MPS gives up isolation: {DEATH}"
    else:
        yield f"the engines share GPUs by MPS: {DEATH}"
        yield f"with time slices (sharing: slices) {_change(found)}"


def _change(found: SharingChange) -> str:
    """Return how speed, the worst latency and the count of missed targets would change."""
    times = f"{max(found.faster, 1 / found.faster):.2g}"
    speed = "faster" if found.faster > 1.0 else "slower"
    changes = [f"models that share a GPU would be {times} times {speed} (median)"]
    if times == "1":
        changes = ["models that share a GPU would be as fast (median)"]
    changes.append(_worst_then(found))
    if found.missed != found.missed_then:
        would = f"{found.missed_then or 'none'} of {amount(found.models, 'model')} would miss"
        changes.append(f"{would} a target, instead of {found.missed or 'none'}")
    return "; ".join(changes)


def _worst_then(found: SharingChange) -> str:
    before, after = of_target(found.ratio), of_target(found.ratio_then)
    if isinf(found.ratio_then):
        still = "still " if isinf(found.ratio) else ""
        return f"a queue would {still}grow without end"
    if isinf(found.ratio):
        return f"no queue would grow without end, and the worst latency be {after} of its target"
    if before == after:
        return f"the worst latency would stay {after} of its target"
    verb = "fall" if found.ratio_then < found.ratio else "rise"
    return f"the worst latency would {verb} from {before} to {after} of its target"
