"""What a policy decided, with its reason and its figures as data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from colocate.problem.parts import Places
from colocate.replan.policy.history import EngineMove
from colocate.replan.steps.safe_steps import SafeSteps


class PolicyReason(StrEnum):
    """Why models stay, or go."""

    TOO_LITTLE_KNOWN = "too little known"
    """Requests have not been counted for long enough."""
    NOT_MEASURED = "not measured"
    """Nobody knows how often a model is asked that has an engine."""
    TARGETS_HOLD = "targets hold"
    """Nearly all requests are in time as it is: no move can bring more than the hysteresis."""
    MOST_MOVES = "most moves"
    """As many engines have been loaded in the last hour as may be."""
    NOTHING_BETTER = "nothing better"
    """No placement was found that brings more requests in time."""
    OVER_BUDGET = "over budget"
    """The better placement loads more than one change may."""
    NO_STEPS = "no steps"
    """No safe way leads to the better placement."""
    DOES_NOT_PAY = "does not pay"
    """The way there costs more than it brings while demand is expected to last."""
    NOT_SURE = "not sure"
    """It pays at the rates that were measured, but not at those that are as likely."""
    PAYS = "pays"
    """Going brings more requests in time than it costs, also if rates are a little off."""
    NOT_SERVED = "not served"
    """A model that must be awake has no engine, and gets one."""
    NO_ROOM = "no room"
    """A model that must be awake has no engine, and cannot have one."""


GOES = frozenset((PolicyReason.PAYS, PolicyReason.NOT_SERVED))
"""The reasons to go; all others are reasons to stay."""


class EngineObstacle(StrEnum):
    """Why models without an engine cannot have one."""

    PINS = "pins"
    """They may be on no GPU of the fleet, or on too few of one node."""
    MEMORY = "memory"
    """No GPU that they may be on has the memory, and no way was found for others to make room."""
    APART = "apart"
    """Wherever there is memory, there are models that they must be apart from."""
    MOST_MODELS = "most models"
    """Wherever there is memory, there are as many models as may be."""
    RESOURCE = "resource"
    """Wherever there is memory, another resource is used up."""
    NO_STEPS = "no steps"
    """There is a place, and no safe way to it."""
    FAILED = "failed"
    """There is a place, and a step failed there lately."""
    SEVERAL = "several"
    """Each GPU has another of these reasons."""


class UnservedModels(NamedTuple):
    """Models that must be awake and go without an engine; several if they must share a GPU."""

    models: tuple[str, ...]
    obstacle: EngineObstacle
    needed_gb: float
    """Memory that they must have on a GPU, or on each of their GPUs."""
    free_gb: float
    """The most that is free on a GPU that they may be on, or on as many GPUs as they need."""
    resource: str = ""
    """Which one is used up."""
    shards: int = 1
    """How many GPUs of one node they need."""


class MoveGain(NamedTuple):
    """Requests in time over the horizon, by replays with the same requests."""

    arrived: float
    staying: float
    going: float
    """With the way there: loading, draining, and what is done anew."""
    settled: float
    """If the better placement was there at once, at no cost."""
    least: float
    """The gain at the rates, low or high, at which it is least."""

    @property
    def gain(self) -> float:
        """Requests that going brings in time."""
        return self.going - self.staying

    @property
    def cost(self) -> float:
        """Requests that the way there costs."""
        return self.settled - self.going


@dataclass(frozen=True)
class PolicyDecision:
    """Stay or go.

    Parameters
    ----------
    reason
        Why.
    placement, steps, moves
        Where to go, on which way, and what is to be added to the history then.
    gain
        What going brings and costs, as far as it was looked at.
    needed
        Requests in time that a move would have to bring.
    unserved
        Models that go without an engine, and why.
    not_measured
        Models with an engine of which nobody knows how often they are asked.
    avoiding
        Models that keep away for a while from GPUs where their engines failed to come.
    holding
        Whether some places were not looked at, since engines came there or left lately.
    """

    reason: PolicyReason
    placement: Places | None = None
    steps: SafeSteps | None = None
    moves: tuple[EngineMove, ...] = ()
    gain: MoveGain | None = None
    needed: float = 0.0
    unserved: tuple[UnservedModels, ...] = ()
    not_measured: tuple[str, ...] = ()
    avoiding: tuple[str, ...] = ()
    holding: bool = False

    @property
    def stay(self) -> bool:
        """Whether nothing is moved."""
        return self.reason not in GOES
