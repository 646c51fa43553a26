"""Why a plan is as it is, in sentences."""

from collections.abc import Iterator
from math import inf, isinf

from colocate.advise.explain.bottleneck import Alone, Bottleneck, Tenant
from colocate.advise.explain.cause import Cause, Why
from colocate.advise.explain.explanation import Explanation
from colocate.advise.explain.idle import Idle, IdleGpus, Tight
from colocate.advise.explain.levers import Lever
from colocate.advise.service import Service
from colocate.advise.what_if import ChangeKind
from colocate.outputs.explain.bound import proof_text
from colocate.outputs.explain.latency import latency_lines
from colocate.outputs.explain.remedies import change_text
from colocate.outputs.plan.latency_words import of_target
from colocate.outputs.text.wording import (
    amount,
    gigabytes,
    listed,
    percent,
    percents,
    pressure_text,
    quoted,
)
from colocate.problem.model import COMPUTE, MEMORY
from colocate.problem.tolerance import RECORDED_AS_PROVEN, TIE
from colocate.solver.plan import Status

MOST_SHOWN = 5
"""Entries of a list that a reader takes in at a glance."""
MARGIN = 0.001
"""Pressures that differ by less, as a share, are equal up to rounding, and the same to a reader."""


def explanation_lines(told: Explanation) -> Iterator[str]:
    """Yield the lines of an explanation: a heading, then sentences below it."""
    sections = {
        "bottleneck": _bottleneck(told.bottleneck),
        "what its models can serve": _services(told),
        "who slows whom": _latency(told),
        "why": _why(told.why, told.bottleneck),
        "next move": _move(told),
        "levers": _levers(told),
        "bound": _bound(told),
        "close to a limit": _tight(told),
        "idle": _idle(told),
        "asleep": _asleep(told),
    }
    if told.ratio is not None:
        sections = {"who slows whom": sections.pop("who slows whom"), **sections}
    first = True
    for heading, lines in sections.items():
        for number, line in enumerate(lines):
            if number == 0:
                yield heading if first else f"\n{heading}"
                first = False
            yield f"  {line}"


def _bottleneck(found: Bottleneck) -> Iterator[str]:
    where = ", ".join(quoted(text, "") for text in (found.kind, found.node) if text)
    name = quoted(found.gpu, "") + (f" ({where})" if where else "")
    if found.hottest is None:
        yield "no GPU is under pressure: no model has any load"
        return
    window = f" in {quoted(found.window_name, '')}" if found.window_name else ""
    yield (
        f"{name} has the highest pressure, {pressure_text(found.pressure)}{window}: a load of "
        f"{found.load:.4g} over {gigabytes(found.free_gb)} free of {gigabytes(found.memory_gb)}"
    )
    for tenant in found.tenants:
        yield f"- {_tenant(tenant)}"
    if found.tied > 1:
        yield f"{found.tied} GPUs have this pressure; this is the first of them"


def _services(told: Explanation) -> Iterator[str]:
    for service in told.services[:MOST_SHOWN]:
        yield f"- {quoted(service.model, '')}: {_service(service)}"
    if len(told.services) > MOST_SHOWN:
        yield f"- and {amount(len(told.services) - MOST_SHOWN, 'other model')}"


def _service(service: Service) -> str:
    """Return what a replica can serve, as far as it is known."""
    facts = [f"{gigabytes(service.cache_gb)} of cache" if service.cache_gb else "no cache"]
    if service.cache_tokens is not None:
        facts.append(f"{service.cache_tokens:,} tokens")
    if service.requests_at_once is not None:
        typical = f"{service.typical_request:,} tokens"
        facts.append(f"{amount(service.requests_at_once, 'request')} of {typical} at once")
    if service.longest_context is not None:
        facts.append(f"requests of up to {service.longest_context:,} tokens")
    return ", ".join(facts)


def _latency(told: Explanation) -> Iterator[str]:
    yield from latency_lines(told.latency)
    if told.ratio is not None and told.solved_again is not None:
        again, now = of_target(told.solved_again), of_target(told.ratio)
        yield f"the solver finds a worst latency of {again} instead of {now}: plan again"


