"""Find the cheapest mix of GPUs that reaches a pressure, and prove that no cheaper one does.

The same search finds the cheapest mix that keeps all latency targets. More GPUs never hurt: a
placement on some of them is a placement on all of them, with the same pressures and latencies. So
if a mix cannot reach the pressure, no part of it can. To prove a mix the cheapest, it is enough to
exclude the largest of the cheaper mixes. Most of those lack something that every placement needs
(see `requirements`); the bounds of the solver exclude the others.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from colocate.advise.capacity.mixes import Market, Mix, largest_below
from colocate.advise.capacity.requirements import Need
from colocate.advise.capacity.trials import Decision, MixTrial, MixTrials, TimeIsUp
from colocate.advise.remedies.lone_engines import FailedModel
from colocate.solver.plan import Plan, Status

FOR_PLAN = 0.15
"""The share of the time that is kept for the plan of the answer."""
OF_TRIAL = 0.5
"""The share of the rest of the time for the last trial, where the plan is another problem's."""
CURVE_GAP = 0.01
"""How close to the optimum the pressures of a curve should be, if there is time."""
MOST_STEPS = 10_000
"""The most steps to list the mixes that are not excluded."""


@dataclass(frozen=True)
class Capacity:
    """The answer to a question about capacity.

    Parameters
    ----------
    target
        The pressure that was asked for; infinite if latency targets alone decide.
    most
        How many GPUs a mix may have.
    status
        OPTIMAL if no cheaper mix reaches the pressure, FEASIBLE if one may, INFEASIBLE if it is
        proven that no mix does, UNKNOWN if none was found.
    best
        The cheapest mix found; None if there is none.
    plan
        Its plan, for the fleet's own objective; None if there is none.
    trials
        All mixes that were tried, cheapest first.
    not_excluded
        The largest of the cheaper mixes that may still reach the pressure.
    reason
        Why there is no answer, in a sentence.
    too_slow
        A model that misses a target on every kind of GPU, even alone; None if that is not why.
    """

    target: float
    most: int
    status: Status
    best: MixTrial | None = None
    plan: Plan | None = None
    trials: tuple[MixTrial, ...] = ()
    not_excluded: tuple[Mix, ...] = ()
    reason: str = ""
    too_slow: FailedModel | None = None


