"""Sentences about replans, steps and differences."""

from collections.abc import Mapping
from math import isinf

from colocate.outputs.text.wording import amount, gigabytes, listed, percent, pressure_text
from colocate.replan.choice import ChoiceRule, MoveChoice
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.replanning import BudgetProof, FrontierPoint, Replanning
from colocate.replan.steps.exhaustion import ServingProof
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import EngineStep, StepKind
from colocate.replan.worth import MoveWorth, RatesCase, WorthCase

PROOFS = {
    BudgetProof.NONE: "no bound",
    BudgetProof.ANY_BUDGET: "no placement at all is lower",
    BudgetProof.EVICTION: "more would have to leave its GPU",
    BudgetProof.EXHAUSTION: "every placement was tried",
}
DOINGS = {
    StepKind.LOAD: "load",
    StepKind.WAIT: "wait until it answers",
    StepKind.SWITCH: "send it requests",
    StepKind.DRAIN: "send it no more requests, and let it finish",
    StepKind.UNLOAD: "stop it",
    StepKind.SLEEP: "put it to sleep",
    StepKind.WAKE: "wake it",
}


def value_text(value: float) -> str:
    """Return a value for people."""
    return "infinite" if isinf(value) else pressure_text(value)


def noun(found: Replanning) -> str:
    """Name what the fleet minimises."""
    return "ratio" if found.problem.objective == "latency" else "pressure"


def proof_text(point: FrontierPoint) -> str:
    """Say how good a point is for what it moves, and why that is known."""
    if point.proof is BudgetProof.NONE:
        return "no bound"
    if point.proven:
        return f"optimal: {PROOFS[point.proof]}"
    return f"within {percent(point.gap)} of optimal: {PROOFS[point.proof]}"


def headline(choice: MoveChoice) -> str:
    """Say in a sentence what to do."""
    found, worth = choice.found, choice.worth
    point = found.point
    if found.stay is None:
        loads = f"{gigabytes(point.moved_gb)} to load, {noun(found)} {value_text(point.value)}"
        return f"move: {_why_not_stay(found)}{_faults(found)}; {loads}"
    if point is found.stay and worth is not None:
        best = found.points[choice.best]
        return f"stay: no move pays; the best is {_step_down(found, best)}"
    if point is found.stay and any(way.refused for way in choice.ways):
        kept = f"{noun(found)} {value_text(point.value)}"
        return f"stay: no steps to a better placement keep every model serving; {kept}"
    if point.moved_gb <= found.forced_gb and not found.forced_gb:
        return f"stay: nothing better was found; {noun(found)} {value_text(point.value)}"
    pays = worth is None or worth.pays
    return f"{'move' if pays else 'as asked, though it does not pay'}: {_step_down(found, point)}"


def _step_down(found: Replanning, point: FrontierPoint) -> str:
    """Say how far a point lowers the value, and what it loads."""
    assert found.stay is not None
    gain = f"{noun(found)} {value_text(found.stay.value)} -> {value_text(point.value)}"
    return f"{gain} for {gigabytes(point.moved_gb)}"


def _why_not_stay(found: Replanning) -> str:
    if found.draining:
        return f"{listed(found.draining)} {'is' if len(found.draining) == 1 else 'are'} to be left"
    return "the old placement no longer works"


def _faults(found: Replanning) -> str:
    """Say what is wrong with the old placement, if it is not just that GPUs are to be left."""
    if found.draining:
        return ""
    first, *more = found.broken
    return f": {first}" + (f" (and {amount(len(more), 'other fault')})" if more else "")


RATES = {
    RatesCase.STATED: "at the stated rates",
    RatesCase.LOW: "at the lowest likely rates",
    RatesCase.HIGH: "at the highest likely rates",
}


