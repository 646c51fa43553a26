"""The words for who slows whom."""

from collections.abc import Iterator, Sequence
from math import isinf

from colocate.advise.explain.parting import LatencyMove
from colocate.advise.explain.slowdown import LatencyCost, LatencyFacts
from colocate.latency.prediction import Latency, Prediction
from colocate.outputs.latency.words import shown_time
from colocate.outputs.plan.latency_words import of_target
from colocate.outputs.text.wording import listed, quoted

FELT = 1e-4
"""Seconds below which a neighbour costs nothing that a figure would show."""

ALONE = "no other model shares its GPUs, and no other GPU suits it better"


def latency_lines(found: tuple[LatencyFacts, ...]) -> Iterator[str]:
    """Yield the sentences on every model close to its target."""
    for facts in found:
        yield _slowed(facts.slowed)
        felt = [cost for cost in facts.costs if _felt(facts.slowed, cost)]
        for cost in felt:
            yield f"- {_cost(facts.slowed, cost)}"
        if others := [quoted(cost.neighbour, "") for cost in facts.costs if cost not in felt]:
            yield f"- {_not_felt(facts.slowed, others)}"
        yield _move(facts)


def _slowed(found: Prediction) -> str:
    name = f"{quoted(found.model, '')} on {listed([quoted(gpu, '') for gpu in found.gpus], 2)}"
    alone = f"{_what(found)} {shown_time(_time(found, found.alone))} alone"
    if found.alone.saturated:
        return f"{name}: with the cache that it gets, its queue grows without end even alone"
    if found.shared.saturated:
        return f"{name}: its queue grows without end; {alone}, and it keeps up"
    now = f"{_what(found)} {shown_time(_time(found, found.shared))}"
    ratio = f"{of_target(found.shared.ratio)} of its target"
    return f"{name}: {now}, {ratio}; {alone}, {of_target(found.alone.ratio)}"


def _what(found: Prediction) -> str:
    """Name the latency that is shown: the worst of those with a target."""
    at = found.requests.percentile
    name = "TTFT" if _by_ttft(found) else "TPOT"
    return name if at is None else f"p{at:g} {name}"


def _by_ttft(found: Prediction) -> bool:
    """Whether the time to the first token is closer to its target than the time of the others."""
    at, asked = found.requests.percentile, found.requests
    if not asked.decode_tokens:
        return True
    shared = found.shared
    if shared.saturated:
        return False
    return shared.ttft.at(at) / asked.ttft_slo > shared.tpot.at(at) / asked.tpot_slo


def _time(found: Prediction, latency: Latency) -> float:
    spread = latency.ttft if _by_ttft(found) else latency.tpot
    return spread.at(found.requests.percentile)


def _felt(found: Prediction, cost: LatencyCost) -> bool:
    """Whether a neighbour makes a difference that a figure would show."""
    if found.shared.saturated:
        return not cost.without.saturated
    return _time(found, found.shared) - _time(found, cost.without) >= FELT


def _cost(found: Prediction, cost: LatencyCost) -> str:
    name, without = quoted(cost.neighbour, ""), _shown(found, cost.without)
    if found.shared.saturated:
        return f"without {name} it would keep up, with a {_what(found)} of {without}"
    saved = _time(found, found.shared) - _time(found, cost.without)
    return f"{name} costs it {shown_time(saved)}: {without} without it"


def _not_felt(found: Prediction, names: Sequence[str]) -> str:
    if found.shared.saturated:
        any_one = "any one of " if len(names) > 1 else ""
        return f"without {any_one}{listed(names)} its queue would grow all the same"
    return f"{listed(names)} {'costs' if len(names) == 1 else 'cost'} it hardly anything"


def _shown(found: Prediction, latency: Latency) -> str:
    return f"{shown_time(_time(found, latency))} ({of_target(latency.ratio)} of its target)"


def _move(facts: LatencyFacts) -> str:
    found = facts.slowed
    if facts.move is not None:
        return _parting(found, facts.move)
    if not facts.costs:
        return f"{ALONE}: more replicas or shards would help"
    if isinf(found.shared.ratio):
        return "moving one model elsewhere does not end it"
    return "no move of one model leaves both GPUs with a lower worst latency"


def _parting(found: Prediction, move: LatencyMove) -> str:
    models, name = listed([quoted(name, "") for name in move.models]), quoted(found.model, "")
    if move.models == (found.model,):
        models = name = "it"
    told = f"moving {models} to {quoted(move.target, '')} brings {name} to"
    told = f"{told} {of_target(move.ratio)} of its target"
    if move.worst > move.ratio:
        told += f"; the worst latency on the two GPUs is then {of_target(move.worst)}"
    return told
