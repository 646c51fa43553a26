"""Which point of a replan to go to: the one that was asked for, or the best net gain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from colocate.errors import InfeasibleError, NothingFoundError
from colocate.problem.problem import Problem
from colocate.replan.placed_engine import MemoryMode
from colocate.replan.replanning import FrontierPoint, Replanning
from colocate.replan.steps.safe_steps import SafeSteps, safe_steps
from colocate.replan.steps.step_times import StepTimes
from colocate.replan.transition import change_between
from colocate.replan.worth import LASTS_SECONDS, UNCERTAINTY, MoveWorth, RatesCase, worth_of

STATED, ENDS = (RatesCase.STATED,), (RatesCase.LOW, RatesCase.HIGH)


class ChoiceRule(StrEnum):
    """What decides which point is chosen."""

    ASKED = "asked"
    """A budget or a target: the point is the answer to it."""
    NET_GAIN = "net gain"
    """The point with the best net gain, of those with steps."""
    LOWEST_VALUE = "lowest value"
    """The lowest value of those with steps: there is no staying to compare with."""


@dataclass(frozen=True)
class MoveTerms:
    """What the way to a point, and its worth, depend on.

    Parameters
    ----------
    memory, times, always_serving
        How engines hold their caches, how long steps take, and whether steps that interrupt a model
        are refused.
    weights_gb
        The weights of models, without overhead; their sizes where they are not known.
    lasts_seconds, uncertainty, rate_uncertainty, seed
        How long demand lasts, how far that and the rates may be off, and the first seed of the
        replays: as for `worth_of`.
    """

    memory: MemoryMode = "fixed"
    times: StepTimes = field(default_factory=StepTimes)
    always_serving: bool = False
    weights_gb: Mapping[str, float] = field(default_factory=dict)
    lasts_seconds: float = LASTS_SECONDS
    uncertainty: float = UNCERTAINTY
    rate_uncertainty: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0


class PointWay(NamedTuple):
    """What is known of the way to a point."""

    steps: SafeSteps | None = None
    """None if there are none, or if nobody looked for them."""
    worth: MoveWorth | None = None
    """None for staying, and where there is no staying to compare with."""
    refused: str = ""
    """Why there are no steps."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON, without the steps."""
        worth = self.worth.as_dict() if self.worth else None
        return {"worth": worth, "refused": self.refused or None}


@dataclass(frozen=True)
class MoveChoice:
    """A replan with the way to each of its points, and the one to go to.

    Parameters
    ----------
    found
        The replan; its chosen point is the one to go to.
    rule
        What decided that.
    ways
        The way to each point.
    steps
        The way to the chosen one.
    best
        The point that is weighed against staying: the chosen one, or the best move if none pays and
        everything stays.
    """

    found: Replanning
    rule: ChoiceRule
    ways: tuple[PointWay, ...]
    steps: SafeSteps
    best: int

    @property
    def worth(self) -> MoveWorth | None:
        """Whether going to the best point pays."""
        return self.ways[self.best].worth

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        data = self.found.as_dict()
        pairs = zip(data["points"], self.ways, strict=True)
        return {
            **data,
            "points": [{**point, **way.as_dict()} for point, way in pairs],
            "rule": self.rule.value,
            "best": self.best,
            "worth": self.worth.as_dict() if self.worth else None,
            "way": self.steps.as_dict(),
        }


def choose(
    found: Replanning, before: Problem, terms: MoveTerms | None = None, *, asked: bool = False
) -> MoveChoice:
    """Choose the point of a replan to go to, and find the steps there.

    Of a frontier it is the point with the best net gain: what it brings in the shortest time that
    demand may last, less what its way costs, in the case of rates in which that is least. Points
    whose steps are refused do not count. Where the old placement does not work any more, it is the
    lowest value with steps.

    Rates as low and as high as may be only lessen a net gain, so points are compared there in the
    order of their net gains at the stated rates, and only as long as one can still be the best.
    If not even the best one pays, staying is chosen.

    Parameters
    ----------
    found
        The replan.
    before
        The fleet that the old placement was planned for.
    terms
        What ways and worths depend on.
    asked
        Whether the chosen point answers a budget or a target, and so remains the chosen one.

    Raises
    ------
    InfeasibleError, NothingFoundError
        If models must keep serving, and there are no steps that let them to the point that was
        asked for, or to any point where staying is none.
    """
    ways = _Ways(found, before, terms or MoveTerms())
    if asked:
        return ways.asked()
    return ways.lowest() if found.stay is None else ways.best(found.stay)


