"""The insights from the evidence, in five sections of sentences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from colocate.lab.messages import Kind
from colocate.lab.program import Program
from colocate.lab.review.block_words import implementation
from colocate.lab.review.causes import failure_causes, refusal_causes
from colocate.lab.review.contrast_words import contrast_sentences
from colocate.lab.review.evidence import Claim, Direction, Effect, Evidence, is_sound
from colocate.lab.review.pairs import Pair
from colocate.lab.review.phrases import change, code, code_list, share
from colocate.outputs.text.wording import amount
from colocate.problem.tolerance import SAME_FITNESS

MOST_CLAIMS = 8
MOST_TRENDS = 4
MOST_CAUSES = 5
MOST_CASES = 3
"""Limits on sentences and names, so that a review fits on a page, however long the run."""
SECTIONS = (
    "what_works",
    "why_the_best_differ",
    "what_does_not",
    "how_it_is_implemented",
    "how_performance_behaves",
)
OFTEN = 3
"""Pairs after which a block that never helped is called fruitless."""


@dataclass(frozen=True)
class Insights:
    """Sentences in sections; every figure in them comes from the archive.

    Parameters
    ----------
    what_works, what_does_not
        Blocks that help or hurt, failures and refusals.
    how_it_is_implemented
        The blocks of the fittest program.
    how_performance_behaves
        Fitness, kinds of changes and times.
    why_the_best_differ
        The steps that led to the fittest, its blocks that others lack, and the cases that only few
        programs solve.
    """

    what_works: tuple[str, ...]
    what_does_not: tuple[str, ...]
    how_it_is_implemented: tuple[str, ...]
    how_performance_behaves: tuple[str, ...]
    why_the_best_differ: tuple[str, ...] = ()

    def sections(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each section with its title."""
        for name in SECTIONS:
            yield name.replace("_", " ").capitalize(), getattr(self, name)


def write_insights(evidence: Evidence) -> Insights:
    """Put the evidence into words."""
    return Insights(
        tuple(_what_works(evidence)),
        tuple(_what_does_not(evidence)),
        tuple(_implementation(evidence)),
        tuple(_performance(evidence)),
        tuple(contrast_sentences(evidence)),
    )


def withdrawals(claims: Iterable[Claim], evidence: Evidence) -> Iterator[str]:
    """Yield the claims that the evidence no longer supports, with old and new figures."""
    standing = {(claim.block, claim.direction) for claim in evidence.claims}
    for claim in claims:
        if (claim.block, claim.direction) not in standing:
            verb = "help" if claim.direction is Direction.HELPS else "hurt"
            effects = {**evidence.families, **evidence.effects}
            now = _instead(effects.get(claim.block))
            yield f"{code(claim.block)} was said to {verb}, {measured(claim)}; {now}."


def measured(found: Claim | Effect) -> str:
    """Return the gain of a block, and the pairs that it was measured on."""
    swaps = f", {found.swaps} against other settings" if found.swaps else ""
    if found.clean == found.pairs:
        return f"{change(found.gain)} over {amount(found.pairs, 'clean pair')}{swaps}"
    alone = "" if found.clean_gain is None else f" ({change(found.clean_gain)})"
    clean = f"{found.clean or 'none'} of them clean{alone}"
    return f"{change(found.gain)} over {amount(found.pairs, 'pair')}, {clean}{swaps}"


def owned(found: Claim | Effect) -> str:
    """Return how many of the pairs gained, and the pairs that tell most."""
    if found.pairs == 1:
        return "".join(f": number {one} against number {other}" for one, other, _ in found.telling)
    better = f"; fitter in {found.better} of {found.pairs}"
    told = [
        f"{change(gain)} in number {with_it} against number {without}"
        for with_it, without, gain in found.telling
    ]
    return f"{better}{': ' if told else ''}{', '.join(told)}"


def titled(program: Program) -> str:
    """Return the number and the name of a program."""
    return f"number {program.number} ({code(program.name)})"


def missed_cases(program: Program) -> list[tuple[str, float]]:
    """Return the public cases short of their optimum with the share reached, the worst first."""
    short = [(result.case, result.ratio) for result in program.verdict.public.results]
    return sorted((each for each in short if each[1] < 1), key=lambda each: each[1])


