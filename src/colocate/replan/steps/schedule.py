"""When each step starts: as soon as what it waits for is over and a machine can load one more."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.step import EngineStep, StepKind
from colocate.replan.steps.step_times import StepTimes

EVERYWHERE = "all machines"
"""The link that all machines load over."""

Lanes = dict[tuple[str, str], list[int]]
"""For each link, of one machine or of all, the step that each of its lanes carries last; -1 for
none yet."""

_Turn = tuple[int, int]
"""How urgent a load is, the lower the sooner, and its number."""


def scheduled(
    change: FleetChange,
    steps: Sequence[EngineStep],
    times: StepTimes,
    urgent: Sequence[str] = (),
) -> tuple[EngineStep, ...]:
    """Return the steps with their start and seconds, loads behind others over the same link.

    Parameters
    ----------
    change
        Which machine a GPU is in.
    steps
        The steps, each with those that it must wait for.
    times
        How long they take, and how many loads there are at once.
    urgent
        Models whose engines load first where loads wait for a machine, the most urgent first.
    """
    return _Schedule(change, steps, times, urgent).made()


class _Schedule:
    """A schedule that is made by running the steps, the first of the list first."""

    def __init__(
        self,
        change: FleetChange,
        steps: Sequence[EngineStep],
        times: StepTimes,
        urgent: Sequence[str],
    ) -> None:
        self._change, self._times = change, times
        self._rank = {model: place for place, model in enumerate(urgent)}
        self._steps = list(steps)
        self._missing = [len(step.after) for step in steps]
        self._followers: list[list[int]] = [[] for _ in steps]
        for step in steps:
            for before in step.after:
                self._followers[before].append(step.number)
        self._over: list[tuple[float, int]] = []
        self._waiting: dict[str, list[_Turn]] = {}
        """Loads that could start but for the link, the most urgent first."""
        self._lanes: Lanes = {}
        self._busy: set[int] = set()
        self._touched: set[str] = set()
        """Machines that may be able to start a load now."""

    def made(self) -> tuple[EngineStep, ...]:
        """Run all steps."""
        for step in self._steps:
            if not step.after:
                self._admit(step.number, 0.0)
        self._start_loads(0.0)
        while self._over:
            now, number = heappop(self._over)
            self._end(number, now)
            while self._over and self._over[0][0] <= now:
                self._end(heappop(self._over)[1], now)
            self._start_loads(now)
        return tuple(self._steps)

    def _end(self, number: int, now: float) -> None:
        if self._steps[number].kind is StepKind.LOAD:
            self._busy.remove(number)
            self._touched.add(self._node(number))
        for follower in self._followers[number]:
            self._missing[follower] -= 1
            if self._missing[follower] == 0:
                self._admit(follower, now)

    def _admit(self, number: int, now: float) -> None:
        """Start a step, or let it wait for a lane if it loads."""
        if self._steps[number].kind is StepKind.LOAD:
            heappush(self._waiting.setdefault(self._node(number), []), self._turn(number))
            self._touched.add(self._node(number))
        else:
            self._start(number, now, ())

    def _start_loads(self, now: float) -> None:
        heads = [(self._waiting[node][0], node) for node in self._touched if self._waiting[node]]
        heapify(heads)
        while heads:
            (_, number), node = heappop(heads)
            own = self._free_lane(("node", node), self._times.loads_at_once)
            total = self._free_lane(("total", EVERYWHERE), self._times.total_loads)
            if total is None:
                return
            if own is None:
                continue
            heappop(self._waiting[node])
            if self._waiting[node]:
                heappush(heads, (self._waiting[node][0], node))
            behind = {lane[place] for lane, place in (own, total) if lane[place] >= 0}
            for lane, place in (own, total):
                lane[place] = number
            self._busy.add(number)
            self._start(number, now, tuple(sorted(behind)))
        self._touched.clear()

    def _free_lane(self, link: tuple[str, str], most: int | None) -> tuple[list[int], int] | None:
        """Return the lanes of a link and a free one of them; None if there is none."""
        if most is None:
            return [-1], 0
        lanes = self._lanes.setdefault(link, [])
        for place, last in enumerate(lanes):
            if last not in self._busy:
                return lanes, place
        if len(lanes) == most:
            return None
        lanes.append(-1)
        return lanes, len(lanes) - 1

    def _start(self, number: int, now: float, behind: tuple[int, ...]) -> None:
        step = self._steps[number]
        seconds = self._times.seconds(step.kind, step.engine)
        self._steps[number] = EngineStep(
            number, step.kind, step.engine, step.after, behind, now, seconds
        )
        heappush(self._over, (now + seconds, number))

    def _turn(self, number: int) -> _Turn:
        return self._rank.get(self._steps[number].engine.model, len(self._rank)), number

    def _node(self, number: int) -> str:
        return self._change.node_of.get(self._steps[number].engine.gpus[0], "")
