"""A mechanism of a program: one thing that it does to find its answer."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a mechanism is for."""

    START = "start"
    ORDER = "order"
    CHOICE = "choice"
    SEARCH = "search"
    ACCEPTANCE = "acceptance"
    PERTURBATION = "perturbation"
    SOLVER = "solver"
    """A library that does the work."""
    LIMIT = "limit"
    """Rounds, tolerances and clocks."""


PHRASES = {
    "sort": "sorts by {}",
    "take the least": "takes the one with the lowest {}",
    "take the most": "takes the one with the highest {}",
    "bisection": "halves an interval",
    "restarts": "starts again {} times",
    "random rounds": "repeats up to {} times, with random changes",
    "rounds": "repeats up to {} times",
    "until nothing improves": "goes on until nothing improves",
    "move": "moves single items",
    "swap": "swaps items",
    "best of all": "rates all candidates and takes the best",
    "first improvement": "takes the first candidate that is better",
    "first fit": "takes the first place that fits",
    "ruin and recreate": "empties parts and fills them again",
    "random order": "shuffles",
    "random choice": "draws at random",
    "random numbers": "draws random numbers",
    "seed": "draws from the seed {}",
    "annealing": "accepts worse with a probability that falls",
    "chance": "accepts with the probability {}",
    "sum of squares": "compares sums of squares",
    "tolerance": "ignores differences up to {}",
    "patience": "gives up after {} rounds without a gain",
    "recursion": "calls itself",
    "time limit": "stops by the clock",
    "endless loop": "loops without a bound",
}
"""What a mechanism does, in words; braces stand for its setting."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, and where it is.

    Parameters
    ----------
    role
        What it is for.
    name
        What it is called; the same in all programs that have it.
    setting
        Its parameters, as text; empty if it has none.
    where
        The innermost function that holds it; empty at the top level.
    part
        The function or class at the top level that holds it; empty at the top level.
    """

    role: Role
    name: str
    setting: str = ""
    where: str = ""
    part: str = ""

    @property
    def block(self) -> str:
        """Its name with its setting, as blocks are called in reviews."""
        return f"{self.name}({self.setting})" if self.setting else self.name

    @property
    def phrase(self) -> str:
        """What it does, as the end of a sentence."""
        known = PHRASES.get(self.name)
        if known is None:
            return f"calls `{self.block}`"
        if "{}" in known:
            return known.format(f"`{self.setting}`")
        return f"{known} ({self.setting})" if self.setting else known
