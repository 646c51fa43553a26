"""One fleet from its first plan through a change that is disturbed, until it is where it shall be.

Plans, replans and steps are those of the product, and so is what it believes about its engines. The
world is `World`, which only sees steps.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from colocate import InfeasibleError, InputError, NothingFoundError, Status, replan, solve
from colocate.follow.engine_records import EngineRecord, places_of, serving, tidying
from colocate.follow.state import WatchState
from colocate.replan.changed_fleet import with_choices_of, without_gpus
from colocate.replan.placed_engine import engines_of
from colocate.replan.steps.exhaustion import ServingProof
from colocate.replan.steps.safe_steps import MOST_STATES, safe_steps
from colocate.replan.transition import change_between
from tests.replan.recovery.drawn_fleets import drawn_story
from tests.replan.recovery.every_state import fits_somehow, keeps_serving_somehow, seats_of
from tests.replan.recovery.world import BrokenRuleError, World

SOLVE_SECONDS, REPLAN_SECONDS, PATIENCE = 0.5, 0.3, 20
MOST_ROUNDS, ROUNDS_WITH_FAILURES = 30, 6
STATES_OF_LARGE = 500
"""States that are tried for steps of large fleets; the usual number takes seconds each."""
SECONDS = {"load": 20.0, "wait": 10.0, "drain": 8.0}
"""Of steps, in the mean; others take one."""
REFUSALS = (InfeasibleError, NothingFoundError, InputError)


@dataclass
class Recovery:
    """What became of a fleet."""

    seed: int
    small: bool
    gpus: int
    models: int
    memory: str
    event: str
    outcome: str = ""
    """reached, recovered, refused, stuck or broken."""
    reason: str = ""
    steps: int = 0
    failures: int = 0
    kills: int = 0
    rounds: int = 0
    interruptions: int = 0
    detours: int = 0
    claims: int = 0
    """Statements that nothing fits, or that no order keeps all models serving."""
    confirmed: int = 0
    """Those that trying everything confirmed."""
    refuted: int = 0
    """Those that it refuted, or orders that it found and the product did not."""
    untried: int = 0
    """Those with too many states to try; of large fleets all."""

    def as_row(self):
        """Return it as a row of a table."""
        return asdict(self)


def recovery_of(seed):
    """Return what becomes of the fleet with a seed; nothing that must never be is let through."""
    drawn = drawn_story(seed)
    event = [name for name in ("lost", "draining", "dying") if getattr(drawn, name)]
    if len(drawn.later.gpus) > len(drawn.problem.gpus):
        event.append("joined")
    told = Recovery(
        seed,
        drawn.small,
        len(drawn.problem.gpus),
        len(drawn.problem.models),
        drawn.memory,
        "+".join(event) or "none",
    )
    try:
        _Story(drawn, told).tell()
    except BrokenRuleError as error:
        told.outcome, told.reason = "broken", str(error)
    return told


class _RefusedError(Exception):
    """The product says that something cannot be, and why."""


@dataclass
class _Story:
    drawn: object
    told: Recovery
    state: WatchState = field(default_factory=WatchState)
    world: World | None = None
    target: object = None
    """The replan that is being followed: its problem and placement."""

    def __post_init__(self):
        self.rng = np.random.default_rng([self.drawn.seed, 1])
        self.gone = set(self.drawn.lost)
        self.kills_left = self.drawn.kills
        self.dying = self.drawn.dying
        self.disturbed = False

    def tell(self):
        try:
            self._begin()
            self._go_on()
        except _RefusedError as refusal:
            self.told.outcome, self.told.reason = "refused", str(refusal)

    def _begin(self):
        """Plan the fleet, and let its engines run."""
        problem = self.drawn.problem
        plan = self._solved(problem)
        if not plan.placement:
            self._claim(lambda: fits_somehow(problem))
            raise _RefusedError(f"plan: {plan.status.value}: {plan.reason}")
        self.asleep = {name for name, gpus in plan.placement.items() if not gpus}
        engines = engines_of(problem, plan.placement, self.drawn.memory, {})
        self.state = WatchState(tuple(map(EngineRecord, engines)))
        self.world = _world(self.drawn.later, problem, self.rng)
        self.world.engines = {_plain(engine): "open" for engine in engines}
        self.world.check()
        for gpu in self.drawn.lost:
            self.world.lose(gpu)

    def _solved(self, problem):
        """Plan a fleet; a small one gets the time that it needs, however busy the machine is."""
        plan = solve(problem, time_limit=SOLVE_SECONDS, workers=1)
        if plan.status is Status.UNKNOWN and self.drawn.small:
            return solve(problem, time_limit=PATIENCE * SOLVE_SECONDS, workers=1)
        return plan

    def _go_on(self):
        """Go round by round as `colocate watch` does, until all is as planned."""
        while self.told.rounds < MOST_ROUNDS:
            self.told.rounds += 1
            if self.gone != self.world.known_lost:
                self.target = None
            self.world.known_lost = set(self.gone)
            there = {gpu.name for gpu in self.drawn.later.gpus} - self.gone
            self.state = self.state.with_gpus(there)
            if not (self._finished() and self._tidied()) or self.gone != self.world.known_lost:
                continue
            if self._is_reached():
                self.told.outcome = "recovered" if self.disturbed else "reached"
                return
            self._change()
        self.told.outcome, self.told.reason = "stuck", "too many rounds"

    def _finished(self):
        return not self.state.pending or self._carried_out(self.state.pending)

    def _tidied(self):
        memory = {gpu.name: gpu.memory_gb for gpu in self.drawn.later.gpus}
        steps = tidying(self.state.engines, memory)
        if self.gone == self.world.known_lost:
            self.world.least_open = Counter(e.model for e in serving(self.state.engines))
        self.state = replace(self.state, pending=steps, begun=frozenset())
        return not steps or self._carried_out(steps)

    def _is_reached(self):
        if self.target is None:
            return False
        engines = serving(self.state.engines)
        if {e.place for e in engines} != {
            e.place for e in engines_of(self.target.problem, self.target.placement, "elastic", {})
        }:
            return False
        if self.world.engines != {_plain(engine): "open" for engine in engines}:
            raise BrokenRuleError(f"there is {self.world.engines}, and {engines} is believed")
        return True

    def _change(self):
        """Plan from what is there if need be, and carry the steps out."""
        engines = serving(self.state.engines)
        places = {**dict.fromkeys(self.asleep, ()), **places_of(engines)}
        if self.target is None:
            self.target = self._replanned(places)
        change = change_between(
            (self.drawn.later, places),
            (self.target.problem, self.target.placement),
            self.drawn.memory,
            draining=self.drawn.draining,
            running=engines,
        )
        found = self._steps(change)
        self.told.interruptions += len(found.interruptions)
        self.told.detours += len(found.detours)
        left = {each.model: each.left for each in found.interruptions}
        self.world.least_open = {
            model: min(number, left.get(model, number)) for model, number in change.fewest.items()
        }
        self.state = replace(self.state, pending=found.steps, begun=frozenset())
        self._carried_out(found.steps)

    def _replanned(self, places):
        gone, drained = sorted(self.gone), list(self.drawn.draining)
        try:
            if self.drawn.anew or not any(places.values()):
                left = without_gpus(self.drawn.later, {*gone, *drained})
                plan = self._solved(left)
                if plan.placement:
                    return plan
                raise InfeasibleError(f"{plan.status.value}: {plan.reason}")
            try:
                return self._near(places, REPLAN_SECONDS)
            except NothingFoundError:
                return self._near(places, REPLAN_SECONDS * (PATIENCE if self.drawn.small else 1))
        except REFUSALS as error:
            self._claim(lambda: _fits_after(self.drawn.later, places, {*gone, *drained}))
            raise _RefusedError(f"replan: {type(error).__name__}: {error}") from None

    def _near(self, places, seconds):
        return replan(
            self.drawn.later,
            places,
            drain=self.drawn.draining,
            without=sorted(self.gone),
            points=3,
            time_limit=seconds,
        )

    def _steps(self, change):
        most = MOST_STATES if self.drawn.small else STATES_OF_LARGE
        seats = {m.name: seats_of(self._left(), m) for m in self.drawn.later.models}
        if self.drawn.always_serving and self.told.rounds == 1:
            try:
                return safe_steps(change, always_serving=True, most_states=most)
            except REFUSALS:
                self._claim(lambda: keeps_serving_somehow(change, seats))
                return safe_steps(change, most_states=most)
        found = safe_steps(change, most_states=most)
        if found.interruptions or found.proof is ServingProof.NONE:
            self._claim(lambda: keeps_serving_somehow(change, seats))
        return found

    def _left(self):
        """Return the fleet without the GPUs that are gone or drained, whatever its pins say."""
        away = {*self.gone, *self.drawn.draining}
        free = tuple(model.changed(only=(), never=()) for model in self.drawn.later.models)
        return _Seating(tuple(g for g in self.drawn.later.gpus if g.name not in away), free)

    def _claim(self, exists):
        """Count a statement that something cannot be; small fleets try everything."""
        self.told.claims += 1
        found = exists() if self.drawn.small else None
        if found is None:
            self.told.untried += 1
        elif found:
            self.told.refuted += 1
        else:
            self.told.confirmed += 1

    def _carried_out(self, steps):
        """Carry steps out, some of which fail; return whether all were done."""
        failing = self.drawn.failing if self.told.rounds <= ROUNDS_WITH_FAILURES else 0.0
        at_once = int(self.rng.integers(1, 5))
        waiting, unfinished = {step.number: step for step in steps}, {s.number for s in steps}
        running, now, broken = [], 0.0, False
        while True:
            while not broken and len(running) < at_once:
                ready = (
                    s for s in waiting.values() if unfinished.isdisjoint((*s.after, *s.behind))
                )
                if (step := next(ready, None)) is None:
                    break
                del waiting[step.number]
                self.state = self.state.with_begun(step)
                self.world.begin(step.kind.value, _plain(step.engine))
                lasts = self.rng.exponential(SECONDS.get(step.kind.value, 1.0))
                heappush(running, (now + lasts, step.number, step))
                self.told.steps += 1
            if not running:
                return not (broken or waiting)
            if self._is_killed(running):
                return False
            self._may_lose_a_gpu()
            now, _, step = heappop(running)
            failed = bool(self.rng.random() < failing)
            done = self.world.end(step.kind.value, _plain(step.engine), failed)
            self.state = self.state.with_ended(step, done, now)
            unfinished.discard(step.number)
            if not done:
                broken = self.disturbed = True
                self.told.failures += 1

    def _is_killed(self, running):
        """Perhaps end without a word; each command that runs then ends well, or does not."""
        if not self.kills_left or self.rng.random() > 0.08:
            return False
        self.kills_left -= 1
        self.told.kills += 1
        self.disturbed = True
        for _, _, step in running:
            failed = bool(self.rng.random() < 0.5)
            self.world.end(step.kind.value, _plain(step.engine), failed)
        return True

    def _may_lose_a_gpu(self):
        if self.dying and self.rng.random() < 0.1:
            self.world.lose(self.dying)
            self.gone.add(self.dying)
            self.dying, self.disturbed = "", True


@dataclass(frozen=True)
class _Seating:
    gpus: tuple
    models: tuple


def _fits_after(later, places, away):
    """Return whether anything fits without some GPUs, with sleepers and replicas as they are."""
    try:
        return fits_somehow(with_choices_of(without_gpus(later, away), places))
    except InputError:
        return False


def _world(later, problem, rng):
    gpus = {gpu.name: gpu for gpu in (*problem.gpus, *later.gpus)}
    return World(
        {name: gpu.memory_gb for name, gpu in gpus.items()},
        {name: gpu.node for name, gpu in gpus.items()},
        frozenset(frozenset((one, two)) for group in later.apart for one in group for two in group),
        {m.name: frozenset(n for n, gpu in gpus.items() if m.may_be_on(gpu)) for m in later.models},
        rng,
    )


def _plain(engine):
    return engine.model, engine.gpus, engine.held_gb