def _tenant(tenant: Tenant) -> str:
    parts = []
    if tenant.replicas > 1:
        parts.append(f"one of {tenant.replicas} replicas")
    if tenant.shards > 1:
        parts.append(f"one of {tenant.shards} shards")
    which = f" ({', '.join(parts)})" if parts else ""
    share = f"{percent(tenant.share)} of the load"
    name = quoted(tenant.model, "")
    return f"{name}{which}: {gigabytes(tenant.size_gb)}, load {tenant.load:.4g}, {share}"


def _why(why: Why, bottleneck: Bottleneck) -> Iterator[str]:
    if why.cause is Cause.HOT_MODEL and why.alone:
        yield from _hot(why.alone, bottleneck)
    elif why.cause is Cause.LATENCY:
        yield "the plan minimises the worst latency, which comes before pressure"
    elif why.cause is Cause.PLACEMENT:
        yield "the placement is not the best one: plan again, with a longer --time-limit"
    elif why.cause is Cause.CONSTRAINTS:
        yield "constraints cause it: without them the peak would be lower"
    elif why.cause is Cause.EVEN:
        yield (
            "the fleet has too little memory for its load: spread perfectly, the load would still "
            f"make {pressure_text(why.even_pressure)} everywhere "
            f"({why.load:.4g} over {gigabytes(why.free_gb)} free)"
        )
    elif why.cause is Cause.PIECES:
        yield (
            "models cannot be cut at will: spread perfectly, the load would make "
            f"{pressure_text(why.even_pressure)} everywhere ({why.load:.4g} over "
            f"{gigabytes(why.free_gb)} free); fitting whole models together costs the rest"
        )
    for relief in why.reliefs[:MOST_SHOWN]:
        yield f"- without {change_text(relief.change)}: {pressure_text(relief.pressure)}"


def _hot(alone: Alone, bottleneck: Bottleneck) -> Iterator[str]:
    hottest = bottleneck.hottest
    which = "the largest GPU" if alone.everywhere else "the largest GPU that it may be on"
    replicas = hottest.replicas if hottest else 1
    shards = f" in {hottest.shards} shards" if hottest and hottest.shards > 1 else ""
    number = "one replica" if replicas == 1 else f"{replicas} replicas"
    yield (
        f"{quoted(alone.model, '')} sets the peak: even alone on {which} "
        f"({gigabytes(alone.memory_gb)}) its pressure is {pressure_text(alone.pressure)}, "
        f"so no placement with {number} of it{shards} can be lower"
    )


def _move(told: Explanation) -> Iterator[str]:
    peak, move = told.bottleneck.pressure, told.move
    if told.bottleneck.hottest is None or told.why.cause is Cause.LATENCY:
        return
    if move is None:
        yield "memory and constraints allow no move off this GPU and no swap"
    else:
        models = listed([quoted(name, "") for name in move.models])
        target = quoted(move.target, "")
        what = f"moving {models} to {target}"
        if move.others:
            others = listed([quoted(name, "") for name in move.others])
            what = f"swapping {models} with {others} of {target}"
        if move.lowers:
            yield f"{what} lowers the peak: {_after(move.pressure, peak)}"
        elif move.pressure == peak or abs(move.pressure - peak) <= TIE * peak:
            yield "no move or swap lowers it: the best ones leave it as it is"
        else:
            yield f"no move or swap lowers it; the best is {what}: {_after(move.pressure, peak)}"
    if told.solved_again is not None and told.ratio is None:
        yield f"the solver finds {_after(told.solved_again, peak)} for the same models and GPUs"


def _after(pressure: float, peak: float) -> str:
    """Return a pressure and how it compares with the peak."""
    text = pressure_text(pressure)
    if isinf(pressure) or isinf(peak) or peak == 0.0:
        return text
    change = pressure / peak - 1.0
    if abs(change) < MARGIN:
        return f"{text} (no change)" if abs(change) < TIE else f"{text} (hardly any change)"
    return f"{text} ({'+' if change > 0 else '-'}{percent(abs(change))})"


def _levers(told: Explanation) -> Iterator[str]:
    hottest = told.bottleneck.hottest
    if hottest is None or told.why.cause is Cause.LATENCY:
        return
    peak = told.bottleneck.pressure
    for lever in told.levers:
        yield _lever(lever, peak)
    if any(lever.pressure < peak for lever in told.levers):
        yield "replicas: auto lets the solver decide how many replicas of each model pay"
    if not told.levers:
        yield (
            f"{quoted(hottest.model, '')} must share one GPU with others (together), so it cannot "
            "have another replica"
        )


