"""A task: what a program must do, and how it is judged."""

from collections.abc import Callable
from dataclasses import dataclass, field

from colocate.arena.contest import Contest
from colocate.arena.tasks.frame import Frame
from colocate.arena.walls.sandbox import Limits


@dataclass(frozen=True)
class Task:
    """What a program must do, and how it is judged.

    The referee and the lab know nothing else about what they judge and evolve.

    Parameters
    ----------
    name
        Its name in commands.
    summary
        What it is about, in a few words.
    entry_point
        The name of the function that a program defines.
    facts
        What a prompt tells a model: the rules, the data that a program gets, the aim.
    start_program
        The source that evolution starts from.
    goal
        What a program is to reach, in a few words: ``the lowest peak pressure``.
    value
        What the value of a case is called: ``pressure``.
    place
        What opens it again: its name, or its folder.
    open_contest
        Returns the questions; hidden ones are made from the seed given, or from the usual one.
    limits
        The resources of a program, unless the user names others.
    frame
        What lets the composer write programs for it, from the blocks of our strategies; None if
        they are of no use.
    """

    name: str
    summary: str
    entry_point: str
    facts: str
    start_program: str
    goal: str
    value: str
    place: str
    open_contest: Callable[[int | None], Contest]
    limits: Limits = field(default_factory=Limits)
    frame: Frame | None = None

    def contest(self, hidden_seed: int | None = None) -> Contest:
        """Return the questions; the hidden ones are fresh if a seed is given."""
        return self.open_contest(hidden_seed)
