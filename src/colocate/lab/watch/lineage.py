"""Lines of descent that lead to improvements, and counts of all other programs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from colocate.errors import UnknownNameError
from colocate.lab.program import Program
from colocate.lab.watch.ladder import ladder

MOST_TARGETS = 40
"""The number of last improvements that lines lead to."""
MOST_STEPS = 40
"""On a longer line, programs that neither improve nor branch are only counted."""


@dataclass(frozen=True)
class Step:
    """A program on a line of descent."""

    program: Program
    """The program at this step."""
    improves: bool
    """Whether it was the best so far when it came."""
    branches: tuple["Line", ...]
    """Other lines that begin with a child of it."""
    others: int
    """How many programs descend from it through children that are not shown."""
    skipped: int = 0
    """How many programs are left out between it and the previous step, with their descendants."""

    @property
    def rest(self) -> str:
        """A note on how many of its descendants are not shown."""
        return f"+ {self.others} other{'s' if self.others > 1 else ''}"

    @property
    def gap(self) -> str:
        """A note on how many programs before it are not shown."""
        return f"… {self.skipped} more on the way and beside it"


Line = tuple[Step, ...]
"""A line of descent: every program comes from the one before it."""


def lineage(programs: Collection[Program], number: int | None = None) -> list[Line]:
    """Return the lines that lead to improvements, each from its first ancestor.

    Parameters
    ----------
    programs
        All programs of an archive. A program counts as the child of its first parent.
    number
        A program's number, for the line that leads to it and the lines to better descendants. By
        default all lines that lead to a program of the ladder.

    Raises
    ------
    UnknownNameError
        If there is no program of that number.
    """
    family = _Family(programs)
    if number is None:
        targets = [rung.number for rung in ladder(programs)]
    else:
        focus = find_program(programs, number)
        better = ladder([focus, *family.descendants(focus)])
        targets = [rung.number for rung in better]
    shown = {ancestor for target in targets[-MOST_TARGETS:] for ancestor in family.line(target)}
    return _Tree(family, shown, number).lines()


def find_program(programs: Iterable[Program], number: int) -> Program:
    """Return the program of that number."""
    known = {program.number: program for program in programs}
    if number not in known:
        raise UnknownNameError(
            f"program={number} is not known, must be one of {len(known)}, "
            f"from {min(known)} to {max(known)}"
        )
    return known[number]


class _Family:
    """Parents and children, by number."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self.programs = {program.number: program for program in programs}
        self.improving = {rung.number for rung in ladder(self.programs.values())}
        self.children: dict[int | None, list[int]] = defaultdict(list)
        self.sizes: dict[int | None, int] = defaultdict(int)
        for number in sorted(self.programs):
            self.children[self.parent(number)].append(number)
        for number in sorted(self.programs, reverse=True):
            self.sizes[number] += 1
            self.sizes[self.parent(number)] += self.sizes[number]

    def parent(self, number: int) -> int | None:
        """Return the first parent; its number is always lower, so no line is a circle."""
        first = next(iter(self.programs[number].parents), None)
        return first if first in self.programs and first < number else None

    def line(self, number: int) -> Iterator[int]:
        """Yield a program and its ancestors, the oldest last."""
        at: int | None = number
        while at is not None:
            yield at
            at = self.parent(at)

    def descendants(self, program: Program) -> list[Program]:
        """Return all descendants of a program."""
        waiting = list(self.children[program.number])
        found = []
        while waiting:
            number = waiting.pop()
            found.append(self.programs[number])
            waiting += self.children[number]
        return found


class _Tree:
    """The part of a family that is shown."""

    def __init__(self, family: _Family, shown: Collection[int], focus: int | None) -> None:
        self._family = family
        self._shown = shown
        self._focus = focus
        self._leads: dict[int | None, float] = defaultdict(float)
        for number in sorted(shown, reverse=True):
            fitness = family.programs[number].verdict.fitness
            lead = max(self._leads[number], fitness)
            parent = family.parent(number)
            self._leads[number] = lead
            self._leads[parent] = max(self._leads[parent], lead)

    def lines(self) -> list[Line]:
        """Return a line for every first ancestor."""
        return [self._line(root) for root in self._shown_children(None)]

    def _shown_children(self, number: int | None) -> list[int]:
        return [child for child in self._family.children[number] if child in self._shown]

    def _line(self, first: int) -> Line:
        """Follow the children that lead to the best programs; all others branch off."""
        steps = []
        at: int | None = first
        while at is not None:
            children = self._shown_children(at)
            following = max(children, key=lambda child: self._leads[child], default=None)
            steps.append(self._step(at, [child for child in children if child != following]))
            at = following
        return self._shortened(steps) if len(steps) > MOST_STEPS else tuple(steps)

    def _step(self, number: int, branching: list[int]) -> Step:
        sizes = self._family.sizes
        shown = sum(sizes[child] for child in self._shown_children(number))
        return Step(
            self._family.programs[number],
            number in self._family.improving,
            tuple(self._line(child) for child in branching),
            sizes[number] - 1 - shown,
        )

    def _shortened(self, steps: list[Step]) -> Line:
        kept: list[Step] = []
        skipped = 0
        for place, step in enumerate(steps):
            number = step.program.number
            ends = place in (0, len(steps) - 1) or number == self._focus
            if ends or step.improves or step.branches:
                kept.append(replace(step, skipped=skipped))
                skipped = 0
            else:
                skipped += 1 + step.others
        return tuple(kept)
