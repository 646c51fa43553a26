"""Decisions in words: one sentence, with the figures that it rests on."""

from colocate.outputs.replan.words import interruptions_text
from colocate.outputs.text.wording import gigabytes, listed
from colocate.replan.policy.decision import (
    EngineObstacle,
    PolicyDecision,
    PolicyReason,
    UnservedModels,
)

REASONS = {
    PolicyReason.TOO_LITTLE_KNOWN: "requests have not been counted for long enough",
    PolicyReason.TARGETS_HOLD: "nearly all requests are in time as it is",
    PolicyReason.MOST_MOVES: "as many engines moved in the last hour as may",
    PolicyReason.NOTHING_BETTER: "no placement brings more requests in time",
    PolicyReason.OVER_BUDGET: "the better placement loads more than one change may",
    PolicyReason.NO_STEPS: "no safe way leads to the better placement",
    PolicyReason.DOES_NOT_PAY: "a move would bring too little for what it costs",
    PolicyReason.NOT_SURE: "it pays at the measured rates, but not at those that are as likely",
    PolicyReason.PAYS: "going brings more requests in time than it costs",
    PolicyReason.NOT_SERVED: "a model has no engine",
}
HELD = " while engines that moved lately stay where they are (--commitment)"
NOT_MEASURED = (
    "nobody knows how often {names} {are} asked; see that all engines are scraped, or give --map "
    "NAME=MODEL where names differ; some tell nothing until they were asked once"
)
OBSTACLES = {
    EngineObstacle.PINS: "may be on no GPU that is there, or on too few of one node",
    EngineObstacle.MEMORY: "need {needed} on {where}, of which {free} at most are free, and no way "
    "was found to make room",
    EngineObstacle.APART: "must be apart from models that are wherever there is memory",
    EngineObstacle.MOST_MODELS: "find as many models as may be wherever there is memory",
    EngineObstacle.RESOURCE: "find too little {resource} wherever there is memory",
    EngineObstacle.NO_STEPS: "have a place, but no safe steps lead to it",
    EngineObstacle.FAILED: "have a place, but a step failed there lately; it is tried again soon",
    EngineObstacle.SEVERAL: "find no GPU without a rule against it",
}
"""What is in the way of models, as the rest of a sentence about several."""
SINGULAR = {"need ": "needs ", "find ": "finds ", "have ": "has "}
"""The verbs of these sentences for one model."""
MOST_NAMES = 4
"""Moves that a sentence names."""


def decision_words(decision: PolicyDecision) -> str:
    """Return a decision as a sentence."""
    unserved = "; ".join(map(_unserved, decision.unserved[:MOST_NAMES]))
    if len(decision.unserved) > MOST_NAMES:
        unserved += f"; {len(decision.unserved) - MOST_NAMES} more have none"
    if decision.reason is PolicyReason.NO_ROOM:
        silent = f"; {_not_measured(decision)}" if decision.not_measured else ""
        return f"stay: {unserved}{silent}"
    head = "stay" if decision.stay else f"move {_moved(decision)}"
    rest = f"; {unserved}" if unserved else ""
    return f"{head}: {_reason(decision)}{_figures(decision)}{_interruptions(decision)}{rest}"


def _reason(decision: PolicyDecision) -> str:
    if decision.reason is PolicyReason.NOT_MEASURED:
        return _not_measured(decision)
    held = decision.reason is PolicyReason.NOTHING_BETTER and decision.holding
    return REASONS[decision.reason] + (HELD if held else "")


def _not_measured(decision: PolicyDecision) -> str:
    missing = decision.not_measured
    names, are = listed(missing, MOST_NAMES), "is" if len(missing) == 1 else "are"
    return NOT_MEASURED.format(names=names, are=are)


def _unserved(found: UnservedModels) -> str:
    """Return that models go without an engine, and why."""
    why = OBSTACLES[found.obstacle].format(
        needed=gigabytes(found.needed_gb),
        where="a GPU" if found.shards == 1 else f"each of {found.shards} GPUs of a node",
        free=gigabytes(found.free_gb),
        resource=found.resource,
    )
    if len(found.models) > 1:
        return f"{listed(found.models)} have no engine: they must share a GPU, and {why}"
    for verb, own in SINGULAR.items():
        why = own + why.removeprefix(verb) if why.startswith(verb) else why
    return f"{found.models[0]} has no engine: it {why}"


def _moved(decision: PolicyDecision) -> str:
    """Return which engines come; where none does, which leave."""
    coming = [move for move in decision.moves if move.arrived]
    word, shown = ("to", coming) if coming else ("away from", decision.moves)
    named = [f"{move.model} {word} {'+'.join(move.gpus)}" for move in shown[:MOST_NAMES]]
    if len(shown) > MOST_NAMES:
        named.append(f"{len(shown) - MOST_NAMES} more")
    seconds = decision.steps.seconds if decision.steps else 0.0
    return f"{listed(named) if named else 'nothing'} ({seconds:.0f} s)"


def _interruptions(decision: PolicyDecision) -> str:
    """Return which models have fewer engines on the way, if models move."""
    steps = None if decision.stay else decision.steps
    told = interruptions_text(steps) if steps else ""
    return f"; {told}" if told else ""


def _figures(decision: PolicyDecision) -> str:
    gain = decision.gain
    if gain is None or gain.arrived <= 0.0:
        return ""
    stays, goes = (share / gain.arrived for share in (gain.staying, gain.going))
    return (
        f" ({stays:.1%} of requests in time while staying, {goes:.1%} while going; "
        f"the way costs {max(gain.cost, 0.0):.0f} requests)"
    )