class _Ways:
    """The ways to the points of a replan."""

    def __init__(self, found: Replanning, before: Problem, terms: MoveTerms) -> None:
        self._found, self._before, self._terms = found, before, terms
        self._steps: dict[int, SafeSteps] = {}
        self._worths: dict[int, MoveWorth] = {}
        self._refusals: dict[int, InfeasibleError | NothingFoundError] = {}

    def asked(self) -> MoveChoice:
        """Return the point that the replan has chosen."""
        number, stay = self._found.chosen, self._found.stay
        self._steps[number] = self._steps_to(number)
        if stay is not None and self._found.point is not stay:
            self._worths[number] = self._worth(stay, number, tuple(RatesCase))
        return self._choice(number, ChoiceRule.ASKED)

    def lowest(self) -> MoveChoice:
        """Return the lowest value with steps: values fall from point to point."""
        last = len(self._found.points) - 1
        for number in range(last, -1, -1):
            if self._finds_steps(number):
                return self._choice(number, ChoiceRule.LOWEST_VALUE)
        raise self._refusals[last]

    def best(self, stay: FrontierPoint) -> MoveChoice:
        """Return the best net gain; staying if no other point has steps."""
        for number, point in enumerate(self._found.points):
            if point is not stay and self._finds_steps(number):
                self._worths[number] = self._worth(stay, number, STATED)
        best = None
        at_most = {number: self._rank(number) for number in self._worths}
        for number in sorted(at_most, key=lambda each: at_most[each], reverse=True):
            if best is not None and self._rank(best) >= at_most[number]:
                break
            self._compare_at_ends(stay, number)
            if best is None or self._rank(number) > self._rank(best):
                best = number
        if best is not None and self._worths[best].pays:
            return self._choice(best, ChoiceRule.NET_GAIN)
        staying = self._found.points.index(stay)
        self._steps[staying] = self._steps_to(staying)
        return self._choice(staying, ChoiceRule.NET_GAIN, best)

    def _rank(self, number: int) -> tuple[float, float, float]:
        """Return what is compared: the net gain, that at the stated rates, then the fewer GB."""
        worth, point = self._worths[number], self._found.points[number]
        return worth.net_gain, worth.left_of(worth.stated), -point.moved_gb

    def _compare_at_ends(self, stay: FrontierPoint, number: int) -> None:
        """Compare staying and a point also at the ends of what rates may be."""
        worth = self._worths[number]
        if not worth.complete:
            ends = self._worth(stay, number, ENDS)
            self._worths[number] = replace(worth, cases=(*worth.cases, *ends.cases))

    def _finds_steps(self, number: int) -> bool:
        """Look for steps to a point, and note why there are none."""
        try:
            self._steps[number] = self._steps_to(number)
        except (InfeasibleError, NothingFoundError) as error:
            self._refusals[number] = error
        return number in self._steps

    def _steps_to(self, number: int) -> SafeSteps:
        change = change_between(
            (self._before, self._found.old),
            (self._found.problem, self._found.points[number].placement),
            self._terms.memory,
            weights_gb=self._terms.weights_gb,
            draining=self._found.draining,
        )
        return safe_steps(change, self._terms.times, always_serving=self._terms.always_serving)

    def _worth(self, stay: FrontierPoint, number: int, rates: Sequence[RatesCase]) -> MoveWorth:
        """Return what going to a point is worth at some rates."""
        found, terms = self._found, self._terms
        return worth_of(
            found.problem,
            stay,
            found.points[number],
            self._steps[number],
            terms.lasts_seconds,
            terms.uncertainty,
            terms.rate_uncertainty,
            terms.seed,
            rates,
            terms.memory,
        )

    def _choice(self, number: int, rule: ChoiceRule, best: int | None = None) -> MoveChoice:
        ways = tuple(
            PointWay(self._steps.get(each), self._worths.get(each), self._reason(each))
            for each in range(len(self._found.points))
        )
        chosen, weighed = replace(self._found, chosen=number), number if best is None else best
        return MoveChoice(chosen, rule, ways, self._steps[number], weighed)

    def _reason(self, number: int) -> str:
        return str(self._refusals.get(number, ""))
