"""What a policy is told: how long it looks back and ahead, and how much it may move."""

from dataclasses import dataclass, field

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.replan.placed_engine import MemoryMode, checked_mode
from colocate.replan.steps.step_times import StepTimes

UNDONE_WITHIN = 600.0
"""Seconds within which a move that is undone counts as going back and forth."""
MOST_MOVES = 1000
"""Moves an hour, at most: far more than any fleet can load."""


@dataclass(frozen=True)
class PolicySettings:
    """Limits and spans of a policy, in seconds where nothing else is stated.

    Parameters
    ----------
    window
        How far back requests are counted where rates are steady.
    recent
        How far back where they have just changed.
    horizon
        How far ahead demand is expected; what a move costs must come back in it. Until changes are
        seen, rates are expected to last so long.
    commitment
        How long an engine that came stays, and one that left stays away; at least ten minutes.
    hysteresis
        The share of all requests that a move must bring in time, beyond what it costs.
    most_moves_per_hour
        Engines that may be loaded in an hour.
    budget_gb
        Weights that one change may load; None for no limit.
    memory
        Whether engines keep their cache (`fixed`) or share that of their GPU (`elastic`).
    times
        How long steps take.
    """

    window: float = 900.0
    recent: float = 30.0
    horizon: float = 1800.0
    commitment: float = 900.0
    hysteresis: float = 0.01
    most_moves_per_hour: int = 12
    budget_gb: float | None = None
    memory: MemoryMode = "elastic"
    times: StepTimes = field(default_factory=StepTimes)

    def __post_init__(self) -> None:
        for name in ("window", "recent", "horizon"):
            value = checked_number(getattr(self, name), (name,), positive=True)
            object.__setattr__(self, name, value)
        if self.recent > self.window:
            raise InputError.of("recent", self.recent, f"at most {self.window:g}, the window")
        commitment = checked_number(self.commitment, ("commitment",))
        if commitment < UNDONE_WITHIN:
            expected = f"at least {UNDONE_WITHIN:g}, so that no move is undone within ten minutes"
            raise InputError.of("commitment", commitment, expected)
        object.__setattr__(self, "commitment", commitment)
        hysteresis = checked_number(self.hysteresis, ("hysteresis",))
        if hysteresis >= 1.0:
            raise InputError.of("hysteresis", hysteresis, "a share, less than 1")
        most = self.most_moves_per_hour
        if not isinstance(most, int) or isinstance(most, bool) or not 0 <= most <= MOST_MOVES:
            raise InputError.of("most_moves_per_hour", most, f"0 to {MOST_MOVES}")
        if self.budget_gb is not None:
            checked_number(self.budget_gb, ("budget_gb",))
        checked_mode(self.memory)