def _instead(effect: Effect | None) -> str:
    if effect is None:
        return "now there are 0 pairs that tell"
    now = f"now it is {measured(effect)}"
    if effect.claim:
        return f"{now}, so the contrary holds"
    if abs(effect.gain) <= effect.noise:
        return f"{now}, and up to {share(effect.noise)} is noise"
    return f"{now}, which does not tell"


def _claimed(evidence: Evidence, direction: Direction) -> Iterator[str]:
    """Yield the claims; blocks with the same figures share a sentence."""
    together: defaultdict[str, list[str]] = defaultdict(list)
    for claim in evidence.claims:
        if claim.direction is direction:
            together[measured(claim) + owned(claim)].append(claim.block)
    for figures, blocks in list(together.items())[:MOST_CLAIMS]:
        each = "each of " if len(blocks) > 1 else ""
        yield f"With {each}{code_list(blocks)} the fitness changes by {figures}."


def _trends(evidence: Evidence, direction: Direction) -> Iterator[str]:
    """Yield constants that help or hurt when they are raised or lowered."""
    found = []
    for (name, where), both in evidence.trends.items():
        for verb, effect in zip(("Raising", "Lowering"), both, strict=True):
            claim = effect.claim if effect.gains else None
            if claim and claim.direction is direction:
                place = f" of {code(where)}" if where else ""
                told = f"{verb} {code(name)}{place} changes the fitness by {measured(claim)}"
                found.append((-abs(claim.gain), f"{told}{owned(claim)}."))
    yield from [sentence for _, sentence in sorted(found)[:MOST_TRENDS]]


def _what_works(evidence: Evidence) -> Iterator[str]:
    claimed = list(_claimed(evidence, Direction.HELPS))
    yield from claimed
    yield from _trends(evidence, Direction.HELPS)
    if not claimed:
        yield "No block is shown to help by a clean pair or by several pairs that agree."
    best, first = evidence.best, next(iter(evidence.programs), None)
    if best is None or first is None:
        return
    fitness = share(best.verdict.fitness)
    if best is first:
        yield f"Nothing is fitter than the first program, {titled(best)}, with {fitness}."
    else:
        base = share(first.verdict.fitness)
        yield f"The fittest is {titled(best)} with {fitness}; the first program has {base}."


def _what_does_not(evidence: Evidence) -> Iterator[str]:
    claimed = list(_claimed(evidence, Direction.HURTS))
    yield from claimed
    yield from _trends(evidence, Direction.HURTS)
    if not claimed:
        yield "No block is shown to hurt by a clean pair or by several pairs that agree."
    yield from _fruitless(evidence)
    causes = failure_causes(evidence.programs)
    for cause in causes[:MOST_CAUSES]:
        reason = f": {code(cause.reason)}" if cause.reason else ""
        yield (
            f"{amount(cause.programs, 'program')} failed by {code(cause.kind)} on "
            f"{amount(cause.cases, 'case')}; the first is number {cause.number} on "
            f"{code(cause.case)}{reason}."
        )
    if causes:
        yield _origin_of_failures(evidence)
        yield "No block is blamed for a failure: what fails is not compared with its parent."
    for refused in refusal_causes(evidence.attempts)[:MOST_CAUSES]:
        yield (
            f"Refused for one cause: {amount(refused.answers, 'answer')}, "
            f"the first for number {refused.number}: {code(str(refused.refusal))}."
        )


def _fruitless(evidence: Evidence) -> Iterator[str]:
    """Yield blocks that were tried often and never helped."""
    effects = (*evidence.effects.values(), *evidence.families.values())
    never = [each for each in effects if each.pairs >= OFTEN and not each.better and not each.claim]
    for effect in sorted(never, key=lambda each: (-each.pairs, each.block))[:MOST_TRENDS]:
        yield (
            f"{code(effect.block)} was never fitter beyond noise: "
            f"{measured(effect)}{owned(effect)}."
        )


def _origin_of_failures(evidence: Evidence) -> str:
    failed = [each for each in evidence.programs if not is_sound(each)]
    parents = [evidence.parent_of(each) for each in failed]
    sound = sum(parent is not None and is_sound(parent) for parent in parents)
    return (
        f"Of {amount(len(failed), 'program')} with failed cases, {sound} come from a parent "
        "without one, so the fault came with the change."
    )