def _lever(lever: Lever, peak: float) -> str:
    name = quoted(lever.model, "")
    if lever.kind is ChangeKind.REPLICAS:
        ordinal = {2: "a second replica", 3: "a third replica"}.get(
            lever.count, f"replica {lever.count}"
        )
        what = f"{ordinal} of {name} (replicas: {lever.count}, {gigabytes(lever.added_gb)} more)"
    else:
        what = f"{name} in {lever.count} shards ({gigabytes(lever.added_gb)} more)"
    if peak <= lever.pressure < inf:
        return f"{what} would not lower the peak"
    if isinf(lever.pressure):
        reason = "does not fit" if lever.status is Status.INFEASIBLE else "was not placed in time"
        return f"{what} {reason}"
    result = f"{what}: peak {_after(lever.pressure, peak)}"
    if lever.then and lever.then != lever.model:
        result += f", then set by {quoted(lever.then, '')}"
    if lever.status is Status.OPTIMAL:
        return f"{result}, proven optimal"
    return f"{result}, at least {pressure_text(lever.bound)} whatever the placement"


def _bound(told: Explanation) -> Iterator[str]:
    found = told.bound
    value, what = told.bottleneck.pressure, "peak"
    if told.ratio is not None:
        value, what = told.ratio, "worst latency"
    if found is None:
        yield "the plan states none, so the possible gain is unknown"
        return
    if found.fault is not None:
        yield f"the plan states {pressure_text(found.bound)}, but that is not proven: {found.fault}"
        return
    whose = " of a target" if told.ratio is not None else ""
    yield f"no placement is below {pressure_text(found.bound)}{whose}, {proof_text(found)}"
    if found.gap <= RECORDED_AS_PROVEN:
        yield "so nothing lower is possible with these models and GPUs"
    elif isinf(found.gap):
        yield "so the possible gain is unknown"
    else:
        yield f"so the {what} could fall by {percent(1.0 - found.bound / value)} at most"


def _tight(told: Explanation) -> Iterator[str]:
    for tight in told.tight[:MOST_SHOWN]:
        yield f"{quoted(tight.gpu, '')} {_tight_gpu(tight)}"
    if len(told.tight) > MOST_SHOWN:
        yield f"and {amount(len(told.tight) - MOST_SHOWN, 'GPU')} more"


def _tight_gpu(tight: Tight) -> str:
    """Describe how much of a limit is used, in the unit of the resource."""
    share = percent(tight.use / tight.limit)
    if tight.resource == MEMORY:
        use, limit = gigabytes(tight.use), gigabytes(tight.limit)
        return f"needs {use} of {limit} with the least cache of its models ({share})"
    if tight.resource == COMPUTE:
        use, limit = percents(tight.use, tight.limit)
        return f"is busy {use} of the time, {limit} allowed"
    return f"uses {tight.use:.3g} of {tight.limit:.3g} {quoted(tight.resource, '')} ({share})"


def _idle(told: Explanation) -> Iterator[str]:
    for group in told.idle:
        yield _idle_group(group, told)


def _idle_group(group: IdleGpus, told: Explanation) -> str:
    names = listed([quoted(name, "") for name in group.gpus], MOST_SHOWN)
    many = f"{amount(len(group.gpus), 'GPU')} of {gigabytes(group.memory_gb)}: {names}"
    hot = told.why.cause is Cause.HOT_MODEL and told.why.alone
    no_gain = "moving a model there from the bottleneck would not lower the peak"
    if hot and group.why is Idle.NO_GAIN and told.why.alone:
        no_gain = f"{quoted(told.why.alone.model, '')} sets the peak wherever the other models are"
    reason = {
        Idle.FORBIDDEN: "no model may go there (only, never)",
        Idle.TOO_SMALL: "no model that may go there fits",
        Idle.LIMITED: "no model is within its limits, or its memory with the least cache",
        Idle.NOT_FOR_BOTTLENECK: "no model of the bottleneck may go there or fits there",
        Idle.NO_GAIN: no_gain,
        Idle.HELPS: "a model of the bottleneck could go there",
    }[group.why]
    return f"{many}; {reason}"


def _asleep(told: Explanation) -> Iterator[str]:
    if told.asleep:
        yield listed([quoted(name, "") for name in told.asleep])