def choice_text(choice: MoveChoice) -> str:
    """Say why the chosen point is chosen; nothing if there is no other."""
    found = choice.found
    if len(found.points) == 1:
        return ""
    if choice.rule is ChoiceRule.ASKED:
        return "chosen: what was asked for"
    others = " of those with steps" if any(way.refused for way in choice.ways) else ""
    if choice.rule is ChoiceRule.LOWEST_VALUE:
        why = f"{_why_not_stay(found)}, so moves are not compared with staying"
        return f"chosen: the lowest {noun(found)}{others}; {why}"
    if (worth := choice.worth) is None:
        return f"chosen: staying; {choice.ways[-1].refused}"
    net = f"{_number(worth.net_gain)} {_unit(worth)}"
    if worth.pays:
        return f"chosen: the best net gain{others}, {net}"
    return f"chosen: staying; the best net gain of a move{others} is {net}"


def net_text(choice: MoveChoice, number: int) -> str:
    """Say what is left of what a point brings."""
    way = choice.ways[number]
    if way.refused:
        return "no steps"
    if way.worth is None:
        return "0" if choice.found.points[number] is choice.found.stay else "not compared"
    net = _number(way.worth.net_gain)
    return net if way.worth.complete else f"at most {net}"


def _unit(worth: MoveWorth) -> str:
    return "requests in time" if worth.simulated else "seconds of the fleet's work"


def worth_text(worth: MoveWorth) -> str:
    """Say what moving brings and costs, at the stated rates and where it brings least."""
    unit = _unit(worth)
    lasts = f"if demand lasts {worth.lasts_seconds * (1 - worth.uncertainty):.0f} s"
    if worth.uncertainty:
        lasts += f" ({worth.lasts_seconds:.0f} s less {percent(worth.uncertainty)})"
    case = worth.stated
    told = (
        f"moving costs {_number(case.cost)} {unit} over {worth.seconds:.0f} s and brings "
        f"{_number(case.gain_per_second)} each second: {_number(worth.least_gain(case))} {lasts}; "
        f"{_pays_from(worth, case)}"
    )
    if len(worth.cases) == 1:
        return f"{told}. Rates count as exact"
    off = f"rates may be off by up to {percent(worth.rate_uncertainty)}"
    worst = worth.worst
    if worst is case:
        return f"{told}; {off}, and moving brings more at both ends"
    return (
        f"{told}; {off}: {RATES[worst.rates]} moving costs {_number(worst.cost)} and brings "
        f"{_number(worth.least_gain(worst))}; there {_pays_from(worth, worst)}"
    )


def _number(value: float) -> str:
    """Return a number to three digits, or whole."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _pays_from(worth: MoveWorth, case: WorthCase) -> str:
    even = worth.break_even_seconds(case)
    return "it never pays" if isinf(even) else f"it pays from {even:.0f} s on"


def engine_text(engine: PlacedEngine) -> str:
    """Name an engine."""
    return f"{engine.model} on {' + '.join(engine.gpus)}"


def step_text(step: EngineStep) -> str:
    """Say what a step does."""
    return f"{step.kind.value} {engine_text(step.engine)}"


def steps_text(steps: SafeSteps) -> str:
    """Say what steps take, and what they interrupt."""
    if not steps.steps:
        return "no steps: everything stays"
    told = (
        f"{amount(len(steps.steps), 'step')}, about {steps.seconds:.0f} s, "
        f"{gigabytes(steps.loaded_gb)} loaded"
    )
    if steps.extra_gb > 0.0:
        told += f" ({gigabytes(steps.extra_gb)} of it for restarts and detours)"
    if steps.missing_for:
        told += f"; not served at first: {_spans(steps.missing_for)}"
    if not steps.interruptions:
        others = "every other model" if steps.missing_for else "every model"
        return f"{told}; {others} keeps serving"
    why = {
        ServingProof.NONE: "no order avoids it: every state that can be reached was tried",
        ServingProof.LIMIT: f"no order without it was found in {amount(steps.states, 'state')}",
        ServingProof.FOUND: "",
    }[steps.proof]
    return f"{told}; {interruptions_text(steps)} ({why})"


def interruptions_text(steps: SafeSteps) -> str:
    """Return for how long models are interrupted, in all; nothing if none is."""
    found: dict[str, float] = {}
    for each in steps.interruptions:
        found[each.model] = found.get(each.model, 0.0) + each.seconds
    return f"interrupted: {_spans(found)}" if found else ""


def _spans(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{model} for {each:.0f} s" for model, each in seconds.items())