def _implementation(evidence: Evidence) -> Iterator[str]:
    best = evidence.best
    if best:
        found = evidence.anatomy(best)
        own = sorted(found.blocks)
        others = [evidence.anatomy(each).blocks for each in evidence.sound if each is not best]
        yield f"The fittest, {titled(best)}, is made of {code_list(own) or 'no block with a name'}."
        if how := implementation(found):
            yield f"What it does: {how}."
        common = [block for block in own if others and all(block in each for each in others)]
        alone = [block for block in own if others and not any(block in each for each in others)]
        if common:
            all_sound = f"All {len(evidence.sound)} programs without a failed case"
            yield f"{all_sound} have {code_list(common)}."
        if alone:
            yield f"Only the fittest has {code_list(alone)}."
    yield _pairs_told(evidence.pairs)
    repeats = [each.number for each in evidence.programs if evidence.repeats_parent(each)]
    if repeats:
        yield (
            f"Only words for readers tell {_numbers(repeats)} from the parent: "
            "the same program, from which nothing is learned."
        )


def _pairs_told(pairs: tuple[Pair, ...]) -> str:
    clean = sum(pair.clean for pair in pairs)
    unnamed = sum(not pair.added | pair.removed for pair in pairs)
    return (
        f"{amount(len(pairs), 'pair')} of a parent and its child can be compared, as neither has "
        f"a failed case: {clean} clean, with one block that differs and nothing else by name, "
        f"and {unnamed} without a block by which to tell them apart."
    )


def _numbers(numbers: list[int]) -> str:
    return f"{'number' if len(numbers) == 1 else 'numbers'} {', '.join(map(str, numbers))}"


def _performance(evidence: Evidence) -> Iterator[str]:
    best = evidence.best
    if best is None:
        yield "Every program has a failed case, so there is no figure to compare."
        return
    top = best.verdict.fitness
    level = sum(each.verdict.fitness > top - SAME_FITNESS for each in evidence.sound)
    yield (
        f"The highest fitness, {share(top)}, is reached by {level} of "
        f"{amount(len(evidence.sound), 'different program')} without a failed case."
    )
    yield _reached(best)
    yield from _kinds(evidence)
    quick = min(evidence.sound, key=lambda each: each.verdict.seconds)
    slow = max(evidence.sound, key=lambda each: each.verdict.seconds)
    yield (
        f"All public cases take between {quick.verdict.seconds:.3f} s (number {quick.number}) "
        f"and {slow.verdict.seconds:.3f} s (number {slow.number})."
    )
    if evidence.luck:
        most = max(evidence.luck, key=lambda pair: abs(pair.gain))
        yield (
            f"{amount(len(evidence.luck), 'pair')} differ in a seed alone; the largest difference "
            f"is {change(most.gain)} in number {most.child.number} against number "
            f"{most.parent.number}, which is luck."
        )
    if evidence.unsteadiness > SAME_FITNESS:
        yield (
            "The same program, or one with another seed, was seen to differ by "
            f"{share(evidence.unsteadiness)} in fitness, so a gain up to that is noise."
        )


def _reached(best: Program) -> str:
    verdict, missed = best.verdict, missed_cases(best)
    where = ", ".join(f"{code(case)} ({share(ratio)})" for case, ratio in missed[:MOST_CASES])
    by_most = f", by most on {where}" if missed else ""
    unseen = f" and {share(verdict.hidden.ratio)} on hidden cases" if verdict.hidden.cases else ""
    return (
        f"The fittest misses the {verdict.public.goal} on {len(missed)} of "
        f"{amount(verdict.public.cases, 'public case')}{by_most}; its ratio is "
        f"{share(verdict.ratio)} there{unseen}."
    )


def _kinds(evidence: Evidence) -> Iterator[str]:
    for kind in Kind:
        gains = [p.gain for p in evidence.pairs if evidence.kinds.get(p.child.number) is kind]
        if gains:
            better = sum(gain > evidence.unsteadiness for gain in gains)
            yield (
                f"By {kind.value}, the child is fitter in {better} of "
                f"{amount(len(gains), 'pair')}, {change(fmean(gains))} in the mean."
            )
