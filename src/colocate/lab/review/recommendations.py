"""Recommendations on what to try next, based on the evidence.

Each names a mechanism, where to put it in the fittest program, and the figure that supports it.
What a child of the fittest has tried already is not recommended again. Proposers prefer the blocks
that a recommendation names, so recommendations name no block to avoid, and quote no program that
failed; the insights do both.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from colocate.lab.program import Program
from colocate.lab.review.anatomy import bare_name
from colocate.lab.review.block_words import block_settings
from colocate.lab.review.causes import failure_causes
from colocate.lab.review.composition import COMPOSITION
from colocate.lab.review.contrast import complements
from colocate.lab.review.differences import named_constants
from colocate.lab.review.evidence import Claim, Direction, Effect, Evidence, is_sound
from colocate.lab.review.ideas import OF_A_COMPOSITION, OF_ANY_PROGRAM, Idea
from colocate.lab.review.insights import measured, missed_cases, owned, titled
from colocate.lab.review.mechanism import Role
from colocate.lab.review.pairs import Pair
from colocate.lab.review.phrases import code, code_list, share
from colocate.outputs.text.wording import amount
from colocate.problem.tolerance import SAME_FITNESS

HOW_MANY = 5
"""Few enough that a model heeds each of them."""
SETTINGS = frozenset({"rounds", "random rounds", "tolerance", "seed", "sort"})
"""Blocks of code that are settings of others: alone, they do nothing for another program."""
FIRST_ANSWER = frozenset({"bisection", "first fit"})
"""Mechanisms that make an answer, and beside which nothing improves one."""
OFTEN_FAILED = 0.25
"""The share of programs with failed cases from which on failures get advice of their own."""

ALWAYS_TRUE = (
    "Change one block at a time, so that its gain can be told from that of others.",
    "Change what the program does: other comments or docstrings make no other program.",
    "Answer every case by the rules, as a failed case counts for none.",
    "Do not tune to the public cases: the lower ratio counts, of the public and the hidden ones.",
    "Bound every loop, so that each case ends in time.",
)


def recommendations(evidence: Evidence) -> tuple[str, ...]:
    """Return five sentences for proposers, of as many kinds as there are reasons."""
    best = evidence.best
    kinds: list[Iterator[str]] = [_failed(evidence)]
    if best is not None:
        advice = _Advice(evidence, best)
        kinds = [
            advice.proven(),
            advice.constants(),
            advice.complements(),
            advice.ideas(),
            advice.promising(),
            *kinds,
        ]
    in_turn = filter(None, chain.from_iterable(zip_longest(*kinds)))
    return tuple(islice(dict.fromkeys(chain(in_turn, ALWAYS_TRUE)), HOW_MANY))


class _Advice:
    """Advice on the fittest program.

    Parameters
    ----------
    evidence
        The archive.
    best
        Its fittest program.
    """

    def __init__(self, evidence: Evidence, best: Program) -> None:
        self._evidence = evidence
        self._best = best
        self._own = evidence.anatomy(best)
        self._known = evidence.by_number
        self._tried = frozenset(_tried(evidence, best))
        claims = evidence.claims
        hurtful = {claim.block for claim in claims if claim.direction is Direction.HURTS}
        self._unwelcome = hurtful | {bare_name(each) for each in hurtful if "(" not in each}
        self._named: set[str] = set()

    def proven(self) -> Iterator[str]:
        """Yield blocks that help and that the best program does not have."""
        claims = self._evidence.claims
        for claim in sorted(
            claims, key=lambda each: (not self._applies(each), -self._closed(each))
        ):
            if claim.direction is Direction.HELPS and self._is_new(claim.block):
                yield f"{self._step(claim)}: {measured(claim)}{owned(claim)}."

    def constants(self) -> Iterator[str]:
        """Yield constants of the best program that are worth raising or lowering."""
        own = self._constants()
        found = []
        for key, both in self._evidence.trends.items():
            for verb, beyond, effect in zip(
                ("Raise", "Lower"), ("above", "below"), both, strict=True
            ):
                if key in own and effect.gains and effect.better and effect.gain > 0:
                    place = f" of {code(key[1])}" if key[1] else ""
                    step = f"{verb} {code(key[0])}{place} in {titled(self._best)} {beyond} "
                    found.append(
                        (
                            -effect.gain,
                            f"{step}{own[key]}: so far {measured(effect)}{owned(effect)}.",
                        )
                    )
        yield from [sentence for _, sentence in sorted(found)]

    def complements(self) -> Iterator[str]:
        """Yield blocks of programs that do better than the best on a case."""
        for other, case, reached, short in complements(self._evidence):
            more = self._evidence.anatomy(other).blocks - self._own.blocks
            welcome = [block for block in sorted(more) if self._is_new(block)]
            if welcome:
                self._named.update(welcome)
                yield (
                    f"Take {code_list(welcome[:2])} from {titled(other)} into "
                    f"{self._place(bare_name(welcome[0]))}: number {other.number} reaches "
                    f"{share(reached)} on case {code(case)}, and number {self._best.number} only "
                    f"{share(short)}."
                )

    def ideas(self) -> Iterator[str]:
        """Yield mechanisms that no program has yet."""
        programs = self._evidence.programs
        known = {name for each in programs for name in self._evidence.anatomy(each).names}
        for idea in OF_A_COMPOSITION if self._own.groups else OF_ANY_PROGRAM:
            if idea.name not in known:
                none = f"none of {amount(len(programs), 'program')} has it"
                yield (
                    f"Add {code(idea.name)} to {self._beside(idea)} ({idea.advice}): {none}, and "
                    f"{self._shortfall()}."
                )

    def promising(self) -> Iterator[str]:
        """Yield blocks that may help, but cannot be separated from other changes or from noise."""
        every = (*self._evidence.effects.values(), *self._evidence.families.values())
        for effect in sorted(every, key=lambda each: (-self._closed(each), each.block)):
            unclear = not effect.claim and effect.gain > self._evidence.unsteadiness
            if unclear and self._is_new(effect.block) and self._applies(effect):
                yield (
                    f"{self._step(effect)} and change nothing else, to see what it is worth: so "
                    f"far {measured(effect)}{owned(effect)}."
                )

    def _closed(self, found: Claim | Effect) -> float:
        """Return the share of the way to the optimum that a block went, where it went most of it.

        A gain of a poor program is large and easy; near the optimum a small one is worth more.
        """
        fitness = {number: each.verdict.fitness for number, each in self._known.items()}
        return max(
            (g / max(1 - fitness[n], SAME_FITNESS) for _, n, g in found.telling), default=0.0
        )

    def _is_new(self, block: str) -> bool:
        """Whether a block is neither in the best program, nor tried on it, nor shown to hurt."""
        if block in self._own.blocks | self._tried | self._unwelcome | self._named:
            return False
        if bare_name(block) in SETTINGS:
            return False
        plain = block == bare_name(block)
        return not (plain and block in self._own.names) and bare_name(block) not in self._unwelcome

    def _applies(self, found: Claim | Effect) -> bool:
        """Whether what was only seen in place of the same block can take its place here too."""
        return found.swaps < found.pairs or bare_name(found.block) in self._own.names

    def _step(self, found: Claim | Effect) -> str:
        """Return how to bring in a block; one seen only as a replacement replaces another."""
        self._named.add(found.block)
        name = bare_name(found.block)
        replaces = found.swaps == found.pairs and name in self._own.names
        if replaces:
            return f"Change the settings to {code(found.block)} in {titled(self._best)}"
        return f"Put {code(found.block)} into {self._place(name)}"

    def _place(self, name: str) -> str:
        """Return where a block belongs in the best program: where other programs have it."""
        whole = titled(self._best)
        holders = (self._evidence.anatomy(each) for each in self._evidence.sound)
        for found in holders:
            where = found.group_of(name) if self._own.groups else found.holder_of(name)
            if where in {*COMPOSITION, *self._own.functions, self._evidence.entry}:
                return f"{code(where)} of {whole}"
        return whole

    def _beside(self, idea: Idea) -> str:
        """Return where an idea belongs in the best program: beside what is most like it."""
        whole = titled(self._best)
        for place in idea.beside:
            if not isinstance(place, Role):
                return f"{code(place)} of {whole}"
            for each in self._own.mechanisms:
                # What improves an answer comes after that which makes the first one.
                if each.role is place and each.where and each.name not in FIRST_ANSWER:
                    return f"{code(each.where)} of {whole}"
        return f"{code(self._evidence.entry)} of {whole}"

    def _shortfall(self) -> str:
        """Return the figure that shows how much is left to gain."""
        missed = missed_cases(self._best)
        if missed:
            case, ratio = missed[0]
            return f"number {self._best.number} reaches only {share(ratio)} on case {code(case)}"
        return f"number {self._best.number} has a fitness of {share(self._best.verdict.fitness)}"

    def _constants(self) -> dict[tuple[str, str], str]:
        """Return the constants of the best program by name and place."""
        if not self._own.groups:
            return named_constants(self._best.source)
        return {
            (name, bare_name(block)): value
            for block in sorted(self._own.blocks)
            for name, value in block_settings(block).items()
        }


def _tried(evidence: Evidence, best: Program) -> Iterator[str]:
    """Yield the blocks that children of the best program brought in, failed ones too."""
    for child in evidence.programs:
        if evidence.parent_of(child) is best:
            pair = Pair(best, child, evidence.entry)
            yield from pair.added | pair.brought


def _failed(evidence: Evidence) -> Iterator[str]:
    failed: Sequence[Program] = [each for each in evidence.programs if not is_sound(each)]
    if len(failed) < OFTEN_FAILED * len(evidence.programs):
        return
    for cause in failure_causes(evidence.programs):
        yield (
            f"Make sure that no case ends by {code(cause.kind)}, as {amount(cause.cases, 'case')} "
            f"of {amount(cause.programs, 'program')} did, first {code(cause.case)}."
        )
