"""Recommendations on what to try next, based on the evidence.

Proposers prefer the blocks that a recommendation names. So recommendations name no block to avoid,
and quote no program that failed; the insights do both.
"""

from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from colocate.lab.program import Program
from colocate.lab.review.anatomy import anatomy, bare_name
from colocate.lab.review.causes import failure_causes
from colocate.lab.review.evidence import Claim, Direction, Effect, Evidence
from colocate.lab.review.insights import measured, missed_cases, titled
from colocate.lab.review.phrases import code, code_list, share
from colocate.outputs.text.wording import amount

HOW_MANY = 5
"""Few enough that a model heeds each of them."""

ALWAYS_TRUE = (
    "Change one block at a time, so that its gain can be told from that of others.",
    "Change what the program does: other comments or docstrings make no other program.",
    "Place every model on exactly one GPU that has room for it, as a failed case counts for none.",
    "Do not tune to the public cases: the lower ratio counts, of the public and the hidden ones.",
    "Bound every loop, so that each case ends in time.",
)


def recommendations(evidence: Evidence) -> tuple[str, ...]:
    """Return five sentences for proposers, of as many kinds as there are reasons."""
    best = evidence.best
    if best is None:
        kinds = [_failed(evidence)]
    else:
        kinds = [
            _proven(evidence, best),
            _failed(evidence),
            _promising(evidence, best),
            _crossings(evidence, best),
            _short(evidence, best),
            iter([f"Go on from {titled(best)}, the fittest so far."]),
        ]
    in_turn = filter(None, chain.from_iterable(zip_longest(*kinds)))
    return tuple(islice(chain(in_turn, ALWAYS_TRUE), HOW_MANY))


def _proven(evidence: Evidence, best: Program) -> Iterator[str]:
    """Yield blocks that help, first those that the best program does not have."""
    own = anatomy(best.source).blocks
    helpful = [claim for claim in evidence.claims if claim.direction is Direction.HELPS]
    for claim in sorted(helpful, key=lambda claim: claim.block in own):
        block = code(claim.block)
        step = f"Keep {block} in" if claim.block in own else _step(claim, own)
        yield f"{step} {titled(best)}: {measured(claim)}."


def _failed(evidence: Evidence) -> Iterator[str]:
    for cause in failure_causes(evidence.programs):
        yield (
            f"Make sure that no case ends by {code(cause.kind)}, as {amount(cause.cases, 'case')} "
            f"of {amount(cause.programs, 'program')} did, first {code(cause.case)}."
        )


def _promising(evidence: Evidence, best: Program) -> Iterator[str]:
    """Yield blocks that may help, but cannot be separated from other changes or from noise."""
    own = anatomy(best.source).blocks
    effects = [effect for effect in evidence.effects.values() if not effect.claim]
    for effect in sorted(effects, key=lambda effect: -effect.gain):
        if effect.gain > evidence.unsteadiness and effect.block not in own:
            yield (
                f"{_step(effect, own)} {titled(best)} and change nothing else, to see what it is "
                f"worth: so far {measured(effect)}."
            )


def _step(found: Claim | Effect, own: frozenset[str]) -> str:
    """Return how to bring in a block; one seen only as a replacement replaces another."""
    replaces = found.swaps == found.pairs and bare_name(found.block) in map(bare_name, own)
    return (
        f"Change the settings to {code(found.block)} in"
        if replaces
        else (f"Put {code(found.block)} into")
    )


def _crossings(evidence: Evidence, best: Program) -> Iterator[str]:
    for other in sorted(evidence.sound, key=lambda each: -each.verdict.fitness):
        more = anatomy(other.source).blocks - anatomy(best.source).blocks
        if welcome := _welcome(evidence, more):
            yield (
                f"Cross {titled(best)} with {titled(other)}, which has {code_list(welcome)} and a "
                f"fitness of {share(other.verdict.fitness)}."
            )


def _short(evidence: Evidence, best: Program) -> Iterator[str]:
    blocks = _welcome(evidence, anatomy(best.source).blocks)
    made_of = f" with {code_list(blocks)}" if blocks else ""
    for case, ratio in missed_cases(best):
        yield (
            f"Lower the pressure on case {code(case)}, where {titled(best)} reaches only "
            f"{share(ratio)} of the optimum{made_of}."
        )


def _welcome(evidence: Evidence, blocks: frozenset[str]) -> list[str]:
    """Return the blocks that are not shown to hurt."""
    hurtful = {claim.block for claim in evidence.claims if claim.direction is Direction.HURTS}
    return sorted(blocks - hurtful)