class CapacitySearch:
    """The search for the cheapest mix that reaches a pressure.

    Parameters
    ----------
    market
        The GPUs that can be had.
    target
        The pressure to reach; infinite if latency targets alone decide.
    most
        How many GPUs a mix may have.
    time_limit
        Seconds for the whole search; compiling, at the first start, is extra.
    seed, workers
        Passed on to `solve`.
    on_trial
        Called with every mix that was tried.
    """

    def __init__(
        self,
        market: Market,
        target: float,
        most: int,
        *,
        time_limit: float = 10.0,
        seed: int = 0,
        workers: int | None = None,
        on_trial: Callable[[MixTrial], None] | None = None,
    ) -> None:
        self._market = market
        self._target = target
        self._most = most
        self._trials = MixTrials(market, target, time_limit, seed, workers, on_trial)
        self._best: MixTrial | None = None

    @property
    def needs(self) -> Sequence[Need]:
        """The sums that any mix must have to reach the pressure."""
        return self._trials.needs

    def answer(self) -> Capacity:
        """Search, and return what was found."""
        try:
            self._find_some()
            self._exclude_all()
            proven, not_excluded = self._go_down()
        except TimeIsUp:
            proven, not_excluded = self._still_open()
        if self._best is None:
            status = Status.INFEASIBLE if proven else Status.UNKNOWN
            reason = self._why_not(proven)
            trials = self._sorted()
            return Capacity(
                self._target,
                self._most,
                status,
                trials=trials,
                reason=reason,
                too_slow=self._trials.too_slow,
            )
        if not self._trials.deadline.over:
            share = 1.0 if self._trials.has_own_plan else OF_TRIAL
            self._best = self._trials.solve(self._best.mix, share * self._trials.deadline.left)
        plan = self._trials.answer_plan(self._best)
        self._look_below(self._best.mix)
        status = Status.OPTIMAL if proven else Status.FEASIBLE
        trials, left = self._sorted(), tuple(not_excluded)
        return Capacity(self._target, self._most, status, self._best, plan, trials, left)

    def with_curve(self, answer: Capacity, mixes: Iterable[Mix], seconds: float) -> Capacity:
        """Add trials of further mixes to an answer, for the curve of pressures.

        Parameters
        ----------
        answer
            The answer so far.
        mixes
            The mixes to try.
        seconds
            The time for all of them.
        """
        wanted = list(mixes)
        self._trials.extend(seconds)
        deadline = self._trials.deadline.part(seconds)
        for place, mix in enumerate(wanted):
            if not deadline.over:
                seconds = deadline.left / (len(wanted) - place)
                self._trials.solve(mix, seconds, gap=CURVE_GAP)
        best = answer.best and self._trials.found[answer.best.mix]
        plan = best.plan if best and self._trials.has_own_plan else answer.plan
        return replace(answer, best=best, plan=plan, trials=self._sorted())

    def _find_some(self) -> None:
        """Find mixes that reach the pressure: of one kind, like the fleet today, of all kinds."""
        kinds = len(self._market.costs)
        shapes = [tuple(int(k == kind) for k in range(kinds)) for kind in range(kinds)]
        if kinds > 1:
            shapes += [self._market.listed, (1,) * kinds]
        for shape in dict.fromkeys(shapes):
            self._grow(shape)

    def _grow(self, shape: Mix) -> None:
        """Find the smallest multiple of a mix that reaches the pressure in a short trial."""
        low, step = self._fewest_needed(shape), 1
        if low is None or not self._is_cheaper(_times(shape, low)):
            return
        high, most = low, self._most_times(shape)
        while not self._reaches(_times(shape, high)):
            if high == most or not self._is_cheaper(_times(shape, high + 1)):
                return
            low, high, step = high + 1, min(high + step, most), 2 * step
        while low < high:
            middle = (low + high) // 2
            reached = self._reaches(_times(shape, middle))
            low, high = (low, middle) if reached else (middle + 1, high)

    def _fewest_needed(self, shape: Mix) -> int | None:
        """Return the smallest multiple of a mix that has what is needed; None if none has."""
        low, high = 1, self._most_times(shape)
        if high == 0 or self._trials.lacking(_times(shape, high)):
            return None
        while low < high:
            middle = (low + high) // 2
            enough = self._trials.lacking(_times(shape, middle)) is None
            low, high = (low, middle) if enough else (middle + 1, high)
        return low

    def _most_times(self, shape: Mix) -> int:
        return self._most // sum(self._market.gpus(shape))

    def _exclude_all(self) -> None:
        """If nothing was found, test whether even the most of every kind at once is too little."""
        if self._best is None:
            self._reaches(tuple(self._most // each for each in self._market.at_once))

    def _go_down(self) -> tuple[bool, list[Mix]]:
        """Try the largest cheaper mixes until only those are left that stay open."""
        decided = self._trials.decided
        while True:
            cost = self._cost
            cheaper = list(self._cheaper(self._trials.check_time))
            waiting = [mix for mix in cheaper if mix not in decided]
            if not waiting:
                return not cheaper, cheaper
            while waiting and cost == self._cost:
                mix = min(waiting, key=lambda m: (self._tries(m), -self._trials.spare(m)))
                if self._reaches(mix):
                    self._trim(mix)
                waiting = [m for m in waiting if m not in decided and not self._trials.excluded(m)]

    def _tries(self, mix: Mix) -> int:
        return self._trials.tries.get(mix, 0)

    def _cheaper(self, check: Callable[[], None]) -> Iterator[Mix]:
        found = largest_below(self._market, self._trials.needs, self._cost, self._most, check)
        return (mix for mix in found if not self._trials.excluded(mix))

    def _still_open(self) -> tuple[bool, list[Mix]]:
        """Return the cheaper mixes that are not excluded; if there are none, that is a proof."""
        steps = [0]

        def check() -> None:
            steps[0] += 1
            if steps[0] > MOST_STEPS:
                raise TimeIsUp

        found: list[Mix] = []
        try:
            for mix in self._cheaper(check):
                found.append(mix)  # noqa: PERF402, those before the last step are kept
        except TimeIsUp:
            return False, found
        return not found, found

    def _trim(self, mix: Mix) -> None:
        """Take units away, dearest first, as long as short trials still reach the pressure."""
        for kind in sorted(range(len(mix)), key=lambda kind: -self._market.costs[kind]):
            while mix[kind] > 0 and self._reaches(fewer := _fewer(mix, kind)):
                mix = fewer

    def _look_below(self, mix: Mix) -> None:
        """Record what a mix with one unit less lacks, if it lacks something."""
        for fewer in (_fewer(mix, kind) for kind, units in enumerate(mix) if units):
            if self._trials.lacking(fewer):
                self._trials.try_out(fewer)

    def _reaches(self, mix: Mix) -> bool:
        """Try a mix; if it reaches the pressure and is the cheapest so far, keep it."""
        trial = self._trials.try_out(mix)
        reached = trial.decision is Decision.REACHED
        if reached and self._allowed(mix) and self._is_cheaper(mix):
            self._best = trial
            self._trials.kept = FOR_PLAN * self._trials.time_limit
        return reached

    def _allowed(self, mix: Mix) -> bool:
        return sum(self._market.gpus(mix)) <= self._most

    def _is_cheaper(self, mix: Mix) -> bool:
        return self._market.cost(mix) < self._cost

    @property
    def _cost(self) -> int:
        """The cost of the best mix; more than any mix costs if there is none."""
        if self._best is None:
            return max(self._market.costs) * (self._most + 1)
        return self._market.cost(self._best.mix)

    def _why_not(self, proven: bool) -> str:
        if not proven:
            return "no mix was found in time; it is not proven that there is none"
        impossible = next((need for need in self._trials.needs if not any(need.amounts)), None)
        if impossible:
            return f"no number of GPUs is enough: there are no GPUs {impossible.purpose}"
        why = self._trials.lacks(tuple(self._most // n for n in self._market.at_once))
        return f"no mix of at most {self._most} GPUs is enough" + (f": {why}" if why else "")

    def _sorted(self) -> tuple[MixTrial, ...]:
        trials = (trial for trial in self._trials.found.values() if self._allowed(trial.mix))
        return tuple(sorted(trials, key=lambda trial: self._market.cost(trial.mix)))


def _times(mix: Mix, times: int) -> Mix:
    return tuple(n * times for n in mix)


def _fewer(mix: Mix, kind: int) -> Mix:
    """Return a mix with one unit of a kind less."""
    return (*mix[:kind], mix[kind] - 1, *mix[kind + 1 :])
