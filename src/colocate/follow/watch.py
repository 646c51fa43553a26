"""One round of `colocate watch`: finish what was begun, read demand, decide, act, write it down."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Event

from colocate.errors import ColocateError, OutputError, ServerError, StepFaultError
from colocate.follow.engine_records import places_of, serving, tidying
from colocate.follow.execution import Perform, carry_out
from colocate.follow.measured_rates import fleet_with_rates, measured_rates
from colocate.follow.metrics import metrics_text
from colocate.follow.state import WatchState
from colocate.follow.state_folder import StateFolder
from colocate.follow.words import decision_words
from colocate.inputs.fleet import Fleet
from colocate.inputs.observation.demand_changes import fleet_with_demand
from colocate.inputs.observation.observation import Observation, Remark
from colocate.outputs.observation.words import basis_line, note_line
from colocate.outputs.text.wording import amount, listed
from colocate.replan.checker.step_check import confirmed
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.policy.decide import decide
from colocate.replan.policy.decision import PolicyDecision
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.search_record import SearchRecord
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.steps.step import EngineStep


class RoundOutcome(StrEnum):
    """What a round came to."""

    STAY = "stay"
    MOVE = "move"
    WOULD_MOVE = "would_move"
    """A dry run that would move something."""
    NO_DEMAND = "no_demand"
    """The source did not answer well, so nothing was decided."""
    BROKEN_OFF = "broken_off"
    """A step failed, or it was to stop: the next round goes on from what is there."""


@dataclass(frozen=True)
class Surroundings:
    """Everything outside: where demand comes from, who carries steps out, the clock, the reader.

    Parameters
    ----------
    read_fleet
        Reads the fleet file as it is now.
    observe
        Asks the source what the demand is.
    perform
        Carries out one step; None for a dry run.
    say
        Gets every sentence for the reader.
    clock
        Seconds since 1970.
    show
        Gets the metrics after every round.
    """

    read_fleet: Callable[[], Fleet]
    observe: Callable[[], Observation]
    perform: Perform | None
    say: Callable[[str], None]
    clock: Callable[[], float]
    show: Callable[[str], None]


@dataclass
class Watch:
    """Follows demand, round by round; all that it knows is in its folder.

    Parameters
    ----------
    folder
        Where the state is.
    around
        Everything outside.
    fleet
        The fleet as it was read last.
    state
        What is known; as it is in the folder.
    settings
        When to move, and when not.
    at_once
        Steps that are carried out side by side.
    stop
        When it is set, no further step begins.
    """

    folder: StateFolder
    around: Surroundings
    fleet: Fleet
    state: WatchState
    settings: PolicySettings
    at_once: int = 2
    stop: Event = field(default_factory=Event)
    _said: dict[str, str] = field(default_factory=dict)
    _noted: frozenset[tuple[Remark, tuple[str, ...]]] = frozenset()
    _moments: dict[str, float] = field(default_factory=dict)
    _last_search: SearchRecord = field(default_factory=SearchRecord)

    def round(self) -> RoundOutcome:
        """Go once through everything, and return what it came to.

        Where nothing can be written down, nothing is done: the next round tries again.
        """
        try:
            outcome = self._whole_round()
        except OutputError as error:
            self._say_once("folder", f"what must survive cannot be written: {error}")
            return RoundOutcome.BROKEN_OFF
        self._say_once("folder", "")
        return outcome

    def _whole_round(self) -> RoundOutcome:
        self._read_fleet_again()
        self._look_around()
        observation = None
        outcome = RoundOutcome.BROKEN_OFF
        if self._finish() and self._tidy():
            observation = self._observed()
            outcome = self._follow(observation) if observation else RoundOutcome.NO_DEMAND
        self._moments["round"] = self.around.clock()
        self._keep(self.state.counted(f"rounds_{outcome}"))
        self._show(observation)
        return outcome

    def _read_fleet_again(self) -> None:
        """Take up a fleet file that has changed; one that cannot be read changes nothing."""
        try:
            self.fleet = self.around.read_fleet()
        except ColocateError as error:
            self._say_once("fleet", f"the fleet stays as it was: {error}")
        else:
            self._say_once("fleet", "")

    def _look_around(self) -> None:
        """Take note of GPUs and models that are gone, and of a clock that was set back."""
        gpus = {gpu.name for gpu in self.fleet.problem.gpus}
        models = {model.name for model in self.fleet.problem.models}
        state = self.state.with_gpus(gpus, models).seen_at(self.around.clock())
        if self.state.pending and not state.pending:
            lost = any(not gpus.issuperset(each.engine.gpus) for each in self.state.pending)
            what = "GPU" if lost else "model"
            self.around.say(f"a {what} is gone that a change needs, so the change is given up")
        if state != self.state:
            self._keep(state)

    def _finish(self) -> bool:
        """Carry out what is left of a change; a step that was begun is done once more."""
        if not self.state.pending:
            return True
        left = amount(len(self.state.pending), "step")
        if self.around.perform is None:
            self._say_once("pending", f"not done: {left} of an earlier change; a dry run does none")
            return True
        self.around.say(f"going on with {left} of an earlier round")
        return self._carried_out(self.state.pending)

    def _tidy(self) -> bool:
        """Make every engine serve or go; return whether that worked."""
        problem = self.fleet.problem
        memory = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
        steps = tidying(self.state.engines, memory, {model.name for model in problem.models})
        if self.around.perform is None or not steps:
            return True
        about = listed(sorted({f"{each.engine.model} on {each.engine.gpus[0]}" for each in steps}))
        todo = amount(len(steps), "step")
        self.around.say(f"not every engine is as it should be: {todo} to tidy up {about}")
        self._keep(replace(self.state, pending=steps, begun=frozenset()))
        return self._carried_out(steps)

    def _observed(self) -> Observation | None:
        try:
            observation = self.around.observe()
        except ServerError as error:
            self._say_once("source", f"no demand, so nothing moves: {error}")
            return None
        self._say_once("source", "")
        return observation

    def _follow(self, observation: Observation) -> RoundOutcome:
        try:
            fleet = fleet_with_demand(self.fleet, observation)
            rates = measured_rates(fleet, observation, self.settings)
        except ColocateError as error:
            self._say_once("demand", f"the demand cannot be used, so nothing moves: {error}")
            return RoundOutcome.NO_DEMAND
        self._say_once("demand", "")
        self._tell_notes(observation)
        names = {model.name for model in fleet.problem.models}
        engines = tuple(each for each in serving(self.state.engines) if each.model in names)
        try:
            decision = self._decided(fleet, engines, rates)
        except ColocateError as error:
            self._say_once("decision", f"nothing can be decided, so nothing moves: {error}")
            return RoundOutcome.STAY
        would = self._would(decision)
        same = would + decision_words(replace(decision, gain=None))
        self._say_once("decision", would + decision_words(decision), same)
        if decision.stay:
            return RoundOutcome.STAY
        return self._change(fleet_with_rates(fleet, rates), decision)

    def _tell_notes(self, observation: Observation) -> None:
        """Say which requests count, and what a reader must know; each thing once while it lasts."""
        self._say_once("basis", f"note: {basis_line(observation)}")
        found = {(note.remark, note.models): note for note in observation.notes}
        for about, note in found.items():
            if about not in self._noted:
                self.around.say(f"note: {note_line(note)}")
        self._noted = frozenset(found)

    def _would(self, decision: PolicyDecision) -> str:
        return "would " if self.around.perform is None and not decision.stay else ""

    def _decided(
        self, fleet: Fleet, engines: tuple[PlacedEngine, ...], rates: Sequence[RateEstimate]
    ) -> PolicyDecision:
        """Return whether to stay or to go; a search that found nothing holds until a change."""
        places, now = places_of(engines), self.around.clock()
        heard = frozenset(each.model for each in rates)
        about = (tuple(sorted(places.items())), self.fleet.problem, self.state.moves, heard)
        held = self._last_search.still_holds(about, rates, now, self.settings)
        if held is not None:
            return held
        moves = self.state.moves
        decision = decide(fleet.problem, places, rates, moves, now, self.settings, running=engines)
        return self._last_search.remember(decision, about, now)

    def _change(self, fleet: Fleet, decision: PolicyDecision) -> RoundOutcome:
        assert decision.steps is not None
        assert decision.placement is not None
        try:
            steps = confirmed(decision.steps)
        except StepFaultError as error:
            self._say_once("steps", f"nothing moves: {error}")
            return RoundOutcome.STAY
        self.folder.write_change(
            json.dumps(fleet.as_dict(), indent=1),
            json.dumps({name: list(gpus) for name, gpus in decision.placement.items()}, indent=1),
            json.dumps(steps.as_dict(), indent=1),
        )
        if self.around.perform is None:
            return RoundOutcome.WOULD_MOVE
        self._keep(replace(self.state, pending=steps.steps, begun=frozenset()))
        self._moments["move"] = self.around.clock()
        return (
            RoundOutcome.MOVE if self._carried_out(self.state.pending) else RoundOutcome.BROKEN_OFF
        )

    def _carried_out(self, steps: Sequence[EngineStep]) -> bool:
        """Carry steps out, and write down each when it begins and when it ends."""
        if self.around.perform is None:
            return True
        tried = self.state.begun

        def ended(step: EngineStep, done: bool | None) -> None:
            """Note what came of a step; one that was tried before may have begun then."""
            certain = False if done is None and step.number in tried else done
            self._keep(self.state.with_ended(step, certain, self.around.clock()))

        all_done = carry_out(
            steps,
            self.around.perform,
            lambda step: self._keep(self.state.with_begun(step)),
            ended,
            self.at_once,
            self.stop,
        )
        if all_done:
            self.around.say(f"done: {amount(len(steps), 'step')}")
        return all_done

    def _keep(self, state: WatchState) -> None:
        self.folder.write(state)
        self.state = state

    def _say_once(self, about: str, words: str, same: str | None = None) -> None:
        """Say something unless it was the last thing said about this.

        Parameters
        ----------
        about, words
            What it is about, and what is said.
        same
            What tells it from other words, if these have figures that change all the time.
        """
        told = words if same is None else same
        if words and self._said.get(about) != told:
            self.around.say(words)
        self._said[about] = told

    def _show(self, observation: Observation | None) -> None:
        self.around.show(metrics_text(self.fleet.problem, self.state, observation, self._moments))
