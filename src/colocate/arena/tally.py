"""The result of a program on a set of cases: its score and its ratio to the best values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import inf, isfinite, nan
from statistics import fmean
from typing import Any, Self

from colocate.arena.case_verdict import CaseVerdict, goal_word


class Formula(StrEnum):
    """How the score is made from the values of the cases; more is better."""

    PRESSURE = "1 / mean pressure + share of valid cases"
    MEAN = "mean value"
    RATIO = "mean ratio"


@dataclass(frozen=True)
class Tally:
    """The result on a set of cases. A failed case counts with an infinitely bad value."""

    results: tuple[CaseVerdict, ...]
    formula: Formula = Formula.PRESSURE
    """How the score is made."""

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.results)

    @property
    def valid_cases(self) -> int:
        """How many of them did not fail."""
        return sum(result.valid for result in self.results)

    @property
    def score(self) -> float:
        """The score by the formula; not a number if there are no cases."""
        if not self.results or self.formula is Formula.RATIO:
            return self.ratio
        if self.formula is Formula.MEAN:
            return fmean(result.value if result.valid else 0.0 for result in self.results)
        mean = fmean(result.value for result in self.results)
        return (1 / mean if mean > 0 else inf) + self.valid_cases / self.cases

    @cached_property
    def ratio(self) -> float:
        """Mean ratio over all cases, with 0 for a failed one; not a number without cases."""
        return fmean(result.ratio for result in self.results) if self.results else nan

    @property
    def optimal(self) -> bool:
        """Whether the program reaches the best value known on every case."""
        return all(result.ratio >= 1.0 for result in self.results)

    @property
    def goal(self) -> str:
        """What the ratio compares with: the optimum, if that is proven on every case."""
        return goal_word(result.proven for result in self.results)

    @property
    def failures(self) -> tuple[CaseVerdict, ...]:
        """The cases that failed."""
        return tuple(result for result in self.results if not result.valid)

    @property
    def worst_first(self) -> tuple[CaseVerdict, ...]:
        """All cases, that furthest from its optimum first."""
        return tuple(sorted(self.results, key=lambda result: result.ratio))

    @property
    def worst(self) -> CaseVerdict:
        """The case furthest from its optimum; there must be a case."""
        return self.worst_first[0]

    @property
    def seconds(self) -> float:
        """Wall time of all cases."""
        return sum(result.seconds for result in self.results)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all cases."""
        return sum(result.cpu_seconds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, figures first; None for those that are not finite."""
        return {
            "score": self.score if isfinite(self.score) else None,
            "formula": self.formula,
            "ratio": self.ratio if self.results else None,
            "valid_cases": self.valid_cases,
            "cases": self.cases,
            "worst_case": self.worst.case if self.results else None,
            "worst_ratio": self.worst.ratio if self.results else None,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "failures": [{"case": f.case, "reason": f.reason} for f in self.failures],
            "results": [result.as_dict() for result in self.results],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a tally that `as_dict` wrote; the first ones knew one formula only."""
        results = tuple(CaseVerdict.from_dict(result) for result in data["results"])
        return cls(results, Formula(data.get("formula", Formula.PRESSURE)))


NOTHING = Tally(())
"""The tally of no cases."""
