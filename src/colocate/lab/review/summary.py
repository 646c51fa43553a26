"""A summary of one program: what it does and how, what it changes, and what came of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from colocate.lab.messages import Kind
from colocate.lab.program import Program
from colocate.lab.review.block_words import implementation
from colocate.lab.review.causes import FailureCause, failure_causes
from colocate.lab.review.evidence import Evidence, is_sound
from colocate.lab.review.pairs import Pair
from colocate.lab.review.phrases import LONGEST_DESCRIPTION, change, code, code_list, share
from colocate.lab.review.step_words import step_words
from colocate.outputs.text.wording import amount
from colocate.problem.tolerance import SAME_FITNESS


@dataclass(frozen=True)
class Summary:
    """A summary of one program."""

    number: int
    name: str
    generation: int
    kind: Kind | None
    """How it was made; None for a program without a request."""
    parent: int | None
    added: tuple[str, ...]
    """Blocks that its parent does not have."""
    removed: tuple[str, ...]
    """Blocks that only its parent has."""
    repeats_parent: bool
    """Whether it differs from its parent only in words for readers."""
    score: float
    ratio: float
    hidden_ratio: float
    """Figures of the verdict, see `Verdict`."""
    valid_cases: int
    cases: int
    hidden_valid_cases: int
    hidden_cases: int
    """Cases that did not fail, and all cases, public and hidden."""
    steady: bool
    """Whether all runs gave the same values."""
    seconds: float
    worst_case: str
    worst_ratio: float
    """The public case furthest from its optimum."""
    failures: tuple[FailureCause, ...]
    """Why cases failed."""
    blocks: tuple[str, ...]
    """All its blocks."""
    goal: str = "optimum"
    """What the ratios compare with."""
    how: str = ""
    """What it does and how, in words."""
    step: str = ""
    """What it changes in its parent, in words."""
    description: str = ""
    """Its own description, by its proposer."""
    gain: float | None = None
    """Its fitness minus that of its parent; None if one of them has a failed case."""
    better_cases: int = 0
    worse_cases: int = 0
    """Public cases on which it is better or worse than its parent."""
    moved_case: str = ""
    moved_from: float = 0.0
    moved_to: float = 0.0
    """The public case that changed most, with the share of the optimum before and after."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield f"### Number {self.number}: {code(self.name)}\n"
        if self.how:
            yield f"- Implementation: {self.how}."
        yield f"- Change: {self._change()}."
        if self.description.strip():
            yield f"- In its own words: {code(self.description, LONGEST_DESCRIPTION)}"
        yield f"- Performance: {self._performance()}."
        yield f"- Feedback: {self._feedback()}."
        yield f"- Identity: {self._identity()}.\n"

    def _identity(self) -> str:
        correct = "not correct" if self.failures else "correct"
        made_of = f", made of {code_list(self.blocks)}" if self.blocks else ""
        return f"number {self.number} of generation {self.generation}, {correct}{made_of}"

    def _change(self) -> str:
        if self.parent is None:
            return "not made from another program"
        made = f"made from number {self.parent}{f' by {self.kind.value}' if self.kind else ''}"
        if self.repeats_parent:
            return f"{made}, the same program but for words for readers"
        return f"{made}, {self.step or 'changes nothing that has a name'}"

    def _performance(self) -> str:
        steadiness = "" if self.steady else ", in the worst of runs that differ"
        hidden = (
            f", hidden ratio {share(self.hidden_ratio)}, valid on {self.hidden_valid_cases} of "
            f"{self.hidden_cases} hidden cases"
        )
        return (
            f"score {self.score:.4f}, ratio {share(self.ratio)}, valid on {self.valid_cases} of "
            f"{self.cases} public cases{hidden if self.hidden_cases else ''}, "
            f"{self.seconds:.3f} s{steadiness}"
        )

    def _feedback(self) -> str:
        if not self.failures:
            where = f"worst case {code(self.worst_case)}"
            worst = f"{where}, at {share(self.worst_ratio)} of its {self.goal}"
            told = f"every public case at its {self.goal}" if self.worst_ratio >= 1 else worst
            return f"{self._against_parent()}{told}"
        causes = (
            f"{code(cause.kind)} on {amount(cause.cases, 'case')}, first {code(cause.case)}"
            f"{f': {code(cause.reason)}' if cause.reason else ''}"
            for cause in self.failures
        )
        return f"failed, which says nothing about its blocks: {'; '.join(causes)}"

    def _against_parent(self) -> str:
        if self.gain is None or self.repeats_parent:
            return ""
        told = f"{change(self.gain)} in fitness against number {self.parent}"
        if not self.moved_case:
            return f"{told}, no public case changed; "
        return (
            f"{told}, {amount(self.better_cases, 'case')} better and {self.worse_cases} worse, "
            f"most {code(self.moved_case)} from {share(self.moved_from)} to "
            f"{share(self.moved_to)}; "
        )


def summary_of(program: Program, evidence: Evidence) -> Summary:
    """Summarise a program.

    Parameters
    ----------
    program
        The program.
    evidence
        The archive that it is in.
    """
    verdict, parent = program.verdict, evidence.parent_of(program)
    found = evidence.anatomy(program)
    own = found.blocks
    before = evidence.anatomy(parent).blocks if parent else own
    pair = Pair(parent, program, evidence.entry) if parent else None
    compared = pair and is_sound(program) and is_sound(pair.parent)
    return Summary(
        number=program.number,
        name=program.name,
        generation=program.generation,
        kind=evidence.kinds.get(program.number),
        parent=parent.number if parent else None,
        added=tuple(sorted(own - before)),
        removed=tuple(sorted(before - own)),
        repeats_parent=evidence.repeats_parent(program),
        score=verdict.score,
        ratio=verdict.ratio,
        hidden_ratio=verdict.hidden.ratio if verdict.hidden.cases else verdict.ratio,
        valid_cases=verdict.public.valid_cases,
        cases=verdict.public.cases,
        hidden_valid_cases=verdict.hidden.valid_cases,
        hidden_cases=verdict.hidden.cases,
        steady=verdict.steady,
        seconds=verdict.seconds,
        worst_case=verdict.public.worst.case,
        worst_ratio=verdict.public.worst.ratio,
        failures=failure_causes([program]),
        blocks=tuple(sorted(own)),
        goal=verdict.public.goal,
        how=implementation(found),
        step=step_words(pair) if pair else "",
        description=program.description,
        gain=pair.gain if pair and compared else None,
        **(_cases(pair) if pair and compared else {}),
    )


def _cases(pair: Pair) -> dict[str, Any]:
    """Return what became of the public cases of the parent."""
    before = {each.case: each.ratio for each in pair.parent.verdict.public.results}
    after = {each.case: each.ratio for each in pair.child.verdict.public.results}
    moved = {case: ratio - before[case] for case, ratio in after.items() if case in before}
    better = sum(gain > SAME_FITNESS for gain in moved.values())
    worse = sum(gain < -SAME_FITNESS for gain in moved.values())
    counts: dict[str, Any] = {"better_cases": better, "worse_cases": worse}
    if better or worse:
        most = max(moved, key=lambda case: abs(moved[case]))
        counts |= {"moved_case": most, "moved_from": before[most], "moved_to": after[most]}
    return counts
