"""How much a probe asks of a server, and what it finds."""

from dataclasses import dataclass, field

from colocate.errors import InputError
from colocate.inputs.calibration.dialect import Dialect
from colocate.inputs.calibration.readings import PrefillReading, StepReading

LEAST_SECONDS, MOST_SECONDS = 1.0, 3600.0
"""How long a probe may take: below, nothing is measured; above, it was a slip of the pen."""
MOST_REQUESTS, LONGEST_PROMPT = 32, 2048
"""At once, and in words; defaults."""


@dataclass
class ProbeFindings:
    """What a probe has found so far.

    Parameters
    ----------
    dialect
        How the server was asked.
    steps, prefills
        The readings.
    rounds, failures
        How many there were, and how many failed.
    counted_words
        Whether prompts are counted in words, since the server counts no tokens.
    tokens_per_arrival
        Tokens in a piece of an answer: above one, the server guesses ahead or waits.
    too_many
        The number of requests at once that gave no reading, None if there is none.
    at_once
        How many of these were in work at once, at most.
    too_long
        Words of the shortest prompt that was refused, None if there is none.
    own_fault
        Rounds in which the reader was too slow.
    interrupted
        Whether it was stopped before its time.
    """

    dialect: Dialect
    steps: list[StepReading] = field(default_factory=list)
    prefills: list[PrefillReading] = field(default_factory=list)
    rounds: int = 0
    failures: int = 0
    counted_words: bool = False
    tokens_per_arrival: float = 1.0
    too_many: int | None = None
    at_once: int = 0
    too_long: int | None = None
    own_fault: int = 0
    interrupted: bool = False


@dataclass(frozen=True)
class ProbeSettings:
    """How much a probe asks of a server.

    Parameters
    ----------
    seconds
        How long it takes.
    most_requests
        At once.
    longest_prompt
        In words, of about one token each.
    seed
        For prompts and the order of rounds.
    """

    seconds: float = 120.0
    most_requests: int = MOST_REQUESTS
    longest_prompt: int = LONGEST_PROMPT
    seed: int | None = None

    def __post_init__(self) -> None:
        if not LEAST_SECONDS <= self.seconds <= MOST_SECONDS:
            raise InputError.of("seconds", self.seconds, f"{LEAST_SECONDS:g} to {MOST_SECONDS:g}")
