"""Why the best programs differ from the rest, in words."""

from collections.abc import Iterator

from colocate.lab.review.contrast import hard_cases, marks, path_to_best
from colocate.lab.review.evidence import Evidence
from colocate.lab.review.pairs import Pair
from colocate.lab.review.phrases import change, code, numbered, share
from colocate.lab.review.step_words import step_words


def contrast_sentences(evidence: Evidence) -> Iterator[str]:
    """Yield the steps to the fittest, what the fittest have, and the cases that few solve."""
    for step in path_to_best(evidence):
        yield (
            f"On the way to the fittest, number {step.child.number} gains {change(step.gain)} on "
            f"its parent, number {step.parent.number}: it {step_words(step)}"
            f"{_seen_elsewhere(evidence, step)}."
        )
    for mark in marks(evidence):
        yield (
            f"{mark.in_top} of the {mark.top} fittest programs have {code(mark.name)}, and "
            f"{mark.in_rest} of the other {mark.rest}; the mean fitness is "
            f"{share(mark.with_it)} with it and {share(mark.without_it)} without it."
        )
    for found in hard_cases(evidence):
        few, goal = len(found.solved_by), evidence.sound[0].verdict.public.goal
        shared = "".join(
            f"; {'it has' if few == 1 else 'all of these have'} {code(name)}, as do {count} others"
            for name, count in found.shared[:1]
        )
        yield (
            f"On case {code(found.case)}, {few} of {found.programs} programs "
            f"reach{'es' if few == 1 else ''} "
            f"{share(found.ratio)} of the {goal} ({numbered(found.solved_by)}), and no other more "
            f"than {share(found.next_ratio)}{shared}."
        )


def _seen_elsewhere(evidence: Evidence, step: Pair) -> str:
    """Return what other pairs say about the blocks that a step brings in; empty without any."""
    effects = (evidence.effects.get(block) for block in step.came)
    several = [effect for effect in effects if effect and effect.pairs > 1]
    if not several:
        return ""
    most = max(several, key=lambda effect: (effect.better / effect.pairs, effect.pairs))
    gained = [
        with_it
        for (with_it, _), gain in zip(most.owners, most.gains, strict=True)
        if gain > most.unsteadiness and with_it != step.child.number
    ]
    told = f", {numbered(sorted(set(gained)))} as well" if gained else ""
    return (
        f"; over all {most.pairs} pairs with and without {code(most.block)}, the one with it is "
        f"fitter in {most.better}, by {change(most.gain)} in the mean{told}"
    )
